"""The content model: a hidden Markov model whose states are the topics of the sentences of a review.

P(words, topics) is start(z_1) Π move(z_{i-1}, z_i) stop(z_n) Π_i Π_w [(1-a) φ_{z_i}(w) + a φ_0(w)]: every content word
of a sentence of topic k comes from the topic's words φ_k, or, with probability a, from the background's φ_0 (Sauper,
Haghighi & Barzilay 2010). Parameters are maximised with what was counted and pseudo-counts, which is the
mode under Dirichlet priors: EM raises log P(words) + log prior (Dempster, Laird & Rubin 1977, section 2).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from gpuclf.models.replica_axis import replica_field
from gpuclf.models.sequence.review_texts import Texts, TrainingTexts
from gpuclf.models.sequence.row_sums import row_sums
from gpuclf.ops.chain_sums import ChainSums, chain_sums
from gpuclf.ops.replica_vectors import replica_dots
from gpuclf.ops.sparse_gradient import sparse_gradient
from gpuclf.ops.sparse_scores import sparse_scores

TOPIC_WORD, BACKGROUND_WORD = 1.0, 1e-4  # pseudo-counts of a known word


@dataclass(frozen=True)
class TopicChain:
    """Probabilities of R models of T topics: start (R, T), move (R, T, T) from the topic before, stop (R, T) after it,
    words (W+1, R, T) and background (W+1, R), 0 for row 0 and for words that a model does not know. All float64."""

    start: Tensor = replica_field()
    move: Tensor = replica_field()
    stop: Tensor = replica_field()
    words: Tensor = replica_field(1)
    background: Tensor = replica_field(1)

    @property
    def known(self) -> Tensor:
        """(W+1, R) bool: the words that each model knows."""
        return self.background > 0

    def mixed(self, share: Tensor) -> Tensor:
        """P(word | topic) (W+1, R, T), 1 for unknown words; share (R,): a."""
        given = (1 - share)[:, None] * self.words + (share * self.background)[:, :, None]
        return torch.where(self.known[:, :, None], given, 1.0)

    def topical(self, share: Tensor) -> Tensor:
        """P(from the topic, not the background | word, topic) (W+1, R, T), 0 for unknown words."""
        return (1 - share)[:, None] * self.words / self.mixed(share)

    def between(self, other: TopicChain, part: Tensor) -> TopicChain:
        """The mixture with another model of which there is `part` (R,)."""
        mixed = {}
        for item in fields(self):
            own, others = getattr(self, item.name), getattr(other, item.name)
            shape = [1] * own.dim()
            shape[item.metadata["replica_axis"]] = -1
            mixed[item.name] = own + part.view(shape) * (others - own)
        return replace(self, **mixed)


@dataclass(frozen=True)
class TopicCounts:
    """Expected counts: of topics at the start and the end (R, T), from one to the next (R, T, T), of words in sentences
    of each topic (W+1, R, T)."""

    start: Tensor
    stop: Tensor
    move: Tensor
    words: Tensor


def sentence_scores(model: TopicChain, share: Tensor, texts: Texts) -> Tensor:
    """log P(words of the sentence | topic), with those of the review's start and end: (sentences, R, T) float64."""
    every = torch.arange(texts.crow.numel() - 1, device=texts.crow.device)
    emission = model.mixed(share).log_()
    scores = sparse_scores(texts.crow, texts.col, texts.val, every, None, None, emission)
    scores = scores.permute(1, 0, 2).contiguous()
    scores[texts.first] += model.start.log()
    scores[texts.last] += model.stop.log()
    return scores


def topic_sums(model: TopicChain, share: Tensor, made: TrainingTexts) -> ChainSums:
    """Log-likelihoods of the reviews that each replica reads, and the posteriors of their sentences' topics."""
    nodes = sentence_scores(model, share, made.texts)
    return chain_sums(nodes, made.texts.starts, model.move.log(), made.weights)


def counts_of(made: TrainingTexts, probability: Tensor, pairs: Tensor) -> TopicCounts:
    """What posteriors of topics (sentences, R, T) and of neighbouring ones (R, T, T) count."""
    words = probability.new_empty((made.num_words + 1, *probability.shape[1:]))
    sparse_gradient(made.columns, None, None, probability, words)
    words[0] = 0
    first, last = made.texts.first, made.texts.last
    return TopicCounts(row_sums(probability[first]), row_sums(probability[last]), pairs, words)


def assigned(made: TrainingTexts, topics: Tensor, count: int) -> ChainSums:
    """The posteriors that a topic (sentences, R) int64 for every sentence is."""
    nodes = torch.full((*topics.shape, count), -torch.inf, dtype=torch.float64, device=topics.device)
    nodes.scatter_(2, topics[:, :, None], 0.0)
    moves = nodes.new_zeros((topics.shape[1], count, count))
    return chain_sums(nodes, made.texts.starts, moves, made.weights)


def maximised(counts: TopicCounts, topical: Tensor, known: Tensor, smoothing: float) -> TopicChain:
    """The model of expected counts; topical (W+1, R, T): the share of each word's count that its topic gets, not the
    background; known (W+1, R) bool; smoothing: the pseudo-count of a start, a transition, an end."""
    some = known[:, :, None]
    own = torch.where(some, topical * counts.words + TOPIC_WORD, 0.0)
    background = ((1 - topical) * counts.words).sum(2)
    background = torch.where(known, background + BACKGROUND_WORD, 0.0)
    start = counts.start + smoothing
    move, stop = counts.move + smoothing, counts.stop + smoothing
    leaving = move.sum(2) + stop
    nothing = torch.finfo(torch.float64).tiny  # a replica that knows no word
    return TopicChain(
        start=start / start.sum(1, keepdim=True),
        move=move / leaving[:, :, None],
        stop=stop / leaving,
        words=own / row_sums(own).clamp(min=nothing),
        background=background / row_sums(background[:, :, None])[:, 0].clamp(min=nothing),
    )


def text_score(model: TopicChain, made: TrainingTexts, sums: ChainSums, smoothing: float) -> Tensor:
    """log P(words) of the reviews that each replica reads, and the log prior, which EM raises: (R,) float64."""
    read = replica_dots([(made.weights[:, :, None], sums.log_norm[:, :, None])])[0]
    return read + log_prior(model, smoothing)


def log_prior(model: TopicChain, smoothing: float) -> Tensor:
    """The log of the Dirichlet priors whose pseudo-counts `maximised` adds, up to a constant: (R,) float64."""
    own = torch.where(model.known[:, :, None], model.words, 1.0).log()
    background = torch.where(model.known, model.background, 1.0).log()
    words = TOPIC_WORD * _over_words(own) + BACKGROUND_WORD * _over_words(background[:, :, None])
    chain = model.start.log().sum(1) + model.move.log().sum((1, 2)) + model.stop.log().sum(1)
    return words + smoothing * chain


def expected_score(model: TopicChain, share: Tensor, counts: TopicCounts) -> Tensor:
    """E[log P(words, topics)] under the posteriors that gave the counts: (R,) float64."""
    words = replica_dots([(counts.words, model.mixed(share).log_())])[0]
    ends = (counts.start * model.start.log() + counts.stop * model.stop.log()).sum(1)
    return words + ends + (counts.move * model.move.log()).sum((1, 2))


def _over_words(values: Tensor) -> Tensor:
    """Σ over words and topics of (W+1, R, T): (R,)."""
    values = values.contiguous()
    return replica_dots([(values, torch.ones_like(values))])[0]


def typical_words(model: TopicChain, count: int) -> Tensor:
    """The words (R, T, count) int64 that tell a topic from the background, numbered as content words are, from 0.

    Those with the highest φ_k(w) log(φ_k(w) / φ_0(w)), their part in the divergence of the two; -1 where a model has no
    more of them.
    """
    known = model.known[1:, :, None]
    words, background = model.words[1:], model.background[1:, :, None]
    ratio = torch.where(known, words / background, 1.0).log()
    part = (words * ratio).permute(1, 2, 0)
    found = torch.sort(part, dim=2, descending=True, stable=True)
    numbers = torch.where(found.values > 0, found.indices, -1)[:, :, :count]
    return torch.nn.functional.pad(numbers, (0, count - numbers.shape[2]), value=-1)


def topic_moves(model: TopicChain) -> Tensor:
    """(R, T+1, T+1): probabilities from a topic, in the last row from the start, to a topic, in the last column to the
    end of a review."""
    rows = torch.cat([model.move, model.start[:, None]], 1)
    last = torch.cat([model.stop, torch.zeros_like(model.stop[:, :1])], 1)
    return torch.cat([rows, last[:, :, None]], 2)
