"""Rows that count more than once: a weight of k is the row k times, in every loss, penalty and optimiser."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression as Peer

from gpuclf.estimators import LinearSVM, LogisticRegression
from gpuclf.models.train_options import TrainOptions
from tests.models.test_regularised import data, objective, options, problem, train, weights

TIMES = torch.tensor([0, 1, 2, 3] * 20)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize(
    ("loss", "penalty", "optimizer"),
    [
        ("logistic", "l2", "lbfgs"),
        ("logistic", "l2", "newton"),
        ("logistic", "none", "gradient_descent"),
        ("logistic", "elasticnet", "owlqn"),
        ("logistic", "l2", "dcd"),
        ("margin", "l2", "dcd"),
        ("squared_margin", "l2", "lbfgs"),
    ],
)
def test_a_weight_of_k_is_the_row_k_times(loss: str, penalty: str, optimizer: str, class_weight: Any) -> None:
    x, y = data()
    given: dict[str, Any] = {"penalty": penalty, "optimizer": optimizer, "class_weight": class_weight}
    chosen = options(loss, **given, tol=1e-8, max_iter=1000, **({} if penalty == "none" else {"C": 0.3}))
    weighted = train(chosen, replace(problem(x, y), weights=TIMES.double()))
    repeated = train(chosen, problem(x.repeat_interleave(TIMES, 0), y.repeat_interleave(TIMES)))
    torch.testing.assert_close(weights(weighted), weights(repeated), rtol=0, atol=2e-3)
    plain = train(chosen, problem(x, y))
    assert (weights(plain) - weights(weighted)).abs().max() > 0.02


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad"])
def test_a_weight_of_k_draws_stochastic_steps_to_the_same_optimum(optimizer: str) -> None:
    x, y = data()
    bx, by = x.repeat_interleave(TIMES, 0), y.repeat_interleave(TIMES)
    chosen = options("logistic", optimizer=optimizer, C=0.3, max_iter=400, tol=1e-5)
    w = weights(train(chosen, replace(problem(x, y), weights=TIMES.double()), TrainOptions(batch=8)))
    best = weights(train(options("logistic", C=0.3, tol=1e-10), problem(bx, by)))
    least = objective(best, bx, by, "logistic", "l2", 0.3)
    assert objective(w, bx, by, "logistic", "l2", 0.3) == pytest.approx(least, rel=2e-3)
    other = weights(train(options("logistic", C=0.3, tol=1e-10), problem(x, y)))
    assert objective(other, bx, by, "logistic", "l2", 0.3) > least * 1.01


def test_ones_are_no_weights() -> None:
    x, y = data()
    made = problem(x, y)
    for chosen in (options("logistic"), options("margin"), options("logistic", optimizer="sgd", max_iter=5)):
        plain, ones = train(chosen, made), train(chosen, replace(made, weights=torch.ones(80, dtype=torch.float64)))
        assert torch.equal(weights(plain), weights(ones))


@pytest.mark.parametrize("class_weight", [None, {0: 2.0, 1: 0.5}])
def test_sample_weights_are_scikit_learns(class_weight: Any) -> None:
    x, y = data()
    given = torch.rand(80, generator=torch.Generator().manual_seed(5), dtype=torch.float64).numpy()
    ours = LogisticRegression(tol=1e-10, class_weight=class_weight).fit(x.numpy(), y.numpy(), sample_weight=given)
    peer = Peer(tol=1e-10, solver="newton-cg", class_weight=class_weight, max_iter=1000)
    peer.fit(x.double().numpy(), y.numpy(), sample_weight=given)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=2e-3)
    np.testing.assert_allclose(ours.intercept_, peer.intercept_, atol=2e-3)


@pytest.mark.parametrize("estimator", [LogisticRegression(), LinearSVM()], ids=str)
def test_weights_that_cannot_be_are_refused(estimator: Any) -> None:
    x, y = (part.numpy() for part in data())
    for given, says in ((np.zeros(80), "non-zero"), (-np.ones(80), "[Nn]egative"), (np.ones(79), "shape")):
        with pytest.raises(ValueError, match=says):
            estimator.fit(x, y, sample_weight=given)
