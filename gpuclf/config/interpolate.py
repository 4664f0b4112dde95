"""`${key.path}` and `${env:NAME}` in texts.

A text that is one interpolation and nothing else takes the value with its type; otherwise the parts are joined to a
text. An environment variable is read like the word in its place: in quotes a text, without them a number where it looks
like one. `${env:NAME,default}` gives a value for when NAME is not set. `\\${` stands for `${` itself.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace

from gpuclf.config.scalars import Scalar, plain_scalar
from gpuclf.config.tree import Item, KeyPath, find, key_text, split_key
from gpuclf.faults import UserFault, UserFaults

_PART = re.compile(r"(?P<escaped>\\\$\{)|\$\{(?P<inner>[^${}]*)\}|(?P<open>\$\{)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def interpolate(root: Item) -> Item:
    """The tree with every interpolation replaced. All faults are raised at once."""
    resolver = _Resolver(root)
    result = resolver.item(root, ())
    if resolver.faults:
        faults = list({str(fault): fault for fault in resolver.faults}.values())
        raise faults[0] if len(faults) == 1 else UserFaults(faults)
    return result


def escape(text: str) -> str:
    """The text as it must be written for interpolation to leave it alone."""
    return text.replace("${", "\\${")


@dataclass
class _Resolver:
    root: Item
    faults: list[UserFault] = field(default_factory=list)
    open: list[KeyPath] = field(default_factory=list)  # keys being resolved, to see circles

    def item(self, item: Item, path: KeyPath) -> Item:
        if isinstance(item.value, dict):
            return replace(item, value={key: self.item(child, (*path, key)) for key, child in item.value.items()})
        if isinstance(item.value, list):
            return replace(item, value=[self.item(child, (*path, i)) for i, child in enumerate(item.value)])
        if not isinstance(item.value, str) or "${" not in item.value:
            return item
        try:
            return self._text(item, path)
        except UserFault as fault:
            self.faults.append(fault)
            return replace(item, value=None)

    def _text(self, item: Item, path: KeyPath) -> Item:
        text = item.value
        assert isinstance(text, str), "only texts hold interpolations"
        whole = _PART.fullmatch(text)
        if whole is not None and whole["inner"] is not None:
            return self._value(whole["inner"], item, path)
        out, end = [], 0
        for match in _PART.finditer(text):
            out.append(text[end : match.start()])
            out.append(self._part(match, item, path))
            end = match.end()
        return replace(item, value="".join(out) + text[end:], quoted=True)

    def _part(self, match: re.Match[str], item: Item, path: KeyPath) -> str:
        if match["escaped"]:
            return "${"
        if match["open"]:
            raise self._fault(item, path, "'${' is not closed by '}'", "write \\${ for the characters themselves")
        value = self._value(match["inner"], replace(item, quoted=True), path).value
        if isinstance(value, dict | list):
            raise self._fault(item, path, f"${{{match['inner']}}} is a section or list; it cannot be part of a text")
        return _as_text(value)

    def _value(self, inner: str, item: Item, path: KeyPath) -> Item:
        if inner.startswith("env:"):
            text = self._environment(inner.removeprefix("env:"), item, path)
            return replace(item, value=text if item.quoted else plain_scalar(text))
        return self._reference(inner.strip(), item, path)

    def _environment(self, inner: str, item: Item, path: KeyPath) -> str:
        name, comma, default = inner.partition(",")
        name = name.strip()
        if not _NAME.fullmatch(name):
            raise self._fault(item, path, f"${{env:{inner}}} names no environment variable")
        value = os.environ.get(name)
        if value is None and not comma:
            message = f"the environment variable {name} is not set"
            raise self._fault(item, path, message, f"set it, or give a default: ${{env:{name},VALUE}}")
        return default.strip() if value is None else value

    def _reference(self, key: str, item: Item, path: KeyPath) -> Item:
        target_path = split_key(key)
        target = find(self.root, target_path) if all(target_path) else None
        if target is None:
            remedy = "only keys written in the config can be referred to; environment variables are ${env:NAME}"
            raise self._fault(item, path, f"${{{key}}} refers to a key that is not in the config", remedy)
        # The target must not be, and must not hold, a key that is waiting for it.
        if any(step[: len(target_path)] == target_path for step in (*self.open, path)):
            circle = [key_text(step) for step in (*self.open, path, target_path)]
            raise self._fault(item, path, f"these keys refer to each other in a circle: {' → '.join(circle)}")
        self.open.append(path)
        try:
            found = self._strict(target, target_path)
        finally:
            self.open.pop()
        # The place of the key is where the reference stands; a path keeps the folder that it was written for.
        source = replace(item.source, base=found.source.base)
        return replace(found, source=source)

    def _strict(self, target: Item, target_path: KeyPath) -> Item:
        """The target, resolved; its faults end the resolution here as well."""
        if isinstance(target.value, str):
            return self._text(target, target_path) if "${" in target.value else target
        return self.item(target, target_path)

    def _fault(self, item: Item, path: KeyPath, message: str, remedy: str | None = None) -> UserFault:
        source = item.source
        return UserFault(message, file=source.place, line=source.line, key=key_text(path), remedy=remedy)


def _as_text(value: Scalar) -> str:
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)
