"""fastText's format (cases o03, o04, o09, o10)."""

from __future__ import annotations

import pytest

from tests.data.reading import doubtful_lines, read, refusal, write

GLUED = (
    "__label__money,world trade growth\n__label__money share prices fall\n_label__sport late goal wins\n"
    "__label__sport\tcup final tonight\n__label__ nothing after the marker\nno marker at all\n"
    "__label__sport __label__ two\n"
)
SEVERAL = (
    "__label__history old kings\n__label__war __label__history old kings battle army\n__label__war battle army\n"
    "__label__art paint brush\n__label__art __label__history paint old kings\n__label__war __label__war army\n"
)


def test_every_doubtful_line_is_listed_with_its_reason(tmp_path):
    fault = refusal(write(tmp_path / "train.txt", GLUED))
    assert doubtful_lines(fault) == [1, 3, 5, 6, 7]
    text = str(fault)
    for part in ("'money,world' holds a comma", "'_label__sport'", "an empty label", "no label", "data.label_prefix"):
        assert part in text


def test_skipping_doubtful_lines_is_counted(tmp_path):
    found = read(write(tmp_path / "train.txt", GLUED), on_bad="skip")
    assert found.labels == ["money", "sport"]
    assert found.texts == ["share prices fall", "cup final tonight"]
    assert (found.report.skipped, found.report.lines) == (5, 7)


def test_commas_may_be_declared_part_of_labels(tmp_path):
    path = write(tmp_path / "t.txt", "__label__Paris,France x\n")
    assert "data.comma_labels: keep" in str(refusal(path))
    assert read(path, comma_labels="keep").labels == ["Paris,France"]


@pytest.mark.parametrize("word", ["__label_sport", "__LABEL__sport", "label__sport", "__label:sport"])
def test_near_misses_are_told_from_plain_text(tmp_path, word):
    assert repr(word) in refusal(write(tmp_path / "t.txt", f"{word} text\n")).message


def test_glued_labels_are_doubtful(tmp_path):
    assert "again" in refusal(write(tmp_path / "t.txt", "__label__a__label__b text\n")).message


def test_several_labels_are_refused_by_line_with_the_setting(tmp_path):
    fault = refusal(write(tmp_path / "train.txt", SEVERAL))
    assert doubtful_lines(fault) == [2, 5]
    assert "data.several_labels: repeat" in str(fault)


def test_several_labels_repeat_the_document_once_for_each(tmp_path):
    found = read(write(tmp_path / "train.txt", SEVERAL), several_labels="repeat")
    assert found.labels == ["history", "war", "history", "war", "art", "art", "history", "war"]
    assert found.all("ids") == ["1", "2", "2#2", "3", "4", "5", "5#2", "6"]
    assert found.all("groups") == ["1", "2", "2", "3", "4", "5", "5", "6"], "copies must share a fold"
    assert found.texts[1] == found.texts[2] == "old kings battle army"
    assert found.report.records == found.report.lines == 6
    assert "2" in found.note("repeated for their other labels")


def test_labels_may_stand_anywhere_as_in_the_reference_program(tmp_path):
    found = read(write(tmp_path / "t.txt", "good tea __label__pos\n  __label__neg bad\nx __label__pos y\n"))
    assert found.labels == ["pos", "neg", "pos"]
    assert found.texts == ["good tea", "bad", "x y"]


def test_marks_of_another_prefix(tmp_path):
    found = read(write(tmp_path / "t.txt", "#pos x __label__ y\n"), label_prefix="#")
    assert (found.labels, found.texts) == (["pos"], ["x __label__ y"])


def test_texts_keep_everything_else(tmp_path):
    found = read(write(tmp_path / "t.txt", "\ufeff__label__a  x\u2028y\u00a0 z \r\n__label__b\n"))
    assert found.texts == ["x\u2028y\u00a0 z ", ""]
    assert found.report.empty_documents == 1


def test_blank_lines(tmp_path):
    path = write(tmp_path / "t.txt", "__label__a x\n\n \n__label__b y\n")
    assert "2 blank lines" in read(path).note("passed over")
    found = read(path, labelled=False)
    assert found.texts == ["x", "", " ", "y"], "a document for every line, and no gold label among the words"


def test_another_encoding(tmp_path):
    mixed = write(tmp_path / "mixed.txt", "__label__pos café\n".encode() + b"__label__neg don\x92t \x80 50\n")
    assert refusal(mixed).line == 2
    old = write(tmp_path / "old.txt", b"__label__neg don\x92t \x80 50\n__label__pos caf\xe9\n")
    assert read(old, encoding="cp1252").texts == ["don\u2019t \u20ac 50", "café"]


def test_a_bad_line_in_a_chunk_that_repeats_filled(tmp_path):
    path = write(tmp_path / "t.txt", "__label__a __label__b x\nbad\n__label__c y\nworse\n")
    assert doubtful_lines(refusal(path, several_labels="repeat", chunk_docs=2)) == [2, 4]
