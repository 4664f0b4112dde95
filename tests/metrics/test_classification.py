"""Figures from confusion matrices equal scikit-learn's, absent and never-predicted classes included."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn import metrics as peer

from gpuclf.metrics.classification import (
    accuracy,
    batch_metrics,
    classification_report,
    macro_f1,
    micro_f1,
    per_class,
    weighted_f1,
)
from gpuclf.metrics.confusion import confusion

CLASSES = 6


@st.composite
def answers(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Gold and predicted class numbers below CLASSES of the same 1 to 40 documents; classes are often absent."""
    size = draw(st.integers(1, 40))
    column = arrays.arrays(np.int64, size, elements=st.integers(0, CLASSES - 1))
    return draw(column), draw(column)


def counted(gold: np.ndarray, predicted: np.ndarray, classes: int = CLASSES) -> torch.Tensor:
    return confusion(torch.from_numpy(gold), torch.from_numpy(predicted), classes)


@given(answers())
def test_confusion_equals_scikit_learn(pair: tuple[np.ndarray, np.ndarray]) -> None:
    gold, predicted = pair
    matrix = counted(gold, predicted)
    assert matrix.dtype == torch.int64
    np.testing.assert_array_equal(matrix.numpy(), peer.confusion_matrix(gold, predicted, labels=range(CLASSES)))


def test_confusion_of_replicas_is_the_confusion_of_each(device: torch.device) -> None:
    generator = torch.Generator().manual_seed(3)
    gold = torch.randint(-1, 4, (257,), generator=generator).to(device)
    predicted = torch.randint(0, 4, (5, 257), generator=generator).to(device)
    matrices = confusion(gold, predicted, 4)
    assert matrices.shape == (5, 4, 4)
    for replica in range(5):
        torch.testing.assert_close(matrices[replica], confusion(gold, predicted[replica], 4), rtol=0, atol=0)
    assert matrices.sum((1, 2)).tolist() == [int((gold >= 0).sum())] * 5  # no label: left out


def test_confusion_of_portions_adds_up() -> None:
    generator = torch.Generator().manual_seed(4)
    gold = torch.randint(0, 3, (255,), generator=generator)
    predicted = torch.randint(0, 3, (2, 255), generator=generator)
    total = torch.zeros((2, 3, 3), dtype=torch.int64)
    for docs in torch.arange(255).split(100):
        total += confusion(gold[docs], predicted[:, docs], 3)
    torch.testing.assert_close(total, confusion(gold, predicted, 3), rtol=0, atol=0)


def test_confusion_of_no_documents_and_of_no_replicas() -> None:
    nothing = torch.zeros(0, dtype=torch.int64)
    assert confusion(nothing, nothing, 3).tolist() == [[0] * 3] * 3
    assert confusion(nothing, nothing.view(2, 0), 3).shape == (2, 3, 3)


def test_class_number_beyond_the_matrix_is_refused() -> None:
    with pytest.raises(AssertionError, match="num_classes"):
        confusion(torch.tensor([2]), torch.tensor([1]), 2)


@given(answers())
def test_batch_figures_equal_scikit_learn(pair: tuple[np.ndarray, np.ndarray]) -> None:
    gold, predicted = pair
    matrix = counted(gold, predicted)
    figures = {name: float(value) for name, value in batch_metrics(matrix[None]).items()}
    expected = {"accuracy": peer.accuracy_score(gold, predicted)}
    for kind in ("macro", "micro", "weighted"):
        expected[f"{kind}_f1"] = peer.f1_score(gold, predicted, average=kind, zero_division=0.0)
    assert figures == pytest.approx(expected, rel=1e-12)


@given(answers())
def test_report_equals_scikit_learn(pair: tuple[np.ndarray, np.ndarray]) -> None:
    gold, predicted = pair
    report = classification_report(counted(gold, predicted), "abcdef")
    p, r, f, s = peer.precision_recall_fscore_support(gold, predicted, labels=range(CLASSES), zero_division=0.0)
    np.testing.assert_allclose(report.per_class.precision, p, rtol=1e-12)
    np.testing.assert_allclose(report.per_class.recall, r, rtol=1e-12)
    np.testing.assert_allclose(report.per_class.f1, f, rtol=1e-12)
    np.testing.assert_array_equal(report.per_class.support, s)
    for kind in ("macro", "micro", "weighted"):
        figures = peer.precision_recall_fscore_support(gold, predicted, average=kind, zero_division=0.0)[:3]
        average = getattr(report, kind)
        assert (average.precision, average.recall, average.f1) == pytest.approx(figures, rel=1e-12)
    assert set(report.counted) == {"abcdef"[k] for k in np.union1d(gold, predicted)}


@given(answers(), st.sets(st.integers(0, CLASSES - 1), min_size=1))
def test_averages_over_chosen_classes_equal_scikit_learn(pair: tuple[np.ndarray, np.ndarray], chosen: set[int]) -> None:
    gold, predicted = pair
    mask = torch.tensor([k in chosen for k in range(CLASSES)])
    report = classification_report(counted(gold, predicted), "abcdef", counted=mask)
    for kind in ("macro", "micro"):
        expected = peer.precision_recall_fscore_support(
            gold, predicted, average=kind, labels=sorted(chosen), zero_division=0.0
        )[:3]
        average = getattr(report, kind)
        assert (average.precision, average.recall, average.f1) == pytest.approx(expected, rel=1e-12)
    assert report.counted == tuple("abcdef"[k] for k in sorted(chosen))


def test_averages_say_what_they_count() -> None:
    # gold: a a b d; predictions: a c a c. e occurs nowhere.
    report = classification_report(counted(np.array([0, 0, 1, 3]), np.array([0, 2, 0, 2]), 5), "abcde")
    assert report.counted == ("a", "b", "c", "d")
    assert report.never_predicted == ("b", "d")
    assert report.without_gold == ("c",)
    assert report.macro.precision == pytest.approx((1 / 2 + 0 + 0 + 0) / 4)
    assert report.macro.recall == pytest.approx((1 / 2 + 0 + 0 + 0) / 4)
    assert report.weighted.f1 == pytest.approx(2 / 4 * 1 / 2)
    about = report.to_json()
    assert list(about["per_class"]) == ["a", "b", "c", "d"]
    assert about["per_class"]["a"] == {"precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 2, "predicted": 2}
    assert about["macro_f1"] == pytest.approx(1 / 8)
    assert about["counted"] == ["a", "b", "c", "d"]


def test_label_that_training_did_not_know_is_an_error_of_recall_0() -> None:
    # Case o17: classes elm, oak from training; yew only in the test file. Three of four documents are right.
    gold, predicted = np.array([1, 1, 0, 2]), np.array([1, 1, 0, 1])
    report = classification_report(counted(gold, predicted, 3), ("elm", "oak", "yew"), num_model_classes=2)
    assert report.accuracy == 0.75
    assert report.not_in_training == ("yew",)
    assert report.per_class.support.tolist() == [1, 2, 1]
    assert report.per_class.recall.tolist() == [1.0, 1.0, 0.0]
    assert "yew" in report.counted
    assert report.macro.recall == pytest.approx(2 / 3)


def test_batched_figures_are_those_of_each_replica() -> None:
    generator = torch.Generator().manual_seed(5)
    matrices = torch.randint(0, 9, (4, 7, 7), generator=generator)
    matrices[1, 2], matrices[1, :, 2] = 0, 0  # class 2 occurs nowhere in replica 1
    for figure in (accuracy, macro_f1, micro_f1, weighted_f1):
        alone = torch.stack([figure(matrix) for matrix in matrices])
        assert alone.dtype == torch.float64
        torch.testing.assert_close(figure(matrices), alone, rtol=1e-15, atol=0)
    assert per_class(matrices).occurs[1].tolist() == [True, True, False, True, True, True, True]


def test_no_document_has_no_figure() -> None:
    empty = torch.zeros((2, 3, 3), dtype=torch.int64)
    assert all(math.isnan(value) for values in batch_metrics(empty).values() for value in values.tolist())
    report = classification_report(empty[0], "abc")
    assert math.isnan(report.accuracy)
    assert math.isnan(report.micro.f1)
    assert math.isnan(report.macro.f1)
