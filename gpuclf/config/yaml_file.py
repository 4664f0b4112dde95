"""One YAML file → a tree of located values. Every fault is found in one go, as far as the syntax carries."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from gpuclf.config.scalars import plain_scalar
from gpuclf.config.tree import Item, Source, walk
from gpuclf.faults import UserFault, UserFaults

MAX_COPIED = 100_000  # values that aliases may add: beyond any honest config, and a bound for aliases of aliases


def read_yaml(path: Path, shown: Path | None = None) -> Item:
    """The mapping that a file holds. `shown` is its name in messages; paths inside are relative to the real file."""
    real = path.resolve()
    shown = shown or path
    builder = _Builder(Source(base=real.parent, file=shown))
    try:
        for document in _documents(_text(path, shown), builder):
            builder.finish(document)
    except MarkedYAMLError as error:
        builder.faults.append(_syntax_fault(shown, error))
    if builder.faults:
        raise builder.faults[0] if len(builder.faults) == 1 else UserFaults(builder.faults)
    return builder.root or Item({}, Source(real.parent, shown, 1, 1))


def _text(path: Path, shown: Path) -> str:
    """The file as text: UTF-8, strictly, without a byte order mark."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError as error:
        raise UserFault(f"there is no config file here (resolved: {path.resolve()})", file=shown) from error
    except IsADirectoryError as error:
        raise UserFault("is a folder; a config file is wanted", file=shown) from error
    except OSError as error:
        raise UserFault(f"cannot be read: {error.strerror}", file=shown) from error
    raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        raise UserFault(message, file=shown, line=line, remedy="save the file as UTF-8") from error


def _documents(text: str, builder: _Builder) -> Iterator[Item]:
    parser = YAML(typ="safe", pure=True)
    try:
        events = iter(parser.parse(text))
        for event in events:
            if isinstance(event, DocumentStartEvent):
                yield builder.node(next(events), events)
    except ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        character = error.character if isinstance(error.character, int) else ord(error.character)
        message = f"column {column}: the character U+{character:04X} is not allowed in YAML"
        raise UserFault(message, file=builder.source.file, line=line) from error
    except YAMLError as error:
        if isinstance(error, MarkedYAMLError):
            raise
        raise UserFault(f"is not YAML: {error}", file=builder.source.file) from error


def _syntax_fault(shown: Path, error: MarkedYAMLError) -> UserFault:
    mark = error.problem_mark or error.context_mark
    problem = error.problem or error.context or "is not YAML"
    message = f"column {mark.column + 1}: {problem}" if mark is not None else str(problem)
    begun = error.context_mark
    if begun is not None and mark is not None and begun.line != mark.line:
        message += f" ({error.context}, begun in line {begun.line + 1}, column {begun.column + 1})"
    remedy = "indent with blanks, not with tabs" if "'\\t'" in str(problem) else None
    return UserFault(message, file=shown, line=mark.line + 1 if mark is not None else None, remedy=remedy)


class _Builder:
    """Builds items from parser events; gathers the faults that do not stop the parser."""

    def __init__(self, source: Source):
        self.source = source
        self.faults: list[UserFault] = []
        self.root: Item | None = None
        self._anchors: dict[str, Item | None] = {}
        self._copied = 0

    def finish(self, document: Item) -> None:
        line = document.source.line
        if self.root is not None:
            self._fault("a second YAML document begins here; one config is one document", line)
        elif document.value is None and not document.quoted:
            self.root = Item({}, document.source)
        elif isinstance(document.value, dict):
            self.root = document
        else:
            what = "a list" if isinstance(document.value, list) else f"the single value {document.value!r}"
            self._fault(f"holds {what}; a config is a mapping of keys to values", line)

    def node(self, event: Any, events: Iterator[Any]) -> Item:
        """The item that begins with `event`; takes the events up to its end."""
        if isinstance(event, AliasEvent):
            return self._alias(event)
        if event.anchor:
            self._anchors[event.anchor] = None  # open: a reference from inside itself would have no end
        item = self._content(event, events)
        if event.anchor:
            self._anchors[event.anchor] = item
        return item

    def _content(self, event: Any, events: Iterator[Any]) -> Item:
        source = self._at(event)
        self._refuse_tag(event, source)
        if isinstance(event, ScalarEvent):
            quoted = event.style in ("'", '"', "|", ">")
            return Item(event.value if quoted else plain_scalar(event.value), source, quoted)
        if isinstance(event, SequenceStartEvent):
            elements = []
            while not isinstance(event := next(events), SequenceEndEvent):
                elements.append(self.node(event, events))
            return Item(elements, source)
        assert isinstance(event, MappingStartEvent), f"unexpected event {event}"
        return Item(self._mapping(events), source)

    def _mapping(self, events: Iterator[Any]) -> dict[str, Item]:
        mapping: dict[str, Item] = {}
        while not isinstance(event := next(events), MappingEndEvent):
            key_source = self._at(event)
            if not isinstance(event, ScalarEvent):
                self.node(event, events)
                self._fault("a key must be a plain text, not a list, a mapping or an alias", key_source.line)
                self.node(next(events), events)
                continue
            value = self.node(next(events), events)
            if event.value in mapping:
                first = mapping[event.value].source.line
                self._fault(
                    f"the key '{event.value}' stands here for the second time; first in line {first}",
                    key_source.line,
                    "keep one of them",
                )
                continue
            mapping[event.value] = Item(value.value, key_source, value.quoted)
        return mapping

    def _alias(self, event: Any) -> Item:
        item = self._anchors.get(event.anchor)
        line = event.start_mark.line + 1
        if item is None:
            open_still = event.anchor in self._anchors
            problem = "refers to itself" if open_still else "refers to an anchor that is not there"
            self._fault(f"*{event.anchor} {problem}", line)
            return Item(None, self._at(event))
        self._copied += sum(1 for _ in walk(item))
        if self._copied > MAX_COPIED:
            message = f"aliases add more than {MAX_COPIED} values"
            raise UserFault(message, file=self.source.file, line=line, remedy="write out what is meant")
        return item

    def _refuse_tag(self, event: Any, source: Source) -> None:
        tag = getattr(event, "tag", None)
        if tag is not None:
            message = f"column {source.column}: the tag {tag} is not allowed; a config holds plain values"
            self._fault(message, source.line)

    def _at(self, event: Any) -> Source:
        mark = event.start_mark
        return Source(self.source.base, self.source.file, mark.line + 1, mark.column + 1)

    def _fault(self, message: str, line: int | None, remedy: str | None = None) -> None:
        self.faults.append(UserFault(message, file=self.source.file, line=line, remedy=remedy))
