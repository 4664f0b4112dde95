"""Reliability and calibration error: worked by hand, and scikit-learn's curve."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.calibration import calibration_curve

from gpuclf.metrics.calibration import reliability_curve, top_class_reliability


def test_worked_calibration_error() -> None:
    confidence = torch.tensor([0.9, 0.8, 0.3, 0.5])  # 0.5 lies on the edge: it belongs to the lower bin
    correct = torch.tensor([True, False, False, True])
    curve = reliability_curve(confidence, correct, bins=2)
    assert curve.documents.tolist() == [2, 2]
    assert curve.confidence.tolist() == pytest.approx([0.4, 0.85])
    assert curve.accuracy.tolist() == [0.5, 0.5]
    assert curve.expected_calibration_error == pytest.approx(0.5 * 0.1 + 0.5 * 0.35)


def test_curve_equals_scikit_learn() -> None:
    generator = torch.Generator().manual_seed(7)
    confidence = torch.rand(1000, generator=generator, dtype=torch.float64)
    correct = torch.rand(1000, generator=generator) < confidence
    curve = reliability_curve(confidence, correct, bins=10)
    accuracy, mean = calibration_curve(correct.numpy(), confidence.numpy(), n_bins=10)
    np.testing.assert_allclose(curve.accuracy, accuracy, rtol=1e-12)
    np.testing.assert_allclose(curve.confidence, mean, rtol=1e-12)
    assert int(curve.documents.sum()) == 1000
    weights = curve.documents.numpy() / 1000
    assert curve.expected_calibration_error == pytest.approx(float((weights * np.abs(accuracy - mean)).sum()))


def test_empty_bins_have_no_figure_and_no_weight() -> None:
    curve = reliability_curve(torch.tensor([0.0, 1.0]), torch.tensor([False, True]), bins=4)
    assert curve.documents.tolist() == [1, 0, 0, 1]
    assert math.isnan(float(curve.accuracy[1]))
    assert curve.expected_calibration_error == 0.0


def test_top_class_counts_unknown_labels_as_wrong() -> None:
    prob = torch.tensor([[0.75, 0.25], [0.25, 0.75]])
    curve = top_class_reliability(prob, torch.tensor([0, 2]), bins=1)
    assert curve.accuracy.tolist() == [0.5]
    assert curve.expected_calibration_error == pytest.approx(0.25)
