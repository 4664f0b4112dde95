"""What the report says of a forest's record, and the curves that TensorBoard gets of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from gpuclf.ops.forest_votes import MISSING_LEFT, MISSING_RIGHT, MISSING_UNSEEN
from gpuclf.report import forest_text
from gpuclf.report.forest_record import forest_lines, forest_scalars, input_rows
from gpuclf.report.html.forest_section import forest_section
from gpuclf.report.summary import FinalFigures, GridPlan
from gpuclf.report.tensorboard import TensorBoardLog

RECORD: dict[str, Any] = {
    "trees": 4,
    "nodes": {"mean": 9.5, "least": 7, "most": 13},
    "depth": {"mean": 3.5, "least": 2, "most": 5},
    "accuracy_by_trees": {
        "out_of_bag": {"trees": [2, 4], "accuracy": [0.5, 0.625]},
        "test": {"trees": [1, 2, 4], "accuracy": [0.25, 0.5, 0.75]},
    },
    "strength": {
        "out_of_bag": {"documents": 8, "accuracy": 0.6, "strength": 0.5, "correlation": 0.25, "error_bound": 0.75},
        "test": {"documents": 9, "accuracy": 0.7, "strength": -0.5, "correlation": 0.25, "error_bound": None},
    },
    "inputs": {
        "<b>": {"gain": 0.75, "splits": 0.5, "unseen": 3, "permutation": {"mean": 0.125, "std": 0.0625}},
        "y": {"gain": 0.25, "splits": 0.5, "unseen": 0, "permutation": {"mean": -0.25, "std": 0.0}},
    },
    "inputs_in_all": 7,
    "unseen": {"documents": 2, "values": 3, "rows_are": "test"},
    "permutation": {"rows_are": "test", "repeats": 5, "documents": 9},
}


def test_a_record_in_sentences_and_rows() -> None:
    lines = forest_lines(RECORD)
    assert lines[0] == "4 trees of 10 nodes (7 to 13), 3.5 levels deep (2 to 5)"
    assert lines[1].startswith(
        "out of bag: accuracy 0.6000, strength 0.5000, mean correlation 0.2500, error at most 0.75"
    )
    assert lines[2] == "test: accuracy 0.7000, strength -0.5000, mean correlation 0.2500"
    assert lines[3] == "3 values in 2 test documents are new to the forest"
    assert forest_lines({}) == []
    head, rows = input_rows(RECORD)
    assert head == ["input", "gain", "splits", "accuracy lost", "sd", "unseen"]
    assert rows[0] == ["<b>", "75.0%", "50.0%", "0.1250", "0.0625", "3"]


def test_values_that_were_removed_are_told() -> None:
    inputs = {"x": {"gain": 1.0, "splits": 1.0, "values": 8, "removed": 3}}
    record = {name: RECORD[name] for name in ("trees", "nodes", "depth")} | {
        "inputs": inputs,
        "reduction": {"values": 8, "merged": 1, "dropped": 2},
    }
    assert forest_lines(record)[1] == (
        "3 of 8 values of training were removed (37.5%): 1 merged with one of the same class, 2 dropped as rare"
    )
    assert input_rows(record) == (
        ["input", "gain", "splits", "values", "removed"],
        [["x", "100.0%", "100.0%", "8", "3"]],
    )
    assert dict(forest_scalars(record))[0]["forest/values_removed"] == 0.375


def test_tensorboard_has_accuracy_over_the_number_of_trees_and_figures_of_inputs(tmp_path: Path) -> None:
    log = TensorBoardLog(tmp_path, GridPlan())
    log.final(FinalFigures("f", ["a"], [{"options": {}}], None, importances=[("y", 0.25)], forest=RECORD))
    log.close()
    found = EventAccumulator(str(tmp_path)).Reload()
    points = {tag: [(e.step, e.value) for e in found.Scalars(tag)] for tag in found.Tags()["scalars"]}
    assert points["forest/test_accuracy_by_trees"] == [(1, 0.25), (2, 0.5), (4, 0.75)]
    assert points["forest/out_of_bag_accuracy_by_trees"] == [(2, 0.5), (4, 0.625)]
    assert points["forest/out_of_bag_error_bound"] == [(0, 0.75)]
    assert "forest/test_error_bound" not in points
    assert points["forest/depth_most"] == [(0, 5.0)]
    assert points["permutation/<b>"] == [(0, 0.125)]
    assert points["permutation_sd/<b>"] == [(0, 0.0625)]
    assert points["splits/y"] == [(0, 0.5)]


def test_rounds_of_boosting_are_called_rounds() -> None:
    record = {k: v for k, v in RECORD.items() if k not in ("accuracy_by_trees", "strength")}
    record["accuracy_by_rounds"] = RECORD["accuracy_by_trees"]
    assert "forest/test_accuracy_by_rounds" in dict(forest_scalars(record))[4]
    page = forest_section([("y", 1.0)], None, record)
    assert "accuracy by the number of rounds" in page
    assert "&lt;b&gt;" in page
    assert "The first 2 of 7." in page


def test_a_threshold_says_where_missing_numbers_go() -> None:
    assert forest_text._sides("size", "2.5", 3, MISSING_LEFT) == ("size <= 2.5 or missing", "size above")
    assert forest_text._sides("size", "2.5", 3, MISSING_RIGHT) == ("size <= 2.5", "size above or missing")
    assert forest_text._sides("size", "2.5", 3, MISSING_UNSEEN) == ("size <= 2.5", "size above")
