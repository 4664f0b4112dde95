"""env.json: what a run depended on besides its config, so that it can be cited and repeated."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, TypedDict

import torch

import gpuclf

_PACKAGES = ("torch", "numpy", "numba", "triton", "safetensors", "pydantic", "ruamel.yaml", "tensorboard")
_GIT_SECONDS = 10


class Fingerprint(TypedDict):
    """A data file as it was read."""

    path: str
    size: int
    sha256: str


def environment(
    device: torch.device, seeds: Sequence[int], data: Sequence[Fingerprint], *, folder: Path | None = None
) -> dict[str, Any]:
    """Versions, device, threads, number formats, git state of the working directory (`folder`), seeds and data."""
    return {
        "gpuclf": gpuclf.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: version for name in _PACKAGES if (version := _version(name)) is not None},
        "device": {"type": device.type, "name": _device_name(device), "cuda": torch.version.cuda},
        "threads": torch.get_num_threads(),
        "cpus": os.cpu_count(),
        "precision": {
            "parameters": "float32",
            "float32_matmul": torch.get_float32_matmul_precision(),
            "tf32": torch.get_float32_matmul_precision() != "highest",
            "deterministic_algorithms": torch.are_deterministic_algorithms_enabled(),
        },
        "git": git_state(folder or Path.cwd()),
        "seeds": list(seeds),
        "data": [dict(fingerprint) for fingerprint in data],
    }


def git_state(folder: Path) -> dict[str, Any] | None:
    """{"commit", "changed"} of the repository that `folder` lies in; None when it lies in none or git is not there.

    `changed` counts the tracked files that differ from the commit.
    """
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    changes = _git(folder, "status", "--porcelain", "--untracked-files=no")
    return {"commit": commit.strip(), "changed": None if changes is None else len(changes.splitlines())}


def _git(folder: Path, *arguments: str) -> str | None:
    """What git says, or None when it is missing, refuses, or takes too long."""
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return platform.processor() or platform.machine()
