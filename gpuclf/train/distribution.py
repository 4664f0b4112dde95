"""Several processes started by torchrun: who does what, and how their results come together. One process: no work.

Processes meet before they talk: a collective cannot be left once it waits, while a meeting ends with a signal, or when
another process has failed.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Any

_SHORTEST_NAP, _LONGEST_NAP = 0.005, 0.25  # seconds between two looks at who has come
_PATIENCE = 10.0  # seconds that a process waits for others to have printed a message, or to have left
_FAILED, _TOLD, _LEFT = "gpuclf/failed", "gpuclf/told", "gpuclf/left"
_store: Any = None  # of the process group: one a process, as the group itself
_meetings = 0


class PeerFailed(Exception):
    """Another process of this run has failed, and says why."""


def world() -> int:
    """Number of processes."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def local_world() -> int:
    """Number of processes on this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def rank() -> int:
    """This process's number; 0 writes and prints."""
    return int(os.environ.get("RANK", "0"))


def local_rank() -> int:
    """This process's number on its machine."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def join_group() -> None:
    """Joins the process group, over gloo: only small records travel. Nothing to do for a single process."""
    global _store
    if world() == 1 or _store is not None:
        return
    import torch.distributed as dist
    from torch.distributed.rendezvous import rendezvous

    try:
        store, number, size = next(rendezvous("env://"))
        dist.init_process_group("gloo", store=store, rank=number, world_size=size)
    except dist.DistError as error:
        raise PeerFailed from error
    _store = store


def leave_group() -> None:
    """Takes the process group down in good order, if there is one.

    torchrun holds the store in a process of its own; with other launchers the first process does, and goes last.
    """
    global _store
    if _store is None:
        return
    import torch.distributed as dist

    with suppress(PeerFailed, dist.DistError):
        if rank() != 0:
            _store.set(f"{_LEFT}/{rank()}", "")
        elif os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
            _wait_for([f"{_LEFT}/{number}" for number in range(1, world())])
    dist.destroy_process_group()
    _store = None


def share_of(count: int) -> slice:
    """This process's run of `count` items: disjoint shares that cover all, in order, none twice."""
    return slice(count * rank() // world(), count * (rank() + 1) // world())


def meet() -> None:
    """Waits until every process has come here. Raises PeerFailed when one of them never will."""
    global _meetings
    if world() == 1:
        return
    join_group()
    _meetings += 1
    _store.set(f"gpuclf/meeting {_meetings}/{rank()}", "")
    others = [f"gpuclf/meeting {_meetings}/{number}" for number in range(world())]
    nap = _SHORTEST_NAP
    while not _known(others):
        if _known([_FAILED]):
            raise PeerFailed
        time.sleep(nap)
        nap = min(2 * nap, _LONGEST_NAP)


def everyones(item: Any) -> list[Any]:
    """The items of all processes, by rank, for all of them."""
    if world() == 1:
        return [item]
    import torch.distributed as dist

    meet()
    items: list[Any] = [None] * world()
    dist.all_gather_object(items, item)
    return items


def gathered(item: Any) -> list[Any] | None:
    """The items of all processes, by rank, for the first one; None for the others."""
    if world() == 1:
        return [item]
    import torch.distributed as dist

    meet()
    items: list[Any] | None = [None] * world() if rank() == 0 else None
    dist.gather_object(item, items)
    return items


def first_to_fail() -> bool:
    """Whether this process is to print why it failed: one fault is met by all processes and told once.

    The others wait here until it is printed, for a launcher ends all processes when the first one goes.
    """
    if _store is None:
        return True
    import torch.distributed as dist

    try:
        if _store.add(_FAILED, 1) == 1:
            return True
    except dist.DistError:
        return False  # the process that held the store has failed before
    wait_until_told()
    return False


def peer_failed() -> bool:
    """Whether another process has failed, and said so."""
    with suppress(PeerFailed):
        return _store is not None and _known([_FAILED])
    return True


def failure_told() -> None:
    """The message is printed."""
    if _store is not None:
        _store.set(_TOLD, "")


def wait_until_told() -> None:
    """Lets the process that failed first print its message."""
    if _store is not None:
        with suppress(PeerFailed):
            _wait_for([_TOLD])


def _wait_for(keys: list[str]) -> None:
    end = time.monotonic() + _PATIENCE
    while not _known(keys) and time.monotonic() < end:
        time.sleep(_SHORTEST_NAP)


def _known(keys: list[str]) -> bool:
    """Whether all these keys are in the store. Raises PeerFailed when the process that holds the store is gone."""
    import torch.distributed as dist

    try:
        return bool(_store.check(keys))
    except dist.DistError as error:
        raise PeerFailed from error
