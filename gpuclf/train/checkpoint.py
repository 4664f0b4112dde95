"""Checkpoints: one safetensors file each, named by its number and checksum, written whole or not at all.

A file is `NNNNNNNN-CRC32.safetensors`; plain values travel as JSON in its header. A file whose content does not fit its
name was cut or changed: it is named in a message and the one before it is used. The last two are kept.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from gpuclf.data.atomic_write import atomic_write
from gpuclf.faults import UserFault

FORMAT = 1
KEPT = 2
_NAME = re.compile(r"(\d{8})-([0-9a-f]{8})\.safetensors")


@dataclass(frozen=True)
class Checkpoint:
    """Tensors by name and JSON-able values."""

    tensors: dict[str, Tensor]
    values: dict[str, Any]


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> Path:
    """Writes the next checkpoint of `folder` and removes all but the last two. On a full disk the old ones stay."""
    folder.mkdir(parents=True, exist_ok=True)
    earlier = _numbered(folder)
    header = {"format": str(FORMAT), "values": json.dumps(checkpoint.values)}
    content = save({name: tensor.cpu().contiguous() for name, tensor in checkpoint.tensors.items()}, header)
    number = earlier[-1][0] + 1 if earlier else 1
    path = folder / f"{number:08d}-{zlib.crc32(content):08x}.safetensors"
    atomic_write(path, content)
    for _, old in earlier[: -(KEPT - 1)]:
        old.unlink()
    return path


def load_latest(
    folder: Path, note: Callable[[str], None], fits: Callable[[Checkpoint], bool] = lambda _: True
) -> Checkpoint | None:
    """The newest whole checkpoint, or None where there is none; `note` hears of every torn one passed over.

    `fits` says whether the run's log still has the rows that a checkpoint counts on.
    """
    for _, path in reversed(_numbered(folder)):
        content = path.read_bytes()
        if f"{zlib.crc32(content):08x}" != _NAME.fullmatch(path.name)[2]:  # type: ignore[index]
            note(f"checkpoint {path} is torn (its content does not match its checksum); using the one before it")
            continue
        checkpoint = _read(path)
        if fits(checkpoint):
            return checkpoint
        note(f"checkpoint {path} counts on rows that metrics.jsonl has lost; using the one before it")
    return None


def _read(path: Path) -> Checkpoint:
    try:
        with safe_open(path, framework="pt", device="cpu") as opened:
            header = opened.metadata() or {}
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (not a dict)
    except SafetensorError as error:
        message = f"is not a gpuclf checkpoint ({error}); pickled objects are never loaded"
        raise UserFault(message, file=path) from error
    if header.get("format") != str(FORMAT):
        raise UserFault(
            f"has checkpoint format {header.get('format')}, this gpuclf reads format {FORMAT}",
            file=path,
            remedy="resume with the gpuclf version that wrote it",
        )
    return Checkpoint(tensors, json.loads(header["values"]))


def _numbered(folder: Path) -> list[tuple[int, Path]]:
    if not folder.is_dir():
        return []
    found = [(match, path) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name))]
    return sorted((int(match[1]), path) for match, path in found)
