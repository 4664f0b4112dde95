"""Sense-tagged contexts as JSON lines: {"id", the label, "tokens", "pos", "head"}, or, as corpora are often converted,
{"id", the label, "context": [[word, tag], …], "target"}. Items of a context that are a bare string are markers.

The field "word" (data.word) names the ambiguous word where a file holds contexts of several."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from gpuclf.data.intake import Intake
from gpuclf.data.readers.context_body import BadContext, ContextBody, Item, words_of

_WORD = "word"  # the field of the ambiguous word where data.word names none
_FIELDS = '"sense": …, "tokens": […], "pos": […], "head": place of the target, counted from 0}'


class WsdParser:
    """One context a line. Blank lines and bare markers are passed over and counted in a note."""

    keep_cr = False

    def __init__(self, intake: Intake, body: ContextBody):
        self._intake, self._body = intake, body
        self._blank = self._markers = 0

    def parse(self, first: int, lines: Sequence[str]) -> None:
        """One context a line."""
        for line, text in enumerate(lines, first):
            if not text.strip(" \t\r"):
                self._blank += 1
                continue
            fields: dict[str, Any] = {}
            try:
                fields = _object(text)
                tokens, tags, head = words_of(*self._items(fields))
                labels = self._labels(fields)
                word = self._word(fields)
            except BadContext as reason:
                name = fields.get(self._id_field)
                self._intake.bad(line, str(reason) if name is None else f"{name}: {reason}", self._remedy)
                continue
            name = fields.get(self._id_field)
            copies = self._intake.admit(line, labels, id=None if name is None else str(name))
            for _ in range(copies):
                self._body.append(tokens, tags, head, word)
            self._intake.report.tokens += len(tokens) * (copies > 0)

    def finish(self) -> None:
        """Tells what was passed over."""
        if self._blank:
            self._intake.note(f"{self._blank} blank lines were passed over")
        if self._markers:
            self._intake.note(f"{self._markers} bare markers among the words were passed over (such as FRASL)")
        words = self._body.words_note()
        if words is not None:
            self._intake.note(words)

    @property
    def _remedy(self) -> str:
        named = self._intake.options.word
        return 'write {"id": …, ' + ("" if named is None else f'"{named}": …, ') + _FIELDS

    @property
    def _id_field(self) -> str:
        given = self._intake.options.id
        return "id" if given is None else str(given)

    def _labels(self, fields: dict[str, Any]) -> list[str]:
        name = str(self._intake.options.label)
        if name not in fields:
            if not self._intake.labelled:
                return []
            raise BadContext(f"no field named {name!r} (data.label); found: {', '.join(map(repr, list(fields)[:20]))}")
        value = fields[name]
        values = value if isinstance(value, list) else [value]
        if any(isinstance(one, dict | list | bool) for one in values):
            raise BadContext(f"field {name!r} holds no label")
        missing = self._intake.options.missing
        return list(dict.fromkeys(str(one) for one in values if one is not None and str(one) not in missing))

    def _word(self, fields: dict[str, Any]) -> str | None:
        """The ambiguous word, where the record names one; a field that the config names is one that it has."""
        given = self._intake.options.word
        word = fields.get(_WORD if given is None else given)
        if isinstance(word, str) and word.strip():
            return word
        if given is not None:
            raise BadContext(f"no text in a field named {given!r} (data.word)")
        return None

    def _items(self, fields: dict[str, Any]) -> tuple[list[Item], int]:
        if "context" in fields:
            items, head = _paired(fields["context"]), fields.get("target")
        else:
            items, head = _parallel(fields), fields.get("head")
        if not isinstance(head, int) or isinstance(head, bool):
            raise BadContext("the place of the target is no whole number")
        self._markers += sum(item.marker for item in items)
        return items, head


def _object(text: str) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except ValueError as error:
        raise BadContext(f"not JSON: {error}") from None
    except RecursionError:
        raise BadContext("nested too deeply") from None
    if not isinstance(fields, dict):
        raise BadContext("not a JSON object")
    return fields


def _parallel(fields: dict[str, Any]) -> list[Item]:
    """Items of parallel lists of words and tags; without tags, words that have none."""
    tokens = fields.get("tokens")
    tags = fields.get("pos", [""] * len(tokens) if isinstance(tokens, list) else None)
    for name, value in (("tokens", tokens), ("pos", tags)):
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise BadContext(f"field {name!r} is not a list of texts")
    assert isinstance(tokens, list)
    assert isinstance(tags, list)
    if len(tokens) != len(tags):
        raise BadContext(f"{len(tokens)} tokens, but {len(tags)} tags")
    return [Item(token, tag) for token, tag in zip(tokens, tags, strict=True)]


def _paired(context: Any) -> list[Item]:
    """Items of a list of [word, tag] pairs and bare markers."""
    if not isinstance(context, list):
        raise BadContext("field 'context' is not a list")
    items = []
    for place, found in enumerate(context):
        if isinstance(found, str):
            items.append(Item(found, marker=True))
        elif isinstance(found, list) and len(found) == 2 and all(isinstance(part, str) for part in found):
            items.append(Item(*found))
        else:
            parts = f" of {len(found)} parts" if isinstance(found, list) else ""
            raise BadContext(f"item {place} of the context is {json.dumps(found)[:60]}{parts}, no pair of word and tag")
    return items
