"""Documents as codes of categorical variables, the class being variable 0: what a graph is searched and counted on."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.rows import CodeRows, Rows, SparseRows
from gpuclf.features.sense_rows import BINARY, SenseRows
from gpuclf.features.word_sets import fit_word_sets, held_out_codes, training_codes

MOST_INPUTS = 1500
_ABSENT, _PRESENT = 1, 2


@dataclass(frozen=True)
class Variables:
    """codes (V, docs) int32 below num_values (V,) int64; labels (docs,) int64: classes of the rows that are counted, −1
    for all others. levels (V,) int64: how many values a variable has, the unseen one of categories included; occurring
    (V,) int64: how many the counted rows have. seen (values of all inputs,) bool: codes of inputs that are kept, others
    become 0. documents: N.
    """

    codes: Tensor
    num_values: Tensor
    labels: Tensor
    levels: Tensor
    occurring: Tensor
    seen: Tensor
    documents: int


def num_inputs(rows: Rows, num_classes: int) -> int:
    """How many inputs the rows give. UserFault where there are none, or too many to search over all pairs."""
    if isinstance(rows, SparseRows):
        count = rows.num_features
    elif isinstance(rows, SenseRows):
        count = len(rows.num_values) + rows.per_class * num_classes + rows.top_words
    else:
        assert isinstance(rows, CodeRows), "a decomposable model is searched on codes, contexts or bags"
        count = len(rows.num_values)
    if not count:
        raise UserFault("a decomposable model needs an input, and the data have none", key="features")
    if count > MOST_INPUTS:
        raise UserFault(
            f"{count:,} inputs have {count * (count - 1) // 2:,} pairs; up to {MOST_INPUTS:,} inputs are searched over",
            key="features",
            remedy="let words share inputs (features.hashing: {bits: 10}), give fewer columns, or take another learner",
        )
    return count


def input_codes(rows: Rows, col_scale: Tensor | None) -> CodeRows:
    """Any rows as codes of inputs, as a held-out document is seen. Bags: absent or present."""
    if isinstance(rows, CodeRows):
        return rows
    if isinstance(rows, SenseRows):
        assert col_scale is not None, "contexts have word sets"
        return held_out_codes(rows, col_scale)
    assert isinstance(rows, SparseRows)
    table = torch.full((rows.num_docs, rows.num_features), _ABSENT, dtype=torch.int32, device=rows.col.device)
    doc = torch.repeat_interleave(torch.arange(rows.num_docs, device=rows.col.device), rows.crow.diff())
    col = rows.col.long()
    kept = rows.val != 0
    if col_scale is not None:
        kept = kept & (col_scale[col] != 0)
    table[doc[kept], col[kept] - 1] = _PRESENT
    return CodeRows(table, (BINARY,) * rows.num_features)


def variables_of(rows: Rows, labels: Tensor, num_classes: int, train: Tensor, col_scale: Tensor | None) -> Variables:
    """The variables as a training set sees them: its labelled rows train (docs,) bool are counted.

    col_scale: what the training set's features taught; word sets are learnt anew where it is None.
    """
    if isinstance(rows, SenseRows):
        sets = fit_word_sets(rows, labels, num_classes, train[None])[0] if col_scale is None else col_scale
        inputs = training_codes(rows, labels, sets, train)
    else:
        inputs = input_codes(rows, col_scale)
    counted = train & (labels >= 0)
    codes = inputs.codes.T.contiguous()
    binary = first_binary(rows)
    seen, levels, occurring = [], [num_classes], [int(labels[counted].unique().numel())]
    for place, values in enumerate(inputs.num_values):
        held = torch.zeros(values, dtype=torch.bool, device=codes.device)
        held[codes[place, counted].long()] = True
        occurring.append(int(held.sum()))
        if place >= binary:
            levels.append(values - 1)
            held[:] = True
        else:
            held[0] = False
            levels.append(int(held.sum()) + 1)
        seen.append(held)
    mask = torch.cat(seen)
    codes = torch.cat([labels.clamp(min=0).to(torch.int32)[None], known_codes(codes, inputs.num_values, mask)])
    device = codes.device
    return Variables(
        codes=codes,
        num_values=torch.tensor([num_classes, *inputs.num_values], device=device),
        labels=torch.where(counted, labels, -1),
        levels=torch.tensor(levels, device=device),
        occurring=torch.tensor(occurring, device=device),
        seen=mask,
        documents=int(counted.sum()),
    )


def known_codes(codes: Tensor, num_values: tuple[int, ...], seen: Tensor) -> Tensor:
    """codes (M, n) int32 with 0 in place of those that are not seen (values of all inputs,) bool."""
    base = torch.tensor([0, *num_values[:-1]], device=codes.device).cumsum(0)
    return torch.where(seen[codes.long() + base[:, None]], codes, 0)


def first_binary(rows: Rows) -> int:
    """The first of the inputs that are absent or present by their making, and never unseen."""
    if isinstance(rows, SparseRows):
        return 0
    return len(rows.num_values) if isinstance(rows, SenseRows | CodeRows) else 0
