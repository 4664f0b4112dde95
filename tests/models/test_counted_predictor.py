"""Naive Bayes scored from counts: the bits of its tables, made for the asked documents only, summed in float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from gpuclf.features.rows import SparseRows, Views, sparse_to
from gpuclf.models.learner import Predictor, Problem, Replicas, settled
from gpuclf.models.linear import counted_predictor
from gpuclf.models.linear.bernoulli_predictor import BernoulliPredictor
from gpuclf.models.linear.counted_predictor import CountedPredictor
from gpuclf.models.linear.naive_bayes import NaiveBayesOptions
from gpuclf.models.linear.predictor import LinearPredictor
from gpuclf.models.replica_axis import take_replicas
from gpuclf.models.train_options import TrainOptions

ALPHAS = [0.0, 1e-300, 0.01, 1.0]
CLASSES, VIEWS = 5, 3


def random_rows(seed: int, docs: int, features: int, share: float) -> SparseRows:
    generator = torch.Generator().manual_seed(seed)
    dense = torch.randint(1, 5, (docs, features), generator=generator)
    dense = torch.where(torch.rand(dense.shape, generator=generator) < share, dense, 0)
    filled = torch.nonzero(dense)
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), (dense != 0).sum(dim=1).cumsum(0)])
    values = dense[filled[:, 0], filled[:, 1]].float()
    return SparseRows(crow, (filled[:, 1] + 1).to(torch.int32), values, features)


def folded(seed: int, device: torch.device) -> Problem:
    """Three views with scales of their own times the smoothings; class 4 is not in the last view."""
    docs, features = 90, 60
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, CLASSES, (docs,), generator=generator)
    train = torch.rand((VIEWS, docs), generator=generator) < 0.7
    train[2] &= labels < 4
    col_scale = torch.rand((VIEWS, features + 1), generator=generator) + 0.5
    col_scale[1, 7] = 0
    row_scale = torch.rand((VIEWS, docs), generator=generator) + 0.5
    replicas = Replicas(
        torch.arange(VIEWS).repeat_interleave(len(ALPHAS)),
        torch.zeros(VIEWS * len(ALPHAS), dtype=torch.int64),
        {"model.alpha": torch.tensor(ALPHAS * VIEWS, dtype=torch.float64)},
    )
    return Problem(
        sparse_to(random_rows(seed, docs, features, 0.05), device),
        labels.to(device),
        torch.arange(docs, device=device),
        CLASSES,
        Views(train.to(device), col_scale.to(device), row_scale.to(device)),
        replicas.to(device),
    )


def fit(problem: Problem, variant: str = "multinomial") -> Predictor:
    learner = NaiveBayesOptions(variant=variant).build(TrainOptions(), "abcde")
    return learner.result(problem, learner.step(problem, learner.init(problem)))


def test_scores_have_the_bits_of_the_tables(device: torch.device) -> None:
    problem = folded(1, device)
    model = fit(problem)
    assert isinstance(model, CountedPredictor)
    whole = settled(model)
    assert isinstance(whole, LinearPredictor)
    assert settled(whole) is whole
    flags = 0
    for view in range(VIEWS):
        docs = torch.nonzero(~problem.views.train[view]).flatten().flip(0)
        scales = (problem.views.col_scale[view], problem.views.row_scale[view])
        span = slice(view * len(ALPHAS), (view + 1) * len(ALPHAS))
        for asked in (span, slice(span.start + 1, span.stop), None):
            scores = model.scores(problem.rows, docs, *scales, asked)
            assert not scores.isnan().any()
            assert torch.equal(scores, whole.scores(problem.rows, docs, *scales, asked))
        flagged = model.flagged(problem.rows, docs, *scales)
        assert torch.equal(flagged, whole.flagged(problem.rows, docs, *scales))
        flags += int(flagged.sum())
    assert flags > 0
    none = torch.arange(90, device=device)
    assert torch.equal(
        model.scores(problem.rows, none, None, None), whole.scores(problem.rows, none, None, None)
    )  # rows without scales
    assert model.scores(problem.rows, none[:0], None, None).shape == (len(problem.replicas), 0, CLASSES)


def test_chosen_replicas_are_the_same_models() -> None:
    problem = folded(2, torch.device("cpu"))
    model, index = fit(problem), torch.tensor([9, 2, 3])
    chosen, docs = take_replicas(model, index), torch.arange(90)
    assert torch.equal(
        chosen.scores(problem.rows, docs, None, None), model.scores(problem.rows, docs, None, None)[index]
    )
    alone = fit(replace(problem, replicas=problem.replicas.take(index[:1])))
    assert torch.equal(
        alone.scores(problem.rows, docs, None, None)[0], chosen.scores(problem.rows, docs, None, None)[0]
    )


def test_only_the_features_of_the_asked_documents_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = folded(3, torch.device("cpu"))
    model = fit(problem)
    asked: list[Tensor] = []
    compute = counted_predictor.smoothed_logs

    def noted(*arguments: Tensor) -> Tensor:
        asked.append(arguments[3])
        return compute(*arguments)

    monkeypatch.setattr(counted_predictor, "smoothed_logs", noted)
    rows, docs = problem.rows, torch.tensor([4, 11])
    assert isinstance(rows, SparseRows)
    model.scores(rows, docs, None, None)
    used = np.concatenate([rows.col[rows.crow[doc] : rows.crow[doc + 1]] for doc in docs])
    assert asked[0].tolist() == sorted({0, *used.tolist()})
    assert len(asked[0]) < rows.num_features


@pytest.mark.parametrize("variant", ["multinomial", "bernoulli", "complement"])
def test_log_probabilities_are_summed_in_float64(variant: str, device: torch.device) -> None:
    """A document of 20,000 words: its scores are the exact sums of the weights, rounded once. float32 sums are not."""
    features, docs = 20_000, 4
    rows = random_rows(4, docs, features, 0.9)
    rows = SparseRows(rows.crow, rows.col, rows.val + 0.3, features)
    replicas = Replicas(
        torch.zeros(2, dtype=torch.int64),
        torch.zeros(2, dtype=torch.int64),
        {"model.alpha": torch.tensor([0.01, 1.0], dtype=torch.float64)},
    )
    labels = torch.arange(docs) % 3
    problem = Problem(
        sparse_to(rows, device),
        labels.to(device),
        torch.arange(docs, device=device),
        3,
        Views(torch.ones((1, docs), dtype=torch.bool, device=device)),
        replicas.to(device),
    )
    model = fit(problem, variant)
    scores = model.scores(problem.rows, torch.arange(docs, device=device), None, None).cpu()
    whole = settled(model)
    assert isinstance(whole, LinearPredictor | BernoulliPredictor)
    weights, x = whole.weights.cpu(), torch.zeros((docs, features + 1), dtype=torch.float64)
    x[:, 0] = 1
    values = rows.val if variant != "bernoulli" else torch.ones_like(rows.val)
    x[torch.repeat_interleave(torch.arange(docs), rows.crow.diff()), rows.col.long()] = values.double()
    exact = torch.einsum("nv,vrk->rnk", x, weights.double())
    torch.testing.assert_close(scores, exact.to(torch.float32), rtol=1.2e-7, atol=0)  # one unit in the last place
    terms = x[None, :, :, None].float() * weights.permute(1, 0, 2)[:, None]
    in_float32 = torch.from_numpy(np.cumsum(terms.numpy(), axis=2, dtype=np.float32)[:, :, -1])  # one by one
    assert ((in_float32.double() - exact) / exact).abs().max() > 1e-6
