"""Update rules against torch.optim; a table that makes up for missed steps against one that makes them all."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from gpuclf.ops.keyed_uniform import keyed_factors, keyed_uniform
from gpuclf.ops.keyed_uniform import reference as uniform_reference
from gpuclf.ops.table_epoch import (
    KINDS,
    MOMENTS,
    Steps,
    UpdateRule,
    Weights,
    bag_sums,
    reference,
    table_epoch,
    update_all,
)

PEERS = {
    "sgd": (torch.optim.SGD, {}),
    "momentum": (torch.optim.SGD, {"momentum": 0.9}),
    "adagrad": (torch.optim.Adagrad, {"eps": 1e-8}),
    "adadelta": (torch.optim.Adadelta, {"rho": 0.9, "eps": 1e-8}),
    "adam": (torch.optim.Adam, {}),
    "adamw": (torch.optim.AdamW, {}),
}


def rule_of(kind: str) -> UpdateRule:
    return UpdateRule(kind, memory=0.9 if kind == "adadelta" else 0.999)  # type: ignore[arg-type]


def weights(value: Tensor, kind: str) -> Weights:
    kept = MOMENTS[kind]
    return Weights(
        value.clone(),
        torch.zeros_like(value) if kept > 0 else None,
        torch.zeros_like(value) if kept > 1 else None,
    )


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("kind", KINDS)
def test_a_rule_does_what_torch_optim_does(kind: str, decay: float) -> None:
    draw = torch.Generator().manual_seed(1)
    begin = torch.randn(1, 7, dtype=torch.float64, generator=draw)
    own, leaf = weights(begin, kind), begin[0].clone().requires_grad_()
    maker, more = PEERS[kind]
    peer = maker([leaf], lr=0.05, weight_decay=decay, **more)
    steps = Steps(
        torch.full((6, 1), 0.05, dtype=torch.float64),
        torch.tensor([decay], dtype=torch.float64),
        torch.zeros(1, dtype=torch.int64),
    )
    for step in range(6):
        gradient = torch.randn(1, 7, dtype=torch.float64, generator=draw)
        leaf.grad = gradient[0].clone()
        peer.step()
        update_all(own, gradient, rule_of(kind), steps, step, torch.ones(7, dtype=torch.float64))
    torch.testing.assert_close(own.value[0], leaf.detach(), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("decay", [0.0, 0.01])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_wait_are_where_all_steps_would_have_left_them(kind: str, decay: float) -> None:
    """Gradients of very different size: ε of Adam decides for the small ones. 500 steps before: the moments' sum."""
    draw = torch.Generator().manual_seed(2)
    replicas, features, width, each, number = 2, 7, 5, 3, 30
    begin = torch.randn(replicas, features, width, dtype=torch.float64, generator=draw)
    own, dense, before = weights(begin, kind), weights(begin, kind), torch.tensor([0, 500])
    for epoch in range(2):
        rates = torch.rand(number, replicas, dtype=torch.float64, generator=draw) * 0.01
        steps = Steps(rates, torch.full((replicas,), decay, dtype=torch.float64), before + epoch * number)
        waiting, eager = table_epoch(own, rule_of(kind), steps), reference.TableEpoch(dense, rule_of(kind), steps)
        for step in range(number):
            lengths = torch.randint(0, 3, (replicas * each,), generator=draw)
            crow = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
            col = torch.randint(0, features if step < 5 else 3, (int(crow[-1]),), generator=draw)
            val = torch.rand(col.numel(), dtype=torch.float64, generator=draw)
            torch.testing.assert_close(waiting.sums(crow, col, val), eager.sums(crow, col, val), rtol=1e-7, atol=1e-8)
            grad = torch.randn(replicas * each, width, dtype=torch.float64, generator=draw) * 10.0 ** -(step % 7)
            rows, gradient = waiting.gradients(crow, col, val, grad)
            rows_dense, gradient_dense = eager.gradients(crow, col, val, grad)
            order = torch.argsort(rows)
            torch.testing.assert_close(rows[order], rows_dense)
            torch.testing.assert_close(gradient[order], gradient_dense)
            waiting.update(rows, gradient)
            eager.update(rows_dense, gradient_dense)
            if step % 10 == epoch:  # in the midst of an epoch
                waiting.settle()
                torch.testing.assert_close(own.value, dense.value, rtol=1e-7, atol=1e-8)
        waiting.settle()
        eager.settle()
    for mine, other in ((own.value, dense.value), (own.first, dense.first), (own.second, dense.second)):
        if mine is not None:
            torch.testing.assert_close(mine, other, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if MOMENTS[kind]])
def test_moments_never_become_subnormal(kind: str) -> None:
    """A row with one gradient and then none for long: 0.9^900 is below the smallest normal number of float32, and what
    is calculated with such numbers is a hundred times slower."""
    number = 300
    own = weights(torch.ones(1, 3, 4), kind)
    one = torch.tensor([0, 1]), torch.ones(1)
    for epoch in range(4):
        steps = Steps(
            torch.full((number, 1), 1e-3, dtype=torch.float64),
            torch.zeros(1, dtype=torch.float64),
            torch.tensor([epoch * number]),
        )
        opened = table_epoch(own, rule_of(kind), steps)
        for step in range(number):
            col = torch.tensor([1 if epoch == step == 0 else 2])
            opened.update(*opened.gradients(one[0], col, one[1], torch.full((1, 4), 1e-3)))
        opened.settle()
        for moment in (own.first, own.second):
            if moment is not None:
                assert not bool(((moment != 0) & (moment.abs() < torch.finfo(torch.float32).tiny)).any())
    if kind in ("momentum", "adam", "adamw"):
        assert own.first is not None
        assert not own.first[0, 1].any()


def test_sums_are_those_of_a_dense_product() -> None:
    draw = torch.Generator().manual_seed(3)
    table = torch.randn(2, 6, 4, generator=draw)
    x = torch.rand(2, 3, 6, generator=draw) * (torch.rand(2, 3, 6, generator=draw) < 0.5)
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), (x != 0).sum(2).flatten().cumsum(0)])
    col, val = (x != 0).nonzero()[:, 2], x[x != 0]
    for implementation in (bag_sums, reference.bag_sums):
        torch.testing.assert_close(implementation(table, crow, col, val), (x @ table).flatten(0, 1))
    assert bag_sums(table, torch.zeros(1, dtype=torch.int64), col[:0], val[:0]).shape == (0, 4)


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 5)])
def test_draws_by_key_are_the_hash_of_key_and_place(shape: tuple[int, ...]) -> None:
    keys = torch.randint(-(2**62), 2**62, shape, generator=torch.Generator().manual_seed(4))
    drawn = keyed_uniform(keys, 9)
    assert torch.equal(drawn, uniform_reference.keyed_uniform(keys, 9))
    assert drawn.shape == (*shape, 9)
    assert bool(((drawn >= 0) & (drawn < 1)).all())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(2, 0), (3, 1), (2, 255), (2, 3, 4)])
def test_factors_of_dropout_are_the_draws_below_its_probability(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    keys = torch.randint(-(2**62), 2**62, shape, generator=torch.Generator().manual_seed(5))
    drop = torch.tensor([0.0, 0.3, 0.999], dtype=torch.float64)[: shape[0]]
    factors = keyed_factors(keys, 17, drop, dtype)
    assert torch.equal(factors, uniform_reference.keyed_factors(keys, 17, drop, dtype))
    assert (factors.dtype, factors.shape) == (dtype, (*shape, 17))
    assert bool((factors[0] == 1).all())
    if factors.numel() > 1000:
        assert float(factors[1].mean()) == pytest.approx(1, abs=0.05)
        assert set(factors[1].unique().tolist()) == {0.0, float(torch.tensor(1 / 0.7, dtype=dtype))}
