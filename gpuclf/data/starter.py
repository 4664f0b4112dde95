"""`gpuclf init`: a starter config and a sample of the bundled data in a new folder."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from gpuclf.data.atomic_write import atomic_write
from gpuclf.faults import UserFault

# What is written → where it lies in gpuclf.data. The sample has the licence of the data that it is taken from.
_FILES = {
    "experiment.yaml": "starter_files/experiment.yaml",
    "data/train.tsv": "starter_files/data/train.tsv",
    "data/test.tsv": "starter_files/data/test.tsv",
    "data/LICENSE": "bundled/banking77/LICENSE",
    "data/LICENSE-CC-BY-4.0": "bundled/banking77/LICENSE-CC-BY-4.0",
}


def write_starter(folder: Path) -> list[Path]:
    """Writes the starter files into a new or empty folder; the config comes first in the list.

    Raises UserFault where the folder holds anything or cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise UserFault("is a file, not a folder", file=folder, remedy="name a new folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise UserFault("is not empty", file=folder, remedy="name a new folder: nothing is ever written over")
    package = files("gpuclf.data")
    contents = {folder / name: package.joinpath(*source.split("/")).read_bytes() for name, source in _FILES.items()}
    try:
        for target, content in contents.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            atomic_write(target, content)
    except OSError as error:
        raise UserFault(f"cannot be written: {error.strerror}", file=folder, remedy="name another folder") from error
    return list(contents)
