"""The Triton walk against the walk in plain torch: on a GPU, or in a process of its own with TRITON_INTERPRET=1."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from gpuclf.ops.online_epoch import Rule, torch_walk
from gpuclf.ops.online_epoch.blocks import online_epoch_blocks
from tests.ops.online_problem import setting

pytestmark = pytest.mark.triton
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("classes", [1, 2, 5, 8])
@pytest.mark.parametrize(
    "rule",
    [
        ("perceptron", "error"),
        ("pa1", "margin"),
        ("pa2", "error"),
        ("pa1", "error", "scaled"),
        ("pa1", "margin", "cost"),
        ("pa2", "margin", "cost", True),
    ],
    ids=lambda r: "-".join(map(str, r)),
)
def test_walk_agrees_with_torch(classes: int, rule: tuple[Any, ...]) -> None:
    triton_walk = pytest.importorskip("gpuclf.ops.online_epoch.triton_walk")
    made: Rule = setting(classes=classes).rule(*rule)
    made = Rule(**{k: v.to(DEVICE) if isinstance(v, torch.Tensor) else v for k, v in vars(made).items()})
    g = torch.Generator().manual_seed(classes)
    x = torch.randn(2, 6, 9, generator=g, dtype=torch.float64)
    scores = torch.randn(2, 6, 3, classes, generator=g, dtype=torch.float64)
    label = torch.randint(classes, (2, 6), generator=g)
    valid = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    at = torch.tensor([[0, 1, 2], [3, 4, 5]], device=DEVICE)
    problem = [t.to(DEVICE) for t in (scores, x @ x.transpose(1, 2), label, valid)]
    expected = torch_walk.walk(made, made.C[at], made.gamma[at], *problem)
    actual = triton_walk.walk(made, made.C[at], made.gamma[at], *problem)
    torch.testing.assert_close(actual.alpha, expected.alpha, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(actual.loss, expected.loss, rtol=1e-10, atol=1e-12)
    assert torch.equal(actual.mistake, expected.mistake)
    assert torch.equal(actual.limited, expected.limited)
    stepped = expected.alpha > 0
    assert torch.equal(actual.rival[stepped], expected.rival[stepped])
    assert classes == 1 or stepped.any()


def test_ties_go_to_the_lowest_class() -> None:
    triton_walk = pytest.importorskip("gpuclf.ops.online_epoch.triton_walk")
    one = torch.ones(1, 1, dtype=torch.float64, device=DEVICE)
    rule = Rule("pa1", one[0], one[0], update_on="margin")
    scores, gram = torch.zeros(1, 1, 1, 5, device=DEVICE), torch.full((1, 1, 1), 2.0, device=DEVICE)
    for label, rival in ((0, 1), (3, 0)):
        gold = torch.tensor([[label]], device=DEVICE)
        made = triton_walk.walk(rule, one, one, scores, gram, gold, torch.ones(1, 1, dtype=torch.bool, device=DEVICE))
        assert made.rival.item() == rival
        assert made.mistake.item() == (label != 0)
        assert made.alpha.item() == 0.25


def test_an_epoch_by_blocks_agrees() -> None:
    triton_walk = pytest.importorskip("gpuclf.ops.online_epoch.triton_walk")
    s = setting(docs=6, classes=3)
    moved: list[Any] = []
    for record in (s.rows, s.streams, s.rule("pa1")):
        there = {k: v.to(DEVICE) if isinstance(v, torch.Tensor) else v for k, v in vars(record).items()}
        moved.append(type(record)(**there))
    results = []
    for walk in (torch_walk.walk, triton_walk.walk):
        model = s.model()
        model = type(model)(model.weights.to(DEVICE), model.sums.to(DEVICE), model.steps.to(DEVICE))  # type: ignore[union-attr]
        counts = online_epoch_blocks(*moved, model, 1, False, walk, block=4)
        results.append([model.weights, model.sums, *counts])
    for a, b in zip(*results, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-10)
