"""A run spread over several processes is the run of one process (case o38)."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from gpuclf.cli import main
from gpuclf.train.signals import Interrupted
from tests.resume.commands import Commands, assert_same_run, write_config, write_data

STEP = "gpuclf.train.run_context.step_rows"
KINDS: dict[str, dict[str, Any]] = {
    "grid of folds": {},
    "small batches": {"train": {"memory_budget": 1e-6}},
    "structural grid": {"grid": {"features.ngrams": [[1, 1], [1, 2]], "model.C": [0.003, 0.1]}},
    "early stopping": {"train": {"max_epochs": 12, "early_stopping": {"patience": 2}}},
    "seeds": {"grid": {"model.C": [0.003, 0.1], "seed": [1, 2]}, "folds": {"k": 2}},
    "no refit": {"folds": None, "validation": {"fraction": 0.3}, "select": {"refit": False}},
    "naive bayes": {"model": {"type": "naive_bayes"}, "grid": {"model.alpha": [0.1, 1.0]}, "train": None},
    "one model": {"folds": None, "grid": None},
}
TRAIN = ("train", "run.yaml", "run.dir=run")


@pytest.fixture(scope="module")
def reference(commands: Commands, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The run of a kind by one process, made when it is first asked for."""
    made: dict[str, Path] = {}

    def of(kind: str) -> Path:
        if kind not in made:
            folder = tmp_path_factory.mktemp("alone")
            begin(folder, kind)
            answer = commands.run(folder, *TRAIN)
            assert answer.code == 0, answer.err
            made[kind] = folder / "run"
        return made[kind]

    return of


def begin(folder: Path, kind: str) -> None:
    write_data(folder)
    write_config(folder, **KINDS[kind])


@pytest.mark.parametrize(
    ("kind", "processes"),
    [
        ("grid of folds", 2),
        pytest.param("grid of folds", 3, marks=pytest.mark.slow),
        ("small batches", 3),
        pytest.param("structural grid", 2, marks=pytest.mark.slow),
        ("early stopping", 3),
        ("seeds", 3),
        pytest.param("no refit", 2, marks=pytest.mark.slow),
        ("no refit", 4),  # more processes than models
        ("naive bayes", 2),
        ("one model", 2),
    ],
)
def test_the_same_run(kind: str, processes: int, commands: Commands, reference: Any, tmp_path: Path) -> None:
    begin(tmp_path, kind)
    answer = commands.together(tmp_path, processes, *TRAIN)
    assert answer.codes == [0] * processes, answer.errs
    assert answer.outs[1:] == [""] * (processes - 1), "the first process prints"
    assert answer.errs[1:] == [""] * (processes - 1)
    assert answer.out.count("run folder:") == 1
    assert_same_run(tmp_path / "run", reference(kind), log="points")


@pytest.mark.parametrize("step", [3, 6, pytest.param(1, marks=pytest.mark.slow)])
def test_killed_and_resumed(step: int, commands: Commands, reference: Any, tmp_path: Path) -> None:
    """All processes are killed at this step of theirs: 4 of the grid, then 4 of the refit for the first one alone."""
    begin(tmp_path, "grid of folds")
    answer = commands.together(tmp_path, 2, *TRAIN, hook={"target": STEP, "call": step})
    assert -9 in answer.codes
    answer = commands.together(tmp_path, 2, "resume", "run")
    assert answer.codes == [0, 0], answer.errs
    assert_same_run(tmp_path / "run", reference("grid of folds"), log="points")


def test_resumed_between_grid_and_refit(commands: Commands, reference: Any, tmp_path: Path) -> None:
    begin(tmp_path, "grid of folds")
    hook = {"target": "gpuclf.train.experiment.train_final", "signals": ["SIGTERM"]}
    answer = commands.together(tmp_path, 3, *TRAIN, hook=hook)
    assert answer.codes == [143, 0, 0], answer.errs
    answer = commands.together(tmp_path, 3, "resume", "run", hook={"target": STEP, "call": 5})
    assert answer.codes == [0, 0, 0], "only the four steps of the refit are left"
    assert_same_run(tmp_path / "run", reference("grid of folds"), log="points")


def test_sigterm_to_all(commands: Commands, reference: Any, tmp_path: Path) -> None:
    begin(tmp_path, "grid of folds")
    answer = commands.together(tmp_path, 2, *TRAIN, hook={"target": STEP, "call": 2, "signals": ["SIGTERM"]})
    assert answer.codes == [143, 143], answer.errs
    assert "".join(answer.errs).count("stopped by SIGTERM") == 1
    for number, folder in enumerate(("checkpoints", "checkpoints/process-1")):
        assert list((tmp_path / "run" / folder).glob("0*.safetensors")), number
    answer = commands.together(tmp_path, 2, "resume", "run")
    assert answer.codes == [0, 0], answer.errs
    assert_same_run(tmp_path / "run", reference("grid of folds"), log="points")


def test_a_torn_checkpoint_of_another_process(commands: Commands, reference: Any, tmp_path: Path) -> None:
    begin(tmp_path, "grid of folds")
    assert commands.together(tmp_path, 2, *TRAIN, hook={"target": STEP, "call": 4}).codes.count(-9)
    newest = sorted((tmp_path / "run" / "checkpoints" / "process-1").glob("0*"))[-1]
    newest.write_bytes(newest.read_bytes()[:-100])
    answer = commands.together(tmp_path, 2, "resume", "run")
    assert answer.codes == [0, 0], answer.errs
    assert answer.err.count(f"{newest.relative_to(tmp_path)} is torn") == 1
    assert_same_run(tmp_path / "run", reference("grid of folds"), log="points")


@pytest.mark.parametrize(("began", "now"), [(2, 1), (2, 3), (1, 2)])
def test_another_number_of_processes_is_refused(began: int, now: int, commands: Commands, tmp_path: Path) -> None:
    begin(tmp_path, "grid of folds")
    hook = {"target": STEP, "call": 3, "signals": ["SIGTERM"]}
    commands.together(tmp_path, began, *TRAIN, hook=hook)
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    answer = commands.together(tmp_path, now, "resume", "run")
    assert 2 in answer.codes, answer.errs
    assert set(answer.codes) <= {2, 143}, answer.errs  # once one has refused, the others are asked to end
    assert "".join(answer.errs).count(f"begun by {began} process(es), and now there are {now}") == 1
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before


def test_a_second_group_is_refused(commands: Commands, tmp_path: Path) -> None:
    """And before its further processes touch anything of the folder."""
    from gpuclf.report.run_folder import RunFolder
    from gpuclf.report.run_lock import locked

    begin(tmp_path, "grid of folds")
    commands.together(tmp_path, 2, *TRAIN, hook={"target": STEP, "call": 3, "signals": ["SIGTERM"]})
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with locked(RunFolder.open(tmp_path / "run")):
        answer = commands.together(tmp_path, 2, "resume", "run")
    assert answer.codes == [2, 2]
    assert "".join(answer.errs).count("another process is working") == 1
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before


FAULTS = {
    "in the config": ("run.yaml", '{"model": {"type": "mira", "D": 1}}', "model.D"),
    "in the data": ("train.tsv", "label\ttext\na\tx\nb\n", "train.tsv:3"),
    "in the test file": ("test.tsv", "label\ttext\na\tx\nb\n", "test.tsv:3"),
}


@pytest.mark.parametrize("where", FAULTS)
def test_a_fault_is_told_once(where: str, commands: Commands, tmp_path: Path) -> None:
    begin(tmp_path, "grid of folds")
    name, content, told = FAULTS[where]
    (tmp_path / name).write_text(content)
    answer = commands.together(tmp_path, 3, *TRAIN)
    assert 2 in answer.codes
    assert set(answer.codes) <= {2, 143}, "those that had not met the fault yet are stopped by the launcher"
    assert "".join(answer.errs).count("error:") == 1, answer.errs
    assert told in "".join(answer.errs)
    assert "Traceback" not in "".join(answer.errs)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("failed", [True, False])
def test_the_folder_of_a_run_ended_for_the_fault_of_another_process(
    failed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The launcher may end the first process before it meets the fault itself: nothing half made stays. A run that
    somebody stops keeps its folder, to be resumed."""

    def stopped(*arguments: object) -> None:
        raise Interrupted(signal.SIGTERM)

    begin(tmp_path, "one model")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gpuclf.train.run.run_experiment", stopped)
    monkeypatch.setattr("gpuclf.train.distribution.peer_failed", lambda: failed)
    assert main([*TRAIN]) == 143
    assert (tmp_path / "run").exists() is not failed
    assert "stopped by SIGTERM" in capsys.readouterr().err


def test_a_folder_that_is_taken_is_told_once(commands: Commands, tmp_path: Path) -> None:
    """Only the first process looks; the others wait for it, and do not wait forever."""
    begin(tmp_path, "one model")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "note.txt").write_text("mine")
    answer = commands.together(tmp_path, 3, *TRAIN)
    assert answer.code == 2
    assert set(answer.codes[1:]) <= {2, 143}
    assert "".join(answer.errs).count("error:") == 1, answer.errs
    assert "never writes over another" in answer.err
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["note.txt"]


@pytest.fixture(scope="module")
def eleven(commands: Commands, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained model, and eleven documents of which the first has a wrong label."""
    folder = tmp_path_factory.mktemp("eleven")
    lines = [f"__label__{'ab'[number % 2]} {('blue', 'red')[number % 2]} n{number}" for number in range(20)]
    (folder / "train.txt").write_text("\n".join(lines) + "\n")
    tested = ["__label__b blue", *(["__label__a blue", "__label__b red"] * 5)]
    (folder / "test.txt").write_text("\n".join(tested) + "\n")
    write_config(folder, data={"train": "train.txt", "format": "fasttext"}, folds=None, grid=None, test=None)
    answer = commands.run(folder, *TRAIN)
    assert answer.code == 0, answer.err
    return folder


@pytest.mark.parametrize("processes", [1, 2, 3, pytest.param(4, marks=pytest.mark.slow), 12])
def test_every_document_counts_once(processes: int, commands: Commands, eleven: Path) -> None:
    answer = commands.together(eleven, processes, "eval", "run", "test.txt", "--json")
    assert answer.codes == [0] * processes, answer.errs
    assert answer.outs[1:] == [""] * (processes - 1)
    figures = json.loads(answer.out)
    assert figures["documents"] == 11
    assert figures["accuracy"] == 10 / 11
    assert answer.out == commands.run(eleven, "eval", "run", "test.txt", "--json").out


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_every_line_is_answered_once_and_in_order(processes: int, commands: Commands, eleven: Path) -> None:
    answer = commands.together(eleven, processes, "predict", "run", "test.txt")
    assert answer.codes == [0] * processes, answer.errs
    assert "".join(answer.outs) == commands.run(eleven, "predict", "run", "test.txt").out
    assert [line.split("\t")[0] for line in answer.out.splitlines()] == ["a", *["a", "b"] * 5]
