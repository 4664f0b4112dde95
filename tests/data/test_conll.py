"""CoNLL columns: what parts columns and sentences, which columns are read, what is refused."""

from __future__ import annotations

import io

import pytest

from gpuclf.data.open import open_text_stream
from gpuclf.data.options import DataOptions
from gpuclf.faults import UserFault
from tests.data.reading import doubtful_lines, read, refusal, write

TAGGED = {"format": "conll", "columns": ["token", "tag"], "tokens": "token", "gold": "tag"}
PLAIN = "The\tDT\ncat\tNN\n\nIt\tPRP\nsat\tVBD\n.\t.\n\n"
WORDS = [["The", "cat"], ["It", "sat", "."]]
TAGS = [["DT", "NN"], ["PRP", "VBD", "."]]


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        PLAIN.rstrip("\n"),
        "\n\n" + PLAIN.replace("\n\n", "\n\n \n\n"),
        PLAIN.replace("\n", "\r\n"),
        "\ufeff" + PLAIN,
        PLAIN.replace("\t", " "),
        PLAIN.replace("\t", "   ").replace("The", " The").replace("DT", "DT  "),
    ],
    ids=["plain", "no last line feed", "blank lines", "crlf", "byte order mark", "blanks", "runs"],
)
def test_sentences_and_tags(tmp_path, content):
    found = read(write(tmp_path / "train.conll", content), **TAGGED)
    assert (found.sentences, found.gold) == (WORDS, TAGS)
    assert (found.report.records, found.report.tokens) == (2, 5)
    assert [chunk.labels for chunk in found.chunks] == [None]
    assert found.all("ids") == ["1", "2"]


def test_the_format_is_known_by_the_ending(tmp_path):
    found = read(write(tmp_path / "train.conll", PLAIN))
    assert found.sentences == WORDS
    assert [chunk.sentences.gold for chunk in found.chunks] == [None], "gold tags are read where data.gold names them"
    assert "by the ending .conll" in found.note("format conll")


def test_records_are_counted_beside_lines(tmp_path):
    found = read(write(tmp_path / "t.conll", "\n" + PLAIN), **TAGGED)
    assert (found.report.records, found.report.lines, found.report.tokens) == (2, 8, 5)
    assert found.all("lines") == [2, 5]


def test_with_tabs_blanks_belong_to_words(tmp_path):
    path = write(tmp_path / "t.conll", "New York\tNNP\nis\tVBZ\n")
    assert read(path, **TAGGED).sentences == [["New York", "is"]]


def test_nothing_but_blanks_and_tabs_parts_columns(tmp_path):
    word = "a\u00a0b\u2028c\u3000d\u0085e\x0cf"
    for between in ("\t", " ", "  "):
        assert read(write(tmp_path / "t.conll", f"{word}{between}X\n"), **TAGGED).sentences == [[word]]


def test_columns_by_place(tmp_path):
    path = write(tmp_path / "t.conll", "1 The DT\n2 cat NN\n")
    found = read(path, format="conll", tokens=1, gold=2)
    assert (found.sentences, found.gold) == ([["The", "cat"]], [["DT", "NN"]])
    assert read(path, format="conll").sentences == [["1", "2"]], "the first column where none is named"
    assert "no column 3: there are 3" in refusal(path, format="conll", tokens=1, gold=3).message


@pytest.mark.parametrize(
    ("settings", "reason", "key"),
    [
        ({"tokens": "token"}, "no names", "data.tokens"),
        ({"tokens": 0, "gold": "tag"}, "no names", "data.gold"),
        (TAGGED | {"gold": "pos"}, "no column 'pos' among 'token', 'tag'", "data.gold"),
        (TAGGED | {"tokens": "word"}, "no column 'word'", "data.tokens"),
        (TAGGED | {"gold": 0}, "the same column", "data.gold"),
    ],
)
def test_columns_that_are_not_there(tmp_path, settings, reason, key):
    fault = refusal(write(tmp_path / "t.conll", PLAIN), **settings)
    assert reason in fault.message
    assert fault.key == key
    assert fault.remedy


BAD = "The\tDT\ncat\n\n\tNN\n\nIt\tPRP\tX\n\nsat\t\n \t.\n\nok\tUH\n\n\u00a0\tNN\n"


def test_every_doubtful_sentence_is_listed_by_its_line(tmp_path):
    fault = refusal(write(tmp_path / "t.conll", BAD), **TAGGED)
    assert doubtful_lines(fault) == [2, 4, 6, 8, 13]
    text = str(fault)
    for part in (
        "1 column, not 2 as data.columns says: 'cat'",
        "the word '' is blank",
        "3 columns, not 2",
        "'sat' has no gold tag ('') (and 1 more in this sentence)",
        "'\\xa0' is blank",
        "data.on_bad: skip",
    ):
        assert part in text


def test_skipping_leaves_out_whole_sentences(tmp_path):
    found = read(write(tmp_path / "t.conll", BAD), on_bad="skip", **TAGGED)
    assert (found.sentences, found.gold) == ([["ok"]], [["UH"]])
    assert (found.report.skipped, found.report.records, found.report.tokens, found.report.lines) == (5, 1, 1, 13)
    assert found.all("ids") == ["5"], "sentences keep their number"


def test_a_missing_tag_is_what_data_missing_says(tmp_path):
    path = write(tmp_path / "t.conll", "a NULL\n\nb X\n")
    assert read(path, **TAGGED).gold == [["NULL"], ["X"]]
    assert refusal(path, missing=["", "NULL"], **TAGGED).line == 1


def test_a_line_that_names_the_columns_is_no_word(tmp_path):
    fault = refusal(write(tmp_path / "t.conll", "token\ttag\nThe\tDT\n"), **TAGGED)
    assert (fault.line, "header" in fault.message) == (1, True)


def test_documents(tmp_path):
    content = "-DOCSTART- -X-\n\nThe DT\n-DOCSTART-\ncat NN\n\n-DOCSTARTED- NN\n"
    found = read(write(tmp_path / "t.conll", content), **TAGGED)
    assert found.sentences == [["The"], ["cat"], ["-DOCSTARTED-"]]
    assert found.note("-DOCSTART-").startswith("2 lines")


def test_a_file_of_one_long_sentence_is_told(tmp_path):
    assert "1500 words" in read(write(tmp_path / "t.conll", "a X\n" * 1500), **TAGGED).note("one sentence")
    assert read(write(tmp_path / "t.conll", "a X\n" * 30), **TAGGED).report.notes == []


@pytest.mark.parametrize(
    ("columns", "content"),
    [
        (["token", "tag"], "The\ncat\n\nIt\n"),
        (["token", "tag"], "The\tDT\ncat\tNN\n\nIt\t\n"),
        (["n", "token", "tag"], "1\tThe\n2\tcat\n\n1\tIt\n"),
        (["n", "token", "tag"], "The\ncat\n\nIt\n"),
        (["tag", "token"], "The\ncat\n\nIt\n"),
    ],
    ids=["words alone", "gold that is not looked at", "all but gold", "words alone of three", "words behind gold"],
)
@pytest.mark.parametrize("by_place", [False, True])
def test_files_to_predict_need_no_gold_tags(tmp_path, columns, content, by_place):
    path = write(tmp_path / "t.conll", content)
    tokens, gold = (columns.index("token"), columns.index("tag")) if by_place else ("token", "tag")
    found = read(path, labelled=False, format="conll", columns=columns, tokens=tokens, gold=gold)
    assert found.sentences == [["The", "cat"], ["It"]]
    assert all(chunk.sentences.gold is None for chunk in found.chunks)


def test_words_alone_without_column_names(tmp_path):
    path = write(tmp_path / "t.conll", "The\ncat\n")
    assert read(path, labelled=False, format="conll", tokens=1, gold=2).sentences == [["The", "cat"]]


def test_chunks_and_limit(tmp_path):
    path = write(tmp_path / "t.conll", "a X\nb Y\n\n" * 10 + "c Z\n")
    found = read(path, chunk_docs=3, **TAGGED)
    assert [len(chunk) for chunk in found.chunks] == [3, 3, 3, 2]
    assert found.sentences == [["a", "b"]] * 10 + [["c"]]
    assert found.gold[-2:] == [["X", "Y"], ["Z"]]
    for limit in (2, 3, 4, 11):
        found = read(path, chunk_docs=3, limit=limit, **TAGGED)
        assert found.report.records == len(found.sentences) == limit
    assert "4 documents" in read(path, limit=4, **TAGGED).note("data.limit")


def test_a_stream_gives_sentences_as_they_are_complete():
    options = DataOptions(train="x", **TAGGED)
    pipe = _Pipe([b"a X\n\nb", b" Y\nc Z", b"\n\nd X\n"])
    reader = open_text_stream(pipe, options, format="conll")
    assert [chunk.sentences.tokens for chunk in reader.chunks()] == [["a"], ["b", "c"], ["d"]]


class _Pipe(io.RawIOBase):
    """A stream that gives its blocks one after the other."""

    def __init__(self, blocks: list[bytes]):
        self._blocks = iter(blocks)

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        return next(self._blocks, b"")


def test_further_columns(tmp_path):
    found = read(write(tmp_path / "t.conll", "a\tDT\tB\nb\tNN\tI\n\nc\tNN\tO\n"), format="conll",
                 columns=["token", "pos", "chunk"], gold="chunk", inputs=["pos"])  # fmt: skip
    assert [chunk.sentences.inputs for chunk in found.chunks] == [{"pos": ["DT", "NN", "NN"]}]
    assert found.gold == [["B", "I"], ["O"]]


def test_further_columns_are_there_without_gold_but_not_in_words_alone():
    options = DataOptions(train="t", format="conll", columns=["token", "chunk", "pos"], gold="chunk", inputs=["pos"])
    reader = open_text_stream(io.BytesIO(b"a DT\n"), options, format="conll")
    assert [chunk.sentences.inputs for chunk in reader.chunks()] == [{"pos": ["DT"]}]
    with pytest.raises(UserFault, match="no column 'pos'"):
        list(open_text_stream(io.BytesIO(b"a\n"), options, format="conll").chunks())
