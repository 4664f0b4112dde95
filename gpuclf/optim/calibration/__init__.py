"""From a classifier's scores to probabilities, learnt on held-out rows: Platt's sigmoid, isotonic, temperature.

A calibrator is an immutable record of float64 tensors; it maps scores (docs, K), K ≥ 2, to log probabilities (docs, K).
"""

from __future__ import annotations

from typing import Literal, Protocol

from torch import Tensor

from gpuclf.optim.calibration.isotonic import IsotonicCalibrator, fit_isotonic
from gpuclf.optim.calibration.one_vs_rest import log_softmax, one_vs_rest
from gpuclf.optim.calibration.platt import PlattCalibrator, fit_platt
from gpuclf.optim.calibration.temperature import TemperatureCalibrator, fit_temperature

CalibrationMethod = Literal["platt", "isotonic", "temperature"]


class Calibrator(Protocol):
    """A trained calibration."""

    def log_probabilities(self, scores: Tensor) -> Tensor:
        """log P(class | document) (docs, K) float64 of scores (docs, K)."""
        ...


# What model.json calls a calibrator; a name is never given another meaning.
CALIBRATORS: dict[str, type[Calibrator]] = {
    "platt": PlattCalibrator,
    "isotonic": IsotonicCalibrator,
    "temperature": TemperatureCalibrator,
}


def fit_calibrator(method: CalibrationMethod, scores: Tensor, gold: Tensor, log_odds: bool) -> Calibrator:
    """The calibrator of held-out scores (docs, K) and gold (docs,) int64 below K; docs ≥ 1, K ≥ 2.

    log_odds: the scores are log probabilities up to a constant a document (see `one_vs_rest`).
    """
    if method == "temperature":
        return fit_temperature(scores, gold)
    return (fit_platt if method == "platt" else fit_isotonic)(scores, gold, log_odds)


def calibrator_name(calibrator: Calibrator) -> str:
    """What a model file calls it."""
    return next(name for name, known in CALIBRATORS.items() if type(calibrator) is known)


__all__ = [
    "CALIBRATORS",
    "CalibrationMethod",
    "Calibrator",
    "IsotonicCalibrator",
    "PlattCalibrator",
    "TemperatureCalibrator",
    "calibrator_name",
    "fit_calibrator",
    "fit_isotonic",
    "fit_platt",
    "fit_temperature",
    "log_softmax",
    "one_vs_rest",
]
