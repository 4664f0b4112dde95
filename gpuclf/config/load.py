"""From a config file and overrides to the options of an experiment, with the place of every key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuclf.config.compose import read_composed
from gpuclf.config.dump import resolved
from gpuclf.config.grid_values import check_grid
from gpuclf.config.interpolate import interpolate
from gpuclf.config.overrides import apply_overrides
from gpuclf.config.schema import fields_of
from gpuclf.config.tree import Source, key_text, plain, walk
from gpuclf.config.validate import validate
from gpuclf.data.paths import LocatedStr
from gpuclf.faults import UserFault, UserFaults
from gpuclf.train.grid import expand
from gpuclf.train.option_checks import faults_of
from gpuclf.train.options import RUN_ROOT, ExperimentOptions, learner_defaults


@dataclass(frozen=True)
class LoadedConfig:
    """A valid config. source: where each key that was written stands; keys left to their defaults are not in it."""

    path: Path
    options: ExperimentOptions
    source: dict[str, Source]

    @property
    def grid(self) -> dict[str, list[Any]]:
        """The settings to try, by key."""
        return self.options.grid

    def locate(self, fault: UserFault) -> UserFault:
        """The fault with the file and line of its key (or of the section around it), unless it names a file itself."""
        return _located(fault, self.source, self.path)

    def resolved_yaml(self) -> str:
        """The config with all defaults filled in and all paths absolute; loading it gives the same options."""
        return resolved(self.options)


def load(path: Path, overrides: Sequence[str] = ()) -> LoadedConfig:
    """Reads and checks a config. Raises UserFaults with everything that is wrong, before any data are read.

    Relative paths in a file are relative to the folder of that file; when it was reached through a symbolic link, to
    the folder of the real file, so that a config means the same from wherever and by whatever name it is started.
    Paths typed as overrides are relative to the current directory. Without run.root, runs are written beside the
    config; without a name, the experiment is called like the file.
    """
    path = Path(path)
    root = interpolate(apply_overrides(read_composed(path), overrides, Path.cwd()))
    source = {key_text(keys): item.source for keys, item in walk(root) if keys}
    data = _with_defaults(plain(root), path)
    # A grid is judged by the options that its keys name, once these are known to be sound.
    raw_grid = data.pop("grid") if isinstance(data.get("grid"), dict) else {}
    outcome = validate(ExperimentOptions, data, root)
    faults = list(outcome.faults)
    if outcome.partial is not None:
        grid = check_grid(ExperimentOptions, outcome.sound, raw_grid, root)
        faults += grid.faults
        checked = outcome.partial.model_copy(update={"grid": grid.values})
        faulty = {fault.key.partition(".")[0] for fault in faults if fault.key}
        faults += _cross_faults(checked, faulty)
        if not faults:
            return LoadedConfig(path, outcome.options.model_copy(update={"grid": grid.values}), source)
    raise UserFaults(_in_order([_located(fault, source, path) for fault in faults]))


def _with_defaults(data: Any, path: Path) -> dict[str, Any]:
    """The data with what the config's own place decides, and without sections that are written but empty."""
    optional = [name for name, spec in fields_of(ExperimentOptions).items() if spec.sections and not spec.nullable]
    data = {name: value for name, value in data.items() if value is not None or name not in optional}
    data.setdefault("name", path.resolve().stem)
    data = learner_defaults(data)  # so that one key of an absent section can be overridden
    run = data.setdefault("run", {})
    if isinstance(run, dict):
        run.setdefault("root", LocatedStr(RUN_ROOT, path.resolve().parent))
    return data


def _cross_faults(options: ExperimentOptions, faulty: set[str]) -> list[UserFault]:
    try:
        cells = expand(options)
    except UserFault as fault:
        return [fault]
    return faults_of(options, cells, faulty)


def _located(fault: UserFault, source: dict[str, Source], path: Path) -> UserFault:
    if isinstance(fault, UserFaults):
        return UserFaults([_located(inner, source, path) for inner in fault.faults])
    if fault.file is not None or fault.key is None:
        return fault
    key = fault.key
    while key not in source and key:
        key = key[: max(key.rfind("."), key.rfind("["), 0)]
    found = source.get(key)
    place = found.place if found is not None else path
    line = found.line if found is not None and found.override is None else None
    return UserFault(fault.message, file=place, line=line, key=fault.key, remedy=fault.remedy)


def _in_order(faults: Sequence[UserFault]) -> list[UserFault]:
    """As they stand in the files, those of overrides and of keys that are missing last; each once."""
    unique = list({str(fault): fault for fault in faults}.values())
    return sorted(unique, key=lambda fault: (fault.line is None, str(fault.file), fault.line or 0))
