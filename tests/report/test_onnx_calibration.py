"""Calibration in exported graphs: onnxruntime's probabilities are the calibrator's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gpuclf.optim.calibration import CALIBRATORS, fit_calibrator
from gpuclf.report.export.linear_parts import LinearParts

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("log_odds", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("method", CALIBRATORS)
def test_probabilities_of_the_graph(method: str, classes: int, log_odds: bool) -> None:
    from gpuclf.report.export.onnx_graph import dense_model

    draw = np.random.default_rng(0)
    weights = draw.normal(size=(6, classes)).astype(np.float32)
    gold = torch.from_numpy(draw.integers(0, classes, 200))
    held_out = torch.from_numpy(draw.normal(size=(200, classes)).astype(np.float32) * 3)
    held_out[torch.arange(200), gold] += 2
    calibrator = fit_calibrator(method, held_out, gold, log_odds)  # type: ignore[arg-type]
    parts = LinearParts(
        classes=tuple(f"c{k}" for k in range(classes)),
        features=[f"f{k}" for k in range(6)],
        scale=np.ones(6, dtype=np.float32),
        norm="none",
        binary=False,
        weights=weights,
        offset=np.zeros(classes, dtype=np.float32),
        probabilities=True,
        calibrator=calibrator,
    )
    x = draw.normal(size=(300, 6)).astype(np.float32) * 4
    session = onnxruntime.InferenceSession(dense_model(parts).SerializeToString(), providers=["CPUExecutionProvider"])
    given = dict(zip([output.name for output in session.get_outputs()], session.run(None, {"values": x}), strict=True))
    np.testing.assert_allclose(given["scores"], x @ weights, rtol=1e-4, atol=1e-4)
    expected = calibrator.log_probabilities(torch.from_numpy(given["scores"])).exp().numpy()
    np.testing.assert_allclose(given["probabilities"], expected, atol=1e-5)
    best = expected.max(axis=1)
    chosen = expected[np.arange(300), given["class"]]
    np.testing.assert_allclose(chosen, best, atol=1e-5, err_msg="the class is the likeliest one")
