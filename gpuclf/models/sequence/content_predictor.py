"""A trained content model with its CRFs: labels of tokens, by the sentence around them and the topics of the review."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.rows import ReviewRows, Rows
from gpuclf.models.replica_axis import replica_field, take_replicas
from gpuclf.models.sequence.decoding import Decode, ragged, risk_scores
from gpuclf.models.sequence.review_texts import Texts
from gpuclf.models.sequence.topic_chain import TopicChain, sentence_scores
from gpuclf.ops.chain_sums import best_scores, chain_sums
from gpuclf.ops.sparse_scores import sparse_scores

_CELLS = 1 << 23  # scores (tokens, R, T, K) in work at once


@dataclass(frozen=True)
class ContentPredictor:
    """R models. start, move, stop, words, background: their content models (TopicChain, of T topics), share (R,) the
    background's; weights (V+1, R, (T+1) · K) float32: what all topics share of the CRF's weights, then what each adds,
    row 0 the offset's; origin (R, T, K) float32: what a label gains where a word comes from the topic; transition
    (R, K, K) float32, from the label before.

    A token's labels have the probabilities Σ over topics of P(topic | review) P(label | sentence, topic), topics by the
    content model alone. decode: marginal: scores are their logs; mbr: minus the expected cost of a label, where calling
    a token `none` wrongly costs recall_penalty (R,); viterbi: of each label the best sequence under the best topic.
    """

    start: Tensor = replica_field()
    move: Tensor = replica_field()
    stop: Tensor = replica_field()
    words: Tensor = replica_field(1)
    background: Tensor = replica_field(1)
    share: Tensor = replica_field()
    weights: Tensor = replica_field(1)
    origin: Tensor = replica_field()
    transition: Tensor = replica_field()
    recall_penalty: Tensor = replica_field()
    decode: Decode = "mbr"
    none: int = 0

    @property
    def topics(self) -> TopicChain:
        """The content models."""
        return TopicChain(self.start, self.move, self.stop, self.words, self.background)

    def scores(
        self,
        rows: Rows,
        docs: Tensor,
        col_scale: Tensor | None,
        row_scale: Tensor | None,
        replicas: slice | None = None,
    ) -> Tensor:
        """Scores (R, len(docs), K) float32 of tokens; the rest of their reviews is read as well."""
        own = self if replicas is None else take_replicas(self, torch.arange(len(self.share))[replicas])
        best = self.decode == "viterbi"
        scores = own._by_label(rows, docs, col_scale, row_scale, best)
        if self.decode == "mbr":
            scores = risk_scores(scores, self.none, own.recall_penalty)
        return scores.permute(1, 0, 2).to(torch.float32)

    def log_marginals(self, rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None) -> Tensor:
        """log P(label | review) of tokens: (R, len(docs), K) float64."""
        return self._by_label(rows, docs, col_scale, row_scale, best=False).permute(1, 0, 2)

    def flagged(self, rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None) -> Tensor:
        """(R, len(docs)) bool: never."""
        return torch.zeros((len(self.share), docs.numel()), dtype=torch.bool, device=docs.device)

    def topic_posteriors(self, rows: ReviewRows, reviews: Tensor) -> Tensor:
        """P(topic | review) of the sentences of the reviews (n,) int64, in their order: (sentences, R, T) float64."""
        words = rows.reviews
        sentences, starts = ragged(words.starts, reviews)
        entries, crow = ragged(words.crow, sentences)
        texts = Texts(starts, crow, words.word[entries] + 1, words.count[entries].to(torch.float64))
        nodes = sentence_scores(self.topics, self.share, texts)
        ones = torch.ones((reviews.numel(), len(self.share)), dtype=torch.float64, device=nodes.device)
        return chain_sums(nodes, starts, self.topics.move.log(), ones).probability

    def _by_label(
        self, rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None, best: bool
    ) -> Tensor:
        """(len(docs), R, K) float64: log marginals, or of each label the log of the best way to it."""
        assert isinstance(rows, ReviewRows), "content is read in reviews"
        bounds = rows.starts[rows.reviews.starts]
        chosen, which = torch.unique(torch.searchsorted(bounds, docs, right=True) - 1, return_inverse=True)
        if not docs.numel():
            return self.origin.new_zeros((0, len(self.share), self.transition.shape[1]), dtype=torch.float64)
        _, own = ragged(bounds, chosen)
        width = self.origin[0].numel() * len(self.share)
        parts = []
        for reviews in _portions(chosen, bounds, max(1, _CELLS // max(1, width))):
            parts.append(self._of_reviews(rows, reviews, col_scale, row_scale, best))
        return torch.cat(parts)[docs - (bounds[chosen] - own[:-1])[which]]

    def _of_reviews(
        self, rows: ReviewRows, reviews: Tensor, col_scale: Tensor | None, row_scale: Tensor | None, best: bool
    ) -> Tensor:
        """The same for all tokens of whole reviews."""
        sentences, _ = ragged(rows.reviews.starts, reviews)
        tokens, starts = ragged(rows.starts, sentences)
        copies, topics = self._by_copy(rows, tokens, col_scale, row_scale), self.origin.shape[1]
        # (tokens, R, T, K), then each topic's chain beside the others
        nodes = copies[:, :, :1] + copies[:, :, 1:]
        nodes += self._origins(rows, tokens)[..., None] * self.origin.to(torch.float64)
        chains = nodes.flatten(1, 2)
        moves = self.transition.to(torch.float64).repeat_interleave(topics, 0).contiguous()
        ones = torch.ones((starts.numel() - 1, chains.shape[1]), dtype=torch.float64, device=chains.device)
        sums = chain_sums(chains, starts, moves, ones)
        prior = self.topic_posteriors(rows, reviews).log()
        sentence = torch.repeat_interleave(starts.diff())
        if not best:
            logs = sums.probability.log_().view_as(nodes)
            return (logs + prior[sentence][..., None]).logsumexp(2)
        ways = best_scores(chains, starts, moves).view_as(nodes)
        return (ways + (prior - sums.log_norm.view_as(prior))[sentence][..., None]).amax(2)

    def _by_copy(self, rows: ReviewRows, tokens: Tensor, col_scale: Tensor | None, row_scale: Tensor | None) -> Tensor:
        """What all topics share of a token's scores, and what each adds: (tokens, R, T+1, K) float64."""
        scores = sparse_scores(rows.crow, rows.col, rows.val, tokens, col_scale, row_scale, self.weights, double=True)
        return scores.permute(1, 0, 2).to(torch.float64).unflatten(2, (-1, self.transition.shape[1]))

    def _origins(self, rows: ReviewRows, tokens: Tensor) -> Tensor:
        """P(the word comes from the topic, not from the background) (tokens, R, T) float64; 0 for other tokens."""
        return self.topics.topical(self.share)[rows.token_word[tokens].long() + 1]


def _portions(reviews: Tensor, bounds: Tensor, most: int) -> list[Tensor]:
    """Runs of reviews, in order, of `most` tokens together where a single one does not have more."""
    sizes = bounds.diff()[reviews]
    number = (sizes.cumsum(0) - 1).clamp(min=0) // most
    return [reviews[number == n] for n in torch.unique(number).tolist()]
