"""Splits of a corpus: every view's training rows, repeats with other folds, leave-one-out by part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from gpuclf.data.splits import document_keys
from gpuclf.features.encoder import Encoder
from gpuclf.features.rows import SparseRows
from gpuclf.train.corpus import Corpus
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.training_batch import replica_limit, views_fit_together
from gpuclf.train.views import Split, fold_record, held_out_split, whole_split


def corpus(documents: int = 30, classes: int = 3, groups: list[str] | None = None) -> Corpus:
    """Documents without a feature: a split sees ids, labels and groups only."""
    ids = [f"d{i}" for i in range(documents)]
    return Corpus(
        encoder=object.__new__(Encoder),
        rows=SparseRows(
            torch.zeros(documents + 1, dtype=torch.int64), torch.zeros(0, dtype=torch.int32), torch.zeros(0), 4
        ),
        labels=np.arange(documents) % classes,
        keys=document_keys(ids),
        ids=ids,
        groups=groups,
        classes=tuple("abc"[:classes]),
        extra_classes=(),
        num_train_docs=documents,
        index_base=None,
        sha256={},
    )


def split(found: Corpus, seed: int = 0, **folds: Any) -> Split:
    options = ExperimentOptions.model_validate({"model": {"type": "naive_bayes"}, "folds": folds, "seed": seed})
    made = held_out_split(options, found)
    assert made is not None
    return made


def test_every_repeat_holds_each_document_out_once() -> None:
    made = split(corpus(), k=3, repeats=4)
    assert made.view_numbers == tuple(range(12))
    held = (~made.train).view(4, 3, 30)
    assert (held.sum(dim=1) == 1).all()
    assert (held.sum(dim=2) == 10).all()
    folds = held.to(torch.int64).argmax(dim=1)
    assert len({tuple(row) for row in folds.tolist()}) == 4, "each repeat has other folds"
    assert made.first_views == {0, 1, 2}


def test_the_first_repeat_is_the_plain_cross_validation() -> None:
    assert torch.equal(split(corpus(), k=5, repeats=2).train[:5], split(corpus(), k=5).train)


def test_one_fold_of_a_repeat() -> None:
    whole, one = split(corpus(), k=3, repeats=2), split(corpus(), k=3, repeats=2, index=4)
    assert one.view_numbers == (4,)
    assert torch.equal(one.train[0], whole.train[4])
    part = whole.part([5, 2])
    assert torch.equal(part.train, whole.train[[5, 2]])
    assert part.first_views == {2}


def test_leave_one_out() -> None:
    made = split(corpus(17, 2), k="all")
    assert len(made.view_numbers) == 17
    assert (made.train.sum(dim=1) == 16).all()
    assert (made.train.sum(dim=0) == 16).all()
    assert torch.equal(made.train, split(corpus(17, 2), seed=5, k="all").train), "there is nothing to draw"


def test_leave_one_group_out() -> None:
    groups = [f"g{i % 4}" for i in range(20)]
    made = split(corpus(20, 3, groups), k="all", grouped=True)
    assert len(made.view_numbers) == 4
    for number, mask in enumerate(made.train):
        assert {groups[i] for i in torch.nonzero(~mask).flatten().tolist()} == {f"g{number}"}


@pytest.mark.parametrize("folds", [{"k": 4}, {"k": 4, "repeats": 3}, {"k": "all"}])
def test_folds_and_their_record_do_not_depend_on_file_order(folds: dict[str, Any]) -> None:
    found = corpus()
    order = np.random.default_rng(1).permutation(30)
    turned = replace(found, labels=found.labels[order], keys=found.keys[order], ids=[found.ids[i] for i in order])
    first, second = split(found, **folds), split(turned, **folds)
    assert torch.equal(first.train[:, order], second.train)
    assert fold_record(first, found) == fold_record(second, turned)


def test_the_record_tells_other_folds_apart() -> None:
    found = corpus()
    record = fold_record(split(found, k=5), found)
    assert (record["folds"], record["repeats"], record["least"], record["most"]) == (5, 1, 6, 6)
    assert record["test_train_ratio"] == 6 / 24
    others = [split(found, 1, k=5), split(found, k=5, repeats=2), split(found, k=6), split(found, k="all")]
    digests = {fold_record(other, found)["assignment"] for other in others}
    assert len(digests | {record["assignment"]}) == 5
    assert fold_record(split(found, k="all"), found)["test_train_ratio"] == pytest.approx(1 / 29)


def test_the_whole_corpus_is_one_view() -> None:
    found = replace(corpus(), num_train_docs=20)
    (mask,) = whole_split(found).train
    assert mask.tolist() == [True] * 20 + [False] * 10


def test_views_take_part_in_the_memory_plan() -> None:
    """Few views lie beside the models at once; many are made batch by batch, each of its replicas with its own."""
    found = corpus(1000)
    model = ExperimentOptions.model_validate({"model": {"type": "perceptron", "average": False}}).model
    each, view = model.bytes_per_replica(4, 3), 4 * 5 + 5 * 1000
    budget = 40 * view
    assert views_fit_together(found, budget, 20)
    assert replica_limit(found, model, budget, 20) == 20 * view // each
    assert not views_fit_together(found, budget, 21)
    assert replica_limit(found, model, budget, 21) == budget // (each + view)
    assert replica_limit(found, model, 1, 1000) == 1


def test_inner_folds_split_the_training_rows_of_their_fold() -> None:
    found = corpus(60)
    plain, made = split(found, k=3), split(found, k=3, inner=4)
    assert made.view_numbers == tuple(range(15))
    assert torch.equal(made.train[:3], plain.train)
    held = torch.zeros(15, 60, dtype=torch.bool)
    for view, docs in enumerate(made.held_docs(torch.device("cpu"))):
        held[view, docs] = True
    assert torch.equal(held[:3], ~plain.train)
    for view in range(3, 15):
        fold, inner = made.fold_of(view), made.inner_of(view)
        assert (fold, inner) == divmod(view - 3, 4)
        assert fold is not None
        assert torch.equal(made.train[view] | held[view], plain.train[fold]), "the outer fold takes no part"
        assert not (made.train[view] & held[view]).any()
        assert held[view].sum() == 10
    assert (held[3:].view(3, 4, 60).sum(dim=1) == plain.train).all(), "inner folds hold each training row out once"
    assert made.first_views == {0, 1, 2}
    assert fold_record(made, found) == fold_record(plain, found)
