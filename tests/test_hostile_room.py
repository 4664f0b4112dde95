"""The room itself: what tests/conftest.py promises holds for every test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch


def run_in_the_room(tmp_path: Path, repository: Path, body: str) -> str:
    """Runs one test function in a pytest of its own with this project's settings; gives its output."""
    file = tmp_path / "test_inner.py"
    file.write_text(f"import random, warnings\nimport numpy as np\nimport torch\ndef test_it():\n    {body}\n", "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider", str(file)]
    done = subprocess.run(
        [*command, "-c", "pyproject.toml", "--rootdir", "."],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    ("body", "generator"), [("torch.rand(1)", "torch"), ("np.random.rand()", "numpy"), ("random.random()", "random")]
)
def test_drawing_from_a_global_generator_fails(tmp_path: Path, repository: Path, body: str, generator: str):
    assert f"the process-wide generator of {generator};" in run_in_the_room(tmp_path, repository, body)


def test_a_generator_of_ones_own_is_fine(tmp_path: Path, repository: Path):
    body = "torch.rand(1, generator=torch.Generator().manual_seed(1)); np.random.default_rng(1).random()"
    assert "1 passed" in run_in_the_room(tmp_path, repository, body)


def test_a_warning_is_an_error(tmp_path: Path, repository: Path):
    out = run_in_the_room(tmp_path, repository, "warnings.warn('look out')")
    assert "UserWarning: look out" in out
    assert "1 failed" in out


def test_fresh_memory_is_poisoned(device: torch.device):
    assert torch.isnan(torch.empty(1000, device=device)).all()
    assert (torch.empty(1000, dtype=torch.int64, device=device) == torch.iinfo(torch.int64).max).all()
