"""The confusion matrix as a picture, readable from two to a hundred classes, and the most frequent confusions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gpuclf.report.explain import confused_pairs
from gpuclf.report.html.markup import Markup, joined, name_text, table, tag
from gpuclf.report.html.svg import picture

_COUNTS_UP_TO = 25  # classes whose counts stand in the cells
_CLASSES_SHOWN = 100
_PAIRS = 20
_CHARACTER = 6.8, 6.2  # widths at most: of 11 px in a small matrix, of 10 px in a large one


def confusion_section(confusion: Tensor, classes: Sequence[str], num_known: int) -> Markup:
    """confusion (K, K) int64, gold in rows; the first `num_known` classes are the model's, so others have no column.

    With more classes than can be looked at, those with the most errors are drawn.
    """
    kept, note = list(range(len(classes))), None
    if len(classes) > _CLASSES_SHOWN:
        errors = confusion.sum(0) + confusion.sum(1) - 2 * confusion.diagonal()
        kept = sorted(torch.sort(errors, descending=True, stable=True).indices[:_CLASSES_SHOWN].tolist())
        note = f"The {_CLASSES_SHOWN} of {len(classes):,} classes with the most errors."
    total, right = int(confusion.sum()), int(confusion.diagonal().sum())
    few = len(kept) <= _COUNTS_UP_TO
    how = "" if few else " Right answers are left pale, so that errors are seen; point at a cell to read it."
    said = f"{right:,} of {total:,} documents are right. A row is a gold class, a column a predicted one.{how}"
    return joined(
        tag("p", " ".join(part for part in (said, note) if part), class_="note"),
        tag("div", _matrix(confusion, classes, kept, num_known, few), class_="scroll"),
        _pairs(confusion, classes),
    )


def _matrix(confusion: Tensor, classes: Sequence[str], rows: Sequence[int], num_known: int, few: bool) -> Markup:
    columns = [index for index in rows if index < num_known]
    side = max(34.0, min(64.0, 190 / max(len(rows), 1))) if few else 13.0
    width = 26 if few else 30
    longest = max(len(name_text(classes[index], width)) for index in rows)
    margin = 12 + _CHARACTER[0 if few else 1] * longest
    top = margin if len(rows) > 6 or longest > 9 else 24.0
    body = confusion[rows][:, columns]
    support = confusion.sum(dim=1)
    content: list[Markup] = [
        tag("rect", x=margin, y=top, width=side * len(columns), height=side * len(rows), class_="back")
    ]
    for place, index in enumerate(rows):
        label = tag("text", name_text(classes[index], width), x=margin - 6, y=top + side * (place + 0.5) + 4)
        content.append(
            tag("g", label, tag("title", f"gold {classes[index]}: {int(support[index]):,}"), class_="rowname")
        )
    for place, index in enumerate(columns):
        content.append(_column_name(name_text(classes[index], width), margin + side * (place + 0.5), top, top > 24))
    for row, column in torch.nonzero(body).tolist():
        count, of = int(body[row, column]), int(support[rows[row]])
        gold, predicted = rows[row], columns[column]
        x, y = margin + side * column, top + side * row
        kind = "right" if gold == predicted else "wrong"
        told = f"{classes[gold]} → {classes[predicted]}: {count:,} of {of:,} ({count / of:.1%})"
        box = tag(
            "rect",
            tag("title", told),
            x=x,
            y=y,
            width=side - 1,
            height=side - 1,
            fill_opacity=_shade(count / of, few, kind),
        )
        content.append(tag("g", box, _count(count, x, y, side) if few else None, class_=kind))
    height = top + side * len(rows) + 8
    return picture(
        margin + side * len(columns) + 8,
        height,
        *content,
        title="confusion matrix",
        class_="chart matrix" if few else "chart matrix large",
    )


def _shade(share: float, few: bool, kind: str) -> float:
    """Opacity by the share of the gold class; where only errors matter, right answers are pale and errors strong."""
    if few:
        return 0.10 + 0.75 * share
    return 0.12 + 0.25 * share if kind == "right" else min(0.3 + 2.0 * share, 1.0)


def _column_name(name: str, x: float, top: float, turned: bool) -> Markup:
    if turned:
        return tag("text", name, transform=f"translate({x + 4:.1f} {top - 6:.1f}) rotate(-90)")
    return tag("text", name, x=x, y=top - 8, text_anchor="middle")


def _count(count: int, x: float, y: float, side: float) -> Markup:
    return tag("text", f"{count:,}", x=x + side / 2 - 0.5, y=y + side / 2 + 4, text_anchor="middle")


def _pairs(confusion: Tensor, classes: Sequence[str]) -> Markup | None:
    pairs = confused_pairs(confusion, classes, _PAIRS)
    if not pairs:
        return None
    rows = [
        [
            tag("span", name_text(gold), title=gold),
            tag("span", name_text(given), title=given),
            f"{count:,}",
            f"{share:.1%}",
        ]
        for gold, given, count, share in pairs
    ]
    head = ["gold", "predicted", "documents", "of the gold class"]
    return joined(tag("h3", "Most frequent confusions"), table(head, rows, numbers=(2, 3), class_="sortable"))
