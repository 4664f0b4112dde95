"""The same through torchrun itself: its environment, its signals, its output."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.resume.commands import Commands, assert_same_run, one_thread, write_config, write_data

TRAIN = ("train", "run.yaml", "run.dir=run")


def start(folder: Path, processes: int, *arguments: str) -> subprocess.Popen[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    launcher = ["-m", "torch.distributed.run", f"--nproc-per-node={processes}", f"--master-port={port}"]
    return subprocess.Popen(
        [sys.executable, "-W", "error", *launcher, "-m", "gpuclf", *arguments],
        cwd=folder,
        env=one_thread() | {"PYTHONWARNINGS": "error"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def torchrun(folder: Path, processes: int, *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    with start(folder, processes, *arguments) as process:
        out, err = process.communicate(timeout=300)
    return process.returncode, out, err


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    write_data(tmp_path)
    write_config(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "processes", [2, pytest.param(1, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_train(processes: int, commands: Commands, begun: Path) -> None:
    code, out, err = torchrun(begun, processes, *TRAIN)
    assert code == 0, err
    assert out.count("run folder:") == 1
    assert "warn" not in err.lower()
    assert commands.run(begun, "train", "run.yaml", "run.dir=alone").code == 0
    assert_same_run(begun / "run", begun / "alone", log="points")


@pytest.mark.slow
@pytest.mark.parametrize("processes", [1, 2, 3])
def test_eval_and_predict(processes: int, commands: Commands, begun: Path) -> None:
    assert commands.run(begun, *TRAIN).code == 0
    for arguments in (("eval", "run", "test.tsv", "--json"), ("predict", "run", "test.tsv")):
        code, out, err = torchrun(begun, processes, *arguments)
        assert code == 0, err
        assert out == commands.run(begun, *arguments).out
        assert "warn" not in err.lower()


@pytest.mark.slow
def test_a_fault_is_told_once_and_ends_all(begun: Path) -> None:
    (begun / "train.tsv").write_text("label\ttext\na\tx\nb\n")
    code, _, err = torchrun(begun, 3, *TRAIN)
    assert code != 0
    assert err.count("train.tsv:3") == 1
    assert "KeyError" not in err
    assert not (begun / "run").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_torchrun(number: signal.Signals, commands: Commands, begun: Path) -> None:
    """torchrun hands it on; the processes end at a checkpoint, and the run can be resumed."""
    long = {"max_epochs": 1000, "checkpoint_every": None, "evaluate_every": 400}
    write_config(begun, run={"tensorboard": False}, train=long)
    with start(begun, 2, *TRAIN) as process:
        wait_for_rows(begun / "run" / "metrics.jsonl")
        process.send_signal(number)
        _, err = process.communicate(timeout=120)
    assert process.returncode != 0
    assert err.count("gpuclf: stopped by") == 1
    assert list((begun / "run" / "checkpoints").glob("0*")), err
    code, _, err = torchrun(begun, 2, "resume", "run")
    assert code == 0, err
    assert "beginning" not in err
    assert commands.run(begun, "train", "run.yaml", "run.dir=alone").code == 0
    assert_same_run(begun / "run", begun / "alone", log="points")


def wait_for_rows(log: Path) -> None:
    end = time.monotonic() + 120
    while not (log.exists() and log.stat().st_size > 2000):
        assert time.monotonic() < end, "the run does not get going"
        time.sleep(0.02)
