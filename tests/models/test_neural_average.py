"""The mean of a network's weights over its last epoch: which weights it is of, and what is saved."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gpuclf.models.learner import Predictor
from gpuclf.models.neural.average import POINTS, Mean, point_after
from gpuclf.models.neural.options import FeedforwardOptions, NeuralOptions, TextCnnOptions
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.checkpoint import Checkpoint
from gpuclf.train.loop import BatchLoop, BatchOutcome
from tests.contract.small_problem import CLASSES, all_scores, problem

NAMES = [str(index) for index in range(CLASSES)]


@pytest.mark.parametrize("steps", [1, 2, 15, 16, 17, 47, 160])
def test_points_are_spread_over_an_epoch_and_the_last_is_its_end(steps: int) -> None:
    points = [point_after(step, steps) for step in range(steps)]
    there = [step for step, point in enumerate(points) if point]
    assert [points[step] for step in there] == list(range(1, min(POINTS, steps) + 1))
    assert there[-1] == steps - 1
    gaps = {b - a for a, b in zip([-1, *there], there, strict=False)}
    assert max(gaps) - min(gaps) <= 1


@pytest.mark.parametrize(
    ("options", "batch"),
    [
        (FeedforwardOptions(hidden=(5,), norm="batch", average=True), 8),
        (FeedforwardOptions(hidden=(5,), average=True), 1),
        (TextCnnOptions(embedding_dim=4, filters=3, dropout=0.3, average=True), 8),
        (TextCnnOptions(embedding_dim=4, filters=3, embeddings="frozen", average=True), 8),
    ],
    ids=["batch-norm", "more-steps-than-points", "text_cnn", "frozen"],
)
def test_the_result_is_the_mean_of_the_weights_of_the_last_epoch(
    monkeypatch: pytest.MonkeyPatch, options: NeuralOptions, batch: int
) -> None:
    seen: list[tuple[torch.Tensor, ...]] = []
    take_in = Mean.take_in

    def recorded(mean: Mean, point: int, *values: torch.Tensor) -> None:
        if point == 1:
            seen.clear()
        seen.append(tuple(value.double() for value in values))
        take_in(mean, point, *values)

    monkeypatch.setattr(Mean, "take_in", recorded)
    made = problem([2], [0], {}, reads="tokens" if options.type == "text_cnn" else "sparse")
    train = TrainOptions(batch=batch, max_epochs=2, learning_rate=0.05)
    loop = BatchLoop(options.build(train, NAMES), made, train, 2, wants_alternatives=True)
    outcome = loop.run(lambda report, running: None)
    documents = int((made.views.train[2] & (made.labels >= 0)).sum())
    assert len(seen) == min(POINTS, -(-documents // batch)) > 1
    mean, last = outcome.predictor, outcome.alternatives["final"]
    for place, name in enumerate(("table", "parameters", "buffers")):
        expected = torch.stack([values[place] for values in seen]).mean(0).float()
        torch.testing.assert_close(getattr(mean, name), expected, rtol=1e-5, atol=1e-6)
        assert torch.equal(getattr(last, name), seen[-1][place].float())
    assert not torch.equal(mean.parameters, last.parameters)  # type: ignore[attr-defined]


@pytest.mark.parametrize("reads", ["sparse", "tokens"])
def test_the_last_weights_are_those_of_training_without_a_mean(reads: Any) -> None:
    made = problem([2], [0], {}, reads=reads)
    network: Any = FeedforwardOptions() if reads == "sparse" else TextCnnOptions(embedding_dim=4, filters=3)
    train = TrainOptions(batch=8, max_epochs=2, learning_rate=0.05)
    outcomes = []
    for average in (False, True):
        learner = network.model_copy(update={"average": average}).build(train, NAMES)
        loop = BatchLoop(learner, made, train, 2, wants_alternatives=True)
        outcomes.append(loop.run(lambda report, running: None))
    plain, averaged = outcomes
    assert not plain.alternatives
    mine, other = all_scores(plain.predictor, made), all_scores(averaged.alternatives["final"], made)
    torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)  # rows are brought up to date more often
    assert not torch.allclose(mine, all_scores(averaged.predictor, made), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("reads", ["sparse", "tokens"])
def test_a_run_with_a_mean_goes_on_to_the_same_bits(reads: Any) -> None:
    made = problem([2, 0], [0, 1], {}, reads=reads)
    network: Any = FeedforwardOptions(norm="batch") if reads == "sparse" else TextCnnOptions(embedding_dim=4, filters=3)
    options, train = network.model_copy(update={"average": True}), TrainOptions(batch=8, max_epochs=3)

    def loop() -> BatchLoop:
        return BatchLoop(options.build(train, NAMES), made, train, 3, wants_alternatives=True)

    saved: list[Checkpoint] = []

    def keep(report: object, running: BatchLoop) -> None:
        if running.running:
            found = running.checkpoint()
            saved.append(Checkpoint({name: t.clone() for name, t in found.tensors.items()}, found.values))

    whole = loop().run(keep)
    assert len(saved) == 2
    for checkpoint in saved:
        again = loop()
        again.resume(checkpoint)
        resumed = again.run(lambda report, running: None)
        for mine, other in ((resumed.predictor, whole.predictor), *zip_alternatives(resumed, whole)):
            assert torch.equal(all_scores(mine, made), all_scores(other, made))


def zip_alternatives(one: BatchOutcome, other: BatchOutcome) -> list[tuple[Predictor, Predictor]]:
    assert list(one.alternatives) == list(other.alternatives) == ["final"]
    return [(one.alternatives["final"], other.alternatives["final"])]


def test_first_word_vectors_lie_within_their_scale() -> None:
    made = problem([2, 2], [0, 1], {}, reads="tokens")
    for scale in (0.05, 0.3):
        table = TextCnnOptions(embedding_scale=scale).build(TrainOptions(), NAMES).init(made).table
        assert 0.95 * scale < float(table.abs().max()) <= scale
        assert float(table[:, 0].abs().max()) == 0.0
        assert not torch.equal(table[0], table[1])
