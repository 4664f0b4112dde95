"""Figures of aspects against scikit-learn and by hand; the bootstrap that draws whole reviews."""

from __future__ import annotations

import pytest
import torch
from sklearn.metrics import precision_recall_fscore_support

from gpuclf.metrics.aspects import any_aspect_f1, aspect_f1, aspect_figures, top_token_figures
from gpuclf.metrics.bootstrap import resampled_units
from gpuclf.metrics.classification import accuracy
from gpuclf.metrics.confusion import confusion


@pytest.mark.parametrize("outside", [0, 2, 3, -1])
def test_micro_figures_are_those_of_scikit_learn(outside: int) -> None:
    draw = torch.Generator().manual_seed(outside + 5)
    gold, said = (torch.randint(0, 4, (200,), generator=draw) for _ in range(2))
    counts = confusion(gold, said, 4)
    labels = [label for label in range(4) if label != outside]
    expected = precision_recall_fscore_support(gold, said, labels=labels, average="micro", zero_division=0)
    found = aspect_figures(counts, outside)
    assert [found[f"aspect_{name}"] for name in ("precision", "recall", "f1")] == pytest.approx(expected[:3])
    assert float(aspect_f1(counts[None], outside)) == pytest.approx(expected[2])
    any_gold, any_said = gold != outside, said != outside
    expected = precision_recall_fscore_support(any_gold, any_said, average="binary")
    assert [found[f"any_aspect_{name}"] for name in ("precision", "recall", "f1")] == pytest.approx(expected[:3])
    assert float(any_aspect_f1(counts, outside)) == pytest.approx(expected[2])
    macro = precision_recall_fscore_support(gold, said, labels=labels, average="macro", zero_division=0)[2]
    assert found["macro_aspect_f1"] == pytest.approx(macro)


def test_nothing_but_tokens_outside() -> None:
    counts = torch.tensor([[9, 0], [0, 0]])
    assert set(aspect_figures(counts, 0).values()) == {0.0}
    assert float(aspect_f1(torch.zeros(2, 2, dtype=torch.int64), 0)) == 0.0


def test_the_likeliest_tokens() -> None:
    score = torch.tensor([-3.0, -0.1, -2.0, -2.0, -0.2, -0.3, -0.4, -0.5, -0.6, -0.7])
    has = torch.tensor([1, 0, 0, 1, 1, 0, 0, 0, 0, 0]).bool()
    rows = top_token_figures(score, has, (0.01, 0.1, 0.2, 0.3, 1.0))
    assert [row["tokens"] for row in rows] == [1, 2, 3, 10]  # a share below half a token is left out
    assert [row["recall"] for row in rows] == pytest.approx([1 / 3, 1 / 3, 2 / 3, 1.0])  # of ties the first
    assert [row["precision"] for row in rows] == pytest.approx([1.0, 0.5, 2 / 3, 0.3])


def test_the_bootstrap_draws_whole_units() -> None:
    draw = torch.Generator().manual_seed(1)
    unit = torch.tensor([0, 0, 0, 1, 2, 2])
    gold = torch.randint(0, 3, (6,), generator=draw)
    said = torch.randint(0, 3, (2, 6), generator=draw)
    figures = resampled_units(gold, said, 3, accuracy, 400, 7, unit)
    right = [[int((row[unit == u] == gold[unit == u]).sum()) for u in range(3)] for row in said]
    sizes = [3, 1, 2]
    possible = [
        {
            (a + b + c) / (x + y + z)
            for a, x in zip(own, sizes, strict=True)
            for b, y in zip(own, sizes, strict=True)
            for c, z in zip(own, sizes, strict=True)
        }
        for own in right
    ]
    for place in range(2):
        assert {round(value, 12) for value in figures[:, place].tolist()} <= {round(v, 12) for v in possible[place]}
    assert torch.equal(figures[:, :1], resampled_units(gold, said[:1], 3, accuracy, 400, 7, unit))
    every = resampled_units(gold, gold[None], 3, accuracy, 20, 7, unit)
    assert torch.equal(every, torch.ones_like(every))
