"""Which rows are held out, as assignments over one copy of the rows: folds, a fraction, a validation file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.ops.counter_hash import hash64_numpy
from gpuclf.train.corpus import Corpus
from gpuclf.train.dealing import fold_in_parts, hold_in_parts, leave_one_out_in_parts, parts_of
from gpuclf.train.options import ExperimentOptions, FoldsOptions

NO_VIEW = -1  # a document that no view of an assignment holds out
APART = -2  # a document that all views of an assignment leave alone: the outer fold, for inner folds
INNER_SEED = 1 << 32  # beside the numbers of repeats, so that inner folds have draws of their own


@dataclass(frozen=True)
class Split:
    """Views of the rows: each trains on some of them and holds out the others.

    held_by (assignments, docs) int64: the number of the view that holds a document out, in each assignment (one a
    repeat). view_numbers are the views to train, assignments the row of held_by each belongs to; `folded` says whether
    they are folds at all. Masks are made when asked for: with leave-one-out all of them would be docs × docs.

    Nested, the views of the `outer` folds are followed by `inner` ones for each, which have an assignment a fold.
    """

    held_by: Tensor
    view_numbers: tuple[int, ...]
    assignments: tuple[int, ...]
    folded: bool
    outer: int = 1
    inner: int = 0
    first: int = 0  # the first assignment whose views are trained

    def part(self, numbers: Sequence[int]) -> Split:
        """Some of the views, in this order."""
        place = dict(zip(self.view_numbers, self.assignments, strict=True))
        return replace(self, view_numbers=tuple(numbers), assignments=tuple(place[number] for number in numbers))

    @property
    def train(self) -> Tensor:
        """(views, docs) bool: what each view trains on."""
        rows = [self.held_by[assignment] for assignment in self.assignments]
        return torch.stack([(r != number) & (r != APART) for number, r in zip(self.view_numbers, rows, strict=True)])

    def held_docs(self, device: torch.device) -> list[Tensor]:
        """The documents (n,) int64 that each view holds out."""
        rows = [self.held_by[assignment] for assignment in self.assignments]
        return [
            torch.nonzero(row == number).flatten().to(device)
            for number, row in zip(self.view_numbers, rows, strict=True)
        ]

    def fold_of(self, view: int) -> int | None:
        """The fold that a view holds out, or within which it does; None where there are no folds."""
        if not self.folded:
            return None
        return view if view < self.outer else (view - self.outer) // self.inner

    def inner_of(self, view: int) -> int | None:
        """The inner fold that a view holds out; None for views of no inner fold."""
        return (view - self.outer) % self.inner if self.folded and view >= self.outer else None

    @property
    def first_views(self) -> frozenset[int]:
        """The views of the first assignment, which hold every document out once at most."""
        return frozenset(n for n, row in zip(self.view_numbers, self.assignments, strict=True) if row == self.first)


def held_out_split(options: ExperimentOptions, corpus: Corpus) -> Split | None:
    """The split by which cells are judged; None where the config holds nothing out.

    Every assignment is a hash of (folds seed or the experiment's seed, document id): file order plays no part.
    Contexts of several ambiguous words (features.by_word) are dealt word by word, so that a word's held-out documents
    are those of a run on its contexts alone; see gpuclf.train.dealing for words of few documents.
    """
    if options.folds is not None:
        return _fold_split(options, options.folds, corpus)
    validation = options.validation
    if validation is None:
        return None
    if validation.file is not None:
        mask = np.arange(corpus.num_docs) < corpus.num_train_docs
    elif validation.fraction is not None:
        seed = options.seed if validation.seed is None else validation.seed
        mask = ~hold_in_parts(parts_of(corpus, False), validation.fraction, seed, validation.stratified)
    else:
        assert validation.fold is not None
        choice = validation.fold
        seed = options.seed if validation.seed is None else validation.seed
        folds = fold_in_parts(parts_of(corpus, False), choice.k, seed, validation.stratified, allow_small=True)
        mask = folds != choice.index
    return _single(mask)


def whole_split(corpus: Corpus) -> Split:
    """One view that trains on every row of the training file."""
    return _single(np.arange(corpus.num_docs) < corpus.num_train_docs)


def fold_record(split: Split, corpus: Corpus) -> dict[str, Any]:
    """What metrics.json keeps of folds: enough to tell whether two runs have the same ones.

    `assignment` is a digest of which document key is held out by which fold; test_train_ratio the mean of held-out by
    training documents (Nadeau & Bengio's n_test / n_train); least, most: held-out documents of the smallest and largest
    fold.
    """
    order = np.argsort(corpus.keys, kind="stable")
    outer = [number for number in split.view_numbers if number < split.outer]
    repeats = 1 + max(row for row, n in zip(split.assignments, split.view_numbers, strict=True) if n < split.outer)
    held_by = split.held_by.numpy()[:repeats, order]
    digest = hashlib.sha256(corpus.keys[order].astype("<i8").tobytes() + held_by.astype("<i8").tobytes())
    counts = np.bincount(held_by.ravel())
    sizes = counts[np.asarray(outer)]
    return {
        "folds": len(outer),
        "repeats": repeats,
        "documents": corpus.num_docs,
        "least": int(sizes.min()),
        "most": int(sizes.max()),
        "test_train_ratio": float(np.mean(sizes / (corpus.num_docs - sizes))),
        "assignment": digest.hexdigest(),
    }


def _single(train: NDArray[np.bool_]) -> Split:
    return Split(torch.from_numpy(np.where(train, NO_VIEW, 0)[None]), (0,), (0,), folded=False)


def _fold_split(options: ExperimentOptions, folds: FoldsOptions, corpus: Corpus) -> Split:
    parts = parts_of(corpus, folds.grouped)
    if folds.k == "all":
        one = leave_one_out_in_parts(parts, folds.allow_small)
        count = int(one.max()) + 1
        return Split(torch.from_numpy(one[None]), tuple(range(count)), (0,) * count, folded=True, outer=count)
    first_seed = options.seed if folds.seed is None else folds.seed
    rows = []
    for repeat in range(folds.repeats):
        # the first repeat is the cross-validation without repeats
        seed = first_seed if repeat == 0 else int(hash64_numpy(first_seed, repeat))
        fold = fold_in_parts(parts, folds.k, seed, folds.stratified, allow_small=folds.allow_small)
        rows.append(repeat * folds.k + fold)
    outer = folds.repeats * folds.k
    numbers = list(range(outer)) if folds.index is None else [folds.index]
    assignments = [number // folds.k for number in numbers]
    if folds.inner is not None:
        for number in numbers.copy():
            numbers += range(outer + number * folds.inner, outer + (number + 1) * folds.inner)
            assignments += [len(rows)] * folds.inner
            rows.append(_inner_folds(folds, corpus, rows[number // folds.k] != number, first_seed, number, outer))
    held_by = torch.from_numpy(np.stack(rows))
    return Split(held_by, tuple(numbers), tuple(assignments), True, outer, folds.inner or 0, assignments[0])


def _inner_folds(
    folds: FoldsOptions, corpus: Corpus, train: NDArray[np.bool_], seed: int, number: int, outer: int
) -> NDArray[np.int64]:
    """The assignment of one outer fold's training rows (mask) to inner views."""
    assert folds.inner is not None
    held_by = np.full(corpus.num_docs, APART)
    own_seed = int(hash64_numpy(seed, INNER_SEED + number))
    parts = [part.chosen(train) for part in parts_of(corpus, folds.grouped)]
    try:
        inner = fold_in_parts(parts, folds.inner, own_seed, folds.stratified, allow_small=folds.allow_small)
    except UserFault as fault:
        message = f"among the training documents of fold {number}, {fault.message}"
        raise UserFault(message, key="folds.inner", remedy=fault.remedy) from fault
    held_by[train] = outer + number * folds.inner + inner[train]
    return held_by
