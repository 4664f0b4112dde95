"""`gpuclf init`: a starter config and a sample of the bundled data in a new folder."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from gpuclf.data.atomic_write import atomic_write
from gpuclf.faults import UserFault

_FILES = ("experiment.yaml", "data/train.tsv", "data/test.tsv", "data/LICENSE")


def write_starter(folder: Path) -> list[Path]:
    """Writes the starter files into a new or empty folder; the config comes first in the list.

    Raises UserFault where the folder holds anything.
    """
    if folder.exists() and not folder.is_dir():
        raise UserFault("is a file, not a folder", file=folder, remedy="name a new folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise UserFault("is not empty", file=folder, remedy="name a new folder: nothing is ever written over")
    try:
        return _write(folder)
    except OSError as error:
        raise UserFault(f"cannot be written: {error.strerror}", file=folder, remedy="name another folder") from error


def _write(folder: Path) -> list[Path]:
    source = files("gpuclf.data") / "starter_files"
    written = []
    for name in _FILES:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        atomic_write(target, source.joinpath(*name.split("/")).read_bytes())
        written.append(target)
    return written
