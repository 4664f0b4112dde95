"""ForestClassifier and BoostedTreesClassifier: scikit-learn's own checks, then what it has no checks for."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from gpuclf.estimators import BoostedTreesClassifier, ForestClassifier

DRAWN = {
    f"check_sample_weight_equivalence_on_{kind}_data": "each tree draws as many rows as there are, so that a row of "
    "weight 2 is drawn together, and repeated rows apart, as in scikit-learn's own forests"
    for kind in ("dense", "sparse")
}
PURE = {
    "check_class_weight_classifiers": "grown until leaves are pure, where the weights of classes say nothing; "
    "scikit-learn's own forests pass with its min_weight_fraction_leaf"
}
# Estimator → checks that cannot hold for it, with the reason. A check that passes in spite of its reason fails.
EXEMPTED: list[tuple[Any, dict[str, str]]] = [
    (ForestClassifier(n_estimators=8), PURE),
    (ForestClassifier(n_estimators=8, splits="sorted", bootstrap=True, oob_score=True), PURE | DRAWN),
    (BoostedTreesClassifier(n_estimators=8), {}),
]


def exempted(estimator: Any) -> dict[str, str]:
    return next(reasons for other, reasons in EXEMPTED if repr(other) == repr(estimator))


@parametrize_with_checks([estimator for estimator, _ in EXEMPTED], expected_failed_checks=exempted, xfail_strict=True)
def test_scikit_learn_check(estimator: Any, check: Any) -> None:
    state = np.random.get_state()
    np.random.seed(0)  # some of the checks draw from numpy's global generator
    try:
        check(estimator)
    finally:
        np.random.set_state(state)


def table(docs: int = 200, seed: int = 0) -> tuple[Any, Any]:
    """X (docs, 3) objects: a colour that tells the class, a number, noise; y (docs,) text."""
    draw = np.random.default_rng(seed)
    colour, number = draw.integers(0, 12, docs), draw.uniform(0, 1, docs)
    y = np.array(["no", "so", "yes"])[(colour % 2) + (number > 0.5)]
    X = np.empty((docs, 3), dtype=object)
    X[:, 0], X[:, 1], X[:, 2] = [f"c{c}" for c in colour], number, draw.integers(0, 5, docs)
    return X, y


MIXED: dict[str, Any] = {"categorical_features": [0, 2]}
EVERY = [
    ForestClassifier(n_estimators=16, splits="sorted", **MIXED),
    ForestClassifier(n_estimators=16, candidates="12*sqrt", **MIXED),
    BoostedTreesClassifier(n_estimators=32, **MIXED),
]


@pytest.mark.parametrize("estimator", EVERY, ids=lambda e: type(e).__name__)
def test_categories_and_numbers_side_by_side(estimator: Any) -> None:
    X, y = table()
    new, gold = table(seed=1)
    fitted = clone(estimator).fit(X, y)
    assert fitted.score(new, gold) > 0.9
    assert fitted.classes_.tolist() == ["no", "so", "yes"]
    np.testing.assert_allclose(fitted.predict_proba(new).sum(axis=1), 1.0, rtol=1e-9)
    assert fitted.feature_importances_.sum() == pytest.approx(1.0)
    assert fitted.feature_importances_[2] < 0.25
    new[:, 0] = "never seen"
    assert set(fitted.predict(new)) <= {"no", "so", "yes"}
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(new), fitted.predict_proba(new))


def test_a_files_own_coding_of_categories_never_matters() -> None:
    """The same words as text, as objects and as numbers in the same order; other words in between change nothing."""
    X, y = table()
    words = np.array([c.rjust(3, "_") for c in X[:, 0]])  # in the order of their numbers
    numbers = np.array([int(c[1:]) * 7 - 30 for c in X[:, 0]])
    forms = [words[:, None], words.astype(object)[:, None], numbers[:, None], numbers.astype(object)[:, None]]
    scores = [ForestClassifier(n_estimators=4).fit(form, y).predict_proba(form) for form in forms]
    for other in scores[1:]:
        np.testing.assert_array_equal(scores[0], other)


def test_missing_values_are_a_category_of_their_own() -> None:
    X = np.array([["a"], [None], [float("nan")], ["b"]] * 5, dtype=object)
    y = [0, 1, 1, 2] * 5
    fitted = ForestClassifier(n_estimators=4, splits="binary").fit(X, y)
    assert fitted.predict([["a"], [np.nan], [None], ["b"]]).tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize("kind", [ForestClassifier, BoostedTreesClassifier])
def test_missing_numbers_are_a_bin_of_their_own_and_infinite_ones_refused(kind: Any) -> None:
    """Class 1 is what is missing or in the middle: no threshold alone tells it."""
    X = np.array([[np.nan], [1.0], [2.0], [3.0], [4.0]] * 20)
    y = np.array([1, 0, 1, 1, 0] * 20)
    fitted = kind(n_estimators=32, n_bins=4).fit(X, y)
    assert fitted.predict([[np.nan], [0.5], [2.5], [3.0], [9.0]]).tolist() == [1, 0, 1, 1, 0]
    assert pickle.loads(pickle.dumps(fitted)).predict([[np.nan]]).tolist() == [1]
    for wrong in (np.inf, -np.inf):
        with pytest.raises(ValueError, match="infinity"):
            kind(n_estimators=2).fit([[1.0], [wrong]], [0, 1])
        with pytest.raises(ValueError, match="infinity"):
            fitted.predict([[wrong]])
    with pytest.raises(ValueError, match="n_bins"):
        kind(n_bins=257).fit(X, y)


@pytest.mark.parametrize(("asked", "words"), [("auto", "'auto'"), ([3], "3 columns"), ([True], "3 columns")])
def test_columns_that_are_not_there_are_refused(asked: Any, words: str) -> None:
    X, y = table()
    with pytest.raises(ValueError, match=words):
        ForestClassifier(categorical_features=asked).fit(X, y)


def test_matrices_of_every_kind_give_the_same_forest() -> None:
    draw = np.random.default_rng(3)
    x = draw.poisson(0.7, (120, 4)).astype(np.float64)
    y = (x[:, 0] > x[:, 1]).astype(int)
    fitted = ForestClassifier(n_estimators=4).fit(x, y)
    expected = fitted.predict_proba(x)
    kinds = [scipy.sparse.csr_array(x), torch.from_numpy(x), x.astype(np.float32)]
    for kind in kinds:
        labels = torch.from_numpy(y) if isinstance(kind, torch.Tensor) else y
        np.testing.assert_array_equal(ForestClassifier(n_estimators=4).fit(kind, labels).predict_proba(kind), expected)
    explicit = scipy.sparse.csr_array(x + 1)
    explicit.data -= 1  # zeros that are written
    np.testing.assert_array_equal(fitted.predict_proba(explicit), expected)


@pytest.mark.parametrize("estimator", EVERY, ids=lambda e: type(e).__name__)
def test_a_weight_is_a_number_of_repetitions(estimator: Any) -> None:
    """Rows of weight 0 are not there; weights in another unit, halves of them, give the same trees."""
    X, y = table(80)
    weights = np.random.default_rng(4).integers(0, 3, 80)
    made = clone(estimator).set_params(n_estimators=4)
    if isinstance(estimator, BoostedTreesClassifier):
        made.set_params(min_category_rows=1)
    repeated = clone(made).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    weighted = clone(made).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-5, atol=1e-7)
    if isinstance(estimator, ForestClassifier):
        halves = clone(made).fit(X, y, sample_weight=weights / 2)
        np.testing.assert_allclose(halves.predict_proba(X), weighted.predict_proba(X), rtol=1e-5, atol=1e-7)


def test_too_heavy_a_row_is_refused_by_boosting() -> None:
    X, y = table(20)
    with pytest.raises(ValueError, match="weight 500 is beyond 127"):
        BoostedTreesClassifier(**MIXED).fit(X, y, sample_weight=np.full(20, 500.0))


def test_the_out_of_bag_score_is_near_the_score_of_new_rows_and_needs_bootstrap() -> None:
    X, y = table(300)
    flipped = np.random.default_rng(5).random(300) < 0.3
    y = np.where(flipped, np.roll(y, 1), y)
    fitted = ForestClassifier(splits="sorted", n_estimators=48, bootstrap=True, oob_score=True, **MIXED).fit(X, y)
    assert fitted.score(X, y) > 0.95
    assert 0.5 < fitted.oob_score_ < 0.85
    assert not hasattr(ForestClassifier(n_estimators=2, bootstrap=True, **MIXED).fit(X, y), "oob_score_")
    with pytest.raises(ValueError, match="needs bootstrap"):
        ForestClassifier(oob_score=True).fit(X, y)


def test_weights_of_classes_by_their_names() -> None:
    X = np.array([["x"]] * 10, dtype=object)
    y = np.array([0] * 6 + [1] * 4)
    assert ForestClassifier(n_estimators=1).fit(X, y).predict([["x"]]) == [0]
    assert ForestClassifier(n_estimators=1, class_weight={1: 2.0}).fit(X, y).predict([["x"]]) == [1]
    with pytest.raises(ValueError, match="'2'"):
        ForestClassifier(class_weight={2: 2.0}).fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (ForestClassifier(n_estimators=0), "n_estimators = 0"),
        (ForestClassifier(max_features=2), "max_features would do nothing with splits composed"),
        (ForestClassifier(candidates="many"), "'many'"),
        (BoostedTreesClassifier(learning_rate=2.0), "learning_rate = 2.0"),
    ],
    ids=str,
)
def test_a_bad_parameter_is_named_in_fit(estimator: Any, words: str) -> None:
    X, y = table(20)
    with pytest.raises(ValueError, match=words):
        estimator.fit(X, y)


def test_grid_search_of_scikit_learn() -> None:
    X, y = table(90)
    search = GridSearchCV(EVERY[0], {"max_depth": [1, None], "n_estimators": [4]}, cv=2).fit(X, y)
    assert search.best_params_ == {"max_depth": None, "n_estimators": 4}
