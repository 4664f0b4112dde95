"""Slopes of the log loss: the kernel equals the reference, and a sample of them is right on average."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
import torch
from torch import Tensor

from gpuclf.ops.class_slopes import ClassSlopes, class_slopes, cpu, reference
from gpuclf.ops.counter_hash import hash64

UNIT = float(1 << 24)


def given(docs: int, classes: int) -> dict[str, Any]:
    """Rows (not all of them) in groups of 0 to 3, and hashes of these."""
    draw = torch.Generator().manual_seed(docs + classes)
    scores = 3 * torch.randn(docs, classes, generator=draw, dtype=torch.float64)
    labels = torch.randint(0, classes, (docs,), generator=draw)
    rows = torch.nonzero(torch.arange(docs) % 4 != 1).flatten()
    sizes = torch.arange(rows.numel()) % 4
    begin = torch.cat([torch.zeros(1, dtype=torch.int64), sizes.cumsum(0)]).clamp(max=rows.numel())
    begin[-1] = rows.numel()
    return {"scores": scores, "labels": labels, "rows": rows, "begin": begin, "draw": hash64(11, rows)}


def tables(slopes: ClassSlopes, groups: int) -> tuple[Tensor, Tensor, Tensor]:
    """held, gradient and curvature (G, K) int64."""
    classes = slopes.begin.numel() - 1
    kind = torch.arange(classes).repeat_interleave(slopes.begin.diff())
    made = []
    for part in (slopes.held, slopes.gradient, slopes.curvature):
        made.append(torch.zeros(groups, classes, dtype=torch.int64))
        made[-1][slopes.group.long(), kind] = part.long()
    return made[0], made[1], made[2]


@pytest.mark.parametrize("docs", [0, 1, 255, 257, 4099, 9001])
@pytest.mark.parametrize("classes", [1, 2, 17, 26])
@pytest.mark.parametrize("sampling", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_kernel_equals_the_reference(docs: int, classes: int, sampling: float, weighted: bool) -> None:
    problem = given(docs, classes)
    weights = 1.0 + (problem["rows"] % 3).double() / 2 if weighted else None
    settings = {"weights": weights, "sampling": sampling, "unit": UNIT}
    found, expected = (kernel.class_slopes(**problem, **settings) for kernel in (cpu, reference))
    assert [getattr(found, part.name).dtype for part in fields(found)] == [
        getattr(expected, part.name).dtype for part in fields(expected)
    ]
    groups = problem["begin"].numel() - 1
    held, *sums = tables(found, groups)
    other_held, *other_sums = tables(expected, groups)
    assert int((held - other_held).abs().sum()) <= docs // 1000  # a probability of a unit may be rounded to 0
    for one, other in zip(sums, other_sums, strict=True):
        assert int((one - other).abs().max()) <= 12 if docs else True


def test_without_sampling_the_slopes_are_those_of_autograd() -> None:
    problem = given(257, 5)
    scores, labels, rows, begin, draw = problem.values()
    asked = scores.clone().requires_grad_()
    torch.nn.functional.cross_entropy(asked[rows], labels[rows], reduction="sum").backward()
    group = torch.arange(begin.numel() - 1).repeat_interleave(begin.diff())
    held, gradient, curvature = tables(
        class_slopes(scores, labels, rows, begin, None, 0.0, draw, UNIT), begin.numel() - 1
    )
    assert asked.grad is not None
    p = scores[rows].softmax(1)
    for found, each in ((gradient, asked.grad[rows]), (curvature, p * (1 - p)), (held * UNIT, torch.ones_like(p))):
        expected = torch.zeros(found.shape, dtype=torch.float64).index_add_(0, group, each)
        torch.testing.assert_close(found.double() / UNIT, expected, atol=3e-7, rtol=0)


def test_a_class_that_training_has_not_gets_no_slopes() -> None:
    problem = given(400, 6)
    problem["scores"][:, 2] = -torch.inf
    problem["labels"] = problem["labels"] // 3 * 5
    for sampling in (0.0, 0.4):
        begin = class_slopes(**problem, weights=None, sampling=sampling, unit=UNIT).begin
        assert int(begin[3] - begin[2]) == 0
        assert int(begin[2] - begin[1]) > 0


def test_a_sample_has_the_same_sums_on_average_and_at_most_the_expected_rows() -> None:
    scores, labels, rows, _, _ = given(400, 6).values()
    singles = torch.arange(rows.numel() + 1)

    def slopes(sampling: float, draw: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return tables(class_slopes(scores, labels, rows, singles, None, sampling, draw, UNIT), rows.numel())

    whole = slopes(0.0, rows)
    draws = [slopes(0.2, hash64(seed, rows)) for seed in range(300)]
    share = ((whole[1] / UNIT).abs() / 0.2).clamp(max=1)
    kept = torch.stack([drawn[0].double() for drawn in draws]).sum((1, 2))
    assert float(kept.mean()) == pytest.approx(float(share.sum()), rel=0.02)
    for part in (1, 2):
        mean = torch.stack([drawn[part].double() for drawn in draws]).mean(0).sum(0)
        scale = whole[part].double().abs().sum(0)
        assert bool(((mean - whole[part].double().sum(0)).abs() < 0.03 * scale).all())
