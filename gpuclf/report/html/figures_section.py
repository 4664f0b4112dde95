"""The figures of the judged documents: headline numbers, notes on what they count, and a table per class."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from gpuclf.report.html.markup import Markup, folded, joined, name_text, table, tag
from gpuclf.report.strict_json import number

_HEADLINE = (
    *("aspect_f1", "aspect_precision", "aspect_recall", "any_aspect_f1", "macro_aspect_f1"),  # of tokens of reviews
    *("chunk_f1", "chunk_precision", "chunk_recall"),  # of tokens with tags such as B-NP
    *("accuracy", "accuracy_over_words", "macro_f1", "micro_f1", "weighted_f1", "macro_precision", "macro_recall"),
)
_RANKING = (
    "macro_roc_auc",
    "macro_average_precision",
    "recall_at_3",
    "recall_at_5",
    "log_loss",
    "brier",
    "expected_calibration_error",
)
_PER_CLASS = ("precision", "recall", "f1", "support", "predicted")
_OPEN = 25  # classes whose table is unfolded
_CLASSES = 500


def tiles(figures: Mapping[str, Any], names: tuple[str, ...] = (*_HEADLINE, *_RANKING)) -> Markup:
    """The figures that are there, one a tile."""
    found = [tile(name, figure_text(figures[name])) for name in names if number(figures.get(name)) is not None]
    return tag("div", *found, class_="tiles")


def tile(name: str, value: str, note: str | None = None) -> Markup:
    shown = name.replace("_", " ")
    return tag("div", tag("b", value), tag("span", shown), tag("small", note) if note else None, class_="tile")


def figures_section(metrics: Mapping[str, Any], judged: Mapping[str, Any], metric: str) -> Markup:
    """`judged`: the figures of one labelled file; metrics.json has those of other seeds and of other weights."""
    if not judged:
        return tag("p", "There is no test file, and nothing was held out: the model was not measured.", class_="note")
    order = tuple(dict.fromkeys((metric, *_HEADLINE, *_RANKING)))
    return joined(
        tiles(judged, order),
        _notes(judged),
        _other_models(metrics),
        _per_class(judged.get("per_chunk") or {}, "chunk"),
        _per_class(judged.get("per_class") or {}),
    )


def figure_text(value: Any) -> str:
    """Counts as they are, other numbers with four decimals."""
    figure = number(value)
    if figure is None:
        return name_text(str(value))
    if isinstance(value, int):
        return f"{value:,}"
    if not math.isfinite(figure):
        return {math.inf: "∞", -math.inf: "−∞"}.get(figure, "undefined")
    return f"{figure:.4f}" if abs(figure) < 100 else f"{figure:,.1f}"


def _notes(judged: Mapping[str, Any]) -> Markup | None:
    """What a reader must know to read the figures rightly."""
    said = [f"{judged['documents']:,} documents."] if "documents" in judged else []
    if "counted" in judged:
        said.append(f"Macro and weighted averages are over the {len(judged['counted']):,} classes that occur here.")
    if judged.get("no_known_feature"):
        said.append(f"{judged['no_known_feature']:,} of them have no feature that the model knows.")
    if judged.get("covered"):
        covered = judged["covered"]
        said.append(
            f"The model has a possible class for {covered['documents']:,} of them (recall {covered['recall']:.4f}), "
            f"of which {covered['precision']:.4f} are right."
        )
    if judged.get("log_loss_infinite_documents"):
        said.append(f"{judged['log_loss_infinite_documents']:,} have probability 0 for their gold class.")
    for key, text in (
        ("not_in_training", "not in the training file, so all their documents are errors"),
        ("never_predicted", "never predicted: precision counts as 0"),
        ("without_gold", "predicted but without documents here: recall counts as 0"),
        (
            "macro_average_precision_leaves_out",
            "left out of the mean average precision, which needs documents of the class",
        ),
        ("macro_roc_auc_leaves_out", "left out of the mean ROC AUC, which needs documents of and not of the class"),
    ):
        if judged.get(key):
            said.append(f"{_names(judged[key])}: {text}.")
    return tag("p", " ".join(said), class_="note") if said else None


def _names(names: list[str]) -> str:
    shown = ", ".join(name_text(name, 40) for name in names[:10])
    return shown if len(names) <= 10 else f"{shown} and {len(names) - 10:,} more"


def _other_models(metrics: Mapping[str, Any]) -> Markup | None:
    lines = []
    seeds = metrics.get("test_seeds")
    if seeds:
        spread = ", ".join(
            f"{name.replace('_', ' ')} {seeds['mean'][name]:.4f} ± {seeds['std'][name]:.4f}" for name in seeds["mean"]
        )
        lines.append(f"Over {len(seeds['runs'])} seeds: {spread}. The figures above are those of the saved model.")
    for name in sorted(name for name in metrics if name.startswith("test_") and name != "test_seeds"):
        values = metrics[name]
        if isinstance(values, Mapping) and "accuracy" in values:
            shown = f"accuracy {figure_text(values['accuracy'])}, macro f1 {figure_text(values['macro_f1'])}"
            lines.append(f"With the {name.removeprefix('test_')} weights: {shown}.")
    return tag("ul", *(tag("li", line) for line in lines)) if lines else None


def _per_class(per_class: Mapping[str, Mapping[str, Any]], heading: str = "class") -> Markup | None:
    if not per_class:
        return None
    rows = [
        [
            tag("span", name_text(name), title=name),
            *(_cell(column, figures.get(column)) for column in _PER_CLASS),
        ]
        for name, figures in _lowest(per_class)
    ]
    listing = table([heading, *_PER_CLASS], rows, numbers=(1, 2, 4, 5), class_="sortable")
    which = f"{len(per_class):,}" if len(rows) == len(per_class) else f"the lowest {len(rows)} of {len(per_class):,}"
    return folded(f"Per {heading} ({which})", listing, opened=len(per_class) <= _OPEN)


def _lowest(per_class: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    """All classes in their order; of very many those with the lowest F1, lowest first."""
    rows = list(per_class.items())
    if len(rows) <= _CLASSES:
        return rows
    return sorted(rows, key=lambda row: number(row[1].get("f1")) or 0.0)[:_CLASSES]


def _cell(column: str, value: Any) -> Markup | str:
    figure = number(value)
    if column != "f1" or figure is None or not math.isfinite(figure):
        return figure_text(value)
    return tag("div", tag("i", style=f"width:{100 * figure:.1f}%"), tag("span", f"{figure:.4f}"), class_="bar")
