"""Batches of rows for the rules with a covariance, against the same written out for one replica."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.ops.instance_epoch import InstanceModel, InstanceRule, cpu, instance_epoch, reference
from gpuclf.ops.online_epoch import Streams
from tests.ops import eager_rules
from tests.ops.online_problem import Setting, setting, values
from tests.ops.test_instance_epoch import KINDS, STREAM_OF, model_of, rows_of, rule_of

CONFIDENT = [kind for kind in KINDS if not kind[0].startswith("svm")]


def written_out(
    s: Setting, r: int, rule: InstanceRule, batch: int, mean: bool, epochs: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], int]:
    """Weights, covariance and averaged weights (V+1, K) of replica r, and updates made."""
    x = values(s.rows, int(s.streams.view[STREAM_OF[r]]), s.features).numpy()
    y, order = s.rows.labels.numpy(), rows_of(s, r) * 1
    own = {name: float(part[r]) for name, part in vars(rule).items() if isinstance(part, Tensor)}
    w, sigma = np.zeros((s.features + 1, s.classes)), np.ones((s.features + 1, s.classes))
    every, updates = [], 0
    for _ in range(epochs):
        for begin in range(0, len(order), batch):
            part = order[begin : begin + batch]
            share = 1 / len(part) if mean else 1.0
            decided = []
            for n in part:
                scores = x[n] @ w
                delta = np.zeros_like(w)
                delta[:, y[n]], delta[:, eager_rules.highest(scores, skip=y[n])] = x[n], -x[n]
                m, v = float((w * delta).sum()), float((sigma * delta**2).sum())
                alpha, rho, violation = eager_rules.RULES[rule.kind](m, v, own)
                if violation > 0:
                    decided.append((delta, share * alpha, share * rho, share * rho / (1 + rho * v)))
            w = w + sum(alpha * sigma * delta for delta, alpha, _, _ in decided)
            for delta, _, rho, beta in decided:
                if rule.diagonal == "precision":
                    sigma = 1 / (1 / sigma + rho * delta**2)
                else:
                    sigma = sigma - beta * sigma**2 * delta**2
            every += [w] * len(part)
            updates += len(decided)
    return w, sigma, np.mean(every, axis=0), updates


@pytest.mark.parametrize("epoch", [reference.instance_epoch, cpu.instance_epoch], ids=["reference", "cpu"])
@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize(("kind", "diagonal"), CONFIDENT)
def test_batches_are_the_updates_written_out(epoch: object, kind: str, diagonal: str, mean: bool) -> None:
    s = setting(docs=40, classes=4)
    rule = rule_of(kind, diagonal)
    model = model_of(s, rule)
    seen = (s.streams.order >= 0).sum(1).repeat_interleave(s.streams.start.diff())
    updates = torch.zeros(7, dtype=torch.int64)
    for _ in range(2):
        updates += epoch(s.rows, s.streams, rule, model, 3, mean).updates  # type: ignore[operator]
        model.steps.add_(seen)
    assert model.sums is not None
    assert model.covariance is not None
    average = model.weights - model.sums / model.steps[:, None]
    for r in (0, 2, 3, 6) if mean else (0, 3):
        w, sigma, expected, count = written_out(s, r, rule, 3, mean, 2)
        assert int(updates[r]) == count
        np.testing.assert_allclose(model.weights[:, r], w, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(model.covariance[:, r], sigma, rtol=1e-7, atol=1e-12)
        np.testing.assert_allclose(average[:, r], expected, rtol=1e-7, atol=1e-9)
        assert (sigma > 0).all()
    assert updates[0] > 3


@pytest.mark.parametrize(("kind", "diagonal"), CONFIDENT)
def test_a_batch_of_all_rows_does_not_depend_on_their_order(kind: str, diagonal: str) -> None:
    s = setting(docs=30, classes=3)
    rule = rule_of(kind, diagonal)
    order = s.streams.order[:1]
    models = []
    for visited in (order, order.flip(1)):
        streams = Streams(visited, s.streams.view[:1], torch.tensor([0, 7]))
        model = model_of(s, rule)
        instance_epoch(s.rows, streams, rule, model, 30, True)
        models.append(model)
    torch.testing.assert_close(models[0].weights, models[1].weights, rtol=1e-10, atol=1e-12)
    tolerance = 1e-10 if diagonal == "precision" else 0.05  # the others shrink row by row
    torch.testing.assert_close(models[0].covariance, models[1].covariance, rtol=tolerance, atol=tolerance)


def test_the_svm_has_no_batches() -> None:
    s = setting(docs=4)
    rule = rule_of("svm")
    with pytest.raises(AssertionError):
        instance_epoch(s.rows, s.streams, rule, InstanceModel(torch.zeros(31, 7, 5), None, torch.zeros(7).long()), 2)
