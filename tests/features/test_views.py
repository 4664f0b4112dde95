"""Views: what is learnt from training rows, against scikit-learn and against runs on those rows alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.feature_selection import chi2, mutual_info_classif
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.encoder import Encoded, Encoder, fit_encoder
from gpuclf.features.options import AsGivenOptions, BagOfWordsOptions
from gpuclf.features.rows import SparseRows, Views
from gpuclf.features.views import apply_scales, fit_views
from tests.features.documents import chunk_of, dense

DOCS, CLASSES = 60, 3


def corpus(seed: int = 0) -> tuple[list[str], Tensor]:
    """Documents whose words lean towards a class; one is empty."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, CLASSES, DOCS)
    texts = [" ".join(f"w{int(w)}" for w in generator.zipf(1.5, 12) % 40 + 7 * label) for label in labels]
    texts[5] = ""
    return texts, torch.from_numpy(labels)


def encoded_corpus(**options: Any) -> tuple[Encoder, Encoded, Tensor, BagOfWordsOptions]:
    texts, labels = corpus()
    bag = BagOfWordsOptions(**options)
    return *fit_encoder([chunk_of(texts)], bag), labels, bag


def three_views() -> Tensor:
    train = torch.ones(3, DOCS, dtype=torch.bool)
    train[1, ::3] = False
    train[2, 20:] = False
    return train


def values(rows: SparseRows, views: Views, view: int) -> Tensor:
    """(docs, V) float64 of a view."""
    assert views.col_scale is not None
    assert views.row_scale is not None
    doc = torch.repeat_interleave(torch.arange(rows.num_docs), rows.crow.diff())
    matrix = torch.zeros(rows.num_docs, rows.num_features + 1, dtype=torch.float64)
    matrix[doc, rows.col.long()] = rows.val.double() * views.col_scale[view][rows.col.long()].double()
    return (matrix * views.row_scale[view][:, None].double())[:, 1:]


@pytest.mark.parametrize("sublinear", [False, True])
@pytest.mark.parametrize("smooth", [False, True])
@pytest.mark.parametrize("norm", ["none", "l1", "l2"])
def test_every_view_is_scikit_learns_tfidf_of_its_training_rows(norm: Any, smooth: bool, sublinear: bool) -> None:
    options = {"weighting": "tfidf", "norm": norm, "smooth_idf": smooth, "sublinear": sublinear}
    encoder, encoded, labels, bag = encoded_corpus(**options)
    train = three_views()
    views = fit_views(encoded.rows, labels, CLASSES, train, bag)
    texts, _ = corpus()
    count = CountVectorizer(token_pattern=r"\w+", vocabulary=encoder.names).transform(texts)
    for view in range(3):
        chosen = train[view].numpy()
        seen = np.asarray(count[chosen].sum(0)).ravel() > 0
        peer = TfidfTransformer(norm=None if norm == "none" else norm, smooth_idf=smooth, sublinear_tf=sublinear)
        peer.fit(count[chosen][:, seen])
        expected = np.zeros(count.shape)
        expected[:, seen] = peer.transform(count[:, seen]).toarray()
        torch.testing.assert_close(values(encoded.rows, views, view), torch.from_numpy(expected), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weighting": "tfidf", "norm": "l2"},
        {"min_df": 2, "max_df": 0.5, "norm": "l1"},
        {"max_features": 9, "weighting": "tfidf"},
        {"select": {"method": "chi2", "k": 7}},
        {"select": {"method": "information_gain", "k": 7}, "min_df": 3, "norm": "l2"},
    ],
)
def test_a_fold_learns_what_a_run_on_its_training_rows_alone_learns(options: dict[str, Any]) -> None:
    encoder, encoded, labels, bag = encoded_corpus(**options)
    texts, _ = corpus()
    train = three_views()
    views = fit_views(encoded.rows, labels, CLASSES, train, bag)
    assert views.col_scale is not None
    assert views.row_scale is not None
    assert views.num_views == 3
    assert (views.col_scale[:, 0] == 1).all()
    for view in range(3):
        rows = torch.nonzero(train[view]).flatten().tolist()
        alone, alone_encoded = fit_encoder([chunk_of([texts[i] for i in rows])], bag)
        everything = torch.ones(1, len(rows), dtype=torch.bool)
        alone_views = fit_views(alone_encoded.rows, labels[rows], CLASSES, everything, bag)
        assert alone_views.col_scale is not None
        assert alone_views.row_scale is not None
        of_alone = dict(zip(alone.names, alone_views.col_scale[0, 1:].tolist(), strict=True))
        for name, scale in zip(encoder.names, views.col_scale[view, 1:].tolist(), strict=True):
            assert scale == of_alone.get(name, 0.0)
        assert torch.equal(views.row_scale[view][rows], alone_views.row_scale[0])
        held_out = [i for i in range(DOCS) if i not in rows]
        new = alone.encode([chunk_of([texts[i] for i in held_out])])
        applied = apply_scales(new.rows, alone_views.col_scale[0], bag)
        assert torch.equal(views.row_scale[view][held_out], applied)


def kept(views: Views, view: int) -> list[int]:
    assert views.col_scale is not None
    return torch.nonzero(views.col_scale[view, 1:]).flatten().tolist()


@pytest.mark.parametrize(("min_df", "max_df"), [(1, 1.0), (3, 1.0), (1, 10), (0.1, 0.5), (5, 5), (0.0, 0.3)])
def test_document_frequency_limits(min_df: float, max_df: float) -> None:
    _, encoded, labels, bag = encoded_corpus(min_df=min_df, max_df=max_df)
    train = three_views()
    views = fit_views(encoded.rows, labels, CLASSES, train, bag)
    for view in range(3):
        df = (dense(encoded)[train[view]] > 0).sum(0)
        n = int(train[view].sum())
        least = min_df if isinstance(min_df, int) else min_df * n
        most = max_df if isinstance(max_df, int) else max_df * n
        assert kept(views, view) == torch.nonzero((df > 0) & (df >= least) & (df <= most)).flatten().tolist()


def test_max_features_takes_the_most_frequent_and_breaks_ties_by_name() -> None:
    bag = BagOfWordsOptions(max_features=3)
    encoder, encoded = fit_encoder([chunk_of(["d d d a b c", "c b a e"])], bag)
    views = fit_views(encoded.rows, torch.tensor([0, 1]), 2, torch.tensor([[True, True], [False, True]]), bag)
    assert [[encoder.names[i] for i in kept(views, v)] for v in range(2)] == [["a", "b", "d"], ["a", "b", "c"]]


def test_chi_squared_is_scikit_learns() -> None:
    _, encoded, labels, bag = encoded_corpus(select={"method": "chi2", "k": 10})
    train = three_views()
    views = fit_views(encoded.rows, labels, CLASSES, train, bag)
    for view in range(3):
        scores, _ = chi2(dense(encoded)[train[view]].double().numpy() + 0.0, labels[train[view]].numpy())
        order = np.argsort(-np.nan_to_num(scores, nan=-1.0), kind="stable")[:10]
        np.testing.assert_allclose(np.sort(scores[kept(views, view)]), np.sort(scores[order]), rtol=1e-12)


def test_chi_squared_and_information_gain_scores() -> None:
    from gpuclf.features.selection import chi_squared, information_gain

    _, encoded, labels, _ = encoded_corpus()
    matrix = dense(encoded).double()
    one_hot = torch.nn.functional.one_hot(labels, CLASSES).double()
    scores = chi_squared(one_hot.T @ matrix, one_hot.sum(0))
    np.testing.assert_allclose(scores.numpy(), chi2(matrix.numpy(), labels.numpy())[0], rtol=1e-12)
    present = (matrix > 0).double()
    gain = information_gain(one_hot.T @ present, one_hot.sum(0))
    expected = mutual_info_classif(present.numpy(), labels.numpy(), discrete_features=True)
    np.testing.assert_allclose(gain.numpy(), expected, rtol=1e-9, atol=1e-12)


def test_selection_reads_training_labels_only() -> None:
    _, encoded, labels, bag = encoded_corpus(select={"method": "chi2", "k": 5})
    train = three_views()
    before = fit_views(encoded.rows, labels, CLASSES, train, bag)
    hidden = torch.where(train[1], labels, (labels + 1) % CLASSES)
    without = torch.where(train[1], labels, -1)
    assert kept(fit_views(encoded.rows, hidden, CLASSES, train, bag), 1) == kept(before, 1)
    assert kept(fit_views(encoded.rows, without, CLASSES, train, bag), 1) == kept(before, 1)


def test_negative_values_have_no_chi_squared() -> None:
    rows = SparseRows(torch.tensor([0, 1, 2]), torch.tensor([1, 1], dtype=torch.int32), torch.tensor([1.0, -1.0]), 1)
    options = AsGivenOptions(select={"method": "chi2", "k": 1})
    with pytest.raises(UserFault, match="not negative"):
        fit_views(rows, torch.tensor([0, 1]), 2, torch.ones(1, 2, dtype=torch.bool), options)


def test_empty_rows_and_negative_values_have_a_norm() -> None:
    rows = SparseRows(torch.tensor([0, 2, 2]), torch.tensor([1, 2], dtype=torch.int32), torch.tensor([3.0, -4.0]), 2)
    for norm, expected in (("l1", 1 / 7), ("l2", 1 / 5)):
        scale = apply_scales(rows, torch.ones(3), AsGivenOptions(norm=norm))
        torch.testing.assert_close(scale, torch.tensor([expected, 1.0]))


def test_a_view_without_features_or_documents_is_a_fault() -> None:
    _, encoded, labels, bag = encoded_corpus(min_df=DOCS)
    with pytest.raises(UserFault, match=r"features\.min_df.*lower features\.min_df"):
        fit_views(encoded.rows, labels, CLASSES, three_views(), bag)
    with pytest.raises(UserFault, match="has no document"):
        fit_views(encoded.rows, labels, CLASSES, torch.zeros(1, DOCS, dtype=torch.bool), bag)


def test_threads_do_not_change_bits() -> None:
    _, encoded, labels, bag = encoded_corpus(weighting="tfidf", norm="l2", select={"method": "chi2", "k": 20})
    threads = torch.get_num_threads()
    results = []
    for count in (1, 3):
        torch.set_num_threads(count)
        try:
            results.append(fit_views(encoded.rows, labels, CLASSES, three_views(), bag))
        finally:
            torch.set_num_threads(threads)
    assert results[0].col_scale is not None
    assert results[1].col_scale is not None
    assert torch.equal(results[0].col_scale, results[1].col_scale)
    assert results[0].row_scale is not None
    assert results[1].row_scale is not None
    assert torch.equal(results[0].row_scale, results[1].row_scale)
