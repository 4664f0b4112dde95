"""A decomposable model for each of several words, all in one batch: each is what a run of its word alone gives."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from gpuclf.features.options import WordSenseOptions
from gpuclf.features.rows import Views, rows_to
from gpuclf.features.sense_rows import SenseRows
from gpuclf.features.views import fit_views
from gpuclf.features.word_rows import WordRows
from gpuclf.models.decomposable.criteria import CRITERIA
from gpuclf.models.decomposable.learner import Decomposable
from gpuclf.models.decomposable.options import DecomposableOptions
from gpuclf.models.decomposable.predictor import DecomposablePredictor
from gpuclf.models.decomposable.state import SearchState
from gpuclf.models.decomposable.word_predictor import WordPredictor
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.replica_axis import take_replicas
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.predictor_pack import pack_predictor, unpack_predictor

SENSES = ((0, 3, 4), (1, 2), (5,))  # of each word, among all; the last has one alone
NAMES = tuple("abcdef")
DOCS = (90, 61, 12)
FOLDS = 3


def contexts(docs: int, senses: int, seed: int) -> tuple[SenseRows, Tensor]:
    """Contexts whose parts of speech and words follow the sense in part."""
    draw = torch.Generator().manual_seed(seed)
    y = torch.randint(0, senses, (docs,), generator=draw)
    codes = torch.randint(1, 4, (docs, 3), generator=draw)
    codes[:, 0] = torch.where(torch.rand(docs, generator=draw) < 0.5, 1 + y, codes[:, 0])
    codes[:, 2] = torch.where(torch.rand(docs, generator=draw) < 0.8, codes[:, 1], codes[:, 2])
    held = torch.rand(docs, 8, generator=draw) < 0.3
    held[:, 0] |= y == 0
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), held.sum(1).cumsum(0)])
    word = torch.nonzero(held)[:, 1].to(torch.int32)
    return SenseRows(codes.to(torch.int32), (5, 4, 4), crow, word, 8, min_count=2, names=("x", "y", "z")), y


def several(**options: Any) -> tuple[Problem, list[Problem]]:
    """Contexts of the words in turn, as one problem of all folds and criteria, and each word's own problem."""
    made = [contexts(docs, len(own), seed) for seed, (docs, own) in enumerate(zip(DOCS, SENSES, strict=True))]
    draw = torch.Generator().manual_seed(7)
    word = torch.cat([torch.full((docs,), number) for number, docs in enumerate(DOCS)])
    word = word[torch.randperm(len(word), generator=draw)]
    place = torch.zeros_like(word)
    labels, fold = torch.zeros_like(word), torch.zeros_like(word)
    for number, (_, y) in enumerate(made):
        here = word == number
        place[here] = torch.arange(int(here.sum()))
        labels[here] = torch.tensor(SENSES[number])[y]
        fold[here] = torch.arange(int(here.sum())) % FOLDS
    fold[word == 2] = 0  # one fold has no training row of this word
    rows = WordRows(tuple(part for part, _ in made), ("put", "take", "up"), SENSES, word, place)
    train = torch.stack([fold != number for number in range(FOLDS)])
    keys = torch.arange(len(word)) * 7919
    view = torch.arange(FOLDS).repeat_interleave(2)
    held = {
        key: torch.full((2 * FOLDS,), float(options.get(key, 1.0))).double() for key in ("model.ess", "model.alpha")
    }
    held["model.criterion"] = torch.tensor([CRITERIA.index("aic"), CRITERIA.index("bic")]).double().repeat(FOLDS)
    replicas = Replicas(view, torch.zeros_like(view), held)
    views = fit_views(rows, labels, len(NAMES), train, WordSenseOptions())
    whole = Problem(rows, labels, keys, len(NAMES), views, replicas)
    alone = []
    for number, (part, y) in enumerate(made):
        own = train[:, word == number]
        one = fit_views(part, y, len(SENSES[number]), own, WordSenseOptions())
        alone.append(Problem(part, y, keys[word == number], len(SENSES[number]), one, replicas))
    return whole, alone


def learner(names: tuple[str, ...], **options: Any) -> Decomposable:
    return DecomposableOptions(**options).build(TrainOptions(), names)


def searched(made: Problem, names: tuple[str, ...], **options: Any) -> tuple[SearchState, Any]:
    one = learner(names, **options)
    state = one.init(made)
    while not bool(one.finished(made, state).all()):
        state = one.step(made, state)
    return state, one.result(made, state)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"select": "heldout", "heldout_fraction": 0.3},
        {"select": "stability", "inner_folds": 3},
        {"combine": "stack"},
        {"combine": "mix", "start": "naive_bayes", "fixed": [("class", "x")]},
        {"direction": "backward", "start": "tan", "select": "leave_one_out", "max_cells": 40.0},
        {"direction": "both", "forbidden": [("x", "words:a")], "backoff": "naive_bayes", "model.ess": 0.0},
    ],
)
def test_each_word_is_what_a_run_of_its_own_gives(options: dict[str, Any]) -> None:
    ess = {key: value for key, value in options.items() if key == "model.ess"}
    chosen = {key: value for key, value in options.items() if key not in ess}
    whole, alone = several(**ess)
    state, predictor = searched(whole, NAMES, **chosen)
    assert isinstance(predictor, WordPredictor)
    everyone = torch.arange(whole.labels.numel())
    assert whole.views.col_scale is not None
    for number in range(2):
        names = tuple(NAMES[place] for place in SENSES[number])
        own = {**chosen}
        if "forbidden" in own and "a" not in names:
            del own["forbidden"]  # an edge that this word cannot have
        apart, single = searched(alone[number], names, **own)
        size = apart.adjacent.shape[-1]
        kept = state.chosen[:, number, :size, :size]
        torch.testing.assert_close(kept, apart.chosen)
        assert not bool(state.chosen[:, number, size:].any())
        assert state.picked[:, number].tolist() == apart.picked.tolist()
        docs = everyone[whole.rows.word == number]  # type: ignore[union-attr]
        for replica in range(len(whole.replicas)):
            view, one = int(whole.replicas.view[replica]), slice(replica, replica + 1)
            said = predictor.scores(whole.rows, docs, whole.views.col_scale[view], None, one)[0]
            scale = alone[number].views.col_scale
            assert scale is not None
            wanted = single.scores(alone[number].rows, torch.arange(len(docs)), scale[view], None, one)[0]
            assert torch.equal(said[:, list(SENSES[number])], wanted)
            others = [place for place in range(len(NAMES)) if place not in SENSES[number]]
            assert bool((said[:, others] == -torch.inf).all())
            covered = predictor.flagged(whole.rows, docs, whole.views.col_scale[view], None)[replica]
            flags = single.flagged(alone[number].rows, torch.arange(len(docs)), scale[view], None)[replica]
            assert torch.equal(covered, flags)


def test_a_word_of_one_sense_and_a_word_without_training_rows_have_an_answer() -> None:
    whole, _ = several()
    _, predictor = searched(whole, NAMES, select="heldout")
    assert isinstance(whole.rows, WordRows)
    assert whole.views.col_scale is not None
    docs = torch.nonzero(whole.rows.word == 2).flatten()
    for view in range(FOLDS):
        said = predictor.scores(whole.rows, docs, whole.views.col_scale[view], None)
        assert bool((said[2 * view].argmax(1) == 5).all())
        assert not bool(said.isnan().any())


def test_words_that_training_did_not_have_get_the_shares_of_all_classes() -> None:
    whole, _ = several()
    _, predictor = searched(whole, NAMES)
    assert isinstance(whole.rows, WordRows)
    assert whole.views.col_scale is not None
    unknown = replace(whole.rows, word=torch.where(torch.arange(whole.rows.num_docs) == 4, -1, whole.rows.word))
    said = predictor.scores(unknown, torch.tensor([4, 5]), whole.views.col_scale[0], None)
    trained = whole.labels[whole.views.train[0]]
    shares = torch.bincount(trained, minlength=len(NAMES)) / len(trained)
    torch.testing.assert_close(said[0, 0].exp(), shares, rtol=1e-5, atol=1e-6)
    assert not bool(predictor.flagged(unknown, torch.tensor([4, 5]), whole.views.col_scale[0], None).any())


def test_a_replica_alone_and_a_saved_model_have_the_same_answers() -> None:
    whole, _ = several()
    _, predictor = searched(whole, NAMES, combine="stack")
    assert whole.views.col_scale is not None
    docs, scale = torch.arange(whole.labels.numel()), whole.views.col_scale[1]
    wanted = predictor.scores(whole.rows, docs, scale, None)
    for replica in (0, 3, 5):
        one = take_replicas(predictor, torch.tensor([replica])).settled()
        read = unpack_predictor(*pack_predictor(one), torch.device("cpu"))
        assert torch.equal(read.scores(whole.rows, docs, scale, None)[0], wanted[replica])
        assert isinstance(read, WordPredictor)
        assert {item.name for item in fields(read.models)} == {item.name for item in fields(DecomposablePredictor)}


def test_figures_of_a_step_are_those_of_all_words() -> None:
    whole, alone = several()
    trained = torch.arange(2, 2 * FOLDS)  # of folds in which every word has a training row
    whole = replace(whole, replicas=whole.replicas.take(trained))
    one = learner(NAMES)
    found = one.progress(whole, one.step(whole, one.init(whole)))
    apart, outside = [], []
    for number, part in enumerate(alone):
        own, part = learner(tuple(NAMES[place] for place in SENSES[number])), replace(part, replicas=whole.replicas)
        apart.append(own.progress(part, own.step(part, own.init(part))))
        outside.append((~part.views.train[part.replicas.view]).sum(1))
    for name in ("gain", "distance", "dof", "edges"):
        torch.testing.assert_close(found[name], torch.stack([figures[name] for figures in apart]).sum(0))
    assert found["log10_p"].tolist() == torch.stack([figures["log10_p"] for figures in apart]).amin(0).tolist()
    right = torch.stack([figures["outside_accuracy"] * n for figures, n in zip(apart, outside, strict=True)])
    torch.testing.assert_close(found["outside_accuracy"], right.sum(0) / torch.stack(outside).sum(0))


@pytest.mark.parametrize("options", [{"combine": "stack"}, {"select": "heldout", "start": "tan"}])
def test_devices_agree(options: dict[str, Any], device: torch.device) -> None:
    whole, _ = several()
    views = whole.views
    assert views.col_scale is not None
    there = replace(
        whole,
        rows=rows_to(whole.rows, device),
        labels=whole.labels.to(device),
        keys=whole.keys.to(device),
        views=replace(views, train=views.train.to(device), col_scale=views.col_scale.to(device)),
        replicas=whole.replicas.to(device),
    )
    docs = torch.arange(whole.labels.numel())
    wanted = searched(whole, NAMES, **options)[1].scores(whole.rows, docs, views.col_scale[1], None)
    found = searched(there, NAMES, **options)[1]
    scale = views.col_scale[1].to(device)
    said = found.scores(there.rows, docs.to(device), scale, None)
    torch.testing.assert_close(said.cpu(), wanted, rtol=1e-5, atol=1e-5)
    assert not bool(found.flagged(there.rows, docs.to(device), scale, None).any())


def test_without_held_out_rows_nothing_is_said_of_them() -> None:
    whole, _ = several()
    assert whole.views.col_scale is not None
    everyone = Views(torch.ones_like(whole.views.train), whole.views.col_scale)
    one, made = learner(NAMES), replace(whole, views=everyone)
    assert "outside_accuracy" in one.progress(whole, one.init(whole))
    assert set(one.progress(made, one.init(made))) == {"gain", "distance", "dof", "log10_p", "edges"}
