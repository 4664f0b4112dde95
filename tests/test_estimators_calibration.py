"""scikit-learn's own calibration takes our estimators: the same steps as `calibrate` in a config."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from gpuclf.estimators import MIRA, LinearSVM


def problem(classes: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    y = draw.integers(0, classes, 150)
    x = draw.normal(size=(150, 6))
    x[np.arange(150), y] += 1.5
    return x, y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("estimator", [MIRA(), LinearSVM(C=0.1, tol=0.05)], ids=["mira", "svm"])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
def test_calibrated_classifier_cv(estimator: ClassifierMixin, method: str, classes: int) -> None:
    x, y = problem(classes)
    splits = StratifiedKFold(3)
    found = CalibratedClassifierCV(estimator, method=method, cv=splits, ensemble=False).fit(x, y)
    p = found.predict_proba(x)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-6)
    assert np.isfinite(p).all()
    loss = -np.log(np.maximum(p[np.arange(150), y], 1e-3)).mean()
    assert loss < 0.8 * np.log(classes), "they say more than the shares of the classes"
    held_out = cross_val_predict(estimator, x, y, cv=splits, method="decision_function")
    assert held_out.shape == ((150,) if classes == 2 else (150, 3))
