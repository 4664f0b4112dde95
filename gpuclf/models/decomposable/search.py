"""One search over graphs: which moves there are, what each is worth, and the best of them made.

Tables are counted only for pairs whose separator is another than when they were counted last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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

_MOST_VALUES = 4096  # of all variables together, whose tables are counted as one matrix
FIGURES = 5  # of a pair: distance, degrees of freedom by strata, by cells and unadjusted, the criterion's own
DISTANCE, STRATA, NONZERO, UNADJUSTED, OWN = range(FIGURES)
_DOF = {"strata": STRATA, "nonzero": NONZERO, "unadjusted": UNADJUSTED}
_MARK = 0x5EED


@dataclass(frozen=True)
class Limits:
    """add, remove: the kinds of moves. Inf where there is no limit. fixed, free (V, V) bool: edges that stay, and those
    that may be there at all."""

    add: bool
    remove: bool
    max_clique: float
    max_cells: float
    max_edges: float
    fixed: Tensor
    free: Tensor


@dataclass(frozen=True)
class Frontier:
    """A graph and its pairs: adjacent (V, V) bool; figures (V, V, 5) float64, NaN where a pair was never counted; key
    (V, V) int64: the separator for which it was counted last. spent: of α, by tests that were passed. Searching writes
    into figures and key."""

    adjacent: Tensor
    figures: Tensor
    key: Tensor
    spent: float


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
class Search:
    """rules and limits; statistic: 0 for G², else the power of the divergence; permutations, seed: of the exact test;
    alpha; judged (docs,) bool: rows whose likelihood the criterion heldout looks at; ess: of that likelihood."""

    rules: Rules
    limits: Limits
    power: float
    permutations: int
    seed: int
    alpha: float
    ess: float
    judged: Tensor

    def begin(self, variables: Variables, adjacent: Tensor) -> Frontier:
        """The graph that the search begins with, and the tables of all pairs that have no separator."""
        size = len(adjacent)
        device = adjacent.device
        figures = torch.full((size, size, FIGURES), torch.nan, dtype=torch.float64, device=device)
        plain = self.rules.criterion not in ("exact", "heldout")
        if plain and int(variables.num_values.sum()) <= _MOST_VALUES:
            codes = variables.codes[:, variables.labels >= 0].T
            values = variables.num_values.tolist()
            found = pair_statistics(joint_counts(codes, values), values, variables.documents, self.power)
            figures[..., :UNADJUSTED] = found.to(device)
            free = variables.occurring.double().clamp(min=1) - 1
            figures[..., UNADJUSTED] = torch.outer(free, free)
            figures[..., OWN] = self._own_p(figures)
        key = torch.zeros(size, size, dtype=torch.int64, device=device)
        return Frontier(adjacent, figures, key, 0.0)

    def refreshed(self, variables: Variables, frontier: Frontier) -> tuple[Frontier, Moves]:
        """The frontier with the tables of every pair that may be moved now."""
        size = len(frontier.adjacent)
        marks = hash64(_MARK, torch.arange(size, device=frontier.adjacent.device))
        moves = chordal_moves(frontier.adjacent, marks, self.limits.add, self.limits.remove)
        movable = moves.add | moves.remove
        stale = movable & ((moves.key != frontier.key) | torch.isnan(frontier.figures[..., 0]))
        pairs = torch.nonzero(stale.triu())
        if not len(pairs):
            return frontier, moves
        adjacent = frontier.adjacent
        separators = adjacent[pairs[:, 0]] & adjacent[pairs[:, 1]]
        found = self._counted(variables, adjacent, pairs, separators)
        for a, b in ((0, 1), (1, 0)):
            frontier.figures[pairs[:, a], pairs[:, b]] = found
            frontier.key[pairs[:, a], pairs[:, b]] = moves.key[pairs[:, 0], pairs[:, 1]]
        return frontier, moves

    def _counted(self, variables: Variables, adjacent: Tensor, pairs: Tensor, separators: Tensor) -> Tensor:
        """(P, 5) figures of pairs with their separators."""
        used = separators.any(dim=0)
        used[pairs.flatten()] = True
        codes = variables.codes[used][:, variables.labels >= 0]
        place, values, inside = used.cumsum(0) - 1, variables.num_values[used], separators[:, used].contiguous()
        found = torch.zeros(len(pairs), FIGURES, dtype=torch.float64, device=adjacent.device)
        found[:, :UNADJUSTED] = conditional_statistics(codes, values, place[pairs], inside, self.power)
        levels = variables.occurring.double().clamp(min=1)
        strata = torch.exp((separators.double() * torch.log(levels)).sum(1)).round()
        found[:, UNADJUSTED] = (levels[pairs] - 1).prod(1) * strata
        if self.rules.criterion == "exact":
            times, seed = self.permutations, self.seed
            above = permutation_counts(codes, values, place[pairs], inside, found[:, DISTANCE], times, seed)
            found[:, OWN] = torch.log((above + 1) / (times + 1))
        elif self.rules.criterion == "heldout":
            found[:, OWN] = torch.tensor([self._held_out_gain(variables, adjacent, *pair) for pair in pairs.tolist()])
        else:
            found[:, OWN] = self._own_p(found)
        return found

    def _own_p(self, figures: Tensor) -> Tensor:
        """log p of figures (…, 5) where the criterion asks for it, else 0."""
        if self.rules.criterion != "p_value":
            return torch.zeros_like(figures[..., OWN])
        distance, dof = figures[..., DISTANCE].cpu().numpy(), figures[..., _DOF[self.rules.dof]].cpu().numpy()
        return torch.from_numpy(log_chi2_tail(distance, dof)).to(figures.device)

    def _held_out_gain(self, variables: Variables, adjacent: Tensor, a: int, b: int) -> float:
        """Log likelihood that adding an edge gains on the judged rows (of one that is there: what it has gained)."""
        judged = torch.nonzero(self.judged).flatten()
        scores = torch.zeros(self.judged.numel(), int(variables.num_values[CLASS]), dtype=torch.float64)
        scores = scores.to(adjacent.device)
        sign = -1 if bool(adjacent[a, b]) else 1
        for members, power in move_factors(adjacent, a, b).items():
            add_factor(scores, variables, members, sign * power, self.ess)
        return float(scores[judged, variables.codes[CLASS, judged].long()].sum())

    def best(self, variables: Variables, frontier: Frontier, moves: Moves) -> Move | None:
        """The move that is worth most; None where none is worth anything, or none is allowed.

        Ties (to nine decimals) go to fewer degrees of freedom, then to the pair of lower numbers.
        """
        limits = self.limits
        pairs = torch.nonzero((moves.add & self._within(variables, frontier.adjacent) & limits.free).triu())
        gone = torch.nonzero((moves.remove & ~limits.fixed).triu())
        added = len(pairs)
        pairs = torch.cat([pairs, gone])
        if not len(pairs):
            return None
        figures = frontier.figures[pairs[:, 0], pairs[:, 1]].cpu().numpy()
        dof = figures[:, _DOF[self.rules.dof]]
        level = threshold(self.rules, self.alpha, len(pairs), frontier.spent)
        gain = worth(figures[:, DISTANCE], dof, figures[:, OWN], variables.documents, self.rules, level)
        gain[added:] *= -1
        least = -np.inf if self.rules.criterion == "g2" and limits.remove else LEAST
        rounded = np.round(gain, 9)
        tied = np.flatnonzero(rounded == rounded.max())
        place = int(tied[np.argmin(dof[tied])])
        if not gain[place] > least:
            return None
        a, b = pairs[place].tolist()
        distance, free = float(figures[place, DISTANCE]), float(dof[place])
        log_p = float(log_chi2_tail(figures[place, :1], dof[place : place + 1])[0])
        if self.rules.criterion == "exact":
            log_p = float(figures[place, OWN])
        return Move(a, b, place < added, float(gain[place]), distance, free, log_p)

    def _within(self, variables: Variables, adjacent: Tensor) -> Tensor:
        """(V, V) bool: edges that may be added under the limits of size."""
        limits = self.limits
        allowed = torch.ones_like(adjacent)
        if int(adjacent.sum()) // 2 + 1 > limits.max_edges:
            return torch.zeros_like(adjacent)
        if np.isfinite(limits.max_clique):
            common = adjacent.float() @ adjacent.float()
            allowed &= common + 2 <= limits.max_clique
        if np.isfinite(limits.max_cells):
            logs = torch.log(variables.levels.double())
            inside = (adjacent.double() * logs) @ adjacent.double() + logs[:, None] + logs[None]
            allowed &= inside <= np.log(limits.max_cells) + 1e-9
        return allowed

    def made(self, frontier: Frontier, move: Move) -> Frontier:
        """The frontier after a move."""
        adjacent = frontier.adjacent.clone()
        adjacent[move.a, move.b] = adjacent[move.b, move.a] = move.added
        spent = frontier.spent
        if self.rules.correction == "sequential" and move.added:
            spent += float(np.exp(move.log_p))
        return replace(frontier, adjacent=adjacent, spent=spent)


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
    size = float(torch.exp(torch.log(variables.levels[mask].double()).sum()))
    marginal = Marginal(mask, power, size, variables.documents, ess, leave_out)
    add_marginal(scores, variables.codes, variables.num_values, variables.labels, marginal)
