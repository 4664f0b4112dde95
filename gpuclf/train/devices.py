"""From the `device` option to a device, and the settings of a process: threads and precision."""

from __future__ import annotations

import os
import re

import torch

from gpuclf.faults import UserFault
from gpuclf.train.distribution import local_rank, local_world, world

DEVICE_NAMES = r"auto|cpu|cuda(:[0-9]+)?"


def choose_device(name: str) -> torch.device:
    """The device of `auto`, `cpu`, `cuda` or `cuda:N`. Raises UserFault where that is not to be had."""
    if re.fullmatch(DEVICE_NAMES, name) is None:
        remedy = "there are auto, cpu, cuda, cuda:0, cuda:1, …"
        raise UserFault(f"{name!r} is not a device", key="device", remedy=remedy)
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and torch.cuda.is_available() and world() > 1:
        name = f"cuda:{local_rank() % torch.cuda.device_count()}"  # one process a card
    device = torch.device(name)
    if device.type == "cuda":
        count = torch.cuda.device_count()
        if not count:
            raise UserFault(f"{name}: this machine has no CUDA device", key="device", remedy="say device: cpu")
        if (device.index or 0) >= count:
            raise UserFault(f"{name}: this machine has {count} CUDA device(s), numbered from 0", key="device")
    return device


def prepare_process(threads: int | None) -> None:
    """Full float32 products on every device, and the number of CPU threads asked for."""
    torch.set_float32_matmul_precision("highest")  # first: a process may have allowed less, on CPUs as well
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    if threads is not None:
        torch.set_num_threads(threads)


def free_bytes(device: torch.device) -> int:
    """Memory that one batch may take by default: half of what is free on the device, a share of it for each process."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0]) // (2 * -(-local_world() // torch.cuda.device_count()))
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            available = next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
        return available * 1024 // (2 * local_world())
    except (OSError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (4 * local_world())
