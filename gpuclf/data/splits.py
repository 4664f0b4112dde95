"""Folds and held-out parts: where a document falls depends on its id and the seed, never on the file's order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuclf.faults import UserFault
from gpuclf.ops.counter_hash import hash64_numpy


def document_keys(ids: Sequence[str]) -> NDArray[np.int64]:
    """A 64-bit key for each id (docs,), from BLAKE2b: the same on every machine and in every file."""
    digests = b"".join(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest() for name in ids)
    return np.frombuffer(digests, dtype="<i8").astype(np.int64)


def small_classes(labels: NDArray[np.int64], k: int, class_names: Sequence[str]) -> dict[str, int]:
    """Classes with at least one but fewer than k documents, with their counts."""
    counts = np.bincount(labels, minlength=len(class_names))
    return {class_names[c]: int(counts[c]) for c in np.flatnonzero((counts > 0) & (counts < k)).tolist()}


def fold_of(
    keys: NDArray[np.int64],
    labels: NDArray[np.int64] | None,
    groups: NDArray[Any] | None,
    k: int,
    seed: int,
    stratified: bool = True,
    allow_small: bool = False,
    class_names: Sequence[str] | None = None,
) -> NDArray[np.int64]:
    """The fold (docs,) in which each document is held out, 0 … k-1.

    Without groups, folds differ by at most one document in size, and, stratified, also within every class: documents
    are put in order by (class, hash(seed, key)) and dealt to the folds in turn. With groups (docs,) of numbers or
    strings, whole groups go, largest first, to the fold with the most room (stratified: where its classes are rarest).

    Args: keys (docs,) from `document_keys`; labels (docs,) class numbers, needed for stratified folds.
    Raises: UserFault for k < 2, for fewer documents or groups than folds, and, unless `allow_small`, for classes with
        fewer documents (with groups: in fewer groups) than folds.
    """
    if k < 2:
        raise UserFault(f"{k} folds are too few", key="folds.k", remedy="take 2 or more")
    if len(keys) < k:
        raise UserFault(f"{len(keys)} documents cannot fill {k} folds", key="folds.k", remedy="take fewer folds")
    assert labels is not None or not stratified, "stratified folds need labels"
    codes = None if groups is None else _group_codes(groups)
    if labels is not None and not allow_small:
        _refuse_small(labels, codes, k, class_names, f"fewer than {k} folds")
    if codes is not None:
        return _deal_groups(groups, codes, labels if stratified else None, k, seed)
    order = _order(keys, labels if stratified else None, seed)
    folds = np.empty(len(keys), dtype=np.int64)
    folds[order] = np.arange(len(keys)) % k
    return folds


def leave_one_out(
    keys: NDArray[np.int64],
    labels: NDArray[np.int64] | None,
    groups: NDArray[Any] | None,
    allow_small: bool = False,
    class_names: Sequence[str] | None = None,
) -> NDArray[np.int64]:
    """The fold (docs,) of each document where every document, or every group, is held out alone.

    Folds are numbered by rising key, groups by name: file order plays no part.
    Raises: UserFault for fewer than two documents or groups, and, unless `allow_small`, for classes that one fold holds
        alone, so that they are unknown when it is held out.
    """
    codes = None if groups is None else _group_codes(groups)
    if labels is not None and not allow_small:
        _refuse_small(labels, codes, 2, class_names, "left out, the class is unknown")
    folds = np.argsort(np.argsort(keys, kind="stable"), kind="stable") if codes is None else codes
    if not len(folds) or int(folds.max()) < 1:
        unit = "document" if codes is None else "group"
        raise UserFault(f"a single {unit} cannot be left out", key="folds.k", remedy="validate in another way")
    return folds.astype(np.int64)


def holdout(
    keys: NDArray[np.int64],
    labels: NDArray[np.int64] | None,
    fraction: float,
    seed: int,
    stratified: bool = True,
    groups: NDArray[Any] | None = None,
) -> NDArray[np.bool_]:
    """Mask (docs,) of the documents to hold out: round(fraction · docs) of them, at least one, never all.

    Stratified: every class gives its share, rounded up or down, and keeps at least one document for training (a class
    of one gives none). With groups only whole groups are held out, as many as fit into the fraction, at least one.
    """
    if not 0 < fraction < 1:
        raise UserFault(f"fraction {fraction} is not between 0 and 1", key="validation.fraction")
    wanted = max(1, round(fraction * len(keys)))
    if len(keys) < 2:
        raise UserFault(f"{len(keys)} documents cannot be split in two", key="validation.fraction")
    wanted = min(wanted, len(keys) - 1)
    if groups is not None:
        return _hold_groups(groups, wanted, seed)
    if not stratified:
        mask = np.zeros(len(keys), dtype=np.bool_)
        mask[_order(keys, None, seed)[:wanted]] = True
        return mask
    assert labels is not None, "a stratified split needs labels"
    return _hold_stratified(keys, labels, wanted, seed)


def _order(keys: NDArray[np.int64], labels: NDArray[np.int64] | None, seed: int) -> NDArray[np.int64]:
    """Positions by class (where given), then by hash(seed, key)."""
    hashed = hash64_numpy(seed, keys)
    return np.lexsort((keys, hashed) if labels is None else (keys, hashed, labels))


def _hold_stratified(keys: NDArray[np.int64], labels: NDArray[np.int64], wanted: int, seed: int) -> NDArray[np.bool_]:
    counts = np.bincount(labels)
    order = _order(keys, labels, seed)
    order = order[counts[labels[order]] > 1]
    if not len(order):
        raise UserFault(
            "every class has a single document, so none can be held out",
            key="validation.fraction",
            remedy="validation.stratified: false, or give validation.file",
        )
    # position p is held out where p·wanted/n passes a whole number: exactly `wanted` in all, evenly within a class
    wanted = min(wanted, len(order))
    steps = np.arange(len(order) + 1) * wanted // len(order)
    mask = np.zeros(len(keys), dtype=np.bool_)
    mask[order[np.diff(steps) > 0]] = True
    held = np.bincount(labels[mask], minlength=len(counts))
    for c in np.flatnonzero((held == counts) & (counts > 0)):  # only where the fraction is above one half
        mask[order[labels[order] == c][0]] = False
    return mask


def _group_codes(groups: NDArray[Any]) -> NDArray[np.int64]:
    return np.unique(np.asarray(groups), return_inverse=True)[1].astype(np.int64)


def _group_hashes(groups: NDArray[Any], codes: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """hash(seed, group) by group code (groups,)."""
    array = np.asarray(groups)
    first = np.unique(codes, return_index=True)[1]
    names = array[first]
    keys = names.astype(np.int64) if names.dtype.kind in "iu" else document_keys([str(name) for name in names])
    return hash64_numpy(seed, keys)


def _refuse_small(
    labels: NDArray[np.int64], codes: NDArray[np.int64] | None, k: int, class_names: Sequence[str] | None, reason: str
) -> None:
    names = class_names if class_names is not None else [str(c) for c in range(int(labels.max(initial=-1)) + 1)]
    unit = "document"
    if codes is not None:  # count each class once a group
        labels = np.unique(np.stack([labels, codes]), axis=1)[0]
        unit = "group"
    small = small_classes(labels, k, names)
    if not small:
        return
    listed = [f"class {name!r} has {n} {unit}{'s' * (n != 1)}" for name, n in list(small.items())[:10]]
    more = f" and {len(small) - 10} more classes" if len(small) > 10 else ""
    raise UserFault(
        f"{', '.join(listed)}{more}: {reason}",
        key="folds.k",
        remedy="take fewer folds, drop or join such classes, or folds.allow_small: true (such a class is then unknown "
        "in some folds, and counts as an error there)",
    )


def _deal_groups(
    groups: NDArray[Any] | None, codes: NDArray[np.int64], labels: NDArray[np.int64] | None, k: int, seed: int
) -> NDArray[np.int64]:
    assert groups is not None
    sizes = np.bincount(codes)
    if len(sizes) < k:
        raise UserFault(f"{len(sizes)} groups cannot fill {k} folds", key="folds.k", remedy="take fewer folds")
    hashes = _group_hashes(groups, codes, seed)
    classes = np.zeros(len(codes), dtype=np.int64) if labels is None else labels
    share = 1.0 / np.maximum(np.bincount(classes), 1).astype(np.float64)
    by_group = np.argsort(codes, kind="stable")
    parts = np.split(classes[by_group], np.cumsum(sizes)[:-1])
    room = np.zeros((k, len(share)))  # share of each class that a fold holds
    filled = np.zeros(k, dtype=np.int64)
    fold_of_group = np.empty(len(sizes), dtype=np.int64)
    for position, group in enumerate(np.lexsort((hashes, -sizes))):
        present, counts = np.unique(parts[group], return_counts=True)
        part = counts * share[present]
        crowding = room[:, present] @ part
        if position < k:  # so that no fold stays empty
            crowding = np.where(filled > 0, np.inf, crowding)
        fold = int(np.lexsort((filled, crowding))[0])
        room[fold, present] += part
        filled[fold] += sizes[group]
        fold_of_group[group] = fold
    return fold_of_group[codes]


def _hold_groups(groups: NDArray[Any], wanted: int, seed: int) -> NDArray[np.bool_]:
    codes = _group_codes(groups)
    sizes = np.bincount(codes)
    if len(sizes) < 2:
        raise UserFault("all documents are of one group, so none can be held out", key="validation.fraction")
    chosen = np.zeros(len(sizes), dtype=np.bool_)
    left = wanted
    order = np.argsort(_group_hashes(groups, codes, seed), kind="stable")
    for group in order:
        if sizes[group] <= left:
            chosen[group] = True
            left -= sizes[group]
    if not chosen.any():
        chosen[order[np.argmin(sizes[order])]] = True
    return chosen[codes]
