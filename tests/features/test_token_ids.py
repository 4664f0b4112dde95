"""Sequences of word numbers: numbering, unknown words, lengths, what a fold knows, and the way through JSON."""

from __future__ import annotations

import itertools
import json

import pytest
import torch

from gpuclf.data.records import Chunk
from gpuclf.faults import UserFault
from gpuclf.features.encoded import Encoded
from gpuclf.features.encoders import encoder_from_json, fit
from gpuclf.features.options import TokenIdsOptions
from gpuclf.features.rows import TokenRows, concatenate, rows_to
from gpuclf.features.views import fit_views, row_scale_of

TEXTS = ["A b, c d b", "", "b zz a"]


def chunk(texts: list[str]) -> Chunk:
    ids = [str(number) for number in range(len(texts))]
    return Chunk(ids, list(range(1, len(texts) + 1)), ["x"] * len(texts), texts=texts)


def tokens(encoded: Encoded) -> list[list[int]]:
    assert isinstance(encoded.rows, TokenRows)
    edges = encoded.rows.offsets.tolist()
    return [encoded.rows.ids[a:b].tolist() for a, b in itertools.pairwise(edges)]


def test_words_are_numbered_by_code_point_in_the_order_of_the_text() -> None:
    encoder, encoded = fit([chunk(TEXTS)], TokenIdsOptions())
    assert encoder.names == ["a", "b", "c", "d", "zz"]
    assert tokens(encoded) == [[1, 2, 3, 4, 2], [], [2, 5, 1]]
    assert encoded.known.tolist() == [True, False, True]
    assert isinstance(encoded.rows, TokenRows)
    assert encoded.rows.num_types == 6


def test_chunks_do_not_matter() -> None:
    whole = fit([chunk(TEXTS)], TokenIdsOptions())[1]
    parts = fit([chunk(TEXTS[:1]), chunk(TEXTS[1:])], TokenIdsOptions())[1]
    assert tokens(whole) == tokens(parts)


def test_unknown_words_are_0_and_counted() -> None:
    encoder, _ = fit([chunk(TEXTS)], TokenIdsOptions())
    again = encoder_from_json(json.loads(json.dumps(encoder.to_json())), TokenIdsOptions())
    encoded = again.encode([chunk(["q", "b q A", ""])])
    assert tokens(encoded) == [[0], [2, 0, 1], []]
    assert encoded.unknown.tolist() == [1, 1, 0]
    assert encoded.known.tolist() == [False, True, False]


def test_documents_end_after_max_len() -> None:
    options = TokenIdsOptions(max_len=2, token_pattern=r"\w|,")
    encoder, encoded = fit([chunk(TEXTS)], options)
    assert encoder.names == ["a", "b", "z"]
    assert tokens(encoded) == [[1, 2], [], [2, 3]]


def test_a_view_knows_the_words_of_its_training_rows_only() -> None:
    options = TokenIdsOptions(min_df=2)
    rows = fit([chunk(["a b", "a c", "c b b", "d d"])], options)[1].rows
    train = torch.tensor([[True, True, True, True], [True, True, False, True]])
    views = fit_views(rows, torch.zeros(4, dtype=torch.int64), 2, train, options)
    assert views.col_scale is not None
    assert views.col_scale.tolist() == [[1, 1, 1, 1, 0], [1, 1, 0, 0, 0]]
    assert views.row_scale is None
    assert row_scale_of(rows, views.col_scale[0], options) is None
    most = fit_views(rows, torch.zeros(4, dtype=torch.int64), 2, train, TokenIdsOptions(max_features=1))
    assert most.col_scale is not None
    assert most.col_scale.tolist() == [[1, 0, 1, 0, 0], [1, 1, 0, 0, 0]]  # ties: the first word


def test_rows_are_put_together_and_moved() -> None:
    rows = fit([chunk(TEXTS)], TokenIdsOptions())[1].rows
    twice = rows_to(concatenate(rows, rows), torch.device("cpu"))
    assert isinstance(twice, TokenRows)
    assert twice.num_docs == 6
    assert twice.offsets.tolist() == [0, 5, 5, 8, 13, 13, 16]


def test_what_cannot_be_is_a_fault() -> None:
    with pytest.raises(UserFault, match="no document has any word"):
        fit([chunk(["", "..."])], TokenIdsOptions())
    with pytest.raises(UserFault, match="no texts"):
        fit([Chunk(["1"], [1], ["x"], columns={"a": ["1"]})], TokenIdsOptions())
    rows = fit([chunk(TEXTS)], TokenIdsOptions())[1].rows
    with pytest.raises(UserFault, match=r"lower features\.min_df"):
        fit_views(rows, torch.zeros(3).long(), 2, torch.ones(1, 3, dtype=torch.bool), TokenIdsOptions(min_df=3))
    with pytest.raises(UserFault, match="has no document"):
        fit_views(rows, torch.zeros(3).long(), 2, torch.zeros(1, 3, dtype=torch.bool), TokenIdsOptions())
    with pytest.raises(ValueError, match="less than one"):
        TokenIdsOptions(min_df=0)
