"""What is exported of a linear model: the features that it uses, their weights, and what happens to values before."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuclf.faults import UserFault
from gpuclf.models.linear.bernoulli_predictor import BernoulliPredictor
from gpuclf.models.linear.predictor import LinearPredictor
from gpuclf.models.neural.predictor import NeuralPredictor
from gpuclf.optim.calibration import Calibrator
from gpuclf.train.model_file import Model


@dataclass(frozen=True)
class LinearParts:
    """scores = (value · scale / norm) @ weights + offset, over the F features that the model uses.

    features (F) names; scale (F,) float32, the idf where there is one, else 1; norm: of the scaled row, a row of norm 0
    stays as it is; binary: values count as 1 where they are not 0; weights (F, K), offset (K,) float32.
    """

    classes: tuple[str, ...]
    features: list[str]
    scale: NDArray[np.float32]
    norm: str
    binary: bool
    weights: NDArray[np.float32]
    offset: NDArray[np.float32]
    probabilities: bool
    calibrator: Calibrator | None = None


def linear_parts(model: Model) -> LinearParts:
    """The parts of a model. UserFault for one that is not linear in its features."""
    predictor = model.predictor
    if not isinstance(predictor, LinearPredictor | BernoulliPredictor):
        network = isinstance(predictor, NeuralPredictor)
        raise UserFault(
            "the model is not linear, and only linear models and networks can be exported",
            key="model.type",
            remedy="export --to onnx" if network else None,
        )
    if predictor.impossible is not None:
        raise UserFault(
            "with smoothing 0 a feature excludes classes, which no weight can say",
            key="model.alpha",
            remedy="train with a small model.alpha above 0 to export the model",
        )
    presence = isinstance(predictor, BernoulliPredictor)
    table = predictor.weights[:, 0].cpu().numpy()
    return table_parts(model, table, table[0].copy(), presence)


def table_parts(model: Model, table: NDArray[np.float32], offset: NDArray[np.float32], presence: bool) -> LinearParts:
    """The parts of a model whose scores, or first sums, are linear: table (V + 1, K or sums), whose first row is that
    of no feature. presence: values count as 1, and have no scale."""
    assert model.col_scale is not None, "sparse rows have scales"
    col_scale = model.col_scale[1:].cpu().numpy()
    used = np.flatnonzero(col_scale)
    names = model.encoder.names
    return LinearParts(
        classes=model.classes,
        features=[names[place] for place in used],
        scale=np.ones(len(used), dtype=np.float32) if presence else col_scale[used],
        norm="none" if presence else model.features.norm,
        binary=presence,
        weights=np.ascontiguousarray(table[1:][used]),
        offset=offset,
        probabilities=model.probabilities,
        calibrator=model.calibrator,
    )
