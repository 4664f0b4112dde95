"""The command under test, with a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.drive import Gpuclf


@pytest.fixture
def gpuclf(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Gpuclf:
    """Runs commands in this process; the current directory is an empty folder."""
    standing = tmp_path / "standing"
    standing.mkdir()
    monkeypatch.chdir(standing)
    return Gpuclf(tmp_path, capsys, monkeypatch)
