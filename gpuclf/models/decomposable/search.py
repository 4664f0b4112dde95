"""Searches over graphs that move together: which moves each has, what they are worth, and the best of them made.

Tables are counted only for pairs whose separator is another than when they were counted last. Kernels run search by
search, on threads; what is made of their results is one computation for all searches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from gpuclf.models.decomposable.criteria import LEAST, Rules, log_chi2_tail, threshold, worth
from gpuclf.models.decomposable.graph import CLASS, Members, move_factors
from gpuclf.models.decomposable.variables import Variables
from gpuclf.ops.cell_scores import Marginal, add_marginal
from gpuclf.ops.chordal_moves import Moves, chordal_moves
from gpuclf.ops.conditional_tables import conditional_statistics, permutation_counts
from gpuclf.ops.counter_hash import hash64
from gpuclf.ops.pair_tables import joint_counts, pair_statistics
from gpuclf.ops.threads import run_on_threads

_MOST_VALUES = 4096  # of all variables together, whose tables are counted as one matrix
FIGURES = 5  # of a pair: distance, degrees of freedom by strata, by cells and unadjusted, the criterion's own
DISTANCE, STRATA, NONZERO, UNADJUSTED, OWN = range(FIGURES)
_DOF = {"strata": STRATA, "nonzero": NONZERO, "unadjusted": UNADJUSTED}
_MARK = 0x5EED
_LEAST_CELLS = (
    1 << 14
)  # of a search's codes: with ten folds of 2,400 contexts (29,000) threads gain, with 700 they lose


@dataclass(frozen=True)
class Limits:
    """add, remove: the kinds of moves. Inf where there is no limit. fixed, free (B, V, V) bool: edges that stay, and
    those that may be there at all."""

    add: bool
    remove: bool
    max_clique: float
    max_cells: float
    max_edges: float
    fixed: Tensor
    free: Tensor


@dataclass(frozen=True)
class Frontiers:
    """Graphs and their pairs: adjacent (B, V, V) bool; figures (B, V, V, 5) float64, NaN where a pair was never
    counted; key (B, V, V) int64: the separator for which it was counted last; spent (B,) float64: of α, by tests that
    were passed. Searching writes into all of them."""

    adjacent: Tensor
    figures: Tensor
    key: Tensor
    spent: Tensor


@dataclass(frozen=True)
class Move:
    """An edge that is added, or taken away, with what it is worth, its distance, degrees of freedom and log p."""

    a: int
    b: int
    added: bool
    gain: float
    distance: float
    dof: float
    log_p: float


@dataclass(frozen=True)
class Searches:
    """B searches. rules, one a search; limits; power: 0 for G², else that of the divergence; permutations; seeds, of
    the exact test, and alphas, one a search; judged (B, docs) bool: rows whose likelihood the criterion heldout looks
    at; ess: of that likelihood; variables: what each is counted on."""

    rules: Sequence[Rules]
    limits: Limits
    power: float
    permutations: int
    seeds: Sequence[int]
    alphas: Sequence[float]
    ess: Sequence[float]
    judged: Tensor
    variables: Sequence[Variables]

    def refreshed(self, held: Frontiers) -> Moves:
        """The moves of all graphs (each part (B, V, V)); tables of every pair that may be moved are counted."""
        graphs = held.adjacent
        marks = hash64(_MARK, torch.arange(graphs.shape[1], device=graphs.device))
        found: list[Moves] = [Moves(graph, graph, graph) for graph in graphs]

        def look(place: int) -> None:
            found[place] = chordal_moves(graphs[place], marks, self.limits.add, self.limits.remove)

        run_each([partial(look, place) for place in range(len(graphs))], self.variables)
        moves = Moves(*(torch.stack(parts) for parts in zip(*found, strict=True)))
        stale = (moves.add | moves.remove) & ((moves.key != held.key) | torch.isnan(held.figures[..., 0]))
        pairs = torch.nonzero(stale.triu())
        if len(pairs):
            place, a, b = pairs.T
            counted = self._counted(graphs, pairs)
            for left, right in ((a, b), (b, a)):
                held.figures[place, left, right] = counted
                held.key[place, left, right] = moves.key[place, a, b]
        return moves

    def _counted(self, graphs: Tensor, pairs: Tensor) -> Tensor:
        """(P, 5) figures of pairs (P, 3): search, a, b, in the order of searches."""
        place = pairs[:, 0]
        separators = graphs[place, pairs[:, 1]] & graphs[place, pairs[:, 2]]
        found = torch.zeros(len(pairs), FIGURES, dtype=torch.float64, device=graphs.device)
        ends = torch.bincount(place, minlength=len(graphs)).cumsum(0).tolist()
        spans = [(n, slice(start, end)) for n, (start, end) in enumerate(zip([0, *ends], ends, strict=False))]
        pieces = [
            partial(self._tables, n, graphs[n], pairs[part, 1:], separators[part], found[part])
            for n, part in spans
            if part.stop > part.start
        ]
        run_each(pieces, self.variables)
        levels = _stacked([v.occurring for v in self.variables], graphs.shape[1]).clamp(min=1)
        strata = torch.exp((separators.double() * torch.log(levels)[place]).sum(1)).round()
        found[:, UNADJUSTED] = (levels[place[:, None], pairs[:, 1:]] - 1).prod(1) * strata
        tested = torch.tensor([rules.criterion == "p_value" for rules in self.rules], device=graphs.device)[place]
        found[tested, OWN] = _log_p(found[tested], self.rules[0])
        return found

    def _tables(self, number: int, graph: Tensor, pairs: Tensor, separators: Tensor, found: Tensor) -> None:
        """Fills the figures (P, 5) of one search's pairs (P, 2) that come from tables."""
        variables, criterion = self.variables[number], self.rules[number].criterion
        separators = separators[:, : len(variables.codes)]
        used = separators.any(dim=0)
        used[pairs.flatten()] = True
        codes = variables.codes[used][:, variables.labels >= 0]
        place, values, inside = used.cumsum(0) - 1, variables.num_values[used], separators[:, used].contiguous()
        found[:, :UNADJUSTED] = conditional_statistics(codes, values, place[pairs], inside, self.power)
        if criterion == "exact":
            times, seed = self.permutations, self.seeds[number]
            above = permutation_counts(codes, values, place[pairs], inside, found[:, DISTANCE], times, seed)
            found[:, OWN] = torch.log((above + 1) / (times + 1))
        elif criterion == "heldout":
            found[:, OWN] = torch.tensor([self._held_out_gain(number, graph, *pair) for pair in pairs.tolist()])

    def _held_out_gain(self, number: int, graph: Tensor, a: int, b: int) -> float:
        """Log likelihood that adding an edge gains on the judged rows (of one that is there: what it has gained)."""
        variables, judged = self.variables[number], torch.nonzero(self.judged[number]).flatten()
        scores = torch.zeros(self.judged.shape[1], int(variables.num_values[CLASS]), dtype=torch.float64)
        scores = scores.to(graph.device)
        sign = -1 if bool(graph[a, b]) else 1
        for members, power in move_factors(graph, a, b).items():
            add_factor(scores, variables, members, sign * power, self.ess[number])
        return float(scores[judged, variables.codes[CLASS, judged].long()].sum())

    def best(self, held: Frontiers, moves: Moves) -> list[Move | None]:
        """The move of each search that is worth most; None where none is worth anything, or none is allowed.

        Ties (to nine decimals) go to fewer degrees of freedom, then to additions, then to the pair of lower numbers.
        """
        limits = self.limits
        made = torch.nonzero((moves.add & self._within(held.adjacent) & limits.free).triu())
        gone = torch.nonzero((moves.remove & ~limits.fixed).triu())
        pairs = torch.cat([made, gone])
        figures = held.figures[tuple(pairs.T)].cpu().numpy()
        place, a, b = (part.cpu().numpy() for part in pairs.T)
        added = np.arange(len(pairs)) < len(made)
        dof = figures[:, _DOF[self.rules[0].dof]]
        gain, searches, chosen = np.zeros(len(pairs)), [], []
        for number, rules in enumerate(self.rules):
            own = np.flatnonzero(place == number)
            if not own.size:
                continue
            level = threshold(rules, self.alphas[number], own.size, float(held.spent[number]))
            documents = self.variables[number].documents
            gains = worth(figures[own, DISTANCE], dof[own], figures[own, OWN], documents, rules, level)
            gain[own] = gains = np.where(added[own], gains, -gains)
            rounded = np.round(gains, 9)
            tied = own[rounded == rounded.max()]
            searches.append(number)
            chosen.append(int(tied[np.argmin(dof[tied])]))
        log_p = log_chi2_tail(figures[chosen, DISTANCE], dof[chosen])
        found: list[Move | None] = [None] * len(self.rules)
        for number, at, tail in zip(searches, chosen, log_p.tolist(), strict=True):
            criterion = self.rules[number].criterion
            least = -np.inf if criterion == "g2" and limits.remove else LEAST
            if gain[at] > least:
                p = float(figures[at, OWN]) if criterion == "exact" else tail
                distance, free = float(figures[at, DISTANCE]), float(dof[at])
                found[number] = Move(int(a[at]), int(b[at]), bool(added[at]), float(gain[at]), distance, free, p)
        return found

    def _within(self, graphs: Tensor) -> Tensor:
        """(B, V, V) bool: edges that may be added under the limits of size."""
        limits = self.limits
        edges = graphs.sum(dim=(1, 2)) // 2
        allowed = (edges + 1 <= limits.max_edges)[:, None, None].expand_as(graphs)
        if np.isfinite(limits.max_clique):
            common = graphs.float() @ graphs.float()
            allowed = allowed & (common + 2 <= limits.max_clique)
        if np.isfinite(limits.max_cells):
            logs = torch.log(_stacked([v.levels for v in self.variables], graphs.shape[1]))
            inside = (graphs.double() * logs[:, None]) @ graphs.double() + logs[:, :, None] + logs[:, None]
            allowed = allowed & (inside <= np.log(limits.max_cells) + 1e-9)
        return allowed

    def make(self, held: Frontiers, places: Sequence[int], moves: Sequence[Move]) -> None:
        """Makes a move of each of the searches `places`."""
        if not moves:
            return
        at, a, b = (torch.tensor(part, device=held.adjacent.device) for part in _columns(places, moves))
        added = torch.tensor([move.added for move in moves], device=held.adjacent.device)
        held.adjacent[at, a, b] = held.adjacent[at, b, a] = added
        for place, move in zip(places, moves, strict=True):
            if self.rules[place].correction == "sequential" and move.added:
                held.spent[place] += float(np.exp(move.log_p))


def run_each(pieces: Sequence[Callable[[], None]], variables: Sequence[Variables]) -> None:
    """Runs a piece of work for each of some searches, on threads where their tables (of `variables`) are large: threads
    with small pieces wait for each other to be back in Python, and take longer than one."""
    if sum(held.codes.numel() for held in variables) >= _LEAST_CELLS * len(variables):
        run_on_threads(pieces)
        return
    for piece in pieces:
        piece()


def first_figures(variables: Variables, power: float) -> Tensor | None:
    """(V, V, 5) float64 of all pairs of variables without a separator, the criterion's own left 0, from one product of
    matrices; None where there are too many values for that."""
    size = len(variables.num_values)
    if int(variables.num_values.sum()) > _MOST_VALUES:
        return None
    codes = variables.codes[:, variables.labels >= 0].T
    values = variables.num_values.tolist()
    figures = torch.zeros(size, size, FIGURES, dtype=torch.float64, device=variables.codes.device)
    figures[..., :UNADJUSTED] = pair_statistics(joint_counts(codes, values), values, variables.documents, power)
    free = variables.occurring.double().clamp(min=1) - 1
    figures[..., UNADJUSTED] = torch.outer(free, free)
    return figures


def begun_figures(figures: Tensor | None, rules: Rules, size: int, device: torch.device) -> Tensor:
    """(V, V, 5) float64: the figures that a search by these rules begins with; NaN where tables must be counted."""
    if figures is None or rules.criterion in ("exact", "heldout"):
        return torch.full((size, size, FIGURES), torch.nan, dtype=torch.float64, device=device)
    found = figures.clone()
    if rules.criterion == "p_value":
        found[..., OWN] = _log_p(figures, rules)
    return found


def _log_p(figures: Tensor, rules: Rules) -> Tensor:
    """log p of figures (…, 5)."""
    distance, dof = figures[..., DISTANCE].cpu().numpy(), figures[..., _DOF[rules.dof]].cpu().numpy()
    return torch.from_numpy(log_chi2_tail(distance, dof)).to(figures.device)


def _stacked(values: Sequence[Tensor], size: int) -> Tensor:
    """(B, V) float64 of what is told of the variables of each search, 1 for those that it lacks."""
    return torch.stack([torch.nn.functional.pad(one, (0, size - len(one)), value=1) for one in values]).double()


def _columns(places: Sequence[int], moves: Sequence[Move]) -> tuple[list[int], list[int], list[int]]:
    return list(places), [move.a for move in moves], [move.b for move in moves]


def leads_back(moves: Tensor, move: Move) -> bool:
    """Whether a move, after the moves (S, 2) of a search (−1 for none), makes a graph that the search had before.

    In both directions an edge may be worth adding beside one separator and worth nothing beside another, so that
    searches would go round for ever.
    """
    odd = {(move.a, move.b)}  # edges that are not as they were at the graph that is looked back to
    for a, b in reversed(moves.tolist()):
        if a >= 0:
            odd ^= {(a, b)}
            if not odd:
                return True
    return False


def add_factor(
    scores: Tensor, variables: Variables, members: Members, power: int, ess: float, leave_out: bool = False
) -> None:
    """Adds power · log P(members) to scores (docs, K): hyper-Dirichlet, (n + ess / |T|) / (N + ess) a cell of table T
    (Dawid & Lauritzen 1993), which is consistent between the tables of overlapping sets."""
    mask = torch.zeros(len(variables.levels), dtype=torch.bool, device=scores.device)
    mask[list(members)] = True
    add_table(scores, variables, mask, power, ess, leave_out)


def add_table(
    scores: Tensor, variables: Variables, members: Tensor, power: int, ess: float, leave_out: bool = False
) -> None:
    """`add_factor` of members (V,) bool."""
    size = float(variables.levels[members].double().prod())
    marginal = Marginal(members, power, size, variables.documents, ess, leave_out)
    add_marginal(scores, variables.codes, variables.num_values, variables.labels, marginal)


@contextmanager
def packed(part: Tensor) -> Iterator[Tensor]:
    """A part of a tensor for kernels to write into, whose rows must lie together: itself, or a copy put back after."""
    held = part.contiguous()
    yield held
    if held.data_ptr() != part.data_ptr():
        part.copy_(held)
