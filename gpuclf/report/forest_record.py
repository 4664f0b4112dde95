"""What metrics.json has of a forest, in sentences, as a table and as curves: its trees, how they vote, its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def forest_lines(forest: Mapping[str, Any]) -> list[str]:
    """The record of a forest (metrics.json "forest") in sentences: its trees, strength and correlation, which values
    were removed, what was new to it."""
    if not forest:
        return []
    nodes, depth = forest["nodes"], forest["depth"]
    lines = [
        f"{forest['trees']:,} trees of {nodes['mean']:,.0f} nodes ({nodes['least']:,} to {nodes['most']:,}), "
        f"{depth['mean']:.1f} levels deep ({depth['least']:,} to {depth['most']:,})"
    ]
    for source, found in forest.get("strength", {}).items():
        lines.append(f"{_where(source)}: accuracy {found['accuracy']:.4f}, {_strength(found)}")
    if "reduction" in forest:
        lines.append(_reduction(forest["reduction"]))
    if "unseen" in forest:
        unseen = forest["unseen"]
        lines.append(
            f"{unseen['values']:,} values in {unseen['documents']:,} {unseen['rows_are'].replace('_', '-')} documents "
            "are new to the forest"
        )
    return lines


def input_rows(forest: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """A table of a forest's inputs, the highest gain first: its head, and a row an input."""
    permuted = forest.get("permutation")
    head = ["input", "gain", "splits", *(["accuracy lost", "sd"] if permuted else [])]
    counts = ["values", "removed"] if "reduction" in forest else []
    counts += ["unseen"] if "unseen" in forest else []
    rows = []
    for name, about in forest["inputs"].items():
        row = [name, f"{about['gain']:.1%}", f"{about['splits']:.1%}"]
        if permuted:
            row += [f"{about['permutation']['mean']:.4f}", f"{about['permutation']['std']:.4f}"]
        row += [f"{about[part]:,}" for part in counts]
        rows.append(row)
    return head + counts, rows


def input_note(forest: Mapping[str, Any]) -> str:
    """What the columns of the inputs' table mean."""
    note = (
        "gain: share of what all splits gained in training, where inputs with many values gain more than they are "
        "worth; splits: share of the nodes that ask about it"
    )
    if permuted := forest.get("permutation"):
        documents = f"{permuted['documents']:,} {permuted['rows_are'].replace('_', '-')} documents"
        note += (
            f"; accuracy lost: on the {documents} when its values are dealt out anew, mean and standard deviation of "
            f"{permuted['repeats']}"
        )
    return note


def accuracy_curves(forest: Mapping[str, Any]) -> tuple[str, Mapping[str, Mapping[str, Any]]]:
    """trees, or rounds of boosting, and accuracies by their number for each kind of documents."""
    unit = "rounds" if "accuracy_by_rounds" in forest else "trees"
    found: Mapping[str, Mapping[str, Any]] = forest.get(f"accuracy_by_{unit}", {})
    return unit, found


def forest_scalars(forest: Mapping[str, Any]) -> Iterator[tuple[int, dict[str, float]]]:
    """(step, value by tag) for a forest's curves over the number of trees, then at step 0 its other figures."""
    unit, curves = accuracy_curves(forest)
    points: dict[int, dict[str, float]] = {}
    for source, curve in curves.items():
        for trees, accuracy in zip(curve["trees"], curve["accuracy"], strict=True):
            points.setdefault(trees, {})[f"forest/{source}_accuracy_by_{unit}"] = accuracy
    yield from sorted(points.items())
    last: dict[str, float] = {}
    for part in ("nodes", "depth"):
        last |= {f"forest/{part}_{name}": float(value) for name, value in forest.get(part, {}).items()}
    for source, found in forest.get("strength", {}).items():
        names = ("strength", "correlation", "error_bound")
        last |= {f"forest/{source}_{name}": float(found[name]) for name in names if found[name] is not None}
    if reduction := forest.get("reduction"):
        last["forest/values_removed"] = (reduction["merged"] + reduction["dropped"]) / max(1, reduction["values"])
    for name, about in forest.get("inputs", {}).items():
        last[f"splits/{name}"] = float(about["splits"])
        if "permutation" in about:
            last[f"permutation/{name}"] = float(about["permutation"]["mean"])
            last[f"permutation_sd/{name}"] = float(about["permutation"]["std"])
    if last:
        yield 0, last


def _reduction(found: Mapping[str, Any]) -> str:
    """How many of the values went, and how."""
    removed = found["merged"] + found["dropped"]
    share = removed / max(1, found["values"])
    return (
        f"{removed:,} of {found['values']:,} values of training were removed ({share:.1%}): "
        f"{found['merged']:,} merged with one of the same class, {found['dropped']:,} dropped as rare"
    )


def _where(source: str) -> str:
    return {"out_of_bag": "out of bag", "held_out": "held out"}.get(source, source)


def _strength(found: Mapping[str, Any]) -> str:
    """Strength, correlation and bound (Breiman 2001), those that there are."""
    parts = [f"strength {found['strength']:.4f}"]
    if found["correlation"] is not None:
        parts.append(f"mean correlation {found['correlation']:.4f}")
    if found["error_bound"] is not None:
        parts.append(f"error at most {found['error_bound']:.4f} by Breiman's bound")
    return ", ".join(parts)
