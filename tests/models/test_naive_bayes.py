"""Naive Bayes: worked examples, scikit-learn's figures, honest smoothing 0, and folds that equal separate rows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.rows import SparseRows, Views
from gpuclf.models.learner import Problem, Replicas, settled
from gpuclf.models.linear.bernoulli_predictor import BernoulliPredictor
from gpuclf.models.linear.counted_predictor import CountedPredictor
from gpuclf.models.linear.naive_bayes import NaiveBayesOptions
from gpuclf.models.linear.predictor import LinearPredictor
from gpuclf.models.replica_axis import flatten, restore, take_replicas
from gpuclf.models.train_options import TrainOptions

Model = CountedPredictor | LinearPredictor | BernoulliPredictor
VARIANTS = ("multinomial", "bernoulli", "complement")


def sparse(dense: np.ndarray) -> SparseRows:
    """Rows of a dense matrix (docs, V), zeros left out."""
    doc, feature = np.nonzero(dense)
    crow = np.concatenate([[0], np.bincount(doc, minlength=len(dense)).cumsum()])
    return SparseRows(
        torch.from_numpy(crow.astype(np.int64)),
        torch.from_numpy((feature + 1).astype(np.int32)),
        torch.from_numpy(dense[doc, feature].astype(np.float32)),
        dense.shape[1],
    )


def words(texts: list[str], vocabulary: list[str]) -> SparseRows:
    """Counts of known words."""
    return sparse(np.array([[text.split().count(word) for word in vocabulary] for text in texts]))


def problem_of(
    rows: SparseRows,
    labels: list[int] | np.ndarray,
    alpha: list[float],
    classes: int,
    train: Tensor | None = None,
    view: list[int] | None = None,
    **scales: Tensor,
) -> Problem:
    gold = torch.as_tensor(labels, dtype=torch.int64)
    train = torch.ones((1, gold.numel()), dtype=torch.bool) if train is None else train
    replicas = Replicas(
        torch.tensor(view if view is not None else [0] * len(alpha)),
        torch.zeros(len(alpha), dtype=torch.int64),
        {"model.alpha": torch.tensor(alpha, dtype=torch.float64)},
    )
    return Problem(rows, gold, torch.arange(gold.numel()), classes, Views(train, **scales), replicas)


def fit(problem: Problem, **options: object) -> Model:
    learner = NaiveBayesOptions(**options).build(TrainOptions(), [str(k) for k in range(problem.num_classes)])
    state = learner.init(problem)
    assert not learner.finished(problem, state).any()
    state = learner.step(problem, state)
    assert learner.finished(problem, state).all()
    assert len(learner.finished(problem, state)) == len(problem.replicas)
    return learner.result(problem, state)


def weights(model: Model) -> Tensor:
    """The tables (V+1, R, K) with which the model is saved."""
    whole = settled(model)
    assert isinstance(whole, LinearPredictor | BernoulliPredictor)
    return whole.weights


def posterior(model: Model, rows: SparseRows, **scales: Tensor | None) -> Tensor:
    docs = torch.arange(rows.num_docs)
    scores = model.scores(rows, docs, scales.get("col_scale"), scales.get("row_scale"))
    assert not scores.isnan().any()
    return scores.softmax(dim=-1, dtype=torch.float64)


def random_counts(seed: int, docs: int = 257, features: int = 40, classes: int = 5) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    dense = generator.poisson(0.4, (docs, features)) * generator.integers(1, 4, (docs, features))
    dense[:, 0] += dense.sum(axis=1) == 0
    dense[:3] = 0  # documents without a feature
    dense[3] += 1  # every feature occurs: scikit-learn's V is the width of the matrix, ours what occurs
    return dense.astype(np.float64), np.concatenate(
        [np.arange(classes), generator.integers(0, classes, docs - classes)]
    )


# ---------------------------------------------------------------- worked by hand


def test_worked_multinomial() -> None:
    # a: "x x y", b: "y z". V = 3, alpha 1: φ(a) = (3, 2, 1)/6, φ(b) = (1, 2, 2)/5; μ = 1/2.
    rows = words(["x x y", "y z"], ["x", "y", "z"])
    model = fit(problem_of(rows, [0, 1], [1.0], 2))
    expected = [[1 / 2, 1 / 2], [3 / 6, 1 / 5], [2 / 6, 2 / 5], [1 / 6, 2 / 5]]
    torch.testing.assert_close(weights(model)[:, 0].exp(), torch.tensor(expected))
    first = model.scores(rows, torch.tensor([0]), None, None)[0, 0]
    assert first.tolist() == pytest.approx([math.log(1 / 2 * 1 / 4 * 1 / 3), math.log(1 / 2 * 1 / 25 * 2 / 5)])


def test_worked_bernoulli() -> None:
    # alpha 1, one document a class: p = 2/3 where the feature is, 1/3 where it is not, however often it is there.
    rows = words(["x x", "y"], ["x", "y"])
    model = fit(problem_of(rows, [0, 1], [1.0], 2), variant="bernoulli")
    scores = model.scores(words(["x", "x x x y", ""], ["x", "y"]), torch.arange(3), None, None)[0].exp()
    expected = [[1 / 2 * 4 / 9, 1 / 2 * 1 / 9], [1 / 2 * 2 / 9] * 2, [1 / 2 * 2 / 9] * 2]
    torch.testing.assert_close(scores, torch.tensor(expected))


def test_worked_complement() -> None:
    # Of class a the complement has y 1, z 1: θ = (1, 2, 2)/5; of class b x 2, y 1: θ = (3, 2, 1)/6.
    rows = words(["x x y", "y z"], ["x", "y", "z"])
    model = fit(problem_of(rows, [0, 1], [1.0], 2), variant="complement")
    expected = torch.tensor([[2.0, 2.0], [5, 2], [5 / 2, 3], [5 / 2, 6]]).log()
    expected[0] = -expected[0]
    torch.testing.assert_close(weights(model)[:, 0], expected)


def test_document_without_a_known_word_gets_the_prior() -> None:
    # Case o08: three ham, one spam.
    known = ["cash", "day", "friend", "good", "hello", "win", "you"]
    train = words(["hello friend", "hello you", "good day", "win cash"], known)
    new = words(["", "qqq www", "win qqq"], known)
    for variant in ("multinomial", "complement"):
        model = fit(problem_of(train, [0, 0, 0, 1], [1.0], 2), variant=variant)
        answer = posterior(model, new)[0]
        torch.testing.assert_close(answer[:2], torch.tensor([[0.75, 0.25]] * 2, dtype=torch.float64))
        assert not model.flagged(new, torch.arange(3), None, None).any()
    # "win": 3/4 · α/(6 + 7α) against 1/4 · (1 + α)/(2 + 7α), equal at α = 0.951: below it spam, with α = 1 still ham.
    answer = posterior(fit(problem_of(train, [0, 0, 0, 1], [0.5, 1.0], 2)), new)[:, 2]
    ham, spam = 3 / 4 * 0.5 / 9.5, 1 / 4 * 1.5 / 5.5
    assert answer[0, 1].item() == pytest.approx(spam / (ham + spam))
    assert answer[1, 0].item() == pytest.approx((3 / 4 / 13) / (3 / 4 / 13 + 1 / 4 * 2 / 9))


# ---------------------------------------------------------------- smoothing 0


RED_GREEN = ["blue", "green", "red"]


def test_smoothing_0_gives_the_exact_answers() -> None:
    # Case o14. V(blue) … P(blue|a) = 1/3, P(blue|b) = 1/2, prior 2/3.
    train = words(["red blue", "red", "green blue"], RED_GREEN)
    new = words(["red", "green", "blue", "red green", ""], RED_GREEN)
    model = fit(problem_of(train, [0, 0, 1], [0.0], 2))
    expected = torch.tensor([[1, 0], [0, 1], [4 / 7, 3 / 7], [2 / 3, 1 / 3], [2 / 3, 1 / 3]], dtype=torch.float64)
    torch.testing.assert_close(posterior(model, new)[0], expected)
    assert model.flagged(new, torch.arange(5), None, None).tolist() == [[False, False, False, True, False]]
    assert torch.isfinite(weights(model)).all()


def test_smoothing_0_beside_others_in_one_batch() -> None:
    train = words(["red blue", "red", "green blue"], RED_GREEN)
    new = words(["red", "green", "blue", "red green"], RED_GREEN)
    together = fit(problem_of(train, [0, 0, 1], [1.0, 0.0, 1e-30], 2))
    for replica, alpha in enumerate((1.0, 0.0, 1e-30)):
        alone = fit(problem_of(train, [0, 0, 1], [alpha], 2))
        assert torch.equal(posterior(together, new)[replica], posterior(alone, new)[0])
    flags = together.flagged(new, torch.arange(4), None, None)
    assert flags.tolist() == [[False] * 4, [False] * 3 + [True], [False] * 4]
    torch.testing.assert_close(posterior(together, new)[2, 2, 0].item(), 4 / 7)  # 1e-30 is not 0, and not NaN


def test_smoothing_0_bernoulli_counts_absence() -> None:
    # a always has x, b never: without x only b is possible, and y, which b never had, excludes b.
    train = words(["x y", "x", "z", "w"], ["w", "x", "y", "z"])
    model = fit(problem_of(train, [0, 0, 1, 1], [0.0], 2), variant="bernoulli")
    new = words(["x", "z", "", "y", "x z", "y z x"], ["w", "x", "y", "z"])
    expected = torch.tensor([[1, 0], [0, 1], [0, 1], [0.5, 0.5], [0.5, 0.5], [0.5, 0.5]], dtype=torch.float64)
    torch.testing.assert_close(posterior(model, new)[0], expected)
    assert model.flagged(new, torch.arange(6), None, None).tolist() == [[False, False, False, True, True, True]]
    # "x": P(a) · P(x) · P(no y) = 1/2 · 1 · 1/2.
    assert model.scores(new, torch.tensor([0]), None, None)[0, 0, 0].exp().item() == pytest.approx(1 / 4)


def test_smoothing_0_complement_takes_a_private_feature_as_proof() -> None:
    train = words(["red blue", "red", "green blue"], RED_GREEN)
    new = words(["red", "green", "red green"], RED_GREEN)
    model = fit(problem_of(train, [0, 0, 1], [0.0], 2), variant="complement")
    expected = torch.tensor([[1, 0], [0, 1], [2 / 3, 1 / 3]], dtype=torch.float64)
    torch.testing.assert_close(posterior(model, new)[0], expected)
    assert model.flagged(new, torch.arange(3), None, None).tolist() == [[False, False, True]]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("alpha", [0.0, 1e-300, 1e100])
def test_no_smoothing_gives_nan(variant: str, alpha: float) -> None:
    dense, labels = random_counts(11, docs=30, features=60)
    labels[labels == 2] = 3  # a class without any document
    rows = sparse(dense)
    answer = posterior(fit(problem_of(rows, labels, [alpha], 5), variant=variant), rows)
    torch.testing.assert_close(answer.sum(-1), torch.ones((1, 30), dtype=torch.float64))
    assert (answer[..., 2] == 0).all()


# ---------------------------------------------------------------- scikit-learn


@pytest.mark.parametrize("alpha", [1e-3, 0.5, 1.0, 20.0])
@pytest.mark.parametrize(
    ("variant", "options", "peer"),
    [
        ("multinomial", {}, lambda a: MultinomialNB(alpha=a)),
        ("multinomial", {"prior": "uniform"}, lambda a: MultinomialNB(alpha=a, fit_prior=False)),
        ("bernoulli", {}, lambda a: BernoulliNB(alpha=a)),
        ("bernoulli", {"prior": "uniform"}, lambda a: BernoulliNB(alpha=a, fit_prior=False)),
        ("complement", {"prior": "uniform"}, lambda a: ComplementNB(alpha=a)),
        ("complement", {"prior": "uniform", "norm": True}, lambda a: ComplementNB(alpha=a, norm=True)),
    ],
)
def test_equal_to_scikit_learn(variant: str, options: dict[str, object], peer: object, alpha: float) -> None:
    dense, labels = random_counts(1)
    rows = sparse(dense)
    model = fit(problem_of(rows, labels, [alpha], 5), variant=variant, **options)
    expected = peer(alpha).fit(dense, labels)  # type: ignore[operator]
    scores = model.scores(rows, torch.arange(rows.num_docs), None, None)[0]
    log_prob = scores.log_softmax(dim=-1, dtype=torch.float64)
    np.testing.assert_allclose(log_prob, expected.predict_log_proba(dense), atol=2e-4, rtol=1e-4)
    np.testing.assert_array_equal(scores.argmax(dim=-1), expected.predict(dense))


def test_fractional_values_under_scales_equal_scikit_learn() -> None:
    dense, labels = random_counts(2)
    generator = np.random.default_rng(3)
    col_scale = generator.random(41).astype(np.float32) + 0.5
    row_scale = generator.random(257).astype(np.float32) + 0.5
    scales = {"col_scale": torch.from_numpy(col_scale)[None], "row_scale": torch.from_numpy(row_scale)[None]}
    rows = sparse(dense)
    model = fit(problem_of(rows, labels, [0.3], 5, **scales))
    scaled = dense * col_scale[None, 1:] * row_scale[:, None]
    answer = posterior(model, rows, col_scale=scales["col_scale"][0], row_scale=scales["row_scale"][0])[0]
    np.testing.assert_allclose(answer, MultinomialNB(alpha=0.3).fit(scaled, labels).predict_proba(scaled), atol=1e-4)


# ---------------------------------------------------------------- replicas


def folded(seed: int, alphas: list[float]) -> tuple[Problem, int]:
    """Three views with scales of their own, times the alphas."""
    dense, labels = random_counts(seed, features=50)
    generator = torch.Generator().manual_seed(seed)
    fold = torch.randint(0, 3, (257,), generator=generator)
    train = torch.stack([fold != held for held in range(3)])
    col_scale = torch.rand((3, 51), generator=generator) + 0.5
    col_scale[1, 7] = 0  # not selected in one view
    row_scale = torch.rand((3, 257), generator=generator) + 0.5
    view = [f for f in range(3) for _ in alphas]
    scales = {"col_scale": col_scale, "row_scale": row_scale}
    return problem_of(sparse(dense), labels, alphas * 3, 5, train, view, **scales), len(alphas)


def rows_of(rows: SparseRows, docs: Tensor) -> SparseRows:
    dense = np.zeros((rows.num_docs, rows.num_features))
    doc = torch.repeat_interleave(torch.arange(rows.num_docs), rows.crow.diff())
    dense[doc.numpy(), rows.col.numpy() - 1] = rows.val.numpy()
    return sparse(dense[docs.numpy()])


@pytest.mark.parametrize("variant", VARIANTS)
def test_each_replica_of_a_batch_has_the_bits_of_its_own_run(variant: str) -> None:
    problem, alphas = folded(21, [0.0, 0.01, 1.0])
    together = fit(problem, variant=variant)
    for replica in range(len(problem.replicas)):
        alone = fit(replace(problem, replicas=problem.replicas.take(torch.tensor([replica]))), variant=variant)
        assert torch.equal(weights(together)[:, [replica]], weights(alone))
    for view in range(3):  # a view's training rows alone, in a file of their own
        docs = torch.nonzero(problem.views.train[view]).flatten()
        own = Views(
            torch.ones((1, docs.numel()), dtype=torch.bool),
            problem.views.col_scale[view : view + 1],
            problem.views.row_scale[view : view + 1, docs],
        )
        chosen = Replicas(
            torch.zeros(alphas, dtype=torch.int64),
            torch.zeros(alphas, dtype=torch.int64),
            {"model.alpha": torch.tensor([0.0, 0.01, 1.0], dtype=torch.float64)},
        )
        separate = Problem(rows_of(problem.rows, docs), problem.labels[docs], problem.keys[docs], 5, own, chosen)
        span = slice(view * alphas, (view + 1) * alphas)
        assert torch.equal(weights(together)[:, span], weights(fit(separate, variant=variant)))


@pytest.mark.parametrize("variant", VARIANTS)
def test_scores_of_a_run_of_replicas_are_those_of_all(variant: str) -> None:
    problem, alphas = folded(22, [0.0, 1.0])
    model = fit(problem, variant=variant)
    scales = (problem.views.col_scale[1], problem.views.row_scale[1])
    docs = torch.tensor([5, 0, 200])
    span = slice(alphas, 2 * alphas)
    assert torch.equal(model.scores(problem.rows, docs, *scales, span), model.scores(problem.rows, docs, *scales)[span])


def test_a_feature_outside_the_training_rows_does_not_exist() -> None:
    # The second view never sees z: its V is 2, so that P(x|a) = (1+1)/(2+1), and z changes nothing.
    rows = words(["x", "y", "z"], ["x", "y", "z"])
    train = torch.tensor([[True, True, True], [True, True, False]])
    problem = problem_of(rows, [0, 1, 1], [1.0, 1.0], 2, train, [0, 1])
    model = fit(problem)
    assert weights(model)[1, :, 0].exp().tolist() == pytest.approx([2 / 4, 2 / 3])
    assert weights(model)[3, 1].tolist() == [0.0, 0.0]
    assert weights(model)[3, 0].exp().tolist() == pytest.approx([1 / 4, 2 / 5])


def test_class_without_training_rows_gets_probability_0() -> None:
    # Case o15: the only document of class c is held out.
    rows = words(["apple", "bread", "apple", "cheese"], ["apple", "bread", "cheese"])
    train = torch.tensor([[True, True, True, False]])
    for variant in VARIANTS:
        for prior, expected in (("empirical", [2 / 3, 1 / 3, 0]), ("uniform", [0.5, 0.5, 0])):
            model = fit(problem_of(rows, [0, 1, 0, 2], [1.0], 3, train), variant=variant, prior=prior)
            answer = posterior(model, rows)[0]
            assert answer.sum(-1).tolist() == pytest.approx([1.0] * 4)
            assert answer[:, 2].tolist() == [0.0] * 4
            assert answer.argmax(-1).tolist()[:3] == [0, 1, 0]
            if variant != "bernoulli":
                assert answer[3].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_class_takes_all(variant: str) -> None:
    rows = words(["x", "y x"], ["x", "y"])
    for alpha in (0.0, 1.0):
        assert posterior(fit(problem_of(rows, [0, 0], [alpha], 1), variant=variant), rows).tolist() == [[[1.0], [1.0]]]


def test_unlabelled_documents_count_nowhere() -> None:
    labelled = words(["x", "y"], ["x", "y"])
    more = words(["x", "y y", "y"], ["x", "y"])
    assert torch.equal(
        weights(fit(problem_of(more, [0, -1, 1], [1.0], 2))), weights(fit(problem_of(labelled, [0, 1], [1.0], 2)))
    )


def test_documents_without_features_count_for_the_prior_only() -> None:
    rows = words(["", "", "", ""], ["x"])
    torch.testing.assert_close(
        posterior(fit(problem_of(rows, [0, 0, 0, 1], [1.0], 2)), rows)[0, 0].tolist(), [0.75, 0.25]
    )


def test_state_survives_a_file_and_a_choice_of_replicas() -> None:
    problem, _ = folded(23, [0.0, 0.1])
    learner = NaiveBayesOptions().build(TrainOptions(), "abcde")
    state = learner.step(problem, learner.init(problem))
    resumed = restore(learner.init(problem), *flatten(state))
    assert learner.finished(problem, resumed).all()
    assert torch.equal(weights(learner.result(problem, resumed)), weights(learner.result(problem, state)))
    index = torch.tensor([4, 1])
    fewer = replace(problem, replicas=problem.replicas.take(index))
    chosen = learner.result(fewer, take_replicas(state, index))
    assert torch.equal(weights(chosen), weights(learner.result(problem, state))[:, index])
    assert learner.progress(fewer, state)["documents"].tolist() == problem.views.train.sum(1)[[2, 0]].tolist()
    before = weights(chosen).clone()
    learner.step(problem, state)
    assert torch.equal(before, weights(chosen))  # the result shares the counts, and no step writes to them


# ---------------------------------------------------------------- refusals


def test_negative_values_are_refused_with_their_place() -> None:
    rows = sparse(np.array([[1.0, 0.0], [0.5, -2.0]]))
    with pytest.raises(UserFault, match=r"document 2 has the value -2 for feature number 2.*features\.weighting"):
        fit(problem_of(rows, [0, 1], [1.0], 2))


def test_training_set_without_a_labelled_document_is_refused() -> None:
    rows = words(["x", "y"], ["x", "y"])
    with pytest.raises(UserFault, match="training set 2 of 2 has no labelled document"):
        fit(problem_of(rows, [0, -1], [1.0, 1.0], 2, torch.tensor([[True, True], [False, True]]), [0, 1]))


@pytest.mark.parametrize(
    "options",
    [{"alpha": -1.0}, {"alpha": math.inf}, {"alpha": math.nan}, {"variant": "gaussian"}, {"norm": True}, {"beta": 1}],
)
def test_options_without_sense_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        NaiveBayesOptions(**options)
