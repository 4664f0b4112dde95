"""Independent pieces of work on as many threads as torch may use. Only for work that releases the GIL."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait

import torch

# By the number of threads: torch settles in each thread, when it first works there, on how many threads more it uses.
_pools: dict[int, ThreadPoolExecutor] = {}
os.register_at_fork(after_in_child=_pools.clear)  # threads stay behind in the parent


def run_on_threads(pieces: Sequence[Callable[[], None]]) -> None:
    """Call every piece once, on torch.get_num_threads() threads, in order of the sequence as threads become free.

    Pieces must not share output cells; then the result does not depend on the number of threads. A piece may itself
    run pieces.
    """
    pieces = list(pieces)
    threads = torch.get_num_threads()
    workers = min(threads, len(pieces))
    if workers <= 1:
        for piece in pieces:
            piece()
        return
    waiting = iter(pieces)  # of a list: the threads take the next piece from it, each piece once

    def take() -> None:
        for piece in waiting:
            piece()

    if threads not in _pools:
        _pools[threads] = ThreadPoolExecutor(threads - 1, thread_name_prefix="gpuclf")
    # This thread works, too; a task for every piece would cost more.
    others = [_pools[threads].submit(take) for _ in range(workers - 1)]
    try:
        take()
    finally:
        begun = [future for future in others if not future.cancel()]  # not those that wait for a thread in vain
        wait(begun)
    for future in begun:
        future.result()


def run_in_turns(pieces: Sequence[Iterator[None]], turn: int) -> None:
    """Run every iterator to its end on torch.get_num_threads() threads, no two of them in one iterator at a time.

    A thread takes the one that has waited longest, makes `turn` of its steps and puts it back. So with a few more
    pieces than threads all threads work to the end; what is thread-local in torch a piece sets after each step.
    """
    threads = min(torch.get_num_threads(), len(pieces))
    waiting = deque(pieces)

    def take() -> None:
        while waiting:
            try:
                piece = waiting.popleft()
            except IndexError:  # another thread was faster
                return
            if _goes_on(piece, turn if threads > 1 else None):
                waiting.append(piece)

    run_on_threads([take] * threads)


def _goes_on(piece: Iterator[None], steps: int | None) -> bool:
    """Makes so many steps, or all; False at the end."""
    return any(number == steps for number, _ in enumerate(piece, start=1))
