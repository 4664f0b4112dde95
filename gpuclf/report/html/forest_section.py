"""A forest's trees and inputs: how they vote, what each input is worth, and the top of the first tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuclf.report.forest_record import accuracy_curves, forest_lines, input_note, input_rows
from gpuclf.report.html.markup import Markup, joined, name_text, table, tag
from gpuclf.report.html.svg import chart, frame, padded, polyline, whole_ticks

_INPUTS = 50


def forest_section(
    importances: Sequence[tuple[str, float]], tree: Sequence[str] | None, forest: Mapping[str, Any]
) -> Markup:
    """importances: inputs with their shares of the gain, highest first; tree: lines of a tree, where there is one;
    forest: metrics.json "forest"."""
    shown: list[Markup | None] = []
    if forest:
        shown.append(tag("ul", *(tag("li", line) for line in forest_lines(forest))))
        shown.append(_curves(*accuracy_curves(forest)))
        head, rows = input_rows(forest)
        rows = [[name_text(row[0], 60), *row[1:]] for row in rows]
        more = forest["inputs_in_all"] - len(rows)
        note = input_note(forest)
    else:
        head = ["input", "gain"]
        rows = [[name_text(name, 60), f"{share:.1%}"] for name, share in importances[:_INPUTS]]
        more, note = len(importances) - len(rows), "gain: share of what all splits gained in training"
    left_out = f". The first {len(rows)} of {len(rows) + more:,}." if more > 0 else "."
    shown.append(tag("p", note[:1].upper() + note[1:] + left_out, class_="note"))
    shown.append(table(head, rows, numbers=range(1, len(head)), class_="sortable"))
    if tree is not None:
        shown += [
            tag("p", "The top of the first tree:", class_="note"),
            tag("pre", "\n".join(name_text(line, 160) for line in tree)),
        ]
    return joined(*shown)


def _curves(unit: str, curves: Mapping[str, Mapping[str, Any]]) -> Markup | None:
    """Accuracy against the number of trees or rounds, a line for each kind of documents."""
    drawn = {name: curve for name, curve in curves.items() if len(curve["trees"]) > 1}
    if not drawn:
        return None
    last = max(curve["trees"][-1] for curve in drawn.values())
    values = [value for curve in drawn.values() for value in curve["accuracy"]]
    low, high = padded(values, least=0.01, bounds=(0.0, 1.0))
    air = last * 0.02
    area = frame(
        (1 - air, last + air), (low, high), labels=(unit, ""), x_ticks=whole_ticks(1, last, 6), size=(560.0, 300.0)
    )
    lines, keys = [], []
    for place, (name, curve) in enumerate(drawn.items()):
        label = name.replace("_", "-")
        points = [area.point(float(t), a) for t, a in zip(curve["trees"], curve["accuracy"], strict=True)]
        lines.append(polyline(points, f"line s{place}", f"{label}: {curve['accuracy'][-1]:.4f} with {last:,}"))
        keys.append(tag("li", tag("i", class_=f"key s{place}"), label))
    heading = f"accuracy by the number of {unit}"
    picture = tag("figure", tag("figcaption", heading), chart(area, *lines, title=heading))
    return joined(tag("div", picture, class_="panels"), tag("ul", *keys, class_="legend"))
