"""Scores of sparse documents: against a dense float64 product, on awkward sizes, and the promise of equal bits."""

from __future__ import annotations

import pytest
import torch

from gpuclf.ops.sparse_scores import cpu, reference, sparse_scores
from tests.ops.online_problem import setting, values


def problem(
    docs: int, replicas: int, classes: int, features: int = 40
) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
    """The arguments before the weights, and weights (V+1, R, K) float32."""
    s = setting(docs=docs, features=features)
    assert s.rows.col_scale is not None
    assert s.rows.row_scale is not None
    order = torch.arange(docs).flip(0)
    weights = torch.randn(features + 1, replicas, classes, generator=torch.Generator().manual_seed(1))
    return (s.rows.crow, s.rows.col, s.rows.val, order, s.rows.col_scale[0], s.rows.row_scale[0]), weights


@pytest.mark.parametrize("kernel", [cpu, reference])
@pytest.mark.parametrize(
    ("docs", "replicas", "classes"), [(0, 2, 3), (1, 1, 1), (255, 3, 1), (257, 2, 5), (9, 3, 1500)]
)
def test_scores_are_the_dense_product(kernel: object, docs: int, replicas: int, classes: int) -> None:
    arguments, weights = problem(docs, replicas, classes)
    s = setting(docs=docs, features=40)
    expected = torch.einsum("nv,vrk->rnk", values(s.rows, 0, 40).flip(0), weights.double())
    actual = kernel.sparse_scores(*arguments, weights)  # type: ignore[attr-defined]
    assert actual.shape == (replicas, docs, classes)
    torch.testing.assert_close(actual.double(), expected, rtol=1e-4, atol=1e-5)
    double = kernel.sparse_scores(*arguments, weights.double())  # type: ignore[attr-defined]
    torch.testing.assert_close(double, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kernel", [cpu, reference])
@pytest.mark.parametrize(("replicas", "classes"), [(1, 1), (2, 5), (3, 7), (2, 41)])
def test_double_sums_are_rounded_once(kernel: object, replicas: int, classes: int, device: torch.device) -> None:
    """Terms that cancel: what is left of them is right to float32 only if the sum was not in float32."""
    features, generator = 300, torch.Generator().manual_seed(3)
    large = 1e4 * torch.rand((features // 2, replicas, classes), generator=generator)
    small = torch.rand((1, replicas, classes), generator=generator)
    order = torch.randperm(features, generator=generator)
    weights = torch.cat([small, torch.cat([large, -large])[order]])
    row = (torch.tensor([0, features]), torch.arange(1, features + 1, dtype=torch.int32), torch.full((features,), 0.3))
    where = device if kernel is reference else torch.device("cpu")
    arguments = [tensor.to(where) for tensor in (*row, torch.tensor([0]))]
    scale, norm = torch.rand(features + 1, generator=generator).to(where), torch.tensor([1 / 3]).to(where)
    exact = small[0].double()  # without scales the large terms cancel to the bit
    actual = kernel.sparse_scores(*arguments, None, None, weights.to(where), True)  # type: ignore[attr-defined]
    assert actual.dtype == torch.float32
    torch.testing.assert_close(actual[:, 0].cpu().double(), exact, rtol=1e-6, atol=1e-8)
    x = row[2].double() * scale.cpu()[1:].double() * norm.cpu().double()
    expected = weights[0].double() + torch.einsum("v,vrk->rk", x, weights[1:].double())
    scaled = kernel.sparse_scores(*arguments, scale, norm, weights.to(where), True)  # type: ignore[attr-defined]
    torch.testing.assert_close(scaled[:, 0].cpu().double(), expected, rtol=1e-6, atol=1e-8)
    single = kernel.sparse_scores(*arguments, None, None, weights.to(where))  # type: ignore[attr-defined]
    assert (single[:, 0].cpu().double() - exact).abs().max() > 1e-4  # float32 sums do not pass


def test_public_function_on_the_device(device: torch.device) -> None:
    arguments, weights = problem(60, 3, 4)
    expected = reference.sparse_scores(*arguments, weights.double())
    actual = sparse_scores(*(a.to(device) for a in arguments), weights.double().to(device))
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("kernel", [cpu, reference])
def test_without_scales_and_skipped_products(kernel: object) -> None:
    """A feature scaled to 0 is not there at all: an infinite weight of it does no harm."""
    (crow, col, val, docs, _, _), weights = problem(20, 2, 3)
    ones = torch.ones(41)
    a = kernel.sparse_scores(crow, col, val, docs, None, None, weights)  # type: ignore[attr-defined]
    b = kernel.sparse_scores(crow, col, val, docs, ones, torch.ones(20), weights)  # type: ignore[attr-defined]
    assert torch.equal(a, b)
    ones[5] = 0
    weights[5] = torch.inf
    assert kernel.sparse_scores(crow, col, val, docs, ones, None, weights).isfinite().all()  # type: ignore[attr-defined]


def test_bits_do_not_depend_on_threads_company_or_slices() -> None:
    arguments, weights = problem(257, 5, 7)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = sparse_scores(*arguments, weights)
        torch.set_num_threads(3)
        assert torch.equal(sparse_scores(*arguments, weights), one)
    finally:
        torch.set_num_threads(before)
    assert torch.equal(sparse_scores(*arguments, weights[:, 1:4]), one[1:4])
    assert torch.equal(sparse_scores(*arguments, weights[:, 2:3].contiguous()), one[2:3])
    crow, col, val, docs, *scales = arguments
    assert torch.equal(sparse_scores(crow, col, val, docs[100:103], *scales, weights), one[:, 100:103])
