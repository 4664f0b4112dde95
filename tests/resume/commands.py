"""Commands in processes of their own that can be killed, and what it means that two run folders hold the same run."""

from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event

ROOT = Path(__file__).resolve().parents[2]
SAME_BYTES = ("model.safetensors", "model.json", "predictions.tsv", "out_of_fold.tsv")


@dataclass(frozen=True)
class Answer:
    """How a command ended: exit code (−9: killed), what it printed; of several processes, those of each."""

    codes: list[int]
    outs: list[str]
    errs: list[str]

    @property
    def code(self) -> int:
        return self.codes[0]

    @property
    def out(self) -> str:
        return self.outs[0]

    @property
    def err(self) -> str:
        return self.errs[0]


class Commands:
    """A running command server (command_server.py). Use as a context manager."""

    def __init__(self, scratch: Path):
        write_data(scratch)
        config = write_config(scratch, features={"weighting": "tfidf"})
        warm = [["train", str(config), f"run.dir={scratch / 'warm'}"], ["predict", str(scratch / "warm"), "test.tsv"]]
        program = Path(__file__).with_name("command_server.py")
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", str(program), json.dumps(warm), str(scratch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=one_thread(),
            cwd=scratch,
        )
        try:
            assert self._line() == "ready\n"
        except BaseException:
            self._process.kill()
            self.__exit__()
            raise

    def run(
        self, folder: Path, *arguments: Any, hook: dict[str, Any] | None = None, file_size: int | None = None
    ) -> Answer:
        """One command in `folder`; see command_server.py for hooks. file_size: the largest file it may write, bytes."""
        return self._ask(folder, [arguments], hook, file_size)

    def together(self, folder: Path, processes: int, *arguments: Any, hook: dict[str, Any] | None = None) -> Answer:
        """The same command in several processes that form a group, as torchrun starts them."""
        return self._ask(folder, [arguments] * processes, hook, None)

    def _ask(
        self,
        folder: Path,
        commands: Sequence[Sequence[Any]],
        hook: dict[str, Any] | None,
        file_size: int | None,
    ) -> Answer:
        lines = [[str(argument) for argument in arguments] for arguments in commands]
        request = {"commands": lines, "folder": str(folder), "hook": hook, "file_size": file_size}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._line())
        return Answer(answer["codes"], answer["out"], answer["err"])

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the command server has died"
        return line

    def __enter__(self) -> Commands:
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)
        assert self._process.stdout is not None
        self._process.stdout.close()


def one_thread() -> dict[str, str]:
    """The environment of a command on one thread, which finds the package where it is tested."""
    return os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


def write_data(folder: Path) -> None:
    """train.tsv and test.tsv: three classes whose words overlap."""
    draw = random.Random(5)
    for name, documents in (("train", 60), ("test", 20)):
        lines = ["label\ttext"]
        for _ in range(documents):
            kind = draw.randrange(3)
            lines.append(f"c{kind}\t" + " ".join(f"w{draw.randrange(kind * 8, kind * 8 + 20)}" for _ in range(8)))
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n")


def write_config(folder: Path, **sections: Any) -> Path:
    """A grid × folds run of averaged MIRA with a checkpoint after each of 4 epochs; sections are added to or, if None,
    taken out of it. JSON is YAML."""
    config: dict[str, Any] = {
        "data": {"train": "train.tsv"},
        "features": {"type": "bag_of_words"},
        "model": {"type": "mira", "C": 0.1},
        "train": {"max_epochs": 4, "checkpoint_every": 1},
        "folds": {"k": 3},
        "grid": {"model.C": [0.003, 0.1]},
        "test": {"file": "test.tsv"},
        "device": "cpu",
        "seed": 11,
    }
    for name, section in sections.items():
        if section is None:
            del config[name]
        elif isinstance(section, dict) and name not in ("grid", "model"):
            config[name] = config.get(name, {}) | section
        else:
            config[name] = section
    path = folder / "run.yaml"
    path.write_text(json.dumps(config, indent=1))
    return path


def assert_same_run(run: Path, reference: Path, *, log: Literal["lines", "points"] = "lines") -> None:
    """Both folders hold the same run but for times. log: "points" leaves out how the models were cut into batches, and
    the order in which those were trained."""
    for name in SAME_BYTES:
        assert (run / name).exists() == (reference / name).exists(), name
        if (reference / name).exists():
            assert (run / name).read_bytes() == (reference / name).read_bytes(), name
    assert _without(json.loads((run / "metrics.json").read_text()), "seconds") == _without(
        json.loads((reference / "metrics.json").read_text()), "seconds"
    )
    rows, expected = log_rows(run), log_rows(reference)
    if log == "points":
        rows, expected = (sorted((_without(row, "batch") for row in part), key=repr) for part in (rows, expected))
    assert rows == expected
    assert scalars(run) == scalars(reference)
    leftovers = [path for path in run.rglob("*") if ".tmp" in path.name or path.name.startswith("metrics.process")]
    assert not leftovers


def log_rows(run: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl without times."""
    return [_without(json.loads(line), "time") for line in (run / "metrics.jsonl").read_text().splitlines()]


def _without(record: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != key}


def scalars(run: Path) -> dict[str, list[tuple[int, float | None]]]:
    """(step, value) by sub-run and tag of all event files. Each tag must have each step once, rising."""
    points: dict[str, list[tuple[int, float | None]]] = {}
    for path in sorted(run.rglob("events.out.tfevents.*")):
        for raw in RawEventFileLoader(str(path)).Load():
            event = Event.FromString(raw)
            for value in event.summary.value:
                number = value.simple_value if value.HasField("simple_value") else None
                number = None if number is not None and math.isnan(number) else number
                points.setdefault(f"{path.parent.relative_to(run)}/{value.tag}", []).append((event.step, number))
    for tag, series in points.items():
        steps = [step for step, _ in series]
        assert steps == sorted(set(steps)), (tag, steps)
    return points


def checkpoints(run: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    return sorted(path for path in (run / "checkpoints").glob("*.safetensors") if not path.name.startswith("."))
