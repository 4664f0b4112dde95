"""A forest's inputs by what their splits gained, and the top of its first tree."""

from __future__ import annotations

from collections.abc import Sequence

from gpuclf.report.html.markup import Markup, joined, name_text, table, tag

_INPUTS = 50


def forest_section(importances: Sequence[tuple[str, float]], tree: Sequence[str] | None) -> Markup:
    """importances: inputs with their shares, highest first; tree: lines of a tree, where there is one."""
    rows = [[name_text(name, 60), f"{share:.1%}"] for name, share in importances[:_INPUTS]]
    more = f" The first {_INPUTS} of {len(importances):,}." if len(importances) > _INPUTS else ""
    note = "Shares of what all splits gained in training; inputs with many values gain more than they are worth."
    shown = [tag("p", note + more, class_="note"), table(["input", "share"], rows, numbers=(1,))]
    if tree is not None:
        shown += [
            tag("p", "The top of the first tree:", class_="note"),
            tag("pre", "\n".join(name_text(line, 160) for line in tree)),
        ]
    return joined(*shown)
