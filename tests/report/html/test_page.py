"""The page: every section is there, every name is text, figures are those of metrics.json, nothing is from outside."""

from __future__ import annotations

import html
import math
import re
from dataclasses import replace
from typing import Any

import pytest

from gpuclf.report.html.mean_curves import mean_curves
from gpuclf.report.html.page import page
from gpuclf.report.html.page_facts import PageFacts
from gpuclf.train.labelled_file import Predictions
from gpuclf.train.mistakes import Mistake
from tests.report.html.building import Page, cell, predictions, run_facts, some_cells

SECTIONS = ["grid", "learning", "figures", "confusion", "ranking", "reliability", "features", "mistakes", "data"]
SECTIONS += ["config", "timings", "environment"]
EVIL = '<script>alert("1")</script>'


def _read(facts: PageFacts) -> Page:
    read = Page(page(facts))
    assert not read.faults
    return read


def _sections(read: Page) -> list[str | None]:
    return [attributes["id"] for name, attributes in read.tags if name == "section"]


@pytest.mark.parametrize("classes", [2, 3, 20, 77, 130])
@pytest.mark.parametrize("probabilities", [False, True])
def test_every_section_is_there(classes: int, probabilities: bool) -> None:
    names = tuple(f"class number {i:03d}" for i in range(classes))
    read = _read(run_facts(names, docs=4 * classes, probabilities=probabilities))
    assert _sections(read) == SECTIONS
    links = [attributes["href"] for name, attributes in read.tags if name == "a"]
    assert links == [f"#{name}" for name in SECTIONS]


def test_figures_are_those_of_metrics_json() -> None:
    facts = run_facts(("a", "b", "c"), docs=61, probabilities=True)
    read, test = _read(facts), facts.metrics["test"]
    for name in (
        "accuracy",
        "macro_f1",
        "weighted_f1",
        "macro_roc_auc",
        "macro_average_precision",
        "log_loss",
        "brier",
    ):
        assert re.search(rf"{test[name]:.4f}\s+{name.replace('_', ' ')}", read.texts["figures"]), name
    for name, row in test["per_class"].items():
        shown = rf"{name}\s+{row['precision']:.4f}\s+{row['recall']:.4f}\s+{row['f1']:.4f}\s+{row['support']}"
        assert re.search(shown, read.texts["figures"]), name
    assert f"{test['accuracy']:.4f} test accuracy" in read.texts["header"]
    assert f"{test['macro_average_precision']:.4f} over 3 classes" in read.texts["ranking"]
    right = round(test["accuracy"] * test["documents"])
    assert f"{right} of {test['documents']} documents are right" in read.texts["confusion"]
    for row in facts.metrics["cells"]:
        assert f"{row['mean']['accuracy']:.4f} ± {row['std']['accuracy']:.4f}" in read.texts["grid"]


def test_confusion_counts_are_all_there() -> None:
    facts = run_facts(("a", "b", "c"), docs=50)
    read = _read(facts)
    assert facts.confusion is not None
    counts = {(i, j): int(n) for i, row in enumerate(facts.confusion) for j, n in enumerate(row) if n}
    told = [title for title in read.titles if " → " in title]
    assert len(told) == len(counts)
    support = facts.confusion.sum(1).tolist()
    for (gold, given), count in counts.items():
        start = f"{'abc'[gold]} → {'abc'[given]}: {count} of {support[gold]} ("
        assert sum(title.startswith(start) for title in told) == 1


def test_nothing_comes_from_outside() -> None:
    source = page(run_facts(probabilities=True))
    assert not re.search(r"https?:|//[a-z]|url\(|@import|\bsrc=|<link|<img|<iframe", source)
    assert "default-src 'none'" in html.unescape(source)


@pytest.mark.parametrize("probabilities", [False, True])
def test_markup_from_data_is_text(probabilities: bool) -> None:
    classes = (EVIL, "ham", "</svg><b>")
    judged = predictions(classes, 40, extra=('"><img src=x>',))
    facts = run_facts(
        classes,
        judged=judged,
        cells=[cell({"model.type": EVIL}, [0.5, 0.6]), cell({"model.type": "&amp;"}, [], failed=f"{EVIL} broke")],
        features=("<i>", "a&b", '" onclick="x'),
        probabilities=probabilities,
        learner=EVIL,
        folder="<folder>",
        environment={"<key>": "<value>", "device": {"name": EVIL}},
    )
    facts = replace(
        facts,
        mistakes=[replace(m, text=f"text {EVIL}\n\x00\u202e &lt;") for m in facts.mistakes],
        figures=replace(facts.figures, name=EVIL, config_text=f"a: {EVIL}\n"),
    )
    plain = _read(run_facts(probabilities=probabilities))
    read = _read(facts)
    assert {name for name, _ in read.tags} <= {name for name, _ in plain.tags} | {"ul", "li", "path", "blockquote"}
    assert read.count("script") == 1
    assert not [name for _, attributes in read.tags for name in attributes if name.startswith("on")]
    assert EVIL in read.texts["mistakes"]
    assert "text " + EVIL + "\n\\x00\\u202e &lt;" in read.texts["mistakes"]
    assert EVIL in read.texts["header"]
    assert f"a: {EVIL}" in read.texts["config"]
    assert f"{EVIL} broke" in read.texts["grid"]
    assert '" onclick="x' in read.texts["features"]


def test_one_cell_one_run() -> None:
    read = _read(run_facts(cells=[cell({}, [0.9])]))
    assert "the only cell" in " ".join(read.titles)
    assert "bars are" not in read.texts["grid"]
    assert "chosen cell" not in read.texts["header"]


def test_nothing_held_out() -> None:
    read = _read(run_facts(cells=[cell({}, [])], steps=1))
    assert "No documents were held out" in read.texts["grid"]
    assert "single step" in read.texts["learning"]


def test_without_any_documents_to_judge_by() -> None:
    facts = run_facts(cells=[cell({}, [])])
    figures = replace(facts.figures, gold=None, predicted=None, scores=None, test={})
    bare = replace(facts, figures=figures, metrics={}, confusion=None, gold_classes=(), mistakes=(), reads=())
    read = _read(bare)
    assert _sections(read) == ["grid", "learning", "figures", "features", "data", "config", "timings", "environment"]
    assert "was not measured" in read.texts["figures"]


def test_out_of_fold_documents_in_place_of_a_test_file() -> None:
    facts = run_facts()
    metrics = {"out_of_fold": facts.metrics["test"]}
    read = _read(replace(facts, metrics=metrics, figures=replace(facts.figures, rows_are="out_of_fold", test={})))
    assert "Held-out figures" in read.texts["figures"]
    assert f"{metrics['out_of_fold']['accuracy']:.4f} held-out accuracy" in read.texts["header"]


def test_failed_cells_are_named() -> None:
    cells = [*some_cells(), cell({"model.C": 10.0}, [0.5, math.nan]), cell({"model.C": 1e6}, [], failed="diverged")]
    read = _read(run_facts(cells=cells, chosen=1))
    assert "2 of 5 cells failed and were not compared" in read.texts["grid"]
    assert re.search(r"C=10 : accuracy is nan \(seed 0, fold 1\)", read.texts["grid"])
    assert read.count("path", class_="failed") == 2
    assert read.count("circle", class_="ring") == 1
    assert any(title.startswith("C=0.1: accuracy 0.8250 ± 0.0071 (chosen)") for title in read.titles)


def test_all_cells_failed() -> None:
    cells = [cell({"model.C": 1.0}, [], failed="diverged"), cell({"model.C": 2.0}, [], failed="diverged")]
    read = _read(run_facts(cells=cells))
    assert "No cell has a finite result" in read.texts["grid"]


def test_reliability_is_drawn_for_probabilities_only() -> None:
    assert "Expected calibration error" in _read(run_facts(probabilities=True)).texts["reliability"]
    text = _read(run_facts()).texts["reliability"]
    assert "mira gives scores, not probabilities" in text


def test_classes_that_the_model_does_not_know() -> None:
    read = _read(run_facts(judged=predictions(("ham", "spam"), 30, extra=("new",))))
    assert "new: not in the training file" in read.texts["figures"]
    assert any(title.startswith("new → ") for title in read.titles)
    assert not any("→ new" in title for title in read.titles)


def test_documents_without_text_are_named_by_id() -> None:
    facts = run_facts()
    read = _read(facts)
    assert "named by their ids" in read.texts["mistakes"]
    assert facts.mistakes
    assert all(f" {mistake.id} " in read.texts["mistakes"] for mistake in facts.mistakes)


def test_no_mistakes() -> None:
    every = predictions(("ham", "spam"), 10)
    perfect = Predictions(every.ids, every.classes, every.predicted, every.scores, every.known, every.flagged)
    assert "There are no mistakes" in _read(run_facts(judged=perfect)).texts["mistakes"]


def test_infinite_scores() -> None:
    judged = predictions(("a", "b", "c"), 30)
    judged.scores[::4, 1] = -math.inf
    read = _read(run_facts(("a", "b", "c"), judged=judged, probabilities=True))
    assert "nan" not in " ".join(str(value) for _, attributes in read.tags for value in attributes.values())
    mistake = Mistake("7", "b", "a", math.inf, (("a", -0.1), ("b", -math.inf)), known=False)
    read = _read(replace(run_facts(), mistakes=[mistake]))
    assert "−∞" in read.texts["mistakes"]
    assert "no feature is known" in read.texts["mistakes"]


@pytest.mark.parametrize("options", [{"a": [1, "x", True]}, {"a": [1, 2], "b": list(range(40))}, {"a": ["u", "v"]}])
def test_grids_of_any_options(options: dict[str, list[Any]]) -> None:
    from itertools import product

    settings = [dict(zip(options, values, strict=True)) for values in product(*options.values())]
    cells = [cell(setting, [0.5 + i / 500, 0.6]) for i, setting in enumerate(settings)]
    read = _read(run_facts(cells=cells, chosen=len(cells) - 1))
    assert read.count("circle", class_="ring") == 1
    assert read.count("tr") > len(cells)


def test_size_for_many_classes() -> None:
    names = tuple(f"a_class_with_a_rather_long_name_{i:03d}" for i in range(77))
    cells = [cell({"model.C": 10.0**i, "model.x": x}, [0.5, 0.6]) for i in range(-5, 5) for x in range(5)]
    features = tuple(f"feature{i}" for i in range(3000))
    source = page(run_facts(names, docs=8000, cells=cells, steps=50, features=features, probabilities=True))
    assert len(source.encode()) < 1_500_000


def test_size_for_very_many_classes() -> None:
    names = tuple(f"a_class_with_a_long_name_{i:04d}" for i in range(600))
    facts = run_facts(names, docs=1200)
    source = page(facts)
    assert len(source.encode()) < 1_500_000
    read = Page(source)
    assert "the lowest 500 of 600" in read.texts["figures"]
    assert "The first 500 classes of 600" in read.texts["data"]
    assert "The 100 of 600 classes with the most errors" in read.texts["confusion"]
    worst = min(facts.metrics["test"]["per_class"].values(), key=lambda row: row["f1"])
    assert f"{worst['f1']:.4f}" in read.texts["figures"]


def test_other_seeds_and_other_weights() -> None:
    facts = run_facts()
    seeds = {"runs": [{}, {}], "mean": {"accuracy": 0.8125}, "std": {"accuracy": 0.0125}}
    metrics = {**facts.metrics, "test_seeds": seeds, "test_final": {"accuracy": 0.7, "macro_f1": 0.6}}
    text = _read(replace(facts, metrics=metrics)).texts["figures"]
    assert "Over 2 seeds: accuracy 0.8125 ± 0.0125" in text
    assert "With the final weights: accuracy 0.7000, macro f1 0.6000" in text


def test_gaps_fall_on_a_log_scale_and_a_single_step_is_a_dot() -> None:
    cells = some_cells()
    place = {"phase": "grid", "batch": 0, "options": {}, "seed": 0, "fold": None}
    rows = [
        place | {"step": step, "cell": index, "gap": 10.0**-step if step < 4 else 0.0, "held_out": {"accuracy": 0.5}}
        for index in range(3)
        for step in range(1, 2 if index == 0 else 5)
    ]
    curves = mean_curves(rows, frozenset({"held_out/accuracy", "fit/gap"}))
    read = _read(run_facts(cells=cells, curves=curves))
    assert {"0.1", "0.01", "0.001"} <= set(read.texts["learning"].split())
    assert "C=0.1: gap in training, mean over folds 0.001 at step 3" in read.titles
    assert "C=0.01: gap in training, mean over folds 0.1 at step 1" in read.titles
