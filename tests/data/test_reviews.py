"""Reviews: the forms of a line, spans and aspects, reviews as groups, what is refused and with which words."""

from __future__ import annotations

import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuclf.data.open import open_text_stream
from gpuclf.data.options import DataOptions
from gpuclf.data.records import Chunk
from gpuclf.data.sentence_split import sentence_spans
from gpuclf.faults import UserFault
from tests.data.reading import Read, doubtful_lines, read, refusal, write


def lines(*records: Any) -> str:
    return "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)


def reviews_of(path: Path, *records: Any, **options: Any) -> Read:
    return read(write(path / "r.jsonl", lines(*records)), format="reviews", **options)


def refused(path: Path, *records: Any, **options: Any) -> UserFault:
    return refusal(write(path / "r.jsonl", lines(*records)), format="reviews", **options)


def only(found: Read) -> Chunk:
    assert len(found.chunks) == 1
    return found.chunks[0]


def span(start: int, end: int, aspect: str, **more: Any) -> dict[str, Any]:
    return {"start": start, "end": end, "aspect": aspect, **more}


PLAIN = {
    "business": "Joe's",
    "review": "r1",
    "sentences": [
        {"text": "Great pizza, rude staff.", "spans": [span(6, 11, "food"), span(18, 23, "service", polarity=-1)]},
        {"text": "Loud.", "spans": []},
    ],
}
SEMEVAL = {
    "rid": 7,
    "sentences": [
        {
            "id": "7:0",
            "text": "Cheap wine, no view.",
            "opinions": [
                {"target": "wine", "category": "DRINKS#PRICES", "polarity": "positive", "start": 6, "end": 10},
                {"target": "wine", "category": "DRINKS#QUALITY", "polarity": "positive", "start": 6, "end": 10},
                {"target": "view", "category": "LOCATION#GENERAL", "polarity": "negative", "start": 15, "end": 19},
                {"target": "NULL", "category": "RESTAURANT#GENERAL", "polarity": "neutral", "start": 0, "end": 0},
            ],
        }
    ],
}


def test_plain_reviews(tmp_path: Path) -> None:
    found = reviews_of(tmp_path, PLAIN, {"sentences": [{"text": "Nice.", "spans": []}]})
    chunk = only(found)
    assert chunk.ids == ["r1:1", "r1:2", "2:1"]
    assert chunk.groups == ["r1", "r1", "2"]
    assert chunk.lines == [1, 1, 2]
    assert chunk.labels is None
    reviews = chunk.reviews
    assert reviews is not None
    assert reviews.starts.tolist() == [0, 2, 3]
    assert reviews.ids == ["r1", "2"]
    assert reviews.businesses == ["Joe's", None]
    assert reviews.texts == ["Great pizza, rude staff.", "Loud.", "Nice."]
    assert reviews.spans == [[(6, 11, "food"), (18, 23, "service")], [], []]
    assert reviews.begins.tolist() == [-1, -1, -1]
    assert found.report.records == 2
    assert found.note("reviews of").endswith("2 reviews of 3 sentences; 2 spans: food 1, service 1")


def test_categories_of_semeval_become_aspects(tmp_path: Path) -> None:
    found = reviews_of(tmp_path, SEMEVAL)
    assert only(found).reviews.spans == [[(6, 10, "value"), (15, 19, "ambiance")]]  # of one span the first category
    assert only(found).reviews.ids == ["7"]
    assert found.note("no word names").endswith(": 1")
    assert found.note("given first counts").endswith(": 1")


def test_a_map_of_ones_own(tmp_path: Path) -> None:
    aspects = {"DRINKS#QUALITY": "taste", "DRINKS#*": "NONE", "*": "rest"}
    assert only(reviews_of(tmp_path, SEMEVAL, aspects=aspects)).reviews.spans == [[(6, 10, "taste"), (15, 19, "rest")]]
    fault = refused(tmp_path, SEMEVAL, aspects={"FOOD#*": "food"})
    assert "'DRINKS#PRICES' fits none of 'FOOD#*'" in fault.message
    assert "data.aspects" in str(fault.remedy)
    laptop = {"sentences": [{"text": "Fast", "opinions": [{"start": 0, "end": 4, "category": "LAPTOP#SPEED"}]}]}
    assert "SemEval-2016 restaurants" in refused(tmp_path, laptop).message


def test_a_text_is_split_and_spans_go_with_its_sentences(tmp_path: Path) -> None:
    text = "Slow. The fish was off!\nBad fish"
    targets = [{"target": "fish", "start": 10, "end": 14, "polarity": "Negative"}]
    chunk = only(reviews_of(tmp_path, {"text": text, "targets": targets}, {"text": "Ok.", "spans": [span(0, 3, "a")]}))
    assert chunk.reviews is not None
    assert chunk.reviews.texts == ["Slow.", "The fish was off!", "Bad fish", "Ok."]
    assert chunk.reviews.begins.tolist() == [0, 6, 24, 0]
    assert chunk.reviews.spans == [[], [(4, 8, "target")], [], [(0, 3, "a")]]
    over = only(reviews_of(tmp_path, {"text": text, "spans": [span(0, 14, "a")]})).reviews
    assert over.spans == [[(0, 5, "a")], [(0, 8, "a")], []]  # a span over a sentence's end has a part in each


def test_without_labels_anything_that_is_text_is_read(tmp_path: Path) -> None:
    product = {"product": "Cam", "title": "x", "sentences": [{"text": "Good.", "features": [{"feature": "a"}]}]}
    found = reviews_of(tmp_path, product, {"sentences": ["Bare.", "Text."]}, PLAIN, {"text": " "}, labelled=False)
    reviews = only(found).reviews
    assert reviews.spans is None
    assert reviews.texts == ["Good.", "Bare.", "Text.", "Great pizza, rude staff.", "Loud.", ""]
    assert reviews.businesses == ["Cam", None, "Joe's", None]  # an empty review is answered, too
    assert only(found).ids[-1] == "4:1"


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"review": "a"}, "neither 'sentences' nor 'text' is there; found: 'review'"),
        ({"sentences": []}, "the review has no sentence"),
        ({"sentences": [{"text": " ", "spans": []}]}, "the review is empty"),
        ({"sentences": "a b"}, "field 'sentences' is not a list"),
        ({"sentences": [7]}, "sentence 1: neither a text nor an object"),
        ({"sentences": [{"spans": []}]}, "sentence 1: no text"),
        ({"sentences": ["No spans."]}, "sentence 1 does not say which words are of which aspect"),
        ({"sentences": [{"text": "abc", "spans": [span(0, 4, "a")]}]}, "0 to 4 is no span of a text of 3 characters"),
        ({"sentences": [{"text": "abc", "spans": [span(2, 2, "a")]}]}, "2 to 2 is no span"),
        ({"sentences": [{"text": "abc", "spans": [span(-1, 2, "a")]}]}, "-1 to 2 is no span"),
        ({"sentences": [{"text": "abc", "spans": [{"start": 0, "aspect": "a"}]}]}, "'end' is null, no whole number"),
        ({"sentences": [{"text": "abc", "spans": [{"start": True, "end": 2}]}]}, "'start' is true, no whole number"),
        ({"sentences": [{"text": "a b", "spans": [span(1, 2, "a")]}]}, "1 to 2 holds white space only"),
        ({"sentences": [{"text": "abc", "spans": [span(0, 2, "")]}]}, 'the aspect is "", no name'),
        ({"sentences": [{"text": "abc", "spans": [span(0, 2, "a", target="bc")]}]}, "0 to 2 is 'ab', not 'bc'"),
        (
            {"sentences": [{"text": "abcd", "spans": [span(0, 3, "a"), span(2, 4, "b")]}]},
            "sentence 1: the spans 0-3 (a) and 2-4 (b) overlap",
        ),
        ({"review": [1], "text": "a", "spans": []}, "field 'review' holds neither a text nor a whole number"),
        ([1], "not a JSON object"),
    ],
)
def test_what_is_refused(tmp_path: Path, record: Any, said: str) -> None:
    fault = refused(tmp_path, PLAIN, record)
    assert said in fault.message
    assert fault.line == 2
    assert str(fault.file).endswith("r.jsonl")
    assert "data.on_bad: skip" in str(fault.remedy)
    kept = reviews_of(tmp_path, PLAIN, record, on_bad="skip")
    assert kept.report.records == 1
    assert kept.report.skipped == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"text": "a"', "not JSON"),
        ('{"text": "a", "text": "b"}', "field 'text' stands twice"),
        ('{"text": NaN}', "NaN is not JSON"),
        ('{"text": "\\ud800"}', "half of a surrogate pair"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_lines_that_are_no_json(tmp_path: Path, line: str, said: str) -> None:
    assert said in refusal(write(tmp_path / "r.jsonl", line + "\n"), format="reviews").message


def test_ids_are_unique_and_numbers_are_ids(tmp_path: Path) -> None:
    empty = {"sentences": [{"text": "a", "spans": []}]}
    fault = refused(tmp_path, {**empty, "review": "x"}, {**empty, "review": "x"}, {**empty, "review": "2"}, empty)
    assert doubtful_lines(fault) == [2]
    assert "id 'x' stands in line 1 already" in str(fault)
    assert "id '3' stands in line 1" in refused(tmp_path, {**empty, "review": 3}, empty, empty).message
    assert "no field named 'key' (data.id)" in refused(tmp_path, empty, id="key").message
    assert only(reviews_of(tmp_path, empty, id="key", group="city", labelled=False)).ids == ["1:1"]  # to be answered
    grouped = reviews_of(tmp_path, {**empty, "city": "Rome"}, {**empty, "city": "Rome"}, group="city")
    assert only(grouped).groups == ["Rome", "Rome"]


def test_a_limit_counts_reviews_and_chunks_hold_whole_ones(tmp_path: Path) -> None:
    records = [{**PLAIN, "review": str(number)} for number in range(5)]
    found = reviews_of(tmp_path, *records, chunk_docs=3)
    assert all(len(chunk) % 2 == 0 for chunk in found.chunks)
    assert len(found.chunks) > 1
    assert [id for chunk in found.chunks for id in chunk.reviews.ids] == list("01234")
    assert reviews_of(tmp_path, *records, limit=2).report.records == 2


def test_marks_of_encodings_and_line_separators(tmp_path: Path) -> None:
    """Cases o03 and o05: a byte order mark is no text, U+2028 and U+0085 end no line; offsets count code points."""
    text = "Caf\u00e9\u2028\u0085 \U0001f600 menu"
    record = {"review": "r", "sentences": [{"text": text, "spans": [span(9, 13, "food")]}]}
    content = "\ufeff" + json.dumps(record, ensure_ascii=False) + "\r\n\n"
    found = read(write(tmp_path / "r.jsonl", content), format="reviews")
    assert only(found).reviews.texts == [text]
    assert text[9:13] == "menu"
    assert found.note("blank lines").startswith("1 ")


PIECES = [
    '{"text": "a b. c", "spans": []}', '{"review": 1, "text": "\u00e9"}', "\n", "\r\n", "]}", "\\ud800", "nan", "\x00",
    '{"sentences": [{"text": "a", "spans": [{"start": 0, "end": 1, "aspect": "x"}]}]}', '{"rid": "1", "sentences": [',
    '"',
]  # fmt: skip


@given(
    st.lists(st.sampled_from(PIECES), max_size=12),
    st.booleans(),
    st.sampled_from(["refuse", "skip"]),
    st.integers(1, 3),
)
def test_any_input_gives_whole_reviews_or_one_fault(pieces: list[str], labelled: bool, on_bad: Any, size: int) -> None:
    options = DataOptions(train="x", on_bad=on_bad)
    stream = io.BytesIO("".join(pieces).encode())
    reader = open_text_stream(stream, options, format="reviews", labelled=labelled, chunk_docs=size)
    records = 0
    try:
        for chunk in reader.chunks():
            reviews = chunk.reviews
            assert reviews is not None
            assert len(chunk) == len(reviews.texts) == reviews.starts[-1] == len(chunk.groups)
            assert (reviews.spans is not None) == labelled
            records += len(reviews.ids)
    except UserFault:
        return
    assert records == reader.report.records


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("", []),
        (" \n ", []),
        ("One. two! Three?", ["One.", "two!", "Three?"]),
        ("Dr. No vs. J. Bond, e.g. here. Done", ["Dr. No vs. J. Bond, e.g. here.", "Done"]),
        ("It was ok... but then. Well... No.", ["It was ok... but then.", "Well...", "No."]),
        ("Open till 9 p.m. daily. Closed 3 p.m. Sundays", ["Open till 9 p.m. daily.", "Closed 3 p.m.", "Sundays"]),
        ('He said "no." (Really.) 3.5 stars', ['He said "no."', "(Really.)", "3.5 stars"]),
        ("Great!!!\n\nfood", ["Great!!!", "food"]),
        ("So did I. We left", ["So did I.", "We left"]),
        ("\u597d\u3002\u5403\u4e86\uff01", ["\u597d\u3002", "\u5403\u4e86\uff01"]),
    ],
)
def test_sentences_of_a_text(text: str, sentences: list[str]) -> None:
    spans = sentence_spans(text)
    assert [text[start:end] for start, end in spans] == sentences


@given(st.text(alphabet="aB .!?\n\u2026\u3002\u201d", max_size=40))
def test_sentences_leave_out_nothing_but_white_space(text: str) -> None:
    spans = sentence_spans(text)
    covered = "".join("x" if any(a <= place < b for a, b in spans) else char for place, char in enumerate(text))
    assert not covered.replace("x", "").strip()
    assert all(start < end for start, end in spans)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
