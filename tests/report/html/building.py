"""Finished runs made by hand, as the page is given them, and a reader of pages."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch

from gpuclf.data.records import ReadReport
from gpuclf.metrics.confusion import confusion
from gpuclf.metrics.ranking import log_probabilities
from gpuclf.report.html.mean_curves import mean_curves
from gpuclf.report.html.page_facts import PageFacts
from gpuclf.report.summary import FinalFigures
from gpuclf.train.labelled_file import Predictions, figures
from gpuclf.train.mistakes import surest_mistakes

VOID = {"meta", "br", "hr", "col"}
WANTED = frozenset({"held_out/accuracy", "fit/mistakes"})


def cell(options: dict[str, Any], values: list[float], **more: Any) -> dict[str, Any]:
    """A row of metrics.json "cells": accuracies of the folds."""
    runs = [{"seed": 0, "fold": fold, "accuracy": value} for fold, value in enumerate(values)]
    sound = values and all(map(math.isfinite, values)) and not more
    mean = {"accuracy": fmean(values)} if sound else {}
    std = {"accuracy": stdev(values) if len(values) > 1 else 0.0} if sound else {}
    return {"options": options, "runs": runs, "mean": mean, "std": std} | more


def some_cells() -> list[dict[str, Any]]:
    return [cell({"model.C": c}, [0.8 + 0.02 * i, 0.81 + 0.02 * i]) for i, c in enumerate((0.01, 0.1, 1.0))]


def predictions(classes: tuple[str, ...], docs: int, *, extra: tuple[str, ...] = (), seed: int = 0) -> Predictions:
    """Scores that are mostly right; the last documents are of classes in `extra`, which the model does not know."""
    generator = torch.Generator().manual_seed(seed)
    gold = torch.arange(docs) % len(classes)
    scores = torch.randn(docs, len(classes), generator=generator)
    scores[torch.arange(docs), gold] += 2.0
    for place in range(len(extra)):
        gold[docs - 1 - place] = len(classes) + place
    every = torch.ones(docs, dtype=torch.bool)
    return Predictions([f"d{i}" for i in range(docs)], classes + extra, gold, scores, every, ~every)


def step_rows(cells: list[dict[str, Any]], steps: int) -> list[dict[str, Any]]:
    """metrics.jsonl of a grid with two folds, and a refit."""
    grid = [
        {"phase": "grid", "batch": 0, "step": step, "cell": index, "options": row["options"], "seed": 0, "fold": fold}
        | {"mistakes": 100 - step - index, "held_out": {"accuracy": 0.5 + 0.01 * step + 0.01 * fold}}
        for step in range(1, steps + 1)
        for index, row in enumerate(cells)
        for fold in (0, 1)
    ]
    common = {"phase": "refit", "batch": 0, "cell": 0, "options": {}, "seed": 0, "fold": None}
    return grid + [common | {"step": step, "mistakes": 90 - step} for step in range(1, steps + 1)]


def run_facts(
    classes: tuple[str, ...] = ("ham", "spam"),
    *,
    docs: int = 40,
    cells: list[dict[str, Any]] | None = None,
    chosen: int = 0,
    probabilities: bool = False,
    steps: int = 3,
    judged: Predictions | None = None,
    features: tuple[str, ...] = ("alpha", "beta", "gamma"),
    **changes: Any,
) -> PageFacts:
    """A run with a test file; figures as the experiment computes them."""
    test = predictions(classes, docs) if judged is None else judged
    table = some_cells() if cells is None else cells
    measured = figures(test, probabilities, len(classes))
    scores = log_probabilities(test.scores) if probabilities else test.scores
    generator = torch.Generator().manual_seed(3)
    best = {"cell": chosen, "metric": "accuracy", "value": table[chosen]["mean"].get("accuracy")}
    seconds = {"read": 0.5, "features": 1.5, "train": 61.0, "evaluate": 0.25}
    final = FinalFigures(
        name="a run",
        classes=classes,
        cells=table,
        best=best,
        gold=test.gold,
        predicted=test.predicted,
        scores=scores,
        probabilities=probabilities,
        test=measured,
        feature_names=features,
        weights=torch.randn(len(features) + 1, len(classes), generator=generator),
        config_text="name: a run\nmodel:\n  type: mira\n",
        seconds=seconds,
    )
    report = ReadReport(Path("/data/train.tsv"), "tsv", records=90, lines=91, empty_documents=2, bytes=1234)
    report.per_class = {name: 10 + place for place, name in enumerate(classes)}
    fields: dict[str, Any] = {
        "figures": final,
        "metrics": {"cells": table, "best": best, "test": measured, "seconds": seconds},
        "learner": "mira",
        "finished": datetime(2031, 2, 3, 4, 5),
        "reads": [("train", report)],
        "curves": mean_curves(step_rows(table, steps), WANTED),
        "environment": {"python": "3.12", "device": {"type": "cpu", "name": "x"}, "seeds": [0]},
        "gold_classes": test.classes,
        "confusion": confusion(test.gold, test.predicted, len(test.classes)),
        "mistakes": surest_mistakes(test, 30),
        "probabilities": probabilities,
    }
    return PageFacts(**(fields | changes))


@dataclass
class Page(HTMLParser):
    """A page read by the standard library: texts by section, elements, and what is wrong with its nesting."""

    source: str
    open: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    titles: list[str] = field(default_factory=list)  # of SVG elements, shown on hovering
    section: str = "header"

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.source)
        self.close()
        if self.open:
            self.faults.append(f"never closed: {self.open}")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self.section = dict(attrs)["id"] or ""
        if tag == "title":
            self.titles.append("")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        if inside == "title":
            self.titles[-1] += data
        elif inside not in ("style", "script"):
            self.texts[self.section] = self.texts.get(self.section, "") + " " + data

    def count(self, tag: str, **attributes: str) -> int:
        """Elements of this name with these attributes (class_ is class)."""
        wanted = {key.rstrip("_"): value for key, value in attributes.items()}
        return sum(name == tag and wanted.items() <= found.items() for name, found in self.tags)
