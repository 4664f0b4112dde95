"""Several processes started by torchrun: who does what, and how their results come together. One process: no work."""

from __future__ import annotations

import os
from typing import Any

import torch.distributed as dist


def world() -> int:
    """Number of processes."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def rank() -> int:
    """This process's number; 0 writes and prints."""
    return int(os.environ.get("RANK", "0"))


def local_rank() -> int:
    """This process's number on its machine."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def start() -> None:
    """Joins the process group, over gloo: only small records travel. Nothing to do for a single process."""
    if world() > 1 and not dist.is_initialized():
        dist.init_process_group("gloo")


def share_of(count: int) -> slice:
    """This process's run of `count` items: disjoint shares that cover all, in order, none twice."""
    return slice(count * rank() // world(), count * (rank() + 1) // world())


def gathered(item: Any) -> list[Any]:
    """The items of all processes, by rank."""
    if world() == 1:
        return [item]
    start()
    items: list[Any] = [None] * world()
    dist.all_gather_object(items, item)
    return items
