"""Online SVM, CW, AROW, SCW and PA-II as learners: options, stopping, averaging, and figures on real data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from gpuclf.config import load
from gpuclf.faults import UserFault
from gpuclf.features.rows import SparseRows, Views
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.linear.online import OnlineLearner, OnlineState
from gpuclf.models.registry import LEARNERS
from gpuclf.models.replica_axis import take_replicas
from gpuclf.models.train_options import TrainOptions
from tests.models.test_online import problem, svmlight, trained

NAMES = ["a", "b", "c", "d", "e"]
NEW = ["online_svm", "cw", "arow", "scw"]


def learner(type_name: str, train: TrainOptions | None = None, **options: Any) -> OnlineLearner:
    chosen = LEARNERS[type_name].model_validate({"type": type_name, **options})
    made = chosen.build(train or TrainOptions(), NAMES)
    assert isinstance(made, OnlineLearner)
    return made


def one_view(**options: list[float]) -> Problem:
    """Three replicas on the same rows with these options."""
    made = problem(views=(1, 1, 1))
    values = {f"model.{name}": torch.tensor(part, dtype=torch.float64) for name, part in options.items()}
    return replace(made, replicas=Replicas(made.replicas.view, made.replicas.seed, values))


def test_cw_with_an_identity_covariance_equals_scaled_margin_mira() -> None:
    """γ = Φ⁻¹(η), without a limit to the step: the same bits."""
    eta = [0.6, 0.84134474606854293, 0.99]
    cw = trained(learner("cw", covariance="identity"), one_view(eta=eta), 3)
    gamma = torch.special.ndtri(torch.tensor(eta, dtype=torch.float64))
    assert gamma[1] == pytest.approx(1.0)
    options = {"C": float("inf"), "margin": "scaled", "average": False}
    mira = trained(learner("mira", **options), one_view(gamma=gamma.tolist()), 3)
    assert cw.weights.any()
    assert torch.equal(cw.weights, mira.weights)
    assert cw.covariance is None


def test_pa2_is_mira_of_that_variant() -> None:
    made = one_view(C=[0.1, 1.0, 10.0])
    one, other = trained(learner("pa2"), made, 2), trained(learner("mira", variant="pa2"), made, 2)
    assert torch.equal(one.weights, other.weights)
    assert torch.equal(one.sums, other.sums)  # type: ignore[arg-type]
    assert not torch.equal(one.weights, trained(learner("mira"), made, 2).weights)


def test_scw_without_a_limit_is_cw_in_standard_deviations() -> None:
    made = one_view(eta=[0.6, 0.8, 0.9])
    for diagonal in ("precision", "covariance"):
        cw = trained(learner("cw", form="stdev", diagonal=diagonal), made, 2)
        scw = trained(learner("scw", C=float("inf"), diagonal=diagonal), made, 2)
        assert torch.equal(cw.weights, scw.weights)
        assert not torch.equal(cw.weights, trained(learner("scw", C=0.05, diagonal=diagonal), made, 2).weights)


@pytest.mark.parametrize(
    ("type_name", "options", "values"),
    [
        ("cw", {"form": "variance"}, {"eta": [0.55, 0.7, 0.9]}),
        ("cw", {"form": "stdev", "average": True}, {"eta": [0.55, 0.7, 0.9]}),
        ("arow", {}, {"r": [1e-12, 0.1, 10.0]}),
        ("scw", {"variant": "scw2"}, {"C": [0.1, 1.0, float("inf")], "eta": [0.6, 0.7, 0.9]}),
        ("online_svm", {}, {"lambda": [0.0, 1e-3, 0.5], "eta": [0.1, 1.0, 2.0]}),
        ("online_svm", {"schedule": "inverse"}, {"lambda": [1e-3, 1e-2, 0.5]}),
    ],
)
def test_options_of_a_replica_are_those_of_a_learner_alone(
    type_name: str, options: dict[str, Any], values: dict[str, list[float]]
) -> None:
    made = one_view(**values)
    together = trained(learner(type_name, **options), made, 2)
    for r in range(3):
        own = {name: part[r] for name, part in values.items()}
        alone = trained(learner(type_name, **options, **own), take_one(made), 2)
        expected = take_replicas(together, torch.tensor([r]))
        for name in ("weights", "sums", "covariance", "mistakes", "loss"):
            a, b = getattr(alone, name), getattr(expected, name)
            assert (a is None and b is None) or torch.equal(a, b), name


def take_one(made: Problem) -> Problem:
    return replace(made, replicas=Replicas(made.replicas.view[:1], made.replicas.seed[:1]))


@pytest.mark.parametrize("type_name", NEW)
def test_the_average_is_the_mean_of_the_weights_at_every_instance(type_name: str) -> None:
    """Against the last weights of as many runs as there are instances, each an instance longer."""
    options: dict[str, Any] = {"lambda": 0.05} if type_name == "online_svm" else {}
    made, train = take_one(problem(docs=12)), TrainOptions(shuffle=False)
    state = trained(learner(type_name, train, average=True, **options), made, 2)
    result = learner(type_name, train, average=True, **options).result(made, state)
    seen = torch.nonzero(made.views.train[0] & (made.labels >= 0)).flatten()
    total = torch.zeros_like(result.weights, dtype=torch.float64)
    last: OnlineState | None = None
    for epoch in range(2):
        begun = last
        for end in range(1, len(seen) + 1):
            shorter = torch.zeros_like(made.views.train)
            shorter[:, seen[:end]] = True
            part = replace(made, views=replace(made.views, train=shorter))
            plain = learner(type_name, train, average=False, **options)
            fresh = plain.init(part) if begun is None else take_replicas(begun, torch.tensor([0]))
            last = plain.step(part, fresh)
            total += last.weights
        assert last is not None
        assert last.epoch == epoch + 1
    torch.testing.assert_close(result.weights.double(), total / (2 * len(seen)), rtol=1e-4, atol=1e-5)


def test_dropping_replicas_changes_nothing_for_the_others() -> None:
    for type_name in NEW:
        made = problem()
        made = replace(made, replicas=replace(made.replicas, options={}))
        chosen = learner(type_name)
        state = take_replicas(trained(chosen, made, 1), torch.tensor([0, 2]))
        fewer = replace(made, replicas=made.replicas.take(torch.tensor([0, 2])))
        state = chosen.step(fewer, state)
        whole = trained(chosen, made, 2)
        assert torch.equal(state.weights, whole.weights[:, [0, 2]])
        if state.covariance is not None and whole.covariance is not None:
            assert torch.equal(state.covariance, whole.covariance[:, [0, 2]])


def test_an_epoch_without_an_update_ends_every_rule_but_one_whose_weights_decay() -> None:
    made = one_view(**{"lambda": [0.0, 1e-6, 1e-6]})
    made = replace(made, labels=torch.where(made.labels >= 0, 0, -1))  # class 0 wins every tie
    chosen = learner("online_svm", eta=10.0)
    state = trained(chosen, made, 4)
    assert state.updates.tolist() == [0, 0, 0]
    assert chosen.finished(made, state).tolist() == [True, False, False]
    sure = learner("arow")
    easy = replace(made, replicas=replace(made.replicas, options={}))
    state = sure.init(easy)
    state = replace(state, weights=torch.zeros_like(state.weights))
    state.weights[0, :, 0] = 2.0
    state = sure.step(easy, state)
    assert state.updates.tolist() == [0, 0, 0]
    assert sure.finished(easy, state).all()


def test_minibatches_are_refused_where_weights_decay_at_every_document() -> None:
    with pytest.raises(UserFault, match="one document at a time") as caught:
        learner("online_svm", TrainOptions(batch=2))
    assert caught.value.key == "train.batch"
    learner("online_svm", TrainOptions(batch=1))


@pytest.mark.parametrize(
    ("type_name", "options"),
    [
        ("cw", {"eta": 0.5}),
        ("cw", {"eta": 1.0}),
        ("cw", {"covariance": "identity", "form": "variance"}),
        ("cw", {"covariance": "identity", "diagonal": "covariance"}),
        ("arow", {"r": 0.0}),
        ("arow", {"C": 1.0}),
        ("scw", {"C": 0.0}),
        ("scw", {"variant": "scw3"}),
        ("online_svm", {"lambda": 1.0}),
        ("online_svm", {"lambda": -0.1}),
        ("online_svm", {"lambda_": 0.1}),
        ("online_svm", {"schedule": "inverse", "eta": 2.0}),
        ("online_svm", {"schedule": "inverse", "lambda": 0.0}),
        ("pa2", {"variant": "pa1"}),
    ],
)
def test_options_that_make_no_sense_are_refused(type_name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        LEARNERS[type_name].model_validate({"type": type_name, **options})


def test_lambda_is_the_name_in_a_config(tmp_path: Path) -> None:
    """In a file, on the command line, in a grid, and in the record of a run."""
    path = tmp_path / "svm.yaml"
    path.write_text(
        "data: {train: bundled:banking77/train.tsv.gz}\nmodel: {type: online_svm, lambda: 0.001}\n", "utf-8"
    )
    assert getattr(load(path).options.model, "lambda") == 0.001
    loaded = load(path, ["model.lambda=0.01", "+grid.model.lambda=[0,1e-4]", "+folds.k=3"])
    assert getattr(loaded.options.model, "lambda") == 0.01
    assert loaded.options.grid == {"model.lambda": [0, 1e-4]}
    assert "lambda: 0.01" in loaded.resolved_yaml()
    with pytest.raises(UserFault, match=r"model\.lambda"):
        load(path, ["model.lambda=2"])


@pytest.mark.parametrize(
    ("type_name", "options", "mistakes", "final"),
    [
        ("arow", {"r": 1.0}, [577, 41, 15], 0.9521),
        ("cw", {"form": "variance"}, [615, 46, 15], 0.9451),
        ("cw", {"form": "stdev"}, [568, 34, 14], 0.9509),
        ("scw", {}, [590, 43, 16], 0.9502),
        ("online_svm", {"lambda": 1e-5, "average": False}, [1089, 206, 69], 0.9163),
    ],
    ids=["arow", "cw-variance", "cw-stdev", "scw", "online_svm"],
)
def test_reuters_52_in_file_order(
    type_name: str, options: dict[str, Any], mistakes: list[int], final: float, shared_data: Path
) -> None:
    """Three epochs against figures of an eager program in float64 (tests.ops.eager_rules)."""
    folder = shared_data / "text" / "svmlight"
    if not (folder / "r52.train.svm.gz").is_file():
        pytest.skip(f"no r52 in {folder}")
    crow, col, val, labels = svmlight(folder / "r52.train.svm.gz")
    test_crow, test_col, test_val, gold = svmlight(folder / "r52.test.svm.gz")
    features, docs = int(max(col.max(), test_col.max())), labels.numel()
    views = Views(torch.ones(1, docs, dtype=torch.bool))
    zero = torch.zeros(1, dtype=torch.int64)
    made = Problem(SparseRows(crow, col, val, features), labels, torch.arange(docs), 52, views, Replicas(zero, zero))
    chosen = LEARNERS[type_name].model_validate({"type": type_name, **options})
    machine = chosen.build(TrainOptions(shuffle=False), [str(k) for k in range(52)])
    state = machine.init(made)
    counts = []
    for _ in range(3):
        state = machine.step(made, state)
        counts.append(int(state.mistakes[0]))
    assert counts == pytest.approx(mistakes, rel=0.01, abs=2)
    test = SparseRows(test_crow, test_col, test_val, features)
    predicted = machine.result(made, state).scores(test, torch.arange(gold.numel()), None, None)[0].argmax(1)
    assert float((predicted == gold).double().mean()) == pytest.approx(final, abs=0.002)
