from __future__ import annotations

import math
from pathlib import Path

import pytest

from gpuclf.faults import UserFault
from gpuclf.report.metrics_log import MetricsLog, read_rows


def _row(step: int) -> dict[str, object]:
    return {"phase": "grid", "batch": 0, "step": step, "cell": 0, "seed": 0, "fold": None, "mistakes": step}


def test_rows_are_readable_at_once_and_cut_back_to_a_position(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path) as log:
        log.append([_row(1), _row(2)])
        position = log.sync()
        assert position == path.stat().st_size == log.position()
        log.append([_row(3)])
        assert [row["step"] for row in read_rows(path)] == [1, 2, 3]
        log.truncate(position)
        log.append([_row(4)])
        log.truncate(log.position())
    assert [row["step"] for row in read_rows(path)] == [1, 2, 4]
    with MetricsLog(path) as log:
        log.truncate(0)
    assert path.read_bytes() == b""


@pytest.mark.parametrize("torn", [b'{"step": 3', b'{"text": "' + b"x" * 200_000])
def test_a_torn_last_line_is_not_read_and_is_cut_off_on_opening(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n{"step": 2}\n' + torn)
    assert [row["step"] for row in read_rows(path)] == [1, 2]
    with MetricsLog(path) as log:
        log.append([_row(3)])
    assert [row["step"] for row in read_rows(path)] == [1, 2, 3]


def test_a_file_that_is_one_torn_line_becomes_empty(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"ste')
    with MetricsLog(path) as log:
        assert log.position() == 0


def test_positions_that_the_file_does_not_have_are_faults(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path) as log:
        log.append([_row(1)])
        with pytest.raises(UserFault, match="cut or replaced"):
            log.truncate(log.position() + 1)
        with pytest.raises(UserFault, match="not the end of a line"):
            log.truncate(5)
    assert [row["step"] for row in read_rows(path)] == [1]


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\nnonsense\n{"step": 2}\n')
    with pytest.raises(UserFault, match=r"metrics\.jsonl:2"):
        list(read_rows(path))


def test_non_finite_figures_keep_the_file_strict(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path) as log:
        log.append([{"loss": math.nan, "options": {"model.C": math.inf}}])
    assert next(read_rows(path)) == {"loss": "nan", "options": {"model.C": "inf"}}
