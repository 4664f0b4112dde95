"""CoNLL-U: words, ranges, empty nodes, ids (case o35)."""

from __future__ import annotations

import gzip
import io

import pytest

from gpuclf.data.open import open_reader, open_text_stream
from gpuclf.data.options import DataOptions
from tests.data.reading import doubtful_lines, read, refusal, write


def node(id: str, form: str, upos: str = "X", xpos: str = "_") -> str:
    """A line of ten columns."""
    return "\t".join([id, form, form.lower(), upos, xpos, "_", "0", "root", "_", "_"]) + "\n"


ONE = "# sent_id = one\n# text = Vámonos al mar\n" + (
    node("1-2", "Vámonos", "_") + node("1", "Vamos", "VERB", "V") + node("2", "nos", "PRON", "P")
    + node("3-4", "al", "_") + node("3", "a", "ADP", "S") + node("4", "el", "DET", "D") + node("5", "mar", "NOUN", "N")
    + node("5.1", "vamos", "VERB", "V")
)  # fmt: skip
TWO = node("0.1", "gone", "VERB") + node("1", "_", "SYM", "_S") + node("2-2", "New York", "_")
TWO += node("2", "New York", "PROPN", "NP")
WORDS = [["Vamos", "nos", "a", "el", "mar"], ["_", "New York"]]
UPOS = [["VERB", "PRON", "ADP", "DET", "NOUN"], ["SYM", "PROPN"]]


@pytest.mark.parametrize(
    "content",
    [
        f"{ONE}\n{TWO}\n",
        f"{ONE}\n{TWO}"[:-1],
        f"\ufeff{ONE}\n\n# newpar\n\n{TWO}\n".replace("\n", "\r\n"),
        gzip.compress(f"{ONE}\n{TWO}\n".encode()),
    ],
    ids=["plain", "no last line feed", "crlf and a byte order mark", "gzip"],
)
def test_words_without_ranges_and_empty_nodes(tmp_path, content):
    found = read(write(tmp_path / "train.conllu", content), gold="upos")
    assert (found.sentences, found.gold) == (WORDS, UPOS)
    assert (found.report.records, found.report.tokens) == (2, 7)
    assert "3 multiword ranges (such as 2-3) and 2 empty nodes" in found.note("passed over")


@pytest.mark.parametrize(
    ("gold", "tags"), [("xpos", ["V", "P"]), ("XPOS", ["V", "P"]), (4, ["V", "P"]), ("deprel", ["root", "root"])]
)
def test_any_column_may_be_gold(tmp_path, gold, tags):
    assert read(write(tmp_path / "t.conllu", f"{ONE}\n"), gold=gold).gold[0][:2] == tags


def test_gold_tags_are_read_only_where_they_are_asked_for(tmp_path):
    path = write(tmp_path / "t.conllu", node("1", "a", "_"))
    for settings in ({}, {"gold": "upos", "labelled": False}):
        found = read(path, **settings)
        assert found.sentences == [["a"]]
        assert found.chunks[0].sentences.gold is None
    assert "no gold tag ('_')" in refusal(path, gold="upos").message


def test_other_words(tmp_path):
    assert read(write(tmp_path / "t.conllu", ONE), tokens="lemma").sentences[0][0] == "vamos"
    assert refusal(write(tmp_path / "t.conllu", ONE), tokens="lema").key == "data.tokens"
    assert refusal(write(tmp_path / "t.conllu", ONE), gold="pos").key == "data.gold"
    assert refusal(write(tmp_path / "t.conllu", ONE), gold="form").key == "data.gold"


def test_sentences_are_known_by_their_id_or_their_number(tmp_path):
    named = f"{ONE}\n{TWO}\n# sent_id = x=1\n{TWO}\n# sent_id = one\n{TWO}\n"
    found = read(write(tmp_path / "t.conllu", named))
    assert found.all("ids") == ["one", "line 12", "x=1", "one line 24"]
    assert found.note("sent_id").startswith("1 sentences repeat")
    assert read(write(tmp_path / "t.conllu", f"{TWO}\n{ONE}\n")).all("ids") == ["1", "2"]


def test_records_are_counted_beside_lines(tmp_path):
    found = read(write(tmp_path / "t.conllu", f"{ONE}\n{TWO}\n"))
    assert found.all("lines") == [3, 12]
    assert (found.report.records, found.report.lines) == (2, 16)


BAD = (
    node("1", "a") + node("3", "c") + "\n"
    + node("1", " ") + "\n"
    + "1\ta\t_\tX\n\n"
    + "word X\n\n"
    + node("x", "a") + "\n"
    + node("1", "a") + "# sent_id = late\n" + node("1", "b") + "\n"
    + node("1-2", "ab") + "\n"
    + node("1", "fine") + "\n"
    + node("2", "b") + node("3", "c")
)  # fmt: skip


def test_every_doubtful_sentence_is_listed_by_its_line(tmp_path):
    fault = refusal(write(tmp_path / "t.conllu", BAD))
    assert doubtful_lines(fault) == [2, 4, 6, 8, 10, 13, 16, 20]
    text = str(fault)
    for part in (
        "word 2 of the sentence has id 3",
        "the word ' ' is blank",
        "4 columns, not 10",
        "other columned text is format conll",
        "'x' is no id",
        "a sent_id inside a sentence",
        "a sentence without a word",
        "word 1 of the sentence has id 2",
        "8 doubtful records",
    ):
        assert part in text
    found = read(write(tmp_path / "t.conllu", BAD), on_bad="skip")
    assert (found.sentences, found.report.skipped, found.all("ids")) == ([["fine"]], 8, ["8"])


def test_two_sentences_without_a_line_between_are_noticed(tmp_path):
    content = node("1", "a") + node("2", "b") + node("1", "c")
    assert "word 3 of the sentence has id 1" in refusal(write(tmp_path / "t.conllu", content)).message


def test_ids_of_any_length_are_refused_not_computed(tmp_path):
    assert "no id" in refusal(write(tmp_path / "t.conllu", node("9" * 5000, "a"))).message


def test_a_no_break_space_and_exotic_separators_stay_inside_words(tmp_path):
    word = "a\u00a0b\u2028c d"
    assert read(write(tmp_path / "t.conllu", node("1", word))).sentences == [[word]]


def test_a_stream_needs_no_gold_tags():
    options = DataOptions(train="x", gold="upos")
    stream = io.BytesIO((node("1", "a", "_") + "\n" + node("1", "b")).encode())
    reader = open_text_stream(stream, options, format="conllu")
    assert [token for chunk in reader.chunks() for token in chunk.sentences.tokens] == ["a", "b"]


@pytest.mark.parametrize(("part", "records", "tokens"), [("train", 3136, 51717), ("dev", 1001, 12652)])
def test_the_bundled_sentences_read_whole(part, records, tokens):
    for column, tags in (("upos", 17), ("xpos", 49)):
        options = DataOptions(train=f"bundled:ewt/{part}.conllu.gz", gold=column)
        reader = open_reader(options.train, options)
        found = {tag for chunk in reader.chunks() for tag in chunk.sentences.gold}
        assert (reader.report.records, reader.report.tokens, len(found)) == (records, tokens, tags)
        assert "X" in found if column == "upos" else "HYPH" in found


def test_further_columns(tmp_path):
    found = read(write(tmp_path / "t.conllu", f"{ONE}\n"), format="conllu", gold="upos", inputs=["xpos", "lemma"])
    assert [chunk.sentences.inputs for chunk in found.chunks] == [
        {"xpos": ["V", "P", "S", "D", "N"], "lemma": ["vamos", "nos", "a", "el", "mar"]}
    ]
    assert "no column 'pos'" in str(refusal(write(tmp_path / "u.conllu", ONE), format="conllu", inputs=["pos"]))
