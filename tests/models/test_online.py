"""Perceptron and MIRA as learners: streams, averaging, stopping, cost matrices, and figures on real data."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.rows import SparseRows, Views
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.linear.cost_matrix import read_cost_matrix
from gpuclf.models.linear.mira import MiraOptions
from gpuclf.models.linear.online import OnlineLearner, OnlineState, averaged, streams_of
from gpuclf.models.linear.perceptron import PerceptronOptions
from gpuclf.models.replica_axis import take_replicas
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops.counter_hash import visiting_order
from tests.ops.online_problem import setting

NAMES = ["a", "b", "c", "d", "e"]


def problem(docs: int = 40, views: tuple[int, ...] = (0, 0, 1), seeds: tuple[int, ...] = (3, 3, 3)) -> Problem:
    """View 0 trains on the even documents, view 1 on all; document 5 has no label."""
    s = setting(docs=docs)
    labels = s.rows.labels.clone()
    labels[5] = -1
    train = torch.ones(2, docs, dtype=torch.bool)
    train[0, 1::2] = False
    rows = SparseRows(s.rows.crow, s.rows.col, s.rows.val, s.features)
    replicas = Replicas(
        torch.tensor(views), torch.tensor(seeds), {"model.C": torch.tensor([0.125, 1.0, 2.0], dtype=torch.float64)}
    )
    keys = torch.arange(docs) * 7919
    return Problem(rows, labels, keys, 5, Views(train, s.rows.col_scale, s.rows.row_scale), replicas)


def trained(learner: OnlineLearner, made: Problem, epochs: int) -> OnlineState:
    state = learner.init(made)
    for _ in range(epochs):
        state = learner.step(made, state)
    return state


def test_streams_follow_the_hash_order_and_see_training_rows_only() -> None:
    made = problem(seeds=(3, 4, 4))
    streams = streams_of(made, 2, True)
    assert streams.start.tolist() == [0, 1, 2, 3]
    assert streams.view.tolist() == [0, 0, 1]
    for g, (view, seed) in enumerate([(0, 3), (0, 4), (1, 4)]):
        whole = visiting_order(seed, 2, made.keys)
        allowed = [n for n in whole.tolist() if made.views.train[view, n] and n != 5]
        assert [n for n in streams.order[g].tolist() if n >= 0] == allowed
    filed = streams_of(made, 2, False)
    assert [n for n in filed.order[0].tolist() if n >= 0] == list(range(0, 40, 2))
    assert streams_of(problem(), 0, True).start.tolist() == [0, 2, 3]


def test_a_fold_view_trains_as_its_rows_alone_would() -> None:
    learner = MiraOptions().build(TrainOptions(), NAMES)
    made = problem()
    chosen = torch.arange(0, 40, 2)
    dense = torch.zeros(40, 31)
    row = torch.repeat_interleave(torch.arange(40), made.rows.crow.diff())
    dense[row, made.rows.col.long()] = made.rows.val
    at, col = torch.nonzero(dense[chosen], as_tuple=True)
    crow = torch.zeros(21, dtype=torch.int64)
    crow[1:] = torch.bincount(at, minlength=20).cumsum(0)
    rows = SparseRows(crow, col.to(torch.int32), dense[chosen][at, col], 30)
    assert made.views.col_scale is not None
    assert made.views.row_scale is not None
    views = Views(torch.ones(1, 20, dtype=torch.bool), made.views.col_scale[:1], made.views.row_scale[:1, chosen])
    alone = Problem(rows, made.labels[chosen], made.keys[chosen], 5, views, made.replicas.take(torch.tensor([0, 1])))
    a, b = trained(learner, made, 3), trained(learner, alone, 3)
    assert torch.equal(a.weights[:, :2], b.weights)
    assert torch.equal(learner.result(made, a).weights[:, :2], learner.result(alone, b).weights)


def test_dropping_replicas_changes_nothing_for_the_others() -> None:
    learner = MiraOptions().build(TrainOptions(tol=1e-9), NAMES)
    made = problem()
    state = take_replicas(trained(learner, made, 1), torch.tensor([0, 2]))
    fewer = replace(made, replicas=made.replicas.take(torch.tensor([0, 2])))
    state = learner.step(fewer, state)
    whole = trained(learner, made, 2)
    assert torch.equal(state.weights, whole.weights[:, [0, 2]])
    assert torch.equal(state.change, whole.change[[0, 2]])


def test_result_is_averaged_and_the_final_weights_stand_beside_it() -> None:
    learner = PerceptronOptions().build(TrainOptions(), NAMES)
    made = problem()
    state = trained(learner, made, 2)
    result, final = learner.result(made, state), learner.alternatives(made, state)["final"]
    assert state.sums is not None
    expected = state.weights.double() - state.sums.double() / state.steps.double()[:, None]
    torch.testing.assert_close(result.weights.double(), expected, rtol=1e-5, atol=1e-6)
    assert torch.equal(final.weights, state.weights)
    assert final.weights.data_ptr() != state.weights.data_ptr()
    plain = PerceptronOptions(average=False).build(TrainOptions(), NAMES)
    last = trained(plain, made, 2)
    assert last.sums is None
    assert plain.alternatives(made, last) == {}
    assert torch.equal(plain.result(made, last).weights, state.weights)
    assert plain.result(made, last).weights.data_ptr() != last.weights.data_ptr()
    assert not learner.result(made, learner.init(made)).weights.any()


def test_finished_after_a_pass_without_update_or_by_tol() -> None:
    made = problem()
    learner = PerceptronOptions().build(TrainOptions(), NAMES)
    state = learner.init(made)
    assert not learner.finished(made, state).any()
    for _ in range(300):
        state = learner.step(made, state)
        assert torch.equal(learner.finished(made, state), state.updates == 0)
        if (state.updates == 0).all():
            break
    assert (state.updates == 0).all()
    patient = MiraOptions().build(TrainOptions(tol=0.2), NAMES)
    before, state = torch.zeros(31, 3, 5), patient.init(made)
    for _ in range(6):
        state = patient.step(made, state)
        new = averaged(state.weights, state.sums, state.steps)
        change = (new - before).double().flatten(2).permute(1, 0, 2).flatten(1).norm(dim=1)
        change = change / new.double().permute(1, 0, 2).flatten(1).norm(dim=1)
        torch.testing.assert_close(state.change, change)
        assert torch.equal(patient.finished(made, state), (change <= 0.2) | (state.updates == 0))
        before = new
    assert (state.change <= 0.2).any()


@pytest.mark.parametrize("average", [True, False])
def test_an_end_ahead_of_time_gives_what_all_epochs_would_have_given(average: bool) -> None:
    """Steps forced through all epochs, against a stop after the first one without an update."""
    made = problem(docs=12)
    epochs = 60
    learner = PerceptronOptions(average=average).build(TrainOptions(max_epochs=epochs), NAMES)
    state = learner.init(made)
    early: dict[int, tuple[Tensor, Tensor]] = {}
    for _ in range(epochs):
        state = learner.step(made, state)
        result, loss = learner.result(made, state).weights, learner.progress(made, state)["loss"]
        for r in torch.nonzero(learner.finished(made, state))[:, 0].tolist():
            early.setdefault(r, (result[:, r].clone(), loss[r].clone()))
    assert state.epoch == epochs
    assert sorted(early) == [0, 1, 2]
    if state.sums is not None:
        seen = torch.tensor([6, 6, 11]) * epochs
        assert torch.equal(state.steps, seen)
        result = state.weights - state.sums / seen[:, None]
    for r, (weights, loss) in early.items():
        torch.testing.assert_close(weights, result[:, r])
        assert loss == 0
    stopped = PerceptronOptions(average=average).build(TrainOptions(max_epochs=epochs, tol=0.0), NAMES)
    assert (trained(stopped, made, epochs).steps == torch.tensor([6, 6, 11]) * epochs).all()


def test_progress_counts() -> None:
    made = problem()
    learner = MiraOptions(update_on="error").build(TrainOptions(), NAMES)
    figures = learner.progress(made, trained(learner, made, 1))
    assert figures["mistakes"].dtype == torch.int64
    assert torch.equal(figures["mistakes"], figures["updates"])
    assert (figures["loss"] > 0).all()


def test_minibatches_reach_the_learner() -> None:
    made = problem()
    results = [
        trained(MiraOptions().build(TrainOptions(batch=b, batch_update=u), NAMES), made, 1).weights  # type: ignore[arg-type]
        for b, u in ((1, "sum"), (1, "mean"), (8, "sum"), (8, "mean"))
    ]
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])
    assert not torch.equal(results[2], results[3])


@pytest.mark.parametrize(
    "options",
    [{"C": 0.0}, {"C": -1.0}, {"C": float("nan")}, {"gamma": 2.0}, {"cost_augmented": True}, {"c": 1.0},
     {"margin": "scaled", "cost": "costs.tsv"}],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        MiraOptions.model_validate(options)


def test_cost_matrix_is_read_by_name(tmp_path: Path) -> None:
    path = tmp_path / "costs.tsv"
    path.write_text("gold\tb\ta\nb\t0\t3\na\t0.5\t0\n", encoding="utf-8")
    assert read_cost_matrix(path, ["a", "b"]).tolist() == [[0.0, 0.5], [3.0, 0.0]]
    learner = MiraOptions(cost=path, cost_augmented=True).build(TrainOptions(), ["a", "b"])
    assert learner.rule.cost == ((0.0, 0.5), (3.0, 0.0))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("x\ta\tb\na\t0\t1\n", "no costs for 1 gold"),
        ("x\ta\na\t0\nb\t1\n", "no costs for 1 predicted"),
        ("x\ta\tb\na\t0\t1\nb\t1\t0.5\n", "being right costs 0"),
        ("x\ta\tb\na\t0\t-1\nb\t1\t0\n", "not negative"),
        ("x\ta\tb\na\t0\tnan\nb\t1\t0\n", "finite"),
        ("x\ta\tb\na\t0\tone\nb\t1\t0\n", "no number"),
        ("x\ta\tb\na\t0\nb\t1\t0\n", "1 costs for 2"),
        ("x\ta\tb\na\t0\t1\na\t0\t1\n", "two lines"),
        ("x\ta\ta\na\t0\t1\nb\t1\t0\n", "named twice"),
        ("x\ta\tz\na\t0\t1\nb\t1\t0\n", "no class"),
    ],
)
def test_faulty_cost_matrices_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "costs.tsv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UserFault, match=said) as caught:
        read_cost_matrix(path, ["a", "b"])
    assert caught.value.key == "model.cost"
    with pytest.raises(UserFault, match="no such file"):
        read_cost_matrix(tmp_path / "absent.tsv", ["a", "b"])


def svmlight(path: Path) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """crow, col, val and labels of an svmlight file with indices from 1."""
    labels, lengths, col, val = [], [], [], []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            label, *cells = line.split()
            labels.append(int(label))
            lengths.append(len(cells))
            for cell in cells:
                index, value = cell.split(":")
                col.append(int(index))
                val.append(float(value))
    crow = torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)]))
    return crow, torch.tensor(col, dtype=torch.int32), torch.tensor(val), torch.tensor(labels)


@pytest.mark.parametrize(
    ("options", "mistakes", "final", "average"),
    [
        (MiraOptions(C=float("inf"), update_on="error"), [1300, 299, 172], 0.9007, 0.9377),
        (PerceptronOptions(), [1293, 268, 140], 0.8995, 0.9326),
        (MiraOptions(C=0.1), [1102, 324, 150], 0.9354, 0.9194),
    ],
    ids=["mira", "perceptron", "pa1"],
)
def test_reuters_52_as_an_independent_implementation(
    options: PerceptronOptions | MiraOptions, mistakes: list[int], final: float, average: float, shared_data: Path
) -> None:
    """Three epochs in file order against figures of another program in float64."""
    folder = shared_data / "text" / "svmlight"
    if not (folder / "r52.train.svm.gz").is_file():
        pytest.skip(f"no r52 in {folder}")
    crow, col, val, labels = svmlight(folder / "r52.train.svm.gz")
    test_crow, test_col, test_val, gold = svmlight(folder / "r52.test.svm.gz")
    features, docs = int(max(col.max(), test_col.max())), labels.numel()
    zero = torch.zeros(1, dtype=torch.int64)
    views = Views(torch.ones(1, docs, dtype=torch.bool))
    made = Problem(SparseRows(crow, col, val, features), labels, torch.arange(docs), 52, views, Replicas(zero, zero))
    learner = options.build(TrainOptions(shuffle=False), [str(k) for k in range(52)])
    state = learner.init(made)
    counts = []
    for _ in range(3):
        state = learner.step(made, state)
        counts.append(int(state.mistakes))
    assert counts == pytest.approx(mistakes, rel=0.003)
    test = SparseRows(test_crow, test_col, test_val, features)
    everything = torch.arange(gold.numel())
    for predictor, wanted in (
        (learner.alternatives(made, state)["final"], final),
        (learner.result(made, state), average),
    ):
        predicted = predictor.scores(test, everything, None, None)[0].argmax(1)
        assert float((predicted == gold).double().mean()) == pytest.approx(wanted, abs=0.002)
