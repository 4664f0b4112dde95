"""Figures of scores and probabilities equal scikit-learn's on random inputs with ties."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn import metrics as peer

from gpuclf.metrics.ranking import (
    average_precision,
    average_precision_one_vs_rest,
    brier_score,
    log_loss,
    log_probabilities,
    precision_at_k,
    precision_recall_curve,
    recall_at_k,
    roc_auc,
    roc_auc_one_vs_rest,
)


@st.composite
def ranked(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Scores full of ties and which documents are positive: at least one is, and at least one is not."""
    size = draw(st.integers(2, 40))
    scores = draw(arrays.arrays(np.int64, size, elements=st.integers(-4, 4))).astype(np.float32) / 3
    positive = draw(arrays.arrays(np.bool_, size))
    positive[:2] = [True, False]
    return scores, positive


@given(ranked())
def test_roc_auc_equals_scikit_learn(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    scores, positive = drawn
    ours = float(roc_auc(torch.from_numpy(scores), torch.from_numpy(positive)))
    assert ours == pytest.approx(peer.roc_auc_score(positive, scores), rel=1e-12)


@given(ranked())
def test_average_precision_equals_scikit_learn(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    scores, positive = drawn
    ours = float(average_precision(torch.from_numpy(scores), torch.from_numpy(positive)))
    assert ours == pytest.approx(peer.average_precision_score(positive, scores), rel=1e-12)


@given(ranked())
def test_precision_recall_curve_equals_scikit_learn(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    scores, positive = drawn
    curve = precision_recall_curve(torch.from_numpy(scores), torch.from_numpy(positive))
    precision, recall, thresholds = peer.precision_recall_curve(positive, scores)
    np.testing.assert_allclose(curve.precision, precision, rtol=1e-12)
    np.testing.assert_allclose(curve.recall, recall, rtol=1e-12)
    np.testing.assert_array_equal(curve.thresholds, thresholds)


def test_worked_ranking() -> None:
    # Falling: 0.9 positive, 0.8 negative, 0.8 positive, 0.1 negative. Pairs: 4, won 3, tied 1: AUC 3.5/4 …
    scores, positive = torch.tensor([0.9, 0.8, 0.8, 0.1]), torch.tensor([True, False, True, False])
    assert float(roc_auc(scores, positive)) == pytest.approx(3.5 / 4)
    # … and AP = 1/2 · 1 + 1/2 · 2/3.
    assert float(average_precision(scores, positive)) == pytest.approx(1 / 2 + 1 / 3)


def test_ranking_without_a_positive_or_a_negative_is_undefined() -> None:
    scores = torch.tensor([0.2, 0.7])
    for positive in (torch.tensor([False, False]), torch.tensor([True, True])):
        assert math.isnan(float(roc_auc(scores, positive)))
    assert math.isnan(float(average_precision(scores, torch.tensor([False, False]))))
    curve = precision_recall_curve(scores, torch.tensor([False, False]))
    assert curve.recall.tolist() == [1.0, 1.0, 0.0]


def multiclass(seed: int, docs: int = 257, classes: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores with ties (n, K) and gold (n,) in which the last class is absent."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randint(-6, 6, (docs, classes), generator=generator).to(torch.float32) / 2
    return scores, torch.randint(0, classes - 1, (docs,), generator=generator)


def test_one_vs_rest_macro_is_over_the_defined_classes() -> None:
    scores, gold = multiclass(1)
    for figure, expected in (
        (roc_auc_one_vs_rest(scores, gold), peer.roc_auc_score),
        (average_precision_one_vs_rest(scores, gold), peer.average_precision_score),
    ):
        by_class = [expected(gold.numpy() == k, scores[:, k].numpy()) for k in range(4)]
        np.testing.assert_allclose(figure.per_class[:4], by_class, rtol=1e-12)
        assert figure.undefined == (4,)
        assert math.isnan(float(figure.per_class[4]))
        assert figure.mean == pytest.approx(np.mean(by_class), rel=1e-12)


def test_log_loss_and_brier_equal_scikit_learn() -> None:
    scores, gold = multiclass(2)
    log_prob = log_probabilities(scores)
    prob = log_prob.exp()
    loss = log_loss(log_prob, gold)
    assert loss.mean == pytest.approx(peer.log_loss(gold.numpy(), prob.numpy(), labels=range(5)), rel=1e-12)
    assert (loss.infinite, loss.documents) == (0, 257)
    assert loss.finite_mean == pytest.approx(loss.mean, rel=1e-12)
    expected = peer.brier_score_loss(gold.numpy(), prob.numpy(), labels=range(5), scale_by_half=False)
    assert brier_score(prob, gold) == pytest.approx(expected, rel=1e-12)


def test_log_loss_of_an_impossible_gold_class_is_infinite_and_counted() -> None:
    log_prob = log_probabilities(torch.tensor([[0.0, -torch.inf], [0.0, 0.0], [1.0, 1.0]]))
    loss = log_loss(log_prob, torch.tensor([1, 0, 2]))  # probability 0; one half; a label that training did not know
    assert loss.mean == math.inf
    assert loss.infinite == 2
    assert loss.finite_mean == pytest.approx(math.log(2))


def test_unknown_gold_label_costs_the_whole_brier_score_and_is_in_no_top_k() -> None:
    prob = torch.tensor([[0.5, 0.5], [1.0, 0.0]])
    gold = torch.tensor([2, 0])
    assert brier_score(prob, gold) == pytest.approx((0.25 + 0.25 + 1 + 0) / 2)
    assert recall_at_k(prob, gold, 2) == 0.5
    assert roc_auc_one_vs_rest(prob, gold).per_class.tolist() == [1.0, pytest.approx(math.nan, nan_ok=True)]


def test_top_k_counts_ties_for_the_lowest_class() -> None:
    scores = torch.tensor([[1.0, 1.0, 0.0], [0.0, 2.0, 2.0]])
    gold = torch.tensor([1, 2])
    assert recall_at_k(scores, gold, 1) == 0.0
    assert recall_at_k(scores, gold, 2) == 1.0
    assert precision_at_k(scores, gold, 2) == 0.5
    assert precision_at_k(scores, gold, 9) == pytest.approx(1 / 3)  # only three classes can be given


def test_recall_at_k_equals_scikit_learn_without_ties() -> None:
    generator = torch.Generator().manual_seed(6)
    scores, gold = torch.rand((100, 7), generator=generator), torch.randint(0, 7, (100,), generator=generator)
    for k in (1, 3, 6):
        expected = peer.top_k_accuracy_score(gold.numpy(), scores.numpy(), k=k, labels=range(7))
        assert recall_at_k(scores, gold, k) == pytest.approx(expected)


@given(st.lists(st.floats(-(2.0**99), 2.0**99, width=32), min_size=1, max_size=6))
def test_log_probabilities_are_normalised_whatever_the_scores(scores: list[float]) -> None:
    log_prob = log_probabilities(torch.tensor([scores]))
    assert log_prob.dtype == torch.float64
    assert float(log_prob.exp().sum()) == pytest.approx(1.0, rel=1e-12)
