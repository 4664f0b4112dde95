"""What CRFs with a copy of the weights for each topic minimise (Sauper, Haghighi & Barzilay 2010):

F(W) = C · Σ over sentences and topics of -q(topic) log P(labels | tokens, topic) + ½‖W‖²,

where the score of a token's label under topic k is f · (W_0 + ρ W_k) + o(k) (U_0 + ρ U_k) + ρ B_k. f are the token's
features, o(k) the probability that its word comes from topic k, not from the background, B_k takes the offset's place
in the copies, which are all penalised; ρ² is what their prior's variance is of that of the shared weights, so that
ρ W_k has its own variance ρ² C and one penalty serves all (Daumé 2007 has ρ = 1). Transitions are shared.

A point is (width+3+K, R, (T+1) · K): rows of the features as the views have them (gpuclf.models.view_rows), row 0 the
shared offset's alone, then U, B, and the transitions as in gpuclf.models.sequence.chain_objective, which are in the
first K columns; those hold W_0, then come T copies.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.models.learner import Problem
from gpuclf.models.replica_rows import option, spans_of
from gpuclf.models.sequence.chain_objective import chains_of
from gpuclf.models.sequence.row_sums import row_sums
from gpuclf.models.view_rows import ViewRows, parts_of_views
from gpuclf.models.weight_space import WeightSpace
from gpuclf.ops.chain_sums import ChainSums, chain_sums
from gpuclf.ops.replica_vectors import replica_dots


@dataclass(frozen=True)
class TopicObjective:
    """F for posteriors: weights (sentences, R, T) float64, C · q where a replica trains, else 0; trained (sentences, R)
    bool; gold_pairs (R, K, K) float64: the transitions in the labels, times the weights; origin (tokens, R, T): o."""

    space: WeightSpace
    starts: Tensor
    sentence: Tensor
    label: Tensor
    trained: Tensor
    weights: Tensor
    gold_pairs: Tensor
    origin: Tensor
    ratio: Tensor

    @classmethod
    def of(
        cls, problem: Problem, made: ViewRows, posterior: Tensor, origin: Tensor, C: float, topic_C: float
    ) -> TopicObjective:
        """Of a problem; posterior (sentences, R, T): q, whatever it is where a replica does not train."""
        factor = option(problem, "model.C", C)
        chains = chains_of(problem, C)  # weights: C where a replica trains
        return cls(
            space=WeightSpace(
                parts_of_views(made, spans_of(problem)), made.width + 1, chains.labels.numel(), offset=True
            ),
            starts=chains.starts,
            sentence=chains.sentence,
            label=chains.labels.clamp(min=0),
            trained=chains.weights > 0,
            weights=chains.weights[:, :, None] * posterior,
            gold_pairs=chains.gold_pairs,
            origin=origin,
            ratio=(option(problem, "model.topic_C", topic_C) / factor).sqrt(),
        )

    @property
    def topics(self) -> int:
        return self.weights.shape[2]

    def zero(self, classes: int, dtype: torch.dtype) -> Tensor:
        """A point of zeros."""
        rows = self.space.columns + 2 + classes
        shape = (rows, self.weights.shape[1], (self.topics + 1) * classes)
        return torch.zeros(shape, dtype=dtype, device=self.weights.device)

    def nodes(self, point: Tensor) -> Tensor:
        """The scores (tokens, R, T · K), 0 where a replica does not train but for what topics alone give."""
        width = self.space.columns
        scores = self._by_copy(self.space.scores(point[:width]))
        ratio = self._ratio(point)
        nodes = scores[:, :, :1] + ratio * scores[:, :, 1:]
        word, own = (self._by_copy(row) for row in (point[width], point[width + 1]))
        nodes += self.origin[..., None] * (word[:, :1] + ratio * word[:, 1:])
        nodes += ratio * own[:, 1:]
        return nodes.flatten(2)

    def moves(self, point: Tensor) -> Tensor:
        """The scores (R, K, K) float64 of the transitions."""
        rows = point[self.space.columns + 2 :]
        return rows[:, :, : len(rows)].to(torch.float64).permute(1, 0, 2).contiguous()

    def sums(self, nodes: Tensor, moves: Tensor, replicas: Tensor | None = None) -> ChainSums:
        """The sums of all replicas, or of those in `replicas` (n,) int64, whose nodes and moves are given: log_norm
        (sentences, R, T), probability (tokens, R, T · K), pairs (R, K, K)."""
        weights = self.weights if replicas is None else self.weights[:, replicas]
        return self._sums(nodes, moves, weights)

    def normaliser(self, sums: ChainSums) -> Tensor:
        """Weighted logarithms of the sums over label sequences, (R,) float64."""
        return replica_dots([(self.weights, sums.log_norm)])[0]

    def gold(self, nodes: Tensor, moves: Tensor) -> Tensor:
        """Weighted scores of the labels, (R,) float64."""
        by_token = replica_dots([(self.weights[self.sentence], self._gold_scores(nodes))])[0]
        return by_token + torch.where(self.gold_pairs > 0, self.gold_pairs * moves, 0.0).sum((1, 2))

    def loss(self, sums: ChainSums, nodes: Tensor, moves: Tensor) -> Tensor:
        """F without the penalty, (R,) float64."""
        return self.normaliser(sums) - self.gold(nodes, moves)

    def by_score(self, sums: ChainSums) -> tuple[Tensor, Tensor]:
        """The loss's gradient by the nodes (tokens, R, T · K) and by the moves (R, K, K)."""
        gradient = sums.probability.clone()
        weights = self.weights[self.sentence].to(gradient.dtype)
        by_topic = gradient.unflatten(2, (self.topics, -1))
        by_topic.scatter_add_(3, self._gold(by_topic), -weights[..., None])
        return gradient, sums.pairs - self.gold_pairs

    def lifted(self, by_node: Tensor, by_move: Tensor) -> Tensor:
        """The loss's gradient by the point."""
        slopes = by_node.unflatten(2, (self.topics, -1))
        ratio = self._ratio(by_node)
        features = self.space.lift(torch.cat([slopes.sum(2, keepdim=True), ratio * slopes], 2).flatten(2))
        own, word = self._over_tokens(slopes), self._over_tokens(self.origin[..., None] * slopes)
        whole = word.sum(1, keepdim=True)
        rows = (torch.cat([whole, ratio * word], 1), torch.cat([torch.zeros_like(whole), ratio * own], 1))
        return self._joined(features, rows, by_move)

    def value_and_gradient(self, point: Tensor, sums: ChainSums, nodes: Tensor) -> tuple[Tensor, Tensor]:
        """F (R,) float64 and its gradient, of a point whose sums and nodes are given."""
        gradient = self.lifted(*self.by_score(sums))
        gradient[1:] += point[1:]
        return self.loss(sums, nodes, self.moves(point)) + 0.5 * replica_dots([(point[1:], point[1:])])[0], gradient

    def inverse_diagonal(self, sums: ChainSums) -> Tensor:
        """One over the diagonal of F's second derivative, for the transitions an upper bound of it, as a point."""
        probability = sums.probability.unflatten(2, (self.topics, -1))
        weights = self.weights[self.sentence].to(probability.dtype)[..., None]
        spread = probability * (1 - probability / torch.where(weights > 0, weights, 1.0))
        square = self._ratio(spread).square()
        features = self.space.lift_squares(torch.cat([spread.sum(2, keepdim=True), square * spread], 2).flatten(2))
        own = self._over_tokens(spread)
        word = self._over_tokens(self.origin[..., None].square() * spread)
        whole = word.sum(1, keepdim=True)
        rows = (torch.cat([whole, square * word], 1), torch.cat([torch.zeros_like(whole), square * own], 1))
        diagonal = self._joined(features, rows, sums.pairs)
        diagonal[1:] += 1.0
        # As for a single chain: nothing sees a sum common to all offsets, and one scale for all leaves it at 0.
        classes = sums.pairs.shape[1]
        diagonal[0, :, :classes] = diagonal[0, :, :classes].mean(-1, keepdim=True)
        return diagonal.reciprocal_().masked_fill_(diagonal.isinf(), 1.0)

    def fits(self, nodes: Tensor, moves: Tensor) -> Tensor:
        """log P(labels | tokens, topic) (sentences, R, T) float64, 0 where a replica does not train."""
        ones = self.trained[:, :, None].expand(self.weights.shape).to(torch.float64)
        sums = self._sums(nodes, moves, ones)
        # index_put_ adds up in one order on every device, index_add_ does not
        gold = torch.zeros_like(self.weights)
        gold.index_put_((self.sentence,), self._gold_scores(nodes), accumulate=True)
        gold += self._gold_moves(moves)[:, :, None]
        return torch.where(self.trained[:, :, None], gold - sums.log_norm, 0.0)

    def _sums(self, nodes: Tensor, moves: Tensor, weights: Tensor) -> ChainSums:
        chains = nodes.unflatten(2, (self.topics, -1)).flatten(1, 2).contiguous()
        repeated = moves.repeat_interleave(self.topics, 0)
        sums = chain_sums(chains, self.starts, repeated, weights.flatten(1).contiguous())
        pairs = sums.pairs.unflatten(0, (-1, self.topics)).sum(1)
        return ChainSums(sums.log_norm.view_as(weights), sums.probability.view_as(nodes), pairs)

    def _gold_moves(self, moves: Tensor) -> Tensor:
        """(sentences, R) float64: the scores of the transitions in the labels."""
        later = torch.nonzero(self.sentence[1:] == self.sentence[:-1]).flatten() + 1
        by_token = moves[:, self.label[later - 1], self.label[later]].t()
        return torch.zeros_like(self.weights[:, :, 0]).index_put_((self.sentence[later],), by_token, accumulate=True)

    def _joined(self, features: Tensor, rows: tuple[Tensor, Tensor], moves: Tensor) -> Tensor:
        """A point of its parts: features, the rows U and B as (R, T+1, K), transitions (R, K, K)."""
        classes = moves.shape[1]
        features[0, :, classes:] = 0  # B has their place
        last = features.new_zeros((classes, *features.shape[1:]))
        last[:, :, :classes] = moves.permute(1, 0, 2)
        return torch.cat([features, *(row.flatten(1)[None] for row in rows), last])

    def _over_tokens(self, values: Tensor) -> Tensor:
        """Σ over tokens of (tokens, R, T, K): (R, T, K)."""
        return row_sums(values.flatten(2)).unflatten(1, (self.topics, -1))

    def _by_copy(self, values: Tensor) -> Tensor:
        return values.unflatten(-1, (self.topics + 1, -1))

    def _ratio(self, like: Tensor) -> Tensor:
        return self.ratio.to(like.dtype)[:, None, None]

    def _gold_scores(self, nodes: Tensor) -> Tensor:
        """(tokens, R, T) float64: the scores of the labels that tokens have."""
        by_topic = nodes.unflatten(2, (self.topics, -1))
        return by_topic.gather(3, self._gold(by_topic)).squeeze(3).to(torch.float64)

    def _gold(self, like: Tensor) -> Tensor:
        return self.label[:, None, None, None].expand(-1, *like.shape[1:3], 1)
