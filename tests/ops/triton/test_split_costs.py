"""Triton costs of splits, and subsets, against torch; trees grown with them. On a GPU or with TRITON_INTERPRET=1."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from gpuclf.ops.grow_forest import cuda, level_costs, reference, split_costs
from gpuclf.ops.grow_forest.level import Law, Level, floyd, runs_of
from gpuclf.ops.grow_forest.records import GrowthRules, terms
from tests.ops.test_grow_forest import RULES, given, same

pytestmark = pytest.mark.triton
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(
    ("criterion", "rows", "values", "classes"),
    [("gini", 1, 1, 1), ("entropy", 250, 2, 3), ("gini", 250, 2, 3), ("entropy", 40, 30, 80)],
)
def test_costs_are_those_of_torch(
    monkeypatch: pytest.MonkeyPatch, criterion: str, rows: int, values: int, classes: int
) -> None:
    """A node without rows, runs longer than a block, more runs than a tile, portions of a level."""
    triton_walk = pytest.importorskip("gpuclf.ops.grow_forest.triton_walk")
    draw = torch.Generator().manual_seed(rows)

    def whole(most: int, *shape: int) -> torch.Tensor:
        return torch.randint(0, most, shape, generator=draw)

    nodes, docs = 4, torch.arange(rows)
    node, label, weight = whole(nodes - 1, rows).sort().values, whole(classes, rows), 1 + whole(5, rows).to(torch.int32)
    counts = torch.zeros(nodes, classes, dtype=torch.int64).index_put_((node, label), weight.long(), accumulate=True)
    times = 1 + whole(3, nodes, classes)
    parts = [torch.arange(nodes), counts, times, node, docs, label, weight, torch.zeros(nodes, dtype=torch.int64)]
    level = Level(*(part.to(DEVICE) for part in parts))
    runs = runs_of(level, whole(values, rows).to(DEVICE), values)
    rules = GrowthRules(criterion=criterion, min_samples_leaf=2)  # type: ignore[arg-type]
    table = torch.from_numpy(terms(0 if criterion == "gini" else int((counts * times).sum())))
    law = Law(rules, table, table, table.to(DEVICE))
    taken = torch.arange(runs.node.numel(), device=DEVICE)
    pairs = torch.cat([taken, taken[::2]])  # every run alone, then all and half of the runs of a node together
    owner = torch.cat([taken, taken.numel() + runs.node[::2]]).sort(stable=True)
    candidates = torch.cat([runs.node, torch.arange(nodes, device=DEVICE)])
    for cells in (level_costs.CELLS, 8 * classes):
        monkeypatch.setattr(level_costs, "CELLS", cells)
        expected, found = (
            (
                program.subset_costs(law, level, runs, pairs[owner.indices], owner.values, candidates),
                program.prefix_costs(law, level, runs, taken, runs.node),
            )
            for program in (level_costs, triton_walk)
        )
        assert all(map(torch.equal, expected, found))
    assert classes == 1 or (expected[0] < expected[0].max()).any()


@pytest.mark.parametrize("name", ["composed", "sorted"])
def test_trees_equal_those_of_the_reference(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    triton_walk = pytest.importorskip("gpuclf.ops.grow_forest.triton_walk")
    monkeypatch.setattr(split_costs, "_program", lambda level: triton_walk)
    problem = given(docs=24, values=(3, 9, 2, 2, 4))
    few = problem | {part: problem[part][:2] for part in ("sample", "keys")}
    rules = replace(RULES[name], max_depth=3)
    same(cuda.grow_forest(**few, rules=rules), reference.grow_forest(**few, rules=rules))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of the interpreter: hashes overflow
def test_subsets_of_ranks_are_those_of_torch() -> None:
    triton_walk = pytest.importorskip("gpuclf.ops.grow_forest.triton_walk")
    draw = torch.randint(-(1 << 63), (1 << 63) - 1, (40,), generator=torch.Generator().manual_seed(0))
    among = 1 + torch.arange(40) % 13
    size = torch.minimum(torch.arange(40) % 8, among)
    found = triton_walk.floyd(*(part.to(DEVICE) for part in (draw, size, among)), 1, 7)
    assert torch.equal(found.cpu(), floyd(draw, size, among, 1))
