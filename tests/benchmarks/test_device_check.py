"""The script for a GPU machine runs on this one too, in small, and tells what failed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_a_dry_run_ends_well(tmp_path: Path, repository: Path):
    done = subprocess.run(
        ["bash", "benchmarks/device_check.sh", "--dry"],
        cwd=repository,
        env={**os.environ, "PYTHON": sys.executable, "OUT": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no CUDA device is used" in done.stdout
    lines = (tmp_path / "summary.txt").read_text(encoding="utf-8").splitlines()
    assert "cpu" in lines[0]
    assert [line.split()[:2] for line in lines[1:4]] == [["ops", "ok"], ["figures", "ok"], ["linear", "ok"]]
    figures = [
        json.loads(line) for line in (tmp_path / "device_figures.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    families = {"linear", "tagger", "forest", "networks", "sequences", "decomposable", "config"}
    assert {figure["family"] for figure in figures} == families
    assert {figure["outcome"] for figure in figures} == {"equal"}
    assert len(lines) == len(figures) + 7
    assert "ratio" in (tmp_path / "linear.log").read_text(encoding="utf-8")


def test_a_python_without_our_libraries_is_told_so(tmp_path: Path, repository: Path):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n', encoding="utf-8")
    bare.chmod(0o755)
    done = subprocess.run(
        ["bash", "benchmarks/device_check.sh"],
        cwd=repository,
        env={**os.environ, "PYTHON": str(bare), "OUT": str(tmp_path / "out")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "this Python lacks: torch numpy" in done.stderr
