"""The transitions of a chain as a heat map: what each label favours and avoids after it."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from gpuclf.report.html.markup import Markup, joined, name_text, table, tag
from gpuclf.report.html.svg import picture
from gpuclf.report.transitions import strongest

_NUMBERS_UP_TO = 20  # labels whose weights stand in the cells
_SHOWN = 100
_CHARACTER = 6.8
_NAMED = 5


def transition_section(transitions: Tensor, classes: Sequence[str]) -> Markup:
    """transitions (K, K), from the row's label to the column's; of very many labels the first ones are drawn."""
    names = list(classes[:_SHOWN])
    more = f" The first {_SHOWN} of {len(classes):,} labels." if len(classes) > _SHOWN else ""
    note = "A row is a label, a column the label after it. Green weights favour the pair, red ones avoid it." + more
    rows = [
        [tag("span", name_text(name), title=name), *(_ends(end, classes) for end in ends)]
        for name, ends in zip(classes, strongest(transitions, _NAMED), strict=True)
    ]
    return joined(
        tag("p", note, class_="note"),
        tag("div", _map(transitions[: len(names), : len(names)], names), class_="scroll"),
        table(["label", "favours after it", "avoids after it"], rows),
    )


def _ends(end: Sequence[tuple[int, float]], classes: Sequence[str]) -> str:
    return ", ".join(f"{name_text(classes[after], 20)} {weight:z.2f}" for after, weight in end) or "(none)"


def _map(transitions: Tensor, names: Sequence[str]) -> Markup:
    few = len(names) <= _NUMBERS_UP_TO
    side = 38.0 if few else 13.0
    most = max(float(transitions.abs().max()), 1e-9)
    margin = 12 + _CHARACTER * max(len(name_text(name, 26)) for name in names)
    extent = side * len(names)
    content: list[Markup] = [tag("rect", x=margin, y=margin, width=extent, height=extent, class_="back")]
    for place, name in enumerate(names):
        middle = margin + side * (place + 0.5)
        label = tag("text", name_text(name, 26), x=margin - 6, y=middle + 4)
        content.append(tag("g", label, tag("title", name), class_="rowname"))
        turned = f"translate({middle + 4:.1f} {margin - 6:.1f}) rotate(-90)"
        content.append(tag("text", name_text(name, 26), transform=turned))
    for row, weights in enumerate(transitions.tolist()):
        for column, weight in enumerate(weights):
            x, y = margin + side * column, margin + side * row
            told = tag("title", f"{names[row]} → {names[column]}: {weight:.4g}")
            shade = round(0.05 + 0.85 * abs(weight) / most, 3)
            box = tag("rect", told, x=x, y=y, width=side - 1, height=side - 1, fill_opacity=shade)
            text = f"{weight:z.1f}" if few else ""
            number = tag("text", text, x=x + side / 2 - 0.5, y=y + side / 2 + 4, text_anchor="middle") if few else None
            content.append(tag("g", box, number, class_="right" if weight > 0 else "wrong"))
    width = margin + extent + 8
    return picture(
        width, width, *content, title="weights of transitions", class_="chart matrix" if few else "chart matrix large"
    )
