"""Folds of contexts of several ambiguous words: every word's are those of a run on its contexts alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuclf.data.class_order import class_order
from gpuclf.data.splits import document_keys
from gpuclf.faults import UserFault
from gpuclf.features.encoder import Encoder
from gpuclf.features.rows import Rows
from gpuclf.features.sense_rows import SenseRows
from gpuclf.features.word_rows import WordRows
from gpuclf.train.corpus import Corpus, label_indices
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.training_batch import views_fit_together
from gpuclf.train.views import APART, Split, held_out_split

LARGE, SMALL = 0, 1  # the common word, and the rare one


def sense_rows(docs: int, words: int = 0) -> SenseRows:
    none = torch.zeros(0, dtype=torch.int32)
    return SenseRows(none.reshape(docs, 0), (), torch.zeros(docs + 1, dtype=torch.int64), none, words)


def corpus(rows: Rows, labels: list[str], ids: list[str], groups: list[str]) -> Corpus:
    classes = class_order(labels)
    return Corpus(
        encoder=object.__new__(Encoder),
        rows=rows,
        labels=label_indices(labels, classes),
        keys=document_keys(ids),
        ids=ids,
        groups=groups,
        classes=classes,
        extra_classes=(),
        num_train_docs=len(ids),
        index_base=None,
        sha256={},
    )


def of_words(word: list[int], labels: list[str]) -> tuple[Corpus, list[Corpus]]:
    """The corpus of all words, and that of each word alone."""
    ids, groups = [f"d{n}" for n in range(len(word))], [f"g{n % 9}" for n in range(len(word))]
    classes, place, alone = class_order(labels), np.zeros(len(word), dtype=np.int64), []
    own_classes = []
    for part in range(max(word) + 1):
        docs = [n for n, own in enumerate(word) if own == part]
        place[docs] = np.arange(len(docs))
        own_classes.append(tuple(sorted({classes.index(labels[n]) for n in docs})))
        alone.append(corpus(sense_rows(len(docs)), *([held[n] for n in docs] for held in (labels, ids, groups))))
    parts, names = tuple(sense_rows(one.num_docs) for one in alone), tuple("abcdef"[: len(alone)])
    rows = WordRows(parts, names, tuple(own_classes), torch.tensor(word), torch.from_numpy(place))
    return corpus(rows, labels, ids, groups), alone


def split(found: Corpus, **options: Any) -> Split:
    made = held_out_split(ExperimentOptions.model_validate({"model": {"type": "decomposable"}} | options), found)
    assert made is not None
    return made


FOLDS: list[dict[str, Any]] = [
    {"folds": {"k": 4}},
    {"folds": {"k": 3, "repeats": 2, "stratified": False}},
    {"folds": {"k": 3, "inner": 2}},
    {"folds": {"k": 3, "grouped": True, "allow_small": True}, "data": {"train": "x", "group": "g"}},
    {"folds": {"k": 4, "index": 2, "seed": 5}},
    {"validation": {"fraction": 0.3}},
    {"validation": {"fraction": 0.3, "stratified": False}},
    {"validation": {"fold": {"k": 4, "index": 1}}},
]


@given(st.sampled_from(FOLDS), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_every_word_is_dealt_as_it_is_alone(options: dict[str, Any], seed: int) -> None:
    draw = np.random.default_rng(seed)
    word = draw.permutation(np.repeat([0, 1, 2], draw.integers(30, 60, 3)))
    # of the integers alone the order is by value, among other labels by code point: 10, 2, c0, …
    senses = [("x",), ("2", "10"), ("c0", "c1", "c2")]
    seen = np.zeros(3, dtype=np.int64)
    labels = []
    for own in word:
        labels.append(senses[own][seen[own] % len(senses[own])])
        seen[own] += 1
    whole, alone = of_words(word.tolist(), labels)
    together = split(whole, seed=seed, **options)
    for part, one in enumerate(alone):
        docs = np.flatnonzero(word == part)
        own = split(one, seed=seed, **options)
        assert together.view_numbers == own.view_numbers
        assert torch.equal(together.held_by[:, docs], own.held_by)
        assert torch.equal(together.train[:, docs], own.train)


def test_leave_one_out_word_by_word() -> None:
    word = [0] * 5 + [1] * 3
    whole, alone = of_words(word, ["x", "x", "y", "y", "x", "u", "v", "u"])
    with pytest.raises(UserFault, match=r"of the word 'b', class 'v' has 1 document: left out"):
        split(whole, folds={"k": "all"})
    made = split(whole, folds={"k": "all", "allow_small": True})
    assert made.view_numbers == tuple(range(5))
    for docs, one in ((slice(0, 5), alone[0]), (slice(5, 8), alone[1])):
        own = split(one, folds={"k": "all", "allow_small": True})
        assert torch.equal(made.held_by[:, docs], own.held_by)
    assert (~made.train).sum(dim=1).tolist() == [2, 2, 2, 1, 1]


def test_a_word_of_few_documents_takes_no_part_in_some_folds() -> None:
    whole, _ = of_words([LARGE] * 12 + [SMALL] * 3, ["x", "y"] * 6 + ["u"] * 3)
    made = split(whole, folds={"k": 5})
    rare = ~made.train[:, 12:]
    assert rare.sum(dim=0).tolist() == [1, 1, 1]
    assert rare.sum(dim=1).tolist() == [1, 1, 1, 0, 0]
    held = split(whole, validation={"fold": {"k": 5, "index": 4}}).train[0]
    assert held[12:].all()
    assert not held[:12].all()


def test_faults_name_the_word() -> None:
    small, _ = of_words([LARGE] * 12 + [SMALL] * 3, ["x", "y"] * 6 + ["u", "u", "v"])
    with pytest.raises(UserFault, match=r"of the word 'b', class 'u' has 2 documents, class 'v' has 1 document: fewer"):
        split(small, folds={"k": 5})
    inner, _ = of_words([LARGE] * 24 + [SMALL] * 8, ["x", "y"] * 12 + ["u"] * 4 + ["v"] * 4)
    with pytest.raises(UserFault, match=r"documents of fold 0, of the word 'b', class 'u' has 3 .* than 4") as caught:
        split(inner, folds={"k": 4, "inner": 4})
    assert caught.value.key == "folds.inner"
    apart, _ = of_words([LARGE] * 12 + [SMALL] * 2, ["x", "y"] * 6 + ["u", "v"])
    with pytest.raises(UserFault, match="of the word 'b', every class has a single document"):
        split(apart, validation={"fraction": 0.2})


def test_a_word_of_a_single_document() -> None:
    whole, _ = of_words([LARGE] * 8 + [SMALL], ["x", "y"] * 4 + ["u"])
    for k in (4, "all"):
        with pytest.raises(UserFault, match="of the word 'b', there is a single document: left out, the word is unk"):
            split(whole, folds={"k": k})
        made = split(whole, folds={"k": k, "allow_small": True})
        assert made.train[:, 8].tolist() == [False] + [True] * (len(made.view_numbers) - 1)
    assert split(whole, validation={"fraction": 0.5}).train[0, 8]
    nested = split(whole, folds={"k": 2, "inner": 2, "allow_small": True})
    assert nested.held_by[:, 8].tolist() == [0, APART, 4], "held out by fold 0, so within fold 1 alone"


def test_every_fold_holds_something_out() -> None:
    whole, _ = of_words([LARGE] * 4 + [SMALL], ["x"] * 4 + ["u"])
    with pytest.raises(UserFault, match="no word has 5 documents, one a fold; the most is 4"):
        split(whole, folds={"k": 5, "allow_small": True})
    with pytest.raises(UserFault, match="of fold 0, no word has 3 documents"):
        split(whole, folds={"k": 2, "inner": 3, "allow_small": True})
    singles, _ = of_words([0, 1], ["x", "u"])
    with pytest.raises(UserFault, match="no word has 2 documents"):
        split(singles, folds={"k": "all"})
    with pytest.raises(UserFault, match="no word has two documents, so none"):
        split(singles, validation={"fraction": 0.5})


def test_word_sets_take_part_in_the_memory_plan() -> None:
    whole, _ = of_words([LARGE] * 12 + [SMALL] * 3, ["x", "y"] * 6 + ["u"] * 3)
    assert isinstance(whole.rows, WordRows)
    rows = replace(whole.rows, parts=(sense_rows(12, words=10), sense_rows(3, words=7)))
    view = 4 * (10 * 3 + 7 * 2) + 15
    found = replace(whole, rows=rows)
    assert views_fit_together(found, 2 * 6 * view, 6)
    assert not views_fit_together(found, 2 * 6 * view - 1, 6)
