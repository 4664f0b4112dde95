"""SGD and AdaGrad against the same updates written out: dense, in float64, the penalty on every weight every time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.models.learner import Learner, Problem, Replicas
from gpuclf.models.linear.online import streams_of
from gpuclf.models.linear.perceptron import PerceptronOptions
from gpuclf.models.linear.predictor import LinearPredictor
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops.class_loss import class_loss
from gpuclf.train.checkpoint import load_latest, save_checkpoint
from gpuclf.train.loop import BatchLoop, StepReport
from tests.models.test_regularised import CLASSES, NAMES, data, options, problem, train
from tests.models.test_regularised import weights as weights_of

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
    if loss == "perceptron":
        return np.asarray(np.eye(CLASSES)[int(scores.argmax())] - own)
    behind[y] = -np.inf
    rival = int(behind.argmax())
    return np.asarray(np.eye(CLASSES)[rival] - own) if behind[rival] > 0 else np.zeros(CLASSES)


def written_out(
    x: NDArray[np.float64], y: NDArray[np.int64], orders: list[list[int]], batch: int, ridge: float, lasso: float,
    loss: str, exponent: float, adaptive: bool,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # fmt: skip
    """Weights (V+1, K) after the epochs, and their mean over all documents seen.

    The objective is a mean loss + (ridge/2 ‖W‖² + lasso ‖W‖₁) / (C · docs)."""
    w, squares, t = np.zeros((x.shape[1], CLASSES)), np.zeros((x.shape[1], CLASSES)), 0
    every: list[NDArray[np.float64]] = []
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
            every += [w.copy() for _ in docs]
    return w, np.mean(every, axis=0)


def objective_of(x: Tensor, y: Tensor, w: NDArray[np.float64], loss: str, ridge: float, lasso: float) -> float:
    """C · Σ loss + ridge/2 ‖W‖² + lasso ‖W‖₁, the offset without penalty."""
    scores = torch.hstack([torch.ones(len(x), 1), x]).double() @ torch.from_numpy(w)
    value, _ = class_loss(loss, scores[:, None].contiguous(), y, torch.ones(len(x), 1, dtype=torch.float64), None)
    return C * float(value) + ridge / 2 * float((w[1:] ** 2).sum()) + lasso * float(abs(w[1:]).sum())


@pytest.mark.parametrize(
    ("optimizer", "schedule", "exponent"),
    [("sgd", "constant", 0.0), ("sgd", "inverse", 1.0), ("sgd", "power", 0.7), ("adagrad", None, 0.0)],
)
@pytest.mark.parametrize(("penalty", "ridge", "lasso"), [("l2", 1.0, 0.0), ("l1", 0.0, 1.0), ("elasticnet", 0.7, 0.3)])
@pytest.mark.parametrize(("loss", "batch"), [("logistic", 1), ("squared_margin", 1), ("perceptron", 1), ("margin", 7)])
@pytest.mark.parametrize("average", [False, True])
def test_epochs_are_the_updates_written_out(
    optimizer: str,
    schedule: str | None,
    exponent: float,
    penalty: str,
    ridge: float,
    lasso: float,
    loss: str,
    batch: int,
    average: bool,
) -> None:
    x, y = data(docs=60)
    x[:, 9:] *= (torch.rand(60, 3, generator=torch.Generator().manual_seed(2)) < 0.1).float()  # rare: penalties wait
    made = problem(x, y)
    given: dict[str, Any] = {"penalty": penalty, "optimizer": optimizer, "C": C, "learning_rate": RATE}
    given |= {"average": True} if average else {}
    given |= {} if schedule is None else {"schedule": schedule}
    given |= {"power": exponent} if schedule == "power" else {}
    given |= {"l1_ratio": lasso} if penalty == "elasticnet" else {}
    learner = options(loss, **given).build(TrainOptions(batch=batch), NAMES)
    state = learner.init(made)
    for _ in range(EPOCHS):
        state = learner.step(made, state)
    orders = [streams_of(made, epoch, True).order[0].tolist() for epoch in range(EPOCHS)]
    with_offset = np.hstack([np.ones((60, 1)), x.double().numpy()])
    last, mean = written_out(
        with_offset, y.numpy(), orders, batch, ridge, lasso, loss, exponent, optimizer == "adagrad"
    )
    expected = mean if average else last
    found = learner.result(made, state).weights[:, 0].double().numpy()  # type: ignore[attr-defined]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    assert abs(expected[1:]).max() > 0.003
    others = learner.alternatives(made, state)
    assert others.keys() == ({"final"} if average else set())
    for other in others.values():
        assert isinstance(other, LinearPredictor)
        np.testing.assert_allclose(other.weights[:, 0].double().numpy(), last, rtol=1e-5, atol=1e-6)
        assert abs(last - mean).max() > 1e-3
        assert state.value == pytest.approx(objective_of(x, y, mean, loss, ridge, lasso), rel=1e-9)
    if penalty == "l1" and optimizer == "sgd" and schedule == "constant":
        assert (last[1:] == 0).any()


def test_a_constant_step_on_the_perceptron_loss_is_the_perceptron() -> None:
    """Eisenstein 2018, eq. 2.41 and Alg. 3: its subgradient steps of length 1, without a penalty."""
    x, y = data(docs=60)
    made = problem(x, y)
    learners: list[Learner]
    given: dict[str, Any] = {"penalty": "none", "optimizer": "sgd", "schedule": "constant", "learning_rate": 1.0}
    for average in (False, True):
        learners = [
            options("perceptron", **given, **({"average": True} if average else {})).build(TrainOptions(), NAMES),
            PerceptronOptions(average=average).build(TrainOptions(), NAMES),
        ]
        weights = []
        for learner in learners:
            state = learner.init(made)
            for _ in range(EPOCHS):
                state = learner.step(made, state)
            found = learner.result(made, state)
            assert isinstance(found, LinearPredictor)
            weights.append(found.weights)
        torch.testing.assert_close(weights[0], weights[1], rtol=1e-4, atol=1e-4)
        assert weights[0].abs().max() > 1


def test_the_mean_of_minibatches_is_nearer_to_the_optimum_than_the_last_weights() -> None:
    """What averaging is for (Polyak & Juditsky 1992): with a constant rate the weights go on jumping about."""
    x, y = data(docs=200)
    made = problem(x, y)
    given: dict[str, Any] = {"optimizer": "sgd", "schedule": "constant", "learning_rate": 0.5, "C": 0.3}
    learner = options("logistic", average=True, **given).build(TrainOptions(batch=4), NAMES)
    state = learner.init(made)
    for _ in range(30):
        state = learner.step(made, state)
    best = weights_of(train(options("logistic", C=0.3, tol=1e-10), made))
    far = (learner.alternatives(made, state)["final"].weights[:, 0] - best).norm()  # type: ignore[attr-defined]
    near = (learner.result(made, state).weights[:, 0] - best).norm()  # type: ignore[attr-defined]
    assert near < 0.5 * far


@pytest.mark.parametrize("optimizer", ["lbfgs", "dcd", "newton", "gradient_descent"])
def test_averages_of_other_optimisers_are_refused(optimizer: str) -> None:
    with pytest.raises(ValueError, match="average means nothing with optimizer"):
        options("logistic", optimizer=optimizer, average=True)


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad"])
def test_averages_resume_to_the_same_bits_and_a_cell_is_what_it_is_alone(optimizer: str, tmp_path: Path) -> None:
    x, y = data(docs=60)
    one = problem(x, y)
    spread = {"model.C": torch.tensor([0.1, 3.0], dtype=torch.float64)}
    both = replace(one, replicas=Replicas(torch.tensor([0, 0]), torch.tensor([0, 0]), spread))
    learner = options("logistic", optimizer=optimizer, average=True).build(TrainOptions(batch=4), NAMES)

    def loop(made: Problem) -> BatchLoop:
        return BatchLoop(learner, made, TrainOptions(), 5, None, True)

    def keep(report: StepReport, running: BatchLoop) -> None:
        if running.step == 2:
            save_checkpoint(tmp_path, running.checkpoint())

    whole = loop(both).run(keep)
    saved = load_latest(tmp_path, pytest.fail)
    assert saved is not None
    resumed = loop(both)
    resumed.resume(saved)
    again = resumed.run(lambda report, running: None)
    alone = loop(replace(both, replicas=both.replicas.take(torch.tensor([1])))).run(lambda report, running: None)
    for name in ("", "final"):
        found = [out.alternatives[name] if name else out.predictor for out in (whole, again, alone)]
        first, second, third = (part.weights for part in found if isinstance(part, LinearPredictor))
        assert torch.equal(first, second)
        assert torch.equal(first[:, 1:], third)
