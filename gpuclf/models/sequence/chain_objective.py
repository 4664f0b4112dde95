"""What a linear-chain CRF minimises: C · Σ over sentences of -log P(labels | tokens), and ½‖W‖² (Lafferty et al. 2001).

A point (width+1+K, R, K) holds the weights of the features as the views have them (gpuclf.models.view_rows), row 0 the
offset's, and below them a row for each label: the scores of the labels that follow it. The offset alone is not
penalised.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.rows import SequenceRows
from gpuclf.models.learner import Problem
from gpuclf.models.replica_rows import option, spans_of
from gpuclf.models.view_rows import ViewRows, parts_of_views
from gpuclf.models.weight_space import WeightSpace
from gpuclf.ops.chain_sums import ChainSums, chain_sums
from gpuclf.ops.replica_vectors import replica_dots


@dataclass(frozen=True)
class Chains:
    """The sentences of a problem: weights (sentences, R) float64, C for those that a replica trains on, 0 for others;
    gold_pairs (R, K, K) float64: the transitions in their labels, so weighted."""

    starts: Tensor
    labels: Tensor
    sentence: Tensor
    weights: Tensor
    gold_pairs: Tensor


def sequences(problem: Problem) -> SequenceRows:
    assert isinstance(problem.rows, SequenceRows), "a chain is learnt from sentences"
    return problem.rows


def chains_of(problem: Problem, C: float) -> Chains:
    """The sentences of a problem; C comes per replica, or from here where no grid varies it."""
    starts, labels, K = sequences(problem).starts, problem.labels, problem.num_classes
    lengths = starts.diff()
    sentence = torch.repeat_interleave(torch.arange(lengths.numel(), device=starts.device), lengths)
    filled = lengths > 0
    trained = torch.zeros((lengths.numel(), len(problem.replicas)), dtype=torch.float64, device=starts.device)
    for span in spans_of(problem):
        rows = torch.zeros(labels.numel(), dtype=torch.bool, device=starts.device)
        rows[span.docs] = True
        count = torch.zeros_like(lengths).index_add_(0, sentence, rows.to(lengths.dtype))
        whole = (count == lengths) & filled
        assert bool((whole | (count == 0)).all()), "a sentence is trained on as a whole, or not at all"
        trained[whole, span.replicas] = 1.0
    weights = trained * option(problem, "model.C", C)
    later = torch.nonzero(sentence[1:] == sentence[:-1]).flatten() + 1
    pair = labels[later - 1].clamp(min=0) * K + labels[later].clamp(min=0)
    counts = torch.zeros((K * K, weights.shape[1]), dtype=torch.float64, device=starts.device)
    counts.index_add_(0, pair, weights[sentence[later]])
    return Chains(starts, labels, sentence, weights, counts.t().reshape(-1, K, K).contiguous())


@dataclass(frozen=True)
class ChainObjective:
    """The objective of a problem: what a step works with, made anew from the problem for each."""

    space: WeightSpace
    chains: Chains

    @classmethod
    def of(cls, problem: Problem, made: ViewRows, C: float) -> ChainObjective:
        parts = parts_of_views(made, spans_of(problem))
        space = WeightSpace(parts, made.width + 1, sequences(problem).num_docs, offset=True)
        return cls(space, chains_of(problem, C))

    @property
    def columns(self) -> int:
        return self.space.columns

    def zero(self, classes: int, dtype: torch.dtype) -> Tensor:
        """A point of zeros."""
        features = self.space.zero(classes, dtype)
        return torch.cat([features, features.new_zeros((classes, *features.shape[1:]))])

    def nodes(self, point: Tensor) -> Tensor:
        """The scores (tokens, R, K) of the labels of each token, 0 where a replica does not train."""
        return self.space.scores(point[: self.columns])

    def moves(self, point: Tensor) -> Tensor:
        """The scores (R, K, K) float64 of the transitions."""
        return point[self.columns :].to(torch.float64).permute(1, 0, 2).contiguous()

    def sums(self, nodes: Tensor, moves: Tensor, replicas: Tensor | None = None) -> ChainSums:
        """The sums of all replicas, or of those in `replicas` (n,) int64, whose nodes and moves are given."""
        weights = self.chains.weights if replicas is None else self.chains.weights[:, replicas]
        return chain_sums(nodes, self.chains.starts, moves, weights.contiguous())

    def normaliser(self, sums: ChainSums) -> Tensor:
        """C · Σ log of the sums over label sequences, (R,) float64."""
        return replica_dots([(self.chains.weights[:, :, None], sums.log_norm[:, :, None])])[0]

    def gold(self, nodes: Tensor, moves: Tensor) -> Tensor:
        """C · Σ of the scores of the labels, (R,) float64."""
        chains = self.chains
        scores = nodes.gather(2, self._gold(nodes)).to(torch.float64)
        by_token = replica_dots([(scores, chains.weights[chains.sentence][:, :, None])])[0]
        return by_token + torch.where(chains.gold_pairs > 0, chains.gold_pairs * moves, 0.0).sum((1, 2))

    def loss(self, sums: ChainSums, nodes: Tensor, moves: Tensor) -> Tensor:
        """C · Σ -log P of the labels, (R,) float64."""
        return self.normaliser(sums) - self.gold(nodes, moves)

    def by_score(self, sums: ChainSums) -> tuple[Tensor, Tensor]:
        """The loss's gradient by the nodes (tokens, R, K) and by the moves (R, K, K)."""
        gradient = sums.probability.clone()
        weights = self.chains.weights[self.chains.sentence].to(gradient.dtype)
        gradient.scatter_add_(2, self._gold(gradient), -weights[:, :, None])
        return gradient, sums.pairs - self.chains.gold_pairs

    def lifted(self, by_node: Tensor, by_move: Tensor) -> Tensor:
        """The loss's gradient by the point."""
        return torch.cat([self.space.lift(by_node), by_move.permute(1, 0, 2).to(by_node.dtype)])

    def value_and_gradient(self, point: Tensor, sums: ChainSums, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """F (R,) float64 and its gradient, of a point whose sums and nodes are given."""
        moves = self.moves(point)
        gradient = self.lifted(*self.by_score(sums))
        gradient[1:] += point[1:]
        return self.loss(sums, nodes, moves) + 0.5 * replica_dots([(point[1:], point[1:])])[0], gradient

    def inverse_diagonal(self, sums: ChainSums) -> Tensor:
        """One over the diagonal of F's second derivative, for the transitions an upper bound of it, as a point."""
        weights = self.chains.weights[self.chains.sentence].to(sums.probability.dtype)[:, :, None]
        spread = sums.probability * (1 - sums.probability / torch.where(weights > 0, weights, 1.0))
        features = self.space.lift_squares(spread)
        diagonal = torch.cat([features, sums.pairs.permute(1, 0, 2).to(features.dtype)])
        diagonal[1:] += 1.0
        # Nothing sees a sum common to all offsets, nothing penalises it, and one scale for all leaves it at 0.
        diagonal[0] = diagonal[0].mean(-1, keepdim=True)
        return diagonal.reciprocal_().masked_fill_(diagonal.isinf(), 1.0)

    def _gold(self, like: Tensor) -> Tensor:
        """(tokens, R, 1) int64: the label of each token; 0 for one without, which no replica trains on."""
        return self.chains.labels.clamp(min=0)[:, None, None].expand(-1, like.shape[1], 1)
