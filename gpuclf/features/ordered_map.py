"""A map over a stream on several threads, in order, for work that releases the GIL."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import torch

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


def ordered_map(work: Callable[[ItemT], ResultT], items: Iterable[ItemT]) -> Iterator[ResultT]:
    """work(item) for every item, in order, on torch.get_num_threads() threads.

    Items are drawn little ahead of the results that were taken, so a stream is never held whole.
    """
    threads = torch.get_num_threads()
    if threads == 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        running: deque[Future[ResultT]] = deque()
        for item in items:
            running.append(pool.submit(work, item))
            if len(running) > 2 * threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
