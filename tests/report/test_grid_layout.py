from __future__ import annotations

import math
from typing import Any

import pytest

from gpuclf.report.grid_figure import grid_figure
from gpuclf.report.grid_layout import grid_layout
from gpuclf.report.plots import png
from tests.report.html.building import cell

BEST = {"cell": 0, "metric": "accuracy", "value": 0.9}


def _cells(*settings: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell(setting, [0.5 + i / 1000, 0.6]) for i, setting in enumerate(settings)]


def test_a_log_axis_has_zero_and_infinity_a_step_beyond() -> None:
    layout = grid_layout(_cells(*({"model.C": c} for c in (1.0, 0.0, 0.1, math.inf, 0.01))), BEST, "accuracy")
    assert layout is not None
    assert (layout.axis, layout.log) == ("C", True)
    assert [text for _, text in layout.ticks] == ["0", "0.01", "0.1", "1", "inf"]
    assert [at for at, _ in layout.ticks] == pytest.approx([-3, -2, -1, 0, 1])
    assert [point.cell for point in layout.panels[0].points] == [1, 4, 2, 0, 3]


def test_neighbouring_values_make_a_linear_axis() -> None:
    layout = grid_layout(_cells(*({"train.max_epochs": n} for n in (2, 3, 5))), BEST, "accuracy")
    assert layout is not None
    assert not layout.log
    assert [at for at, _ in layout.ticks] == [2, 3, 5]


def test_other_options_make_panels() -> None:
    settings = [{"model.C": c, "features.ngrams": n} for n in ([1, 1], [1, 2]) for c in (0.1, 1.0, 10.0)]
    layout = grid_layout(_cells(*settings), BEST | {"cell": 4}, "accuracy")
    assert layout is not None
    assert [panel.title for panel in layout.panels] == ["ngrams=[1,1]", "ngrams=[1,2]"]
    assert [point.cell for point in layout.panels[1].points] == [3, 4, 5]
    assert [point.cell for point in layout.points if point.chosen] == [4]


def test_truth_values_and_words_are_no_axis() -> None:
    layout = grid_layout(_cells({"a.b": True}, {"a.b": False}), BEST, "accuracy")
    assert layout is not None
    assert layout.axis is None
    layout = grid_layout(_cells({"a.b": 1}, {"a.b": None}), BEST, "accuracy")
    assert layout is not None
    assert layout.axis is None


def test_too_many_panels_become_rows() -> None:
    settings = [{"a.b": word, "a.c": c} for word in map(str, range(30)) for c in (1, 2)]
    layout = grid_layout(_cells(*settings), BEST, "accuracy")
    assert layout is not None
    assert layout.axis is None
    assert [point.at for point in layout.points] == list(range(60))


def test_failed_cells_have_a_place_and_a_reason() -> None:
    cells = [*_cells({"model.C": 0.1}), cell({"model.C": 1.0}, [], failed="diverged")]
    layout = grid_layout(cells, BEST, "accuracy")
    assert layout is not None
    assert [(point.mean is None, point.failure) for point in layout.points] == [(False, None), (True, "diverged")]
    assert grid_layout(cells[1:], None, "accuracy") is None


@pytest.mark.parametrize("keys", [("model.C",), ("model.C", "x.word"), ("x.word",)])
def test_pictures(keys: tuple[str, ...]) -> None:
    values = {"model.C": [0.1, 1.0, 10.0, math.inf] * 2, "x.word": ["$a_{", "b"] * 4}
    cells = _cells(*({key: values[key][i] for key in keys} for i in range(8)))
    cells[5] = cell(cells[5]["options"], [], failed="diverged")
    figure = grid_figure(cells, BEST)
    assert figure is not None
    assert png(figure).startswith(b"\x89PNG")
    assert grid_figure(cells[:1], BEST) is None
    assert grid_figure(cells, None) is None
