"""SGD and AdaGrad against the same updates written out: dense, in float64, the penalty on every weight every time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from gpuclf.models.linear.online import streams_of
from gpuclf.models.train_options import TrainOptions
from tests.models.test_regularised import CLASSES, NAMES, data, options, problem

C, RATE, EPOCHS = 0.3, 0.05, 3


def gradient_of(loss: str, scores: NDArray[np.float64], y: int) -> NDArray[np.float64]:
    """Of one document's loss, by its scores."""
    own = np.eye(CLASSES)[y]
    if loss == "logistic":
        p = np.exp(scores - scores.max())
        return np.asarray(p / p.sum() - own)
    behind = scores + 1 - scores[y]
    behind[y] = 0
    if loss == "squared_margin":
        pull = 2 * behind.clip(min=0)
        return np.asarray(pull - own * pull.sum())
    behind[y] = -np.inf
    rival = int(behind.argmax())
    return np.asarray(np.eye(CLASSES)[rival] - own) if behind[rival] > 0 else np.zeros(CLASSES)


def written_out(
    x: NDArray[np.float64], y: NDArray[np.int64], orders: list[list[int]], batch: int, ridge: float, lasso: float,
    loss: str, exponent: float, adaptive: bool,
) -> NDArray[np.float64]:  # fmt: skip
    """Weights (V+1, K) after the epochs. The objective is a mean loss + (ridge/2 ‖W‖² + lasso ‖W‖₁) / (C · docs)."""
    w, squares, t = np.zeros((x.shape[1], CLASSES)), np.zeros((x.shape[1], CLASSES)), 0
    for order in orders:
        for begin in range(0, len(order), batch):
            docs, t = order[begin : begin + batch], t + 1
            g = sum(np.outer(x[n], gradient_of(loss, x[n] @ w, int(y[n]))) for n in docs) / len(docs)
            squares += g**2
            rate = RATE / (np.sqrt(squares) + 1e-10) if adaptive else np.full_like(w, RATE * t**-exponent)
            moved = w - rate * g
            scale = C * len(y)
            w = np.sign(moved) * (abs(moved) - rate * lasso / scale).clip(min=0) / (1 + rate * ridge / scale)
            w[0] = moved[0]
    return w


@pytest.mark.parametrize(
    ("optimizer", "schedule", "exponent"),
    [("sgd", "constant", 0.0), ("sgd", "inverse", 1.0), ("sgd", "power", 0.7), ("adagrad", None, 0.0)],
)
@pytest.mark.parametrize(("penalty", "ridge", "lasso"), [("l2", 1.0, 0.0), ("l1", 0.0, 1.0), ("elasticnet", 0.7, 0.3)])
@pytest.mark.parametrize(("loss", "batch"), [("logistic", 1), ("squared_margin", 1), ("margin", 1), ("logistic", 7)])
def test_epochs_are_the_updates_written_out(
    optimizer: str,
    schedule: str | None,
    exponent: float,
    penalty: str,
    ridge: float,
    lasso: float,
    loss: str,
    batch: int,
) -> None:
    x, y = data(docs=60)
    x[:, 9:] *= (torch.rand(60, 3, generator=torch.Generator().manual_seed(2)) < 0.1).float()  # rare: penalties wait
    made = problem(x, y)
    given: dict[str, Any] = {"penalty": penalty, "optimizer": optimizer, "C": C, "learning_rate": RATE}
    given |= {} if schedule is None else {"schedule": schedule}
    given |= {"power": exponent} if schedule == "power" else {}
    given |= {"l1_ratio": lasso} if penalty == "elasticnet" else {}
    learner = options(loss, **given).build(TrainOptions(batch=batch), NAMES)
    state = learner.init(made)
    for _ in range(EPOCHS):
        state = learner.step(made, state)
    orders = [streams_of(made, epoch, True).order[0].tolist() for epoch in range(EPOCHS)]
    with_offset = np.hstack([np.ones((60, 1)), x.double().numpy()])
    expected = written_out(with_offset, y.numpy(), orders, batch, ridge, lasso, loss, exponent, optimizer == "adagrad")
    found = learner.result(made, state).weights[:, 0].double().numpy()  # type: ignore[attr-defined]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert abs(expected[1:]).max() > 0.01
    if penalty == "l1" and optimizer == "sgd" and schedule == "constant":
        assert (expected[1:] == 0).any()
