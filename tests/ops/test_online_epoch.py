"""The online epoch: all implementations agree, and the mathematics of the rules holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from gpuclf.ops.online_epoch import Counts, Model, Rule, ScaledRows, Streams, cpu, online_epoch, reference, torch_walk
from gpuclf.ops.online_epoch.blocks import online_epoch_blocks
from gpuclf.ops.online_epoch.tasks import tasks
from tests.ops.online_problem import GAMMA, C, Setting, csr, setting, values

Epoch = Callable[..., Counts]
IMPLEMENTATIONS: dict[str, Epoch] = {
    "reference": reference.online_epoch,
    "cpu": cpu.online_epoch,
    "blocks": partial(online_epoch_blocks, walk=torch_walk.walk, block=16),
}
RULES: list[tuple[Any, ...]] = [
    ("perceptron", "error"),
    ("pa1", "error"),
    ("pa1", "margin"),
    ("pa2", "error"),
    ("pa2", "margin"),
    ("pa1", "margin", "scaled"),
    ("pa2", "error", "scaled"),
    ("pa1", "margin", "cost"),
    ("pa1", "margin", "cost", True),
    ("pa2", "error", "cost", True),
]


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def run(epoch: Epoch, s: Setting, rule: Rule, batch: int = 1, mean: bool = False, epochs: int = 2) -> list[Any]:
    """Weights, sums and the counts of each epoch; steps are counted as the public function does."""
    model = s.model()
    out: list[Any] = [model.weights, model.sums]
    seen = (s.streams.order >= 0).sum(1).repeat_interleave(s.streams.start.diff())
    for _ in range(epochs):
        out += epoch(s.rows, s.streams, rule, model, batch=batch, mean=mean)
        model.steps.add_(seen)
    return out


@pytest.mark.parametrize("name", ["cpu", "blocks"])
@pytest.mark.parametrize("rule", RULES, ids=lambda r: "-".join(map(str, r)))
@pytest.mark.parametrize(("batch", "mean"), [(1, False), (7, False), (7, True), (300, True)])
def test_implementations_agree_with_the_reference(name: str, rule: tuple[Any, ...], batch: int, mean: bool) -> None:
    for classes in (2, 5):
        s = setting(docs=26, classes=classes)
        expected = run(reference.online_epoch, s, s.rule(*rule), batch, mean)
        actual = run(IMPLEMENTATIONS[name], s, s.rule(*rule), batch, mean)
        for a, b in zip(actual, expected, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rule", RULES[:8], ids=lambda r: "-".join(map(str, r)))
@pytest.mark.parametrize("batch", [1, 7])
def test_all_implementations_say_which_replicas_were_limited(rule: tuple[Any, ...], batch: int) -> None:
    """And working on the others once changes no figure."""
    s = setting(docs=26)
    models, counts = [], []
    for epoch in IMPLEMENTATIONS.values():
        models.append(replace(s.model(), limited=torch.zeros(7, dtype=torch.bool)))
        counts.append([epoch(s.rows, s.streams, s.rule(*rule), models[-1], batch=batch, mean=False) for _ in range(2)])
    for model, made in zip(models, counts, strict=True):
        assert model.limited is not None
        assert models[0].limited is not None
        assert torch.equal(model.limited, models[0].limited)
        torch.testing.assert_close(model.weights, models[0].weights, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(model.sums, models[0].sums, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(made, counts[0], rtol=1e-9, atol=1e-9)
    assert models[0].limited.any() == (rule[0] != "perceptron")  # type: ignore[union-attr]
    assert not models[0].limited.all() or rule[0] == "pa2"  # type: ignore[union-attr]


@pytest.mark.parametrize("name", ["cpu", "blocks"])
@pytest.mark.parametrize(("docs", "classes"), [(0, 3), (1, 3), (255, 33), (257, 1)])
def test_awkward_sizes(name: str, docs: int, classes: int) -> None:
    s = setting(docs=docs, classes=classes, scaled=False)
    expected = run(reference.online_epoch, s, s.rule("pa1"), epochs=1)
    for a, b in zip(run(IMPLEMENTATIONS[name], s, s.rule("pa1"), epochs=1), expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)
    if classes == 1:
        assert not expected[0].any()
        assert not expected[2].any()


def test_minibatch_larger_than_a_frozen_block() -> None:
    s = setting(docs=300)
    expected = run(reference.online_epoch, s, s.rule("pa2"), 280, epochs=1)
    for a, b in zip(run(IMPLEMENTATIONS["blocks"], s, s.rule("pa2"), 280, epochs=1), expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


def test_float32_is_close_to_float64() -> None:
    s = setting(docs=50)
    for name, epoch in IMPLEMENTATIONS.items():
        single, double = s.model(torch.float32), s.model(torch.float64)
        epoch(s.rows, s.streams, s.rule("pa2"), single, 1, False)
        epoch(s.rows, s.streams, s.rule("pa2"), double, 1, False)
        torch.testing.assert_close(single.weights.double(), double.weights, rtol=1e-4, atol=1e-4, msg=name)


def test_public_function_on_the_device(device: torch.device) -> None:
    s = setting()

    def there(record: Any) -> Any:
        moved = {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in vars(record).items()}
        return type(record)(**moved)

    model = there(s.model())
    counts = online_epoch(there(s.rows), there(s.streams), there(s.rule("pa1")), model)
    expected = run(reference.online_epoch, s, s.rule("pa1"), epochs=1)
    for a, b in zip([model.weights, model.sums, *counts], expected, strict=True):
        torch.testing.assert_close(a.cpu(), b, rtol=1e-9, atol=1e-9)
    assert model.steps.tolist() == [70, 70, 70, 36, 2, 2, 2]


def test_bits_do_not_depend_on_threads_or_company(threads: Callable[[int], None]) -> None:
    s = setting(docs=257, classes=7)
    rule = s.rule("pa1")
    results = []
    for count in (1, 2, 5):
        threads(count)
        model = s.model(torch.float32)
        online_epoch(s.rows, s.streams, rule, model)
        results.append(model)
    for other in results[1:]:
        assert torch.equal(other.weights, results[0].weights)
        assert torch.equal(other.sums, results[0].sums)
    stream_of = [0, 0, 0, 1, 2, 2, 2]
    for r in range(7):
        g = stream_of[r]
        alone = s.model(torch.float32, replicas=1)
        streams = Streams(s.streams.order[g : g + 1], s.streams.view[g : g + 1], torch.tensor([0, 1]))
        online_epoch(s.rows, streams, Rule("pa1", C[r : r + 1], GAMMA[r : r + 1], update_on="margin"), alone)
        assert torch.equal(alone.weights[:, 0], results[0].weights[:, r])
        assert torch.equal(alone.sums[:, 0], results[0].sums[:, r])


LIMITS = {
    "ascending": [0.001, 0.01, 0.05, 0.05, 0.2, 1.0, 10.0, torch.inf],
    "never reached": [100.0, 200.0, 300.0, 400.0, torch.inf],
    "all reached": [1e-4, 2e-4, 3e-4],
    "descending": [10.0, 1.0, 0.1, 0.01],
    "mixed": [0.1, 10.0, 0.01, 10.0, 20.0],
}


@pytest.mark.parametrize("limits", LIMITS.values(), ids=LIMITS)
@pytest.mark.parametrize("step", ["pa1", "pa2", "perceptron"])
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("batch", [1, 8])
def test_every_limit_of_a_stream_gives_what_it_gives_alone(
    limits: list[float], step: Any, average: bool, batch: int
) -> None:
    """Whatever the order of the limits, and whether or not they are ever reached."""
    s = setting(docs=120, classes=4)
    order = s.streams.order[:1]
    limit = torch.tensor(limits, dtype=torch.float64)

    def train(chosen: torch.Tensor) -> tuple[Model, list[Counts]]:
        model = replace(s.model(torch.float32, average, len(chosen)), limited=torch.zeros(len(chosen)).bool())
        streams = Streams(order, s.streams.view[:1], torch.tensor([0, len(chosen)]))
        rule = Rule(step, chosen, torch.ones_like(chosen), update_on="margin" if step != "perceptron" else "error")
        return model, [online_epoch(s.rows, streams, rule, model, batch) for _ in range(3)]

    together, counts = train(limit)
    for r in range(len(limits)):
        alone, own = train(limit[r : r + 1])
        assert torch.equal(alone.weights[:, 0], together.weights[:, r])
        assert alone.limited is not None
        assert together.limited is not None
        assert alone.limited[0] == together.limited[r]
        if average:
            assert alone.sums is not None
            assert together.sums is not None
            assert torch.equal(alone.sums[:, 0], together.sums[:, r])
        for one, all_of_them in zip(own, counts, strict=True):
            assert [part[0] for part in one] == [part[r] for part in all_of_them]


def test_tasks_cover_every_replica_once_and_fill_the_threads() -> None:
    start = [0, 7, 14, 21, 28, 35]
    pieces = tasks(start, start[1:], [100] * 5, 20, 2)
    assert sorted(r for _, a, b in pieces for r in range(a, b)) == list(range(35))
    assert sorted(b - a for _, a, b in pieces) == [3, 4, 7, 7, 7, 7]  # 5 streams on 2 threads: only the last is cut
    wide = tasks([0, 10], [10], [5], 1000, 1)
    assert [b - a for _, a, b in wide] == [1] * 10
    assert tasks([0, 3], [3], [0], 5, 2) == []
    assert tasks([0, 7], [4], [9], 20, 2) == [(0, 0, 2), (0, 2, 7)]  # replicas 4 to 6 are no work


def test_replicas_that_no_limit_has_parted_are_walked_once() -> None:
    def walked(limits: list[float], limited: list[bool], scaled: bool = False, steps: Any = 0) -> int:
        C, count = torch.tensor(limits, dtype=torch.float64), len(limits)
        rule = Rule("pa1", C, torch.arange(count, dtype=torch.float64), scaled_margin=scaled)
        return cpu._walked(rule, np.array(limited), np.zeros(count, np.int64) + steps, 0, count)

    assert walked([1.0, 2.0, 2.0, torch.inf], [False] * 4) == 1
    assert walked([1.0, 2.0, 2.0, torch.inf], [True, True, False, False]) == 3
    assert walked([1.0, 2.0, 2.0, torch.inf], [True] * 4) == 4
    assert walked([1.0, 2.0, 2.0, torch.inf], [True, True, True, False]) == 4
    assert walked([1.0, 3.0, 2.0, torch.inf], [False] * 4) == 3
    assert walked([1.0, 2.0], [False] * 2, scaled=True) == 2
    assert walked([1.0, 2.0], [False] * 2, steps=np.array([0, 5])) == 2


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@pytest.mark.parametrize("target", ["fixed", "scaled", "cost"])
def test_margin_is_exactly_the_target_after_an_unclipped_step(name: str, target: str) -> None:
    s = setting(docs=1, classes=4, seed=3, scaled=False)
    infinite = torch.full((7,), torch.inf, dtype=torch.float64)
    unlimited = Rule("pa1", infinite, GAMMA, s.rule("pa1", "margin", target).cost, "margin", target == "scaled")
    model = s.model()
    model.weights.copy_(
        torch.randn(model.weights.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    )
    x = values(s.rows, 0, s.features)[0]
    y = int(s.rows.labels[0])
    before = torch.einsum("v,vrk->rk", x, model.weights)
    wrong = before.clone()
    wrong[:, y] = -torch.inf
    rival = wrong.argmax(1)
    IMPLEMENTATIONS[name](s.rows, s.streams, unlimited, model, batch=1, mean=False)
    after = torch.einsum("v,vrk->rk", x, model.weights)
    wanted = {
        "fixed": torch.ones(7, dtype=torch.float64),
        "scaled": GAMMA * (2 * x.square().sum()).sqrt(),
        "cost": unlimited.cost[y, rival] if unlimited.cost is not None else None,
    }[target]
    index = torch.arange(7)
    moved = before[:, y] - before[index, rival] < wanted
    assert moved.any()
    torch.testing.assert_close((after[:, y] - after[index, rival])[moved], wanted[moved], rtol=1e-12, atol=1e-12)
    assert torch.equal(after[~moved], before[~moved])


def test_steps_of_the_two_passive_aggressive_variants() -> None:
    """From zero weights m = 0, l = 1: PA-I steps min(C, 1/2q), PA-II 1/(2q + 1/2C)."""
    rows = ScaledRows(*csr(torch.tensor([[1.0, 2.0]])), torch.tensor([1]))  # q = 1 + 1 + 4
    limits = torch.tensor([0.01, 1.0, torch.inf], dtype=torch.float64)
    streams = Streams(torch.tensor([[0]]), torch.tensor([0]), torch.tensor([0, 3]))
    for step, expected in (("pa1", [0.01, 1 / 12, 1 / 12]), ("pa2", [1 / 62, 1 / 12.5, 1 / 12])):
        model = Model(torch.zeros(3, 3, 2, dtype=torch.float64), None, torch.zeros(3, dtype=torch.int64))
        counts = online_epoch(rows, streams, Rule(step, limits, limits), model)  # type: ignore[arg-type]
        torch.testing.assert_close(model.weights[2, :, 1], 2 * torch.tensor(expected, dtype=torch.float64))
        torch.testing.assert_close(model.weights[:, :, 0], -model.weights[:, :, 1])
        assert counts.mistakes.tolist() == counts.updates.tolist() == [1, 1, 1]  # all scores tie: class 0 is predicted
        assert counts.loss.tolist() == [1.0, 1.0, 1.0]


def test_ties_go_to_the_lowest_class() -> None:
    rows = ScaledRows(*csr(torch.ones(1, 1)), torch.tensor([0]))
    one = torch.ones(1, dtype=torch.float64)
    streams = Streams(torch.tensor([[0]]), torch.tensor([0]), torch.tensor([0, 1]))
    for name, epoch in IMPLEMENTATIONS.items():
        model = Model(torch.zeros(2, 1, 4, dtype=torch.float64), None, torch.zeros(1, dtype=torch.int64))
        assert not epoch(rows, streams, Rule("perceptron", one, one), model, batch=1, mean=False).mistakes.any(), name
        epoch(rows, streams, Rule("pa1", one, one, update_on="margin"), model, batch=1, mean=False)
        assert model.weights[1, 0].tolist() == [0.25, -0.25, 0.0, 0.0], name  # the first of three tied rivals


def test_cost_augmented_rival() -> None:
    """All scores 0: without augmentation class 1 is the rival of 0, with it the dearest, class 2."""
    rows = ScaledRows(*csr(torch.ones(1, 1)), torch.tensor([0]))
    one = torch.full((1,), torch.inf, dtype=torch.float64)
    cost = torch.tensor([[0.0, 1.0, 3.0], [1, 0, 1], [1, 1, 0]], dtype=torch.float64)
    streams = Streams(torch.tensor([[0]]), torch.tensor([0]), torch.tensor([0, 1]))
    for augmented, expected in ((False, [0.25, -0.25, 0.0]), (True, [0.75, 0.0, -0.75])):
        model = Model(torch.zeros(2, 1, 3, dtype=torch.float64), None, torch.zeros(1, dtype=torch.int64))
        online_epoch(rows, streams, Rule("pa1", one, one, cost, "margin", cost_augmented=augmented), model)
        assert model.weights[1, 0].tolist() == expected


def test_perceptron_stays_within_novikoffs_bound_and_then_changes_nothing() -> None:
    """Mistakes on separable data are at most (R/gamma)²: R the longest step direction, gamma the margin of a unit w."""
    g = torch.Generator().manual_seed(4)
    dense = torch.randn(200, 6, generator=g, dtype=torch.float64)
    separator = torch.randn(7, 3, generator=g, dtype=torch.float64)
    separator /= separator.norm()
    x = torch.cat([torch.ones(200, 1, dtype=torch.float64), dense], 1)
    top = (x @ separator).topk(2, 1)
    kept = top.values[:, 0] - top.values[:, 1] > 0.2
    x, dense, labels = x[kept], dense[kept], top.indices[kept, 0]
    margin = (top.values[:, 0] - top.values[:, 1])[kept].min()
    bound = float(2 * x.square().sum(1).max() / margin**2)
    rows = ScaledRows(*csr(dense), labels)
    streams = Streams(torch.arange(len(labels))[None], torch.tensor([0]), torch.tensor([0, 1]))
    one = torch.ones(1, dtype=torch.float64)
    model = Model(
        torch.zeros(7, 1, 3, dtype=torch.float64), torch.zeros(7, 1, 3, dtype=torch.float64), torch.zeros(1).long()
    )
    total = 0
    for _ in range(int(bound) + 1):
        before = model.weights.clone(), model.sums.clone()  # type: ignore[union-attr]
        counts = online_epoch(rows, streams, Rule("perceptron", one, one), model)
        total += int(counts.mistakes)
        if not counts.mistakes.any():
            break
    assert 0 < total <= bound
    assert torch.equal(model.weights, before[0])
    assert torch.equal(model.sums, before[1])


@pytest.mark.parametrize(("batch", "mean"), [(1, False), (7, False), (7, True)])
def test_average_is_the_mean_of_the_weights_at_every_instance(batch: int, mean: bool) -> None:
    """Collected naively over two epochs, a batch at a time; every row of a batch counts the weights that it left."""
    s = setting(docs=33)
    rule = s.rule("pa1")
    model, naive = s.model(), s.model(average=False)
    total = torch.zeros_like(naive.weights[:, :3])
    for _ in range(2):
        online_epoch(s.rows, s.streams, rule, model, batch, mean)
        for begin in range(0, 33, batch):
            part = s.streams.order[:1, begin : begin + batch]
            first = Rule("pa1", C[:3], GAMMA[:3], update_on="margin")
            view = Model(naive.weights[:, :3], None, naive.steps[:3])
            online_epoch(s.rows, Streams(part, s.streams.view[:1], torch.tensor([0, 3])), first, view, batch, mean)
            total += part.numel() * naive.weights[:, :3]
    assert model.steps[:3].tolist() == [66] * 3
    averaged = model.weights[:, :3] - model.sums[:, :3] / 66  # type: ignore[index]
    torch.testing.assert_close(averaged, total / 66, rtol=1e-11, atol=1e-12)


def test_one_row_batches_are_the_exact_algorithm() -> None:
    s = setting()
    for epoch in IMPLEMENTATIONS.values():
        exact = run(epoch, s, s.rule("pa1"), 1, False)
        for a, b in zip(run(epoch, s, s.rule("pa1"), 1, True), exact, strict=True):
            assert torch.equal(a, b)


def test_worked_value_of_exercise_2_8() -> None:
    """Two identical instances x with the labels 1 and 0 alternate; the perceptron's average settles as 1/(2t).

    From zero weights (ties to class 0) the perceptron errs on the first (label 1): theta = d = x in class 1, -x in
    class 0; errs on the second (label 0), which takes d back: theta = 0; and so on. So theta after step t is d for
    odd t and 0 for even t, and the average a_t = d · ceil(t/2)/t: 1/2 for even t, (t+1)/(2t) for odd t.
    Between steps it changes by |a_t - a_(t-1)| = 1/(2t) for odd t and 1/(2(t-1)) for even t, times max|x| = 1.
    So the change is below eps first at the smallest odd t > 1/(2 eps) ... or an even t whose odd predecessor already
    was. With eps = 0.01: 1/(2t) < 0.01 from t = 51 on, the first step at which it is.
    """
    rows = ScaledRows(*csr(torch.tensor([[1.0], [1.0]])), torch.tensor([1, 0]))
    one = torch.ones(1, dtype=torch.float64)
    model = Model(
        torch.zeros(2, 1, 2, dtype=torch.float64), torch.zeros(2, 1, 2, dtype=torch.float64), torch.zeros(1).long()
    )
    before = torch.zeros_like(model.weights)
    first_below = None
    for t in range(1, 80):
        streams = Streams(torch.tensor([[(t - 1) % 2]]), torch.tensor([0]), torch.tensor([0, 1]))
        counts = online_epoch(rows, streams, Rule("perceptron", one, one), model)
        assert counts.mistakes.tolist() == [1]
        average = model.weights - model.sums / t  # type: ignore[operator]
        change = float((average - before).abs().max())
        expected = 1.0 if t == 1 else 1 / (2 * t) if t % 2 else 1 / (2 * (t - 1))
        assert change == pytest.approx(expected, rel=1e-9)
        if change < 0.01 and first_below is None:
            first_below = t
        before = average
    assert first_below == 51


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_feature_order_does_not_matter(name: str) -> None:
    s = setting(scaled=False)
    g = torch.Generator().manual_seed(8)
    permutation = torch.randperm(s.features, generator=g)
    dense = values(s.rows, 0, s.features)[:, 1:].float()
    shuffled = Setting(ScaledRows(*csr(dense[:, permutation]), s.rows.labels), s.streams, s.classes, s.features)
    a = run(IMPLEMENTATIONS[name], s, s.rule("pa1"))
    b = run(IMPLEMENTATIONS[name], shuffled, s.rule("pa1"))
    torch.testing.assert_close(b[0][1:], a[0][1:][permutation], rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(b[2], a[2])


def test_a_view_is_the_scaled_data_by_itself() -> None:
    """Scales applied in the walk against rows that hold the products; a dropped feature gets no weight."""
    s = setting()
    dense = values(s.rows, 0, s.features)[:, 1:]
    alone = ScaledRows(*csr(dense), s.rows.labels)
    streams = Streams(s.streams.order[:1], torch.tensor([0]), torch.tensor([0, 3]))
    rule = Rule("pa1", C[:3], GAMMA[:3], update_on="margin")
    scaled, plain = s.model(replicas=3), s.model(replicas=3)
    online_epoch(s.rows, streams, rule, scaled)
    online_epoch(alone, streams, rule, plain)
    torch.testing.assert_close(scaled.weights, plain.weights, rtol=1e-9, atol=1e-10)
    assert not scaled.weights[4].any()


def test_weights_may_be_a_slice_of_more_replicas() -> None:
    s = setting()
    whole, sums = (torch.full((31, 9, 5), 7.0, dtype=torch.float64) for _ in range(2))
    whole[:, 1:8], sums[:, 1:8] = 0, 0
    online_epoch(s.rows, s.streams, s.rule("pa1"), Model(whole[:, 1:8], sums[:, 1:8], torch.zeros(7).long()))
    expected = run(cpu.online_epoch, s, s.rule("pa1"), epochs=1)
    assert torch.equal(whole[:, 1:8], expected[0])
    assert torch.equal(sums[:, 1:8], expected[1])
    assert (whole[:, [0, 8]] == 7).all()
    assert (sums[:, [0, 8]] == 7).all()
