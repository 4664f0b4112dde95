"""Arrays of a linear model for numpy and scikit-learn, without pickles.

coef_ (K, F), intercept_ (K,), feature_scale (F,) float32; classes_ (K,) strings. One row a class for two classes, too:
the decision is the class of the highest score, and scikit-learn's binary coef_ is row 1 - row 0. The names of the
features stand in the JSON beside it (gpuclf.report.export.vectoriser).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gpuclf.data.atomic_write import atomic_path
from gpuclf.report.export.linear_parts import LinearParts


def write_arrays(parts: LinearParts, path: Path) -> None:
    """Writes the .npz, whole or not at all."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(
            file,
            coef_=parts.weights.T,
            intercept_=parts.offset,
            feature_scale=parts.scale,
            classes_=np.asarray(parts.classes),
        )
