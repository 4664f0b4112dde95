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

from gpuclf.data.splits import fold_of, holdout, leave_one_out
from gpuclf.ops.counter_hash import hash64_numpy
from gpuclf.train.corpus import Corpus
from gpuclf.train.options import ExperimentOptions, FoldsOptions

NO_VIEW = -1  # a document that no view of an assignment holds out


@dataclass(frozen=True)
class Split:
    """Views of the rows: each trains on some of them and holds out the others.

    held_by (assignments, docs) int64: the number of the view that holds a document out, in each assignment (one a
    repeat). view_numbers are the views to train, assignments the row of held_by each belongs to; `folded` says whether
    they are folds at all. Masks are made when asked for: with leave-one-out all of them would be docs × docs.
    """

    held_by: Tensor
    view_numbers: tuple[int, ...]
    assignments: tuple[int, ...]
    folded: bool

    def part(self, numbers: Sequence[int]) -> Split:
        """Some of the views, in this order."""
        place = dict(zip(self.view_numbers, self.assignments, strict=True))
        return replace(self, view_numbers=tuple(numbers), assignments=tuple(place[number] for number in numbers))

    @property
    def train(self) -> Tensor:
        """(views, docs) bool: what each view trains on; the other rows are held out."""
        rows = zip(self.view_numbers, self.assignments, strict=True)
        return torch.stack([self.held_by[assignment] != number for number, assignment in rows])

    @property
    def first_views(self) -> frozenset[int]:
        """The views of the first assignment, which hold every document out once at most."""
        return frozenset(n for n, row in zip(self.view_numbers, self.assignments, strict=True) if row == 0)


def held_out_split(options: ExperimentOptions, corpus: Corpus) -> Split | None:
    """The split by which cells are judged; None where the config holds nothing out.

    Every assignment is a hash of (folds seed or the experiment's seed, document id): file order plays no part.
    """
    if options.folds is not None:
        return _fold_split(options, options.folds, corpus)
    validation = options.validation
    if validation is None:
        return None
    if validation.file is not None:
        mask = np.arange(corpus.num_docs) < corpus.num_train_docs
    elif validation.fraction is not None:
        labels = corpus.labels if validation.stratified else None
        seed = options.seed if validation.seed is None else validation.seed
        mask = ~holdout(corpus.keys, labels, validation.fraction, seed, validation.stratified)
    else:
        assert validation.fold is not None
        choice = validation.fold
        seed = options.seed if validation.seed is None else validation.seed
        folds = fold_of(corpus.keys, corpus.labels, None, choice.k, seed, validation.stratified, True, corpus.classes)
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
    held_by = split.held_by.numpy()[:, order]
    digest = hashlib.sha256(corpus.keys[order].astype("<i8").tobytes() + held_by.astype("<i8").tobytes())
    counts = np.bincount(held_by.ravel())
    sizes = counts[np.asarray(split.view_numbers)]
    return {
        "folds": len(split.view_numbers),
        "repeats": len(held_by),
        "documents": corpus.num_docs,
        "least": int(sizes.min()),
        "most": int(sizes.max()),
        "test_train_ratio": float(np.mean(sizes / (corpus.num_docs - sizes))),
        "assignment": digest.hexdigest(),
    }


def _single(train: NDArray[np.bool_]) -> Split:
    return Split(torch.from_numpy(np.where(train, NO_VIEW, 0)[None]), (0,), (0,), folded=False)


def _fold_split(options: ExperimentOptions, folds: FoldsOptions, corpus: Corpus) -> Split:
    groups = np.asarray(corpus.groups) if folds.grouped else None
    if folds.k == "all":
        one = leave_one_out(corpus.keys, corpus.labels, groups, folds.allow_small, corpus.classes)
        numbers = tuple(range(int(one.max()) + 1))
        return Split(torch.from_numpy(one[None]), numbers, (0,) * len(numbers), folded=True)
    first_seed = options.seed if folds.seed is None else folds.seed
    rows = []
    for repeat in range(folds.repeats):
        # the first repeat is the cross-validation without repeats
        seed = first_seed if repeat == 0 else int(hash64_numpy(first_seed, repeat))
        fold = fold_of(
            corpus.keys, corpus.labels, groups, folds.k, seed, folds.stratified, folds.allow_small, corpus.classes
        )
        rows.append(repeat * folds.k + fold)
    numbers = tuple(range(folds.repeats * folds.k)) if folds.index is None else (folds.index,)
    return Split(torch.from_numpy(np.stack(rows)), numbers, tuple(n // folds.k for n in numbers), folded=True)
