"""Pairs within strata: the kernel equals sorting, both equal tables counted cell by cell; pair tables; permutations."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from scipy import stats
from torch import Tensor

from gpuclf.ops.cell_scores import LOG_ZERO, Marginal, add_marginal
from gpuclf.ops.cell_scores import cpu as scores_cpu
from gpuclf.ops.cell_scores import reference as scores_reference
from gpuclf.ops.conditional_tables import conditional_statistics, cpu, permutation_counts, reference
from gpuclf.ops.pair_tables import joint_counts, pair_statistics

VALUES = (3, 5, 2, 2, 700, 4)


def table(rows: int, seed: int = 0) -> Tensor:
    """(V, rows) codes; variables 2 and 3 follow variable 0 in part."""
    draw = torch.Generator().manual_seed(seed)
    codes = torch.stack([torch.randint(0, values, (rows,), generator=draw) for values in VALUES])
    codes[2] = torch.where(torch.rand(rows, generator=draw) < 0.7, codes[0] % 2, codes[2])
    codes[3] = torch.where(torch.rand(rows, generator=draw) < 0.7, codes[2], codes[3])
    return codes.to(torch.int32)


def requests() -> tuple[Tensor, Tensor]:
    """Pairs with all separators of up to three of the other variables."""
    pairs, sets = [], []
    for a, b in itertools.combinations(range(len(VALUES)), 2):
        others = [v for v in range(len(VALUES)) if v not in (a, b)]
        for size in range(4):
            for members in itertools.combinations(others, size):
                pairs.append((a, b))
                sets.append([v in members for v in range(len(VALUES))])
    return torch.tensor(pairs), torch.tensor(sets)


@pytest.mark.parametrize("power", [0.0, 1.0, 2 / 3, -0.5])
@pytest.mark.parametrize("rows", [0, 1, 2, 255, 257])
def test_the_kernel_equals_the_reference(rows: int, power: float) -> None:
    codes, (pairs, sets) = table(rows), requests()
    values = torch.tensor(VALUES)
    found = cpu.conditional_statistics(codes, values, pairs, sets, power)
    torch.testing.assert_close(
        found, reference.conditional_statistics(codes, values, pairs, sets, power), rtol=1e-9, atol=1e-9
    )


def counted(codes: Tensor, a: int, b: int, members: list[int]) -> tuple[float, float, float]:
    """G² as the sum over strata of scipy's, X² likewise, and degrees of freedom by values seen."""
    strata: dict[tuple[int, ...], Tensor] = {}
    for row in codes.T.tolist():
        key = tuple(row[v] for v in members)
        strata.setdefault(key, torch.zeros(VALUES[a], VALUES[b]))[row[a], row[b]] += 1
    g2 = x2 = dof = 0.0
    for counts in strata.values():
        kept = counts[counts.sum(1) > 0][:, counts.sum(0) > 0].numpy()
        if min(kept.shape) > 1:
            g2 += stats.chi2_contingency(kept, correction=False, lambda_="log-likelihood").statistic
            x2 += stats.chi2_contingency(kept, correction=False).statistic
            dof += (kept.shape[0] - 1) * (kept.shape[1] - 1)
    return g2, x2, dof


def test_statistics_are_those_of_each_stratum() -> None:
    codes = table(300)
    for a, b, members in ((0, 2, []), (0, 2, [3]), (2, 3, [0, 1]), (1, 4, [2]), (0, 5, [2, 3])):
        sets = torch.tensor([[v in members for v in range(len(VALUES))]])
        found = [
            conditional_statistics(codes, torch.tensor(VALUES), torch.tensor([[a, b]]), sets, p)[0] for p in (0, 1)
        ]
        g2, x2, dof = counted(codes, a, b, members)
        assert float(found[0][0]) == pytest.approx(g2, rel=1e-9)
        assert float(found[1][0]) == pytest.approx(x2, rel=1e-9)
        assert float(found[0][1]) == dof


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_tables_of_all_pairs_at_once(power: float, device: torch.device) -> None:
    codes = table(257)
    found = pair_statistics(joint_counts(codes.T.to(device), VALUES), VALUES, 257, power).cpu()
    pairs = torch.tensor(list(itertools.combinations(range(len(VALUES)), 2)))
    nothing = torch.zeros(len(pairs), len(VALUES), dtype=torch.bool)
    wanted = conditional_statistics(codes, torch.tensor(VALUES), pairs, nothing, power)
    torch.testing.assert_close(found[pairs[:, 0], pairs[:, 1]], wanted, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(found, found.transpose(0, 1))


def test_devices_agree(device: torch.device) -> None:
    codes, (pairs, sets), values = table(120), requests(), torch.tensor(VALUES)
    some = slice(None, None, 7)
    there = [part.to(device) for part in (codes, values, pairs[some], sets[some])]
    found = conditional_statistics(*there, 0.0)
    assert found.device.type == device.type
    wanted = conditional_statistics(codes, values, pairs[some], sets[some], 0.0)
    torch.testing.assert_close(found.cpu(), wanted, rtol=1e-9, atol=1e-9)
    few = [part[:3] for part in there[2:]]
    above = permutation_counts(there[0], there[1], *few, found[:3, 0], 5, 7)
    same = permutation_counts(codes, values, pairs[some][:3], sets[some][:3], wanted[:3, 0], 5, 7)
    torch.testing.assert_close(above.cpu(), same)


def test_permutations_equal_the_reference_and_the_exact_test() -> None:
    codes, values = table(60, 3)[[0, 2, 3]], torch.tensor([3, 2, 2])
    pairs, sets = torch.tensor([[1, 2], [0, 2]]), torch.tensor([[False] * 3, [False, True, False]])
    observed = conditional_statistics(codes, values, pairs, sets, 0.0)[:, 0]
    found = cpu.permutation_counts(codes, values, pairs, sets, observed, 40, 7)
    torch.testing.assert_close(found, reference.permutation_counts(codes, values, pairs, sets, observed, 40, 7))
    weak = torch.tensor([[0, 0, 0, 1, 1, 1, 0, 1], [0, 0, 1, 1, 1, 0, 0, 1]], dtype=torch.int32)
    pair, none = torch.tensor([[0, 1]]), torch.zeros(1, 2, dtype=torch.bool)
    two = torch.tensor([2, 2])
    statistic = conditional_statistics(weak, two, pair, none, 0.0)[:, 0]
    share = int(permutation_counts(weak, two, pair, none, statistic, 4000, 1)) / 4000
    exact = stats.fisher_exact([[3, 1], [1, 3]]).pvalue
    assert abs(share - exact) < 4 * math.sqrt(exact * (1 - exact) / 4000)


@pytest.mark.parametrize("members", [[], [0], [1], [0, 1], [0, 4, 5], [1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]])
@pytest.mark.parametrize(("ess", "leave_out"), [(1.0, False), (0.0, False), (1.0, True), (0.0, True)])
def test_marginals_equal_the_reference(members: list[int], ess: float, leave_out: bool) -> None:
    codes, values = table(257, 5), torch.tensor(VALUES)
    labels = torch.where(torch.arange(257) % 3 > 0, codes[0].long(), -1)
    held = torch.tensor([v in members for v in range(len(VALUES))])
    marginal = Marginal(held, -1, math.prod(VALUES[v] for v in members), int((labels >= 0).sum()), ess, leave_out)
    found, wanted = torch.zeros(257, 3, dtype=torch.float64), torch.zeros(257, 3, dtype=torch.float64)
    scores_cpu.add_marginal(found, codes, values, labels, marginal)
    scores_reference.add_marginal(wanted, codes, values, labels, marginal)
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)


def test_a_marginal_is_a_smoothed_frequency(device: torch.device) -> None:
    codes = torch.tensor([[0, 0, 1, 1, 0], [0, 1, 1, 1, 1]], dtype=torch.int32, device=device)
    labels = torch.tensor([0, 0, 1, 1, -1], device=device)
    both = torch.tensor([True, True], device=device)
    out = torch.zeros(5, 2, dtype=torch.float64, device=device)
    add_marginal(out, codes, torch.tensor([2, 2], device=device), labels, Marginal(both, 1, 4.0, 4, 2.0))
    wanted = torch.tensor([[1.5, 0.5], [1.5, 2.5], [1.5, 2.5], [1.5, 2.5], [1.5, 2.5]]) / 6
    torch.testing.assert_close(out.cpu(), torch.log(wanted.double()))
    add_marginal(out.zero_(), codes, torch.tensor([2, 2], device=device), labels, Marginal(both, 1, 4.0, 4, 0.0))
    assert float(out[0, 1]) == LOG_ZERO
