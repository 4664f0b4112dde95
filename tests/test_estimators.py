"""gpuclf.estimators: scikit-learn's own checks, then what it has no checks for.

`pytest tests/test_estimators.py -k scikit_learn_check -rxs` counts scikit-learn's checks: passed, exempted (xfailed,
with reasons; an exempted check that passes fails), and skipped by scikit-learn itself for want of pandas.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression as SklearnLogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from gpuclf.estimators import (
    AROW,
    MIRA,
    SCW,
    BatchedGridSearch,
    ConfidenceWeighted,
    LinearSVM,
    LogisticRegression,
    NaiveBayes,
    OnlineSVM,
    Perceptron,
)
from gpuclf.models.registry import LEARNERS

NEGATIVE_DATA = {
    "check_decision_proba_consistency": "its data are clouds of points with negative numbers, which are no counts"
}
WITHIN_TOLERANCE = {
    f"check_sample_weight_equivalence_on_{kind}_data": "dual coordinate descent visits a row of weight 2 once, "
    "a repeated row twice: the fits end at other points within tol (tests/models/test_row_weights.py holds the law)"
    for kind in ("dense", "sparse")
}
# Estimator → checks that cannot hold for it, with the reason. A check that passes in spite of its reason fails.
EXEMPTED: list[tuple[Any, dict[str, str]]] = [
    (Perceptron(), {}),
    (MIRA(), {}),
    (OnlineSVM(), {}),
    (ConfidenceWeighted(), {}),
    (AROW(), {}),
    (SCW(), {}),
    (NaiveBayes(), NEGATIVE_DATA),
    (NaiveBayes(variant="bernoulli"), NEGATIVE_DATA),
    (NaiveBayes(variant="complement"), NEGATIVE_DATA),
    (LogisticRegression(), WITHIN_TOLERANCE),
    (LinearSVM(max_iter=100), {}),  # more epochs take another minute of the checks, and no other path
    (BatchedGridSearch(MIRA(), {"C": [0.1, 1.0]}, cv=2), {}),
]
RULES = [OnlineSVM(), ConfidenceWeighted(), AROW(), SCW(variant="scw2")]
ESTIMATORS = [Perceptron(), MIRA(), *RULES, NaiveBayes(), LogisticRegression(), LinearSVM(tol=0.01)]


def exempted(estimator: Any) -> dict[str, str]:
    return next(reasons for other, reasons in EXEMPTED if repr(other) == repr(estimator))


# The checks' data are not scaled, so that max_iter may end a fit early; its warning is no fault of the estimator.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([estimator for estimator, _ in EXEMPTED], expected_failed_checks=exempted, xfail_strict=True)
def test_scikit_learn_check(estimator: Any, check: Any):
    state = np.random.get_state()
    np.random.seed(0)  # some of the checks draw from numpy's global generator
    try:
        check(estimator)
    finally:
        np.random.set_state(state)


def counts(classes: int = 4, docs: int = 120, features: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """x (docs, features) counts, y (docs,) class numbers with features of their own."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, classes, docs)
    x = draw.poisson(0.3, (docs, features)).astype(np.float64)
    x[np.arange(docs), y] += draw.poisson(1.5, docs)
    return x, y


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta state:UserWarning")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_every_kind_of_matrix_gives_the_same_model(estimator: Any):
    x, y = counts()
    dense = torch.from_numpy(x)
    kinds = [scipy.sparse.csr_matrix(x), scipy.sparse.csr_array(x), scipy.sparse.coo_array(x), x.astype(np.float32)]
    kinds += [dense, dense.float(), dense.to_sparse_csr(), np.asfortranarray(x)]
    expected = clone(estimator).fit(x, y)
    for kind in kinds:
        labels = torch.from_numpy(y) if isinstance(kind, torch.Tensor) else y
        fitted = clone(estimator).fit(kind, labels)
        np.testing.assert_array_equal(fitted.coef_, expected.coef_)
        np.testing.assert_array_equal(fitted.decision_function(kind), expected.decision_function(x))
        assert fitted.score(kind, labels) == expected.score(x, y)


def test_a_matrix_with_repeated_and_stored_zero_entries_is_read_right_and_left_alone():
    parts = (np.array([1.0, 2.0, 0.0, 4.0]), np.array([2, 2, 1, 0]), np.array([0, 3, 4]))
    matrix = scipy.sparse.csr_array(parts, shape=(2, 3))
    before = [part.copy() for part in (matrix.data, matrix.indices, matrix.indptr)]
    fitted = Perceptron().fit(matrix, [0, 1])
    np.testing.assert_array_equal(fitted.coef_, Perceptron().fit(np.array([[0, 0, 3.0], [4.0, 0, 0]]), [0, 1]).coef_)
    for old, new in zip(before, (matrix.data, matrix.indices, matrix.indptr), strict=True):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize(
    "names",
    [["no", "yes"], [True, False], [3, 11], [-1.0, 1.0]],
    ids=lambda names: type(names[0]).__name__,
)
def test_labels_are_kept_as_given(names: list[Any]):
    x, y = counts(classes=2)
    labels = np.array(names)[y]
    fitted = MIRA().fit(x, labels)
    assert fitted.classes_.dtype == labels.dtype
    np.testing.assert_array_equal(fitted.classes_, np.unique(labels))
    assert set(fitted.predict(x).tolist()) <= set(names)
    assert fitted.score(x, labels) > 0.7


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_decisions_are_those_of_the_coefficients(estimator: Any, classes: int):
    x, y = counts(classes)
    fitted = clone(estimator).fit(x, y)
    assert fitted.coef_.shape == ((1, 20) if classes == 2 else (4, 20))
    decisions = fitted.decision_function(x)
    assert decisions.shape == ((120,) if classes == 2 else (120, 4))
    by_hand = x @ fitted.coef_.T + fitted.intercept_
    np.testing.assert_allclose(decisions, by_hand.reshape(decisions.shape), rtol=1e-4, atol=1e-4)
    chosen = (decisions > 0).astype(int) if classes == 2 else decisions.argmax(axis=1)
    np.testing.assert_array_equal(fitted.predict(x), fitted.classes_[chosen])


def test_only_learners_with_probabilities_have_them():
    assert not hasattr(MIRA(), "predict_proba")
    x, y = counts()
    fitted = NaiveBayes().fit(x, y)
    np.testing.assert_allclose(fitted.predict_proba(x).sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.log(fitted.predict_proba(x)), fitted.predict_log_proba(x), rtol=1e-9)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (NaiveBayes(alpha=0.5), MultinomialNB(alpha=0.5)),
        (NaiveBayes(variant="bernoulli"), BernoulliNB()),
        (NaiveBayes(variant="complement", prior="uniform"), ComplementNB()),
    ],
    ids=str,
)
def test_naive_bayes_with_weights_is_scikit_learns(ours: Any, theirs: Any):
    x, y = counts()
    x[:, 0] += 1  # a feature that everybody has
    weights = np.random.default_rng(1).uniform(0.0, 3.0, len(y))
    for weight in (None, weights):
        ours.fit(x, y, sample_weight=weight)
        theirs.fit(x, y, sample_weight=weight)
        np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), rtol=1e-4, atol=1e-7)
    np.testing.assert_array_equal(ours.fit(x, y, np.ones(len(y))).coef_, ours.fit(x, y).coef_)


def test_online_rules_refuse_weights_of_rows_by_name():
    x, y = counts()
    with pytest.raises(TypeError, match="sample_weight: an online rule"):
        MIRA().fit(x, y, sample_weight=np.ones(len(y)))


@pytest.mark.parametrize(
    "estimator",
    [
        Perceptron(shuffle=False, max_iter=3),
        MIRA(average=False, shuffle=False),
        ConfidenceWeighted(form="stdev", shuffle=False, average=True),
        AROW(shuffle=False),
        SCW(shuffle=False),
        OnlineSVM(shuffle=False, decay=0.0),
    ],
    ids=str,
)
def test_partial_fit_goes_on_where_the_model_is(estimator: Any):
    """Epochs in file order: the same rows in two portions are the same epoch; partial_fit epochs are fit's."""
    x, y = counts()
    halves = clone(estimator)
    for rows in (slice(0, 70), slice(70, 120)):
        halves.partial_fit(x[rows], y[rows], classes=[0, 1, 2, 3])
    np.testing.assert_array_equal(halves.coef_, clone(estimator).set_params(max_iter=1).fit(x, y).coef_)
    whole = clone(estimator).fit(x, y)
    by_epoch = clone(estimator)
    for _ in range(whole.n_iter_):
        by_epoch.partial_fit(x, y, classes=np.unique(y))
    np.testing.assert_array_equal(by_epoch.coef_, whole.coef_)
    later = clone(estimator).set_params(max_iter=1).fit(x, y).partial_fit(x, y)
    np.testing.assert_array_equal(later.coef_, clone(estimator).set_params(max_iter=2).fit(x, y).coef_)
    with pytest.raises(ValueError, match="not among the classes"):
        later.partial_fit(x[:1], [9])


def test_the_order_of_rows_does_not_matter_to_a_shuffled_rule():
    x, y = counts()
    x += np.random.default_rng(3).uniform(0, 0.01, x.shape)  # no two rows alike
    order = np.random.default_rng(2).permutation(len(y))
    one, other = Perceptron().fit(x, y), Perceptron().fit(x[order], y[order])
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-4, atol=1e-5)
    assert np.abs(one.coef_ - Perceptron(random_state=1).fit(x, y).coef_).max() > 1e-2


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (MIRA(C=-1.0), "MIRA: C = -1.0"),
        (ConfidenceWeighted(eta=0.5), "ConfidenceWeighted: eta = 0.5"),
        (AROW(r=0.0), "AROW: r = 0.0"),
        (OnlineSVM(schedule="inverse", eta=2.0), "eta means nothing with schedule: inverse"),
        (MIRA(gamma=2.0), "gamma means nothing with margin: fixed"),
        (NaiveBayes(variant="gaussian"), "NaiveBayes: variant = 'gaussian'"),
        (Perceptron(max_iter=0), "max_epochs = 0"),
        (LogisticRegression(penalty="l1"), "set optimizer: owlqn"),
        (LinearSVM(class_weight={"none": 2.0}), "'none' is no class"),
        (Perceptron(random_state=-1), "random_state = -1"),
        (Perceptron(device="gpu"), "'gpu' is not a device"),
    ],
    ids=str,
)
def test_a_bad_parameter_is_named_in_fit(estimator: Any, words: str):
    x, y = counts()
    with pytest.raises(ValueError, match=words):
        estimator.fit(x, y)


def test_values_beyond_float32_are_refused():
    x, y = counts()
    x[3, 4] = 1e39
    with pytest.raises(ValueError, match="1e\\+39"):
        Perceptron().fit(x, y)


def test_a_pipeline_over_texts():
    texts = ["good film", "bad film", "very good", "very bad", "good good", "bad bad"]
    labels = ["+", "-"] * 3
    pipeline = make_pipeline(CountVectorizer(), MIRA()).fit(texts, labels)
    assert pipeline.predict(["a good one", "a bad one"]).tolist() == ["+", "-"]


GRIDS: list[tuple[Any, Any]] = [
    (Perceptron(), {"average": [True, False], "random_state": [0, 3], "shuffle": [True, False]}),
    (MIRA(), {"C": [0.01, 0.1, 1, np.inf], "update_on": ["error", "margin"]}),
    (OnlineSVM(), {"decay": [0.0, 1e-4, 1e-2], "eta": [0.5, 1.0]}),
    (SCW(), {"C": [0.1, 1, np.inf], "eta": [0.6, 0.9], "variant": ["scw1", "scw2"]}),
    (AROW(), {"r": [0.1, 1.0], "average": [True, False]}),
    (MIRA(), [{"C": np.logspace(-2, 0, 3)}, {"margin": ["scaled"], "gamma": [0.5, 1.0]}]),
    (NaiveBayes(), {"alpha": [0.1, 1, 2.0], "variant": ["multinomial", "bernoulli", "complement"]}),
    (LinearSVM(max_iter=10), {"C": [0.03, 0.3]}),
    (LogisticRegression(tol=1e-2), {"C": [0.1, 1.0]}),
]
SPLITTERS = [
    None,
    3,
    StratifiedKFold(4, shuffle=True, random_state=1),
    RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
    ShuffleSplit(3, random_state=0),  # training rows in another order than the matrix's
    KFold(5),
    [(np.array([5, 5, 9, 30, 31, 32, 33, 34, 35, 36]), np.arange(50, 60))],  # a row twice
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cv", SPLITTERS, ids=lambda cv: type(cv).__name__)
@pytest.mark.parametrize(("estimator", "grid"), GRIDS, ids=lambda value: str(value)[:40])
def test_the_batched_search_is_grid_search(estimator: Any, grid: Any, cv: Any):
    x, y = counts()
    same_as_grid_search(estimator, grid, scipy.sparse.csr_array(x), np.array(list("abcd"))[y], cv=cv)


def same_as_grid_search(estimator: Any, grid: Any, x: Any, y: Any, groups: Any = None, **more: Any) -> None:
    """Every score of every cell and fold is the same number, and so is all that follows from them."""
    theirs = GridSearchCV(estimator, grid, **more).fit(x, y, groups=groups)
    ours = BatchedGridSearch(estimator, grid, **more).fit(x, y, groups=groups)
    assert list(ours.cv_results_) == list(theirs.cv_results_)
    for name, values in theirs.cv_results_.items():
        if name.startswith("param_"):
            assert ours.cv_results_[name].tolist() == values.tolist()
        elif not name.endswith("_time"):
            np.testing.assert_array_equal(ours.cv_results_[name], values, err_msg=name)
    for name in ("best_params_", "best_score_", "best_index_", "n_splits_", "n_features_in_"):
        np.testing.assert_equal(getattr(ours, name), getattr(theirs, name))
    np.testing.assert_array_equal(ours.predict(x), theirs.predict(x))
    np.testing.assert_array_equal(ours.best_estimator_.coef_, theirs.best_estimator_.coef_)
    assert ours.score(x, y) == theirs.score(x, y)


def test_the_batched_search_with_groups_other_scores_and_dense_rows():
    x, y = counts(classes=2)
    groups = np.arange(len(y)) // 7
    same_as_grid_search(MIRA(), {"C": [0.1, 1.0]}, x, y, groups, cv=GroupKFold(4), scoring="roc_auc")
    same_as_grid_search(NaiveBayes(), {"alpha": [0.1, 1.0]}, x, y, cv=3, scoring="neg_log_loss")


def test_the_batched_search_leaves_one_out():
    x, y = counts(docs=25)
    same_as_grid_search(NaiveBayes(), {"alpha": [0.1, 1.0]}, x, y, cv=LeaveOneOut())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite:UserWarning")
def test_a_class_that_a_fold_lacks_and_cells_that_cannot_be():
    """Folds over sorted labels train on fewer classes; a bad C fails alone, as in GridSearchCV."""
    x, y = counts(classes=3)
    order = np.argsort(y, kind="stable")
    same_as_grid_search(MIRA(), {"C": [1.0, -1.0]}, x[order], y[order], cv=KFold(3))
    same_as_grid_search(MIRA(), {"C": [0.1, 1.0]}, x, np.where(np.arange(120) < 60, 0, y), cv=KFold(2))


def test_failed_fits_are_told_or_raised():
    x, y = counts()
    with pytest.raises(ValueError, match="C = -1"):
        BatchedGridSearch(MIRA(), {"C": [1.0, -1.0]}, error_score="raise").fit(x, y)
    with pytest.raises(ValueError, match="5 of 5 fits failed"):
        BatchedGridSearch(MIRA(), {"C": [-1.0]}).fit(x, y)
    with pytest.raises(TypeError, match="MultinomialNB is no estimator of gpuclf"):
        BatchedGridSearch(MultinomialNB(), {"alpha": [1.0]}).fit(x, y)


def test_without_refit_there_are_results_and_no_predictions():
    x, y = counts()
    search = BatchedGridSearch(MIRA(), {"C": [0.1, 1.0]}, refit=False).fit(x, y)
    assert search.best_params_ in search.cv_results_["params"]
    with pytest.raises(AttributeError):
        search.predict(x)


def test_importing_the_estimators_without_scikit_learn_says_what_to_install():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "try:\n    import gpuclf.estimators\n"
        "except ModuleNotFoundError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "gpuclf.estimators needs scikit-learn: pip install 'gpuclf[sklearn]'"


def test_every_linear_learner_has_an_estimator_that_is_checked():
    checked = {estimator._setup().model.type for estimator, _ in EXEMPTED if hasattr(estimator, "_setup")}
    online = {"perceptron", "mira", "online_svm", "cw", "arow", "scw"}  # pa2 is MIRA(variant="pa2")
    assert checked == online | {"naive_bayes", "logistic", "svm"}
    assert checked < set(LEARNERS)


def test_logistic_regression_is_scikit_learns():
    """The optimum of the same objective; for two classes scikit-learn has one row of weights where we have two."""
    x, y = counts()
    ours = LogisticRegression(C=0.3, tol=1e-9).fit(x, y)
    theirs = SklearnLogisticRegression(C=0.3, tol=1e-9, max_iter=1000).fit(x, y)
    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), atol=1e-4)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)


def test_a_fit_that_has_not_converged_warns():
    x, y = counts()
    with pytest.warns(ConvergenceWarning, match="has not converged in 1 iterations"):
        LogisticRegression(max_iter=1, tol=1e-12).fit(x, y)
