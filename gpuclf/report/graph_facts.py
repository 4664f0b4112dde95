"""A decomposable model for a person: its variables by name, the product of tables that it is, what it leaves out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from gpuclf.models.decomposable.graph import CLASS, Members, junction_forest

CLASS_NAME = "class"


@dataclass(frozen=True)
class GraphFacts:
    """names: of the variables, the class first; edges: between their places; models: how many a mix or switch has;
    weights: of a stack, of naive Bayes, of the tree-augmented one, and of each model of the search."""

    names: Sequence[str]
    edges: Sequence[tuple[int, int]]
    combine: str
    models: int
    weights: Sequence[float] = ()

    @cached_property
    def forest(self) -> tuple[list[Members], list[tuple[int, int, Members]]]:
        """Cliques, and the edges of the clique tree with their separators."""
        graph = torch.zeros(len(self.names), len(self.names), dtype=torch.bool)
        for a, b in self.edges:
            graph[a, b] = graph[b, a] = True
        found = junction_forest(graph)
        assert found is not None, "the graph of a model is chordal"
        return found

    @property
    def deselected(self) -> list[str]:
        """The inputs that are no neighbours of the class: they have no part in the decision."""
        beside = {b for a, b in self.edges if a == CLASS} | {a for a, b in self.edges if b == CLASS}
        return [name for place, name in enumerate(self.names) if place != CLASS and place not in beside]

    def written(self, members: Members) -> str:
        """A table: its variables by name."""
        return f"P({', '.join(self.names[v] for v in sorted(members))})"

    def lines(self, brief: bool = False) -> list[str]:
        """The factorisation, the larger cliques first, those of the class before all others; then what is left out.
        brief: inputs that depend on nothing in one line."""
        cliques, edges = self.forest
        order = sorted(cliques, key=lambda c: (CLASS not in c, len(c) == 1, -len(c), sorted(c)))
        often = Counter(separator for _, _, separator in edges)
        below = sorted(often, key=lambda s: (CLASS not in s, -len(s), sorted(s)))
        found = []
        if self.combine == "stack":
            found += self._stack()
        elif self.combine != "none":
            how = {"mix": "The mean over", "switch": "By document, one of"}[self.combine]
            found.append(f"{how} {self.models:,} models; the last of them:")
        listed = [clique for clique in order if CLASS in clique or len(clique) > 1] if brief else order
        found += [f"  {'=' if not place else '·'} {self.written(clique)}" for place, clique in enumerate(listed)]
        if alone := order[len(listed) :]:
            found.append("  " + " ".join(f"· {self.written(clique)}" for clique in alone))
        found += [f"  / {self.written(s)}{f'^{often[s]}' if often[s] > 1 else ''}" for s in below]
        found.append(f"{len(self.edges):,} edges, {len(cliques):,} cliques, the largest of {self._largest} variables")
        left = self.deselected
        if left:
            found.append(f"deselected, no neighbours of the class: {', '.join(left)}")
        if len(left) == len(self.names) - 1:
            found.append("the class stands alone: every document gets the most frequent one")
        return found

    def _stack(self) -> list[str]:
        """The models of a stack, the weightiest first."""
        known = ["naive Bayes", "tree-augmented naive Bayes"]
        named = [
            *known,
            *(f"the search after {place} move{'s' * (place != 1)}" for place in range(len(self.weights) - len(known))),
        ]
        held = sorted(((weight, -place) for place, weight in enumerate(self.weights) if weight > 0), reverse=True)
        lines = [f"The mean of P(class | inputs) over {len(held):,} models, by weights:"]
        lines += [f"  {weight:.3f} {named[-place]}" for weight, place in held]
        return [*lines, "the first of them:"]

    @property
    def _largest(self) -> int:
        return max(len(clique) for clique in self.forest[0])

    def layout(self) -> dict[int, tuple[float, float]]:
        """A place for every variable that has an edge: the class in the middle, the others on rings by their distance
        from it, components without it beside them; rings are filled in the order of their neighbours."""
        around: dict[int, list[int]] = {}
        for a, b in self.edges:
            around.setdefault(a, []).append(b)
            around.setdefault(b, []).append(a)
        rings: list[list[int]] = []
        placed: set[int] = set()
        for root in [CLASS, *sorted(around, key=lambda v: (-len(around[v]), v))]:
            if root in placed or root not in around:
                continue
            ring = [root]
            placed.add(root)
            depth = 0 if root == CLASS else max(1, len(rings))
            while ring:
                while len(rings) <= depth:
                    rings.append([])
                rings[depth] += ring
                further = [w for v in ring for w in sorted(around[v]) if w not in placed]
                ring = list(dict.fromkeys(further))
                placed.update(ring)
                depth += 1
        where = {}
        for depth, ring in enumerate(rings):
            for number, node in enumerate(ring):
                turn = 2 * math.pi * (number + 0.5 * (depth % 2)) / max(len(ring), 1)
                where[node] = (depth * math.cos(turn), depth * math.sin(turn))
        return where


@dataclass(frozen=True)
class WordFacts:
    """The model of one ambiguous word. senses: the share of each among the training documents of the word."""

    graph: GraphFacts
    senses: Mapping[str, float]
    documents: int

    @property
    def heading(self) -> str:
        """How many documents of which senses."""
        senses = ", ".join(f"{name} {share:.1%}" for name, share in self.senses.items())
        documents = f"{self.documents:,} document{'s' * (self.documents != 1)}"
        return f"{documents} of {len(self.senses):,} sense{'s' * (len(self.senses) != 1)}: {senses}"

    def lines(self) -> list[str]:
        """The senses, then the factorisation and what is left out."""
        return [self.heading, *self.graph.lines(brief=True)]
