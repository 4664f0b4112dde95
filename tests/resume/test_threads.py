"""The number of threads is in env.json and nowhere else in a run (case o25)."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.resume.commands import SAME_BYTES, Commands, one_thread, write_config

KINDS: dict[str, dict[str, Any]] = {
    "multinomial": {"model": {"type": "naive_bayes"}, "train": {}},
    "bernoulli": {"model": {"type": "naive_bayes", "variant": "bernoulli"}, "train": {}},
    "complement": {"model": {"type": "naive_bayes", "variant": "complement"}, "train": {}},
    "perceptron": {"model": {"type": "perceptron"}, "train": {"max_epochs": 2}},
    "mira": {"model": {"type": "mira", "C": 0.1}, "train": {"max_epochs": 2}},
    "minibatch": {"model": {"type": "mira", "C": 0.1}, "train": {"max_epochs": 2, "batch": 16}},
    "chosen features": {
        "model": {"type": "mira", "C": 0.1},
        "train": {"max_epochs": 2},
        "features": {"weighting": "tfidf", "norm": "l2", "select": {"method": "chi2", "k": 60}},
    },
    "characters": {
        "model": {"type": "naive_bayes"},
        "train": {},
        "features": {"analyzer": "char_wb", "ngrams": [2, 4], "norm": "l1"},
    },
}


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """Enough documents that every kernel cuts its work into several pieces."""
    draw = random.Random(5)
    for name, documents in (("train", 2000), ("test", 300)):
        lines = ["label\ttext"]
        for number in range(documents):
            kind = number % 3
            words = " ".join(f"w{draw.randrange(kind * 30, kind * 30 + 80)}" for _ in range(25))
            lines.append(f"c{kind}\t{words}")
        (tmp_path / f"{name}.tsv").write_text("\n".join(lines) + "\n")
    return tmp_path


def write_kind(folder: Path, kind: str) -> None:
    sections = dict(KINDS[kind])
    train = sections.pop("train")
    path = write_config(folder, train=None, grid=None, run={"tensorboard": False}, **sections)
    config = json.loads(path.read_text())
    path.write_text(json.dumps(config | {"train": train, "seed": 1}))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_bits_on_any_number_of_threads(kind: str, commands: Commands, begun: Path) -> None:
    write_kind(begun, kind)
    for threads in (1, 3):
        answer = commands.run(begun, "train", "run.yaml", f"run.dir=on{threads}", f"train.threads={threads}")
        assert answer.code == 0, answer.err
        assert json.loads((begun / f"on{threads}" / "env.json").read_text())["threads"] == threads
    for name in SAME_BYTES:
        alone = (begun / "on1" / name).read_bytes()
        assert alone == (begun / "on3" / name).read_bytes(), name


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["multinomial", "mira", "chosen features"])
def test_threads_of_the_environment(kind: str, begun: Path) -> None:
    """In fresh processes, three times each: equal settings give equal bits as well."""
    write_kind(begun, kind)
    for threads in (1, 2):
        for time in range(3):
            command = [sys.executable, "-m", "gpuclf", "train", "run.yaml", f"run.dir=on{threads}-{time}"]
            environment = one_thread() | {"OMP_NUM_THREADS": str(threads)}
            subprocess.run(command, cwd=begun, env=environment, check=True, capture_output=True)
            env = json.loads((begun / f"on{threads}-{time}" / "env.json").read_text())
            assert env["threads"] == threads
    for name in SAME_BYTES:
        contents = {path.read_bytes() for path in begun.glob(f"on*/{name}")}
        assert len(contents) == 1, name


@pytest.mark.parametrize("kind", ["multinomial", "bernoulli"])
def test_probabilities_add_up(kind: str, commands: Commands, begun: Path) -> None:
    write_kind(begun, kind)
    assert commands.run(begun, "train", "run.yaml", "run.dir=run").code == 0
    answer = commands.run(begun, "predict", "run", "test.tsv", "--proba", "--format", "jsonl")
    rows = [json.loads(line)["probabilities"] for line in answer.out.splitlines()]
    assert len(rows) == 300, answer.err
    assert all(abs(sum(row.values()) - 1) < 1e-9 for row in rows)
