"""Content models: the hidden Markov model of topics, CRFs with copies of weights for topics, and both together."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from gpuclf.models.learner import Problem
from gpuclf.models.replica_axis import flatten
from gpuclf.models.sequence.chain_descent import ChainDescent
from gpuclf.models.sequence.content import ContentOptions
from gpuclf.models.sequence.content_learner import ContentLearner, ContentState
from gpuclf.models.sequence.content_predictor import ContentPredictor
from gpuclf.models.sequence.review_texts import known_words, training_texts, word_columns
from gpuclf.models.sequence.topic_chain import TopicChain, sentence_scores, text_score, topic_sums
from gpuclf.models.sequence.topic_objective import TopicObjective
from gpuclf.models.train_options import TrainOptions
from gpuclf.models.view_rows import view_rows
from gpuclf.train.checkpoint import Checkpoint
from gpuclf.train.loop import BatchLoop
from tests.models.review_problem import CLASSES, Sizes, review_problem

LABELS = ("NONE", "food", "service")


def learner(**options: Any) -> ContentLearner:
    small: dict[str, Any] = {"topics": 3, "em_iterations": 12, "joint_iterations": 8, "background": 0.5}
    made = ContentOptions(**(small | options)).build(TrainOptions(), LABELS)
    assert isinstance(made, ContentLearner)
    return made


def states(model: ContentLearner, made: Problem, steps: int) -> list[ContentState]:
    found = [model.init(made)]
    for _ in range(steps):
        found.append(model.step(made, found[-1]))
    return found


def some_model(made: Problem, topics: int) -> TopicChain:
    """Random probabilities for every replica, 0 for words that it does not know."""
    draw = torch.Generator().manual_seed(2)
    known, R = known_words(made), len(made.replicas)

    def rand(*shape: int) -> Tensor:
        return torch.rand(shape, generator=draw, dtype=torch.float64) + 0.05

    leave = rand(R, topics, topics + 1)
    leave /= leave.sum(2, keepdim=True)
    words = rand(len(known), R, topics) * known[:, :, None]
    background = rand(len(known), R) * known
    start = rand(R, topics)
    return TopicChain(
        start / start.sum(1, keepdim=True),
        leave[:, :, :topics].contiguous(),
        leave[:, :, topics].contiguous(),
        words / words.sum(0),
        background / background.sum(0),
    )


def test_forward_backward_of_the_content_model_is_enumeration() -> None:
    made = review_problem({}, (0, 1), views=(0, 1))
    texts = training_texts(made, word_columns(made.rows))  # type: ignore[arg-type]
    model, share, T = some_model(made, 3), torch.tensor([0.85, 0.3], dtype=torch.float64), 3
    sums = topic_sums(model, share, texts)
    rows = texts.texts
    for r, review in itertools.product(range(2), range(rows.starts.numel() - 1)):
        begin, end = rows.starts[review : review + 2].tolist()
        if begin == end or texts.weights[review, r] == 0:
            assert sums.log_norm[review, r] == 0
            continue
        total, at = 0.0, torch.zeros(end - begin, T, dtype=torch.float64)
        for path in itertools.product(range(T), repeat=end - begin):
            chance = float(model.start[r, path[0]] * model.stop[r, path[-1]])
            for before, after in itertools.pairwise(path):
                chance *= float(model.move[r, before, after])
            for sentence, topic in zip(range(begin, end), path, strict=True):
                for entry in range(int(rows.crow[sentence]), int(rows.crow[sentence + 1])):
                    word, times = int(rows.col[entry]), float(rows.val[entry])
                    own, rest = float(model.words[word, r, topic]), float(model.background[word, r])
                    if rest > 0:
                        chance *= ((1 - float(share[r])) * own + float(share[r]) * rest) ** times
            total += chance
            at[torch.arange(end - begin), torch.tensor(path)] += chance
        assert float(sums.log_norm[review, r]) == pytest.approx(torch.tensor(total).log().item())
        torch.testing.assert_close(sums.probability[begin:end, r], at / total)
    assert bool((texts.weights == 0).any())


def test_probabilities_and_posteriors_sum_to_one() -> None:
    made = review_problem({"background": [0.5, 0.85, 0.0]}, (0, 1, 2), views=(0, 0, 1))
    model = learner()
    state = states(model, made, 16)[-1]
    ones = torch.ones(3, dtype=torch.float64)
    found = model.result(made, state).topics
    torch.testing.assert_close(found.words.sum(0), ones[:, None].expand(3, 3))
    torch.testing.assert_close(found.background.sum(0), ones)
    torch.testing.assert_close(found.start.sum(1), ones)
    torch.testing.assert_close(found.move.sum(2) + found.stop, ones[:, None].expand(3, 3))
    texts = training_texts(made, state.words)
    read = torch.repeat_interleave(texts.weights, texts.texts.starts.diff(), 0)
    torch.testing.assert_close(state.probability[:, :, 0].sum(2), read)
    scores = replace(model, decode="marginal").result(made, state).scores(made.rows, torch.arange(9), None, None)
    torch.testing.assert_close(scores.exp().sum(2), torch.ones(3, 9))


def test_no_step_lowers_what_its_stage_raises() -> None:
    options = {
        "background": [0.5, 0.85, 0.2, 0.6],
        "C": [0.3, 3.0, 30.0, 1.0],
        "unlabelled_scale": [0.5, 1.0, 0.1, 0.0],
    }
    options["topic_C"] = [0.1, 3.0, 60.0, 0.0]
    made = review_problem(options, (0, 1, 2, 3), views=(0, 0, 0, 1))
    model = learner(crf_steps=2, joint_iterations=25)
    found = states(model, made, 37)
    text = torch.stack([state.text[:, 0] for state in found[:13]])
    joint = torch.stack([state.joint for state in found[12:]])
    for values in (text, joint):
        fall = values[:-1] - values[1:]
        assert float((fall / values[1:].abs()).max()) <= 1e-12
    assert float((text[-1] - text[0]).min()) > 1
    assert float((joint[-1] - joint[0]).min()) > 1


def test_the_joint_objective_is_what_its_definition_says() -> None:
    made = review_problem({"unlabelled_scale": [0.7], "C": [2.0], "topic_C": [1.0]}, (4,))
    model = learner()
    state = states(model, made, 15)[-1]
    predictor = model.result(made, state)
    texts = training_texts(made, state.words)
    share, T, scale = torch.tensor([0.5], dtype=torch.float64), 3, 0.7
    nodes = sentence_scores(predictor.topics, share, texts.texts)[:, 0]
    moves = predictor.topics.move[0].log()
    total = 0.0
    for review in range(texts.labelled):
        begin, end = texts.texts.starts[review : review + 2].tolist()
        ways = []
        for path in itertools.product(range(T), repeat=end - begin):
            way = sum(float(nodes[s, t]) for s, t in zip(range(begin, end), path, strict=True))
            way += sum(float(moves[a, b]) for a, b in itertools.pairwise(path))
            ways.append(
                scale * way + sum(float(state.fits[s, 0, t]) for s, t in zip(range(begin, end), path, strict=True))
            )
        total += torch.tensor(ways, dtype=torch.float64).logsumexp(0).item() if end > begin else 0.0
    words = text_score(predictor.topics, texts, topic_sums(predictor.topics, share, texts), 1.0)
    alone = replace(
        texts, weights=torch.cat([torch.zeros(texts.labelled, 1).double(), texts.weights[texts.labelled :]])
    )
    rest = text_score(predictor.topics, alone, topic_sums(predictor.topics, share, alone), 1.0)
    assert float(words) < float(rest)
    penalty = float(state.crf.point[1:].square().sum()) / 2 / 2.0
    assert float(state.joint) == pytest.approx(total + scale * float(rest) - penalty, rel=1e-12)


def topic_objective(made: Problem, topics: int) -> TopicObjective:
    """With random posteriors and origins of words."""
    draw = torch.Generator().manual_seed(8)
    sentences, R = made.rows.starts.numel() - 1, len(made.replicas)  # type: ignore[union-attr]
    posterior = torch.softmax(2 * torch.randn(sentences, R, topics, generator=draw, dtype=torch.float64), 2)
    origin = torch.rand(made.labels.numel(), R, topics, generator=draw, dtype=torch.float64)
    return TopicObjective.of(made, view_rows(made, torch.float64, merge=True), posterior, origin, 1.0, 0.5)


def test_the_gradient_with_copies_for_topics_is_that_of_finite_differences() -> None:
    made = review_problem({"C": [0.5, 3.0], "topic_C": [2.0, 0.3]}, (0, 0), views=(0, 1))
    aim = topic_objective(made, 3)
    draw = torch.Generator().manual_seed(1)
    point, turn = aim.zero(CLASSES, torch.float64), aim.zero(CLASSES, torch.float64)
    for each in (point, turn):
        each.copy_(torch.randn(each.shape, generator=draw, dtype=torch.float64))
        each[0, :, CLASSES:] = 0  # the place of B is elsewhere
        each[aim.space.columns + 1, :, :CLASSES] = 0  # which no label shares
        each[aim.space.columns + 2 :, :, CLASSES:] = 0

    def value(at: Tensor) -> tuple[Tensor, Tensor]:
        nodes = aim.nodes(at)
        return aim.value_and_gradient(at, aim.sums(nodes, aim.moves(at)), nodes)

    step = 1e-5
    rise = (value(point + step * turn)[0] - value(point - step * turn)[0]) / (2 * step)
    gradient = value(point)[1]
    torch.testing.assert_close((gradient * turn).sum((0, 2)), rise, rtol=1e-7, atol=1e-7)
    outside = gradient - value(point)[1] * (turn != 0)
    assert float(outside.abs().max()) == 0


def test_one_topic_without_variance_is_a_plain_chain() -> None:
    made = review_problem({"C": [0.7, 4.0]}, (0, 1), views=(0, 1))
    options: dict[str, Any] = {
        "topics": 1,
        "topic_C": 0.0,
        "origin": False,
        "content": "independent",
        "em_iterations": 1,
    }
    own = run(learner(**options, tol=1e-10, decode="marginal", max_iter=400), made)
    plain = run(ChainDescent(1.0, 1e-10, "marginal"), made)
    docs = torch.arange(made.labels.numel())
    torch.testing.assert_close(own.scores(made.rows, docs, None, None), plain.scores(made.rows, docs, None, None))
    assert isinstance(own, ContentPredictor)
    assert float(own.weights[:, :, CLASSES:].abs().max()) == 0


def run(model: Any, made: Problem, steps: int = 400) -> Any:
    return BatchLoop(model, made, TrainOptions(), steps).run(lambda report, running: None).predictor


def test_fits_are_log_probabilities_of_the_labels() -> None:
    made = review_problem({"C": [0.5], "topic_C": [2.0]}, (0,))
    model = learner()
    state = states(model, made, 15)[-1]
    predictor = replace(model.result(made, state), decode="marginal")
    rows: Any = made.rows
    single = int(torch.nonzero(rows.starts.diff() == 1)[0])
    token = int(rows.starts[single])
    review = int(torch.searchsorted(rows.reviews.starts, torch.tensor(single), right=True)) - 1
    of_topics = predictor.topic_posteriors(rows, torch.tensor([review]))[single - int(rows.reviews.starts[review]), 0]
    told = (of_topics * state.fits[single, 0].exp()).sum()
    said = predictor.scores(rows, torch.tensor([token]), None, None)[0, 0, made.labels[token]].exp()
    assert float(told) == pytest.approx(float(said), rel=1e-5)


def test_the_best_of_several_starts_goes_on() -> None:
    made = review_problem({}, (5, 6))
    several, single = learner(restarts=4), learner()
    many, one = states(several, made, 12), states(single, made, 12)
    assert many[11].text.shape == (2, 4)
    torch.testing.assert_close(many[11].text[:, 0], one[11].text[:, 0])  # the first start is the only one
    assert many[12].text.shape == (2, 1)
    last = several._text_step(made, many[11])
    torch.testing.assert_close(many[12].text[:, 0], last.text.amax(1))
    assert float((last.text.amax(1) - last.text.amin(1)).min()) > 1e-3


def test_a_stopped_search_among_starts_goes_on_to_the_same_bits() -> None:
    made, model = review_problem({"C": [1.0, 9.0]}, (5, 6), views=(0, 1)), learner(restarts=3, joint_iterations=2)
    saved: list[Checkpoint] = []

    def keep(report: object, loop: BatchLoop) -> None:
        if loop.step in (5, 12):
            found = loop.checkpoint()
            saved.append(Checkpoint({name: tensor.clone() for name, tensor in found.tensors.items()}, found.values))

    whole = BatchLoop(model, made, TrainOptions(), 14).run(keep).predictor
    assert len(saved) == 2
    for checkpoint in saved:
        again = BatchLoop(model, made, TrainOptions(), 14)
        again.resume(checkpoint)
        tensors, other = flatten(again.run(lambda report, loop: None).predictor)[0], flatten(whole)[0]
        assert all(torch.equal(tensor, other[name]) for name, tensor in tensors.items())


def test_decisions_average_over_topics_and_viterbi_takes_the_best_way() -> None:
    made = review_problem(
        {"C": [5.0], "topic_C": [5.0]}, (1,), sizes=Sizes(labelled=((3, 2), (2,), (1, 2), (2,)), unlabelled=())
    )
    model = learner()
    state = states(model, made, 18)[-1]
    rows: Any = made.rows
    by = {name: replace(model.result(made, state), decode=name) for name in ("marginal", "viterbi")}
    docs = torch.arange(made.labels.numel())
    marginal, best = (by[name].scores(rows, docs, None, None)[0] for name in ("marginal", "viterbi"))
    predictor = by["marginal"]
    reviews = torch.arange(rows.reviews.num_reviews)
    posterior = predictor.topic_posteriors(rows, reviews)[:, 0]
    scores = predictor._by_copy(rows, docs, None, None)[:, 0]
    origin = predictor._origins(rows, docs)[:, 0]
    for sentence in range(rows.starts.numel() - 1):
        begin, end = rows.starts[sentence : sentence + 2].tolist()
        chance = torch.zeros(end - begin, CLASSES, dtype=torch.float64)
        ways: dict[tuple[int, int], float] = {}
        for topic in range(3):
            node = scores[begin:end, 0] + scores[begin:end, 1 + topic]
            node = node + origin[begin:end, topic, None] * predictor.origin[0, topic]
            paths = list(itertools.product(range(CLASSES), repeat=end - begin))
            total = torch.tensor([path_score(node, predictor.transition[0], path) for path in paths]).double()
            share = torch.softmax(total, 0) * posterior[sentence, topic]
            for path, part in zip(paths, share.tolist(), strict=True):
                for place, label in enumerate(path):
                    chance[place, label] += part
                    ways[place, label] = max(ways.get((place, label), 0.0), part)
        torch.testing.assert_close(marginal[begin:end].exp().double(), chance, rtol=1e-5, atol=1e-6)
        highest = torch.tensor([[ways[p, k] for k in range(CLASSES)] for p in range(end - begin)])
        torch.testing.assert_close(best[begin:end].exp(), highest, rtol=1e-5, atol=1e-6)


def path_score(node: Tensor, moves: Tensor, path: tuple[int, ...]) -> float:
    score = sum(float(node[place, label]) for place, label in enumerate(path))
    return score + sum(float(moves[a, b]) for a, b in itertools.pairwise(path))


def test_portions_of_reviews_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    made = review_problem({}, (0, 1))
    predictor = learner().result(made, states(learner(), made, 14)[-1])
    docs = torch.tensor([5, 30, 2, 2, 17])
    whole = predictor.scores(made.rows, docs, None, None)
    monkeypatch.setattr("gpuclf.models.sequence.content_predictor._CELLS", 1)
    torch.testing.assert_close(predictor.scores(made.rows, docs, None, None), whole, rtol=0, atol=0)
    one = predictor.scores(made.rows, docs, None, None, slice(1, 2))
    torch.testing.assert_close(one, whole[1:], rtol=0, atol=0)
    assert predictor.scores(made.rows, docs[:0], None, None).shape == (2, 0, CLASSES)
