"""Moves of chordal graphs: the kernel equals the two rules, and both equal a full test of the graph after the move."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gpuclf.ops.chordal_moves import Moves, chordal_moves, cpu, reference


def is_chordal(adjacent: Tensor) -> bool:
    """Whether simplicial nodes can be taken away one after the other until none is left (Dirac 1961)."""
    left = list(range(len(adjacent)))
    while left:
        for node in left:
            around = [other for other in left if adjacent[node, other]]
            if all(adjacent[x, y] for x in around for y in around if x != y):
                left.remove(node)
                break
        else:
            return False
    return True


def grown(size: int, steps: int, seed: int) -> Tensor:
    """A random chordal graph, by additions and removals that the full test allows."""
    draw = torch.Generator().manual_seed(seed)
    adjacent = torch.zeros(size, size, dtype=torch.bool)
    for _ in range(steps if size > 1 else 0):
        a, b = torch.randperm(size, generator=draw)[:2].tolist()
        adjacent[a, b] = adjacent[b, a] = ~adjacent[a, b]
        if not is_chordal(adjacent):
            adjacent[a, b] = adjacent[b, a] = ~adjacent[a, b]
    return adjacent


def marks(size: int) -> Tensor:
    return torch.arange(1, size + 1) ** 3 * 1_000_003


@settings(max_examples=40)
@given(st.integers(0, 9), st.integers(0, 60), st.integers(0, 10_000))
def test_eligibility_is_that_of_the_full_test(size: int, steps: int, seed: int) -> None:
    adjacent = grown(size, steps, seed)
    moves = chordal_moves(adjacent, marks(size))
    for a in range(size):
        for b in range(a + 1, size):
            moved = adjacent.clone()
            moved[a, b] = moved[b, a] = ~adjacent[a, b]
            found = moves.remove if adjacent[a, b] else moves.add
            other = moves.add if adjacent[a, b] else moves.remove
            assert bool(found[a, b]) == bool(found[b, a]) == is_chordal(moved)
            assert not bool(other[a, b])


def equal(left: Moves, right: Moves) -> None:
    for one, other in zip(left, right, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("size", [0, 1, 2, 13, 62, 63, 64, 65])
def test_the_kernel_equals_the_reference(size: int) -> None:
    draw = torch.Generator().manual_seed(size)
    adjacent = torch.zeros(size, size, dtype=torch.bool)
    for _ in range(size):
        moves = cpu.chordal_moves(adjacent, marks(size), True, False)
        free = torch.nonzero(moves.add.triu())
        if not len(free):
            break
        a, b = free[torch.randint(0, len(free), (1,), generator=draw)][0].tolist()
        adjacent[a, b] = adjacent[b, a] = True
    for wanted in ((True, True), (True, False), (False, True)):
        equal(
            cpu.chordal_moves(adjacent, marks(size), *wanted), reference.chordal_moves(adjacent, marks(size), *wanted)
        )


def test_a_star_and_many_separators() -> None:
    """More separators than the table of the kernel has room for: caterpillars whose pairs have no common neighbour."""
    size = 40
    adjacent = torch.zeros(size, size, dtype=torch.bool)
    for node in range(1, size):
        adjacent[node, (node - 1) // 2] = adjacent[(node - 1) // 2, node] = True
    equal(
        cpu.chordal_moves(adjacent, marks(size), True, True), reference.chordal_moves(adjacent, marks(size), True, True)
    )
    full = ~torch.eye(size, dtype=torch.bool)
    moves = chordal_moves(full, marks(size))
    assert bool((moves.remove == full).all())
    assert not bool(moves.add.any())


def test_devices_agree(device: torch.device) -> None:
    adjacent = grown(9, 40, 4)
    equal(
        Moves(*(part.cpu() for part in chordal_moves(adjacent.to(device), marks(9).to(device)))),
        chordal_moves(adjacent, marks(9)),
    )
