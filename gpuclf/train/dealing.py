"""Documents dealt to folds, or held out, in parts: all of them together, or those of each ambiguous word apart.

Where every word has a model of its own, each part is dealt as a file with that word's contexts alone would be. A word
with fewer documents than folds has as many folds as documents (of groups: as groups), in the same order of hashes, and
takes no part in the others; a single document is held out by fold 0, and by no fraction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuclf.data.class_order import class_order
from gpuclf.data.splits import fold_of, holdout, leave_one_out
from gpuclf.faults import UserFault
from gpuclf.features.rows import SequenceRows
from gpuclf.features.word_rows import WordRows
from gpuclf.train.corpus import Corpus

_UNKNOWN = "drop such words, or folds.allow_small: true (the word is then unknown where its document is held out)"


@dataclass(frozen=True)
class Part:
    """Documents that are dealt among themselves: docs (n,) int64, rising, of total; keys, labels, groups (n,) of each.

    labels number `classes`, which are in their own order (gpuclf.data.class_order). word: the ambiguous word that they
    are contexts of, None for all documents of a corpus.
    """

    docs: NDArray[np.int64]
    keys: NDArray[np.int64]
    labels: NDArray[np.int64]
    groups: NDArray[Any] | None
    classes: tuple[str, ...]
    word: str | None
    total: int

    def chosen(self, mask: NDArray[np.bool_]) -> Part:
        """Those of mask (total,)."""
        own = mask[self.docs]
        groups = None if self.groups is None else self.groups[own]
        return replace(self, docs=self.docs[own], keys=self.keys[own], labels=self.labels[own], groups=groups)

    @property
    def units(self) -> int:
        """Documents, or groups, that folds may part."""
        return len(self.docs) if self.groups is None else len(np.unique(self.groups))


def parts_of(corpus: Corpus, grouped: bool) -> list[Part]:
    """The parts of a corpus; groups (where asked for) and always the tokens of a sentence stay together."""
    rows, keys, labels = corpus.rows, corpus.keys, corpus.labels
    groups = np.asarray(corpus.groups) if grouped or isinstance(rows, SequenceRows) else None
    if not isinstance(rows, WordRows):
        everyone = np.arange(corpus.num_docs)
        return [Part(everyone, keys, labels, groups, corpus.classes, None, corpus.num_docs)]
    parts = []
    for place, word in enumerate(rows.names):
        docs = rows.docs(place).cpu().numpy()
        names = {corpus.classes[number]: number for number in rows.classes[place]}
        classes = class_order(names)
        numbers = np.zeros(len(corpus.classes), dtype=np.int64)
        numbers[[names[name] for name in classes]] = np.arange(len(classes))
        own = None if groups is None else groups[docs]
        parts.append(Part(docs, keys[docs], numbers[labels[docs]], own, classes, word, corpus.num_docs))
    return parts


def fold_in_parts(
    parts: Sequence[Part], k: int, seed: int, stratified: bool, *, allow_small: bool
) -> NDArray[np.int64]:
    """The fold (total,) in which each document is held out, 0 … k-1; 0 for documents of no part.

    Raises: UserFault as gpuclf.data.splits.fold_of; of a word it names it; where no word fills all folds.
    """
    _fill(parts, k)

    def deal(part: Part) -> NDArray[np.int64]:
        folds = k if part.word is None else min(k, part.units)
        if folds == 1 < k:
            return _alone(part, allow_small)
        return fold_of(part.keys, part.labels, part.groups, folds, seed, stratified, allow_small, part.classes)

    return _put_together(parts, deal, 0)


def leave_one_out_in_parts(parts: Sequence[Part], allow_small: bool) -> NDArray[np.int64]:
    """The fold (total,) of each document where folds hold one document, or group, of every word that has so many.

    Raises: UserFault as gpuclf.data.splits.leave_one_out; of a word it names it; where no word has two documents.
    """
    _fill(parts, 2)

    def deal(part: Part) -> NDArray[np.int64]:
        if part.word is not None and part.units == 1:
            return _alone(part, allow_small)
        return leave_one_out(part.keys, part.labels, part.groups, allow_small, part.classes)

    return _put_together(parts, deal, 0)


def hold_in_parts(parts: Sequence[Part], fraction: float, seed: int, stratified: bool) -> NDArray[np.bool_]:
    """Mask (total,) of the documents to hold out: the fraction of every part.

    Raises: UserFault as gpuclf.data.splits.holdout; of a word it names it; where no word has two documents.
    """

    def deal(part: Part) -> NDArray[np.bool_]:
        if part.word is not None and part.units == 1:
            return np.zeros(len(part.docs), dtype=np.bool_)
        labels = part.labels if stratified else None
        return holdout(part.keys, labels, fraction, seed, stratified, part.groups)

    mask = _put_together(parts, deal, False)
    if not mask.any():
        raise UserFault("no word has two documents, so none can be held out", key="validation.fraction")
    return mask


def _alone(part: Part, allow_small: bool) -> NDArray[np.int64]:
    """The folds of a word with a single document, or group."""
    if not allow_small:
        unit = "document" if part.groups is None else "group"
        raise UserFault(f"there is a single {unit}: left out, the word is unknown", key="folds.k", remedy=_UNKNOWN)
    return np.zeros(len(part.docs), dtype=np.int64)


def _fill(parts: Sequence[Part], k: int) -> None:
    """Raises where words are dealt apart and none of them fills k folds, so that one would hold nothing out."""
    most = max(part.units for part in parts)
    if parts[0].word is not None and most < k:
        unit = "documents" if parts[0].groups is None else "groups"
        raise UserFault(
            f"no word has {k} {unit}, one a fold; the most is {most}", key="folds.k", remedy="take fewer folds"
        )


def _put_together(parts: Sequence[Part], deal: Callable[[Part], NDArray[Any]], none: int | bool) -> NDArray[Any]:
    """(total,) what `deal` says of the documents of every part, `none` of others; faults name the word."""
    made = np.full(parts[0].total, none)
    for part in parts:
        if not len(part.docs):
            continue
        try:
            made[part.docs] = deal(part)
        except UserFault as fault:
            if part.word is None:
                raise
            message = f"of the word {part.word!r}, {fault.message}"
            raise UserFault(message, key=fault.key, remedy=fault.remedy) from fault
    return made
