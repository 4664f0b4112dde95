"""Tables of categories by column names: the same codes from TSV, CSV, JSON lines and Parquet, whatever cells hold."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.faults import UserFault
from gpuclf.features.categorical import CategoryEncoder, fit_categories
from gpuclf.features.encoded import Encoded
from gpuclf.features.options import CategoricalOptions
from gpuclf.features.rows import CodeRows

INPUTS = ["quote", "code", "maybe"]
ROWS: list[dict[str, Any]] = [
    {"label": "A", "quote": 'he said "she said ""no"""', "code": 7, "maybe": "x"},
    {"label": "B", "quote": 'a, "b", c', "code": -12, "maybe": None},
    {"label": "7", "quote": '"', "code": 9_007_199_254_740_993, "maybe": "é"},
    {"label": "A", "quote": " spaced ", "code": None, "maybe": None},
]


def as_tsv(path: Path, rows: list[dict[str, Any]], order: list[str]) -> None:
    lines = ["\t".join("" if row[name] is None else str(row[name]) for name in order) for row in rows]
    path.write_text("\n".join(["\t".join(order), *lines]) + "\n", encoding="utf-8")


def as_csv(path: Path, rows: list[dict[str, Any]], order: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, order)
        writer.writeheader()
        writer.writerows({name: row[name] for name in order} for row in rows)


def as_jsonl(path: Path, rows: list[dict[str, Any]], order: list[str]) -> None:
    lines = [json.dumps({name: row[name] for name in order}) for row in rows]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def as_parquet(path: Path, rows: list[dict[str, Any]], order: list[str]) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    columns = {name: pa.array([row[name] for row in rows]) for name in order}
    if "quote" in columns:
        columns["quote"] = columns["quote"].dictionary_encode()
    pq.write_table(pa.table(columns), path)


WRITERS = {"tsv": as_tsv, "csv": as_csv, "jsonl": as_jsonl, "parquet": as_parquet}
every_format = pytest.mark.parametrize("format", WRITERS)


def options(path: Path, inputs: list[str] = INPUTS) -> DataOptions:
    return DataOptions.model_validate({"train": path, "categorical": inputs})


def codes_of(encoded: Encoded) -> list[list[int]]:
    assert isinstance(encoded.rows, CodeRows)
    rows: list[list[int]] = encoded.rows.codes.tolist()
    return rows


def fitted(path: Path) -> tuple[CategoryEncoder, Encoded]:
    return fit_categories(open_reader(path, options(path)).chunks(), CategoricalOptions())


@every_format
def test_every_format_gives_the_same_codes(tmp_path: Path, format: str) -> None:
    """Quotes inside quotes, numbers beyond float64, nulls (the value of an empty cell), a label that is a number."""
    path = tmp_path / f"t.{format}"
    WRITERS[format](path, ROWS, ["maybe", "label", "code", "quote"])
    encoder, encoded = fitted(path)
    assert encoder.values == {
        "code": ["", "-12", "7", "9007199254740993"],
        "maybe": ["", "x", "é"],
        "quote": sorted(row["quote"] for row in ROWS),
    }
    assert encoded.labels == ["A", "B", "7", "A"]
    codes = codes_of(encoded)
    assert [row[:2] for row in codes] == [[3, 2], [2, 1], [4, 3], [1, 1]]
    named = [[encoder.value_name(name, code) for name, code in zip(encoder.names, row, strict=True)] for row in codes]
    wanted = [[str(row["code"] or ""), row["maybe"] or "", row["quote"]] for row in ROWS]
    assert named == wanted


@every_format
def test_a_new_file_is_read_by_names_and_its_own_values_are_unseen(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"t.{format}"
    WRITERS[format](path, ROWS, ["label", *INPUTS])
    encoder, _ = fitted(path)
    fresh = [{**ROWS[1], "code": 13}, {**ROWS[0], "maybe": "new"}]
    other = tmp_path / f"other.{format}"
    WRITERS[format](other, fresh, ["code", "quote", "label", "maybe"])
    found = encoder.encode(open_reader(other, options(path)).chunks())
    assert codes_of(found) == [
        [0, 1, encoder.values["quote"].index('a, "b", c') + 1],
        [3, 0, encoder.values["quote"].index(ROWS[0]["quote"]) + 1],
    ]
    assert found.unknown.tolist() == [1, 1]


@every_format
def test_a_column_that_is_not_there_is_named(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"t.{format}"
    WRITERS[format](path, ROWS, ["label", "quote", "code", "maybe"])
    with pytest.raises(UserFault, match="colour"):
        list(open_reader(path, options(path, ["quote", "colour"])).chunks())


def test_parquet_refuses_categories_that_are_no_texts_or_whole_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    as_parquet(path, [{**row, "maybe": 0.5} for row in ROWS], ["label", *INPUTS])
    with pytest.raises(UserFault, match="'maybe' is of type double"):
        list(open_reader(path, options(path)).chunks())
