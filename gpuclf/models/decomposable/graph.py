"""Chordal graphs over the variables: cliques and separators, and the graphs that a search begins with."""

from __future__ import annotations

from collections import Counter

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.models.decomposable.variables import Variables
from gpuclf.ops.conditional_tables import conditional_statistics

CLASS = 0
Members = frozenset[int]


def junction_forest(adjacent: Tensor) -> tuple[list[Members], list[tuple[int, int, Members]]] | None:
    """Maximal cliques, and the forest's edges (clique, clique, separator), by maximum cardinality search.

    None where the graph (V, V) bool is not chordal (Tarjan & Yannakakis 1984; Blair & Peyton 1993). Separators of
    cliques in different components are empty and are not listed.
    """
    graph: NDArray[np.bool_] = adjacent.cpu().numpy()
    size = len(graph)
    visited = np.zeros(size, dtype=np.bool_)
    held = np.zeros(size, dtype=np.int64)
    of_node = np.zeros(size, dtype=np.int64)  # the clique in which a node was visited first
    place = np.zeros(size, dtype=np.int64)
    cliques: list[set[int]] = []
    edges: list[tuple[int, int, Members]] = []
    last = -1
    for step in range(size):
        node = int(np.argmax(np.where(visited, -1, held)))
        before = np.flatnonzero(graph[node] & visited)
        if len(before):
            latest = int(before[np.argmax(place[before])])
            others = before[before != latest]
            if not graph[latest, others].all():
                return None
        if held[node] <= last or not cliques:
            cliques.append({node, *before.tolist()})
            if len(before):
                edges.append((int(of_node[latest]), len(cliques) - 1, frozenset(before.tolist())))
        else:
            cliques[-1].add(node)
        of_node[node] = len(cliques) - 1
        last = int(held[node])
        visited[node], place[node] = True, step
        held[graph[node]] += 1
    return [frozenset(clique) for clique in cliques], edges


def factors(adjacent: Tensor) -> Counter[Members]:
    """How often each marginal stands in the model: cliques above the line, separators below it (negative)."""
    found = junction_forest(adjacent)
    assert found is not None, "the graph of a decomposable model is chordal"
    cliques, edges = found
    powers = Counter(cliques)
    for _, _, separator in edges:
        powers[separator] -= 1
    return Counter({members: power for members, power in powers.items() if power and members})


def move_factors(adjacent: Tensor, a: int, b: int) -> dict[Members, int]:
    """What moving edge a–b multiplies the model by: P(abS) P(S) / (P(aS) P(bS)) where it is added, else the inverse."""
    common = frozenset(torch.nonzero(adjacent[a] & adjacent[b]).flatten().tolist())
    sign = -1 if bool(adjacent[a, b]) else 1
    powers = {common | {a, b}: sign, common | {a}: -sign, common | {b}: -sign}
    return powers | ({common: sign} if common else {})


def naive_bayes_graph(size: int, device: torch.device) -> Tensor:
    """Every input hangs on the class alone."""
    graph = torch.zeros(size, size, dtype=torch.bool, device=device)
    graph[CLASS, 1:] = graph[1:, CLASS] = True
    return graph


def tree_graph(variables: Variables) -> Tensor:
    """The tree of most mutual information over all variables (Chow & Liu 1968), without edges of none."""
    return _spanning_forest(_distances(variables, given_class=False))


def tan_graph(variables: Variables) -> Tensor:
    """Naive Bayes with a tree over the inputs by mutual information given the class (Friedman et al. 1997)."""
    size = len(variables.levels)
    weight = _distances(variables, given_class=True)
    weight[CLASS] = weight[:, CLASS] = 0
    device = variables.codes.device
    return _spanning_forest(weight).to(device) | naive_bayes_graph(size, device)


def _distances(variables: Variables, given_class: bool) -> NDArray[np.float64]:
    """(V, V): G² of all pairs, within the classes or without them."""
    size = len(variables.levels)
    counted = torch.nonzero(variables.labels >= 0).flatten()
    pairs = torch.combinations(torch.arange(size), 2)
    if given_class:
        pairs = pairs[(pairs != CLASS).all(1)]
    separators = torch.zeros(len(pairs), size, dtype=torch.bool)
    separators[:, CLASS] = given_class
    codes = variables.codes[:, counted].contiguous()
    device = codes.device
    found = conditional_statistics(codes, variables.num_values, pairs.to(device), separators.to(device), 0.0)
    weight = np.zeros((size, size))
    left, right = pairs[:, 0].numpy(), pairs[:, 1].numpy()
    weight[left, right] = weight[right, left] = found[:, 0].cpu().numpy()
    return weight


def _spanning_forest(weight: NDArray[np.float64]) -> Tensor:
    """The forest of greatest weight, of edges above 0; ties to the pair of lower numbers (Kruskal)."""
    size = len(weight)
    left, right = np.triu_indices(size, 1)
    order = np.lexsort((right, left, -np.round(weight[left, right], 9)))
    part = list(range(size))

    def root(node: int) -> int:
        while part[node] != node:
            part[node] = part[part[node]]
            node = part[node]
        return node

    graph = torch.zeros(size, size, dtype=torch.bool)
    for place in order.tolist():
        a, b = int(left[place]), int(right[place])
        if weight[a, b] <= 1e-9:
            break
        if root(a) != root(b):
            part[root(a)] = root(b)
            graph[a, b] = graph[b, a] = True
    return graph
