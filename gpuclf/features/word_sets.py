"""Which words speak for a class, and which are frequent, by the training rows of each view; and codes made of both.

After Bruce & Wiebe 1999, "Decomposable modeling in natural language processing": W is a collocation of sense S if
P(S | W) > 0.5. Counted with a training document's own words, nearly every rare word of it would speak for its class, so
a training row is coded by the sets that the other training rows alone would give (leave_one_out).

A view's sets stand in its col_scale, (W · (K + 1),) float32: for word w and class k, at w · (K + 1) + k, 1 where w
belongs to k; at w · (K + 1) + K the rank of w (from 1) among the view's frequent words, 0 for all others.
"""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.features.rows import CodeRows
from gpuclf.features.sense_rows import BINARY, SenseRows
from gpuclf.features.word_rows import WordRows

_ABSENT, _PRESENT = 1, 2


def fit_word_sets(rows: SenseRows, labels: Tensor, num_classes: int, train: Tensor) -> Tensor:
    """(views, W · (K + 1)) float32 for training sets train (views, docs) bool; labels (docs,) int64, -1 for none.

    Counts of all documents are taken once; those of a view are these less the counts of what it does not train on.
    """
    everyone = torch.ones_like(train[0])
    total = _counts(rows, labels, num_classes, everyone)
    views = []
    for mask in train:
        counts = total - _counts(rows, labels, num_classes, ~mask)
        sets = torch.zeros(rows.num_words, num_classes + 1, dtype=torch.float32, device=train.device)
        sets[:, :num_classes] = _members(counts, counts.sum(1, keepdim=True), rows)
        if rows.top_words:
            frequency = counts.sum(1)
            order = torch.argsort(frequency, descending=True, stable=True)[: rows.top_words]
            order = order[frequency[order] > 0]
            sets[order, num_classes] = torch.arange(1, len(order) + 1, dtype=torch.float32, device=train.device)
        views.append(sets.flatten())
    return torch.stack(views)


def fit_sets_of_words(rows: WordRows, labels: Tensor, train: Tensor) -> Tensor:
    """(views, sum of W · (K + 1)) float32: of each ambiguous word, by its own contexts, the sets that its own classes
    have; empty where a view trains on none of its contexts. labels (docs,) int64, -1 for none; train (views, docs)."""
    sets = [
        fit_word_sets(part, rows.local_labels(place, labels), len(rows.classes[place]), train[:, rows.docs(place)])
        for place, part in enumerate(rows.parts)
    ]
    return torch.cat(sets, dim=1)


def num_classes_of(rows: SenseRows, scale: Tensor) -> int:
    """K of a view's sets (see above); 0 where there are no words."""
    return max(0, scale.numel() // max(1, rows.num_words) - 1)


def held_out_codes(rows: SenseRows, scale: Tensor) -> CodeRows:
    """The documents coded by a view's sets: the fixed inputs, one for each class (none where no context has a word),
    one for each frequent word."""
    classes = num_classes_of(rows, scale)
    sets = scale.reshape(rows.num_words, classes + 1)
    return _coded(rows, sets[rows.word.long(), :classes] > 0, sets[:, classes])


def training_codes(rows: SenseRows, labels: Tensor, scale: Tensor, train: Tensor) -> CodeRows:
    """The documents coded by a view's sets, those that it trains on (docs,) bool without their own counts.

    Without leave_one_out, and for documents without a label, these are the held-out codes.
    """
    if not (rows.leave_one_out and rows.per_class and rows.num_words):
        return held_out_codes(rows, scale)
    classes = num_classes_of(rows, scale)
    sets = scale.reshape(rows.num_words, classes + 1)
    counts = _counts(rows, labels, classes, train)
    word, doc = rows.word.long(), rows.doc
    own = (train & (labels >= 0))[doc]
    mine = torch.nn.functional.one_hot(labels.clamp(min=0), classes)[doc] * own[:, None]
    others = counts[word] - mine
    members = torch.where(own[:, None], _members(others, others.sum(1, keepdim=True), rows), sets[word, :classes] > 0)
    return _coded(rows, members, sets[:, classes])


def _counts(rows: SenseRows, labels: Tensor, num_classes: int, chosen: Tensor) -> Tensor:
    """(W, K) int64: labelled documents among the chosen ones (docs,) bool that hold a word, by class."""
    word, doc = rows.word.long(), rows.doc
    kept = (chosen & (labels >= 0))[doc]
    cell = word[kept] * num_classes + labels[doc[kept]]
    return torch.bincount(cell, minlength=rows.num_words * num_classes).reshape(rows.num_words, num_classes)


def _members(counts: Tensor, total: Tensor, rows: SenseRows) -> Tensor:
    """Whether P(class | word) > threshold, of counts (n, K) and their sums (n, 1)."""
    return (counts.double() > rows.threshold * total.double()) & (total >= rows.min_count)


def _coded(rows: SenseRows, members: Tensor, rank: Tensor) -> CodeRows:
    """Codes of all documents; members (nnz, K): which classes each word of each document speaks for."""
    doc, docs = rows.doc, rows.num_docs
    parts = [rows.codes]
    if rows.per_class:
        held = torch.zeros(docs, members.shape[1], dtype=torch.int32, device=doc.device)
        parts.append(held.index_add_(0, doc, members.to(torch.int32)).clamp_(max=1) + _ABSENT)
    if rows.top_words:
        place = rank[rows.word.long()].long() - 1
        frequent = torch.full((docs, rows.top_words), _ABSENT, dtype=torch.int32, device=doc.device)
        frequent[doc[place >= 0], place[place >= 0]] = _PRESENT
        parts.append(frequent)
    codes = torch.cat(parts, dim=1)
    further = codes.shape[1] - rows.codes.shape[1]
    return CodeRows(codes, (*rows.num_values, *(BINARY,) * further))
