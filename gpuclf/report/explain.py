"""A model in words: top features per class, a forest's inputs, confused pairs, sizes, options (`gpuclf show`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

import torch
from torch import Tensor

from gpuclf.report.content_topics import print_topics
from gpuclf.report.forest_record import forest_lines, input_note, input_rows
from gpuclf.report.summary import option_text
from gpuclf.report.topic_record import TopicFacts
from gpuclf.report.transitions import print_transitions
from gpuclf.report.visible_text import open_console, visible
from gpuclf.report.word_table import Judged, print_words

_INPUTS = 20  # of a forest, that are listed
_CLASSES_IN_FULL = 30


@dataclass(frozen=True)
class ModelFacts:
    """What `show` says. weights (V+1, K) with the offset in row 0, feature_names V entries; None for what a model does
    not have. confusion: counts by gold row and predicted column, over the classes and then the unknown ones (such as
    only gold labels have)."""

    name: str
    classes: Sequence[str]
    feature_names: Sequence[str] | None = None
    weights: Tensor | None = None
    confusion: Tensor | None = None
    options: Mapping[str, Any] = field(default_factory=dict)  # by config key
    sizes: Mapping[str, int] = field(default_factory=dict)  # documents, features …
    unknown_classes: Sequence[str] = ()
    importances: Sequence[tuple[str, float]] | None = None  # of a forest's inputs: shares of what their splits gained
    tree: Sequence[str] | None = None  # the top of a forest's first tree, a line a node
    graph: Sequence[str] | None = None  # the product of tables that a decomposable model is
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of each ambiguous word: senses, the product
    judged: Judged = field(default_factory=dict)  # of these words: figures of held-out and test documents
    forest: Mapping[str, Any] = field(default_factory=dict)  # metrics.json "forest"
    transitions: Tensor | None = None  # (K, K) of a chain
    topics: TopicFacts | None = None  # of a content model


def contrast(weights: Tensor) -> Tensor:
    """Weights (V+1, K) minus their mean over the classes: the part of a weight that tells classes apart.

    A constant added to all classes of a feature changes no decision, so only this part can be compared across features
    (in naive Bayes every weight of a frequent word is high). Infinite weights (excluded classes) stay out of the mean
    and keep their place; with one class there is nothing to contrast.
    """
    if weights.shape[1] < 2:
        return weights
    finite = torch.isfinite(weights)
    total = torch.where(finite, weights, 0.0).sum(dim=1, keepdim=True)
    return weights - total / finite.sum(dim=1, keepdim=True).clamp(min=1)


def sparsity(weights: Tensor) -> dict[str, int]:
    """What a penalty with an L1 part has left of weights (V+1, K), the offset aside: features, and single weights."""
    left = weights[1:] != 0
    zeros = 100 * int((~left).sum()) // max(1, left.numel())
    return {
        "features with a weight": int(left.any(1).sum()),
        f"weights other than 0 ({zeros} % are 0)": int(left.sum()),
    }


def top_features(weights: Tensor, names: Sequence[str], count: int) -> list[list[tuple[str, float]]]:
    """Per class the features with the highest contrasting weights, highest first; ties by the lowest feature.

    Only weights above 0 are named, so a class may have fewer than `count`, or none. The offset is no feature.
    """
    body = contrast(weights.double())[1:]
    assert body.shape[0] == len(names), (body.shape, len(names))
    result: list[list[tuple[str, float]]] = []
    for column in body.T:
        candidates = torch.nonzero((column > 0) & torch.isfinite(column)).flatten()
        order = torch.sort(column[candidates], descending=True, stable=True).indices[:count]
        result.append([(names[int(v)], float(column[v])) for v in candidates[order]])
    return result


def confused_pairs(confusion: Tensor, classes: Sequence[str], count: int) -> list[tuple[str, str, int, float]]:
    """(gold, predicted, documents, share of the gold class) of the most frequent errors; ties by class order."""
    errors = confusion.clone().long()
    errors.fill_diagonal_(0)
    support = confusion.sum(dim=1)
    flat = errors.flatten()
    order = torch.sort(flat, descending=True, stable=True).indices[:count]
    pairs = []
    for place in order[flat[order] > 0].tolist():
        gold, predicted = divmod(place, len(classes))
        share = int(flat[place]) / int(support[gold])
        pairs.append((classes[gold], classes[predicted], int(flat[place]), share))
    return pairs


def print_model(facts: ModelFacts, *, features: int = 8, pairs: int = 15, stream: IO[str] | None = None) -> None:
    """Prints the model for a person, to stdout unless told otherwise."""
    from rich.table import Table

    console = open_console(stream)
    console.print(f"{visible(facts.name)}: {len(facts.classes)} classes", style="bold")
    console.print(", ".join(f"{value:,} {name}" for name, value in facts.sizes.items()))
    if facts.options:
        table = Table("option", "value", box=None, pad_edge=False)
        for key, value in facts.options.items():
            table.add_row(visible(key), visible(option_text(value), 100))
        console.print(table, "")
    if facts.weights is not None and facts.feature_names is not None:
        console.print("Features that speak most for a class (weight above the mean of the classes)", style="bold")
        table = Table("class", "features", box=None, pad_edge=False)
        for name, top in zip(facts.classes, top_features(facts.weights, facts.feature_names, features), strict=True):
            table.add_row(visible(name, 40), ", ".join(f"{visible(f, 40)} {w:.3g}" for f, w in top) or "(none)")
        console.print(table, "")
    if facts.transitions is not None:
        print_transitions(console, facts.transitions, facts.classes)
    if facts.topics is not None:
        print_topics(console, facts.topics)
    if facts.importances is not None:
        _print_forest(console, facts, facts.importances)
    if facts.graph is not None:
        console.print("P(class, inputs) as a product of tables", style="bold")
        for line in facts.graph:
            console.print(visible(line, 4000), markup=False, highlight=False)
        console.print("")
    if facts.words:
        _print_words(console, facts, stream)
    if facts.confusion is not None:
        if facts.importances is not None:
            _print_classes(console, facts, facts.confusion)
        _print_confusions(console, facts, facts.confusion, pairs)


def _print_words(console: Any, facts: ModelFacts, stream: IO[str] | None) -> None:
    """How often the model of each ambiguous word is right, then what it is."""
    if facts.judged:
        console.print("Accuracy by word", style="bold")
        print_words(facts.judged, stream)
        console.print("")
    console.print("P(class, inputs) of each word as a product of tables", style="bold")
    for word, lines in facts.words.items():
        console.print(visible(word, 60), style="bold", markup=False, highlight=False)
        for line in lines:
            console.print(visible(line, 4000), markup=False, highlight=False)
        console.print("")


def _print_forest(console: Any, facts: ModelFacts, importances: Sequence[tuple[str, float]]) -> None:
    """A forest's inputs, trees and the top of the first one."""
    from rich.table import Table

    for line in forest_lines(facts.forest):
        console.print(visible(line, 200), highlight=False, soft_wrap=True)
    if facts.forest:
        head, rows = input_rows(facts.forest)
        note = input_note(facts.forest)
    else:
        head, rows = ["input", "gain"], [[name, f"{share:.1%}"] for name, share in importances]
        note = "gain: share of what all splits gained in training"
    console.print("Inputs, those first whose splits gained most", style="bold")
    table = Table(head[0], box=None, pad_edge=False)
    for name in head[1:]:
        table.add_column(name, justify="right")
    for row in rows[:_INPUTS]:
        table.add_row(visible(row[0], 40), *row[1:])
    console.print(table)
    console.print(f"({note})", highlight=False, soft_wrap=True)
    console.print("")
    if facts.tree is not None:
        console.print("The top of the first tree", style="bold")
        for line in facts.tree:
            console.print(visible(line, 160), markup=False, highlight=False)
        console.print("")


def _print_classes(console: Any, facts: ModelFacts, confusion: Tensor) -> None:
    """The share of each class's documents that are right; of many classes those with the lowest shares."""
    from rich.table import Table

    support, right = confusion.sum(dim=1), confusion.diagonal()
    names = [*facts.classes, *facts.unknown_classes]
    there = [k for k in range(len(names)) if support[k] > 0]
    if len(there) > _CLASSES_IN_FULL:
        there = sorted(there, key=lambda k: float(right[k] / support[k]))[:_CLASSES_IN_FULL]
    console.print("Accuracy by class", style="bold")
    table = Table("class", box=None, pad_edge=False)
    for name in ("documents", "right"):
        table.add_column(name, justify="right")
    for k in there:
        table.add_row(visible(names[k], 40), f"{int(support[k]):,}", f"{float(right[k] / support[k]):.1%}")
    console.print(table, "")


def _print_confusions(console: Any, facts: ModelFacts, confusion: Tensor, pairs: int) -> None:
    from rich.table import Table

    rows = confused_pairs(confusion, [*facts.classes, *facts.unknown_classes], pairs)
    total, wrong = int(confusion.sum()), int(confusion.sum() - confusion.diagonal().sum())
    console.print(f"Confusions: {wrong:,} of {total:,} documents are wrong", style="bold")
    if not rows:
        return
    table = Table("gold", "predicted", box=None, pad_edge=False)
    table.add_column("documents", justify="right")
    table.add_column("of the class", justify="right")
    for gold, predicted, documents, share in rows:
        table.add_row(visible(gold, 40), visible(predicted, 40), str(documents), f"{share:.1%}")
    console.print(table)
