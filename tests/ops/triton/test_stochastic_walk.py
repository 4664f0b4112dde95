"""The Triton walk of stochastic gradient descent against the reference: see test_online_walk."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gpuclf.ops.stochastic_epoch import Portion, StochasticModel, StochasticRule, reference
from tests.ops.test_linear_training_ops import draw, rows

pytestmark = pytest.mark.triton
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def there(record: Any) -> Any:
    moved = {k: v.to(DEVICE) if isinstance(v, torch.Tensor) else v for k, v in vars(record).items()}
    return type(record)(**moved)


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize(
    ("kind", "batch", "ridge", "lasso", "average", "offset"),
    [
        ("logistic", 1, 0.0, 0.0, True, True),
        ("logistic", 3, 0.05, 0.0, False, True),
        ("margin", 1, 0.02, 0.005, True, False),
        ("squared_margin", 3, 0.0, 0.03, True, True),
        ("perceptron", 1, 40.0, 0.01, True, True),
    ],
)
def test_walk_agrees_with_the_reference(
    kind: str, batch: int, ridge: float, lasso: float, average: bool, offset: bool, adaptive: bool
) -> None:
    """Two replicas; empty rows; rows longer than a portion; a last update with fewer documents; costs and scales."""
    triton_walk = pytest.importorskip("gpuclf.ops.stochastic_epoch.triton_walk")
    docs, classes, features = 10, 3, 12
    crow, col, val = rows(docs, features)
    labels = torch.randint(0, classes, (docs,), generator=draw(1))
    counts = torch.rand((docs, 2), generator=draw(2), dtype=torch.float64)
    counts[4, 1] = 0
    order = torch.randperm(docs, generator=draw(3))
    cost = 2 * torch.rand((classes, classes), generator=draw(5), dtype=torch.float64).fill_diagonal_(0)
    scales = torch.rand(features + 1, generator=draw(4)), torch.rand(docs, generator=draw(6))
    given: tuple[Any, Any] = scales if kind != "logistic" else (None, None)
    portion = Portion(crow, col, val, labels, given[0], given[1], counts, order, batch)
    updates = -(-docs // batch)
    rates = 0.5 / torch.arange(1, updates + 1, dtype=torch.float64)[:, None].sqrt() * torch.tensor([1.0, 0.5])
    rates = torch.tensor([[0.5, 0.3]], dtype=torch.float64).expand(updates, 2) if adaptive else rates.double()
    soft, hard = (torch.tensor([value, value / 2], dtype=torch.float64) for value in (ridge, lasso))
    rule = StochasticRule(kind, None if kind == "squared_margin" else cost, rates, soft, hard, adaptive, offset)
    results = []
    for run in (reference.stochastic_epoch, triton_walk.stochastic_epoch):
        parts = [torch.zeros((features + 1, 4, classes), dtype=torch.float64)[:, 1:3] for _ in range(3)]
        parts[0].copy_(torch.randn(parts[0].shape, generator=draw(7), dtype=torch.float64) * (0.5 if offset else 0))
        model = there(StochasticModel(parts[0], parts[1] if adaptive else None, parts[2] if average else None))
        losses = [run(there(portion), there(rule), model) for _ in range(2)]
        kept = [part for part in (model.weights, model.squares, model.sums) if part is not None]
        results.append([*kept, *losses])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-9, atol=1e-10)
    assert results[0][-1].any()
