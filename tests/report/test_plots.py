from __future__ import annotations

import struct

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from gpuclf.report.plots import confusion_counts, confusion_figure, png, pr_figure
from gpuclf.report.ranking_curve import pr_curve, thin


def _size(picture: bytes) -> tuple[int, int]:
    assert picture.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", picture[16:24])
    return width, height


def test_confusion_counts_are_gold_by_predicted_without_unknown_classes() -> None:
    gold, predicted = torch.tensor([0, 0, 2, -1, 1, 3]), torch.tensor([0, 1, 2, 1, 1, 0])
    counts = confusion_counts(gold, predicted, 3)
    known = [0, 1, 2, 4]
    np.testing.assert_array_equal(counts, confusion_matrix(gold[known], predicted[known], labels=[0, 1, 2]))
    title = confusion_figure(gold, predicted, ["a", "b", "c"], title="test").axes[0].get_title()
    assert title == "test: 3 of 4 correct, 2 of classes unknown to the model left out"


@pytest.mark.parametrize("count", [1, 2, 77])
def test_pictures_of_few_and_many_classes(count: int) -> None:
    generator = torch.Generator().manual_seed(count)
    names = [f"a_rather_long_name_of_class_{index}" for index in range(count)]
    gold = torch.randint(count, (300,), generator=generator)
    scores = torch.randn(300, count, generator=generator)
    figure = confusion_figure(gold, scores.argmax(1), names)
    width, height = _size(png(figure))
    assert min(width, height) >= 300
    assert max(width, height) <= 2600
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == names
    assert figure.axes[0].get_yticklabels()[0].get_fontsize() >= 4
    _size(png(pr_figure(gold, scores, names)))


def test_few_classes_have_all_counts_and_many_only_notable_errors() -> None:
    gold = torch.arange(30).repeat(10)
    predicted = gold.clone()
    predicted[:3] = 5  # of classes 0, 1, 2 one document in ten
    names = [str(index) for index in range(30)]
    assert sorted(text.get_text() for text in confusion_figure(gold, predicted, names).axes[0].texts) == ["1", "1", "1"]
    few = gold < 10
    shown = confusion_figure(gold[few], predicted[few], names[:10]).axes[0].texts
    assert sum(int(text.get_text()) for text in shown) == 100


def test_strange_class_names_are_neither_formulas_nor_warnings() -> None:
    names = ["$x_{", "文化", "_hidden", "a\nb", "", "שלום"]
    gold = torch.arange(6)
    scores = torch.eye(6)
    _size(png(confusion_figure(gold, gold, names)))
    figure = pr_figure(gold, scores, names)
    _size(png(figure))
    legend = figure.axes[0].get_legend()
    assert legend is not None
    assert len(legend.get_texts()) == 6


def test_pr_figure_without_any_known_document() -> None:
    _size(png(pr_figure(torch.tensor([-1]), torch.zeros(1, 2), ["a", "b"])))
    _size(png(confusion_figure(torch.tensor([-1]), torch.tensor([0]), ["a", "b"])))


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0])), min_size=1, max_size=30))
def test_pr_points_are_recounts_at_every_distinct_score(pairs: list[tuple[bool, float]]) -> None:
    positive = np.array([hit for hit, _ in pairs])
    scores = np.array([score for _, score in pairs], dtype=np.float32)
    curve = pr_curve(positive, scores)
    thresholds = sorted(set(scores.tolist()), reverse=True)
    assert curve.true_positives.tolist() == [int((positive & (scores >= t)).sum()) for t in thresholds]
    assert curve.false_positives.tolist() == [int((~positive & (scores >= t)).sum()) for t in thresholds]
    if positive.any():
        assert curve.recall[-1] == 1
    thinned = thin(curve, 7)
    assert len(thinned.true_positives) == 7
    points = set(zip(curve.true_positives.tolist(), curve.false_positives.tolist(), strict=True))
    chosen = list(zip(thinned.true_positives.tolist(), thinned.false_positives.tolist(), strict=True))
    assert set(chosen) <= points
    assert chosen == sorted(chosen)
    assert chosen[0] == (curve.true_positives[0], curve.false_positives[0])
    assert chosen[-1] == (curve.true_positives[-1], curve.false_positives[-1])
