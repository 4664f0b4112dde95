"""The epoch of the rules with a covariance or a decay: all implementations agree with the papers read eagerly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from gpuclf.ops.instance_epoch import InstanceModel, InstanceRule, cpu, instance_epoch, reference
from gpuclf.ops.online_epoch import Counts, Rule, ScaledRows, Streams, online_epoch
from tests.ops import eager_rules
from tests.ops.online_problem import Setting, csr, setting, values

Epoch = Callable[..., Counts]
IMPLEMENTATIONS: dict[str, Epoch] = {"reference": reference.instance_epoch, "cpu": cpu.instance_epoch}
STREAM_OF = [0, 0, 0, 1, 2, 2, 2]
PHI = torch.tensor([0.3, 0.5, 1.0, 1.3, 2.0, 0.1, 3.0], dtype=torch.float64)
C = torch.tensor([0.01, 0.1, 1.0, 10.0, torch.inf, 0.5, 2.0], dtype=torch.float64)
DECAY = torch.tensor([0.0, 1e-3, 0.01, 0.1, 0.3, 0.8, 1e-4], dtype=torch.float64)
NUMBERS: dict[str, dict[str, Tensor]] = {
    "variance": {"phi": PHI},
    "scw1": {"phi": PHI, "C": C},
    "scw2": {"phi": PHI, "C": C},
    "arow": {"r": PHI},
    "svm": {"eta": PHI, "decay": DECAY},
    "svm-inverse": {"decay": DECAY + 0.07},
}
KINDS = [(name, diagonal) for name in list(NUMBERS)[:4] for diagonal in ("precision", "covariance")]
KINDS += [("svm", "precision"), ("svm-inverse", "precision")]


def rule_of(name: str, diagonal: Any = "precision", cost: Tensor | None = None) -> InstanceRule:
    return InstanceRule(name.partition("-")[0], **NUMBERS[name], diagonal=diagonal, cost=cost)  # type: ignore[arg-type]


def model_of(
    s: Setting, rule: InstanceRule, dtype: torch.dtype = torch.float64, average: bool = True, replicas: int = 7
) -> InstanceModel:
    fresh = s.model(dtype, average, replicas)
    covariance = None if rule.kind == "svm" else torch.ones_like(fresh.weights)
    return InstanceModel(fresh.weights, fresh.sums, fresh.steps, covariance)


def epochs(epoch: Epoch, s: Setting, rule: InstanceRule, model: InstanceModel, number: int = 3) -> list[Counts]:
    """Steps are counted as the public function does."""
    seen = (s.streams.order >= 0).sum(1).repeat_interleave(s.streams.start.diff())
    made = []
    for _ in range(number):
        made.append(epoch(s.rows, s.streams, rule, model))
        if epoch is not instance_epoch:
            model.steps.add_(seen)
    return made


def rows_of(s: Setting, r: int) -> list[int]:
    order = s.streams.order[STREAM_OF[r]]
    return order[order >= 0].tolist()


def eager(s: Setting, r: int, rule: InstanceRule, number: int = 3) -> eager_rules.Trace:
    x = values(s.rows, int(s.streams.view[STREAM_OF[r]]), s.features).numpy()
    own: dict[str, Any] = {
        name: float(part[r]) for name, part in vars(rule).items() if isinstance(part, Tensor) and name != "cost"
    }
    if rule.cost is not None:
        own["cost"] = rule.cost.numpy()
    own["classes"] = s.classes
    return eager_rules.run(rule.kind, x, s.rows.labels.numpy(), [rows_of(s, r)] * number, own, rule.diagonal)


def without_empty_rows(s: Setting) -> Setting:
    """Row 3 holds the offset alone, whose scores sums of 1/t would bring to ties but for rounding."""
    order = torch.stack([
        torch.cat([row[row != 3], torch.full((int((row == 3).sum()),), -1)]) for row in s.streams.order
    ])  # fmt: skip
    return replace(s, streams=Streams(order, s.streams.view, s.streams.start))


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@pytest.mark.parametrize(("kind", "diagonal"), KINDS)
def test_every_rule_is_what_its_paper_says(name: str, kind: str, diagonal: str) -> None:
    """Weights, covariances, averages, mistakes, updates and losses of three epochs, against an eager program."""
    for classes in (2, 5):
        s = without_empty_rows(setting(docs=60, classes=classes, seed=classes))
        rule = rule_of(kind, diagonal)
        model = model_of(s, rule)
        made = epochs(IMPLEMENTATIONS[name], s, rule, model)
        assert model.sums is not None
        mean = model.weights - model.sums / model.steps[:, None]
        for r in range(7):
            expected = eager(s, r, rule)
            assert [int(part.mistakes[r]) for part in made] == expected.mistakes
            assert [int(part.updates[r]) for part in made] == expected.updates
            np.testing.assert_allclose([float(part.loss[r]) for part in made], expected.loss, rtol=1e-8, atol=1e-9)
            np.testing.assert_allclose(model.weights[:, r], expected.weights, rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(mean[:, r], expected.mean, rtol=1e-7, atol=1e-9)
            if model.covariance is not None:
                np.testing.assert_allclose(model.covariance[:, r], expected.sigma, rtol=1e-8, atol=1e-12)
        assert made[0].updates[0] > 5


def test_float32_state_predicts_as_float64_does() -> None:
    """What is rounded is what is kept, not what is computed on the way."""
    s = setting(docs=60)
    for kind, diagonal in KINDS[:-1]:
        rule = rule_of(kind, diagonal)
        model = model_of(s, rule, torch.float32)
        made = epochs(cpu.instance_epoch, s, rule, model)
        for r in (0, 2, 3):
            expected = eager(s, r, rule)
            assert [int(part.mistakes[r]) for part in made] == expected.mistakes, kind
            np.testing.assert_allclose(model.weights[:, r], expected.weights, rtol=1e-4, atol=1e-5)
            assert model.sums is not None
            mean = model.weights - model.sums / model.steps[:, None]
            np.testing.assert_allclose(mean[:, r], expected.mean, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", ["svm", "svm-inverse"])
def test_the_svm_with_costs_of_confusions(kind: str) -> None:
    s = without_empty_rows(setting(docs=40))
    rule = rule_of(kind, cost=s.rule("pa1", target="cost").cost)
    models = {name: model_of(s, rule) for name in IMPLEMENTATIONS}
    for name, epoch in IMPLEMENTATIONS.items():
        epochs(epoch, s, rule, models[name])
        for r in range(7):
            np.testing.assert_allclose(models[name].weights[:, r], eager(s, r, rule).weights, rtol=1e-7, atol=1e-9)
    plain = model_of(s, rule_of(kind))
    epochs(cpu.instance_epoch, s, rule_of(kind), plain)
    assert not torch.allclose(plain.weights, models["cpu"].weights)


@pytest.mark.parametrize(("docs", "classes"), [(0, 3), (1, 3), (255, 33), (257, 1)])
@pytest.mark.parametrize(("kind", "diagonal"), KINDS)
def test_awkward_sizes(kind: str, diagonal: str, docs: int, classes: int) -> None:
    s = without_empty_rows(setting(docs=docs, classes=classes, scaled=False))
    rule = rule_of(kind, diagonal)
    one, other = model_of(s, rule), model_of(s, rule)
    expected = epochs(reference.instance_epoch, s, rule, one, 1)
    actual = epochs(cpu.instance_epoch, s, rule, other, 1)
    torch.testing.assert_close(actual, expected, rtol=1e-9, atol=1e-9)
    for a, b in ((one.weights, other.weights), (one.sums, other.sums), (one.covariance, other.covariance)):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            torch.testing.assert_close(b, a, rtol=1e-8, atol=1e-9)
    if classes == 1:
        assert not one.weights.any()


def test_public_function_on_the_device(device: torch.device) -> None:
    s = setting(docs=25, classes=3)

    def there(record: Any) -> Any:
        moved = {k: v.to(device) if isinstance(v, Tensor) else v for k, v in vars(record).items()}
        return type(record)(**moved)

    for kind, diagonal in KINDS[:-1]:
        rule = rule_of(kind, diagonal)
        here, far = model_of(s, rule), there(model_of(s, rule))
        expected = epochs(reference.instance_epoch, s, rule, here, 1)[0]
        counts = instance_epoch(there(s.rows), there(s.streams), there(rule), far)
        for a, b in zip([far.weights, far.sums, *counts], [here.weights, here.sums, *expected], strict=True):
            torch.testing.assert_close(a.cpu(), b, rtol=1e-9, atol=1e-9)
        assert far.steps.tolist() == [25, 25, 25, 13, 2, 2, 2]


@pytest.fixture
def threads() -> Iterator[Callable[[int], None]]:
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.mark.parametrize("kind", NUMBERS)
def test_bits_do_not_depend_on_threads_or_company(kind: str, threads: Callable[[int], None]) -> None:
    s = setting(docs=257, classes=7)
    rule = rule_of(kind)
    models = []
    for count in (1, 2, 5):
        threads(count)
        models.append(model_of(s, rule, torch.float32))
        epochs(instance_epoch, s, rule, models[-1], 1)
    for other in models[1:]:
        assert torch.equal(other.weights, models[0].weights)
        assert torch.equal(other.sums, models[0].sums)
    for r, g in enumerate(STREAM_OF):
        own = {k: v[r : r + 1] if isinstance(v, Tensor) else v for k, v in vars(rule).items()}
        alone = model_of(s, rule, torch.float32, replicas=1)
        streams = Streams(s.streams.order[g : g + 1], s.streams.view[g : g + 1], torch.tensor([0, 1]))
        instance_epoch(s.rows, streams, InstanceRule(**own), alone)
        assert torch.equal(alone.weights[:, 0], models[0].weights[:, r])
        assert torch.equal(alone.sums[:, 0], models[0].sums[:, r])
        if alone.covariance is not None:
            assert torch.equal(alone.covariance[:, 0], models[0].covariance[:, r])


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_weights_may_be_a_slice_of_more_replicas(name: str) -> None:
    s = setting(docs=30)
    for kind in ("arow", "svm"):
        rule = rule_of(kind)
        whole = [torch.full((31, 9, 5), 7.0, dtype=torch.float64) for _ in range(3)]
        parts = [part[:, 1:8] for part in whole]
        for part, value in zip(parts, (0.0, 0.0, 1.0), strict=True):
            part.fill_(value)
        sliced = InstanceModel(parts[0], parts[1], torch.zeros(7).long(), parts[2] if kind == "arow" else None)
        plain = model_of(s, rule)
        epochs(IMPLEMENTATIONS[name], s, rule, sliced)
        epochs(IMPLEMENTATIONS[name], s, rule, plain)
        assert torch.equal(sliced.weights, plain.weights)
        assert torch.equal(sliced.sums, plain.sums)
        assert all((part[:, [0, 8]] == 7).all() for part in whole)


def one_stream(s: Setting, replicas: int = 1) -> Setting:
    streams = Streams(s.streams.order[:1], s.streams.view[:1], torch.tensor([0, replicas]))
    return replace(s, streams=streams)


def test_cw_with_an_identity_covariance_is_scaled_margin_mira() -> None:
    """γ = φ: the step to m + αv = φ√v with v = 2|x|² for good, against MIRA's epoch with γ · |Δf| for its margin."""
    s = one_stream(setting(docs=50))
    phi = torch.tensor([1.3], dtype=torch.float64)
    mira = s.model(average=False, replicas=1)
    unlimited = torch.full((1,), torch.inf, dtype=torch.float64)
    online_epoch(s.rows, s.streams, Rule("pa1", unlimited, phi, update_on="margin", scaled_margin=True), mira)
    x, weights = values(s.rows, 0, s.features), torch.zeros(s.features + 1, s.classes, dtype=torch.float64)
    for n in rows_of(s, 0):
        scores, y = x[n] @ weights, int(s.rows.labels[n])
        rival = eager_rules.highest(scores.numpy(), skip=y)
        v = 2 * x[n].square().sum()
        alpha = max(0.0, float((phi[0] * v.sqrt() - (scores[y] - scores[rival])) / v))
        weights[:, y] += alpha * x[n]
        weights[:, rival] -= alpha * x[n]
    torch.testing.assert_close(mira.weights[:, 0], weights, rtol=1e-9, atol=1e-10)


def test_scw_without_a_limit_is_one_rule_whatever_its_variant() -> None:
    s = setting(docs=60)
    unlimited = torch.full((7,), torch.inf, dtype=torch.float64)
    models = []
    for kind, limit in (("scw1", unlimited), ("scw2", unlimited), ("scw1", None)):
        rule = InstanceRule(kind, phi=PHI, C=unlimited if limit is None else limit)  # type: ignore[arg-type]
        models.append(model_of(s, rule))
        epochs(cpu.instance_epoch, s, rule, models[-1])
    for other in models[1:]:
        torch.testing.assert_close(other.weights, models[0].weights, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_after_a_full_step_the_constraint_is_met_with_equality(name: str) -> None:
    """One row, so that the diagonal is whole: with a single feature in play Σ stays diagonal for every class.

    CW in variances: m = φv afterwards; in standard deviations: m = φ√v, with v = 1/(1/v + ρ) in the direction of Δf.
    """
    rows = ScaledRows(*csr(torch.tensor([[3.0]])), torch.tensor([1]))
    streams = Streams(torch.tensor([[0]]), torch.tensor([0]), torch.tensor([0, 1]))
    for kind, power in (("variance", 1.0), ("scw1", 0.5)):
        phi = torch.tensor([0.7], dtype=torch.float64)
        unlimited = torch.tensor([torch.inf], dtype=torch.float64)
        rule = InstanceRule(kind, phi=phi, C=unlimited)  # type: ignore[arg-type]
        weights = torch.zeros(2, 1, 2, dtype=torch.float64)
        model = InstanceModel(weights, None, torch.zeros(1).long(), torch.ones_like(weights))
        IMPLEMENTATIONS[name](rows, streams, rule, model)
        x = torch.tensor([1.0, 3.0], dtype=torch.float64)
        m = float(x @ (weights[:, 0, 1] - weights[:, 0, 0]))
        before = float(2 * x.square().sum())
        rho = float((1 / model.covariance[1, 0, 1] - 1) / 9)  # type: ignore[index]
        after = before / (1 + rho * before)
        assert m == pytest.approx(0.7 * after**power, rel=1e-12)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind[0].startswith("svm")])
def test_variances_never_grow_and_stay_above_zero(kind: tuple[str, str]) -> None:
    s = setting(docs=60)
    rule = rule_of(*kind)
    model = model_of(s, rule, torch.float32)
    assert model.covariance is not None
    for _ in range(4):
        before = model.covariance.clone()
        epochs(cpu.instance_epoch, s, rule, model, 1)
        assert (model.covariance <= before).all()
        assert (model.covariance > 0).all()
    assert (model.covariance < 1).any()


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@pytest.mark.parametrize("kind", NUMBERS)
def test_a_pass_without_a_violation_changes_nothing(name: str, kind: str) -> None:
    """Weights that are right by far; those of the SVM shrink by (1-λ) a row, or 1/t, and by nothing else."""
    s = setting(docs=20)
    rule = rule_of(kind)
    model = model_of(s, rule, average=False)
    x = values(s.rows, 0, s.features)
    classes = torch.nn.functional.one_hot(s.rows.labels, s.classes).double()
    wide = torch.linalg.pinv(x[:, 1:]) @ classes  # row 3 is empty and has no margin
    s = without_empty_rows(s)
    streams = Streams(s.streams.order[:1], s.streams.view[:1] * 0, torch.tensor([0, 7]))
    model.weights[1:] = 1e4 * wide[:, None]
    model.steps.fill_(100)
    before = model.weights.clone(), None if model.covariance is None else model.covariance.clone()
    counts = IMPLEMENTATIONS[name](s.rows, streams, rule, model)
    shrunk = torch.ones(7, dtype=torch.float64)
    if kind == "svm":
        shrunk = (1 - DECAY) ** 19
        counts = Counts(*(part[:4] for part in counts))  # where they have not shrunk below the margin
        shrunk = shrunk[:4]
    elif kind == "svm-inverse":
        shrunk = shrunk * 100 / 119
    assert not counts.updates.any()
    assert not counts.mistakes.any()
    assert not counts.loss.any()
    torch.testing.assert_close(model.weights[:, : len(shrunk)], before[0][:, : len(shrunk)] * shrunk[:, None])
    if model.covariance is not None:
        assert torch.equal(model.covariance, before[1])


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@pytest.mark.parametrize("kind", NUMBERS)
def test_feature_order_does_not_matter(name: str, kind: str) -> None:
    s = without_empty_rows(setting(docs=40, scaled=False))
    permutation = torch.randperm(s.features, generator=torch.Generator().manual_seed(8))
    dense = values(s.rows, 0, s.features)[:, 1:].float()
    shuffled = replace(s, rows=ScaledRows(*csr(dense[:, permutation]), s.rows.labels))
    rule = rule_of(kind)
    one, other = model_of(s, rule), model_of(shuffled, rule)
    counts = epochs(IMPLEMENTATIONS[name], s, rule, one)
    again = epochs(IMPLEMENTATIONS[name], shuffled, rule, other)
    torch.testing.assert_close(other.weights[1:], one.weights[1:][permutation], rtol=1e-8, atol=1e-9)
    assert torch.equal(counts[-1].mistakes, again[-1].mistakes)


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_ties_go_to_the_lowest_class(name: str) -> None:
    one = torch.ones(1, dtype=torch.float64)
    streams = Streams(torch.tensor([[0]]), torch.tensor([0]), torch.tensor([0, 1]))
    rules = [InstanceRule("arow", r=one), InstanceRule("svm", eta=one, decay=0 * one)]
    for label, moved in ((0, [1.0, -1.0, 0.0]), (2, [-1.0, 0.0, 1.0])):
        rows = ScaledRows(*csr(torch.ones(1, 1)), torch.tensor([label]))
        for rule in rules:
            weights = torch.zeros(2, 1, 3, dtype=torch.float64)
            covariance = torch.ones_like(weights) if rule.kind == "arow" else None
            counts = IMPLEMENTATIONS[name](
                rows, streams, rule, InstanceModel(weights, None, torch.zeros(1).long(), covariance)
            )
            assert counts.mistakes.tolist() == [int(label != 0)]
            step = 1 / 5 if rule.kind == "arow" else 1.0  # (1 - 0)/(v + r), v = 2 · (1 + 1)
            assert weights[1, 0].tolist() == [step * way for way in moved]


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
@pytest.mark.parametrize("kind", NUMBERS)
def test_values_beyond_all_bounds_leave_finite_weights_or_say_so(name: str, kind: str) -> None:
    """x up to 1e30, r and φ down to almost nothing: the loss is NaN or infinite where a weight is not finite."""
    s = setting(docs=30)
    for size in (1e-30, 1e15, 1e30, 1e37):
        rows = replace(s.rows, val=s.rows.val * size)
        for tiny in (1e-320, 1e-12, 1.0):
            numbers = {k: v.clamp(max=tiny) if k in ("r", "phi") else v for k, v in NUMBERS[kind].items()}
            rule = InstanceRule(kind.partition("-")[0], **numbers)  # type: ignore[arg-type]
            model = model_of(s, rule, torch.float32)
            loss = torch.stack(
                [part.loss for part in epochs(IMPLEMENTATIONS[name], replace(s, rows=rows), rule, model, 2)]
            )
            broken = ~torch.isfinite(model.weights).all(2).all(0) | ~torch.isfinite(model.sums).all(2).all(0)  # type: ignore[arg-type]
            assert not (broken & torch.isfinite(loss).all(0)).any()
            if size in (1e-30, 1e15) and kind == "arow":
                assert not broken.any()


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_rows_without_any_rule_leave_variances_to_learn_with(name: str) -> None:
    """Random labels: CW in standard deviations errs for ever, and its variances fall to the least there is."""
    g = torch.Generator().manual_seed(1)
    rows = ScaledRows(*csr(torch.randn(200, 2, generator=g)), torch.randint(3, (200,), generator=g))
    streams = Streams(torch.arange(200)[None], torch.tensor([0]), torch.tensor([0, 1]))
    one = torch.ones(1, dtype=torch.float64)
    weights = torch.zeros(3, 1, 3)
    model = InstanceModel(weights, None, torch.zeros(1).long(), torch.ones_like(weights))
    rule = InstanceRule("scw1", phi=one, C=torch.inf * one)
    for _ in range(3):
        counts = IMPLEMENTATIONS[name](rows, streams, rule, model)
        assert counts.updates > 20
        assert torch.isfinite(counts.loss).all()
    assert model.covariance is not None
    assert model.covariance.min() == torch.tensor(1e-30)
    assert torch.isfinite(weights).all()
