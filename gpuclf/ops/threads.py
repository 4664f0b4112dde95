"""Independent pieces of work on as many threads as torch may use. Only for work that releases the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
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
