"""Which rows are held out, as masks over one copy of the rows: folds, a fraction, a validation file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gpuclf.data.splits import fold_of, holdout
from gpuclf.train.corpus import Corpus
from gpuclf.train.options import ExperimentOptions


@dataclass(frozen=True)
class Split:
    """train (views, docs) bool: what each view trains on; the other rows are held out.

    view_numbers: the fold that each view holds out; `folded` says whether these are folds at all.
    """

    train: torch.Tensor
    view_numbers: tuple[int, ...]
    folded: bool


def held_out_split(options: ExperimentOptions, corpus: Corpus) -> Split | None:
    """The split by which cells are judged; None where the config holds nothing out.

    Every assignment is a hash of (folds seed or the experiment's seed, document id): file order plays no part.
    """
    if options.folds is not None:
        folds = options.folds
        fold = _folds(options, corpus, folds.k, folds.seed, folds.stratified, folds.grouped, folds.allow_small)
        numbers = range(folds.k) if folds.index is None else [folds.index]
        return Split(torch.from_numpy(np.stack([fold != number for number in numbers])), tuple(numbers), folded=True)
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
        mask = _folds(options, corpus, choice.k, validation.seed, validation.stratified, False, True) != choice.index
    return Split(torch.from_numpy(mask[None]), (0,), folded=False)


def whole_split(corpus: Corpus) -> Split:
    """One view that trains on every row of the training file."""
    mask = np.arange(corpus.num_docs) < corpus.num_train_docs
    return Split(torch.from_numpy(mask[None]), (0,), folded=False)


def fold_record(split: Split, corpus: Corpus) -> dict[str, Any]:
    """What metrics.json keeps of folds: enough to tell whether two runs have the same ones.

    `assignment` is a digest of which document key is held out by which view; test_train_ratio the mean of held-out by
    training documents (Nadeau & Bengio's n_test / n_train).
    """
    order = np.argsort(corpus.keys, kind="stable")
    held_out = ~split.train.numpy()
    digest = hashlib.sha256(corpus.keys[order].astype("<i8").tobytes())
    digest.update(np.packbits(held_out[:, order]).tobytes())
    sizes = held_out.sum(axis=1)
    return {
        "numbers": list(split.view_numbers),
        "documents": corpus.num_docs,
        "held_out": sizes.tolist(),
        "test_train_ratio": float(np.mean(sizes / (corpus.num_docs - sizes))),
        "assignment": digest.hexdigest(),
    }


def _folds(
    options: ExperimentOptions,
    corpus: Corpus,
    k: int,
    seed: int | None,
    stratified: bool,
    grouped: bool,
    allow_small: bool,
) -> NDArray[np.int64]:
    return fold_of(
        corpus.keys,
        corpus.labels,
        np.asarray(corpus.groups) if grouped else None,
        k,
        options.seed if seed is None else seed,
        stratified,
        allow_small,
        corpus.classes,
    )
