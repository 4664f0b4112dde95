"""Pair after pair by sorting: cells are numbered in their order, which bounds every table by the rows."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.counter_hash import hash64

_SLACK = 1e-9  # of rounding, relative: the observed table itself counts as a permutation that is not below it


def conditional_statistics(
    codes: Tensor, num_values: Tensor, pairs: Tensor, separators: Tensor, power: float
) -> Tensor:
    """See gpuclf.ops.conditional_tables.conditional_statistics."""
    rows = []
    for (a, b), members in zip(pairs.tolist(), separators, strict=True):
        strata = cell_numbers(codes, num_values, members)
        rows.append(_statistics(strata, codes[a].long(), codes[b].long(), num_values[a], num_values[b], power))
    if not rows:
        return torch.zeros(0, 3, dtype=torch.float64, device=codes.device)
    return torch.stack(rows)


def permutation_counts(
    codes: Tensor, num_values: Tensor, pairs: Tensor, separators: Tensor, observed: Tensor, times: int, seed: int
) -> Tensor:
    """See gpuclf.ops.conditional_tables.permutation_counts."""
    counts = torch.zeros(len(pairs), dtype=torch.int64, device=codes.device)
    for number, ((a, b), members) in enumerate(zip(pairs.tolist(), separators, strict=True)):
        strata = cell_numbers(codes, num_values, members)
        order = torch.argsort(strata, stable=True)
        strata, left, right = strata[order], codes[a][order].long(), codes[b][order].long()
        for time in range(times):
            drawn = hash64(seed, time, order, a * codes.shape[0] + b)
            ranked = torch.argsort(drawn, stable=True)
            mixed = ranked[torch.argsort(strata[ranked], stable=True)]
            found = _statistics(strata, left, right[mixed], num_values[a], num_values[b], 0.0)[0]
            counts[number] += int(found >= observed[number] * (1 - _SLACK))
    return counts


def cell_numbers(codes: Tensor, num_values: Tensor, members: Tensor) -> Tensor:
    """(n,) int64: the cell of each row in the table of the variables `members` (V,) bool, below the number of rows."""
    cells = torch.zeros(codes.shape[1], dtype=torch.int64, device=codes.device)
    for variable in torch.nonzero(members).flatten().tolist():
        cells = _dense(cells * num_values[variable] + codes[variable].long())
    return cells


def _dense(keys: Tensor) -> Tensor:
    return torch.unique(keys, return_inverse=True)[1]


def _statistics(strata: Tensor, a: Tensor, b: Tensor, num_a: Tensor, num_b: Tensor, power: float) -> Tensor:
    with_a, with_b = _dense(strata * num_a + a), _dense(strata * num_b + b)
    both = _dense(with_a * num_b + b)
    tables = [torch.bincount(cells).double() for cells in (both, strata, with_a, with_b)]
    if power == 0:
        sums = [torch.xlogy(table, table).sum() for table in tables]
        distance = 2 * (sums[0] + sums[1] - sums[2] - sums[3])
    else:
        expected = tables[2][with_a] * tables[3][with_b] / tables[1][strata]  # of each row's cell
        ratio = tables[0][both] / expected
        distance = 2 / (power * (power + 1)) * ((ratio**power).sum() - len(a))
    # values of a in a stratum: cells of (a, S), each counted in the stratum of its rows
    first_a = torch.zeros(len(tables[2]), dtype=torch.int64, device=a.device).scatter_(0, with_a, strata)
    first_b = torch.zeros(len(tables[3]), dtype=torch.int64, device=a.device).scatter_(0, with_b, strata)
    values_a, values_b = (torch.bincount(first, minlength=len(tables[1])) for first in (first_a, first_b))
    seen = ((values_a - 1) * (values_b - 1)).sum().double()
    cells = float(len(tables[0]) + len(tables[1]) - len(tables[2]) - len(tables[3]))
    return torch.stack([distance.clamp(min=0), seen, seen.new_tensor(cells)])
