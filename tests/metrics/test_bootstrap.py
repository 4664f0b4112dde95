"""The paired bootstrap: the same draws recomputed with scikit-learn, scipy's interval, and no dependence on chunks."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.metrics import accuracy_score, f1_score

from gpuclf.metrics.bootstrap import METRICS, bootstrap_difference, resampled
from gpuclf.ops.counter_hash import hash64, uniform


def answers(seed: int, documents: int, classes: int, rights: tuple[float, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """Gold (n,), and for each share of right answers a row of predictions."""
    generator = torch.Generator().manual_seed(seed)
    gold = torch.randint(classes, (documents,), generator=generator)
    rows = []
    for right in rights:
        hit = torch.rand(documents, generator=generator) < right
        rows.append(torch.where(hit, gold, torch.randint(classes, (documents,), generator=generator)))
    return gold, torch.stack(rows)


@pytest.mark.parametrize("metric", METRICS)
def test_each_resample_is_scikit_learns_figure_of_the_same_draw(metric: str) -> None:
    gold, predicted = answers(1, 57, 4, (0.9, 0.5))
    figures = resampled(gold, predicted, 4, METRICS[metric], 12, seed=5)
    for sample in range(12):
        draw = (uniform(hash64(5, sample, torch.arange(57))) * 57).long()
        for replica in range(2):
            pair = gold[draw].numpy(), predicted[replica][draw].numpy()
            wanted = (
                accuracy_score(*pair)
                if metric == "accuracy"
                else f1_score(*pair, average=metric.removesuffix("_f1"), zero_division=0)
            )
            assert float(figures[sample, replica]) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("size", [1, 255, 257, 1000])
def test_no_result_depends_on_chunks(size: int, device: torch.device) -> None:
    gold, predicted = answers(size, size, 3, (0.8, 0.7, 0.2))
    whole = resampled(gold, predicted, 3, METRICS["macro_f1"], 33, 2)
    parts = resampled(gold.to(device), predicted.to(device), 3, METRICS["macro_f1"], 33, 2, documents_at_once=1)
    assert torch.equal(parts.cpu(), whole)
    one = resampled(gold, predicted[1:2], 3, METRICS["macro_f1"], 33, 2)
    assert torch.equal(one[:, 0], whole[:, 1]), "nor on the other classifiers"
    assert size == 1 or not torch.equal(resampled(gold, predicted, 3, METRICS["macro_f1"], 33, 3), whole)


def test_the_interval_is_the_percentile_interval_of_scipy() -> None:
    """Other draws, the same distribution: both ends agree within the noise of 20,000 resamples."""
    gold, predicted = answers(4, 400, 5, (0.85, 0.78))
    right = (predicted == gold).double()
    figures = resampled(gold, predicted, 5, METRICS["accuracy"], 20_000, 0)
    observed = float(right[0].mean() - right[1].mean())
    ours = bootstrap_difference(observed, figures[:, 0] - figures[:, 1])
    theirs = stats.bootstrap(
        ((right[0] - right[1]).numpy(),),
        np.mean,
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    assert ours.interval == pytest.approx((theirs.low, theirs.high), abs=0.003)
    assert float(figures[:, 0].mean()) == pytest.approx(float(right[0].mean()), abs=0.001)


def test_p_inverts_the_interval() -> None:
    values = torch.cat([torch.full((30,), -0.25), torch.full((969,), 0.5)]).double()
    test = bootstrap_difference(0.4, values)
    assert test.p == pytest.approx(2 * 31 / 1000)
    assert test.interval[0] < 0, "p above .05: zero is inside"
    test = bootstrap_difference(0.4, values[10:])
    assert test.p == pytest.approx(2 * 21 / 990)
    assert test.interval == (pytest.approx(0.5), pytest.approx(0.5))
    assert bootstrap_difference(0.0, torch.zeros(99, dtype=torch.float64)).p == 1.0
    assert bootstrap_difference(1.0, torch.ones(99, dtype=torch.float64)).p == 2 / 100, "never 0"
