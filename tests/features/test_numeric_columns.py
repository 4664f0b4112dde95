"""Numeric columns as codes: ranks of numbers, and missing ones (an empty cell, null, NaN, data.missing) as code 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.faults import UserFault
from gpuclf.features.categorical import CategoryEncoder, fit_categories
from gpuclf.features.encoded import Encoded
from gpuclf.features.options import CategoricalOptions
from tests.features.test_categorical_tables import WRITERS, codes_of, every_format

ROWS: list[dict[str, Any]] = [
    {"label": "A", "size": 2.5, "kind": "x"},
    {"label": "B", "size": None, "kind": "y"},
    {"label": "A", "size": 0.0, "kind": ""},
    {"label": "B", "size": -1.0, "kind": "x"},
]


def options(path: Path, **more: Any) -> DataOptions:
    given = {"train": path, "categorical": ["kind"], "numeric": ["size"], "missing_numbers": "keep", **more}
    return DataOptions.model_validate(given)


def fitted(path: Path, **more: Any) -> tuple[CategoryEncoder, Encoded]:
    return fit_categories(open_reader(path, options(path, **more)).chunks(), CategoricalOptions())


@every_format
def test_a_missing_number_is_code_0_in_every_format(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"t.{format}"
    WRITERS[format](path, ROWS, ["size", "label", "kind"])
    encoder, encoded = fitted(path)
    assert encoder.numbers == {"size": [-1.0, 0.0, 2.5]}
    assert [row[1] for row in codes_of(encoded)] == [3, 0, 2, 1]
    assert encoded.unknown.tolist() == [0, 0, 0, 0]  # missing is not unseen
    assert [encoder.value_name("size", code) for code in (0, 3)] == ["(missing)", "2.5"]
    again = CategoryEncoder.from_json(encoder.to_json()).encode(open_reader(path, options(path)).chunks())
    assert codes_of(again) == codes_of(encoded)


@pytest.mark.parametrize("format", ["tsv", "csv", "parquet"])
def test_nan_is_missing_and_infinity_refused(tmp_path: Path, format: str) -> None:
    """JSON has neither; there null is a missing number."""
    path = tmp_path / f"t.{format}"
    WRITERS[format](path, [*ROWS, {"label": "A", "size": float("nan"), "kind": "x"}], ["label", "size", "kind"])
    assert [row[1] for row in codes_of(fitted(path)[1])] == [3, 0, 2, 1, 0]
    WRITERS[format](path, [*ROWS, {"label": "A", "size": float("-inf"), "kind": "x"}], ["label", "size", "kind"])
    with pytest.raises(UserFault, match="-inf is not a finite number"):
        fitted(path)


def test_cells_that_data_missing_names_and_only_these_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("label,size,kind\nA,?,x\nB,7,y\nA,NA,x\n")
    assert [row[1] for row in codes_of(fitted(path, missing=["?", "NA"])[1])] == [0, 1, 0]
    with pytest.raises(UserFault, match="'NA' is not a number"):
        fitted(path, missing=["?"])


def test_a_column_of_missing_numbers_alone_and_new_numbers(tmp_path: Path) -> None:
    path, other = tmp_path / "t.csv", tmp_path / "other.csv"
    path.write_text("label,size,kind\nA,,x\n")
    other.write_text("label,size,kind\nA,5,x\nB,,x\n")
    encoder, encoded = fitted(path)
    assert (encoder.numbers, codes_of(encoded)) == ({"size": []}, [[1, 0]])
    assert codes_of(encoder.encode(open_reader(other, options(other)).chunks())) == [[1, 0], [1, 0]]
