"""Which models train together: cells × seeds × folds as replicas, cut into batches by structure and by memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gpuclf.models.learner import Replicas
from gpuclf.train.grid import Cell, option_value


@dataclass(frozen=True)
class Replica:
    """One model to train: a cell of the grid, a seed, and a view (with folds, the fold held out; else 0)."""

    cell: Cell
    seed: int
    view: int


@dataclass(frozen=True)
class Batch:
    """Replicas that one tensor program trains. All share the structural options of `cell`."""

    cell: Cell
    replicas: tuple[Replica, ...]


@dataclass(frozen=True)
class MemoryPlan:
    """sizes: of the data, in words by name; cells; models to choose among; replicas of each batch; bytes."""

    sizes: dict[str, str]
    cells: int
    models: int
    batches: tuple[int, ...]
    bytes_per_model: int
    bytes_budget: int
    device: str


def plan_batches(
    groups: Sequence[Sequence[Cell]], seeds: Sequence[int], views: Sequence[int], max_replicas: Sequence[int]
) -> list[Batch]:
    """Batches in the order of training.

    groups: cells that differ in per-replica options only; max_replicas: one limit a group. A cell's replicas stay
    together where they fit, and within a batch those that see the same rows in the same order are neighbours.
    """
    batches = []
    for cells, limit in zip(groups, max_replicas, strict=True):
        per_cell = len(seeds) * len(views)
        if per_cell <= limit:
            size = limit // per_cell
            portions = [cells[start : start + size] for start in range(0, len(cells), size)]
            batches += [Batch(portion[0], _ordered(portion, seeds, views)) for portion in portions]
        else:
            for cell in cells:
                everyone = _ordered([cell], seeds, views)
                batches += [Batch(cell, everyone[i : i + limit]) for i in range(0, len(everyone), limit)]
    return batches


def _ordered(cells: Sequence[Cell], seeds: Sequence[int], views: Sequence[int]) -> tuple[Replica, ...]:
    return tuple(Replica(cell, seed, view) for view in views for seed in seeds for cell in cells)


def as_replicas(replicas: Sequence[Replica], per_replica: frozenset[str], device: torch.device) -> Replicas:
    """The tensors of a batch; options that may differ are read from each replica's cell. An option that is a name (a
    learner's `categories`) becomes its number."""
    options = {
        key: torch.tensor([float(_number(replica.cell, key)) for replica in replicas], dtype=torch.float64)
        for key in sorted(per_replica)
    }
    return Replicas(
        view=torch.tensor([replica.view for replica in replicas], dtype=torch.int64),
        seed=torch.tensor([replica.seed for replica in replicas], dtype=torch.int64),
        options=options,
    ).to(device)


def _number(cell: Cell, key: str) -> Any:
    value = option_value(cell.options, key)
    if value is None:
        return float("nan")  # an option left open is not read by the learner
    names = cell.options.model.categories.get(key)
    return value if names is None else names.index(value)
