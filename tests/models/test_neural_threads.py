"""Replicas of a network on several threads: grouped by how much work they are, in turns, and always the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

import pytest
import torch
from torch import Tensor

from gpuclf.models.learner import Problem
from gpuclf.models.neural.learner import NeuralLearner
from gpuclf.models.neural.options import FeedforwardOptions, TextCnnOptions
from gpuclf.models.train_options import TrainOptions
from tests.contract.small_problem import problem

LARGE = FeedforwardOptions(hidden=(4096,), dropout=0.2)
SMALL = FeedforwardOptions(hidden=(4,), dropout=0.2)
CONVOLUTION = TextCnnOptions(embedding_dim=4, filters=4, widths=(2,))


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def made(seeds: list[int], reads: str = "sparse") -> Problem:
    return problem([2] * len(seeds), seeds, {}, reads=reads)


def learner(options: FeedforwardOptions | TextCnnOptions) -> NeuralLearner:
    built = options.build(TrainOptions(batch=8, learning_rate=0.05), ("a", "b", "c"))
    assert isinstance(built, NeuralLearner)
    return built


@pytest.mark.parametrize(
    ("options", "threads", "sizes"),
    [(LARGE, 2, [2, 2, 1]), (LARGE, 4, [1] * 5), (LARGE, 16, [1] * 5), (LARGE, 1, [5]), (SMALL, 2, [3, 2])],
)
def test_replicas_are_grouped_so_that_all_threads_have_work(
    options: FeedforwardOptions, threads: int, sizes: list[int]
) -> None:
    torch.set_num_threads(threads)
    groups = learner(options)._groups(made([0, 1, 2, 3, 4]))
    assert [len(group) for group in groups] == sizes
    assert [replica for group in groups for replica in group] == list(range(5))


@pytest.mark.parametrize(("options", "reads"), [(LARGE, "sparse"), (CONVOLUTION, "tokens")])
def test_taking_turns_changes_no_bit(options: FeedforwardOptions | TextCnnOptions, reads: str) -> None:
    chosen = learner(options)

    def trained(threads: int, seeds: list[int]) -> dict[str, Tensor]:
        torch.set_num_threads(threads)
        problem_of = made(seeds, reads)
        state = chosen.init(problem_of)
        for _ in range(2):
            state = chosen.step(problem_of, state)
        assert torch.get_num_threads() == threads
        values = {field.name: getattr(state, field.name) for field in fields(state)}
        return {name: value for name, value in values.items() if isinstance(value, Tensor)}

    together = trained(2, [0, 1, 2])
    for place in range(3):
        for name, value in trained(1, [place]).items():
            torch.testing.assert_close(together[name][place : place + 1], value, rtol=0, atol=0)
