"""o39: stopped early, called converged. Features of scales 1e4 and 1e-3."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from gpuclf.report.metrics_log import read_rows
from gpuclf.train.model_file import load_model
from tests.cli.drive import Gpuclf, about_model, metrics_of

REFERENCE = 131.76305746910572  # Newton's method in 64 bits, no offset


def case_rows() -> list[tuple[int, float, float, float]]:
    draw = random.Random(8)
    rows = []
    for _ in range(300):
        a, b, c = draw.gauss(0, 1), draw.gauss(0, 1) * 1e4, draw.gauss(0, 1) * 1e-3
        p = 1 / (1 + math.exp(-(1.5 * a + 2e-4 * b - 800 * c)))
        rows.append((1 if draw.random() < p else -1, a, b, c))
    return rows


def trained(gpuclf: Gpuclf, **model: Any) -> tuple[Path, str]:
    lines = "".join(f"{label} 1:{a!r} 2:{b!r} 3:{c!r}\n" for label, a, b, c in case_rows())
    data = {"train": gpuclf.text("train.svm", lines), "format": "svmlight", "index_base": 1}
    # two classes have two columns of weights, ±w/2 at the optimum: C = ½ makes it the case's objective
    model = {"type": "logistic", "C": 0.5, "offset": False} | model
    config = gpuclf.config(model, data=data, features={"type": "as_given"}, run={"tensorboard": True})
    run, output = gpuclf.train(config)
    return run, output.err


def objective(run: Path) -> float:
    """Σ log-loss + ½‖w‖² of the run's model, in 64 bits."""
    weights = load_model(run, torch.device("cpu")).predictor.weights[1:, 0].double().numpy()  # type: ignore[attr-defined]
    w = weights[:, 1] - weights[:, 0]
    rows = np.array(case_rows())
    margins = rows[:, 0] * (rows[:, 1:] @ w)
    return float(np.logaddexp(0, -margins).sum() + 0.5 * w @ w)


@pytest.mark.parametrize("optimizer", ["lbfgs", "newton", "gradient_descent", "sgd"])
def test_converged_means_near_the_optimum(gpuclf: Gpuclf, optimizer: str) -> None:
    more = {"max_iter": 60} if optimizer in ("sgd", "gradient_descent") else {"tol": 1e-5}
    run, err = trained(gpuclf, optimizer=optimizer, **more)
    (final,) = metrics_of(run)["final"]
    assert about_model(run)["training"] == {"status": final["status"], "steps": final["steps"]}
    page, texts = (run / "report.html").read_text(), board_text(run)
    if final["status"] == "converged":
        assert objective(run) == pytest.approx(REFERENCE, rel=1e-4)
        assert "NOT converged" not in err + page + texts
        assert "(converged)" in page
        assert "(converged)" in texts
    else:
        assert optimizer not in ("lbfgs", "newton")
        for told in (err, page, texts):
            assert "NOT converged: max_iter ended it after 60 steps" in told


def test_not_converged_is_told_with_the_gradient_norm(gpuclf: Gpuclf) -> None:
    run, err = trained(gpuclf, optimizer="lbfgs", max_iter=1, tol=1e-9, start="zero")
    last = [row for row in read_rows(run / "metrics.jsonl") if row["phase"] == "refit"][-1]
    assert f"gradient norm {last['gradient_norm']:.3g}" in err
    assert "NOT converged: max_iter ended it after 1 step" in err
    assert objective(run) > 1.001 * REFERENCE


def board_text(run: Path) -> str:
    """The text `summary` of the run's TensorBoard files."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run))
    events.Reload()
    markdown = events.Tensors("summary")[0].tensor_proto.string_val[0].decode()
    return str(markdown.replace("\\_", "_"))
