"""Pieces of work on threads: each once, whatever their number, and a failure is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import torch

from gpuclf.ops.threads import run_on_threads


@pytest.fixture(params=[1, 2, 5])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("count", [0, 1, 2, 300])
def test_every_piece_is_called_once(threads: int, count: int) -> None:
    done: list[int] = []
    run_on_threads([lambda number=number: done.append(number) for number in range(count)])
    assert sorted(done) == list(range(count))


def test_as_many_threads_as_there_may_be_work_at_once(threads: int) -> None:
    together = threading.Barrier(threads, timeout=30)  # broken, and so an error, where fewer meet at it
    run_on_threads([together.wait] * threads)


def test_a_failure_is_raised_after_the_others_have_ended(threads: int) -> None:
    done: list[int] = []

    def fail() -> None:
        raise ValueError("this piece")

    with pytest.raises(ValueError, match="this piece"):
        run_on_threads([lambda: done.append(0), fail, *[lambda: done.append(1)] * 20])
    assert done.count(0) == 1
