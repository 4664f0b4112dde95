"""The folder that a run leaves behind: its files by name, made once, never written over."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from gpuclf.data.atomic_write import atomic_write
from gpuclf.faults import UserFault
from gpuclf.report.strict_json import dump


@dataclass(frozen=True)
class RunFolder:
    """Names and writes the files of a run. Every file but the growing logs is whole or absent.

    above: the folders around it that were made for it, the innermost first.
    """

    path: Path
    above: tuple[Path, ...] = ()

    @classmethod
    def create(cls, path: Path) -> RunFolder:
        """A new run folder; refuses one that holds anything, so that two runs never share a log.

        overrides.txt is made at once, exclusively: of two runs that start in the same second, one is refused.
        """
        if path.exists() and not path.is_dir():
            raise UserFault("is a file, not a folder", file=path, remedy="give another run.dir")
        if path.is_dir() and any(path.iterdir()):
            raise _occupied(path)
        above = tuple(folder for folder in path.parents if not folder.exists())
        try:
            path.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path / "overrides.txt", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        except FileExistsError:
            raise _occupied(path) from None
        except OSError as error:
            raise UserFault(
                f"the run folder cannot be made: {error.strerror}", file=path, remedy="give another run.dir or run.root"
            ) from error
        return cls(path, above)

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """An existing run folder."""
        if not path.exists():
            raise UserFault("there is no such run folder", file=path, remedy="give the folder that a train run printed")
        if path.is_file():
            raise UserFault(
                "is a file, not a run folder; pickled objects (.pkl, .pt, .bin) are never loaded",
                file=path,
                remedy="give the folder that a train run printed",
            )
        if not (path / "config.yaml").is_file():
            raise UserFault(
                "is not a run folder: it has no config.yaml",
                file=path,
                remedy="give the folder that a train run printed",
            )
        return cls(path)

    def discard(self) -> None:
        """Takes a folder away in which nothing was trained yet (say, the data were refused after it was made).

        Removes only files that belong to the beginning of a run, and leaves the folder when anything else is in it. The
        folders above go, too, where they were made for it and nothing else has come into them.
        """
        if any(log.stat().st_size for log in (self.metrics_log, *self.worker_logs()) if log.exists()):
            return
        logs = (self.metrics_log, *self.worker_logs(), *self.path.glob("events.out.tfevents.*"))
        for file in (self.config, self.overrides, self.env, *logs):
            file.unlink(missing_ok=True)
        for folder in (self.path, *self.above):
            try:
                folder.rmdir()
            except OSError:  # not empty
                return

    @property
    def config(self) -> Path:
        return self.path / "config.yaml"

    @property
    def overrides(self) -> Path:
        return self.path / "overrides.txt"

    @property
    def env(self) -> Path:
        return self.path / "env.json"

    @property
    def metrics_log(self) -> Path:
        return self.path / "metrics.jsonl"

    def worker_log(self, number: int) -> Path:
        """The rows of a further process, until the first one takes them into metrics.jsonl."""
        return self.path / f"metrics.process-{number}.jsonl"

    def worker_logs(self) -> list[Path]:
        """All of those that are there."""
        return sorted(self.path.glob("metrics.process-*.jsonl"))

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.json"

    @property
    def predictions(self) -> Path:
        return self.path / "predictions.tsv"

    @property
    def model(self) -> Path:
        return self.path / "model.safetensors"

    @property
    def model_json(self) -> Path:
        return self.path / "model.json"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def finished(self) -> bool:
        """metrics.json is there: all figures are final. Only report.html, which tells them to a person, comes later."""
        return self.metrics.is_file()

    def write_config(self, text: str) -> None:
        """The resolved config."""
        atomic_write(self.config, _utf8(text))

    def write_overrides(self, overrides: Sequence[str]) -> None:
        """The overrides as typed, one a line."""
        atomic_write(self.overrides, _utf8("".join(f"{item}\n" for item in overrides)))

    def write_env(self, environment: Mapping[str, Any]) -> None:
        """What `gpuclf.report.environment.environment` found."""
        atomic_write(self.env, dump(environment, indent=1) + b"\n")

    def write_metrics(self, metrics: Mapping[str, Any]) -> None:
        """The final figures; nan and infinity are written as the strings "nan", "inf", "-inf"."""
        atomic_write(self.metrics, dump(metrics, indent=1) + b"\n")

    def read_metrics(self) -> dict[str, Any]:
        """The final figures of a finished run."""
        if not self.finished:
            raise UserFault(
                "the run is not finished: it has no metrics.json", file=self.path, remedy=f"gpuclf resume {self.path}"
            )
        metrics: dict[str, Any] = json.loads(self.metrics.read_bytes())
        return metrics


def default_path(root: Path, name: str, now: datetime) -> Path:
    """`ROOT/NAME/2025-01-31_14-05-09`, with -2, -3 … when that is taken already."""
    folder = re.sub(r"[^\w.+-]+", "_", name).strip("._") or "run"
    stem = now.strftime("%Y-%m-%d_%H-%M-%S")
    path, count = root / folder / stem, 1
    while path.exists():
        count += 1
        path = root / folder / f"{stem}-{count}"
    return path


def _occupied(path: Path) -> UserFault:
    return UserFault(
        "the run folder is not empty; a run never writes over another",
        file=path,
        remedy=f"give another run.dir, leave run.dir out for a new folder, or continue with: gpuclf resume {path}",
    )


def _utf8(text: str) -> bytes:
    """Command lines may hold bytes that are not UTF-8; Python carries them as lone surrogates."""
    return text.encode("utf-8", errors="surrogateescape")
