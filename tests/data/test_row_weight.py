"""data.weight: how often a document counts, in every format that can say it."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from tests.data.reading import doubtful_lines, read, refusal, write

TABLE = "label\ttext\tw\na\tx\t2\nb\ty z\t0\na\tx\t0.5\nb\tz\t1e1\n"
WEIGHTS = [2.0, 0.0, 0.5, 10.0]


def test_columns_of_tables(tmp_path):
    tsv = read(write(tmp_path / "t.tsv", TABLE), weight="w")
    csv = read(write(tmp_path / "t.csv", TABLE.replace("\t", ",")), weight=2)
    assert tsv.all("weights") == csv.all("weights") == WEIGHTS
    lines = "".join(f'{{"label": "a", "text": "x", "w": {w}}}\n' for w in ("2", "0", '"0.5"', "1e1"))
    assert read(write(tmp_path / "t.jsonl", lines), weight="w").all("weights") == WEIGHTS
    for kind, values in ((pa.float64(), WEIGHTS), (pa.int32(), [3, 0, 1, 7])):
        columns = {"w": pa.array(values, kind), "label": list("abab"), "text": ["x"] * 4, "more": pa.array([0.5] * 4)}
        pq.write_table(pa.table(columns), tmp_path / "t.parquet")
        found = read(tmp_path / "t.parquet", weight="w", chunk_docs=3)
        assert found.all("weights") == values
        assert [len(chunk.weights or []) for chunk in found.chunks] == [3, 1]
    table = read(tmp_path / "t.tsv", weight="w", categorical=["text"])
    assert table.all("weights") == WEIGHTS


def test_importances_of_vw(tmp_path):
    path = write(tmp_path / "t.vw", "1 2.5 'a|t x\n2 'b|t x\n1 0 | x\n2 1 | x\n")
    assert read(path, weight="importance").all("weights") == [2.5, 1.0, 0.0, 1.0]
    fault = refusal(write(tmp_path / "u.vw", "1 2 | x\n2 | x\n1 -1 | x\n"), weight="importance")
    assert (fault.line, "negative" in fault.message) == (3, True)
    assert "data.weight: importance" in refusal(tmp_path / "u.vw").faults[0].message


def test_without_the_option_there_are_none(tmp_path):
    assert [chunk.weights for chunk in read(write(tmp_path / "t.tsv", TABLE)).chunks] == [None]


def test_a_document_repeated_for_its_labels_counts_each_time(tmp_path):
    path = write(
        tmp_path / "t.jsonl", '{"label": ["a", "b"], "text": "x", "w": 3}\n{"label": "a", "text": "y", "w": 1}\n'
    )
    assert read(path, weight="w", several_labels="repeat").all("weights") == [3.0, 3.0, 1.0]


@pytest.mark.parametrize(
    ("cell", "says"),
    [("-1", "negative"), ("nan", "finite"), ("inf", "finite"), ("1e999", "finite"), ("two", "number"), ("", "number")],
)
def test_what_is_no_weight_is_refused_with_its_line(tmp_path, cell, says):
    fault = refusal(write(tmp_path / "t.tsv", f"label\ttext\tw\na\tx\t1\nb\ty\t{cell}\n"), weight="w")
    assert fault.line == 3
    assert says in fault.message
    assert "data.weight" in fault.message
    assert "≥ 0" in (fault.remedy or "")
    skipped = read(tmp_path / "t.tsv", weight="w", on_bad="skip")
    assert (skipped.all("weights"), skipped.report.skipped) == ([1.0], 1)


def test_a_column_that_is_not_there_is_refused(tmp_path):
    fault = refusal(write(tmp_path / "t.tsv", TABLE), weight="weight")
    assert fault.key == "data.weight"
    assert "'w'" in fault.message
    assert doubtful_lines(fault) == []


def test_other_files_need_no_weights(tmp_path):
    """A test file is read for figures, in which every document counts once."""
    train = write(tmp_path / "t.tsv", TABLE)
    other = write(tmp_path / "test.tsv", "label\ttext\na\tx\n")
    options = DataOptions(train=train, weight="w")
    for labelled in (True, False):
        chunks = list(open_reader(other, options, labelled=labelled).chunks())
        assert [chunk.weights for chunk in chunks] == [None]
