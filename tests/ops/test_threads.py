"""Pieces of work on threads: each once, whatever their number, and a failure is told."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest
import torch

from gpuclf.ops.threads import run_in_turns, run_on_threads


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


def test_pieces_run_pieces(threads: int) -> None:
    """Though all threads are at work already on the pieces that wait for these."""
    done: list[int] = []
    inner = [lambda: done.append(1)] * 3
    run_on_threads([lambda: run_on_threads(inner)] * (2 * threads))
    assert len(done) == 6 * threads


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(threads: int) -> None:
    together = threading.Barrier(threads, timeout=30)
    run_on_threads([together.wait] * threads)
    child = os.fork()
    if child == 0:
        together = threading.Barrier(threads, timeout=5)
        try:
            run_on_threads([together.wait] * threads)
        finally:
            os._exit(0 if together.n_waiting == 0 and not together.broken else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_pieces_in_turns_are_run_to_their_ends_each_in_order(threads: int, count: int) -> None:
    made: list[list[int]] = [[] for _ in range(count)]
    busy = [threading.Lock() for _ in range(count)]

    def piece(number: int) -> Iterator[None]:
        for step in range(3 * number):
            with busy[number]:
                made[number].append(step)
            yield

    run_in_turns([piece(number) for number in range(count)], 2)
    assert made == [list(range(3 * number)) for number in range(count)]


def test_no_piece_waits_for_the_end_of_those_before_it() -> None:
    """Three pieces on two threads; the last one would else be worked on by one thread alone."""
    begun, before = threading.Event(), torch.get_num_threads()

    def wait() -> Iterator[None]:
        for _ in range(100_000):
            if begun.is_set():
                return
            yield
        raise AssertionError("the last piece has not begun")

    def begin() -> Iterator[None]:
        begun.set()
        yield

    torch.set_num_threads(2)
    try:
        run_in_turns([wait(), wait(), begin()], 2)
    finally:
        torch.set_num_threads(before)


def test_a_piece_that_fails_in_turn_is_told(threads: int) -> None:
    def fail() -> Iterator[None]:
        yield
        raise ValueError("this piece")

    with pytest.raises(ValueError, match="this piece"):
        run_in_turns([iter([None] * 5), fail(), iter([None] * 5)], 1)
