"""A decomposable model on the page: its graph as a picture, the product of tables, the clique tree."""

from __future__ import annotations

from gpuclf.models.decomposable.graph import CLASS
from gpuclf.report.graph_facts import GraphFacts
from gpuclf.report.graph_figure import clique_lines
from gpuclf.report.html.markup import Markup, folded, joined, name_text, tag
from gpuclf.report.html.svg import picture

_SIDE, _MARGIN = 640.0, 90.0
_MOST = 150  # variables that are drawn


def graph_section(facts: GraphFacts) -> Markup:
    """The class stands in the middle; inputs on its ring speak for it, those further out only with others."""
    lines = "\n".join(name_text(line, None) for line in facts.lines())
    note = "Inputs that are joined depend on each other given all others; those joined with the class decide on it."
    return joined(
        tag("p", note, class_="note"),
        drawn_graph(facts),
        tag("pre", lines),
        clique_tree(facts),
    )


def clique_tree(facts: GraphFacts) -> Markup:
    """The cliques, each below the one that it hangs on."""
    tree = "\n".join("  " * depth + name_text(text, None) for depth, text in clique_lines(facts))
    return folded("The clique tree: after | what a clique shares with the one above", tag("pre", tree))


def drawn_graph(facts: GraphFacts) -> Markup | None:
    """The picture; None where no variable has an edge, or too many have."""
    where = facts.layout()
    if not where or len(where) > _MOST:
        return None
    reach = max(1.0, *(max(abs(x), abs(y)) for x, y in where.values()))
    scale = (_SIDE / 2 - _MARGIN) / reach
    at = {node: (round(_SIDE / 2 + x * scale, 1), round(_SIDE / 2 + y * scale, 1)) for node, (x, y) in where.items()}
    content = [
        tag("line", x1=at[a][0], y1=at[a][1], x2=at[b][0], y2=at[b][1], class_="axis" if CLASS in (a, b) else "grid")
        for a, b in facts.edges
    ]
    for node, (x, y) in at.items():
        name = facts.names[node]
        content.append(tag("circle", tag("title", name), cx=x, cy=y, r=7 if node == CLASS else 4, class_="dot"))
        content.append(tag("text", name_text(name, 18), x=x + 7, y=y - 6))
    return picture(_SIDE, _SIDE, *content, title=f"{len(facts.edges)} edges between {len(where)} variables")
