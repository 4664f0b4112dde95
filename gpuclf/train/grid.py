"""The grid: every combination of the listed settings is a cell; cells that differ in numbers only train together."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from gpuclf.faults import UserFault
from gpuclf.train.options import ExperimentOptions

SEED = "seed"
MAX_CELLS = 100_000  # a larger grid is a slip of the pen, and its table nothing that anybody could read


@dataclass(frozen=True)
class Cell:
    """One setting of the grid, without the seed, by config key; the options with it applied have no grid."""

    index: int
    settings: dict[str, Any]
    options: ExperimentOptions


def seeds_of(options: ExperimentOptions) -> list[int]:
    """The seeds of every cell: those of the grid, or the experiment's one."""
    return list(options.grid.get(SEED, [options.seed]))


def expand(options: ExperimentOptions) -> list[Cell]:
    """All cells in the order of writing; the last key varies fastest. Without a grid it is one cell without settings.

    A value that the options do not allow raises UserFault: alone ("grid.model.C"), or only together with others.
    """
    axes = {key: values for key, values in options.grid.items() if key != SEED}
    count = number_of_cells(options)
    if count > MAX_CELLS:
        raise UserFault(f"the grid has {count} cells; {MAX_CELLS} are the most", key="grid", remedy="leave values out")
    cells = []
    for index, values in enumerate(itertools.product(*axes.values())):
        settings = dict(zip(axes, values, strict=True))
        cells.append(Cell(index, settings, with_settings(options, settings)))
    return cells


def number_of_cells(options: ExperimentOptions) -> int:
    """How many cells the grid has, seeds not counted."""
    count = 1
    for key, values in options.grid.items():
        count *= len(values) if key != SEED else 1
    return count


def with_settings(options: ExperimentOptions, settings: dict[str, Any]) -> ExperimentOptions:
    """The options of one cell: these settings by dotted key, everything else as it is; validated, without a grid.

    What the settings leave open keeps its written value or its default, so a cell may change `model.type` as well.
    """
    touched = {key.partition(".")[0] for key in settings}
    data: dict[str, Any] = {}
    for name in options.model_fields_set - {"grid"}:
        section = getattr(options, name)
        data[name] = written(section) if name in touched and isinstance(section, BaseModel) else section
    for key, value in settings.items():
        *above, last = key.split(".")
        section = data
        for part in above:
            if not isinstance(section.get(part), dict):
                section[part] = written(getattr(options, part)) if section is data and hasattr(options, part) else {}
            section = section[part]
        section[last] = value
    try:
        return ExperimentOptions.model_validate(data)
    except ValidationError as failure:
        error = failure.errors(include_url=False)[0]
        shown = ", ".join(f"{key} = {value!r}" for key, value in settings.items())
        place = ".".join(str(part) for part in error["loc"])
        own = error.get("ctx", {}).get("error")
        message = own.message if isinstance(own, UserFault) else str(own or error["msg"])
        raise UserFault(f"the cell {shown} is not possible: {place}: {message}", key="grid") from failure


def written(section: Any) -> Any:
    """A section as plain data: the keys that were set, and its `type`, which names the class."""
    if not isinstance(section, BaseModel):
        return section
    data = {name: written(getattr(section, name)) for name in section.model_fields_set}
    return {"type": section.type} | data if "type" in type(section).model_fields else data  # type: ignore[attr-defined]


def option_value(options: ExperimentOptions, key: str) -> Any:
    """The value of a dotted key: option_value(o, "model.C"); None below a section that is not there."""
    value: Any = options
    for part in key.split("."):
        value = None if value is None else getattr(value, part)
    return value


def split_structural(cells: Sequence[Cell], per_replica: frozenset[str]) -> list[list[Cell]]:
    """Groups of cells that differ in `per_replica` options only ("model.C"), in the order of their first cells."""
    groups: dict[str, list[Cell]] = {}
    names: dict[str, str] = {}
    for cell in cells:
        # Cells with the same structural settings have the same structural options: worked out once for all of them.
        settings = repr({key: value for key, value in cell.settings.items() if key not in per_replica})
        if settings not in names:
            names[settings] = repr(without(cell.options, per_replica))  # == would take min_df 1 for the share 1.0
        groups.setdefault(names[settings], []).append(cell)
    return list(groups.values())


def without(options: ExperimentOptions, keys: frozenset[str]) -> ExperimentOptions:
    """The options with these keys of the sections at their defaults, so that what is left can be compared."""
    changes: dict[str, Any] = {}
    for key in keys:
        section_name, _, name = key.partition(".")
        section = changes.get(section_name, getattr(options, section_name))
        if name not in type(section).model_fields:
            continue  # an option of another learner
        default = type(section).model_fields[name].get_default(call_default_factory=True)
        changes[section_name] = section.model_copy(update={name: default})
    return options.model_copy(update=changes)
