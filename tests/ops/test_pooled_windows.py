"""The largest windows of each filter: kernel and reference, forwards and backwards, ties and short documents."""

from __future__ import annotations

import pytest
import torch

from gpuclf.ops.pooled_windows import pooled_windows, reference


@pytest.mark.parametrize("whole", [False, True], ids=["drawn", "with ties"])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize(("width", "dilation"), [(1, 1), (3, 1), (2, 3)])
def test_the_kernel_equals_the_reference(width: int, dilation: int, k: int, whole: bool) -> None:
    draw = torch.Generator().manual_seed(width * 10 + k)
    start, length = torch.tensor([0, 5, 9, 12]), torch.tensor([5, 1, 0, 8])
    shapes = ((30, 4), (width, 4, 5), (5,))
    leaves = [torch.randn(shape, dtype=torch.float64, generator=draw) for shape in shapes]
    leaves = [(leaf.round() if whole else leaf).requires_grad_() for leaf in leaves]
    mine = pooled_windows(*leaves, dilation, start, length, 8, k)
    other = reference.pooled_windows(*leaves, dilation, start, length, 8, k)
    torch.testing.assert_close(mine, other)
    grad = torch.randn(mine.shape, dtype=torch.float64, generator=draw)
    for a, b in zip(torch.autograd.grad(mine, leaves, grad), torch.autograd.grad(other, leaves, grad), strict=True):
        torch.testing.assert_close(a, b)


def test_k_max_pooling_keeps_the_order_and_ends_in_zeros() -> None:
    x = torch.tensor([[3.0], [9.0], [1.0], [7.0], [7.0], [-2.0]])
    weight, bias = torch.ones(1, 1, 1), torch.zeros(1)
    start, length = torch.tensor([0, 5, 0]), torch.tensor([5, 1, 0])
    for pool in (pooled_windows, reference.pooled_windows):
        pooled = pool(x, weight, bias, 1, start, length, 5, 3)
        assert pooled[..., 0].tolist() == [[9.0, 7.0, 7.0], [-2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]


def test_windows_are_those_of_torch_convolution() -> None:
    draw = torch.Generator().manual_seed(0)
    x, weight, bias = (torch.randn(shape, generator=draw) for shape in ((12, 3), (4, 3, 2), (2,)))
    expected = torch.nn.functional.conv1d(x.T[None], weight.permute(2, 1, 0), bias, dilation=2)[0].T
    torch.testing.assert_close(reference.windows(x, weight, bias, 2), expected)
