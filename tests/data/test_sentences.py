"""Raw text, one sentence a line."""

from __future__ import annotations

import io

import pytest

from gpuclf.data.open import open_text_stream
from gpuclf.data.options import DataOptions
from tests.data.reading import read, refusal, write


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_tokens_are_parted_by_blanks(tmp_path, ending):
    lines = ["\ufeffThe  cat\tsat .", "", " \u00a0 ", "10\u00a0000 a\u2028b \u3000 c", "last"]
    path = write(tmp_path / "raw.txt", ending.join(lines))
    found = read(path, format="sentences")
    assert found.sentences == [["The", "cat", "sat", "."], ["10\u00a0000", "a\u2028b", "c"], ["last"]]
    assert found.all("lines") == [1, 4, 5]
    assert (found.report.records, found.report.lines, found.report.tokens) == (3, 5, 8)
    assert found.note("passed over").startswith("2 blank lines")
    assert found.chunks[0].sentences.gold is None


def test_every_line_is_answered_when_predicting(tmp_path):
    path = write(tmp_path / "raw.txt", "a b\n\n \nc\n")
    found = read(path, format="sentences", labelled=False)
    assert found.sentences == [["a", "b"], [], [], ["c"]]
    assert found.report.empty_documents == 2


def test_lines_may_be_left_to_a_token_pattern(tmp_path):
    path = write(tmp_path / "raw.txt", "Don't stop.\n\nNow!\n")
    found = read(path, format="sentences", tokenize="words")
    assert found.texts == ["Don't stop.", "Now!"]
    assert found.chunks[0].sentences is None
    assert found.report.tokens == 0


def test_limit(tmp_path):
    found = read(write(tmp_path / "raw.txt", "a\n\nb\nc\nd\n"), format="sentences", limit=2)
    assert found.sentences == [["a"], ["b"]]


def test_bytes_that_are_no_utf_8_are_refused_by_line(tmp_path):
    fault = refusal(write(tmp_path / "raw.txt", b"fine\nbad \xff\n"), format="sentences")
    assert fault.line == 2


def test_gold_tags_of_the_training_format_are_not_looked_for():
    options = DataOptions(train="x.conllu", gold="upos")
    for labelled in (True, False):
        reader = open_text_stream(io.BytesIO(b"a b\n"), options, format="sentences", labelled=labelled)
        assert [chunk.sentences.gold for chunk in reader.chunks()] == [None]
