"""Independent pieces of work on as many threads as torch may use. Only for work that releases the GIL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch


def run_on_threads(pieces: Sequence[Callable[[], None]]) -> None:
    """Call every piece once, on torch.get_num_threads() threads, in order of the sequence as threads become free.

    Pieces must not share output cells; then the result does not depend on the number of threads.
    """
    workers = min(torch.get_num_threads(), len(pieces))
    if workers <= 1:
        for piece in pieces:
            piece()
        return
    with ThreadPoolExecutor(workers) as pool:
        for future in [pool.submit(piece) for piece in pieces]:
            future.result()
