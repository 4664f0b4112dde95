"""Torn checkpoints, a torn log, a full disk: what is whole is used, and what was done is said (case o28)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.resume.commands import Commands, assert_same_run, checkpoints, write_config, write_data

STEP = "gpuclf.train.run_context.step_rows"


@pytest.fixture(scope="module")
def reference(commands: Commands, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    write_data(folder)
    write_config(folder)
    assert commands.run(folder, "train", "run.yaml", "run.dir=run").code == 0
    return folder / "run"


@pytest.fixture
def killed(commands: Commands, tmp_path: Path) -> Path:
    """The folder of a run that was killed in its fourth step."""
    write_data(tmp_path)
    write_config(tmp_path)
    answer = commands.run(tmp_path, "train", "run.yaml", "run.dir=run", hook={"target": STEP, "call": 4})
    assert answer.code == -9
    assert len(checkpoints(tmp_path / "run")) == 2
    return tmp_path / "run"


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size * 6 // 10)


def test_the_checkpoint_before_a_torn_one_is_used(commands: Commands, killed: Path, reference: Path) -> None:
    newest = checkpoints(killed)[-1]
    cut(newest)
    answer = commands.run(killed, "resume", killed)
    assert answer.code == 0, answer.err
    assert f"checkpoint {newest} is torn" in answer.err
    assert "beginning" not in answer.err
    assert_same_run(killed, reference)


def test_with_both_torn_it_starts_from_the_beginning(commands: Commands, killed: Path, reference: Path) -> None:
    for path in checkpoints(killed):
        cut(path)
    answer = commands.run(killed, "resume", killed)
    assert answer.code == 0, answer.err
    for path in checkpoints(killed)[:-2]:
        assert str(path) in answer.err
    assert "starts from the beginning" in answer.err
    assert_same_run(killed, reference)


@pytest.mark.parametrize("share", [0.9, 0.6, 0.0])
def test_a_log_that_lost_rows_goes_back_to_where_it_is_whole(
    share: float, commands: Commands, killed: Path, reference: Path
) -> None:
    """Whoever tears the newest file of a run folder may well hit the log; its checkpoints are then too new for it."""
    log = killed / "metrics.jsonl"
    os.truncate(log, int(log.stat().st_size * share))
    answer = commands.run(killed, "resume", killed)
    assert answer.code == 0, answer.err
    assert "metrics.jsonl has lost" in answer.err
    assert_same_run(killed, reference)


def test_torn_event_files_are_written_anew(commands: Commands, killed: Path, reference: Path) -> None:
    for path in killed.rglob("events.out.tfevents.*"):
        cut(path)
    assert commands.run(killed, "resume", killed).code == 0
    assert_same_run(killed, reference)


# Smallest file sizes first: what is met first is the config, the log, a checkpoint, or a picture in the event file.
@pytest.mark.parametrize("size", [512, 2048, 6000, 16384])
def test_a_full_disk_is_told(size: int, commands: Commands, tmp_path: Path) -> None:
    write_data(tmp_path)
    write_config(tmp_path)
    answer = commands.run(tmp_path, "train", "run.yaml", "run.dir=run", file_size=size)
    assert answer.code == 2, answer.err
    assert "no space left to write" in answer.err
    assert str(tmp_path / "run") in answer.err
    assert "Traceback" not in answer.err
    run = tmp_path / "run"
    assert not [path for path in run.rglob("*") if ".tmp" in path.name]
    assert bool(list(run.rglob("*.safetensors"))) == (size == 16384), "those that fit are whole, the others not there"
    assert run.exists() == (size > 512), "nothing stays of a run that could not begin"


@pytest.mark.parametrize("size", [600, 1500, 6000])
def test_a_full_disk_leaves_the_old_checkpoints(size: int, commands: Commands, killed: Path, reference: Path) -> None:
    before = {path.name: path.read_bytes() for path in checkpoints(killed)}
    answer = commands.run(killed, "resume", killed, file_size=size)
    assert answer.code == 2, answer.err
    assert "no space left to write" in answer.err
    assert {path.name: path.read_bytes() for path in checkpoints(killed)} == before
    answer = commands.run(killed, "resume", killed)
    assert answer.code == 0, answer.err
    assert_same_run(killed, reference)
