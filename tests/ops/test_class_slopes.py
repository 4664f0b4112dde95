"""Slopes of the log loss: the kernel equals the reference, and a sample of them is right on average."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gpuclf.ops.class_slopes import class_slopes, cpu, reference
from gpuclf.ops.counter_hash import hash64

UNIT = float(1 << 24)


def given(docs: int, classes: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """scores, labels, rows (not all), and hashes of these."""
    draw = torch.Generator().manual_seed(docs + classes)
    scores = 3 * torch.randn(docs, classes, generator=draw, dtype=torch.float64)
    labels = torch.randint(0, classes, (docs,), generator=draw)
    rows = torch.nonzero(torch.arange(docs) % 4 != 1).flatten()
    return scores, labels, rows, hash64(11, rows)


@pytest.mark.parametrize("docs", [0, 1, 255, 257, 4099])
@pytest.mark.parametrize("classes", [1, 2, 26])
@pytest.mark.parametrize("sampling", [0.0, 0.3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_kernel_equals_the_reference(docs: int, classes: int, sampling: float, weighted: bool) -> None:
    scores, labels, rows, draw = given(docs, classes)
    weights = 1.0 + (rows % 3).double() / 2 if weighted else None
    found = cpu.class_slopes(scores, labels, rows, weights, sampling, draw, UNIT)
    expected = reference.class_slopes(scores, labels, rows, weights, sampling, draw, UNIT)
    for one, other in zip(found, expected, strict=True):
        assert one.shape == (classes, docs)
        assert int((one - other).abs().max()) <= 4 if docs else True


def test_without_sampling_the_slopes_are_those_of_autograd() -> None:
    scores, labels, rows, draw = given(257, 5)
    asked = scores.clone().requires_grad_()
    torch.nn.functional.cross_entropy(asked[rows], labels[rows], reduction="sum").backward()
    gradient, curvature = class_slopes(scores, labels, rows, None, 0.0, draw, UNIT)
    assert asked.grad is not None
    torch.testing.assert_close(gradient.t().double() / UNIT, asked.grad, atol=1e-7, rtol=0)
    p = scores[rows].softmax(1)
    torch.testing.assert_close(curvature[:, rows].t().double() / UNIT, p * (1 - p), atol=1e-7, rtol=0)


def test_a_sample_has_the_same_sums_on_average_and_at_most_the_expected_rows() -> None:
    scores, labels, rows, _ = given(400, 6)
    whole = class_slopes(scores, labels, rows, None, 0.0, rows, UNIT)
    draws = [class_slopes(scores, labels, rows, None, 0.2, hash64(seed, rows), UNIT) for seed in range(300)]
    share = ((whole[0] / UNIT).abs() / 0.2).clamp(max=1)
    kept = torch.stack([(gradient != 0).double() for gradient, _ in draws]).sum((1, 2))
    assert float(kept.mean()) == pytest.approx(float(share.sum()), rel=0.02)
    for part in range(2):
        mean = torch.stack([drawn[part].double() for drawn in draws]).mean(0).sum(1)
        scale = whole[part].double().abs().sum(1)
        assert bool(((mean - whole[part].double().sum(1)).abs() < 0.03 * scale).all())
