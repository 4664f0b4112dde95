"""TSV and CSV: headers, columns, quoting, missing cells, encodings (cases o01, o02, o03, o04, o19, o20, o42)."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.data.reading import doubtful_lines, read, refusal, write

OPEN_QUOTE = (
    'label,text\nham,hello there\nspam,"Free prize inside\nham,see you at five\nspam,win cash now\nham,ok\n'
    'ham,a 20" screen and a 15" one\nham,bye\n'
)


# ---------------------------------------------------------------- o01: quote marks


def test_a_quote_that_is_never_closed_names_the_line_where_it_opens(tmp_path):
    fault = refusal(write(tmp_path / "train.csv", OPEN_QUOTE))
    assert fault.line == 3
    assert "line 7" in fault.message
    assert "data.quoting: false" in (fault.remedy or "")


def test_the_same_with_quoting_off_is_seven_documents(tmp_path):
    found = read(write(tmp_path / "train.csv", OPEN_QUOTE), quoting=False)
    assert found.labels == ["ham", "spam", "ham", "spam", "ham", "ham", "ham"]
    assert found.texts[1] == '"Free prize inside'
    assert found.texts[5] == 'a 20" screen and a 15" one'
    assert (found.report.records, found.report.lines) == (7, 8)


@pytest.mark.parametrize("tail", ["", "ham,ok\n", "ham,bye\r\n" * 5])
def test_an_open_quote_at_the_end_of_the_file(tmp_path, tail):
    fault = refusal(write(tmp_path / "t.csv", 'label,text\nham,x\nspam,"Free prize\n' + tail), on_bad="skip")
    assert fault.line == 3
    assert "never closed" in fault.message


def test_a_quoted_field_that_swallowed_records_is_doubtful_even_if_it_closes(tmp_path):
    text = 'label,text\nham,one\nspam,two\nspam,"Free prize\nham,see you\nspam,so "\nham,end\n'
    fault = refusal(write(tmp_path / "t.csv", text))
    assert fault.line == 4
    assert "line 5" in fault.message
    assert "data.quoting: false" in (fault.remedy or "")
    found = read(tmp_path / "t.csv", row_like_lines="keep")
    assert found.texts == ["one", "two", "Free prize\nham,see you\nspam,so ", "end"]


def test_a_huge_unclosed_field_stops_before_memory_does(tmp_path, monkeypatch):
    monkeypatch.setattr("gpuclf.data.readers.csv._LONGEST", 100)
    fault = refusal(write(tmp_path / "t.csv", 'label,text\na,"' + "x\n" * 200))
    assert (fault.line, "not closed within" in fault.message) == (2, True)


@pytest.mark.parametrize("row", ['ham,a 20" screen', 'ham,"a" b', '"ham"x,b'])
def test_stray_quotes_within_a_line_are_listed_and_can_be_skipped(tmp_path, row):
    path = write(tmp_path / "t.csv", f"label,text\nham,one\n{row}\n{row}\nspam,two\n")
    fault = refusal(path)
    assert doubtful_lines(fault) == [3, 4]
    assert "data.quoting: false" in str(fault)
    found = read(path, on_bad="skip")
    assert found.texts == ["one", "two"]
    assert found.report.skipped == 2


def test_rfc_4180_quoting_line_breaks_and_line_numbers(tmp_path):
    text = 'label,text\r\n"a","x, ""y"" and\r\nz"\r\nb,\r\n"c","""q"""\r\n'
    found = read(write(tmp_path / "t.csv", text))
    assert found.labels == ["a", "b", "c"]
    assert found.texts == ['x, "y" and\r\nz', "", '"q"']
    assert found.all("lines") == [2, 4, 5]
    assert (found.report.records, found.report.lines, found.report.empty_documents) == (3, 5, 1)
    assert "of 2 lines, starts in line 2" in found.note("line breaks inside quotes")


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufeff"), max_size=8)


@given(
    st.lists(st.tuples(st.from_regex(r"[a-z]{1,3}", fullmatch=True), CELL), max_size=8), st.sampled_from(["\n", "\r\n"])
)
def test_what_pythons_csv_writes_is_what_is_read(tmp_path_factory, rows, end):
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator=end, quoting=csv.QUOTE_ALL).writerows([("label", "text"), *rows])
    path = write(tmp_path_factory.mktemp("csv") / "t.csv", buffer.getvalue())
    found = read(path, row_like_lines="keep", chunk_docs=3)
    assert list(zip(found.labels, found.texts, strict=True)) == rows if rows else not found.chunks


def test_a_stray_quote_in_the_header_is_a_fault_of_the_header(tmp_path):
    assert refusal(write(tmp_path / "t.csv", 'la"bel,text\na,b\n'), on_bad="skip").line == 1


# ---------------------------------------------------------------- o02: what is missing


def test_na_and_null_are_labels_and_texts(tmp_path):
    rows = [
        "EU,paris berlin",
        "NA,dallas",
        '"NA",toronto',
        "SA,lima",
        "EU,null",
        "SA,n/a",
        "NA,NaN is",
        "null,called null",
    ]
    found = read(write(tmp_path / "train.csv", "region,text\n" + "\n".join(rows) + "\n"), label="region")
    assert found.report.per_class == {"EU": 2, "NA": 3, "SA": 2, "null": 1}
    assert found.texts[4:6] == ["null", "n/a"]
    assert found.report.empty_documents == 0


def test_only_empty_cells_and_those_of_the_list_are_missing(tmp_path):
    path = write(tmp_path / "t.tsv", "label\ttext\na\tn/a\n?\tx\n\ty\n  \tz\nb\t\n")
    fault = refusal(path, missing=["", "?", "n/a"])
    assert doubtful_lines(fault) == [3, 4, 5]
    assert "no label" in str(fault)
    assert "on_bad: skip" in str(fault)
    found = read(path, missing=["", "?", "n/a"], on_bad="skip")
    assert (found.labels, found.texts) == (["a", "b"], ["", ""])
    assert found.report.empty_documents == 2
    assert read(path, on_bad="skip").texts == ["n/a", "x", ""]


# ---------------------------------------------------------------- o03, o04: encodings


@pytest.mark.parametrize("text", ["label,text\nham,hi\nspam,win\n", '"label","text"\n"ham","hi"\n"spam","win"\n'])
def test_a_byte_order_mark_is_no_part_of_the_header(tmp_path, text):
    found = read(write(tmp_path / "t.csv", "\ufeff" + text))
    assert (found.labels, found.texts) == (["ham", "spam"], ["hi", "win"])


def test_bytes_of_another_encoding_name_line_byte_and_setting(tmp_path):
    path = write(tmp_path / "t.tsv", "pos\tcafé\n".encode() + b"neg\tdon\x92t \x80 50\npos\ttea\n")
    fault = refusal(path, header=False, label=0, text=1)
    assert fault.line == 2
    assert "0x92" in fault.message
    assert "data.encoding: cp1252" in (fault.remedy or "")
    found = read(path, header=False, label=0, text=1, encoding="cp1252")
    assert found.texts[1] == "don\u2019t \u20ac 50"


def test_the_line_is_right_far_into_the_file_and_across_blocks(tmp_path):
    path = write(tmp_path / "t.tsv", b"a\tfine\n" * 400_000 + b"a\t\xff\n")
    assert refusal(path, header=False, label=0, text=1).line == 400_001


def test_utf_16_is_recognised_and_can_be_read(tmp_path):
    path = write(tmp_path / "t.tsv", "label\ttext\na\tü\u010a x\r\nb\ty\n".encode("utf-16"))
    assert "utf-16" in (refusal(path).remedy or "")
    assert read(path, encoding="utf-16").texts == ["ü\u010a x", "y"]


def test_the_locale_of_the_machine_changes_nothing(tmp_path):
    path = write(tmp_path / "t.tsv", "label\ttext\na\tcafé\n")
    code = (
        "import sys; from gpuclf.data.open import open_reader; from gpuclf.data.options import DataOptions\n"
        "options = DataOptions(train=sys.argv[1])\n"
        "print(ascii([c.texts for c in open_reader(options.train, options).chunks()]))"
    )
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    found = subprocess.run([sys.executable, "-c", code, str(path)], env=environment, capture_output=True, check=True)
    assert found.stdout.decode().strip() == r"[['caf\xe9']]"


# ---------------------------------------------------------------- o05: line ends


@pytest.mark.parametrize("format", ["tsv", "csv"])
def test_only_line_feeds_end_records(tmp_path, format):
    sep = {"tsv": "\t", "csv": ","}[format]
    odd = "x\u2028x\x85x\x0bx\x0cx\x1cx\x1dx\x1ex\u2029x\rx"
    found = read(write(tmp_path / f"t.{format}", f"label{sep}text\r\na{sep}{odd}\r\nb{sep}y"))
    assert found.texts == [odd, "y"]


# ---------------------------------------------------------------- o19: labels stay what they are


@pytest.mark.parametrize("format", ["tsv", "csv"])
def test_labels_are_never_retyped(tmp_path, format):
    sep = {"tsv": "\t", "csv": ","}[format]
    labels = ["0", "1", "01", "1.0", "TRUE", "true", "1e1", "10", "-0", "0x1F", "1_000", "2024-01-02", " 1", "None"]
    rows = "".join(f"{label}{sep}text {i}\n" for i, label in enumerate(labels))
    assert read(write(tmp_path / f"t.{format}", f"label{sep}text\n{rows}")).labels == labels


# ---------------------------------------------------------------- o42: header or not


@pytest.mark.parametrize("format", ["tsv", "csv"])
def test_no_header_under_the_default_settings_asks_for_the_columns(tmp_path, format):
    sep = {"tsv": "\t", "csv": ","}[format]
    path = write(tmp_path / f"t.{format}", f"ham{sep}hello friend\nspam{sep}win cash\nham{sep}good day\n")
    fault = refusal(path)
    assert "no column named 'label'; found: 'ham', 'hello friend'" in fault.message
    assert fault.key == "data.label"
    assert "data.header: false" in (fault.remedy or "")
    for columns in ({"columns": ["label", "text"]}, {"label": 0, "text": 1}):
        found = read(path, header=False, **columns)
        assert (found.labels, found.texts) == (["ham", "spam", "ham"], ["hello friend", "win cash", "good day"])


def test_a_header_read_as_a_document_is_told(tmp_path):
    path = write(tmp_path / "t.csv", "label,text\nham,hello\n")
    for columns in ({"columns": ["label", "text"]}, {"label": 0, "text": 1}):
        found = read(path, header=False, **columns)
        assert "data.header is false" in found.note("reads like a header")
    plain = read(write(tmp_path / "u.csv", "ham,hello\n"), header=False, label=0, text=1)
    assert not any("header" in note for note in plain.report.notes)


def test_a_first_line_taken_as_header_unseen_is_told(tmp_path):
    found = read(write(tmp_path / "t.csv", "ham,hello\nspam,win\n"), label=0, text=1)
    assert "'ham', 'hello'" in found.note("taken as the header")


def test_columns_are_found_by_name_wherever_they_stand(tmp_path):
    train = write(tmp_path / "train.csv", "id,text,label\n17,hello friend,ham\n18,win cash,spam\n")
    assert read(train).labels == ["ham", "spam"]
    assert read(train).all("ids") == ["1", "2"], "id is used only when asked for"
    test = write(tmp_path / "test.csv", "id,text\n20,hello\n21,cash\n")
    found = read(test, labelled=False, id="id")
    assert (found.texts, found.all("ids")) == (["hello", "cash"], ["20", "21"])
    assert "no column named 'label'" in refusal(test).message


def test_a_headerless_file_for_prediction_may_leave_out_the_label(tmp_path):
    settings = {"header": False, "columns": ["id", "label", "text"], "labelled": False}
    assert read(write(tmp_path / "a.tsv", "1\tx\n2\ty\n"), **settings).texts == ["x", "y"]
    assert read(write(tmp_path / "b.tsv", "1\tham\tx\n"), **settings).texts == ["x"]


def test_columns_beside_a_header_must_agree_with_it(tmp_path):
    path = write(tmp_path / "t.csv", "ham,hello\nspam,win\n")
    fault = refusal(path, columns=["label", "text"])
    assert fault.key == "data.columns"
    assert "data.header: false" in (fault.remedy or "")
    assert read(write(tmp_path / "u.csv", "label,text\nham,x\n"), columns=["label", "text"]).labels == ["ham"]


@pytest.mark.parametrize(
    ("settings", "key", "part"),
    [
        ({"text": "body"}, "data.text", "no column named 'body'; found: 'label', 'text', 'text2'"),
        ({"text": ["text", 7]}, "data.text", "no column 7"),
        ({"id": "key"}, "data.id", "no column named 'key'"),
        ({"group": "author"}, "data.group", "no column named 'author'"),
        ({"categorical": ["size"]}, "data.categorical", "no column named 'size'"),
        ({"numeric": ["size"]}, "data.numeric", "no column named 'size'"),
    ],
)
def test_missing_columns_are_named_with_those_that_are_there(tmp_path, settings, key, part):
    fault = refusal(write(tmp_path / "t.csv", "label,text,text2\na,b,c\n"), **settings)
    assert fault.key == key
    assert part in fault.message


def test_a_name_that_stands_twice_is_ambiguous(tmp_path):
    fault = refusal(write(tmp_path / "t.csv", "label,text,text\na,b,c\n"))
    assert "places 1, 2" in fault.message
    assert read(tmp_path / "t.csv", text=2).texts == ["c"]


def test_several_text_columns_are_joined_by_a_blank(tmp_path):
    path = write(tmp_path / "t.csv", "label,title,body\na,x,y\nb,,y\nc,,\n")
    found = read(path, text=["title", "body"])
    assert found.texts == ["x y", "y", ""]
    assert found.report.empty_documents == 1


def test_wrong_numbers_of_fields_are_listed(tmp_path):
    path = write(tmp_path / "t.tsv", "label\ttext\na\tx\na\tx\ty\na\n\nb\tz\n")
    fault = refusal(path)
    assert doubtful_lines(fault) == [3, 4]
    assert "3 fields where 2 belong (label, text)" in str(fault)
    assert "1 blank lines" in read(path, on_bad="skip").note("passed over")


def test_ids_that_repeat_name_both_lines(tmp_path):
    fault = refusal(write(tmp_path / "t.csv", "id,label,text\nu,a,x\nv,a,y\nu,b,z\n"), id="id")
    assert fault.line == 4
    assert "'u' stands in line 2" in fault.message
    assert "no id" in refusal(write(tmp_path / "u.csv", "id,label,text\n,a,x\n"), id="id").message


def test_groups(tmp_path):
    path = write(tmp_path / "t.csv", "who,label,text\nann,a,x\nbob,b,y\n")
    assert read(path, group="who").all("groups") == ["ann", "bob"]
    assert read(path).chunks[0].groups is None
    without = read(write(tmp_path / "u.csv", "text\nx\n"), group="who", labelled=False)
    assert "'who'" in without.note("no column named")


def test_an_empty_file_has_not_even_a_header(tmp_path):
    assert "empty" in refusal(write(tmp_path / "t.csv", "")).message
    assert read(write(tmp_path / "u.csv", ""), header=False, label=0, text=1).report.records == 0


def test_one_column_keeps_its_blank_lines_as_documents(tmp_path):
    assert read(write(tmp_path / "t.csv", "text\nx\n\ny\n"), labelled=False).texts == ["x", "", "y"]


# ---------------------------------------------------------------- o20, o21: categories and numbers


def test_categories_are_kept_as_strings_and_found_by_name(tmp_path):
    train = write(tmp_path / "train.csv", "country,size,label\nPeru,S,n\nKenya,,y\n")
    found = read(train, categorical=["country", "size"])
    assert found.rows == [[("country=Peru", 1.0), ("size=S", 1.0)], [("country=Kenya", 1.0), ("size=", 1.0)]]
    assert found.chunks[0].columns == {"country": ["Peru", "Kenya"], "size": ["S", ""]}
    assert found.chunks[0].texts is None
    swapped = write(tmp_path / "swapped.csv", "size,country\nS,Peru\n")
    assert read(swapped, categorical=["country", "size"], labelled=False).rows == found.rows[:1]
    fault = refusal(write(tmp_path / "missing.csv", "country\nPeru\n"), categorical=["country", "size"], labelled=False)
    assert "no column named 'size'" in fault.message


def test_numbers_drop_zeros_and_mix_with_categories(tmp_path):
    path = write(tmp_path / "t.csv", "label,f1,f2,c\n1,1,0,x\n2,0.0,-2.5,y\n3,-0,0e5,z\n")
    found = read(path, numeric=["f1", "f2"], categorical=["c"], chunk_docs=2)
    assert found.rows == [[("c=x", 1.0), ("f1", 1.0)], [("c=y", 1.0), ("f2", -2.5)], [("c=z", 1.0)]]
    only = read(path, numeric=["f1", "f2"])
    assert only.rows == [[("f1", 1.0)], [("f2", -2.5)], []]
    assert only.chunks[0].columns is None


def test_numbers_that_are_none_are_listed(tmp_path):
    cells = ["1", "", "nan", "inf", "1e39", "abc", "1_0", "\u0661", "0x1", "1e400"]
    path = write(tmp_path / "t.csv", "label,f1\n" + "".join(f"a,{cell}\n" for cell in cells))
    fault = refusal(path, numeric=["f1"])
    assert doubtful_lines(fault) == list(range(3, 12))
    assert "column 'f1'" in str(fault)
