"""The forms in which a review may stand in a line of JSON, brought to one: ordered sentences with marked spans.

Plain     {"business": …, "review": id, "sentences": [{"text": …, "spans": [{"start", "end", "aspect"}]}]}
          {"business": …, "review": id, "text": …, "spans": […]}: one text, split into sentences
SemEval   {"rid": id, "sentences": [{"text": …, "opinions": [{"target", "category", "start", "end"}]}]}, with offsets
          within the sentence; the target NULL has no span
Targets   {"text": …, "targets": […]} or "terms": spans of a whole text, without a category
Products  {"product": …, "sentences": [{"text": …, "features": […]}]}: marks of sentences, no spans

A sentence may be a bare string. Fields that are not named here are not looked at. Offsets count characters (code
points) from 0; `end` is the place after the last.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gpuclf.data.aspects import TARGET
from gpuclf.data.sentence_split import sentence_spans

ID_FIELDS = ("review", "rid", "id")
BUSINESS_FIELDS = ("business", "product", "restaurant")
_SPAN_FIELDS = ("spans", "opinions", "targets", "terms")
_CATEGORY_FIELDS = ("aspect", "category")
_IMPLICIT = "NULL"  # the target of an opinion that no word names


class BadReview(ValueError):
    """What is wrong with a record, and what to do about it where that differs from the format's remedy."""

    def __init__(self, reason: str, remedy: str | None = None):
        super().__init__(reason)
        self.remedy = remedy


@dataclass(frozen=True)
class Mark:
    """A span of a sentence and its category, as annotated."""

    start: int
    end: int
    category: str


@dataclass(frozen=True)
class MarkedSentence:
    """A sentence; marks is None where the record does not say what is marked. begins: its place in a text, else -1."""

    text: str
    marks: tuple[Mark, ...] | None
    begins: int = -1
    implicit: int = 0  # opinions without a span


@dataclass(frozen=True)
class MarkedReview:
    """A review as it stands in the file."""

    id: str | None
    business: str | None
    group: str | None
    sentences: tuple[MarkedSentence, ...]


def read_review(line: str, id_field: str | None, group_field: str | None, required: bool = True) -> MarkedReview:
    """The review of a line. Raises BadReview, with the sentence where there is one; for a line without the fields that
    are named only if they are `required`."""
    fields = _object(line)
    named = _name(fields, ID_FIELDS if id_field is None else (id_field,))
    group = None if group_field is None else _name(fields, (group_field,))
    for key, field, value in (("data.id", id_field, named), ("data.group", group_field, group)):
        if required and field is not None and value is None:
            raise BadReview(f"no field named {field!r} ({key}); found: {_listed(fields)}")
    return MarkedReview(named, _name(fields, BUSINESS_FIELDS), group, _sentences(fields))


def _object(line: str) -> dict[str, Any]:
    try:
        fields = json.loads(line, object_pairs_hook=_pairs, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise BadReview(f"not JSON: {error.msg} (column {error.colno})") from None
    except RecursionError:
        raise BadReview("nested too deeply") from None
    if not isinstance(fields, dict):
        raise BadReview("not a JSON object")
    if "\\ud" in line or "\\uD" in line:  # only an escape can smuggle in half a character
        try:
            json.dumps(fields, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise BadReview("holds half of a surrogate pair, which is no character") from None
    return fields


def _listed(fields: dict[str, Any]) -> str:
    return ", ".join(map(repr, list(fields)[:20]))


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        raise BadReview(f"field {next(name for name in names if names.count(name) > 1)!r} stands twice in an object")
    return fields


def _no_constant(name: str) -> None:
    raise BadReview(f"{name} is not JSON")


def _name(fields: dict[str, Any], names: Sequence[str]) -> str | None:
    """The first of these fields that is there, a text or a whole number; null and "" count as not there."""
    for name in names:
        value = fields.get(name)
        if value is None or value == "":
            continue
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise BadReview(f"field {name!r} holds neither a text nor a whole number")
        return str(value)
    return None


def _sentences(fields: dict[str, Any]) -> tuple[MarkedSentence, ...]:
    if "sentences" in fields:
        given = fields["sentences"]
        if not isinstance(given, list):
            raise BadReview("field 'sentences' is not a list")
        return tuple(_sentence(one, number) for number, one in enumerate(given, start=1))
    if "text" not in fields:
        raise BadReview(f"neither 'sentences' nor 'text' is there; found: {_listed(fields)}")
    return _split(_sentence(fields, None))


def _sentence(given: Any, number: int | None) -> MarkedSentence:
    """One sentence, or with number None a whole text."""
    where = "" if number is None else f"sentence {number}: "
    if isinstance(given, str):
        return MarkedSentence(given, None)
    if not isinstance(given, dict) or not isinstance(given.get("text"), str):
        raise BadReview(f"{where}no text" if isinstance(given, dict) else f"{where}neither a text nor an object")
    text = given["text"]
    field = next((name for name in _SPAN_FIELDS if name in given), None)
    if field is None or (not given[field] and given.get("categories")):  # categories of a sentence mark no words
        return MarkedSentence(text, None)
    if not isinstance(given[field], list):
        raise BadReview(f"{where}field {field!r} is not a list")
    marks = [_mark(one, text, f"{where}{field} {place}: ") for place, one in enumerate(given[field], start=1)]
    found = tuple(mark for mark in marks if mark is not None)
    return MarkedSentence(text, found, implicit=len(marks) - len(found))


def _mark(given: Any, text: str, where: str) -> Mark | None:
    """One marked span; None for an opinion that no word names."""
    if not isinstance(given, dict):
        raise BadReview(f"{where}not an object")
    named = given.get("target", given.get("term"))
    if named == _IMPLICIT or ("target" in given and named is None):
        return None
    start, end = given.get("start"), given.get("end")
    for name, value in (("start", start), ("end", end)):
        if not isinstance(value, int) or isinstance(value, bool):
            raise BadReview(f"{where}{name!r} is {json.dumps(value, ensure_ascii=False)[:40]}, no whole number")
    assert isinstance(start, int)
    assert isinstance(end, int)
    if not 0 <= start < end <= len(text):
        raise BadReview(f"{where}{start} to {end} is no span of a text of {len(text)} characters")
    if not text[start:end].strip():
        raise BadReview(f"{where}{start} to {end} holds white space only")
    if isinstance(named, str) and named != text[start:end]:
        raise BadReview(f"{where}{start} to {end} is {text[start:end]!r}, not {named!r}")
    category = next((given[name] for name in _CATEGORY_FIELDS if name in given), TARGET)
    if not isinstance(category, str) or not category.strip():
        raise BadReview(f"{where}the aspect is {json.dumps(category, ensure_ascii=False)[:40]}, no name")
    return Mark(start, end, category)


def _split(whole: MarkedSentence) -> tuple[MarkedSentence, ...]:
    """The sentences of a text, each with the part of every mark that lies in it."""
    sentences = []
    for start, end in sentence_spans(whole.text):
        marks = None
        if whole.marks is not None:
            inside = [mark for mark in whole.marks if mark.start < end and mark.end > start]
            marks = tuple(
                Mark(max(mark.start, start) - start, min(mark.end, end) - start, mark.category) for mark in inside
            )
        sentences.append(MarkedSentence(whole.text[start:end], marks, begins=start))
    if sentences and whole.implicit:
        first = sentences[0]
        sentences[0] = MarkedSentence(first.text, first.marks, first.begins, whole.implicit)
    return tuple(sentences)
