"""Platt's sigmoid, isotonic curves and temperature, beside scikit-learn and scipy on the same held-out scores."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from sklearn.calibration import CalibratedClassifierCV, _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from torch import Tensor

from gpuclf.optim.calibration import (
    CALIBRATORS,
    IsotonicCalibrator,
    PlattCalibrator,
    fit_calibrator,
    fit_isotonic,
    fit_platt,
    fit_temperature,
    one_vs_rest,
)
from tests.optim.given_scores import GivenScores

METHODS = list(CALIBRATORS)


def problem(docs: int, classes: int, seed: int = 0, ties: bool = False) -> tuple[Tensor, Tensor]:
    """Scores (docs, K) float32 that are higher for gold (docs,) by 1.5 on average; with ties, whole numbers."""
    draw = torch.Generator().manual_seed(seed)
    gold = torch.randint(0, classes, (docs,), generator=draw)
    scores = 2 * torch.randn(docs, classes, generator=draw)
    scores[torch.arange(docs), gold] += 1.5
    return (scores.round() if ties else scores), gold


def signals(scores: Tensor, log_odds: bool = False) -> np.ndarray:
    return one_vs_rest(scores.double().numpy(), log_odds)


def test_a_signal_is_the_lead_over_the_best_other_class() -> None:
    scores = torch.tensor([[3.0, 1.0, 2.0], [0.0, 0.0, -4.0]])
    assert signals(scores).tolist() == [[1.0, -2.0, -1.0], [0.0, 0.0, -4.0]]
    assert signals(scores[:, :2]).tolist() == [[-2.0], [0.0]]


def test_with_log_odds_it_is_that_over_all_others() -> None:
    scores = problem(50, 6)[0].double() - 700.0
    p = torch.softmax(scores, dim=1).numpy()
    np.testing.assert_allclose(signals(scores, True), np.log(p / (1 - p)), rtol=1e-9)
    sure = torch.tensor([[800.0, 0.0, 1.0]])
    np.testing.assert_allclose(signals(sure, True)[0], [799 - math.log1p(math.exp(-1)), -800.0, -799.0], rtol=1e-12)


@pytest.mark.parametrize("log_odds", [False, True])
def test_a_constant_added_to_a_document_says_nothing(log_odds: bool) -> None:
    scores, gold = problem(60, 4, ties=True)
    moved = scores + torch.arange(60.0)[:, None]
    for method in METHODS:
        one, other = (fit_calibrator(method, s, gold, log_odds).log_probabilities(s) for s in (scores, moved))
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize(("docs", "classes", "ties"), [(40, 2, False), (300, 5, False), (300, 3, True), (7, 4, True)])
def test_sigmoids_equal_scikit_learn(docs: int, classes: int, ties: bool) -> None:
    scores, gold = problem(docs, classes, ties=ties)
    found, signal = fit_platt(scores, gold, False), signals(scores)
    for column in range(signal.shape[1]):
        positive = gold.numpy() == (column if classes > 2 else 1)
        peer = _SigmoidCalibration().fit(signal[:, column], positive.astype(int))
        assert float(found.slope[column]) == pytest.approx(-peer.a_, rel=1e-4, abs=1e-6)
        assert float(found.intercept[column]) == pytest.approx(-peer.b_, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(("docs", "classes", "ties"), [(40, 2, False), (300, 5, False), (300, 3, True), (7, 4, True)])
def test_curves_equal_scikit_learn(docs: int, classes: int, ties: bool) -> None:
    """scikit-learn's curve of the same targets, within and beyond the range of the held-out scores."""
    scores, gold = problem(docs, classes, ties=ties)
    found, signal = fit_isotonic(scores, gold, False), signals(scores)
    asked = np.linspace(signal.min() - 1, signal.max() + 1, 200)
    for column in range(signal.shape[1]):
        positive = gold.numpy() == (column if classes > 2 else 1)
        high, low = (positive.sum() + 1) / (positive.sum() + 2), 1 / ((~positive).sum() + 2)
        peer = IsotonicRegression(out_of_bounds="clip").fit(signal[:, column], positive.astype(float))
        ours = np.interp(asked, found.place[column].numpy(), found.value[column].numpy())
        np.testing.assert_allclose(ours, low + (high - low) * peer.predict(asked), rtol=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_equal_those_of_calibrated_classifier_cv(method: str, classes: int) -> None:
    """A frozen classifier that gives our signals: the same curves, divided by the same sums."""
    from sklearn.frozen import FrozenEstimator

    scores, gold = problem(400, classes)
    signal = signals(scores)
    given = GivenScores(classes).fit(signal, gold.numpy())
    peer = CalibratedClassifierCV(FrozenEstimator(given), method=method, ensemble=False)
    peer.fit(signal, gold.numpy())
    ours = fit_calibrator("platt" if method == "sigmoid" else "isotonic", scores, gold, False)
    p = ours.log_probabilities(scores).exp().numpy()
    # its curves reach 0 and 1, ours stop short of them by 1/(N + 2)
    np.testing.assert_allclose(p, peer.predict_proba(signal), atol=1e-4 if method == "sigmoid" else 0.02)


@pytest.mark.parametrize(("docs", "classes", "scale"), [(200, 2, 1.0), (300, 6, 30.0), (300, 6, 0.01)])
def test_temperature_minimises_the_likelihood(docs: int, classes: int, scale: float) -> None:
    scores, gold = problem(docs, classes)
    scores = scores * scale

    def loss(log_inverse: float) -> float:
        log_p = torch.log_softmax(scores.double() * math.exp(log_inverse), dim=1)
        return float(-log_p.gather(1, gold[:, None]).mean())

    peer = minimize_scalar(loss, bounds=(-8, 8), method="bounded", options={"xatol": 1e-9})
    assert float(fit_temperature(scores, gold).inverse) == pytest.approx(math.exp(peer.x), rel=1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 3, 9])
def test_probabilities_add_up_and_none_is_0(method: str, classes: int) -> None:
    scores, gold = problem(50, classes)
    asked = torch.cat([scores, torch.full((1, classes), 0.0), 5 * scores])
    log_p = fit_calibrator(method, scores, gold, False).log_probabilities(asked)
    torch.testing.assert_close(log_p.exp().sum(dim=1), torch.ones(len(asked), dtype=torch.float64))
    assert bool(torch.isfinite(log_p).all())


@pytest.mark.parametrize("method", METHODS)
def test_separable_scores_prove_no_certainty(method: str) -> None:
    """Every held-out document is right by far: n documents say that about one in n + 2 may be wrong."""
    gold = torch.arange(40) % 2
    scores = torch.nn.functional.one_hot(gold, 2) * 10.0
    p = fit_calibrator(method, scores, gold, False).log_probabilities(scores).exp()
    wrong = 1 - p.gather(1, gold[:, None])
    expected = 1 / 42 if method == "temperature" else 1 / 22
    torch.testing.assert_close(wrong, torch.full_like(wrong, expected), rtol=1e-5, atol=0)


@pytest.mark.parametrize("method", METHODS)
def test_a_class_without_held_out_documents_is_rare_but_possible(method: str) -> None:
    scores, gold = problem(90, 3)
    gold = gold.clamp(max=1)
    p = fit_calibrator(method, scores, gold, False).log_probabilities(scores).exp()
    assert bool((p > 0).all())
    if method != "temperature":  # which knows no classes
        assert float(p[:, 2].mean()) < 0.03
        assert fit_platt(scores, gold, False).slope[2].abs() < 1e-6


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 3])
def test_one_document_a_class(method: str, classes: int) -> None:
    scores, gold = torch.eye(classes), torch.arange(classes)
    p = fit_calibrator(method, scores, gold, False).log_probabilities(scores).exp()
    assert p.argmax(dim=1).tolist() == gold.tolist()
    assert float(p.max()) < 0.9


@pytest.mark.parametrize("method", METHODS)
def test_scores_that_are_all_alike_give_the_shares_of_the_classes(method: str) -> None:
    gold = torch.tensor([0, 1, 1, 1, 1, 1, 1, 1])
    p = fit_calibrator(method, torch.full((8, 2), 3.0), gold, False).log_probabilities(torch.zeros(1, 2)).exp()
    # targets 8/9 (seven times) and 1/3
    expected = 0.5 if method == "temperature" else (7 * 8 / 9 + 1 / 3) / 8
    assert float(p[0, 1]) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("log_odds", [False, True])
def test_excluded_classes(method: str, log_odds: bool) -> None:
    """-inf (naive Bayes without smoothing): no NaN, whether one class is left, or some, or gold is excluded."""
    scores, gold = problem(60, 3)
    scores[1::4, 0] = -torch.inf
    scores[::4, 1:] = -torch.inf
    p = fit_calibrator(method, scores, gold, log_odds).log_probabilities(scores).exp()
    torch.testing.assert_close(p.sum(dim=1), torch.ones(60, dtype=torch.float64))
    excluded = p[torch.isneginf(scores)]
    if method == "temperature":
        assert float(excluded.max()) == 0, "no temperature makes the impossible possible"
    else:
        assert float(excluded.min()) > 0, "held-out documents tell how often the excluded class is right all the same"


def test_scores_that_mislead_make_all_classes_nearly_alike() -> None:
    """And no more than nearly: the decisions are still those of the scores."""
    scores, gold = problem(100, 3)
    log_p = fit_temperature(-scores, gold).log_probabilities(-scores)
    torch.testing.assert_close(log_p.exp(), torch.full((100, 3), 1 / 3, dtype=torch.float64), rtol=1e-3, atol=0)
    assert log_p.float().argmax(dim=1).tolist() == (-scores).argmax(dim=1).tolist()


def test_documents_that_no_temperature_moves_are_left_out() -> None:
    scores, gold = problem(30, 2)
    more = torch.tensor([[-torch.inf, 1.0], [-torch.inf, 1.0]])
    both = fit_temperature(torch.cat([scores, more]), torch.cat([gold, torch.tensor([0, 1])]))
    assert float(both.inverse) == float(fit_temperature(scores, gold).inverse)
    assert float(fit_temperature(more, torch.tensor([0, 1])).inverse) == 1


def test_many_classes_in_parts_are_those_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, gold = problem(50, 7)
    at_once = fit_platt(scores, gold, False)
    monkeypatch.setattr("gpuclf.optim.calibration.platt._AT_ONCE", 100)
    in_parts = fit_platt(scores, gold, False)
    torch.testing.assert_close(at_once.slope, in_parts.slope, rtol=1e-9, atol=0)
    assert isinstance(in_parts, PlattCalibrator)


def test_curves_of_different_length_are_filled_up_with_their_ends() -> None:
    found = fit_isotonic(*problem(200, 4), False)
    assert isinstance(found, IsotonicCalibrator)
    assert bool((found.place.diff(dim=1) >= 0).all())
    assert bool((found.value.diff(dim=1) >= 0).all())
