"""svmlight indices, named features and tables."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from gpuclf.data.records import Chunk, IndexedFeatures, NamedFeatures
from gpuclf.faults import UserFault
from gpuclf.features.encoder import Encoder, fit_encoder
from gpuclf.features.options import AsGivenOptions, BagOfWordsOptions, FeatureOptions, TableOptions
from tests.features.documents import chunk_of, counts, dense, table_of


def indexed(*rows: dict[int, float]) -> Chunk:
    given = IndexedFeatures(
        np.cumsum([0, *map(len, rows)]).astype(np.int64),
        np.array([index for row in rows for index in row], dtype=np.int64),
        np.array([value for row in rows for value in row.values()], dtype=np.float32),
    )
    ids = [str(i) for i in range(len(rows))]
    return Chunk(ids, list(range(1, len(rows) + 1)), None, indexed=given)


def named(*rows: list[tuple[str, float]]) -> Chunk:
    given = NamedFeatures(
        np.cumsum([0, *map(len, rows)]).astype(np.int64),
        [name for row in rows for name, _ in row],
        np.array([value for row in rows for _, value in row], dtype=np.float32),
    )
    ids = [str(i) for i in range(len(rows))]
    return Chunk(ids, list(range(1, len(rows) + 1)), None, named=given)


def reloaded(encoder: Encoder, options: FeatureOptions) -> Encoder:
    return Encoder.from_json(json.loads(json.dumps(encoder.to_json())), options)


def test_indices_beyond_32_bits_keep_apart() -> None:
    """Case o22: 2^32 + 1 is not 1, and memory follows the indices that are used."""
    options = AsGivenOptions()
    big = [1, 2**31 - 1, 2**31, 2**32 + 1, 2**53 + 1, 2**63 - 1]
    encoder, encoded = fit_encoder([indexed({1: 1.0}, *({index: 2.0} for index in big[1:]))], options)
    assert encoder.names == [str(index) for index in big]
    assert encoded.rows.num_features == len(big)
    assert encoded.rows.col.tolist() == [1, 2, 3, 4, 5, 6]
    new = reloaded(encoder, options).encode([indexed({2**32 + 1: 1.0}, {5: 1.0, 6: 9.0}, {})])
    assert counts(encoder, new) == [{str(2**32 + 1): 1.0}, {}, {}]
    assert new.unknown.tolist() == [0, 2, 0]
    assert new.known.tolist() == [True, False, False]


def test_indices_are_sorted_by_value_and_keep_their_base() -> None:
    encoder, encoded = fit_encoder([indexed({0: 1.5, 10: -2.0}), indexed({2: 3.0, 10: 4.0})], AsGivenOptions())
    assert encoder.names == ["0", "2", "10"]
    assert dense(encoded).tolist() == [[1.5, 0, -2], [0, 3, 4]]


def test_a_zero_that_is_left_out_is_the_same_row() -> None:
    """Case o21: readers drop written zeros, so both files give the same encoder; binary keeps only what is there."""
    encoder, encoded = fit_encoder([indexed({1: 2.0, 3: -1.0}, {})], AsGivenOptions(weighting="binary"))
    assert dense(encoded).tolist() == [[1, 1], [0, 0]]
    assert encoded.known.tolist() == [True, False]
    assert encoder.names == ["1", "3"]


def test_named_features_are_summed_in_their_row() -> None:
    chunk = named([("b", 1.0), ("a", 0.5), ("b", 2.0)], [("a", 1.0), ("a", -1.0)], [])
    options = AsGivenOptions()
    encoder, encoded = fit_encoder([chunk], options)
    assert encoder.names == ["a", "b"]
    assert dense(encoded).tolist() == [[0.5, 3.0], [0, 0], [0, 0]]
    assert encoded.rows.crow.tolist() == [0, 2, 2, 2]
    new = reloaded(encoder, options).encode([named([("c", 5.0), ("c", -5.0), ("b", 1.0)])])
    assert new.unknown.tolist() == [2]
    assert dense(new).tolist() == [[0.0, 1.0]]


def test_sums_beyond_float32_are_refused() -> None:
    with pytest.raises(UserFault, match="beyond the range"):
        fit_encoder([named([("a", 3e38), ("a", 3e38)])], AsGivenOptions())


def test_kinds_do_not_mix() -> None:
    encoder, _ = fit_encoder([named([("1", 1.0)])], AsGivenOptions())
    with pytest.raises(UserFault, match="indexed features, the model was trained on named"):
        encoder.encode([indexed({1: 1.0})])
    with pytest.raises(UserFault, match=r"features\.type.*use bag_of_words"):
        fit_encoder([chunk_of(["text"])], AsGivenOptions())
    with pytest.raises(UserFault, match="use as_given"):
        fit_encoder([indexed({1: 1.0})], BagOfWordsOptions())
    with pytest.raises(UserFault, match="use table"):
        fit_encoder([table_of({"a": ["x"]})], BagOfWordsOptions())


TRAIN = {"city": ["Lima", "Oslo", "Accra", "Lima"], "grade": ["hi", "lo", "hi", "lo"]}


def test_categories_are_found_by_name_and_value_never_by_code() -> None:
    """Case o20: without Lima every later code would move; columns may stand in any order, and others may be there."""
    options = TableOptions()
    encoder, _ = fit_encoder([table_of(TRAIN)], options)
    assert encoder.names == ["city=Accra", "city=Lima", "city=Oslo", "grade=hi", "grade=lo"]
    encoder = reloaded(encoder, options)
    new = encoder.encode([table_of({"grade": ["lo", "hi"], "extra": ["a", "b"], "city": ["Oslo", "Quito"]})])
    assert counts(encoder, new) == [{"city=Oslo": 1.0, "grade=lo": 1.0}, {"grade=hi": 1.0}]
    assert new.unknown.tolist() == [0, 1]


def test_missing_column_is_refused_by_name() -> None:
    """Case o20."""
    encoder, _ = fit_encoder([table_of(TRAIN)], TableOptions())
    with pytest.raises(UserFault, match=r"line 2: column 'grade' is missing.*city, grade"):
        encoder.encode([table_of({"city": ["Lima"]})])


def test_tables_with_numbers_bring_their_names_along() -> None:
    given = NamedFeatures(np.array([0, 2, 3]), ["sex=f", "age", "sex=m"], np.array([1.0, 3.5, 1.0], dtype=np.float32))
    chunk = Chunk(["1", "2"], [2, 3], None, named=given, columns={"sex": ["f", "m"]})
    encoder, encoded = fit_encoder([chunk], TableOptions())
    assert encoder.names == ["age", "sex=f", "sex=m"]
    assert dense(encoded).tolist() == [[3.5, 1, 0], [0, 0, 1]]
    without = Chunk(["1", "2"], [2, 3], None, named=given)
    with pytest.raises(UserFault, match="column 'sex' is missing"):
        encoder.encode([without])
    numbers_alone, _ = fit_encoder([without], TableOptions())
    assert numbers_alone.names == encoder.names


def test_labels_ids_lines_and_groups_follow() -> None:
    chunks = [
        Chunk(["x", "y"], [2, 5], ["p", "n"], texts=["a", "b"], groups=["g", "h"]),
        Chunk(["z"], [9], ["p"], texts=["a"], groups=["g"]),
    ]
    _, encoded = fit_encoder(chunks, BagOfWordsOptions())
    assert (encoded.ids, encoded.lines) == (["x", "y", "z"], [2, 5, 9])
    assert (encoded.labels, encoded.groups) == (["p", "n", "p"], ["g", "h", "g"])
    assert torch.equal(encoded.rows.crow, torch.tensor([0, 1, 2, 3]))
    assert chunks[0].ids == ["x", "y"]
    assert chunks[0].labels == ["p", "n"]
