"""Kills at moments that nobody chose: up to twenty of them, each of a fresh process (case o28)."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.resume.commands import assert_same_run, one_thread, write_config, write_data


def gpuclf(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "gpuclf", *arguments]
    return subprocess.Popen(command, cwd=folder, env=one_thread(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.mark.slow
def test_twenty_kills(tmp_path: Path) -> None:
    """Each process lives for some time after the last one's start-up; the run gets to its end all the same."""
    write_data(tmp_path)
    write_config(tmp_path, train={"max_epochs": 600})
    began = time.monotonic()
    assert gpuclf(tmp_path, "train", "run.yaml", "run.dir=whole").wait(timeout=300) == 0
    whole = time.monotonic() - began
    draw, kills, run = random.Random(7), 0, tmp_path / "run"
    while kills < 20:
        command = ("resume", "run") if (run / "config.yaml").exists() else ("train", "run.yaml", "run.dir=run")
        with gpuclf(tmp_path, *command) as process:
            try:
                assert process.wait(timeout=draw.uniform(0.2, 0.9) * whole) == 0
                break
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                kills += 1
    assert kills, "nothing was interrupted"
    assert gpuclf(tmp_path, "resume", "run").wait(timeout=300) == 0
    assert_same_run(run, tmp_path / "whole")
