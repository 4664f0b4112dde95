"""The contract of a learner (DESIGN §3), checked for every classifier of the registry (taggers: test_tagger)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from gpuclf.features.rows import Rows, TokenRows
from gpuclf.models.learner import EPOCHS as MAX_EPOCHS
from gpuclf.models.learner import LearnerOptions, Predictor, Problem
from gpuclf.models.registry import LEARNERS
from gpuclf.models.replica_axis import take_replicas
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.checkpoint import Checkpoint, load_latest, save_checkpoint
from gpuclf.train.loop import BatchLoop, BatchOutcome
from gpuclf.train.predictor_pack import pack_predictor, unpack_predictor
from gpuclf.train.training_batch import max_steps
from tests.contract.small_problem import (
    CLASSES,
    FEATURES,
    all_scores,
    dense_counts,
    option_values,
    problem,
    scores_under,
    sparse_rows,
)

NAMES = [str(index) for index in range(CLASSES)]
EPOCHS = TrainOptions(max_epochs=3)
SMALLER = {"n_estimators": 12, "filters": 5, "embedding_dim": 6}
SMALLER |= {"topics": 3, "em_iterations": 4, "joint_iterations": 3, "tol": 0.02, "max_edges": 8}
NEEDED = {"content": {"none_label": "0"}}  # of the names below

CLASSIFIERS = {name: kind for name, kind in LEARNERS.items() if kind.task == "classify"}

pytestmark = pytest.mark.parametrize("kind", CLASSIFIERS.values(), ids=CLASSIFIERS)


def options_of(kind: type[LearnerOptions]) -> LearnerOptions:
    """The learner's defaults, made smaller where that is only a matter of size."""
    few = {name: value for name, value in SMALLER.items() if name in kind.model_fields}
    name = kind.model_fields["type"].default
    return kind.model_validate({"type": name} | few | NEEDED.get(name, {}))


def epochs_of(kind: type[LearnerOptions]) -> TrainOptions:
    """Portions where that is what the learner is made for."""
    return EPOCHS.model_copy(update={"batch": min(kind.default_batch, 8)})


def train(kind: type[LearnerOptions], made: Problem, **changed: Any) -> Predictor:
    chosen, options = options_of(kind).model_copy(update=changed), epochs_of(kind)
    loop = BatchLoop(chosen.build(options, NAMES), made, options, max_steps(chosen, options))
    return loop.run(lambda report, running: None).predictor


def made_for(kind: type[LearnerOptions], *arguments: Any, **named: Any) -> Problem:
    """The small problem, in rows of a kind that the learner reads."""
    (reads,) = kind.reads if len(kind.reads) == 1 else ("sparse",)
    return problem(*arguments, reads=reads, **named)


def equal(left: Predictor, right: Predictor) -> None:
    tensors, other = pack_predictor(left)[0], pack_predictor(right)[0]
    assert tensors.keys() == other.keys()
    for name, tensor in tensors.items():
        torch.testing.assert_close(tensor, other[name], rtol=0, atol=0)


def grid(kind: type[LearnerOptions], device: Any = "cpu") -> Problem:
    return made_for(kind, [0, 0, 1, 1, 2, 2], [0, 3, 0, 3, 0, 3], option_values(kind, 6), device)


def test_the_same_seed_gives_the_same_bits(kind: type[LearnerOptions]) -> None:
    equal(train(kind, grid(kind)), train(kind, grid(kind)))


def test_every_cell_of_a_batch_is_what_it_is_alone(kind: type[LearnerOptions]) -> None:
    made = grid(kind)
    together = train(kind, made)
    for place in range(len(made.replicas)):
        index = torch.tensor([place])
        alone = train(kind, replace(made, replicas=made.replicas.take(index)))
        equal(alone, take_replicas(together, index))


@pytest.mark.parametrize("labels", ["all", "one"])
def test_replicas_that_end_after_steps_of_their_own_are_what_they_are_alone(
    kind: type[LearnerOptions], labels: str
) -> None:
    """With one class, an online learner soon makes no update any more, and counts the epochs to come at once."""
    if "early_stopping" not in kind.train_keys:
        pytest.skip("it is never stopped early")
    made, ends, chosen = made_for(kind, [2, 2, 2], [0, 3, 5], option_values(kind, 3)), [4, 1, 3], options_of(kind)
    if labels == "one":
        made = replace(made, labels=torch.full_like(made.labels, 2))

    def trained(index: list[int]) -> BatchOutcome:
        last = [ends[place] for place in index]
        options = epochs_of(kind).model_copy(update={"max_epochs": max(last)})
        part = replace(made, replicas=made.replicas.take(torch.tensor(index)))
        if len(index) > 1 and "max_epochs" in kind.train_keys:
            part = replace(part, replicas=part.replicas.having(MAX_EPOCHS, torch.tensor(last)))
        learner = chosen.build(options, NAMES)
        loop = BatchLoop(learner, part, options, max_steps(chosen, options), None, True, ends=torch.tensor(last))
        return loop.run(lambda report, running: None)

    together = trained([0, 1, 2])
    for place in range(3):
        alone, index = trained([place]), torch.tensor([place])
        assert (alone.status[0], alone.steps[0]) == (together.status[place], together.steps[place])
        equal(alone.predictor, take_replicas(together.predictor, index))
        for name, other in together.alternatives.items():
            equal(alone.alternatives[name], take_replicas(other, index))


def test_a_fold_is_what_its_rows_alone_give(kind: type[LearnerOptions]) -> None:
    values = option_values(kind, 2)
    fold = made_for(kind, [0, 0], [0, 3], values)
    rows = torch.nonzero(fold.views.train[0]).flatten()
    alone = made_for(kind, [2, 2], [0, 3], values, docs=rows)
    docs = torch.arange(len(dense_counts()[1]))
    trained = [train(kind, made) for made in (fold, alone)]
    for place in range(2):
        scores = [scores_under(predictor, fold, docs, place) for predictor in trained]
        torch.testing.assert_close(scores[0], scores[1], rtol=0, atol=0)


def test_training_leaves_its_input_untouched(kind: type[LearnerOptions]) -> None:
    made, before = grid(kind), grid(kind)
    train(kind, made)
    for name in ("ids", "offsets") if isinstance(made.rows, TokenRows) else ("crow", "col", "val"):
        torch.testing.assert_close(getattr(made.rows, name), getattr(before.rows, name), rtol=0, atol=0)
    torch.testing.assert_close(made.labels, before.labels, rtol=0, atol=0)
    torch.testing.assert_close(made.views.col_scale, before.views.col_scale, rtol=0, atol=0)
    assert made.replicas.options.keys() == before.replicas.options.keys()


def test_the_order_of_features_does_not_matter(kind: type[LearnerOptions]) -> None:
    values = option_values(kind, 1)
    order = torch.randperm(FEATURES, generator=torch.Generator().manual_seed(5))
    plain, mixed = made_for(kind, [2], [0], values), made_for(kind, [2], [0], values, order=order)
    torch.testing.assert_close(
        all_scores(train(kind, plain), plain), all_scores(train(kind, mixed), mixed), rtol=1e-5, atol=1e-5
    )


def test_a_predictor_comes_back_from_its_parts(kind: type[LearnerOptions]) -> None:
    made = grid(kind)
    predictor = train(kind, made)
    again = unpack_predictor(*pack_predictor(predictor), torch.device("cpu"))
    torch.testing.assert_close(all_scores(predictor, made), all_scores(again, made), rtol=0, atol=0)


def test_a_feature_unseen_in_training_changes_no_score(kind: type[LearnerOptions]) -> None:
    made = made_for(kind, [0], [0], option_values(kind, 1))
    predictor = train(kind, made)
    assert made.views.col_scale is not None
    scale = made.views.col_scale.clone()
    scale[0, 5] = 0
    if isinstance(made.rows, TokenRows):  # a word unseen is still a word: word 0
        without: Rows = replace(made.rows, ids=torch.where(made.rows.ids == 5, 0, made.rows.ids))
    else:
        x, _ = dense_counts()
        x[:, 4] = 0
        fewer = sparse_rows(x)
        without = replace(made.rows, crow=fewer.crow, col=fewer.col, val=fewer.val)
    unseen = replace(made, views=replace(made.views, col_scale=scale))
    docs = torch.arange(made.labels.numel())
    torch.testing.assert_close(
        scores_under(predictor, unseen, docs, 0), scores_under(predictor, unseen, docs, 0, without), rtol=0, atol=0
    )


def test_an_empty_document_gets_the_offsets_finite_scores(kind: type[LearnerOptions]) -> None:
    made = made_for(kind, [2], [0], option_values(kind, 1))
    scores = all_scores(train(kind, made), made)
    assert bool(torch.isfinite(scores).all())
    torch.testing.assert_close(scores[:, 7], scores[:, -1], rtol=0, atol=0)


def test_training_rows_of_a_single_class_work(kind: type[LearnerOptions]) -> None:
    made = made_for(kind, [2], [0], option_values(kind, 1))
    predictor = train(kind, replace(made, labels=torch.full_like(made.labels, 2)))
    scores = all_scores(predictor, made)
    assert not bool(torch.isnan(scores).any())
    assert bool((scores.argmax(dim=-1) == 2).all())


def test_resuming_at_any_step_gives_the_same_bits(kind: type[LearnerOptions], tmp_path: Path) -> None:
    made, chosen = grid(kind), options_of(kind)
    saved: list[Checkpoint] = []

    def keep(report: object, running: BatchLoop) -> None:
        if running.running and (running.step < 5 or running.step % 97 == 0):  # long runs: a sample
            save_checkpoint(tmp_path, running.checkpoint())  # a step may reuse the tensors of the one before
            written = load_latest(tmp_path, pytest.fail)
            assert written is not None
            saved.append(written)

    def loop() -> BatchLoop:
        options = epochs_of(kind)
        return BatchLoop(chosen.build(options, NAMES), made, options, max_steps(chosen, options), None, True)

    whole = loop().run(keep)
    for checkpoint in saved:
        again = loop()
        again.resume(checkpoint)
        resumed = again.run(lambda report, running: None)
        equal(whole.predictor, resumed.predictor)
        assert whole.status == resumed.status
        for name, other in whole.alternatives.items():
            equal(other, resumed.alternatives[name])


def test_threads_do_not_change_the_bits(kind: type[LearnerOptions]) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = train(kind, grid(kind))
        torch.set_num_threads(2)
        two = train(kind, grid(kind))
    finally:
        torch.set_num_threads(before)
    equal(one, two)


def test_devices_agree(kind: type[LearnerOptions], device: torch.device) -> None:
    """At the optimum itself, where learners stop near it: each device has a way there of its own."""
    sharp = {"tol": 1e-12} if device.type != "cpu" and "tol" in kind.model_fields else {}
    here, there = grid(kind), grid(kind, device)
    torch.testing.assert_close(
        all_scores(train(kind, there, **sharp), there).cpu(),
        all_scores(train(kind, here, **sharp), here),
        rtol=1e-4,
        atol=1e-4,
    )
