from __future__ import annotations

import io
import math
from pathlib import Path

import pytest

from gpuclf.data.records import ReadReport
from gpuclf.faults import UserFault, UserFaults
from gpuclf.report.console import print_fault, print_grid, print_read_reports, print_test
from gpuclf.report.summary import cell_failure, cell_label, option_text, short_names


def _cell(c: float, *accuracies: float, **extra: object) -> dict[str, object]:
    runs = [{"seed": 0, "fold": fold, "accuracy": accuracy} for fold, accuracy in enumerate(accuracies)]
    mean = sum(accuracies) / len(accuracies)
    return {"options": {"model.C": c}, "runs": runs, "mean": {"accuracy": mean}, "std": {"accuracy": 0.01}} | extra


def _grid(cells: list[dict[str, object]], best: dict[str, object] | None) -> list[str]:
    stream = io.StringIO()
    print_grid(cells, best, stream=stream)
    return stream.getvalue().splitlines()


def test_the_grid_has_a_row_per_cell_and_marks_the_best() -> None:
    lines = _grid([_cell(0.1, 0.8, 0.9), _cell(1.0, 0.9, 0.94)], {"cell": 1, "metric": "accuracy", "value": 0.92})
    assert lines[0].split() == ["C", "accuracy", "runs"]
    assert lines[1].split() == ["0.1", "0.8500", "±", "0.0100", "2"]
    assert lines[2].split() == ["*", "1", "0.9200", "±", "0.0100", "2"]
    assert lines[3] == "best: C=1 (accuracy 0.9200)"


@pytest.mark.parametrize("bad", [math.nan, math.inf, "nan", "inf"])
def test_a_diverged_cell_is_last_with_its_reason_and_without_figures(bad: float | str) -> None:
    """Case o16; metrics.json holds the words for what is no number."""
    cell = _cell(1e300, 0.5, 0.9)
    cell["runs"][1]["accuracy"] = bad  # type: ignore[index]
    lines = _grid([cell, _cell(0.1, 0.8, 0.9)], {"cell": 1, "metric": "accuracy", "value": 0.85})
    assert lines[1].split()[:2] == ["*", "0.1"]
    assert lines[2].split()[0] == "1e+300"
    assert "failed: accuracy is" in lines[2]
    assert "fold 1" in lines[2]
    assert "±" not in lines[2]
    assert "0.7000" not in lines[2]
    assert "0.0000" not in lines[2]


def test_the_reason_of_a_failed_run_wins_over_the_cells() -> None:
    cell = _cell(1.0, 0.5) | {"failed": "a run has no finite result", "mean": {}}
    assert cell_failure(cell) == "a run has no finite result"
    cell["runs"][0]["failed"] = "loss is nan at step 3"  # type: ignore[index]
    assert cell_failure(cell) == "loss is nan at step 3 (seed 0, fold 0)"


def test_nothing_chosen_is_said_and_told_from_nothing_evaluated() -> None:
    assert _grid([_cell(1.0, math.nan)], None)[-1] == "no cell has a finite result: nothing was chosen"
    single = {"options": {}, "runs": [{"seed": 0, "fold": None}], "mean": {}, "std": {}}
    lines = _grid([single], {"cell": 0, "metric": "accuracy", "value": None})
    assert lines[-1] == "no held-out documents: nothing was compared"
    assert "failed" not in "".join(lines)


def test_a_single_run_has_no_spread() -> None:
    lines = _grid([_cell(0.1, 0.8)], {"cell": 0, "metric": "accuracy", "value": 0.8})
    assert "±" not in "".join(lines)


def test_names_and_values_of_options() -> None:
    assert short_names(["model.C", "a.k", "b.k"]) == {"model.C": "C", "a.k": "a.k", "b.k": "b.k"}
    assert cell_label({"model.C": 1e-3, "features.ngrams": [1, 2]}) == "C=0.001 ngrams=[1,2]"
    assert cell_label({}) == "the only cell"
    assert [option_text(v) for v in (True, None, 0.123456789, math.inf, "x")] == [
        "true",
        "null",
        "0.123456789",
        "inf",
        "x",
    ]


def test_the_test_table_shows_every_class_of_few_and_the_worst_of_many() -> None:
    stream = io.StringIO()
    few = {"[red]a": {"precision": 1.0, "f1": 0.5, "support": 1200}, "b\x1b[31m": {"f1": None}}
    print_test({"accuracy": 0.75, "per_class": few}, stream=stream)
    lines = stream.getvalue().splitlines()
    assert lines[0] == "test: accuracy 0.7500"
    assert lines[2].split() == ["[red]a", "1.0000", "0.5000", "1,200"]
    assert lines[3].split() == ["b\\x1b[31m"]
    assert "\x1b" not in stream.getvalue()

    stream = io.StringIO()
    many = {f"class {index:02d}": {"f1": index / 77} for index in range(77)}
    print_test({"accuracy": 0.5, "per_class": many}, stream=stream)
    shown = [line for line in stream.getvalue().splitlines() if line.startswith("class ")]
    assert [line.split()[1] for line in shown[1:]] == [f"{index:02d}" for index in range(15)]
    assert "62 others" in stream.getvalue()


def test_read_reports_say_records_beside_lines_and_empty_documents(capsys: pytest.CaptureFixture[str]) -> None:
    report = ReadReport(
        Path("x.csv"), "csv", records=1200, lines=1207, skipped=2, empty_documents=3, per_class={"b": 1199, "a": 1}
    )
    report.notes.append("indices count from 1")
    many = ReadReport(Path("y.tsv"), "tsv", records=77, lines=77, per_class={f"c{i:02d}": i + 1 for i in range(77)})
    print_read_reports([report, many])
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[0] == "read x.csv: 1,200 records in 1,207 lines, csv, 2 skipped, 3 empty documents"
    assert lines[1] == "  2 classes: a 1, b 1,199"
    assert lines[2] == "  indices count from 1"
    assert lines[4] == "  77 classes; largest: c76 77, c75 76, c74 75; smallest: c00 1, c01 2, c02 3"


def test_faults_are_lines_of_their_own_and_long_ones_are_not_broken(capsys: pytest.CaptureFixture[str]) -> None:
    long = UserFault("x" * 300, file="a.yaml", line=3, key="model.C", remedy="set [model.C]")
    print_fault(UserFaults([long, UserFault("second\x07")]))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        f"error: a.yaml:3: model.C: {'x' * 300}; set [model.C]",
        "error: second\\x07",
    ]
