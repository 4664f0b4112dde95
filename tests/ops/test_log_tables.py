"""Tables of smoothed logs: the CPU kernel against the reference, float64, and honest zeros."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from gpuclf.ops.log_tables import cpu, feature_sums, occurring, reference, smoothed_logs

Arguments = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]


def drawn(seed: int, features: int, views: int, replicas: int, classes: int) -> Arguments:
    generator = torch.Generator().manual_seed(seed)
    shape = (features, views, classes)
    counts = torch.rand(shape, generator=generator, dtype=torch.float64) * 5
    counts = torch.where(torch.rand(shape, generator=generator) < 0.3, counts, 0.0).permute(1, 0, 2)
    view = torch.randint(0, views, (replicas,), generator=generator)
    alpha = torch.tensor([0.0, 1e-300, 1e-3, 1.0, 1e100], dtype=torch.float64).repeat(replicas)[:replicas]
    log_norm = torch.rand((replicas, classes), generator=generator, dtype=torch.float64) * 20 - 5
    return counts, torch.rand((views, features), generator=generator) < 0.8, view, alpha, log_norm


@pytest.mark.parametrize(
    ("features", "views", "replicas", "classes"),
    [(0, 1, 1, 2), (1, 1, 1, 1), (255, 3, 1, 5), (1025, 2, 7, 3), (257, 4, 9, 300), (40, 2, 0, 3)],
)
def test_kernel_equals_the_reference(
    features: int, views: int, replicas: int, classes: int, device: torch.device
) -> None:
    arguments = drawn(features, features, views, replicas, classes)
    expected = reference.smoothed_logs(*arguments)
    assert expected.shape == (features, replicas, classes)
    assert expected.dtype == torch.float32
    assert not expected.isnan().any()
    torch.testing.assert_close(cpu.smoothed_logs(*arguments), expected, rtol=1e-7, atol=1e-7)
    torch.testing.assert_close(smoothed_logs(*(a.to(device) for a in arguments)).cpu(), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kernel", [reference, cpu])
def test_table_equals_float64(kernel: object) -> None:
    counts, exists, view, alpha, log_norm = drawn(1, 257, 3, 10, 4)
    table = kernel.smoothed_logs(counts, exists, view, alpha, log_norm)  # type: ignore[attr-defined]
    with np.errstate(divide="ignore"):
        logs = np.log(counts.numpy()[view] + alpha.numpy()[:, None, None]) - log_norm.numpy()[:, None, :]
    expected = np.where(exists.numpy()[view][:, :, None], logs, 0.0).transpose(1, 0, 2)
    np.testing.assert_array_equal(table.numpy(), expected.astype(np.float32))
    assert np.isneginf(expected).any()  # count and alpha 0, and only there:
    impossible = (counts[view] == 0) & (alpha == 0)[:, None, None] & exists[view][:, :, None]
    assert torch.equal(torch.isneginf(table), impossible.permute(1, 0, 2))


def test_counts_in_any_layout() -> None:
    counts, *others = drawn(2, 100, 2, 4, 3)
    assert torch.equal(smoothed_logs(counts, *others), smoothed_logs(counts.contiguous(), *others))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sums_equal_float64_and_depend_on_nothing_else(dtype: torch.dtype, device: torch.device) -> None:
    generator = torch.Generator().manual_seed(3)
    table = torch.rand((1000, 6, 5), generator=generator, dtype=dtype)
    sums = feature_sums(table)
    assert sums.dtype == torch.float64
    torch.testing.assert_close(feature_sums(table.to(device)).cpu(), table.double().sum(0), rtol=1e-12, atol=0)
    for replica in range(6):
        assert torch.equal(feature_sums(table[:, replica : replica + 1].clone())[0], sums[replica])
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert torch.equal(feature_sums(table), sums)
    finally:
        torch.set_num_threads(threads)


def test_sums_of_nothing() -> None:
    assert feature_sums(torch.zeros((0, 2, 3))).tolist() == [[0.0] * 3] * 2
    assert feature_sums(torch.zeros((4, 0, 3))).shape == (0, 3)


def test_occurring_features(device: torch.device) -> None:
    counts = drawn(4, 20000, 3, 1, 2)[0].permute(1, 0, 2)
    counts[:5] = torch.tensor([-0.0, 0.0])
    counts[5:9] = torch.tensor([-0.0, 5e-324], dtype=torch.float64)
    expected = (counts > 0).any(-1)
    assert not expected[:5].any()
    assert expected[5:9].all()
    assert 0 < int(expected.sum()) < expected.numel()
    assert torch.equal(occurring(counts.to(device)).cpu(), expected)
    assert torch.equal(reference.occurring(counts), expected)
    assert occurring(torch.zeros((0, 2, 3), dtype=torch.float64)).shape == (0, 2)


def test_every_cell_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = drawn(5, 3000, 3, 20, 50)
    expected = smoothed_logs(*arguments), occurring(arguments[0].permute(1, 0, 2))
    monkeypatch.setattr(np, "empty", lambda shape, dtype=np.float64: np.full(shape, np.nan, dtype))
    assert torch.equal(smoothed_logs(*arguments), expected[0])
    assert torch.equal(occurring(arguments[0].permute(1, 0, 2)), expected[1])
    assert not expected[0].isnan().any()
