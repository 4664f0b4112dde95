"""The room itself: what tests/conftest.py promises holds for every test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

INNER = """
import random, warnings
import numpy as np
import torch

def test_torch_draw(): torch.rand(1)
def test_numpy_draw(): np.random.rand()
def test_random_draw(): random.random()
def test_warning(): warnings.warn("look out")
def test_own_generators():
    torch.rand(1, generator=torch.Generator().manual_seed(1))
    np.random.default_rng(1).random()
    random.Random(1).random()
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> str:
    """The report of a pytest of its own that ran INNER with this project's settings."""
    file = tmp_path_factory.mktemp("room") / "test_inner.py"
    file.write_text(INNER, encoding="utf-8")
    room = ["-c", "pyproject.toml", "--rootdir", ".", "-p", "tests.conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", *room, str(file)],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("generator", ["torch", "numpy", "random"])
def test_drawing_from_a_global_generator_fails(outcome: str, generator: str):
    assert f"the process-wide generator of {generator};" in outcome


def test_generators_of_ones_own_are_fine(outcome: str):
    assert "test_own_generators" not in "".join(line for line in outcome.splitlines() if line.startswith("ERROR"))
    assert "4 passed, 1 failed, 3 errors" in outcome or "1 failed, 4 passed, 3 errors" in outcome


def test_a_warning_is_an_error(outcome: str):
    assert "UserWarning: look out" in outcome


def test_fresh_memory_is_poisoned(device: torch.device):
    assert torch.isnan(torch.empty(1000, device=device)).all()
    assert (torch.empty(1000, dtype=torch.int64, device=device) == torch.iinfo(torch.int64).max).all()
