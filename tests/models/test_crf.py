"""Linear-chain conditional random fields: the objective, its optimum, folds, and what is predicted."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from torch import Tensor

from gpuclf.features.rows import SequenceRows, Views
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.replica_axis import take_replicas
from gpuclf.models.sequence.chain_descent import ChainDescent
from gpuclf.models.sequence.chain_objective import ChainObjective
from gpuclf.models.sequence.chain_predictor import ChainPredictor
from gpuclf.models.train_options import TrainOptions
from gpuclf.models.view_rows import view_rows
from gpuclf.ops.sparse_scores import sparse_scores
from gpuclf.train.loop import BatchLoop

FEATURES, CLASSES = 7, 3
LENGTHS = [3, 1, 4, 2, 5, 1, 2, 6, 3, 3]


def problem(lengths: list[int], C: list[float], held_out: tuple[int, ...] = (), views: tuple[int, ...] = ()) -> Problem:
    """Random sentences whose labels follow their features and each other; view 1 holds some of them out."""
    draw = torch.Generator().manual_seed(3)
    starts = torch.tensor([0, *itertools.accumulate(lengths)])
    tokens = int(starts[-1])
    dense = (torch.rand(tokens, FEATURES, generator=draw) < 0.4).float() * torch.rand(tokens, FEATURES, generator=draw)
    labels = (dense[:, :CLASSES].argmax(1) + (torch.rand(tokens, generator=draw) < 0.3).long()) % CLASSES
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), (dense != 0).sum(1).cumsum(0)])
    place = torch.nonzero(dense)
    rows = SequenceRows(crow, (place[:, 1] + 1).int(), dense[dense != 0], FEATURES, starts)
    train = torch.ones(2, tokens, dtype=torch.bool)
    for sentence in held_out:
        train[1, starts[sentence] : starts[sentence + 1]] = False
    view = torch.tensor(views or (0,) * len(C))
    options = {"model.C": torch.tensor(C, dtype=torch.float64)}
    replicas = Replicas(view, torch.zeros(len(C), dtype=torch.int64), options)
    return Problem(rows, labels, torch.arange(tokens), CLASSES, Views(train), replicas)


def fitted(made: Problem, tol: float = 1e-9, decode: str = "marginal") -> ChainPredictor:
    loop = BatchLoop(ChainDescent(1.0, tol, decode), made, TrainOptions(), 300)  # type: ignore[arg-type]
    predictor = loop.run(lambda report, running: None).predictor
    assert isinstance(predictor, ChainPredictor)
    return predictor


def everything(predictor: ChainPredictor, made: Problem) -> Tensor:
    return predictor.scores(made.rows, torch.arange(made.labels.numel()), None, None)


def objective(made: Problem) -> ChainObjective:
    return ChainObjective.of(made, view_rows(made, torch.float64, merge=False), 1.0)


def value_at(aim: ChainObjective, point: Tensor) -> tuple[Tensor, Tensor]:
    nodes = aim.nodes(point)
    return aim.value_and_gradient(point, aim.sums(nodes, aim.moves(point)), nodes)


def test_the_gradient_is_that_of_finite_differences() -> None:
    made = problem(LENGTHS, [0.5, 3.0], held_out=(0, 4), views=(0, 1))
    aim = objective(made)
    draw = torch.Generator().manual_seed(1)
    point = torch.randn(FEATURES + 1 + CLASSES, 2, CLASSES, generator=draw, dtype=torch.float64)
    _, gradient = value_at(aim, point)
    for cell in np.ndindex(*point.shape):
        step = torch.zeros_like(point)
        step[cell] = 1e-5
        rise = (value_at(aim, point + step)[0] - value_at(aim, point - step)[0]) / 2e-5
        assert float(rise[cell[1]]) == pytest.approx(float(gradient[cell]), rel=1e-6, abs=1e-7)


def test_the_value_is_the_likelihood_by_enumeration() -> None:
    made = problem([3, 2], [2.0])
    aim = objective(made)
    point = torch.randn(FEATURES + 1 + CLASSES, 1, CLASSES, generator=torch.Generator().manual_seed(2)).double()
    nodes, moves = aim.nodes(point)[:, 0], point[FEATURES + 1 :, 0]
    expected = 0.5 * float(point[1:].square().sum())
    for begin, end in ((0, 3), (3, 5)):
        sequences = list(itertools.product(range(CLASSES), repeat=end - begin))
        scores = torch.stack([_score(nodes[begin:end], moves, labels) for labels in sequences])
        gold = _score(nodes[begin:end], moves, tuple(made.labels[begin:end].tolist()))
        expected += 2.0 * float(torch.logsumexp(scores, 0) - gold)
    assert float(value_at(aim, point)[0]) == pytest.approx(expected, rel=1e-12)


def _score(nodes: Tensor, moves: Tensor, labels: tuple[int, ...]) -> Tensor:
    return sum((nodes[i, y] for i, y in enumerate(labels)), torch.zeros(())) + sum(
        (moves[a, b] for a, b in itertools.pairwise(labels)), torch.zeros(())
    )


def test_sentences_of_one_token_are_logistic_regression() -> None:
    """Without neighbours no transition is learnt, and what is left is multinomial logistic regression."""
    made = problem([1] * 60, [3.0])
    predictor = fitted(made)
    assert isinstance(made.rows, SequenceRows)
    dense = np.zeros((60, FEATURES))
    for row in range(60):
        span = slice(int(made.rows.crow[row]), int(made.rows.crow[row + 1]))
        dense[row, made.rows.col[span].numpy() - 1] = made.rows.val[span].numpy()
    peer = LogisticRegression(C=3.0, tol=1e-10, max_iter=5000).fit(dense, made.labels.numpy())
    found = everything(predictor, made)[0].exp()
    torch.testing.assert_close(found.double(), torch.from_numpy(peer.predict_proba(dense)), rtol=0, atol=1e-4)
    assert not predictor.transition.any()


def test_a_fold_and_a_cell_are_what_they_are_alone() -> None:
    together = problem(LENGTHS, [0.5, 3.0, 0.5, 3.0], held_out=(1, 7), views=(0, 0, 1, 1))
    found = fitted(together)
    for place in range(4):
        alone = fitted(replace(together, replicas=together.replicas.take(torch.tensor([place]))))
        own = take_replicas(found, torch.tensor([place]))
        torch.testing.assert_close(own.weights, alone.weights, rtol=0, atol=0)
        torch.testing.assert_close(own.transition, alone.transition, rtol=0, atol=0)


def test_held_out_sentences_teach_nothing() -> None:
    made = problem(LENGTHS, [3.0], held_out=(1, 7), views=(1,))
    held_out = ~made.views.train[1]
    other = replace(made, labels=torch.where(held_out, (made.labels + 1) % CLASSES, made.labels))
    torch.testing.assert_close(fitted(made).weights, fitted(other).weights, rtol=0, atol=0)


def test_the_likelihoods_weight_moves_the_optimum() -> None:
    found = fitted(problem(LENGTHS, [0.01, 100.0])).weights[1:].norm(dim=(0, 2))
    assert float(found[0]) < 0.1 * float(found[1])


@pytest.mark.parametrize("decode", ["marginal", "viterbi"])
def test_scores_do_not_depend_on_what_else_is_asked_for(decode: str) -> None:
    made = problem(LENGTHS, [2.0, 0.1])
    predictor = fitted(made, decode=decode)
    whole = everything(predictor, made)
    for docs in (torch.tensor([5]), torch.tensor([20, 2, 3]), torch.arange(7, 19)):
        torch.testing.assert_close(predictor.scores(made.rows, docs, None, None), whole[:, docs], rtol=0, atol=0)
        second = predictor.scores(made.rows, docs, None, None, slice(1, 2))
        torch.testing.assert_close(second, whole[1:2, docs], rtol=0, atol=0)


def test_marginals_are_probabilities_and_viterbi_is_the_best_sequence() -> None:
    made = problem(LENGTHS, [5.0])
    marginal, viterbi = fitted(made), fitted(made, decode="viterbi")
    torch.testing.assert_close(everything(marginal, made).exp().sum(2), torch.ones(1, made.labels.numel()))
    assert isinstance(made.rows, SequenceRows)
    rows, tokens, moves = made.rows, torch.arange(made.labels.numel()), viterbi.transition[0].double()
    nodes = sparse_scores(rows.crow, rows.col, rows.val, tokens, None, None, viterbi.weights.double())[0]
    labels = everything(viterbi, made)[0].argmax(1)
    for begin, end in itertools.pairwise(made.rows.starts.tolist()):
        sequences = list(itertools.product(range(CLASSES), repeat=end - begin))
        best = max(sequences, key=lambda labels: float(_score(nodes[begin:end], moves, labels)))
        assert tuple(labels[begin:end].tolist()) == best
