"""Vowpal Wabbit's text format and its escaping writer (case o11)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuclf.data.vw_escape import escape_vw, unescape_vw, vw_line, write_vw
from gpuclf.faults import UserFault
from tests.data.reading import doubtful_lines, read, refusal, write

RESERVED = (
    "1 |t see http://x.example/a at 10:30\n-1 |t pick a|b or c\n1 |t ratio:0.5 size:abc\n-1 |t :3 plain\n"
    "1 |t place=POINT (1.5 2.5)\n-1 1.0 'tag7|t ok\nx |t no such label\n1 |t weight:nan big:1e400\n1\n"
)


def test_lines_that_are_not_well_formed_are_listed_with_all_their_reasons(tmp_path):
    fault = refusal(write(tmp_path / "train.vw", RESERVED))
    assert doubtful_lines(fault) == [1, 3, 4, 7, 8]
    text = str(fault)
    for part in ("'http://x.example/a'", "'size:abc'", "':3' has no name", "label 'x'", "'weight:nan'", "'big:1e400'"):
        assert part in text
    assert "data.named_labels: true" in text


def test_the_others_are_read_as_they_stand(tmp_path):
    found = read(write(tmp_path / "train.vw", RESERVED), on_bad="skip")
    assert found.labels == ["-1", "1", "-1", "1"]
    assert found.rows == [
        [("t^pick", 1.0), ("t^a", 1.0), ("b^or", 1.0), ("b^c", 1.0)],
        [("t^place=POINT", 1.0), ("t^(1.5", 1.0), ("t^2.5)", 1.0)],
        [("t^ok", 1.0)],
        [],
    ]
    assert found.report.empty_documents == 1
    assert "line 2" in found.note("pipes follow a word")


def test_a_number_with_a_value_is_told(tmp_path):
    found = read(write(tmp_path / "t.vw", "1 |t at 10:30\n2 |t so 7:1.5\n"))
    assert found.rows[0] == [("t^at", 1.0), ("t^10", 30.0)]
    note = found.note("number for a name")
    assert "2 features" in note
    assert "line 1: '10:30' was read as name 10, value 30" in note


def test_labels_importance_tags(tmp_path):
    text = "1 1 'a|t x\n-1.5 'b |t x\n2 tag| x\n3 | x\n"
    found = read(write(tmp_path / "t.vw", text))
    assert found.labels == ["1", "-1.5", "2", "3"]
    assert read(write(tmp_path / "u.vw", "1 'a|t x\n2 b|t x\n"), id="tag").all("ids") == ["a", "b"]
    assert doubtful_lines(refusal(write(tmp_path / "v.vw", "1 'a|t x\n2 |t x\n3 'a|t\n"), id="tag")) == [2, 3]
    for head in ("1 2.0", "1 x", "1 1 1", "1:0.5 2:1", "", "nan", "'tag"):
        assert refusal(write(tmp_path / "w.vw", f"{head} |t x\n")).line == 1


def test_namespaces_scale_and_stay_apart(tmp_path):
    found = read(write(tmp_path / "t.vw", "1 |a:2 x y:3 |b x:0 z:-1e-2 | x p^q\n"))
    assert found.rows == [
        [("a^x", 2.0), ("a^y", 6.0), ("b^z", pytest.approx(-0.01)), ("x", 1.0), ("^p^q", 1.0)],
    ]
    assert "namespace 'a^b'" in refusal(write(tmp_path / "u.vw", "1 |a^b x\n")).message
    assert "beyond" in refusal(write(tmp_path / "v.vw", "1 |a:1e30 x:1e30\n")).message


def test_named_labels_and_files_without_labels(tmp_path):
    path = write(tmp_path / "t.vw", "ham |t x\nspam |t y\n")
    assert read(path, named_labels=True).labels == ["ham", "spam"]
    assert read(path, labelled=False).rows == [[("t^x", 1.0)], [("t^y", 1.0)]]
    assert read(write(tmp_path / "u.vw", "|t x\n\n"), labelled=False).rows == [[("t^x", 1.0)], []]


def test_blank_lines_are_told(tmp_path):
    found = read(write(tmp_path / "t.vw", "1 |t x\r\n\r\n2 |t y\r\n"))
    assert found.rows == [[("t^x", 1.0)], [("t^y", 1.0)]]
    assert "1 blank lines" in found.note("passed over")


NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
VALUE = st.floats(width=32, allow_nan=False, allow_infinity=False).filter(lambda value: value != 0)


@given(NAME)
def test_escaping_is_undone_and_leaves_nothing_reserved(text):
    name = escape_vw(text)
    assert unescape_vw(name) == text
    assert not set(name) & set("|: \t\n\r")
    assert unescape_vw("100%FF%") == "100%FF%"


@given(
    st.lists(st.tuples(NAME.filter(str.strip), st.lists(st.tuples(NAME, VALUE), max_size=4)), min_size=1, max_size=6)
)
def test_what_is_written_is_what_is_read(tmp_path_factory, documents):
    path = tmp_path_factory.mktemp("vw") / "t.vw"
    write_vw(path, documents)
    found = read(path, escaped=True, named_labels=True)
    assert found.labels == [label for label, _ in documents]
    assert found.rows == [features for _, features in documents]
    assert not any("was read as" in note for note in found.report.notes)


def test_the_writer_refuses_what_cannot_be_written():
    assert vw_line("1", [("10:30", 1.0), ("a|b", 2.5)]) == "1 | 10%3A30 a%7Cb:2.5"
    assert vw_line(None, [("x", 1.0)]) == "| x"
    with pytest.raises(UserFault, match="empty"):
        escape_vw("")
    with pytest.raises(UserFault, match="finite"):
        vw_line("1", [("x", float("nan"))])
