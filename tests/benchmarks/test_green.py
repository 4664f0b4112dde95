"""No times on red, and none without tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.green import require_green


def test_green_says_what_ran(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    good = tmp_path / "test_good.py"
    good.write_text("def test_it(): assert True\n", encoding="utf-8")
    require_green([str(good)])
    assert "1 passed" in capsys.readouterr().out


def test_red_stops_the_program(tmp_path: Path):
    bad = tmp_path / "test_bad.py"
    bad.write_text("def test_it(): assert 2 + 2 == 5\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="no times on red"):
        require_green([str(bad)])


def test_a_missing_test_stops_the_program():
    with pytest.raises(SystemExit, match=r"tests/ops/test_no_such_op\.py is missing"):
        require_green(["tests/ops/test_no_such_op.py"])


def test_nothing_run_is_not_green(tmp_path: Path):
    slow = tmp_path / "test_slow.py"
    slow.write_text("import pytest\n@pytest.mark.slow\ndef test_it(): pass\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="no times on red"):
        require_green([str(slow)])
