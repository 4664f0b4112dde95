"""Log-count ratios as weights of features: the paper's formula, from a view's labelled training rows alone."""

from __future__ import annotations

from math import log

import pytest
import torch

from gpuclf.features.class_ratio import class_ratio
from gpuclf.features.encoder import fit_encoder
from gpuclf.features.options import BagOfWordsOptions
from gpuclf.features.views import fit_views
from tests.features.documents import chunk_of

TEXTS = ["a a b", "a", "b c", "c c c d", "d"]
LABELS = torch.tensor([0, 0, 1, 1, -1])
BAG = BagOfWordsOptions(weighting="nb_ratio", token_pattern=r"\w")


def test_two_classes_by_hand() -> None:
    """Wang & Manning 2012, eq. 2: p = 1 + (2, 1, 0, 0), q = 1 + (0, 1, 2, 1) of a, b, c, d; the unlabelled text
    does not count."""
    encoder, encoded = fit_encoder([chunk_of(TEXTS)], BAG)
    views = fit_views(encoded.rows, LABELS, 2, torch.ones(1, 5, dtype=torch.bool), BAG)
    p, q = dict(zip("abcd", (3, 2, 1, 1), strict=True)), dict(zip("abcd", (1, 2, 3, 2), strict=True))
    assert views.col_scale is not None
    for name, got in zip(encoder.vocabulary.names(), views.col_scale[0, 1:].tolist(), strict=True):
        assert got == pytest.approx(abs(log((p[name] / 7) / (q[name] / 8))), rel=1e-6), name
    assert encoded.rows.val.tolist() == [1.0] * 8  # presence, not counts


def test_a_fold_sees_its_own_rows_and_the_features_they_have() -> None:
    _, encoded = fit_encoder([chunk_of(TEXTS)], BAG)
    train = torch.tensor([[True, True, True, True, False], [True, False, True, False, False]])
    both = fit_views(encoded.rows, LABELS, 2, train, BAG).col_scale
    alone = fit_views(encoded.rows, LABELS, 2, train[1:], BAG).col_scale
    assert both is not None
    assert alone is not None
    assert torch.equal(both[1], alone[0])
    assert both[1, 4] == 0  # d: in no training row of the fold
    assert not torch.equal(both[0], both[1])


def test_of_several_classes_the_greatest_ratio_counts_and_of_one_none() -> None:
    having = torch.tensor([[0.0, 5, 1], [0, 1, 1], [0, 1, 7]], dtype=torch.float64)
    keep = torch.tensor([False, True, True])
    got = class_ratio(having, keep)
    own = [(6, 2), (2, 2), (2, 8)]
    rest = [(3, 9), (7, 9), (7, 3)]
    for v in (0, 1):
        ratios = [log(a[v] / sum(a)) - log(b[v] / sum(b)) for a, b in zip(own, rest, strict=True)]
        assert got[v + 1] == pytest.approx(max(map(abs, ratios)))
    assert got[0] == 0
    assert class_ratio(having[:1], keep).tolist() == [0, 0, 0]
