"""Training of content models with CRFs by expectation maximisation, all replicas in lockstep.

First the content model alone: each step raises log P(words) + log prior (gpuclf.models.sequence.topic_chain). Then,
for `joint`, both together (Sauper, Haghighi & Barzilay 2010): each step raises, with s = unlabelled_scale,

J = Σ over labelled reviews of log Σ over topics z of P(words, z)^s Π over sentences of P(labels | tokens, z_i)
    + s · (Σ over unlabelled reviews of log P(words) + log prior) - ½‖W‖² / C.

Posteriors of topics given words and labels (E) bound J from below; the content model that is best under them is the one
of their counts, whatever s, and L-BFGS brings the weights W a few iterations down their part of the bound (M): a
generalised EM (Neal & Hinton 1998). As features of the CRF depend on the content model (whether a word comes from the
topic), a replica whose bound would fall with the new content model gets a part of the change, or none of it.

For `independent`, the content model stays as it is after the first stage, and its posteriors weigh what L-BFGS
minimises.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

import torch
from torch import Tensor

from gpuclf.models.learner import Problem
from gpuclf.models.replica_axis import replica_field
from gpuclf.models.replica_rows import option
from gpuclf.models.sequence.chain_descent import ChainState, descended, started
from gpuclf.models.sequence.content_predictor import ContentPredictor
from gpuclf.models.sequence.decoding import Decode
from gpuclf.models.sequence.review_texts import (
    TrainingTexts,
    known_words,
    random_topics,
    review_rows,
    training_texts,
    word_columns,
)
from gpuclf.models.sequence.topic_chain import (
    TopicChain,
    TopicCounts,
    assigned,
    counts_of,
    expected_score,
    log_prior,
    maximised,
    sentence_scores,
    text_score,
    topic_moves,
    topic_sums,
    typical_words,
)
from gpuclf.models.sequence.topic_objective import TopicObjective
from gpuclf.models.view_rows import ViewRows, view_rows
from gpuclf.ops.chain_sums import chain_sums
from gpuclf.ops.replica_vectors import replica_dots
from gpuclf.ops.sparse_gradient import Columns

_SMALL = 1 << 20  # weights of a replica up to which all is float64
_WORDS_TOLD = 10  # of a topic
_PARTS = (1.0, 0.25, 0.0625, 0.0)  # of the change of the content model that are tried


@dataclass(frozen=True)
class ContentState:
    """After `count` steps. words: the texts by word; model: content models from S random starts, which have an axis
    of their own behind R (S = 1 after the first stage), probability (sentences, R, S, T), pairs (R, S, T, T): the
    posteriors of topics; crf: weights, and how they are minimised; fits (labelled sentences, R, T) float64:
    log P(labels | tokens, topic). text (R, S), joint, rise (R,) float64: what the stages raise, and by how much lately.
    """

    count: int
    words: Columns
    crf: ChainState
    model: TopicChain
    probability: Tensor = replica_field(1)
    pairs: Tensor = replica_field()
    fits: Tensor = replica_field(1)
    text: Tensor = replica_field()
    joint: Tensor = replica_field()
    rise: Tensor = replica_field()


@dataclass(frozen=True)
class ContentLearner:
    """The learner; see the module, and ContentOptions for its fields. none: the number of the label for no aspect."""

    topics: int
    content: Literal["joint", "independent"]
    background: float
    smoothing: float
    em_iterations: int
    restarts: int
    crf_steps: int
    unlabelled_scale: float
    C: float
    topic_C: float
    tol: float
    joint_tol: float
    origin: bool
    decode: Decode
    recall_penalty: float
    none: int

    def init(self, problem: Problem) -> ContentState:
        """Content models of random topics; all weights of the CRF zero."""
        rows, many = review_rows(problem), _repeated(problem, self.restarts)
        words = word_columns(rows)
        made = training_texts(many, words)
        share = self._share(many)
        sums = assigned(made, random_topics(problem, self.topics, self.restarts), self.topics)
        known = known_words(many)
        counts = counts_of(made, sums.probability, sums.pairs)
        topical = (1 - share)[:, None].expand(*known.shape, 1) * known[:, :, None]
        state = self._empty(problem, words)
        return self._counted(many, made, state, maximised(counts, topical, known, self.smoothing))

    def step(self, problem: Problem, state: ContentState) -> ContentState:
        """A round of EM, or in the second stage of `independent` an iteration of L-BFGS."""
        if state.count < self.em_iterations:
            after = self._text_step(problem, state)
            if after.count == self.em_iterations:
                after = self._chosen(after)
                after = self._entered(problem, after)
            return after
        return self._joint_step(problem, state) if self.content == "joint" else self._descent_step(problem, state)

    def ready(self, problem: Problem, state: ContentState) -> bool:
        """Whether the labels have been learnt from, so that the result is worth a judgement."""
        return state.count > self.em_iterations

    def told(self, problem: Problem, state: ContentState) -> dict[str, Tensor]:
        """The words of each topic, and how topics follow each other."""
        model = _flat(self._chosen(state).model)
        return {"topics": typical_words(model, _WORDS_TOLD), "topic_moves": topic_moves(model)}

    def finished(self, problem: Problem, state: ContentState) -> Tensor:
        """J has risen by joint_tol of it at most, or the CRF has converged."""
        if state.count <= self.em_iterations:
            return torch.zeros_like(state.joint, dtype=torch.bool)
        if self.content == "joint":
            return state.rise <= self.joint_tol * state.joint.abs()
        return state.crf.gap <= self.tol

    def result(self, problem: Problem, state: ContentState) -> ContentPredictor:
        made, classes = _views(state.crf), problem.num_classes
        width = made.width + 1
        objective, content = self._objective(problem, state), _flat(self._chosen(state).model)
        copies = state.crf.point.unflatten(2, (-1, classes))
        scaled = torch.cat([copies[:, :, :1], objective.ratio.to(copies.dtype)[:, None, None] * copies[:, :, 1:]], 2)
        weights = scaled[:width].clone()
        weights[0, :, 1:] = scaled[width + 1, :, 1:]  # B
        penalty = option(problem, "model.recall_penalty", self.recall_penalty)
        return ContentPredictor(
            **{item.name: getattr(content, item.name).clone() for item in fields(TopicChain)},
            share=self._share(problem).clone(),
            weights=made.expanded(weights.flatten(2), problem.replicas.view),
            origin=(scaled[width, :, :1] + scaled[width, :, 1:]).float(),
            transition=objective.moves(state.crf.point).float(),
            recall_penalty=penalty.clone(),
            decode=self.decode,
            none=self.none,
        )

    def alternatives(self, problem: Problem, state: ContentState) -> dict[str, ContentPredictor]:
        return {}

    def progress(self, problem: Problem, state: ContentState) -> dict[str, Tensor]:
        """What the stage raises: text_objective, log P(words) + log prior (of the best start); joint_objective, J; or
        what L-BFGS lowers, as for a CRF alone."""
        if state.count <= self.em_iterations:
            return {"text_objective": state.text.amax(1)}
        if self.content == "joint":
            return {"joint_objective": state.joint, "rise": state.rise, "crf_objective": state.crf.value}
        return {"objective": state.crf.value, "gap": state.crf.gap, "step_size": state.crf.length}

    def _empty(self, problem: Problem, words: Columns) -> ContentState:
        """A state with room for everything, its content models of no meaning yet."""
        rows, replicas = review_rows(problem), len(problem.replicas)
        width = (self.topics + 1) * problem.num_classes
        small = (rows.num_features + 1) * width <= _SMALL
        dtype = torch.float64 if small else torch.float32
        tokens = view_rows(problem, dtype, merge=True)
        empty = torch.zeros((), dtype=torch.float64, device=rows.crow.device)
        posterior = empty.new_full((rows.reviews.num_sentences, replicas, self.topics), 1 / self.topics)
        origin = torch.zeros((rows.num_docs, replicas, self.topics), dtype=dtype, device=empty.device)
        objective = TopicObjective.of(problem, tokens, posterior, origin, self.C, self.topic_C)
        nothing = empty.expand(replicas)
        return ContentState(
            count=0,
            words=words,
            crf=started(objective, tokens, objective.zero(problem.num_classes, dtype)),
            model=TopicChain(*[empty] * len(fields(TopicChain))),
            probability=empty,
            pairs=empty,
            fits=torch.zeros_like(posterior),
            text=empty,
            joint=nothing.clone(),
            rise=nothing.clone(),
        )

    def _text_step(self, problem: Problem, state: ContentState) -> ContentState:
        """A round of EM on the words alone."""
        many = _repeated(problem, state.text.shape[1])
        made = training_texts(many, state.words)
        model = _flat(state.model)
        counts = counts_of(made, state.probability.flatten(1, 2), state.pairs.flatten(0, 1))
        model = maximised(counts, model.topical(self._share(many)), model.known, self.smoothing)
        return replace(self._counted(many, made, state, model), count=state.count + 1)

    def _counted(self, many: Problem, made: TrainingTexts, state: ContentState, model: TopicChain) -> ContentState:
        """With content models (R · S) and the posteriors under them."""
        sums = topic_sums(model, self._share(many), made)
        text = text_score(model, made, sums, self.smoothing)
        starts = len(many.replicas) // len(state.joint)
        return replace(
            state,
            model=_split(model, starts),
            probability=sums.probability.unflatten(1, (-1, starts)),
            pairs=sums.pairs.unflatten(0, (-1, starts)),
            text=text.unflatten(0, (-1, starts)),
        )

    def _chosen(self, state: ContentState) -> ContentState:
        """With the best of the content models, the first of equal ones."""
        if state.text.shape[1] == 1:
            return state
        best = state.text.argmax(1)
        number = torch.arange(len(best), device=best.device)
        axes = {item.name: item.metadata["replica_axis"] for item in fields(TopicChain)}
        kept = {
            name: getattr(state.model, name)[(slice(None),) * axis + (number, best)].unsqueeze(axis + 1)
            for name, axis in axes.items()
        }
        return replace(
            state,
            model=TopicChain(**kept),
            probability=state.probability[:, number, best].unsqueeze(2),
            pairs=state.pairs[number, best].unsqueeze(1),
            text=state.text[number, best].unsqueeze(1),
        )

    def _entered(self, problem: Problem, state: ContentState) -> ContentState:
        """The second stage's objective and posteriors of what the first one has found."""
        objective = self._objective(problem, state)
        crf = started(objective, state.crf.made, state.crf.point)
        if self.content == "independent":
            return replace(state, crf=crf)
        fits = objective.fits(crf.nodes, objective.moves(crf.point))
        return self._expected(problem, replace(state, crf=crf, fits=fits), training_texts(problem, state.words))

    def _descent_step(self, problem: Problem, state: ContentState) -> ContentState:
        """An iteration of L-BFGS under the posteriors of the content model."""
        crf = descended(self._objective(problem, state), state.crf)
        return replace(state, count=state.count + 1, crf=crf)

    def _joint_step(self, problem: Problem, state: ContentState) -> ContentState:
        """M, then E, for J."""
        made = training_texts(problem, state.words)
        state = self._content_changed(problem, state, made)
        objective, crf = self._objective(problem, state), state.crf
        for _ in range(self.crf_steps):
            crf = descended(objective, crf)
        fits = objective.fits(crf.nodes, objective.moves(crf.point))
        after = self._expected(problem, replace(state, crf=crf, fits=fits), made)
        return replace(after, count=state.count + 1, rise=after.joint - state.joint)

    def _content_changed(self, problem: Problem, state: ContentState, made: TrainingTexts) -> ContentState:
        """With the content model of the posteriors' counts, or so much of the change that the bound does not fall."""
        share, old = self._share(problem), _flat(state.model)
        counts = counts_of(made, state.probability[:, :, 0], state.pairs[:, 0])
        target = maximised(counts, old.topical(share), old.known, self.smoothing)
        before = self._expected_value(old, share, counts)
        bound = self._bound(problem, state)
        part = torch.full_like(before, _PARTS[0])
        for smaller in (*_PARTS[1:], None):
            changed = replace(state, model=_split(old.between(target, part), 1))
            crf = started(self._objective(problem, changed), state.crf.made, state.crf.point)
            gain = self._scale(problem) * (self._expected_value(_flat(changed.model), share, counts) - before)
            falls = gain * option(problem, "model.C", self.C) < crf.value - bound
            if smaller is None or not bool((falls & (part > 0)).any()):
                break
            part = torch.where(falls, smaller, part)
        return replace(changed, crf=crf)

    def _bound(self, problem: Problem, state: ContentState) -> Tensor:
        """F (R,) of the weights under the posteriors, with the features that the content model of now gives."""
        posterior = state.probability[: state.fits.shape[0], :, 0]
        point = state.crf.point[1:]
        fit = replica_dots([(posterior.contiguous(), state.fits)])[0]
        return 0.5 * replica_dots([(point, point)])[0] - option(problem, "model.C", self.C) * fit

    def _expected_value(self, model: TopicChain, share: Tensor, counts: TopicCounts) -> Tensor:
        """The content model's part of the bound, (R,)."""
        return expected_score(model, share, counts) + log_prior(model, self.smoothing)

    def _expected(self, problem: Problem, state: ContentState, made: TrainingTexts) -> ContentState:
        """With the posteriors of topics given words and labels, and J."""
        model, texts, scale = _flat(state.model), made.texts, self._scale(problem)
        nodes, moves = sentence_scores(model, self._share(problem), texts), model.move.log()
        own, labelled, starts = made.sentences, made.labelled, texts.starts
        with_labels = scale[:, None] * nodes[:own] + state.fits
        weights, others = made.weights[:labelled], made.weights[labelled:].contiguous()
        told = chain_sums(with_labels, starts[: labelled + 1], scale[:, None, None] * moves, weights)
        rest = chain_sums(nodes[own:].contiguous(), starts[labelled:] - starts[labelled], moves, others)
        read = replica_dots(
            [(weights[..., None], told.log_norm[..., None]), (others[..., None], rest.log_norm[..., None])]
        )
        point = state.crf.point[1:]
        penalty = 0.5 * replica_dots([(point, point)])[0] / option(problem, "model.C", self.C)
        joint = read[0] + scale * (read[1] + log_prior(model, self.smoothing)) - penalty
        return replace(
            state,
            probability=torch.cat([told.probability, rest.probability]).unsqueeze(2),
            pairs=(told.pairs + rest.pairs).unsqueeze(1),
            joint=joint,
        )

    def _objective(self, problem: Problem, state: ContentState) -> TopicObjective:
        """F under the posteriors and the content model of a state."""
        rows, leading = review_rows(problem), self._chosen(state)
        dtype = state.crf.point.dtype
        posterior = leading.probability[: rows.reviews.num_sentences, :, 0]
        topical = _flat(leading.model).topical(self._share(problem)).to(dtype)
        origin = topical[rows.token_word.long() + 1] if self.origin else topical[:1].expand(rows.num_docs, -1, -1)
        return TopicObjective.of(problem, _views(state.crf), posterior, origin, self.C, self.topic_C)

    def _share(self, problem: Problem) -> Tensor:
        return option(problem, "model.background", self.background)

    def _scale(self, problem: Problem) -> Tensor:
        return option(problem, "model.unlabelled_scale", self.unlabelled_scale)


def _views(crf: ChainState) -> ViewRows:
    assert isinstance(crf.made, ViewRows), "chains are learnt on the matrices of views"
    return crf.made


def _repeated(problem: Problem, times: int) -> Problem:
    """Every replica so many times, side by side."""
    index = torch.arange(len(problem.replicas)).repeat_interleave(times)
    return problem if times == 1 else replace(problem, replicas=problem.replicas.take(index))


def _split(model: TopicChain, starts: int) -> TopicChain:
    """(R · S) models as R of S starts: an axis behind that of the replicas."""
    axes = {item.name: item.metadata["replica_axis"] for item in fields(TopicChain)}
    return TopicChain(**{name: getattr(model, name).unflatten(axis, (-1, starts)) for name, axis in axes.items()})


def _flat(model: TopicChain) -> TopicChain:
    """The inverse."""
    axes = {item.name: item.metadata["replica_axis"] for item in fields(TopicChain)}
    return TopicChain(**{name: getattr(model, name).flatten(axis, axis + 1) for name, axis in axes.items()})
