"""Models whose form stays while their parameters are learnt from other documents, for the diagnosis of errors."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from torch import Tensor

from gpuclf.features.rows import Rows
from gpuclf.models.learner import Predictor


@runtime_checkable
class Refittable(Protocol):
    """A predictor that was trained in two parts, its form and then its parameters."""

    def refitted(self, rows: Rows, labels: Tensor, col_scale: Tensor | None) -> Predictor:
        """The first replica's model with parameters from these documents; labels (docs,) int64, −1 for none."""
        ...
