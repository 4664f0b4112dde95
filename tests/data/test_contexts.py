"""Sense-tagged contexts: JSON lines and Senseval-2 XML, what is taken and what is refused, where."""

from __future__ import annotations

import io
import json

import pytest

from gpuclf.data.open import open_text_stream
from gpuclf.data.options import DataOptions
from tests.data.reading import doubtful_lines, read, refusal, write

ONE = {"id": "a", "sense": "s1", "tokens": ["the", "bank", "."], "pos": ["DT", "NN", "."], "head": 1}
WSD = {"format": "wsd", "label": "sense"}
XML = (
    '<corpus>\n<instance id="a"><answer senseid="s1"/>\n<context>the <head>bank</head> . </context></instance>\n'
    "</corpus>"
)


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_json_lines(tmp_path):
    found = read(write(tmp_path / "t.jsonl", lines(ONE, ONE | {"id": "b", "sense": 7}) + "\n"), **WSD)
    held = found.chunks[0].contexts
    assert (held.tokens[:3], held.tags[:3], held.heads.tolist()) == (ONE["tokens"], ONE["pos"], [1, 1])
    assert held.offsets.tolist() == [0, 3, 6]
    assert (found.labels, found.all("ids"), found.report.tokens) == (["s1", "7"], ["a", "b"], 6)
    assert "1 blank lines" in found.note("blank")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"head": 3}, "the target is item 3"),
        ({"head": -1}, "the target is item -1"),
        ({"head": True}, "no whole number"),
        ({"pos": ["DT"]}, "3 tokens, but 1 tags"),
        ({"tokens": "the bank"}, "'tokens' is not a list"),
        ({"sense": {"a": 1}}, "holds no label"),
        ({"sense": None}, "no label"),
        ({"tokens": [], "pos": [], "head": 0}, "a context of 0"),
    ],
)
def test_bad_records_are_refused_with_line_and_reason(tmp_path, change, reason):
    fault = refusal(write(tmp_path / "t.jsonl", lines(ONE, ONE | {"id": "b"} | change)), **WSD)
    assert doubtful_lines(fault) == [2]
    assert reason in str(fault)
    assert "t.jsonl:2" in str(fault)


def test_no_json_and_repeated_ids(tmp_path):
    assert "not JSON" in str(refusal(write(tmp_path / "t.jsonl", "{"), **WSD))
    assert "stands in line 1 already" in str(refusal(write(tmp_path / "u.jsonl", lines(ONE, ONE)), **WSD))


def test_a_stream_without_labels(tmp_path):
    options = DataOptions(train=tmp_path / "x", **WSD)
    stream = io.BytesIO(lines({k: v for k, v in ONE.items() if k != "sense"}).encode())
    (chunk,) = open_text_stream(stream, options, format="wsd").chunks()
    assert chunk.labels is None
    assert chunk.contexts.tokens == ONE["tokens"]


def test_plain_xml_has_words_without_tags(tmp_path):
    found = read(write(tmp_path / "t.xml", XML), format="senseval")
    held = found.chunks[0].contexts
    assert (held.tokens, held.tags, held.heads.tolist()) == (["the", "bank", "."], ["", "", ""], [1])
    assert (found.labels, found.all("ids"), found.all("lines")) == (["s1"], ["a"], [2])


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (XML.replace("the ", "the & "), 3, "not well-formed"),
        (XML.replace("</corpus>", ""), 3, "no element found"),
        (XML.replace("<head>bank</head>", "bank"), 2, "a: 0 heads"),
        ('<!DOCTYPE c [<!ENTITY x "y">]>\n' + XML, 1, "declares an entity"),
        (XML.replace('<answer senseid="s1"/>', ""), 2, "no label"),
    ],
)
def test_bad_xml_is_refused_with_line_and_remedy(tmp_path, content, line, reason):
    fault = refusal(write(tmp_path / "t.xml", content), format="senseval")
    assert doubtful_lines(fault) == [line]
    assert reason in str(fault)
    assert ";" in str(fault)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"word": "bank.n"}, ["art.n", "bank.n"]), ({}, None), ({"word": 7}, None), ({"word": " "}, None)],
)
def test_the_ambiguous_word_of_every_record_or_of_none(tmp_path, change, words):
    named = lines(ONE | {"word": "art.n"}, ONE | {"id": "b"} | change)
    assert read(write(tmp_path / "t.jsonl", named), **WSD).chunks[0].contexts.words == words


def test_a_field_of_the_ambiguous_word_that_is_named_stands_in_every_record(tmp_path):
    named = lines(ONE | {"item": "art.n"}, ONE | {"id": "b"}, ONE | {"id": "c", "item": ["art.n"]})
    path = write(tmp_path / "t.jsonl", named)
    fault = refusal(path, **WSD, word="item")
    assert doubtful_lines(fault) == [2, 3]
    assert "b: no text in a field named 'item' (data.word)" in str(fault)
    assert read(path, **WSD, word="item", on_bad="skip").chunks[0].contexts.words == ["art.n"]
    assert read(path, **WSD).chunks[0].contexts.words is None


def test_a_note_says_that_a_file_holds_several_words(tmp_path):
    made = [ONE | {"id": str(n), "word": f"w{n % 7}.n"} for n in range(9)]
    note = read(write(tmp_path / "t.jsonl", lines(*made)), **WSD, chunk_docs=2).note("ambiguous")
    assert note == (
        "contexts of 7 ambiguous words (w0.n, w1.n, w2.n, w3.n, w4.n, …): a model for each where features.by_word is "
        "true, else one for all"
    )
    assert read(write(tmp_path / "u.jsonl", lines(made[0], made[7])), **WSD).report.notes == []


def test_the_words_of_xml_are_the_items_of_lexelts(tmp_path):
    instance = XML[XML.index("<instance") : XML.index("</corpus>")]
    second = instance.replace('id="a"', 'id="b"')
    both = f'<c><lexelt item="art.n">{instance}</lexelt>\n<lexelt item="bank.v">{second}</lexelt></c>'
    found = read(write(tmp_path / "t.xml", both), format="senseval")
    assert found.chunks[0].contexts.words == ["art.n", "bank.v"]
    assert "contexts of 2 ambiguous words (art.n, bank.v)" in found.note("ambiguous")
    outside = f'<c><lexelt item="art.n">{instance}</lexelt>\n{second}</c>'
    assert read(write(tmp_path / "u.xml", outside), format="senseval").chunks[0].contexts.words is None


def test_a_context_with_several_labels_is_repeated_with_each(tmp_path):
    record = ONE | {"sense": ["s", "t"], "word": "bank.n"}
    found = read(write(tmp_path / "t.jsonl", lines(record)), **WSD, several_labels="repeat")
    assert (found.labels, found.report.tokens) == (["s", "t"], 3)
    assert found.chunks[0].contexts.tokens == ONE["tokens"] * 2
    assert found.chunks[0].contexts.words == ["bank.n"] * 2
    answers = XML.replace('<answer senseid="s1"/>', '<answer senseid="s"/><answer senseid="t"/>')
    twice = read(write(tmp_path / "t.xml", answers), format="senseval", several_labels="repeat")
    assert twice.chunks[0].contexts.heads.tolist() == [1, 1]
