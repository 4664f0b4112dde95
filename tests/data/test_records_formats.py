"""JSON lines, Parquet, parallel lines and folders (cases o05, o19, and the common rules)."""

from __future__ import annotations

import hashlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.faults import UserFault
from tests.data.reading import doubtful_lines, read, refusal, write

# ---------------------------------------------------------------- JSON lines


def test_json_lines_with_odd_separators_and_escapes(tmp_path):
    path = write(
        tmp_path / "one.jsonl", '{"text": "x\u2028y\\n", "label": "a"}\r\n{"label": "b", "more": {}, "text": "z"}'
    )
    found = read(path)
    assert (found.labels, found.texts) == (["a", "b"], ["x\u2028y\n", "z"])
    assert (found.report.records, found.report.lines) == (2, 2)


def test_json_labels_are_their_text_in_the_file(tmp_path):
    labels = ["1", "1.0", "1e1", "-0", "true", "false", '"true"', '"01"', "10000000000000000000000001"]
    path = write(tmp_path / "t.jsonl", "".join(f'{{"label": {label}, "text": "x"}}\n' for label in labels))
    assert read(path).labels == [label.strip('"') for label in labels]


def test_json_records_that_are_none_are_listed(tmp_path):
    good = '{"label": "a", "text": "x"}'
    bad = [
        "{", "[1]", '{"label": "a"}', '{"label": null, "text": "x"}', '{"label": "a", "text": ["x"]}',
        '{"label": NaN, "text": "x"}', '{"label": "a", "label": "b", "text": "x"}', '{"label": {"x": 1}, "text": "x"}',
        '{"label": "a", "text": "\\ud800"}', '{"label": [], "text": "x"}', '{"label": [["a"]], "text": "x"}',
        '{"label": "a", "text": ' + "[" * 100_000 + "}",
    ]  # fmt: skip
    path = write(tmp_path / "t.jsonl", "\n".join([good, *bad, "", good]))
    fault = refusal(path)
    assert doubtful_lines(fault) == list(range(2, len(bad) + 2))
    for part in ("not JSON", "not a JSON object", "no field named 'text'; found: 'label'", "stands twice", "surrogate"):
        assert part in str(fault)
    found = read(path, on_bad="skip")
    assert (found.report.records, found.report.skipped) == (2, len(bad))


def test_json_null_texts_are_empty_and_lists_are_several_labels(tmp_path):
    path = write(
        tmp_path / "t.jsonl", '{"label": ["a"], "text": null}\n{"label": ["a", "b", "a"], "text": "\\u00e9"}\n'
    )
    assert "2 labels" in refusal(path).message
    found = read(path, several_labels="repeat")
    assert (found.labels, found.texts) == (["a", "a", "b"], ["", "é", "é"])


def test_json_fields_by_name(tmp_path):
    path = write(
        tmp_path / "t.jsonl",
        '{"y": 1, "c": "red", "n": 2.5, "i": 7, "g": "u"}\n{"y": 2, "c": null, "n": 0, "i": 8, "g": "v"}',
    )
    found = read(path, label="y", categorical=["c"], numeric=["n"], id="i", group="g")
    assert found.rows == [[("c=red", 1.0), ("n", 2.5)], [("c=", 1.0)]]
    assert (found.all("ids"), found.all("groups")) == (["7", "8"], ["u", "v"])
    fault = refusal(path)
    assert "no column named 'label'; found: 'y', 'c', 'n', 'i', 'g'" in fault.message
    assert "header" not in (fault.remedy or "")
    assert "names, not places" in refusal(path, label=0).message
    assert read(path, text="c", id="key", labelled=False).texts == ["red", ""]


# ---------------------------------------------------------------- Parquet


def _parquet(path, **columns):
    pq.write_table(pa.table(columns), path, row_group_size=2)
    return path


def test_parquet_by_row_groups(tmp_path):
    path = _parquet(
        tmp_path / "t.parquet",
        extra=[[1], [2], [3], [4], [5]],
        text=["x", None, "z", "", "w"],
        label=pa.array(["b", "a", "NA", "01", "b"]).dictionary_encode(),
    )
    found = read(path, chunk_docs=2)
    assert found.labels == ["b", "a", "NA", "01", "b"]
    assert found.texts == ["x", "", "z", "", "w"]
    assert [len(chunk) for chunk in found.chunks] == [2, 2, 1]
    assert (found.report.records, found.report.lines, found.report.empty_documents) == (5, 5, 2)
    assert found.report.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert read(path, label=2, text=1).labels == found.labels
    assert read(path, limit=3).report.records == 3


def test_parquet_labels_are_strings_or_whole_numbers(tmp_path):
    numbers = _parquet(tmp_path / "n.parquet", text=["x", "y"], label=pa.array([-1, 2**40]))
    assert read(numbers).labels == ["-1", str(2**40)]
    for label in (pa.array([1.0, 2.0]), pa.array([True, False]), pa.array([b"a", b"b"])):
        fault = refusal(_parquet(tmp_path / "o.parquet", text=["x", "y"], label=label))
        assert "'label' is of type" in fault.message
    missing = refusal(_parquet(tmp_path / "m.parquet", text=["x", "y"], label=["a", None]))
    assert missing.line == 2


def test_parquet_tables(tmp_path):
    path = _parquet(tmp_path / "t.parquet", c=["red", None], n=[0.5, 0.0], m=pa.array([3, 0]), label=["a", "b"])
    found = read(path, categorical=["c"], numeric=["n", "m"])
    assert found.rows == [[("c=red", 1.0), ("n", 0.5), ("m", 3.0)], [("c=", 1.0)]]
    holes = _parquet(tmp_path / "h.parquet", n=[0.5, None, float("nan"), 1e300], label=["a"] * 4)
    assert doubtful_lines(refusal(holes, numeric=["n"])) == [2, 3, 4]
    assert "no column named 'size'" in refusal(path, categorical=["size"]).message


def test_what_is_no_parquet_file(tmp_path):
    assert "not a whole Parquet file" in refusal(write(tmp_path / "t.parquet", b"PAR1 cut off")).message
    assert "unpack it" in str(refusal(write(tmp_path / "t.parquet.gz", b""), format="parquet"))


# ---------------------------------------------------------------- parallel lines


def test_parallel_files_part_at_line_feeds_only(tmp_path):
    """Case o05."""
    docs = "first\u2028still first\nsecond\x85still\nthird\x0cx\x0bx\nfourth\x1cx\u2029end\n"
    path = write(tmp_path / "docs.txt", docs)
    labels = write(tmp_path / "labels.txt", "\ufeffa\r\nb\r\nc\r\nd\r\n")
    found = read(path, labels=labels)
    assert found.labels == ["a", "b", "c", "d"]
    assert found.texts == docs.split("\n")[:-1]
    assert found.report.format == "lines"
    assert found.report.companions == {str(labels): hashlib.sha256(labels.read_bytes()).hexdigest()}


@pytest.mark.parametrize(("docs", "labels"), [(3, 2), (2, 3), (5000, 1), (1, 0), (0, 1)])
def test_unequal_line_counts_are_refused_with_both(tmp_path, docs, labels):
    path = write(tmp_path / "d.txt", "x\n" * docs)
    fault = refusal(path, labels=write(tmp_path / "l.txt", "a\n" * labels), chunk_docs=2)
    assert f"{docs} lines of documents, but {labels} lines of labels" in fault.message


def test_blank_labels_and_blank_documents(tmp_path):
    path = write(tmp_path / "d.txt", "x\n\ny\n")
    fault = refusal(path, labels=write(tmp_path / "l.txt", "a\nb\n\n"))
    assert fault.line == 3
    found = read(path, labels=write(tmp_path / "m.txt", "a\nb\na\n"))
    assert found.texts == ["x", "", "y"]
    assert found.report.empty_documents == 1


def test_the_labels_of_the_training_file_are_not_those_of_another(tmp_path):
    train, labels = write(tmp_path / "d.txt", "x\n"), write(tmp_path / "l.txt", "a\n")
    test, gold = write(tmp_path / "t.txt", "y\n"), write(tmp_path / "g.txt", "b\n")
    options = DataOptions(train=train, format="lines", labels=labels)
    with pytest.raises(UserFault, match="not given"):
        open_reader(test, options)
    assert [chunk.labels for chunk in open_reader(test, options, labels=gold).chunks()] == [["b"]]
    assert [chunk.texts for chunk in open_reader(test, options, labelled=False).chunks()] == [["y"]]
    missing = DataOptions(train=train, format="lines", labels=tmp_path / "no.txt")
    with pytest.raises(UserFault, match=r"no such file") as caught:
        open_reader(train, missing)
    assert caught.value.key == "data.labels"


# ---------------------------------------------------------------- folders


def test_one_folder_a_class(tmp_path):
    write(tmp_path / "pos/b.txt", "\ufeffgood\r\ntea\n")
    write(tmp_path / "pos/a/deep.txt", "fine")
    write(tmp_path / "neg/z.txt", "")
    write(tmp_path / "neg/.DS_Store", b"\xff")
    found = read(tmp_path, chunk_docs=2)
    assert found.all("ids") == ["neg/z.txt", "pos/a/deep.txt", "pos/b.txt"]
    assert found.labels == ["neg", "pos", "pos"]
    assert found.texts == ["", "fine", "good\ntea"]
    assert (found.report.records, found.report.lines, found.report.empty_documents) == (3, 3, 1)
    assert "hidden" in found.note("passed over")
    again = read(tmp_path).report.sha256
    assert found.report.sha256 == again
    write(tmp_path / "neg/z.txt", "x")
    assert read(tmp_path).report.sha256 != again


def test_folder_faults(tmp_path):
    write(tmp_path / "a/x.txt", "x")
    write(tmp_path / "stray.txt", "y")
    assert "lies in no class folder" in refusal(tmp_path).message
    assert read(tmp_path, labelled=False).texts == ["x", "y"]
    write(tmp_path / "a/y.txt", b"ok\n\xff")
    fault = refusal(tmp_path, on_bad="skip")
    assert (str(fault.file), fault.line) == (str(tmp_path / "a/y.txt"), 2)
