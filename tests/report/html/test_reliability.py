"""What the page says of calibration."""

from __future__ import annotations

from typing import Any

import torch

from gpuclf.report.html.reliability_section import no_reliability, reliability_section

GOLD = torch.tensor([0, 1, 1, 0])
LOG_P = torch.log(torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.7, 0.3]], dtype=torch.float64))


def record(**changes: Any) -> dict[str, Any]:
    after = {"log_loss": 0.25, "expected_calibration_error": 0.0125}
    return {"method": "platt", "rows": "out_of_fold", "documents": 1234, "after": after} | changes


def test_by_what_and_on_what() -> None:
    text = str(reliability_section(GOLD, LOG_P, record()))
    assert "calibrated by platt on 1,234 out-of-fold documents" in text
    assert "log loss 0.2500; expected calibration error 0.0125." in text
    assert "calibrated by" not in str(reliability_section(GOLD, LOG_P))


def test_what_it_did_to_a_learner_that_gives_probabilities() -> None:
    before = {"log_loss": "inf", "expected_calibration_error": 0.2}
    text = str(reliability_section(GOLD, LOG_P, record(method="temperature", temperature=1.5, before=before)))
    assert "temperature (T = 1.5)" in text
    assert "log loss 0.2500 (before: inf); expected calibration error 0.0125 (before: 0.2000)" in text


def test_how_to_get_probabilities() -> None:
    assert "calibrate: platt" in str(no_reliability("svm"))
