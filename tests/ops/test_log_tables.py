"""Tables of smoothed logs: the CPU kernel against the reference, float64, and honest zeros."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from gpuclf.ops.class_counts import ClassCounts, counts_of_table
from gpuclf.ops.log_tables import cpu, feature_sums, reference, smoothed_logs

Arguments = tuple[Tensor, ...]


def drawn(seed: int, features: int, views: int, replicas: int, classes: int) -> tuple[ClassCounts, Arguments]:
    """Counts, of which some features have none in some view, and the arguments after the cells and the features."""
    generator = torch.Generator().manual_seed(seed)
    shape = (features + 1, views, classes)
    table = torch.rand(shape, generator=generator, dtype=torch.float64) * 5
    table = torch.where(torch.rand(shape, generator=generator) < 0.3, table, 0.0)
    table = torch.where(torch.rand((features + 1, views, 1), generator=generator) < 0.8, table, 0.0)
    view = torch.randint(0, views, (replicas,), generator=generator)
    alpha = torch.tensor([0.0, 1e-300, 1e-3, 1.0, 1e100], dtype=torch.float64).repeat(replicas)[:replicas]
    log_norm = torch.rand((replicas, classes), generator=generator, dtype=torch.float64) * 20 - 5
    return counts_of_table(table), (view, alpha[:, None].expand(replicas, classes), log_norm)


def cells(counts: ClassCounts) -> Arguments:
    return counts.start, counts.label, counts.counts


SIZES = [(0, 1, 1, 2), (1, 1, 1, 1), (255, 3, 1, 5), (1025, 2, 7, 3), (257, 4, 9, 300), (40, 2, 0, 3)]


@pytest.mark.parametrize(("features", "views", "replicas", "classes"), SIZES)
@pytest.mark.parametrize("absent", [False, True])
def test_kernel_equals_the_reference(
    features: int, views: int, replicas: int, classes: int, absent: bool, device: torch.device
) -> None:
    counts, (view, shift, log_norm) = drawn(features, features, views, replicas, classes)
    shift = shift + 5 if absent else shift
    some = torch.cat([torch.tensor([0]), torch.arange(1, features + 1, 2)])  # the offset, and every other feature
    arguments = (*cells(counts), some, view, shift, log_norm)
    expected = reference.smoothed_logs(*arguments, absent=absent)
    assert expected.shape == (some.numel(), replicas, classes)
    assert expected.dtype == torch.float32
    assert not expected.isnan().any()
    torch.testing.assert_close(cpu.smoothed_logs(*arguments, absent=absent), expected, rtol=1e-7, atol=1e-7)
    there = smoothed_logs(*(a.to(device) for a in arguments), absent=absent)
    torch.testing.assert_close(there.cpu(), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("kernel", [reference, cpu])
@pytest.mark.parametrize("absent", [False, True])
def test_table_equals_float64(kernel: object, absent: bool) -> None:
    counts, (view, shift, log_norm) = drawn(1, 257, 3, 10, 4)
    shift = shift + 5 if absent else shift
    features = torch.arange(1, 258)
    table = kernel.smoothed_logs(*cells(counts), features, view, shift, log_norm, absent)  # type: ignore[attr-defined]
    by_view = counts.table()[1:].permute(1, 0, 2)
    exists = (by_view > 0).any(dim=-1)
    with np.errstate(divide="ignore"):
        signed = by_view.numpy()[view] * (-1 if absent else 1)
        logs = np.log(shift.numpy()[:, None, :] + signed) - log_norm.numpy()[:, None, :]
    expected = np.where(exists.numpy()[view][:, :, None], logs, 0.0).transpose(1, 0, 2)
    np.testing.assert_array_equal(table.numpy(), expected.astype(np.float32))
    if not absent:  # count and alpha 0 is log 0, and nothing else is
        impossible = (by_view[view] == 0) & (shift == 0)[:, None, :] & exists[view][:, :, None]
        assert impossible.any()
        assert torch.equal(torch.isneginf(table), impossible.permute(1, 0, 2))


def test_rows_are_those_of_the_whole_table_whoever_else_is_there() -> None:
    counts, (view, shift, log_norm) = drawn(2, 300, 3, 8, 5)
    whole = smoothed_logs(*cells(counts), torch.arange(301), view, shift, log_norm)
    some = torch.tensor([7, 8, 60, 300])
    assert torch.equal(smoothed_logs(*cells(counts), some, view, shift, log_norm), whole[some])
    for replica in range(8):
        one = (tensor[replica : replica + 1] for tensor in (view, shift, log_norm))
        assert torch.equal(smoothed_logs(*cells(counts), some, *one)[:, 0], whole[some, replica])


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


def test_every_cell_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, arguments = drawn(5, 3000, 3, 20, 50)
    expected = smoothed_logs(*cells(counts), torch.arange(3001), *arguments)
    monkeypatch.setattr(np, "empty", lambda shape, dtype=np.float64: np.full(shape, np.nan, dtype))
    assert torch.equal(smoothed_logs(*cells(counts), torch.arange(3001), *arguments), expected)
    assert not expected.isnan().any()
