"""Markup, axes and mean curves by themselves."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuclf.report.html.learning_section import learning_section, wanted_figures
from gpuclf.report.html.markup import Markup, escaped, joined, table, tag
from gpuclf.report.html.mean_curves import mean_curves
from gpuclf.report.html.svg import Axis, padded, round_ticks, whole_ticks
from tests.report.html.building import Page


@given(st.text(st.characters(codec=None)))
def test_any_text_is_text_and_can_be_encoded(text: str) -> None:
    read = Page(tag("p", text, title=text))
    assert read.tags == [("p", {"title": html.unescape(escaped(text))})]
    assert not read.faults
    escaped(text).encode("utf-8")


def test_only_what_functions_made_is_markup() -> None:
    assert joined("<b>", tag("b", "x"), None) == "&lt;b&gt;<b>x</b>"
    assert tag("i", Markup("<br>"), class_="a", data_x="1", hidden=True, open=False, id=None) == (
        '<i class="a" data-x="1" hidden><br></i>'
    )
    assert escaped("a\x00\u202e\n\tb") == "a\\x00\\u202e\n\tb"


def test_table() -> None:
    read = Page(table(["a", "b"], [["1", "<"], ["2", "&"]], numbers=[0]))
    assert not read.faults
    assert read.count("td", class_="n") == 2
    assert read.texts["header"].split() == ["a", "b", "1", "<", "2", "&"]


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.0, 1.0, ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.81, 0.88, ["0.82", "0.84", "0.86", "0.88"]),
        (0.0, 12000.0, ["0", "2,000", "4,000", "6,000", "8,000", "10,000", "12,000"]),
        (-2.0, 2.0, ["-2", "-1", "0", "1", "2"]),
        (3.0, 3.0, ["3"]),
    ],
)
def test_ticks(low: float, high: float, texts: list[str]) -> None:
    assert [text for _, text in round_ticks(low, high, 5)] == texts


def test_ticks_of_counts_are_whole() -> None:
    assert [text for _, text in whole_ticks(1, 3, 6)] == ["1", "2", "3"]


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_every_tick_is_within_the_range(one: float, other: float) -> None:
    low, high = padded([one, other])
    axis = Axis(low, high, 0.0, 100.0, round_ticks(low, high, 5))
    assert all(-0.2 <= axis.at(at) <= 100.2 for at, _ in axis.ticks)
    assert len(axis.ticks) <= 16


def test_a_mean_is_always_over_the_same_runs() -> None:
    def row(step: int, fold: int, mistakes: int, phase: str = "grid") -> dict[str, object]:
        place = {"phase": phase, "batch": 0, "step": step, "cell": 0, "options": {}, "seed": 0, "fold": fold}
        return place | {"mistakes": mistakes, "loss": 1.0}

    rows = [row(1, 0, 10), row(2, 0, 8), row(2, 1, 20), row(3, 1, 16), row(4, 1, 14), row(1, 0, 5, "refit")]
    curves = mean_curves(rows, frozenset({"fit/mistakes"}))
    steps, values = curves.of("grid", "fit/mistakes")[0]
    assert steps.tolist() == [2, 3, 4]  # the second fold begins at 2, the first has stopped there
    assert values.tolist() == [14.0, 12.0, 11.0]
    assert curves.of("refit", "fit/mistakes")[0][1].tolist() == [5.0]
    assert curves.of("grid", "fit/loss") == {}


def test_long_curves_are_thinned_to_what_can_be_seen() -> None:
    place = {"phase": "grid", "batch": 0, "cell": 0, "options": {}, "seed": 0, "fold": None}
    rows = (place | {"step": step, "mistakes": step} for step in range(1, 5001))
    steps, values = mean_curves(rows, frozenset({"fit/mistakes"})).of("grid", "fit/mistakes")[0]
    assert len(steps) <= 160
    assert (steps[0], steps[-1]) == (1, 5000)
    assert (steps == values).all()


def test_a_search_over_graphs_shows_its_moves_and_the_models_that_it_met() -> None:
    names = ("gain", "distance", "dof", "log10_p", "outside_accuracy")
    place = {"phase": "grid", "batch": 0, "cell": 0, "options": {}, "seed": 0, "fold": 1}
    rows = [place | {"step": step} | dict.fromkeys(names, 0.5 / step) for step in (1, 2, 3)]
    page = learning_section(mean_curves(rows, wanted_figures("accuracy")), [{"options": {}}], None)
    headings = re.findall("<figcaption>(.*?)</figcaption>", str(page))
    assert headings[0] == "held-out accuracy of each model of the search"
    assert [heading.split(" ")[0] for heading in headings[1:]] == ["what", "G²", "degrees", "log10"]
    refit = [row | {"phase": "refit"} for row in rows]
    for row in refit:
        del row["outside_accuracy"]  # every row is trained on: none is held out
    page = learning_section(mean_curves(refit, wanted_figures("accuracy")), [{"options": {}}], None)
    assert len(re.findall("<figcaption>", str(page))) == 4
