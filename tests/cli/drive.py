"""The command line as a user meets it, in this process: arguments and standard input in, exit code and output back."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
import torch

from gpuclf.cli import main
from gpuclf.models.registry import LEARNERS
from gpuclf.train.model_file import load_model


@dataclass(frozen=True)
class Output:
    """What a command left: exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Output lines, split at line feeds alone."""
        return self.out.removesuffix("\n").split("\n") if self.out else []

    @property
    def records(self) -> list[dict[str, Any]]:
        """The output lines as strict JSON."""
        return [strict_json(line) for line in self.lines]

    @property
    def labels(self) -> list[str]:
        """The first field of each output line: the predicted class."""
        return [line.split("\t")[0] for line in self.lines]

    @property
    def errors(self) -> list[str]:
        """The lines of faults."""
        return [line for line in self.err.splitlines() if line.startswith("error: ")]


class Gpuclf:
    """Runs `gpuclf` commands; configs and run folders are made below `folder`."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
        self.folder = folder
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        self._runs = 0

    def __call__(self, *arguments: str | Path, stdin: bytes = b"") -> Output:
        """One command, whatever comes of it."""
        self._capsys.readouterr()
        with self._monkeypatch.context() as patched:
            patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
            code = main([str(argument) for argument in arguments])
        captured = self._capsys.readouterr()
        return Output(code, captured.out, captured.err)

    def done(self, *arguments: str | Path, stdin: bytes = b"") -> Output:
        """A command that must succeed."""
        output = self(*arguments, stdin=stdin)
        assert output.code == 0, output.err
        return output

    def refused(self, *arguments: str | Path, stdin: bytes = b"") -> Output:
        """A command that must be refused as the user's fault: exit code 2, messages, no result, no traceback."""
        output = self(*arguments, stdin=stdin)
        assert output.code == 2, (output.code, output.out, output.err)
        assert output.errors, output.err
        assert "Traceback" not in output.err
        assert output.out == ""
        return output

    def config(self, model: str | Mapping[str, Any], name: str = "config.yaml", **sections: Any) -> Path:
        """A config file (JSON is YAML) for a model, by its type or with options, and further sections."""
        model = {"type": model} if isinstance(model, str) else dict(model)
        content = {"model": model, "run": {"tensorboard": False}, **sections}
        if "max_epochs" in LEARNERS[model["type"]].train_keys:
            few = {"learning_rate": 0.05} if "learning_rate" in LEARNERS[model["type"]].train_keys else {}
            content.setdefault("train", {"max_epochs": 20, **few})  # steps that get somewhere on a few documents
        return self.text(name, json.dumps(content, default=str, ensure_ascii=False, indent=1))

    def text(self, name: str, content: str | bytes) -> Path:
        """A file below the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return path

    def train(self, config: Path, *overrides: str) -> tuple[Path, Output]:
        """A training run that must succeed: its folder, and what it said."""
        self._runs += 1
        run = self.folder / f"run-{self._runs}"
        output = self.done("train", config, f"run.dir={run}", *overrides)
        return run, output

    def trained(self, model: str | Mapping[str, Any], **sections: Any) -> Path:
        """The run folder of a config that is made for the occasion."""
        return self.train(self.config(model, f"config-{self._runs + 1}.yaml", **sections))[0]

    def not_trained(self, config: Path, *overrides: str) -> Output:
        """A training run that must be refused and leave nothing behind."""
        run = self.folder / "refused-run"
        output = self.refused("train", config, f"run.dir={run}", *overrides)
        assert not run.exists(), sorted(path.name for path in run.iterdir())
        return output


def strict_json(text: str | bytes) -> Any:
    """JSON without the words NaN and Infinity."""

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def metrics_of(run: Path) -> dict[str, Any]:
    """metrics.json of a run folder."""
    metrics: dict[str, Any] = strict_json((run / "metrics.json").read_bytes())
    return metrics


def about_model(run: Path) -> dict[str, Any]:
    """model.json of a run folder."""
    about: dict[str, Any] = strict_json((run / "model.json").read_bytes())
    return about


def table_of(path: Path) -> list[list[str]]:
    """Header and rows of a tab-separated file."""
    return [line.split("\t") for line in path.read_text(encoding="utf-8").removesuffix("\n").split("\n")]


def every_learner() -> dict[str, dict[str, Any]]:
    """A model section for each classifier of documents in the registry, and for each of its variants."""
    found: dict[str, dict[str, Any]] = {}
    for name, kind in LEARNERS.items():
        if kind.task != "classify" or kind.reads <= {"sentences", "reviews"}:  # tokens are their documents
            continue
        variant = kind.model_fields.get("variant")
        variants = get_args(variant.annotation) if variant is not None else ()
        if variants and get_origin(variant.annotation) is Literal:
            found |= {f"{name}-{one}": {"type": name, "variant": one} for one in variants}
        else:
            found[name] = {"type": name} | ({"n_estimators": 24} if "n_estimators" in kind.model_fields else {})
    found["decomposable"] |= {"start": "naive_bayes", "direction": "fixed"}  # a search finds no edge in a few documents
    return found


def vocabulary(run: Path) -> list[str]:
    """The names of the model's features."""
    return list(load_model(run, torch.device("cpu")).encoder.names)
