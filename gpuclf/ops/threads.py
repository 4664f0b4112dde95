"""Independent pieces of work on as many threads as torch may use. Only for work that releases the GIL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch


def run_on_threads(pieces: Sequence[Callable[[], None]]) -> None:
    """Call every piece once, on torch.get_num_threads() threads, in order of the sequence as threads become free.

    Pieces must not share output cells; then the result does not depend on the number of threads.
    """
    pieces = list(pieces)
    workers = min(torch.get_num_threads(), len(pieces))
    if workers <= 1:
        for piece in pieces:
            piece()
        return
    waiting = iter(pieces)  # of a list: the threads take the next piece from it, each piece once

    def take() -> None:
        for piece in waiting:
            piece()

    with ThreadPoolExecutor(workers - 1) as pool:  # this thread works, too; a task for every piece would cost more
        others = [pool.submit(take) for _ in range(workers - 1)]
        take()
        for future in others:
            future.result()
