"""The two files of a trained model, whatever its kind: model.safetensors (numbers) and model.json (all else).

Never pickle. Both are the same bytes for the same model: no times, no devices, no paths.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from gpuclf.data.atomic_write import atomic_write
from gpuclf.data.options import DataOptions
from gpuclf.faults import UserFault
from gpuclf.models.learner import LearnerOptions
from gpuclf.models.registry import LEARNERS

FORMAT = 1
TENSORS = "model.safetensors"
ABOUT = "model.json"
_NOT_KEPT = {"train", "labels", "limit", "unlabelled"}  # of the data section: what concerns one file only
_REFUSED = "is not a gpuclf model; pickled objects (.pkl, .pt, .bin) are never loaded, since opening one runs its code"


def write_files(
    folder: Path, about: dict[str, Any], numbers: dict[str, Tensor], options: LearnerOptions, data: DataOptions
) -> None:
    """Writes both files, each whole or not at all; the numbers first, so that model.json means a complete model."""
    record = {
        "format": FORMAT,
        "model": {"type": options.type} | options.model_dump(mode="json", exclude_defaults=True, by_alias=True),
        "data": data.model_dump(mode="json", exclude=_NOT_KEPT),
        **about,
    }
    atomic_write(folder / TENSORS, save(numbers))
    atomic_write(folder / ABOUT, json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


def read_files(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Both files of a run folder. Raises UserFault for anything that is not a model of this format."""
    return _read_about(folder), _read_numbers(folder / TENSORS)


def learner_of(about: dict[str, Any]) -> LearnerOptions:
    """The options that the model was trained with. KeyError, TypeError or ValueError where the record is not whole."""
    return LEARNERS[about["model"]["type"]].model_validate(about["model"], strict=False)


def data_of(about: dict[str, Any], folder: Path) -> DataOptions:
    """How further files are read; errors as for `learner_of`."""
    return DataOptions.model_validate(about["data"] | {"train": str(folder)})


def task_of(folder: Path) -> str:
    """What a run folder's model was trained for: "classify", "tag". Raises UserFault where there is no model."""
    about = _read_about(folder)
    try:
        return LEARNERS[about["model"]["type"]].task
    except (KeyError, TypeError) as error:
        raise incomplete(folder, error) from error


def incomplete(folder: Path, error: Exception) -> UserFault:
    """The fault for a record in which something is missing or wrong."""
    return UserFault(f"is not a complete model file ({error})", file=folder / ABOUT)


def _read_about(folder: Path) -> dict[str, Any]:
    path = folder / ABOUT
    if folder.is_file():
        raise UserFault(_REFUSED, file=folder, remedy="give the folder of a finished run")
    if not path.is_file():
        raise UserFault("there is no trained model here", file=folder, remedy="give the folder of a finished run")
    try:
        about = json.loads(path.read_bytes())
    except ValueError as error:
        raise UserFault(_REFUSED, file=path) from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        found = about.get("format") if isinstance(about, dict) else None
        raise UserFault(f"has model format {found}, this gpuclf reads format {FORMAT}", file=path)
    return about


def _read_numbers(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise UserFault("is missing", file=path, remedy="the run folder is not complete; train or resume it")
    try:
        return load(path.read_bytes())
    except SafetensorError as error:
        raise UserFault(_REFUSED, file=path) from error
