"""Folds and held-out parts: complete, even, independent of the file's order, and never through a group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuclf.data.splits import document_keys, fold_of, holdout, leave_one_out, small_classes
from gpuclf.faults import UserFault

K = st.integers(2, 7)
SEED = st.integers(-(2**63), 2**63 - 1)
LABELS = st.lists(st.integers(0, 4), min_size=8, max_size=80)


def _keys(n: int) -> np.ndarray:
    return document_keys([f"doc{i}" for i in range(n)])


def _sizes(folds: np.ndarray, k: int) -> np.ndarray:
    return np.bincount(folds, minlength=k)


@given(LABELS, K, SEED)
def test_stratified_folds_are_even_in_size_and_within_every_class(labels, k, seed):
    y = np.array(labels)
    folds = fold_of(_keys(len(y)), y, None, k, seed, stratified=True, allow_small=True)
    assert folds.shape == y.shape
    assert set(folds.tolist()) <= set(range(k))
    assert np.ptp(_sizes(folds, k)) <= 1
    for c in set(labels):
        assert np.ptp(_sizes(folds[y == c], k)) <= 1


@given(st.integers(8, 80), K, SEED)
def test_plain_folds_are_even(n, k, seed):
    folds = fold_of(_keys(n), None, None, k, seed, stratified=False)
    assert np.ptp(_sizes(folds, k)) <= 1


@given(LABELS, K, SEED, st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_the_file_does_not_matter(labels, k, seed, stratified, grouped, random):
    y, keys = np.array(labels), _keys(len(labels))
    groups = np.array([f"g{i % 9}" for i in range(len(y))]) if grouped else None
    order = list(range(len(y)))
    random.shuffle(order)
    if grouped and len(set(groups)) < k:
        return
    here = fold_of(keys, y, groups, k, seed, stratified, True)
    there = fold_of(keys[order], y[order], None if groups is None else groups[order], k, seed, stratified, True)
    assert (here[order] == there).all()
    mask = holdout(keys, y, 0.5, seed, stratified=False, groups=groups)
    moved = None if groups is None else groups[order]
    assert (mask[order] == holdout(keys[order], y[order], 0.5, seed, stratified=False, groups=moved)).all()


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3)), min_size=10, max_size=120), st.booleans(), SEED)
def test_groups_are_never_split(rows, stratified, seed):
    groups, labels = (np.array(column) for column in zip(*rows, strict=True))
    if len(set(groups.tolist())) < 3:
        return
    folds = fold_of(_keys(len(rows)), labels, groups, 3, seed, stratified, True)
    for group in set(groups.tolist()):
        assert len(set(folds[groups == group].tolist())) == 1
    assert (_sizes(folds, 3) > 0).all()
    if not stratified:  # largest first into the emptiest fold: no two folds differ by more than the largest group
        assert np.ptp(_sizes(folds, 3)) <= np.bincount(groups).max()
    held = holdout(_keys(len(rows)), None, 0.3, seed, stratified=False, groups=groups)
    assert held.any()
    assert not held.all()
    for group in set(groups.tolist()):
        assert len(set(held[groups == group].tolist())) == 1


def test_groups_of_one_class_are_spread_over_the_folds():
    groups = np.repeat(np.arange(30), 4)
    labels = np.repeat(np.arange(30) % 2, 4)
    folds = fold_of(_keys(120), labels, groups, 5, 1, stratified=True)
    assert (_sizes(folds[labels == 0], 5) == 12).all()
    assert (_sizes(folds[labels == 1], 5) == 12).all()


def test_another_seed_gives_other_folds_and_the_same_seed_the_same():
    y = np.zeros(200, dtype=np.int64)
    first, again, other = (fold_of(_keys(200), y, None, 5, seed) for seed in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).mean() > 0.5


def test_class_smaller_than_folds_is_refused_by_name():
    """Case o15: one document of class c, three folds."""
    y = np.array([0] * 6 + [1] * 6 + [2])
    with pytest.raises(UserFault, match=r"class 'c' has 1 document: fewer than 3 folds") as caught:
        fold_of(_keys(13), y, None, 3, 1, class_names=["a", "b", "c"])
    assert caught.value.key == "folds.k"
    assert "allow_small" in (caught.value.remedy or "")
    folds = fold_of(_keys(13), y, None, 3, 1, allow_small=True, class_names=["a", "b", "c"])
    assert sorted(_sizes(folds, 3)) == [4, 4, 5]
    assert small_classes(y, 3, ["a", "b", "c"]) == {"c": 1}


def test_class_in_too_few_groups_is_refused():
    y = np.array([0, 0, 0, 1, 1, 1])
    with pytest.raises(UserFault, match=r"class 'b' has 1 group: fewer than 3"):
        fold_of(_keys(6), y, np.array(["p", "q", "r", "s", "s", "s"]), 3, 0, class_names=["a", "b"])


def test_a_class_without_documents_here_is_no_small_class():
    assert small_classes(np.array([0, 0, 2, 2]), 2, ["a", "b", "c"]) == {}


@pytest.mark.parametrize(
    ("n", "k", "groups", "word"),
    [(9, 1, None, "too few"), (3, 4, None, "3 documents cannot fill"), (4, 3, [0, 0, 1, 1], "2 groups cannot fill")],
)
def test_impossible_folds_are_refused(n, k, groups, word):
    with pytest.raises(UserFault, match=word):
        fold_of(_keys(n), None, None if groups is None else np.array(groups), k, 0, stratified=False)


@given(LABELS, st.floats(0.05, 0.95), SEED)
def test_stratified_holdout_takes_a_share_of_every_class_and_leaves_one(labels, fraction, seed):
    y = np.array(labels)
    counts = np.bincount(y, minlength=5)
    if counts.max() < 2:
        return
    mask = holdout(_keys(len(y)), y, fraction, seed)
    held = np.bincount(y[mask], minlength=5)
    assert ((held < counts) | (counts == 0)).all()
    assert (held[counts == 1] == 0).all()
    eligible = counts[counts > 1].sum()
    share = min(max(1, round(fraction * len(y))), len(y) - 1, eligible) / eligible
    whole = counts * share
    released = held == counts - 1
    assert ((held >= np.floor(whole)) | released | (counts == 1)).all()
    assert (held <= np.ceil(whole)).all()


def test_holdout_sizes_and_faults():
    y = np.repeat(np.arange(10), 10)
    assert holdout(_keys(100), y, 0.2, 0).sum() == 20
    assert holdout(_keys(100), None, 0.25, 0, stratified=False).sum() == 25
    for fraction in (0.0, 1.0, float("nan")):
        with pytest.raises(UserFault, match="not between 0 and 1"):
            holdout(_keys(100), y, fraction, 0)
    with pytest.raises(UserFault, match="single document"):
        holdout(_keys(3), np.arange(3), 0.3, 0)
    with pytest.raises(UserFault, match="split in two"):
        holdout(_keys(1), None, 0.3, 0, stratified=False)


def test_document_keys_are_fixed_for_ever():
    assert document_keys(["1", "ä", ""]).tolist() == document_keys(("1", "ä", "")).tolist()
    assert document_keys(["1"]).tolist() == [8518482412311870710]
    assert len(document_keys([])) == 0


def test_leave_one_out_numbers_documents_by_key_and_groups_by_name():
    keys = _keys(40)
    folds = leave_one_out(keys, np.arange(40) % 2, None)
    assert sorted(folds.tolist()) == list(range(40))
    assert (np.diff(keys[np.argsort(folds)]) > 0).all()
    turned = leave_one_out(keys[::-1].copy(), np.arange(40)[::-1] % 2, None)
    assert (turned[::-1] == folds).all()
    grouped = leave_one_out(keys[:5], np.array([0, 1, 0, 1, 0]), np.array(["b", "b", "a", "a", "c"]))
    assert grouped.tolist() == [1, 1, 0, 0, 2]


def test_leave_one_out_refuses_what_would_be_unknown():
    with pytest.raises(UserFault, match=r"class 'b' has 1 document: left out, the class is unknown"):
        leave_one_out(_keys(4), np.array([0, 0, 0, 1]), None, class_names=["a", "b"])
    with pytest.raises(UserFault, match=r"class 'b' has 1 group: left out, the class is unknown"):
        leave_one_out(_keys(4), np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), class_names=["a", "b"])
    assert leave_one_out(_keys(4), np.array([0, 0, 0, 1]), None, allow_small=True).max() == 3
    with pytest.raises(UserFault, match="a single group cannot be left out"):
        leave_one_out(_keys(2), np.array([0, 1]), np.array([7, 7]), allow_small=True)
