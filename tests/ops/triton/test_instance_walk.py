"""The Triton walk of rules with a covariance or a decay, against the reference: see test_online_walk."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from gpuclf.ops.instance_epoch import InstanceModel, InstanceRule, reference
from gpuclf.ops.online_epoch import Streams
from tests.ops.online_problem import setting

pytestmark = pytest.mark.triton
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
TWO = torch.tensor([0.4, 1.5], dtype=torch.float64)
RULES: dict[str, dict[str, Any]] = {
    "variance": {"phi": TWO},
    "scw1": {"phi": TWO, "C": TWO.flip(0) / 8, "diagonal": "covariance"},
    "scw2": {"phi": TWO, "C": TWO},
    "arow": {"r": TWO, "diagonal": "covariance"},
    "svm": {"eta": TWO, "decay": torch.tensor([0.01, 0.7], dtype=torch.float64)},
    "svm-inverse": {"decay": torch.tensor([0.1, 0.7], dtype=torch.float64), "cost": True},
}


def there(record: Any) -> Any:
    moved = {k: v.to(DEVICE) if isinstance(v, torch.Tensor) else v for k, v in vars(record).items()}
    return type(record)(**moved)


@pytest.mark.parametrize(("scaled", "average", "classes"), [(True, True, 3), (False, False, 2)])
@pytest.mark.parametrize(
    ("name", "batch", "mean"),
    [*((name, 1, False) for name in RULES), *((name, 4, name != "arow") for name in list(RULES)[:4])],
)
def test_walk_agrees_with_the_reference(
    name: str, batch: int, mean: bool, scaled: bool, average: bool, classes: int
) -> None:
    """Two streams, a replica each, of unequal length; an empty row; a portion smaller than the longest row."""
    triton_walk = pytest.importorskip("gpuclf.ops.instance_epoch.triton_walk")
    s = setting(docs=6, features=12, classes=classes, scaled=scaled, seed=classes)
    streams = Streams(s.streams.order[:2], s.streams.view[:2], torch.tensor([0, 1, 2]))
    numbers = dict(RULES[name])
    if numbers.pop("cost", False):
        numbers["cost"] = s.rule("pa1", target="cost").cost
    rule = InstanceRule(name.partition("-")[0], **numbers)  # type: ignore[arg-type]
    results = []
    for epoch in (reference.instance_epoch, triton_walk.instance_epoch):
        fresh = s.model(average=average, replicas=2)
        covariance = None if rule.kind == "svm" else torch.ones_like(fresh.weights)
        model = there(InstanceModel(fresh.weights, fresh.sums, fresh.steps, covariance))
        counts = [epoch(there(s.rows), there(streams), there(rule), model, batch, mean)]
        model.steps.add_(torch.tensor([6, 4], device=DEVICE))
        counts.append(epoch(there(s.rows), there(streams), there(rule), model, batch, mean))
        results.append([part for part in (model.weights, model.sums, model.covariance) if part is not None])
        results[-1] += [part for made in counts for part in made]
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-9, atol=1e-10)
    assert results[0][0].any()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the interpreter: overflow
def test_a_weight_beyond_float32_makes_the_loss_nan() -> None:
    triton_walk = pytest.importorskip("gpuclf.ops.instance_epoch.triton_walk")
    s = setting(docs=4, features=5, classes=2, scaled=False)
    rows = there(replace(s.rows, val=s.rows.val * 1e30))
    streams = there(Streams(s.streams.order[:1], s.streams.view[:1], torch.tensor([0, 1])))
    one = torch.ones(1, dtype=torch.float64, device=DEVICE)
    model = there(s.model(torch.float32, average=False, replicas=1))
    rule = InstanceRule("svm", eta=1e10 * one, decay=0 * one)
    counts = triton_walk.instance_epoch(rows, streams, rule, InstanceModel(model.weights, None, model.steps))
    assert not torch.isfinite(model.weights).all()
    assert torch.isnan(counts.loss).all()
