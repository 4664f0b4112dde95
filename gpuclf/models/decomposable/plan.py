"""What a decomposable learner was told, ready for work: names resolved, splits of training rows drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.data.splits import fold_of, holdout
from gpuclf.faults import UserFault
from gpuclf.features.rows import CodeRows, Rows
from gpuclf.features.sense_rows import SenseRows
from gpuclf.features.word_rows import WordRows
from gpuclf.models.decomposable.criteria import Rules
from gpuclf.models.decomposable.variables import Variables, variables_of
from gpuclf.models.learner import Problem
from gpuclf.ops.counter_hash import hash64_numpy

_SPLIT = 0xDEC0
FOLDED = ("cv", "stability")  # select: a search over all rows, and one without each inner fold
CLASS_NAME = "class"
Edges = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Plan:
    """See DecomposableOptions for the fields of the same names."""

    rules: Rules
    direction: str
    start: str
    power: float
    max_clique: float
    max_cells: float
    max_edges: float
    fixed: Edges
    forbidden: Edges
    classes: tuple[str, ...]
    permutations: int
    select: str
    select_by: str
    near: bool
    fraction: float
    inner_folds: int
    stable_share: float
    combine: str
    backoff: str

    @property
    def leaves_out(self) -> bool:
        """Whether models are judged on their own training rows, each without its counts."""
        return self.select == "leave_one_out" or self.combine in ("switch", "stack")

    @property
    def keeps_sequence(self) -> bool:
        """Whether a predictor needs every model of the sequence."""
        return self.combine != "none" or self.backoff == "next_simpler"


@dataclass(frozen=True)
class Track:
    """The rows (docs,) bool that one search is counted on, and those that judge its models."""

    train: Tensor
    judged: Tensor


def tracks_of(plan: Plan, problem: Problem, replica: int, of_word: bool = False) -> list[Track]:
    """The searches of a replica. Splits are by hash of (seed, document), stratified, of its own training rows.

    of_word: the problem is one of several words, of which a training set may have one context or none. Rows then judge
    only where others are left to count on.
    """
    train = problem.views.train[int(problem.replicas.view[replica])] & (problem.labels >= 0)
    if not of_word and not bool(train.any()):
        raise UserFault("a training set has no labelled document", remedy="give more data or fewer folds")
    nobody = torch.zeros_like(train)
    if plan.select in ("criterion", "leave_one_out"):
        return [Track(train, train if plan.leaves_out else nobody)]
    seed = int(hash64_numpy(_SPLIT, int(problem.replicas.seed[replica])))
    rows = torch.nonzero(train).flatten()
    keys, labels = problem.keys[rows].cpu().numpy(), problem.labels[rows].cpu().numpy()
    if of_word and len(rows) < 2:
        return [Track(train, nobody)] * (1 + (plan.inner_folds if plan.select in FOLDED else 0))
    if plan.select == "heldout":
        stratified = bool((np.bincount(labels) > 1).any())
        held = holdout(keys, labels, plan.fraction, seed, stratified)
        return [_split(train, rows, held)]
    count = min(plan.inner_folds, len(rows)) if of_word else plan.inner_folds
    folds = fold_of(keys, labels, None, count, seed, True, True)
    return [Track(train, nobody), *(_split(train, rows, folds == fold) for fold in range(plan.inner_folds))]


def _split(train: Tensor, rows: Tensor, held: NDArray[np.bool_]) -> Track:
    judged = torch.zeros_like(train)
    judged[rows[torch.from_numpy(held).to(rows.device)]] = True
    return Track(train & ~judged, judged)


def track_variables(plan: Plan, problem: Problem, replica: int, place: int, track: Track) -> Variables:
    """What the track at `place` among a replica's is counted on. One of all training rows has the view's own word sets;
    others learn theirs anew."""
    whole = plan.select in ("criterion", "leave_one_out") or (plan.select in FOLDED and place == 0)
    return counted_variables(problem, replica, track.train, whole or not isinstance(problem.rows, SenseRows))


def counted_variables(problem: Problem, replica: int, train: Tensor, of_view: bool) -> Variables:
    """The variables by rows train (docs,) bool; of_view: with the features, or word sets, of the replica's view."""
    scale = problem.views.col_scale
    sets = scale[int(problem.replicas.view[replica])] if of_view and scale is not None else None
    return variables_of(problem.rows, problem.labels, problem.num_classes, train, sets)


def edge_masks(edges: Edges, key: str, classes: Sequence[str], rows: Rows, size: int, device: torch.device) -> Tensor:
    """(1, V, V) bool: the edges that are named, the class as "class"; of contexts of several words (words, V, V), the
    edges that a word has. UserFault for names that no input has."""
    tables: list[tuple[Rows, Sequence[str]]] = [(rows, classes)]
    if isinstance(rows, WordRows):
        named = [[classes[number] for number in own] for own in rows.classes]
        tables = list(zip(rows.parts, named, strict=True))
    masks = torch.zeros(len(tables), size, size, dtype=torch.bool, device=device)
    for pair in edges:
        if pair[0] == pair[1]:
            raise UserFault(f"an edge from {pair[0]!r} to itself", key=key, remedy="name two variables")
        ends = [[_place_of(name, *table) for table in tables] for name in pair]
        for name, places in zip(pair, ends, strict=True):
            if all(place is None for place in places):
                kind = "input of the contexts" if isinstance(rows, SenseRows | WordRows) else "column of the table"
                raise UserFault(
                    f"names {name!r}, which is no {kind} (nor {CLASS_NAME!r})",
                    key=key,
                    remedy="name inputs as in data.categorical, those of contexts as pos-2, pos+0 … or words:SENSE; "
                    "features of other types have no names for this",
                )
        for mask, a, b in zip(masks, *ends, strict=True):
            if a is not None and b is not None:
                mask[a, b] = mask[b, a] = True
    return masks


def _place_of(name: str, rows: Rows, classes: Sequence[str]) -> int | None:
    """The variable that an input, or the class, is by its name; None for a name that none has."""
    if name == CLASS_NAME:
        return 0
    if isinstance(rows, SenseRows):
        place = rows.input_place(name, classes)
        return None if place is None else 1 + place
    hashed = int(hash64_numpy(*name.encode()))
    return 1 + rows.keys.index(hashed) if isinstance(rows, CodeRows) and hashed in rows.keys else None
