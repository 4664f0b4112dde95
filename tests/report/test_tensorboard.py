"""Event files are read back with TensorBoard's own reader."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import RawEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.plugins.hparams import api_pb2, metadata
from tensorboard.util.tensor_util import make_ndarray

from gpuclf.report.summary import FinalFigures, GridPlan
from gpuclf.report.tensorboard import TensorBoardLog

CELLS = ({"model.C": 0.1, "features.ngrams": [1, 1]}, {"model.C": math.inf, "features.ngrams": [1, 2]})
RUNS = ((0, 0), (0, 1))
CLASSES = ("ham", "spam", "to/do")


def _rows(step: int, cells: Sequence[int] = (0, 1), runs: Sequence[Any] = RUNS, batch: int = 0) -> list[dict[str, Any]]:
    return [
        {
            "phase": "grid",
            "batch": batch,
            "step": step,
            "cell": cell,
            "options": CELLS[cell],
            "seed": seed,
            "fold": fold,
        }
        | {"mistakes": 10 * cell + step + (fold or 0), "held_out": {"accuracy": step / 10 + (fold or 0) / 100}}
        for cell in cells
        for seed, fold in runs
    ]


def _refit(step: int) -> list[dict[str, Any]]:
    return [
        {
            "phase": "refit",
            "batch": 0,
            "step": step,
            "cell": 1,
            "options": CELLS[1],
            "seed": 0,
            "fold": None,
            "mistakes": step,
        }
    ]


def _read(folder: Path) -> EventAccumulator:
    reader = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    reader.Reload()
    return reader


def _cell(folder: Path, index: int) -> Path:
    return sorted((folder / "cells").iterdir())[index]


def _scalars(folder: Path, tag: str) -> list[tuple[int, float]]:
    return [(event.step, round(event.value, 6)) for event in _read(folder).Scalars(tag)]


def _all_points(folder: Path) -> dict[tuple[Path, str], list[int]]:
    """Every point of every event file, not through the reader that would drop some: (folder, tag) → steps."""
    points: dict[tuple[Path, str], list[int]] = {}
    for file in sorted(folder.rglob("events.out.tfevents.*")):
        for record in RawEventFileLoader(str(file)).Load():
            event = Event.FromString(record)
            for value in event.summary.value:
                points.setdefault((file.parent, value.tag), []).append(event.step)
    return points


def _assert_rising(folder: Path) -> None:
    points = _all_points(folder)
    assert points
    for place, steps in points.items():
        assert steps == sorted(set(steps)), place


def _figures(**changes: Any) -> FinalFigures:
    generator = torch.Generator().manual_seed(1)
    gold = torch.tensor([0, 1, 2, 0, 1, 2, 0, -1])
    scores = torch.randn(8, 3, generator=generator)
    scores[torch.arange(7), gold[:7]] += 2
    weights = torch.randn(5, 3, generator=generator)
    weights[2] = 0.0
    weights[1, 1] = -torch.inf
    cells = [
        {"options": CELLS[0], "runs": [{"seed": 0, "fold": f, "accuracy": 0.9} for f in (0, 1)]}
        | {"mean": {"accuracy": 0.9}, "std": {"accuracy": 0.01}},
        {"options": CELLS[1], "runs": [{"seed": 0, "fold": 0, "accuracy": math.nan}], "mean": {}, "std": {}},
    ]
    fields: dict[str, Any] = {
        "name": "demo",
        "classes": CLASSES,
        "cells": cells,
        "best": {"cell": 0, "metric": "accuracy", "value": 0.9},
        "gold": gold,
        "predicted": scores.argmax(1),
        "scores": scores,
        "test": {"accuracy": 0.75, "per_class": {"ham": {"f1": 1.0}}},
        "feature_names": ["a|b", "c", "d", "<e>"],
        "weights": weights,
        "config_text": "model:\n  type: mira\n",
        "seconds": {"read": 1.0},
    }
    return FinalFigures(**(fields | changes))


def test_each_cell_is_a_run_with_the_mean_of_its_folds_and_the_folds_beside_it(tmp_path: Path) -> None:
    log = TensorBoardLog(tmp_path, GridPlan(CELLS, RUNS))
    for step in (1, 2, 3):
        log.step(_rows(step))
    log.close()
    assert [folder.name for folder in sorted((tmp_path / "cells").iterdir())] == [
        "0_C=0.1_ngrams=1,1",
        "1_C=inf_ngrams=1,2",
    ]
    assert _scalars(_cell(tmp_path, 1), "held_out/accuracy") == [(1, 0.105), (2, 0.205), (3, 0.305)]
    assert _scalars(_cell(tmp_path, 1), "fit/mistakes") == [(1, 11.5), (2, 12.5), (3, 13.5)]
    assert _scalars(_cell(tmp_path, 0), "runs/held_out/accuracy/seed 0, fold 1") == [(1, 0.11), (2, 0.21), (3, 0.31)]
    _assert_rising(tmp_path)


def test_points_can_be_read_while_training_goes_on(tmp_path: Path) -> None:
    log = TensorBoardLog(tmp_path, GridPlan(CELLS, RUNS))
    log.step(_rows(1))
    assert _scalars(_cell(tmp_path, 0), "held_out/accuracy") == [(1, 0.105)]
    log.step(_rows(2))
    assert _scalars(_cell(tmp_path, 0), "held_out/accuracy") == [(1, 0.105), (2, 0.205)]


def test_a_cell_cut_into_two_batches_has_each_step_once(tmp_path: Path) -> None:
    log = TensorBoardLog(tmp_path, GridPlan(CELLS, RUNS))
    for batch, run in enumerate(RUNS):
        for step in (1, 2, 3)[: 3 - batch]:
            log.step(_rows(step, runs=(run,), batch=batch))
    log.close()
    assert _scalars(_cell(tmp_path, 0), "held_out/accuracy") == [(1, 0.105), (2, 0.205), (3, 0.255)]
    _assert_rising(tmp_path)


def test_without_a_grid_everything_is_in_the_run_folder_itself(tmp_path: Path) -> None:
    log = TensorBoardLog(tmp_path, GridPlan())
    row = {"phase": "grid", "batch": 0, "cell": 0, "options": {}, "seed": 0, "fold": None, "mistakes": 4}
    for step in (1, 2):
        log.step([row | {"step": step}])
        log.step([row | {"step": step, "phase": "refit"}])
    cells = [{"options": {}, "runs": [{"seed": 0, "fold": None}], "mean": {}, "std": {}}]
    log.final(_figures(cells=cells, best={"cell": 0, "metric": "accuracy", "value": None}, gold=None, weights=None))
    log.close()
    assert not (tmp_path / "cells").exists()
    assert sorted(_read(tmp_path).Tags()["scalars"]) == ["fit/mistakes", "refit/mistakes", "test/accuracy"]
    _assert_rising(tmp_path)


def test_resuming_writes_each_step_once_and_forgets_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    """Cases o30 and o31."""
    plan = GridPlan(CELLS, RUNS)
    straight = tmp_path / "straight"
    log = TensorBoardLog(straight, plan)
    for step in (1, 2, 3, 4):
        log.step(_rows(step))
    log.step(_refit(1))
    log.close()

    resumed = tmp_path / "resumed"
    first = TensorBoardLog(resumed, plan)
    for step in (1, 2, 3):
        first.step([row | {"mistakes": 99} if step == 3 else row for row in _rows(step)])
    first.final(_figures())
    kept = [row for step in (1, 2) for row in _rows(step)]
    second = TensorBoardLog.rebuild(resumed, iter(kept), plan)
    for step in (3, 4):
        second.step(_rows(step))
    second.step(_refit(1))
    second.close()
    _assert_rising(resumed)
    points = {(place.relative_to(straight), tag): steps for (place, tag), steps in _all_points(straight).items()}
    assert points == {(place.relative_to(resumed), tag): steps for (place, tag), steps in _all_points(resumed).items()}
    assert _scalars(_cell(resumed, 0), "fit/mistakes") == _scalars(_cell(straight, 0), "fit/mistakes")
    assert len(list(_cell(resumed, 0).iterdir())) == 1


def test_the_hparams_table_has_a_row_per_cell_with_its_figures(tmp_path: Path) -> None:
    log = TensorBoardLog(tmp_path, GridPlan(CELLS, RUNS))
    log.step(_rows(1))
    log.final(_figures())
    log.close()
    content = _read(tmp_path).SummaryMetadata(metadata.EXPERIMENT_TAG).plugin_data.content
    experiment = metadata.parse_experiment_plugin_data(content)
    columns = {info.name: info for info in experiment.hparam_infos}
    assert [info.display_name for info in experiment.hparam_infos] == ["C", "ngrams"]
    assert [v.string_value for v in columns["model.C"].domain_discrete.values] == ["0.1", "inf"]
    assert [info.name.tag for info in experiment.metric_infos] == ["summary/accuracy", "summary/accuracy_sd"]
    statuses = []
    for index, text in enumerate(("0.1", "inf")):
        reader = _read(_cell(tmp_path, index))
        start = metadata.parse_session_start_info_plugin_data(
            reader.SummaryMetadata(metadata.SESSION_START_INFO_TAG).plugin_data.content
        )
        assert start.hparams["model.C"].string_value == text
        assert start.group_name == ""
        end = metadata.parse_session_end_info_plugin_data(
            reader.SummaryMetadata(metadata.SESSION_END_INFO_TAG).plugin_data.content
        )
        statuses.append(end.status)
    assert statuses == [api_pb2.STATUS_SUCCESS, api_pb2.STATUS_FAILURE]
    assert _scalars(_cell(tmp_path, 0), "summary/accuracy") == [(0, 0.9)]
    assert "summary/accuracy" not in _read(_cell(tmp_path, 1)).Tags()["scalars"]
    _assert_rising(tmp_path)


def test_pr_curves_hold_counts_of_every_threshold(tmp_path: Path) -> None:
    figures = _figures()
    log = TensorBoardLog(tmp_path, GridPlan(CELLS, RUNS))
    log.final(figures)
    reader = _read(tmp_path)
    assert {tag for tag in reader.Tags()["tensors"] if tag.startswith("pr/")} == {f"pr/{name}" for name in CLASSES}
    true, false, rejected, missed, precision, recall = make_ndarray(reader.Tensors("pr/ham")[0].tensor_proto)
    assert (true + missed == 3).all()
    assert (false + rejected == 5).all()
    assert (np.diff(true) <= 0).all()  # the plugin's thresholds rise
    assert true[0] == 3
    assert recall[0] == 1
    np.testing.assert_allclose(precision, true / (true + false), rtol=1e-6)
    assert figures.scores is not None
    strictest = figures.scores[:, 0].argmax()
    assert true[-1] == (figures.gold is not None and int(figures.gold[strictest]) == 0)


def test_reliability_of_probabilities(tmp_path: Path) -> None:
    figures = _figures()
    assert figures.scores is not None
    TensorBoardLog(tmp_path, GridPlan(CELLS, RUNS)).final(
        replace(figures, probabilities=True, scores=figures.scores.double().log_softmax(1))
    )
    image = _read(tmp_path).Images("pictures/reliability")[0]
    assert image.encoded_image_string.startswith(b"\x89PNG")


def test_no_picture_of_a_single_cell(tmp_path: Path) -> None:
    TensorBoardLog(tmp_path, GridPlan(CELLS[:1], RUNS)).final(_figures(cells=_figures().cells[:1]))
    assert "pictures/grid" not in _read(tmp_path).Tags()["images"]


def test_pictures_histograms_and_texts(tmp_path: Path) -> None:
    log = TensorBoardLog(tmp_path, GridPlan(CELLS, RUNS))
    log.final(_figures())
    reader = _read(tmp_path)
    assert sorted(reader.Tags()["images"]) == ["pictures/confusion", "pictures/grid", "pictures/pr_curves"]
    image = reader.Images("pictures/confusion")[0]
    assert image.encoded_image_string.startswith(b"\x89PNG")
    assert image.width > 300
    histogram = reader.Histograms("weights_of_class/spam")[0].histogram_value
    assert histogram.num == 2  # of four weights one is 0, one infinite
    assert sum(histogram.bucket) == 2
    assert reader.Histograms("weights/all")[0].histogram_value.num == 8
    texts = {
        tag: make_ndarray(reader.Tensors(tag)[0].tensor_proto)[0].decode()
        for tag in ("config", "top_features", "summary")
    }
    assert "    model:\n      type: mira" in texts["config"]
    assert "\\<e\\>" in texts["top_features"] or "a\\|b" in texts["top_features"]
    assert "accuracy is nan (seed 0, fold 0)" in texts["summary"]
    assert _scalars(tmp_path, "test/accuracy") == [(0, 0.75)]


def test_a_class_without_test_documents_has_no_pr_curve(tmp_path: Path) -> None:
    gold = torch.tensor([0, 1, 0, 0, 1, 1, 0, 7])
    TensorBoardLog(tmp_path, GridPlan(CELLS, RUNS)).final(_figures(gold=gold))
    tags = _read(tmp_path).Tags()["tensors"]
    assert "pr/spam" in tags
    assert "pr/to/do" not in tags


def test_a_thousand_cells_hold_no_file_open(tmp_path: Path) -> None:
    import os

    cells = [{"model.C": float(index)} for index in range(300)]
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else pytest.skip("needs /proc")
    log = TensorBoardLog(tmp_path, GridPlan(cells))
    row = {"phase": "grid", "batch": 0, "step": 1, "options": {}, "seed": 0, "fold": None, "mistakes": 1}
    log.step([row | {"cell": index} for index in range(300)])
    assert len(os.listdir("/proc/self/fd")) <= before + 1
    assert len(list((tmp_path / "cells").iterdir())) == 300


def test_importing_the_report_loads_nothing_heavy() -> None:
    modules = "console progress explain plots run_folder metrics_log predictions environment summary"
    lines = [f"import gpuclf.report.{name}" for name in modules.split()]
    check = "import sys; print([m for m in ('matplotlib', 'tensorboard', 'rich', 'numba') if m in sys.modules])"
    program = "\n".join([*lines, check])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
