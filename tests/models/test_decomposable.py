"""Decomposable models: the laws of their search, parameters and selection (Whittaker 1990; Bruce & Wiebe 1999)."""

from __future__ import annotations

import gzip
import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.rows import CodeRows, Views
from gpuclf.models.decomposable.criteria import Rules, log_chi2_tail, threshold
from gpuclf.models.decomposable.graph import factors, junction_forest, tan_graph, tree_graph
from gpuclf.models.decomposable.learner import Decomposable
from gpuclf.models.decomposable.options import DecomposableOptions
from gpuclf.models.decomposable.predictor import DecomposablePredictor
from gpuclf.models.decomposable.search import add_factor
from gpuclf.models.decomposable.selection import Measure, measured, pick, replay
from gpuclf.models.decomposable.state import SearchState
from gpuclf.models.decomposable.tables import cell_keys
from gpuclf.models.decomposable.variables import Variables, variables_of
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops.counter_hash import hash64_numpy

CLASSES = 3
VALUES = (4, 3, 3, 5)  # of the inputs, the unseen value included
NAMES = ("colour", "form", "kind", "size")


def table(rows: int = 160, seed: int = 0) -> tuple[CodeRows, Tensor]:
    """Inputs that follow the class, and each other, in part; the last one is noise."""
    draw = torch.Generator().manual_seed(seed)
    y = torch.randint(0, CLASSES, (rows,), generator=draw)
    codes = torch.stack([torch.randint(1, values, (rows,), generator=draw) for values in VALUES], dim=1)
    codes[:, 0] = torch.where(torch.rand(rows, generator=draw) < 0.6, 1 + y, codes[:, 0])
    codes[:, 1] = torch.where(torch.rand(rows, generator=draw) < 0.6, 1 + y % 2, codes[:, 1])
    codes[:, 2] = torch.where(torch.rand(rows, generator=draw) < 0.8, codes[:, 1], codes[:, 2])
    keys = tuple(int(hash64_numpy(*name.encode())) for name in NAMES)
    return CodeRows(codes.to(torch.int32), VALUES, keys=keys), y


def problem(folds: int = 2, rows: int = 160, ess: float = 1.0, alpha: float = 0.01, seed: int = 0) -> Problem:
    held, y = table(rows, seed)
    train = torch.stack([torch.arange(rows) % (folds + 1) != fold for fold in range(folds)])
    options = {"model.ess": torch.full((folds,), ess).double(), "model.alpha": torch.full((folds,), alpha).double()}
    replicas = Replicas(torch.arange(folds), torch.zeros(folds, dtype=torch.int64), options)
    return Problem(held, y, torch.arange(rows) * 7919, CLASSES, Views(train), replicas)


def learner(**options: Any) -> Decomposable:
    return DecomposableOptions(**options).build(TrainOptions(), ["a", "b", "c"])


def searched(made: Problem, **options: Any) -> tuple[SearchState, DecomposablePredictor]:
    one = learner(**options)
    state = one.init(made)
    while not bool(one.finished(made, state).all()):
        state = one.step(made, state)
    return state, one.result(made, state)


def variables(made: Problem, fold: int = 0) -> Variables:
    return variables_of(made.rows, made.labels, CLASSES, made.views.train[fold], None)


def scores(predictor: DecomposablePredictor, made: Problem, fold: int = 0) -> Tensor:
    docs = torch.arange(made.labels.numel())
    return predictor.scores(made.rows, docs, None, None, slice(fold, fold + 1))[0]


def every_row(held: Variables, ess: float) -> tuple[Variables, Problem]:
    """All cells of the product space as documents that are not counted, beside the rows that are."""
    levels = [range(int(values)) for values in held.levels]
    cells = torch.tensor(list(itertools.product(*levels[1:])), dtype=torch.int32)
    codes = torch.cat([held.codes, torch.cat([torch.zeros(len(cells), 1, dtype=torch.int32), cells], dim=1).T], dim=1)
    labels = torch.cat([held.labels, torch.full((len(cells),), -1)])
    return replace(held, codes=codes.contiguous(), labels=labels), problem(ess=ess)


@pytest.mark.parametrize("ess", [0.3, 1.0, 20.0])
@pytest.mark.parametrize("criterion", ["aic", "g2"])
def test_the_joint_adds_up_to_one(criterion: str, ess: float) -> None:
    made = problem(ess=ess)
    state, _ = searched(made, criterion=criterion)
    held, _ = every_row(variables(made), ess)
    joint = torch.zeros(held.codes.shape[1], CLASSES, dtype=torch.float64)
    for members, power in factors(state.adjacent[0, 0]).items():
        add_factor(joint, held, members, power, ess)
    cells = math.prod(int(values) for values in held.levels[1:])
    isolated = [v for v in range(1, 5) if not any(v in m for m in factors(state.adjacent[0, 0]))]
    assert not isolated, "every variable has a table"
    assert float(joint[-cells:].exp().sum()) == pytest.approx(1.0, abs=1e-9)


def log_likelihood(held: Variables, graph: Tensor) -> float:
    """Of the counted rows under maximum likelihood."""
    joint = torch.zeros(held.codes.shape[1], CLASSES, dtype=torch.float64)
    for members, power in factors(graph).items():
        add_factor(joint, held, members, power, 0.0)
    rows = torch.nonzero(held.labels >= 0).flatten()
    return float(joint[rows, held.labels[rows]].sum())


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_deviance_telescopes(direction: str) -> None:
    """The distances of the moves add up to twice the log likelihood gained from the first graph to the last."""
    made, one = problem(folds=1), learner(direction=direction, criterion="g2")
    state, total = one.init(made), 0.0
    held, begun = variables(made), state.begun[0, 0]
    while not bool(state.done.all()):
        state = one.step(made, state)
        total += float(state.last[0, 1])
        wanted = 2 * abs(log_likelihood(held, state.adjacent[0, 0]) - log_likelihood(held, begun))
        assert total == pytest.approx(wanted, abs=1e-6)
    assert state.step > 5


def test_the_saturated_model_is_reached_and_left() -> None:
    made = problem(folds=1)
    forward, _ = searched(made, criterion="g2")
    backward, _ = searched(made, criterion="g2", direction="backward")
    assert int(forward.adjacent.sum()) == 5 * 4
    assert int(backward.adjacent.sum()) == 0
    same, _ = searched(made, direction="fixed", start="saturated")
    assert int(same.adjacent.sum()) == 5 * 4


@pytest.mark.parametrize("criterion", ["aic", "bic", "p_value"])
def test_forward_and_backward_agree_on_two_variables(criterion: str) -> None:
    for seed in range(6):
        made = problem(folds=1, seed=seed)
        assert isinstance(made.rows, CodeRows)
        for place in range(4):
            rows = CodeRows(made.rows.codes[:, place : place + 1].contiguous(), VALUES[place : place + 1])
            two = replace(made, rows=rows)
            graphs = [searched(two, criterion=criterion, direction=way)[0].chosen for way in ("forward", "backward")]
            torch.testing.assert_close(graphs[0], graphs[1])


def test_tables_of_the_class_alone_decide_as_the_joint() -> None:
    made = problem()
    state, predictor = searched(made, criterion="g2", max_clique=3)
    held = variables(made)
    joint = torch.zeros(held.codes.shape[1], CLASSES, dtype=torch.float64)
    for members, power in factors(state.adjacent[0, 0]).items():
        add_factor(joint, held, members, power, 1.0)
    torch.testing.assert_close(torch.log_softmax(joint, 1).float(), scores(predictor, made), rtol=1e-5, atol=1e-5)
    assert bool((predictor.vars == 0).any(dim=2)[predictor.power != 0].all())


def test_the_star_is_naive_bayes() -> None:
    made = problem(folds=1)
    _, predictor = searched(made, direction="fixed", start="naive_bayes")
    held, y = variables(made), made.labels
    train = made.views.train[0]
    counts = torch.bincount(y[train], minlength=CLASSES).double()
    size = float(train.sum()) + 1.0
    logs = torch.log((counts + 1 / CLASSES) / size).expand(len(y), -1).clone()
    for v in range(1, 5):
        cells = torch.zeros(CLASSES, int(held.num_values[v]), dtype=torch.float64)
        cells.index_put_(
            (y[train], held.codes[v, train].long()), torch.ones(int(train.sum())).double(), accumulate=True
        )
        pseudo = 1 / (CLASSES * float(held.levels[v]))
        logs += torch.log((cells[:, held.codes[v].long()].T + pseudo) / (counts + 1 / CLASSES))
    torch.testing.assert_close(torch.log_softmax(logs, 1).float(), scores(predictor, made), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"criterion": "bic", "direction": "both", "start": "tree"},
        {"select": "heldout", "criterion": "g2"},
        {"select": "cv", "inner_folds": 3},
        {"select": "stability", "inner_folds": 3},
        {"select": "leave_one_out", "select_by": "log_loss"},
        {"combine": "mix"},
        {"combine": "stack"},
        {"criterion": "exact", "permutations": 19},
        {"criterion": "heldout", "select": "heldout"},
    ],
    ids=str,
)
def test_folds_together_are_each_fold_alone(options: dict[str, Any]) -> None:
    made = problem(folds=3, alpha=0.05)
    _, together = searched(made, **options)
    for fold in range(3):
        alone = replace(made, replicas=made.replicas.take(torch.tensor([fold])))
        _, one = searched(alone, **options)
        docs = torch.arange(160)
        found = one.scores(made.rows, docs, None, None)[0]
        torch.testing.assert_close(found, scores(together, made, fold), rtol=0, atol=0)


def test_the_mix_is_the_mean_of_all_joints() -> None:
    made = problem(folds=1)
    state, predictor = searched(made, combine="mix")
    held, graph, parts = variables(made), state.begun[0, 0].clone(), []
    for a, b in [(-1, -1), *state.moves[0, 0].tolist()]:
        if a >= 0:
            graph[a, b] = graph[b, a] = True
        joint = torch.zeros(held.codes.shape[1], CLASSES, dtype=torch.float64)
        for members, power in factors(graph).items():
            add_factor(joint, held, members, power, 1.0)
        parts.append(joint)
    parts = parts[: 1 + int((state.moves[0, 0, :, 0] >= 0).sum())]
    assert len(parts) > 3
    mean = torch.logsumexp(torch.stack(parts), 0)
    torch.testing.assert_close(torch.log_softmax(mean, 1).float(), scores(predictor, made), rtol=1e-5, atol=1e-5)


def test_leave_one_out_is_training_without_the_row() -> None:
    made = problem(folds=1, rows=40)
    state, _ = searched(made, select="leave_one_out")
    assert state.loo is not None
    held = variables(made)
    for row in (1, 5, 17):
        labels = held.labels.clone()
        labels[row] = -1
        without = replace(held, labels=labels, documents=held.documents - 1)
        joint = torch.zeros(40, CLASSES, dtype=torch.float64)
        for members, power in factors(state.adjacent[0, 0]).items():
            add_factor(joint, without, members, power, 1.0)
        found = torch.log_softmax(state.loo[0, 0, row], 0)
        torch.testing.assert_close(found, torch.log_softmax(joint[row], 0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("backoff", ["majority", "naive_bayes", "next_simpler", "none"])
def test_without_a_prior_uncovered_documents_fall_back(backoff: str) -> None:
    made = problem(folds=1, rows=60, ess=0.0)
    _, predictor = searched(made, criterion="g2", ess=0.0, backoff=backoff)
    flagged = predictor.flagged(made.rows, torch.arange(60), None, None)[0]
    assert 0 < int(flagged.sum()) < 60 or backoff == "next_simpler"
    found = scores(predictor, made)
    assert not bool(torch.isnan(found).any())
    if backoff in ("majority", "none"):
        counts = torch.bincount(made.labels[made.views.train[0]], minlength=CLASSES).double()
        torch.testing.assert_close(found[flagged][0], torch.log(counts / counts.sum()).float())
    if backoff == "naive_bayes":
        _, bayes = searched(made, direction="fixed", start="naive_bayes", ess=0.0)
        torch.testing.assert_close(found[flagged], scores(bayes, made)[flagged])


def test_switching_takes_a_model_that_covers_the_document() -> None:
    made = problem(folds=1, rows=60, ess=0.0)
    _, last = searched(made, criterion="g2", ess=0.0)
    state, switch = searched(made, criterion="g2", ess=0.0, combine="switch")
    docs = torch.arange(60)
    assert int(switch.flagged(made.rows, docs, None, None).sum()) < int(last.flagged(made.rows, docs, None, None).sum())
    precision = state.measures[0, 0, :, Measure.HITS] / state.measures[0, 0, :, Measure.COVERS].clamp(min=1)
    torch.testing.assert_close(switch.precision[0], precision[: switch.precision.shape[1]])


def test_a_search_in_both_directions_does_not_go_round() -> None:
    """On these rows an edge is significant beside one separator and not beside another: the search once had no end."""
    state, _ = searched(problem(folds=1, rows=40, alpha=0.2, seed=15), criterion="p_value", direction="both")
    graphs = [replay(state.begun[0, 0], state.moves[0, 0], upto) for upto in range(state.step)]
    assert len({tuple(graph.flatten().tolist()) for graph in graphs}) == len(graphs) > 3


def test_limits_and_named_edges_are_kept() -> None:
    made = problem(folds=1)
    few, _ = searched(made, criterion="g2", max_edges=2)
    assert int(few.adjacent.sum()) == 4
    small, _ = searched(made, criterion="g2", max_clique=2)
    assert all(len(members) <= 2 for members in factors(small.adjacent[0, 0]))
    cells, _ = searched(made, criterion="g2", max_cells=12)
    levels = variables(made).levels
    assert all(math.prod(int(levels[v]) for v in m) <= 12 for m in factors(cells.adjacent[0, 0]) if len(m) > 1)
    named, _ = searched(made, fixed=[("class", "size")], forbidden=[("class", "colour")])
    assert bool(named.adjacent[0, 0, 0, 4])
    assert not bool(named.adjacent[0, 0, 0, 1])
    with pytest.raises(UserFault, match="'weight', which is no column"):
        searched(made, fixed=[("class", "weight")])
    with pytest.raises(UserFault, match="not chordal"):
        searched(made, start="saturated", direction="backward", forbidden=[("class", "size"), ("colour", "form")])


def test_starts_are_trees() -> None:
    held = variables(problem())
    tree, tan = tree_graph(held), tan_graph(held)
    assert int(tree.sum()) // 2 <= 4
    assert int(tan.sum()) // 2 <= 4 + 3
    assert bool(tan[0, 1:].all())
    assert junction_forest(tan) is not None
    assert max(len(members) for members in factors(tan)) == 3


@given(st.floats(1e-3, 5000), st.integers(1, 400))
@settings(max_examples=60)
def test_tails_of_chi_squared(statistic: float, dof: int) -> None:
    found = float(log_chi2_tail(np.array([statistic]), np.array([float(dof)]))[0])
    exact = stats.chi2.sf(statistic, dof)
    if exact > 1e-290:
        assert found == pytest.approx(math.log(exact), rel=1e-8, abs=1e-12)
    else:
        assert found < -600
    assert float(log_chi2_tail(np.array([statistic]), np.array([0.0]))[0]) == 0.0


def test_far_tails_do_not_underflow() -> None:
    found = log_chi2_tail(np.array([1e4, 1e5]), np.array([1.0, 10.0]))
    # Γ(1/2, x) e^x x^(1/2) → 1 − 1/(2x): Abramowitz & Stegun 6.5.32
    assert found[0] == pytest.approx(-5000 - 0.5 * math.log(math.pi * 5000) - 1e-4, abs=1e-6)
    assert found[1] < -49_000


def test_levels_are_corrected_for_many_tests() -> None:
    rules = Rules("p_value", "strata", "bonferroni", 2.0, 0.01)
    assert threshold(rules, 0.05, 10, 0.0) == pytest.approx(math.log(0.005))
    left = replace(rules, correction="sequential")
    assert threshold(left, 0.05, 10, 0.03) == pytest.approx(math.log(0.02 * 0.01 / 10))


def test_the_choice_prefers_naive_bayes_then_fewer_edges() -> None:
    def row(right: float, loss: float = 0.0) -> list[float]:
        return [right, loss, 0.0, 0.0]

    rivals = torch.tensor([row(80, 3), row(79, 2)]).double()
    sequence = torch.tensor([row(50, 9), row(80, 1), row(80, 1)]).double()
    assert pick(sequence, [0, 9, 8], rivals, [5, 9], 100, "accuracy", False) == -1
    assert pick(sequence, [0, 9, 8], rivals - 1, [5, 9], 100, "accuracy", False) == 2
    assert pick(sequence, [0, 9, 8], rivals, [5, 9], 100, "log_loss", False) == 2
    assert pick(sequence, [0, 9, 8], rivals, [5, 9], 100, "accuracy", True) == -1


def test_rows_without_a_model_count_as_the_most_frequent_class() -> None:
    zero = -float(1 << 20)
    found = measured(
        torch.tensor([[zero, zero], [-1.0, -2.0]]).double(),
        torch.tensor([1, 0]),
        torch.log(torch.tensor([0.25, 0.75])).double(),
        torch.ones(2, dtype=torch.bool),
    )
    assert found[Measure.RIGHT] == 2
    assert (found[Measure.HITS], found[Measure.COVERS]) == (1, 1)


def test_keys_of_wide_tables_are_distinct() -> None:
    values = [3] + [1000] * 9
    codes = torch.randint(0, 1000, (10, 4000), generator=torch.Generator().manual_seed(1), dtype=torch.int32)
    codes[:, 2000:] = codes[:, :2000]
    keys = cell_keys(codes, values, list(range(1, 10)))
    assert len(keys.unique()) == 2000
    torch.testing.assert_close(keys[:2000], keys[2000:])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"k": 3.0}, "k would do nothing"),
        ({"combine": "mix", "select": "heldout"}, "remove select"),
        ({"criterion": "g2", "direction": "both"}, "never ends"),
        ({"criterion": "heldout"}, "select: heldout"),
        ({"statistic": "power", "power_lambda": 0.0}, "not defined"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        DecomposableOptions(**options)


@pytest.mark.parametrize("name", ["interest_0", "line_0", "line_100"])
def test_edges_are_those_of_chordalysis(name: str, shared_data: Path) -> None:
    """BIC with unadjusted degrees of freedom adds the very edges that Chordalysis (Java) adds, in its order."""
    file, listed = (shared_data / "wsd" / part for part in (f"wide_{name}.csv.gz", f"chordalysis/ch_{name}.txt"))
    if not (file.is_file() and listed.is_file()):
        pytest.skip(f"no {file.name} beside the measuring data")
    with gzip.open(file, "rt", encoding="ascii") as lines:
        cells = np.loadtxt(lines, delimiter=",", dtype=np.int64)
    columns = [np.unique(column, return_inverse=True)[1] for column in cells.T]
    codes = torch.from_numpy(np.stack(columns[1:], axis=1).astype(np.int32)) + 1
    rows = CodeRows(codes, tuple(int(column.max()) + 2 for column in columns[1:]))
    y = torch.from_numpy(columns[0])
    one = torch.zeros(1, dtype=torch.int64)
    options = {"model.ess": torch.ones(1).double(), "model.alpha": torch.full((1,), 0.01).double()}
    train = torch.ones(1, len(y), dtype=torch.bool)
    made = Problem(rows, y, torch.arange(len(y)), int(y.max()) + 1, Views(train), Replicas(one, one, options))
    state, _ = searched(made, criterion="bic", dof="unadjusted")
    found = [tuple(sorted(move)) for move in state.moves[0, 0].tolist() if move[0] >= 0]
    wanted = [tuple(sorted(map(int, line.split()))) for line in listed.read_text(encoding="ascii").splitlines()]
    assert found == wanted
