"""Overrides typed on the command line, in Hydra's grammar.

    a.b=c    changes a key, or gives one that the config leaves to its default
    +a.b=c   adds a key that is not there;  ++a.b=c  adds or changes
    ~a.b     removes a key;  ~a.b=c  only if that is its value

Values are bare words and numbers, 'quoted' and "quoted" texts, lists [1,a,'x'] and mappings {a: 1}. A bare word means
what it means in a config file. A mapping is merged into the section that it is given for. Inside `grid` the rest of
the name is the key: grid.model.C=[1,10]. Left out of Hydra's grammar are sweeps (a=1,2) and functions (range(1,3)):
`grid` does their work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuclf.config.scalars import plain_scalar
from gpuclf.config.suggest import close
from gpuclf.config.tree import Item, Source, changed, find, key_text, merge, plain, split_key
from gpuclf.faults import UserFault, UserFaults

_SPECIAL = "()[]{},'\"="  # have a meaning of their own; in a bare word they are written with a backslash
_ESCAPABLE = _SPECIAL + "\\: \t"


@dataclass(frozen=True)
class Override:
    """One override, parsed. action: "=", "+", "++" or "~"; value is None only for a removal without one."""

    text: str
    action: str
    path: tuple[str, ...]
    value: Item | None


def parse_override(text: str, base: Path) -> Override:
    """The parts of an override; relative paths in it are relative to `base`."""
    action = next((sign for sign in ("++", "+", "~") if text.startswith(sign)), "=")
    key, equals, value = text.removeprefix(action if action != "=" else "").partition("=")
    path = split_key(key)
    if not all(path) or any(c.isspace() or c in _SPECIAL for c in key):
        shown = f"'{key}' is not the name of a key" if key else "has no key"
        raise _fault(text, shown, "write section.key=value")
    source = Source(base=base, override=text)
    if action == "~":
        return Override(text, action, path, _ValueParser(text, value, source).whole() if equals else None)
    if not equals:
        raise _fault(text, "has no '='", f"write {text}=VALUE, or ~{key} to remove the key")
    return Override(text, action, path, _ValueParser(text, value, source).whole())


def apply_overrides(root: Item, overrides: Sequence[str], base: Path) -> Item:
    """The config with all overrides done, from left to right. All faults are raised at once."""
    faults: list[UserFault] = []
    for text in overrides:
        try:
            root = _apply(root, parse_override(text, base))
        except UserFault as fault:
            faults.append(fault)
    if faults:
        raise faults[0] if len(faults) == 1 else UserFaults(faults)
    return root


def _apply(root: Item, override: Override) -> Item:
    path, key, value = override.path, key_text(override.path), override.value
    _check_way(root, override)
    old = find(root, path)
    if override.action == "~":
        if old is None:
            siblings = find(root, path[:-1])
            names = list(siblings.value) if siblings is not None and isinstance(siblings.value, dict) else []
            near = close(path[-1], names)
            remedy = f"there is: {', '.join(names)}" if names else None
            remedy = f"did you mean ~{key_text((*path[:-1], near))}?" if near else remedy
            raise _fault(override.text, f"{key} is not in the config, so it cannot be removed", remedy)
        if value is not None and plain(value) != plain(old):
            raise _fault(override.text, f"{key} is {_show(old)}, so it was not removed", f"write ~{key}")
        return changed(root, path, lambda _: None, old.source)
    assert value is not None, "only a removal has no value"
    both_sections = old is not None and isinstance(old.value, dict) and isinstance(value.value, dict)
    if override.action == "+" and old is not None and not both_sections:
        message = f"+ adds a key, but {key} is there already ({_show(old)})"
        raise _fault(override.text, message, f"write {key}=… to change it")
    return changed(root, path, lambda below: merge(below, value), value.source)


def _check_way(root: Item, override: Override) -> None:
    """All that stands above the key must be a section, or absent, or null."""
    for depth in range(1, len(override.path)):
        above = find(root, override.path[:depth])
        if above is None or above.value is None:
            return
        if not isinstance(above.value, dict):
            name = key_text(override.path[:depth])
            whole_list = isinstance(above.value, list)
            remedy = f"give the whole list: {name}=[…]" if whole_list else f"{name}={{…}} replaces it"
            raise _fault(override.text, f"{name} is {_show(above)}, not a section, so nothing stands below it", remedy)


def _show(item: Item) -> str:
    return "a section" if isinstance(item.value, dict) else repr(plain(item))


def _fault(text: str, message: str, remedy: str | None = None) -> UserFault:
    return UserFault(message, file=f"override '{text}'", remedy=remedy)


class _ValueParser:
    """A reader of the part behind '=': recursive descent, one character at a time."""

    def __init__(self, override: str, text: str, source: Source):
        self.override = override
        self.text = text
        self.source = source
        self.at = 0

    def whole(self) -> Item:
        item = self._element("")
        self._blanks()
        if self.at < len(self.text):
            raise self._unexpected()
        return item

    def _element(self, stops: str) -> Item:
        """One value, up to (not including) a character of `stops`."""
        self._blanks()
        here = self._peek()
        if here == "[":
            return Item(self._list(), self.source)
        if here == "{":
            return Item(self._mapping(), self.source)
        if here in ("'", '"'):
            return Item(self._quoted(), self.source, quoted=True)
        word, plain_word = self._bare(stops)
        if not word:
            return Item("", self.source, quoted=True)  # as in Hydra: `a=` is the empty text, null is written out
        return Item(plain_scalar(word) if plain_word else word, self.source, quoted=not plain_word)

    def _list(self) -> list[Item]:
        self.at += 1
        elements: list[Item] = []
        self._blanks()
        if self._peek() == "]":
            self.at += 1
            return elements
        while True:
            self._refuse_gap(",]")
            elements.append(self._element(",]"))
            if self._separator("]"):
                return elements

    def _mapping(self) -> dict[str, Item]:
        self.at += 1
        mapping: dict[str, Item] = {}
        self._blanks()
        if self._peek() == "}":
            self.at += 1
            return mapping
        while True:
            self._refuse_gap(",}:")
            key = self._quoted() if self._peek() in ("'", '"') else self._bare(":,}")[0]
            self._blanks()
            if self._peek() != ":":
                raise self._wrong(f"the key {key} has no ':' and no value")
            self.at += 1
            if key in mapping:
                raise self._wrong(f"the key {key} stands twice")
            mapping[key] = self._element(",}")
            if self._separator("}"):
                return mapping

    def _separator(self, closing: str) -> bool:
        """Takes a comma, or the closing bracket, which ends the list or mapping."""
        self._blanks()
        here = self._peek()
        if here not in (",", closing) or not here:
            raise self._unexpected() if here else self._wrong(f"'{closing}' is missing at the end")
        self.at += 1
        return here == closing

    def _refuse_gap(self, stops: str) -> None:
        self._blanks()
        if self._peek() and self._peek() in stops:
            raise self._wrong(f"a value is missing before '{self._peek()}'", "write '' for an empty text")

    def _quoted(self) -> str:
        """A text in quotes. Backslashes count as escapes only where they stand before a quote of the same kind."""
        mark, begin = self.text[self.at], self.at
        self.at += 1
        out: list[str] = []
        while (here := self._peek()) != mark:
            if not here:
                raise self._wrong(f"the quote {self.text[begin:]} is not closed")
            run = 0
            while self._peek() == "\\":
                run += 1
                self.at += 1
            if run == 0:
                out.append(here)
                self.at += 1
            elif self._peek() == mark:
                out.append("\\" * (run // 2))
                if run % 2:
                    out.append(mark)
                    self.at += 1
            else:
                out.append("\\" * run)
        self.at += 1
        return "".join(out)

    def _bare(self, stops: str) -> tuple[str, bool]:
        """A word without quotes, and whether it held no escape (an escaped word is a text, whatever it looks like)."""
        out: list[str] = []
        trailing = 0  # blanks at the end that no backslash protects
        plain_word = True
        while (here := self._peek()) and here not in stops:
            if self.text.startswith("${", self.at):
                end = self.text.find("}", self.at)
                if end < 0:
                    raise self._wrong("${ is not closed by }")
                out.append(self.text[self.at : end + 1])
                self.at, trailing = end + 1, 0
                continue
            if here == "\\" and self.text[self.at + 1 : self.at + 2] in tuple(_ESCAPABLE):
                here, plain_word, trailing = self.text[self.at + 1], False, 0
                self.at += 1
            elif here in _SPECIAL:
                raise self._unexpected()
            else:
                trailing = trailing + 1 if here.isspace() else 0
            out.append(here)
            self.at += 1
        word = "".join(out)
        return (word[: len(word) - trailing] if trailing else word), plain_word

    def _blanks(self) -> None:
        while self._peek().isspace():
            self.at += 1

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _unexpected(self) -> UserFault:
        here = self._peek()
        if here == ",":
            return self._wrong("a comma stands outside of a list", f"write [{self.text}] for a list, or quote the text")
        if here == "(":
            return self._wrong("functions are not known here", "write the list of values, or quote the text")
        return self._wrong(f"unexpected {here!r}", "put the text in quotes, and those in quotes for the shell")

    def _wrong(self, message: str, remedy: str | None = None) -> UserFault:
        return _fault(self.override, message, remedy)
