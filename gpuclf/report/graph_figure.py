"""Pictures of a decomposable model: its graph, and the tree of its cliques."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuclf.models.decomposable.graph import CLASS
from gpuclf.report.graph_facts import GraphFacts
from gpuclf.report.plots import plain_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CHARS = 22
_MOST_NAMES = 80  # variables whose names are written beside them


def graph_figure(facts: GraphFacts) -> Figure:
    """The variables that have an edge, the class in the middle; on what is not drawn the title tells."""
    where = facts.layout()
    with plain_text():
        from matplotlib.figure import Figure

        side = 6.0 + 0.1 * min(len(where), 80)
        figure = Figure(figsize=(side, side), dpi=100, layout="constrained")
        axes = figure.add_subplot()
        for a, b in facts.edges:
            axes.plot(*zip(where[a], where[b], strict=True), color="C0" if CLASS in (a, b) else "0.6", zorder=1)
        for node, (x, y) in where.items():
            axes.scatter([x], [y], s=120 if node == CLASS else 50, color="C3" if node == CLASS else "C0", zorder=2)
            if len(where) <= _MOST_NAMES:
                axes.annotate(_short(facts.names[node]), (x, y), xytext=(5, 5), textcoords="offset points", fontsize=8)
        alone = len(facts.names) - len(where)
        more = f"; {alone} variables without one are not drawn" if alone else ""
        axes.set_title(f"{len(facts.edges)} edges between {len(where)} variables{more}")
        axes.margins(0.15)
        axes.set_axis_off()
    return figure


def clique_tree_figure(facts: GraphFacts) -> Figure:
    """The cliques of more than one variable, a line each, under the clique that they hang on by their separator."""
    with plain_text():
        from matplotlib.figure import Figure

        lines = clique_lines(facts)
        figure = Figure(figsize=(9.0, 1.0 + 0.22 * len(lines)), dpi=100, layout="constrained")
        axes = figure.add_subplot()
        for place, (depth, text) in enumerate(lines):
            axes.text(0.03 * depth, -place, ("└ " if depth else "") + text, fontsize=8, va="center")
        axes.set(xlim=(0, 1), ylim=(-len(lines), 1))
        axes.set_title("clique tree: variables of each clique, after | what it shares with the one above")
        axes.set_axis_off()
    return figure


def clique_lines(facts: GraphFacts, most: int = 120) -> list[tuple[int, str]]:
    """(depth, text) of the cliques of more than one variable, each below its parent in the clique tree."""
    cliques, edges = facts.forest
    children: dict[int, list[tuple[int, frozenset[int]]]] = {}
    for parent, child, separator in edges:
        children.setdefault(parent, []).append((child, separator))
    held = {child for _, child, _ in edges}
    waiting = [(root, 0, frozenset[int]()) for root in range(len(cliques) - 1, -1, -1) if root not in held]
    lines: list[tuple[int, str]] = []
    while waiting:
        clique, depth, shared = waiting.pop()
        if len(cliques[clique]) > 1:
            own = ", ".join(_short(facts.names[v]) for v in sorted(cliques[clique] - shared))
            common = ", ".join(_short(facts.names[v]) for v in sorted(shared))
            lines.append((depth, f"{own} | {common}" if common else own))
        waiting += [(child, depth + 1, separator) for child, separator in reversed(children.get(clique, []))]
    if len(lines) > most:
        return [*lines[:most], (0, f"… {len(lines):,} cliques in all")]
    return lines or [(0, "no clique of two variables")]


def _short(name: str) -> str:
    return name if len(name) <= _CHARS else name[: _CHARS - 1] + "…"
