"""svmlight (cases o12, o13, o21, o22)."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.reading import doubtful_lines, read, refusal, write


def test_rows_labels_and_types(tmp_path):
    found = read(write(tmp_path / "t.svm", "+1 1:0.5 3:-2e-1 # 9:9\n-1\n01  2:3.\t7:.5 \n"))
    assert found.labels == ["+1", "-1", "01"], "labels stay as they are written"
    assert found.rows == [[(1, 0.5), (3, pytest.approx(-0.2))], [], [(2, 3.0), (7, 0.5)]]
    features = found.chunks[0].indexed
    assert features.indptr.dtype == features.indices.dtype == np.int64
    assert features.values.dtype == np.float32
    assert found.report.empty_documents == 1


# ---------------------------------------------------------------- o12: the base


def test_the_base_is_found_in_the_training_file_and_handed_on(tmp_path):
    zero = read(write(tmp_path / "train.svm", "1 0:1 3:1\n2 1:1 4:1\n"))
    assert zero.report.index_base == 0
    assert "count from 0" in zero.note("data.index_base: auto")
    test = write(tmp_path / "test.svm", "1 3:1\n2 1:1\n")
    later = read(test, found_base=0)
    assert later.rows == [[(3, 1.0)], [(1, 1.0)]], "indices are never moved"
    assert later.report.index_base == 0
    assert not any("auto" in note for note in later.report.notes)
    one = read(write(tmp_path / "train1.svm", "1 1:1 4:1\n2 2:1\n"))
    assert one.report.index_base == 1
    assert "count from 1" in one.note("data.index_base: auto")


@pytest.mark.parametrize("extra", ["", " 0x:1"])
def test_a_stored_zero_at_index_0_counts_as_seen(tmp_path, extra):
    path = write(tmp_path / "t.svm", f"1 0:0 2:1\n1 3:1\n2 2:1{extra}\n")
    assert read(path, on_bad="skip").report.index_base == 0


@pytest.mark.parametrize("given", [{"found_base": 1}, {"index_base": 1}, {"index_base": 0, "found_base": 1}])
def test_index_0_in_a_file_that_counts_from_1_is_a_fault(tmp_path, given):
    fault = refusal(write(tmp_path / "t.svm", "1 1:1\n2 0:1 2:1\n"), **given)
    assert fault.line == 2
    assert "index 0 in a file whose indices count from 1" in fault.message
    assert "data.index_base" in (fault.remedy or "")


# ---------------------------------------------------------------- o13: values


def test_values_beyond_float32_are_listed_by_line_and_feature(tmp_path):
    rows = ["1:1 2:0.5", "1:-1 2:0.25", "1:1 3:1e39", "1:-1 3:1e100", "1:1 2:nan", "1:-1 2:inf", "1:1.79769313486e308"]
    fault = refusal(write(tmp_path / "train.svm", "".join(f"1 {row}\n" for row in rows)))
    assert doubtful_lines(fault) == [3, 4, 5, 6, 7]
    for part in (
        "feature 3: 1e39",
        "feature 3: 1e100",
        "feature 2: nan",
        "feature 2: inf",
        "feature 1: 1.79769313486e308",
    ):
        assert part in str(fault)
    fine = read(write(tmp_path / "ok.svm", "1 1:1 2:3e38\n2 1:-1 2:-3e38\n1 1:3.4028235e38\n"))
    assert fine.report.records == 3
    assert all(np.isfinite(chunk.indexed.values).all() for chunk in fine.chunks)


def test_values_too_small_for_float32_are_told(tmp_path):
    found = read(write(tmp_path / "t.svm", "1 1:1e-60 2:1\n"))
    assert found.rows == [[(2, 1.0)]]
    assert "taken as 0" in found.note("too small")


# ---------------------------------------------------------------- o21: zeros


@pytest.mark.parametrize("odd", ["", "2 1:1 1:1\n", "2 3:1 1:1\n"])
def test_written_and_left_out_zeros_are_the_same(tmp_path, odd):
    explicit = read(write(tmp_path / "a.svm", "1 1:1 2:0 3:0\n2 1:0 2:-0.0 3:1\n" + odd), on_bad="skip")
    implicit = read(write(tmp_path / "b.svm", "1 1:1\n2 3:1\n" + odd), on_bad="skip")
    assert explicit.rows == implicit.rows


# ---------------------------------------------------------------- o22: large indices


def test_large_indices_keep_apart(tmp_path):
    large = [1, 2147483647, 2147483648, 4294967297, 9007199254740992, 9007199254740993, 2**63 - 1]
    path = write(tmp_path / "t.svm", "".join(f"1 {index}:1\n" for index in large) + f"1 1:1 {2**53 + 1}:2 {2**60}:3\n")
    found = read(path)
    assert [row[0][0] for row in found.rows[:-1]] == large
    assert found.rows[-1] == [(1, 1.0), (2**53 + 1, 2.0), (2**60, 3.0)]


@pytest.mark.parametrize(("token", "part"), [(f"{2**63}:1", "above the limit"), ("-1:1", "negative")])
def test_indices_out_of_range_are_refused_not_wrapped(tmp_path, token, part):
    fault = refusal(write(tmp_path / "t.svm", f"1 1:1\n2 {token}\n"))
    assert fault.line == 2
    assert part in fault.message


def test_memory_follows_the_entries_not_the_width(tmp_path):
    path = write(tmp_path / "t.svm", f"1 {2**40}:1\n2 {2**62}:1\n" * 50)
    read(path)  # imports and caches
    tracemalloc.start()
    read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20


# ---------------------------------------------------------------- malformed lines


@pytest.mark.parametrize(
    ("row", "part"),
    [
        ("1 1:2:3 4", "not a number"),
        ("1 4 1:2", "'4' is not index:value"),
        ("1 1: 2:3", "feature 1: '' is not a number"),
        ("1 a:1", "index 'a'"),
        ("1 1.5:1", "index '1.5'"),
        ("1 1_0:1", "index '1_0'"),
        ("1 1:1_0", "'1_0' is not a number"),
        ("1 1:\u0661", "not a number"),
        ("1 \u0661:1", "not a whole number"),
        ("1 1:0x2", "not a number"),
        ("1 2:1 2:1", "feature 2 stands twice"),
        ("1:1 2:1", "no label"),
        ("\u2028 1:1", "no label"),
        ("1,2 1:1", "2 labels"),
        ("1 1:1 ,2:1", "not a whole number"),
        ("1 qid:3 1:1", "qid"),
    ],
)
def test_malformed_lines_are_refused_among_good_ones(tmp_path, row, part):
    fault = refusal(write(tmp_path / "t.svm", f"1 1:1\n{row}\n2 2:1\n"))
    assert fault.line == 2
    assert part in fault.message


def test_qid_is_the_group(tmp_path):
    found = read(write(tmp_path / "t.svm", "1 qid:7 1:1\n2 qid:8 2:1\n"))
    assert found.all("groups") == ["7", "8"]
    assert refusal(write(tmp_path / "u.svm", "1 qid:7 1:1\n2 2:1\n")).line == 2


def test_several_labels_repeat(tmp_path):
    found = read(write(tmp_path / "t.svm", "1,2 1:1\n1 2:1\n"), several_labels="repeat")
    assert found.labels == ["1", "2", "1"]
    assert found.rows == [[(1, 1.0)], [(1, 1.0)], [(2, 1.0)]]


def test_out_of_order_indices_are_sorted_and_told(tmp_path):
    found = read(write(tmp_path / "t.svm", "1 3:3 1:1\n2 1:1 2:2\n"))
    assert found.rows == [[(1, 1.0), (3, 3.0)], [(1, 1.0), (2, 2.0)]]
    assert "sorted" in found.note("1 rows")


def test_comments_and_blank_lines_and_files_without_labels(tmp_path):
    path = write(tmp_path / "t.svm", "# head\n\n1 1:1\n2 2:1 # tail\n")
    found = read(path)
    assert found.all("lines") == [3, 4]
    assert "2 blank lines and comments" in found.note("passed over")
    bare = write(tmp_path / "u.svm", "1:1\n\n2:1 3:1\n")
    assert read(bare, labelled=False).rows == [[(1, 1.0)], [], [(2, 1.0), (3, 1.0)]]
    assert read(write(tmp_path / "v.svm", "")).report.index_base == 1


ENTRIES = st.dictionaries(
    st.one_of(st.integers(1, 50), st.integers(1, 2**63 - 1)), st.floats(-(2.0**127), 2.0**127, width=32), max_size=6
)


@given(st.lists(ENTRIES, min_size=1, max_size=9), st.booleans(), st.integers(1, 5))
def test_what_is_written_is_what_is_read(tmp_path_factory, rows, odd, chunk_docs):
    lines = [" ".join(["x", *(f"{i}:{value!r}" for i, value in sorted(row.items()))]) for row in rows]
    if odd:
        lines.append("y 5:1 4:1")  # makes the whole batch take the careful path
    path = write(tmp_path_factory.mktemp("svm") / "t.svm", "\n".join(lines))
    found = read(path, chunk_docs=chunk_docs)
    expected = [[(i, value) for i, value in sorted(row.items()) if value != 0] for row in rows]
    assert found.rows[: len(rows)] == expected
