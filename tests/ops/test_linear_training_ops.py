"""Ops of batch linear training against their references: losses, transposed products, vectors, dual and SGD epochs."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gpuclf.ops.class_loss import CURVED, KINDS, class_loss, loss_along, loss_curvature, loss_diagonal
from gpuclf.ops.class_loss import reference as loss_reference
from gpuclf.ops.dual_epoch import DualModel, DualRows, dual_epoch
from gpuclf.ops.dual_epoch import reference as dual_reference
from gpuclf.ops.replica_vectors import reference as vector_reference
from gpuclf.ops.replica_vectors import replica_combination, replica_dots
from gpuclf.ops.sparse_gradient import columns_of, sparse_gradient
from gpuclf.ops.sparse_gradient import reference as gradient_reference
from gpuclf.ops.stochastic_epoch import Portion, StochasticModel, StochasticRule, stochastic_epoch
from gpuclf.ops.stochastic_epoch import reference as stochastic_reference

SIZES = [0, 1, 255, 257]


def draw(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rows(docs: int, features: int = 40, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """crow, col, val with empty rows among them."""
    dense = torch.poisson(torch.full((docs, features), 0.2), generator=draw(seed))
    dense[::7] = 0
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), (dense != 0).sum(1).cumsum(0)])
    return crow, (dense.nonzero()[:, 1] + 1).to(torch.int32), dense[dense != 0].float()


def normal(*shape: int, seed: int = 1, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(shape, generator=draw(seed), dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("docs", SIZES)
@pytest.mark.parametrize(("replicas", "classes"), [(1, 1), (2, 5), (3, 29), (1, 90)])
def test_transposed_product(docs: int, replicas: int, classes: int) -> None:
    crow, col, val = rows(docs)
    columns = columns_of(crow, col, val, 40)
    gradient = normal(docs, replicas + 1, classes)[:, 1:]
    col_scale, row_scale = torch.rand(41, generator=draw(2)), torch.rand(docs, generator=draw(3))
    row_scale[1::3] = 0
    for dtype, tolerance in ((torch.float64, 1e-12), (torch.float32, 1e-5)):
        out, expected = (torch.full((41, replicas, classes), torch.nan, dtype=dtype) for _ in range(2))
        sparse_gradient(columns, col_scale, row_scale, gradient.to(dtype), out)
        gradient_reference.sparse_gradient(columns, col_scale, row_scale, gradient.to(dtype), expected)
        torch.testing.assert_close(out, expected, rtol=tolerance, atol=tolerance * 10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("docs", SIZES)
@pytest.mark.parametrize("classes", [1, 2, 7])
def test_losses_equal_the_reference(kind: str, docs: int, classes: int) -> None:
    scores, direction = 3 * normal(docs, 3, classes), normal(docs, 3, classes, seed=2)
    labels = torch.randint(0, classes, (docs,), generator=draw(3))
    weights = torch.rand((docs, 3), generator=draw(4), dtype=torch.float64)
    weights[::3] = 0
    labels[::3] = -1
    cost = torch.rand((classes, classes), generator=draw(5), dtype=torch.float64).fill_diagonal_(0)
    step = torch.tensor([0.0, 0.5, -2.0], dtype=torch.float64)
    for given in (None, cost):
        ours = [*class_loss(kind, scores, labels, weights, given)]
        ours += loss_along(kind, scores, direction, step, labels, weights, given)
        plain = [*loss_reference.class_loss(kind, scores, labels, weights, given)]
        plain += loss_reference.loss_along(kind, scores, direction, step, labels, weights, given)
        if kind in CURVED:
            ours.append(loss_curvature(kind, scores, direction, labels, weights, given))
            plain.append(loss_reference.loss_curvature(kind, scores, direction, labels, weights, given))
            ours.append(loss_diagonal(kind, scores, labels, weights, given))
            plain.append(loss_reference.loss_diagonal(kind, scores, labels, weights, given))
        torch.testing.assert_close(ours, plain, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_finite_differences(kind: str) -> None:
    scores, direction = normal(50, 2, 4), normal(50, 2, 4, seed=2)
    labels = torch.randint(0, 4, (50,), generator=draw(3))
    weights = torch.rand((50, 2), generator=draw(4), dtype=torch.float64)
    small = 1e-6
    _, gradient = class_loss(kind, scores, labels, weights, None)
    up, more = class_loss(kind, scores + small * direction, labels, weights, None)
    down, less = class_loss(kind, scores - small * direction, labels, weights, None)
    slope = (gradient * direction).sum((0, 2))
    torch.testing.assert_close((up - down) / (2 * small), slope, rtol=1e-6, atol=1e-6)
    zero = torch.zeros(2, dtype=torch.float64)
    value, along = loss_along(kind, scores, direction, zero, labels, weights, None)
    torch.testing.assert_close(along, slope)
    torch.testing.assert_close(value, class_loss(kind, scores, labels, weights, None)[0])
    if kind in CURVED:
        bent = loss_curvature(kind, scores, direction, labels, weights, None)
        torch.testing.assert_close((more - less) / (2 * small), bent, rtol=1e-5, atol=1e-5)
        diagonal = loss_diagonal(kind, scores, labels, weights, None)
        for k in range(4):
            unit = torch.zeros_like(scores)
            unit[..., k] = 1
            bent = loss_curvature(kind, scores, unit, labels, weights, None)
            torch.testing.assert_close(diagonal[..., k], bent[..., k])


@pytest.mark.parametrize("kind", KINDS)
def test_a_margin_of_800_is_finite_either_way(kind: str) -> None:
    scores = torch.tensor([[[800.0, 0.0]], [[-800.0, 0.0]]], dtype=torch.float32)
    labels, weights = torch.tensor([0, 0]), torch.ones(2, 1, dtype=torch.float64)
    value, gradient = class_loss(kind, scores, labels, weights, None)
    expected = {"logistic": 800.0, "margin": 801.0, "squared_margin": 801.0**2, "perceptron": 800.0}[kind]
    assert value.item() == expected
    assert bool(torch.isfinite(gradient).all())


@pytest.mark.parametrize("length", [1, 255, 257])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_vectors(length: int, dtype: torch.dtype) -> None:
    vectors = [normal(length, 3, 5, seed=seed, dtype=dtype) for seed in range(4)]
    pairs = [(vectors[0], vectors[1]), (vectors[2], vectors[2]), (vectors[0][:1], vectors[3][:1])]
    torch.testing.assert_close(replica_dots(pairs), vector_reference.replica_dots(pairs), rtol=1e-12, atol=1e-12)
    triples = [(vectors[0], vectors[1], vectors[2]), (vectors[3], vectors[3])]
    torch.testing.assert_close(replica_dots(triples), vector_reference.replica_dots(triples), rtol=1e-12, atol=1e-12)
    factors = normal(4, 3, seed=9)
    for scale, scaled in [(None, 0), (normal(length, 3, 5, seed=8, dtype=dtype), 2)]:
        expected = vector_reference.replica_combination(factors, vectors, scale, scaled, None)
        torch.testing.assert_close(replica_combination(factors, vectors, scale, scaled), expected)
        own = [vector.clone() for vector in vectors]
        assert replica_combination(factors, own, scale, scaled, out=own[3]) is own[3]
        assert torch.equal(own[3], replica_combination(factors, vectors, scale, scaled))


@pytest.mark.parametrize("replicas", [1, 7, 40])
def test_vectors_of_a_replica_have_the_same_bits_beside_others_and_below_rows_of_zeros(replicas: int) -> None:
    vectors = [normal(700, replicas, 20, seed=seed, dtype=torch.float32) for seed in range(3)]
    longer = [torch.cat([vector, torch.zeros(300, replicas, 20)]) for vector in vectors]
    alone = [vector[:, -1:].contiguous() for vector in vectors]
    pairs = [(0, 1), (2, 2), (0, 1, 2)]
    found, padded, single = (
        replica_dots([tuple(of[i] for i in pair) for pair in pairs]) for of in (vectors, longer, alone)
    )
    assert torch.equal(found, padded)
    assert torch.equal(found[:, -1:], single)
    factors = normal(3, replicas, seed=5)
    together = replica_combination(factors, vectors, vectors[1], 2)
    assert torch.equal(together[:, -1:], replica_combination(factors[:, -1:], alone, alone[1], 2))


@pytest.mark.parametrize("kind", ["margin", "logistic"])
@pytest.mark.parametrize("offset", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_dual_epoch_equals_the_reference(kind: str, offset: bool, dtype: torch.dtype) -> None:
    docs = 30 if kind == "margin" else 5  # the reference's logistic steps are slow
    crow, col, val = rows(docs)
    labels = torch.randint(0, 5, (docs,), generator=draw(1))
    scaled = DualRows(crow, col, val, labels, torch.rand((2, 41), generator=draw(2)), None)
    bounds = torch.tensor([0.1, 5.0], dtype=torch.float64).expand(docs, 2).clone()
    bounds[3] = 0
    order = torch.randperm(docs, generator=draw(3))
    results = []
    for run in (dual_epoch, dual_reference.dual_epoch):
        weights = torch.zeros((41, 2, 5), dtype=dtype)
        duals = torch.zeros((docs, 2, 5), dtype=dtype)
        if kind == "logistic":
            duals[:] = (bounds / 5)[..., None]
        for _ in range(2):
            run(kind, scaled, order, 1, bounds, None, offset, DualModel(weights, duals))
        results.append((weights, duals))
    tolerance = 1e-6 if dtype == torch.float64 else 1e-4
    torch.testing.assert_close(results[0], results[1], rtol=tolerance, atol=tolerance)
    _, duals = results[0]
    if kind == "margin":
        torch.testing.assert_close(duals.sum(2), torch.zeros(docs, 2, dtype=dtype), rtol=0, atol=1e-5)
        assert bool((duals.amax(2) <= bounds + 1e-5).all())
        assert not duals[3].any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize(("ridge", "lasso"), [(0.0, 0.0), (0.05, 0.0), (0.0, 0.01), (0.02, 0.005), (40.0, 0.01)])
def test_the_lazy_penalty_equals_the_eager_one(
    kind: str, adaptive: bool, batch: int, ridge: float, lasso: float
) -> None:
    crow, col, val = rows(60)
    labels = torch.randint(0, 3, (60,), generator=draw(1))
    counts = torch.rand((60, 2), generator=draw(2), dtype=torch.float64)
    order = torch.cat([torch.randperm(60, generator=draw(3)) for _ in range(3)])
    portion = Portion(crow, col, val, labels, torch.rand(41, generator=draw(4)), None, counts, order, batch)
    updates = len(order.split(batch))
    rates = 0.5 / torch.arange(1, updates + 1, dtype=torch.float64)[:, None].sqrt().expand(updates, 2)
    rates = torch.full_like(rates, 0.5) if adaptive else rates.contiguous()
    factors = [torch.tensor([value, value / 2], dtype=torch.float64) for value in (ridge, lasso)]
    rule = StochasticRule(kind, None, rates, *factors, adaptive, True)
    results = []
    for run in (stochastic_epoch, stochastic_reference.stochastic_epoch):
        weights = torch.zeros((41, 2, 3), dtype=torch.float64)
        sums = torch.zeros_like(weights)
        loss = run(portion, rule, StochasticModel(weights, torch.zeros_like(weights) if adaptive else None, sums))
        results.append((weights, loss, sums / len(order)))
    torch.testing.assert_close(results[0], results[1], rtol=1e-9, atol=1e-10)
    plain = torch.zeros((41, 2, 3), dtype=torch.float64)
    stochastic_epoch(portion, rule, StochasticModel(plain, torch.zeros_like(plain) if adaptive else None))
    torch.testing.assert_close(plain, results[0][0], rtol=1e-9, atol=1e-12)  # sums change nothing
