"""The inputs of the report: plain numbers, tensors and strings, so that nothing here knows a learner or the loop."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from gpuclf.report.graph_facts import GraphFacts, WordFacts
from gpuclf.report.strict_json import number
from gpuclf.report.topic_record import TopicFacts

StepRow = Mapping[str, Any]
"""One line of metrics.jsonl: phase, batch, step (from 1), cell, options, seed, fold, optional `time` (unix seconds),
optional `held_out` metrics (of a tagger: `gold`); every other number in it is a figure of that step (mistakes, loss,
updates …)."""

NOT_EVALUATED = "not evaluated"
_JUDGED = ("held_out", "gold")  # figures of the result so far: on held-out documents, or against gold tags
_NOT_FIGURES = frozenset({"phase", "batch", "step", "cell", "options", "seed", "fold", "inner", "time", *_JUDGED})


@dataclass(frozen=True)
class GridPlan:
    """What will be trained: the options of each cell (one dict without a grid), and the runs of every cell.

    `runs` are the (seed, fold) pairs that each cell has; fold is None where there are none. With leave-one-out they are
    not counted before the data are read: there is one a seed, and fold is None.
    """

    cells: Sequence[Mapping[str, Any]] = ({},)
    runs: Sequence[tuple[int, int | None]] = ((0, None),)
    counted: bool = True


@dataclass(frozen=True)
class FinalFigures:
    """What is known when training is over.

    cells, best, seconds: as in metrics.json. gold (n,) int64, outside 0..K-1 for a label that the model does not know,
    predicted (n,) int64, scores (n, K): of the test file, or the out-of-fold rows when there is none (`rows_are`:
    "test" or "out_of_fold"). probabilities: the learner gives P(class | document), and scores are its logarithms.
    feature_names has V entries, weights (V+1, K) with the offset in row 0; both None for models without. `test`:
    metrics.json "test". pictures: further ones, PNG files by name; texts: further ones in Markdown.
    """

    name: str
    classes: Sequence[str]
    cells: Sequence[Mapping[str, Any]]
    best: Mapping[str, Any] | None
    gold: Tensor | None = None
    predicted: Tensor | None = None
    scores: Tensor | None = None
    probabilities: bool = False
    rows_are: str = "test"
    test: Mapping[str, Any] = field(default_factory=dict)
    feature_names: Sequence[str] | None = None
    weights: Tensor | None = None
    config_text: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    device: str = "cpu"
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    histograms: Mapping[str, Tensor] = field(default_factory=dict)  # values of a network's layers, by tag
    ending: Sequence[str] = ()  # sentences on how training ended
    importances: Sequence[tuple[str, float]] | None = None  # of a forest's inputs, highest first
    tree: Sequence[str] | None = None  # the top of a forest's first tree, a line a node
    graph: GraphFacts | None = None  # of a decomposable model
    words: Mapping[str, WordFacts] = field(default_factory=dict)  # of decomposable models, one for each ambiguous word
    transitions: Tensor | None = None  # (K, K) of a chain, from the row's label to the column's
    topics: TopicFacts | None = None  # of a content model
    forest: Mapping[str, Any] = field(default_factory=dict)  # metrics.json "forest"


def step_figures(row: StepRow) -> dict[str, float]:
    """The row's figures by tag: `fit/NAME` for those of the training step, `held_out/NAME` and `gold/NAME` for those of
    its result."""
    figures: dict[str, float] = {}
    for key, value in row.items():
        if key not in _NOT_FIGURES and (figure := number(value)) is not None:
            figures[f"fit/{key}"] = figure
    for judged in _JUDGED:
        for key, value in (row.get(judged) or {}).items():
            if (figure := number(value)) is not None:
                figures[f"{judged}/{key}"] = figure
    return figures


def short_names(keys: Sequence[str]) -> dict[str, str]:
    """Config keys by a name that is short and still unique: model.C → C, but a.k and b.k stay whole."""
    last = Counter(key.rsplit(".", 1)[-1] for key in keys)
    return {key: short if last[short := key.rsplit(".", 1)[-1]] == 1 else key for key in keys}


def option_text(value: Any) -> str:
    """An option's value as a person would type it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(option_text(item) for item in value) + "]"
    return str(value)


def cell_label(options: Mapping[str, Any]) -> str:
    """One cell in a few characters: `C=0.1 ngrams=[1,2]`; `the only cell` without options."""
    names = short_names(list(options))
    return " ".join(f"{names[key]}={option_text(value)}" for key, value in options.items()) or "the only cell"


def metric_names(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """Names of the cells' metrics, in order of first appearance."""
    names: dict[str, None] = {}
    for cell in cells:
        for figures in (cell.get("mean") or {}, *cell.get("runs", ())):
            names |= {
                k: None for k, v in figures.items() if k not in ("seed", "fold", "steps") and number(v) is not None
            }
    return list(names)


def cell_failure(cell: Mapping[str, Any]) -> str | None:
    """Why a cell has no figure that may be compared, or None when it has.

    `failed` of the cell or of one of its runs says it in words; a figure that is nan or infinite is a failure too,
    and a cell without any figure was NOT_EVALUATED. Such a cell is listed, and never averaged as 0.
    """
    for run in cell.get("runs", ()):
        place = run_label(run.get("seed"), run.get("fold"))
        if run.get("failed"):
            return f"{run['failed']} ({place})"
        for key, value in run.items():
            figure = number(value)
            if figure is not None and not math.isfinite(figure):
                return f"{key} is {figure} ({place})"
    if cell.get("failed"):
        return str(cell["failed"])
    for key, value in (cell.get("mean") or {}).items():
        figure = number(value)
        if figure is None or not math.isfinite(figure):
            return f"{key} is {value}"
    return None if cell.get("mean") else NOT_EVALUATED


def run_label(seed: Any, fold: Any) -> str:
    """`seed 0, fold 3`, or `seed 0` without folds."""
    return f"seed {seed}" if fold is None else f"seed {seed}, fold {fold}"
