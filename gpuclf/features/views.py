"""What features learn from training rows: document frequency, pruning, selection, idf and norms; a view a training set.

A view sees its training rows and nothing else, so cross-validation leaks nothing and a fold's view equals that of a
separate run on those rows. Counts are integers; sums are float64 in row order; bits do not depend on threads.
"""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.class_ratio import class_ratio
from gpuclf.features.options import (
    CategoricalOptions,
    ReviewContextOptions,
    RowFeatureOptions,
    TokenIdsOptions,
    WeightedFeatureOptions,
    WordSenseOptions,
)
from gpuclf.features.rows import ReviewRows, Rows, SparseRows, TokenRows, Views
from gpuclf.features.selection import chi_squared, information_gain, top_features
from gpuclf.features.sense_rows import SenseRows
from gpuclf.features.word_rows import WordRows
from gpuclf.features.word_sets import fit_sets_of_words, fit_word_sets
from gpuclf.ops.column_sums import column_sums
from gpuclf.ops.row_norms import row_norms
from gpuclf.ops.threads import run_on_threads


def fit_views(rows: Rows, labels: Tensor, num_classes: int, train: Tensor, options: RowFeatureOptions) -> Views:
    """Scales for each training set: labels (docs,) int64, -1 for none; train (views, docs) bool.

    Of token rows a scale says which words the view knows: 1, or 0 for those that count as unknown. Codes have none:
    what their learners take from values, they take from a view's training rows.
    Selection uses the labelled training rows. A feature that a view's training rows do not hold gets col_scale 0.
    Raises UserFault where a view has no training row, or pruning leaves it no feature.
    """
    if isinstance(rows, SenseRows):
        return Views(train=train, col_scale=fit_word_sets(rows, labels, num_classes, train))
    if isinstance(rows, WordRows):
        return Views(train=train, col_scale=fit_sets_of_words(rows, labels, train))
    if isinstance(rows, TokenRows):
        assert isinstance(options, TokenIdsOptions), "tokens have options of their own"
        return Views(train=train, col_scale=torch.stack([_known_words(rows, mask, options) for mask in train]))
    if not isinstance(rows, SparseRows):
        return Views(train=train)
    assert not isinstance(options, CategoricalOptions | WordSenseOptions | TokenIdsOptions), "these are not sparse"
    views, docs = train.shape
    assert docs == rows.num_docs, "train has a column for every row"
    col_scale = torch.empty(views, rows.num_features + 1, dtype=torch.float32, device=train.device)
    row_scale = torch.empty(views, docs, dtype=torch.float32, device=train.device)

    of_neighbours: Tensor | None = None  # whether a view knows the words of the last columns, place by place
    if isinstance(rows, ReviewRows) and isinstance(options, ReviewContextOptions) and options.neighbours:
        of_neighbours = rows.known_words(train).to(col_scale.dtype).repeat(1, 2 * options.neighbours)

    def fit(view: int) -> None:
        col_scale[view] = _column_scale(rows, labels, num_classes, train[view], options)
        if of_neighbours is not None and of_neighbours.shape[1]:
            col_scale[view, -of_neighbours.shape[1] :] *= of_neighbours[view]
        row_scale[view] = apply_scales(rows, col_scale[view], options)

    run_on_threads([partial(fit, view) for view in range(views)])
    return Views(train=train, col_scale=col_scale, row_scale=row_scale)


def row_scale_of(rows: Rows, col_scale: Tensor | None, options: RowFeatureOptions) -> Tensor | None:
    """`apply_scales` for rows of any kind: None for those without scales."""
    if not isinstance(rows, SparseRows):
        return None
    assert col_scale is not None
    assert not isinstance(options, CategoricalOptions | WordSenseOptions | TokenIdsOptions)
    return apply_scales(rows, col_scale, options)


def apply_scales(rows: SparseRows, col_scale: Tensor, options: WeightedFeatureOptions) -> Tensor:
    """row_scale (docs,) float32 of any documents under a fitted view's col_scale (V+1,): 1/norm, or 1."""
    if options.norm == "none":
        return torch.ones(rows.num_docs, dtype=torch.float32, device=col_scale.device)
    norms = row_norms(rows.crow, rows.col, rows.val, col_scale, 1 if options.norm == "l1" else 2)
    return torch.where(norms > 0, 1.0 / norms, 1.0).to(torch.float32)


def _known_words(rows: TokenRows, train: Tensor, options: TokenIdsOptions) -> Tensor:
    """(V+1,) float32: 1 for the words that a training set knows, and for entry 0, the unknown word; else 0."""
    num_train = int(train.sum())
    if not num_train:
        raise UserFault("a training set has no document", remedy="use fewer folds or a smaller held-out part")
    doc = torch.repeat_interleave(rows.offsets.diff())
    seen = train[doc]
    ids, doc = rows.ids[seen].long(), doc[seen]
    pairs = torch.unique(doc * rows.num_types + ids)
    df = torch.bincount(pairs % rows.num_types, minlength=rows.num_types)
    least = options.min_df if isinstance(options.min_df, int) else options.min_df * num_train
    keep = df >= max(least, 1)
    keep[0] = False
    if options.max_features is not None:
        total = torch.bincount(ids, minlength=rows.num_types).to(torch.float64)
        keep = top_features(total, keep, options.max_features)
    if not keep.any():
        raise UserFault(
            f"no word occurs in {least:g} of a training set's {num_train} documents",
            key="features.min_df",
            remedy="lower features.min_df",
        )
    keep[0] = True
    return keep.to(torch.float32)


def _column_scale(
    rows: SparseRows, labels: Tensor, num_classes: int, train: Tensor, options: WeightedFeatureOptions
) -> Tensor:
    """(V+1,) float32: idf or ratio of the features that are left, 0 for the others, 1 for the offset."""
    num_train = int(train.sum())
    if not num_train:
        raise UserFault("a training set has no document", remedy="use fewer folds or a smaller held-out part")
    df = _sums(rows, torch.where(train, 0, -1), 1, binary=True)[0]
    keep = _in_limits(df, num_train, options)
    if options.max_features is not None:
        total = _sums(rows, torch.where(train, 0, -1), 1, binary=False)[0]
        keep = top_features(total, keep, options.max_features)
    if options.select is not None:
        group = torch.where(train, labels, -1)
        keep = top_features(_relevance(rows, group, num_classes, df, options), keep, options.select.k)
    scale = torch.where(keep, 1.0, 0.0).to(torch.float64)
    if options.weighting == "tfidf":
        scale = torch.where(keep, _idf(df, num_train, options.smooth_idf), 0.0)
    elif options.weighting == "nb_ratio":
        scale = class_ratio(_sums(rows, torch.where(train, labels, -1), num_classes, binary=True), keep)
    scale[0] = 1.0
    return scale.to(torch.float32)


def _in_limits(df: Tensor, num_train: int, options: WeightedFeatureOptions) -> Tensor:
    """(V+1,) bool: features whose document frequency min_df and max_df allow, both ends included."""
    least = options.min_df if isinstance(options.min_df, int) else options.min_df * num_train
    most = options.max_df if isinstance(options.max_df, int) else options.max_df * num_train
    keep = (df >= max(least, 1)) & (df <= most)
    keep[0] = False
    if not keep.any():
        raise UserFault(
            f"no feature occurs in {least:g} to {most:g} of a training set's {num_train} documents",
            key="features.min_df",
            remedy="lower features.min_df or raise features.max_df",
        )
    return keep


def _idf(df: Tensor, num_train: int, smooth: bool) -> Tensor:
    """ln((1 + n) / (1 + df)) + 1, or without smoothing ln(n / df) + 1 (scikit-learn's TfidfTransformer); float64."""
    extra = 1.0 if smooth else 0.0
    return torch.log((num_train + extra) / (df.clamp(min=1.0) + extra)) + 1.0


def _relevance(
    rows: SparseRows, group: Tensor, num_classes: int, df: Tensor, options: WeightedFeatureOptions
) -> Tensor:
    assert options.select is not None
    class_docs = torch.bincount(group[group >= 0], minlength=num_classes).to(torch.float64)
    if options.select.method == "information_gain":
        return information_gain(_sums(rows, group, num_classes, binary=True), class_docs)
    if rows.val.numel() and float(rows.val.min()) < 0:
        raise UserFault(
            "chi2 needs values that are not negative",
            key="features.select.method",
            remedy="use information_gain, or values from 0",
        )
    return chi_squared(_sums(rows, group, num_classes, binary=False), class_docs)


def _sums(rows: SparseRows, group: Tensor, num_groups: int, *, binary: bool) -> Tensor:
    val = None if binary else rows.val
    return column_sums(rows.crow, rows.col, val, group, num_groups, rows.num_features + 1)
