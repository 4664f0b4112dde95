"""A run killed at any moment and resumed is the run that was not killed (cases o30, o28, o31)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuclf.report.run_folder import RunFolder
from gpuclf.report.run_lock import locked
from tests.resume.commands import Commands, assert_same_run, checkpoints, log_rows, write_config, write_data

KINDS: dict[str, dict[str, Any]] = {
    "grid of folds": {},
    "early stopping": {"train": {"max_epochs": 12, "early_stopping": {"patience": 2}}},
    "naive bayes": {"model": {"type": "naive_bayes"}, "grid": {"model.alpha": [0.1, 1.0]}, "train": None},
    "several batches": {"train": {"memory_budget": 1e-6}, "grid": {"model.C": [0.003, 0.1], "seed": [1, 2]}},
    "structural grid": {"grid": {"features.ngrams": [[1, 1], [1, 2]], "model.C": [0.003, 0.1]}},
    "seeds of different lengths": {
        "folds": None,
        "validation": {"fraction": 0.4},
        "train": {"max_epochs": 12, "early_stopping": {"patience": 2}},
        "grid": {"seed": [0, 1, 2]},
    },
    "no refit": {"folds": None, "validation": {"fraction": 0.3}, "select": {"refit": False}},
    "tf-idf": {"features": {"weighting": "tfidf", "norm": "l2", "select": {"method": "chi2", "k": 20}}},
    "one model": {"folds": None, "grid": None},
    "nested": {"folds": {"k": 3, "inner": 2}, "train": {"memory_budget": 1e-5}, "select": {"one_standard_error": True}},
}
STEP = "gpuclf.train.run_context.step_rows"  # called after each step, before it is logged
SAVE = "gpuclf.train.run_context.save_checkpoint"
FSYNC = "gpuclf.data.atomic_write._force_to_disk"
RENAME = "os.replace"

Reference = Callable[[str], Path]


@pytest.fixture(scope="module")
def reference(commands: Commands, tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """The uninterrupted run of a kind, made when it is first asked for."""
    made: dict[str, Path] = {}

    def of(kind: str) -> Path:
        if kind not in made:
            folder = tmp_path_factory.mktemp("whole")
            write_data(folder)
            write_config(folder, **KINDS[kind])
            answer = commands.run(folder, "train", "run.yaml", "run.dir=run")
            assert answer.code == 0, answer.err
            made[kind] = folder / "run"
        return made[kind]

    return of


def begin(folder: Path, kind: str) -> None:
    write_data(folder)
    write_config(folder, **KINDS[kind])


def killed(commands: Commands, folder: Path, hook: dict[str, Any], command: str = "train") -> None:
    arguments = ("train", "run.yaml", "run.dir=run") if command == "train" else ("resume", "run")
    answer = commands.run(folder, *arguments, hook=hook)
    assert answer.code == -9, (hook, answer)


def resumed(commands: Commands, folder: Path) -> str:
    answer = commands.run(folder, "resume", "run")
    assert answer.code == 0, answer.err
    return answer.err


MOMENTS: dict[str, dict[str, Any]] = {
    "while reading": {"target": "gpuclf.train.corpus.class_order"},
    "in the first epoch": {"target": STEP},
    "between a step and its checkpoint": {"target": SAVE, "call": 3},
    "a checkpoint written but not in place": {"target": RENAME, "call": 3, "match": "checkpoints"},
    "a checkpoint not yet on the disk": {"target": FSYNC, "call": 4, "match": "safetensors"},
    "right after a checkpoint": {"target": SAVE, "call": 2, "after": True},
    "at the last step of the grid": {"target": STEP, "call": 4},
    "between grid and refit": {"target": "gpuclf.train.experiment.train_final"},
    "in the refit": {"target": STEP, "call": 7},
    "between the two files of the model": {"target": RENAME, "match": "model.json"},
    "while the test file is read": {"target": "gpuclf.train.experiment.read_labelled"},
    "before predictions are in place": {"target": RENAME, "match": "predictions.tsv"},
    "between the pictures": {"target": "gpuclf.report.tensorboard.png", "call": 2},
    "at the last file": {"target": RENAME, "match": "metrics.json'"},
}


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_at(moment: str, commands: Commands, reference: Reference, tmp_path: Path) -> None:
    begin(tmp_path, "grid of folds")
    killed(commands, tmp_path, MOMENTS[moment])
    said = resumed(commands, tmp_path)
    assert ("starts from the beginning" in said) == (moment in ("while reading", "in the first epoch"))
    assert_same_run(tmp_path / "run", reference("grid of folds"))


AT_STEPS = [
    pytest.param("early stopping", 3, marks=pytest.mark.slow),
    ("early stopping", 5),
    pytest.param("naive bayes", 1, marks=pytest.mark.slow),
    ("naive bayes", 2),
    pytest.param("several batches", 2, marks=pytest.mark.slow),
    ("several batches", 5),
    ("several batches", 9),
    pytest.param("structural grid", 3, marks=pytest.mark.slow),
    ("structural grid", 6),
    ("no refit", 3),
    ("tf-idf", 2),
    ("one model", 3),
    ("nested", 7),
]


@pytest.mark.parametrize(("kind", "step"), AT_STEPS)
def test_every_kind_of_run(kind: str, step: int, commands: Commands, reference: Reference, tmp_path: Path) -> None:
    begin(tmp_path, kind)
    killed(commands, tmp_path, {"target": STEP, "call": step})
    resumed(commands, tmp_path)
    assert_same_run(tmp_path / "run", reference(kind))


def test_killed_in_a_refit_of_which_one_seed_is_done(commands: Commands, reference: Reference, tmp_path: Path) -> None:
    kind = "seeds of different lengths"
    rows = log_rows(reference(kind))
    refit = [row for row in rows if row["phase"] == "refit"]
    assert {row["batch"] for row in refit} == {0}, "all seeds are one batch"
    final = json.loads((reference(kind) / "metrics.json").read_text())["final"]
    ends = {seed: max(row["step"] for row in refit if row["seed"] == seed) for seed in (0, 1, 2)}
    assert ends == {of["seed"]: of["steps"] for of in final}
    first, last = min(ends.values()), max(ends.values())
    assert first < last
    begin(tmp_path, kind)
    before = len({row["step"] for row in rows if row["phase"] == "grid"})
    killed(commands, tmp_path, {"target": STEP, "call": before + first + 1})
    resumed(commands, tmp_path)
    assert_same_run(tmp_path / "run", reference(kind))


def test_killed_again_and_again(commands: Commands, reference: Reference, tmp_path: Path) -> None:
    """Every process gets two steps further; each step is still made once."""
    begin(tmp_path, "several batches")
    killed(commands, tmp_path, {"target": STEP, "call": 3})
    for _ in range(100):
        answer = commands.run(tmp_path, "resume", "run", hook={"target": STEP, "call": 3})
        if answer.code == 0:
            break
        assert answer.code == -9, answer.err
    assert_same_run(tmp_path / "run", reference("several batches"))


def test_only_what_follows_the_checkpoint_is_done_again(commands: Commands, tmp_path: Path) -> None:
    """Batches that were finished are not trained again, though nothing of them is in the running loop."""
    begin(tmp_path, "several batches")
    killed(commands, tmp_path, {"target": STEP, "call": 12})
    answer = commands.run(tmp_path, "resume", "run", hook={"target": STEP, "call": 1000})
    assert answer.code == 0
    steps = {(row["phase"], row["batch"], row["step"]) for row in log_rows(tmp_path / "run")}
    assert int(checkpoints(tmp_path / "run")[-1].name[:8]) == len(steps), "one checkpoint a step"


def test_a_finished_run_is_left_as_it_is(commands: Commands, tmp_path: Path) -> None:
    begin(tmp_path, "grid of folds")
    assert commands.run(tmp_path, "train", "run.yaml", "run.dir=run").code == 0
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")}
    answer = commands.run(tmp_path, "resume", "run")
    assert answer.code == 0
    assert "nothing to resume" in answer.out
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").rglob("*")} == before


@pytest.mark.parametrize("kind", ["grid of folds", "structural grid"])
def test_changed_data_are_refused(kind: str, commands: Commands, reference: Reference, tmp_path: Path) -> None:
    begin(tmp_path, kind)
    killed(commands, tmp_path, {"target": STEP, "call": 3})
    data = tmp_path / "train.tsv"
    text = data.read_text()
    data.write_text(text.replace("w3", "w4"))
    answer = commands.run(tmp_path, "resume", "run")
    assert answer.code == 2
    assert "train.tsv" in answer.err
    assert "changed" in answer.err
    data.write_text(text)
    resumed(commands, tmp_path)
    assert_same_run(tmp_path / "run", reference(kind))


def test_two_at_once(commands: Commands, reference: Reference, tmp_path: Path) -> None:
    begin(tmp_path, "grid of folds")
    killed(commands, tmp_path, {"target": STEP, "call": 2})
    before = (tmp_path / "run" / "metrics.jsonl").read_bytes()
    with locked(RunFolder.open(tmp_path / "run")):  # as the other process does
        answer = commands.run(tmp_path, "resume", "run")
    assert answer.code == 2
    assert "another process is working in this run folder" in answer.err
    assert (tmp_path / "run" / "metrics.jsonl").read_bytes() == before
    resumed(commands, tmp_path)
    assert_same_run(tmp_path / "run", reference("grid of folds"))


def test_the_same_folder_is_not_trained_in_twice(commands: Commands, tmp_path: Path) -> None:
    begin(tmp_path, "one model")
    assert commands.run(tmp_path, "train", "run.yaml", "run.dir=run").code == 0
    answer = commands.run(tmp_path, "train", "run.yaml", "run.dir=run")
    assert answer.code == 2
    assert "never writes over another" in answer.err
