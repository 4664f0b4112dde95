"""fastText's format: one document a line, words that begin with `__label__` are its labels.

As in the reference program, a label may stand anywhere in the line and ends at ASCII white space. Lines that program
would quietly pass over (no label, an empty or misspelt one) are doubtful here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpuclf.data.intake import Intake, TextBody

_BLANKS = " \t\v\f\r\0"


class FasttextParser:
    """Read without labels, label words are left out of the texts all the same, and blank lines are empty documents."""

    keep_cr = False

    def __init__(self, intake: Intake, body: TextBody):
        self._intake = intake
        self._texts = body
        self._prefix = intake.options.label_prefix
        self._first = re.compile(rf"{re.escape(self._prefix)}([^{_BLANKS}]*)[{_BLANKS}]*", re.ASCII)
        word = re.escape(self._prefix.strip("_-"))
        self._almost = re.compile(rf"[_\-]*{word}[_\-:]*", re.IGNORECASE) if word else None
        self._blank = 0

    def parse(self, first: int, lines: Sequence[str]) -> None:
        """One document a line."""
        for line, text in enumerate(lines, first):
            if self._intake.labelled and not text.strip(_BLANKS):
                self._blank += 1
                continue
            labels, rest = self._split(text)
            doubt = self._doubt(text, labels) if self._intake.labelled else None
            if doubt is not None:
                self._intake.bad(line, *doubt)
                continue
            for _ in range(self._intake.admit(line, labels, empty=not rest.strip())):
                self._texts.texts.append(rest)

    def _split(self, text: str) -> tuple[list[str], str]:
        """Distinct labels in order, and the text without them."""
        prefix = self._prefix
        if prefix not in text:
            return [], text
        if text.startswith(prefix) and text.find(prefix, len(prefix)) < 0:  # one label in front: nearly every line
            match = self._first.match(text)
            assert match is not None
            return [match[1]], text[match.end() :]
        labels: list[str] = []
        kept: list[str] = []
        # words at even places, the blanks behind them at odd places
        pieces = re.split(f"([{_BLANKS}]+)", text)
        for at in range(0, len(pieces), 2):
            if pieces[at].startswith(prefix):
                labels.append(pieces[at][len(prefix) :])
            else:
                kept.extend(pieces[at : at + 2])
        return list(dict.fromkeys(labels)), "".join(kept).strip(_BLANKS)

    def _doubt(self, text: str, labels: list[str]) -> tuple[str, str] | None:
        """Reason and remedy, for a line whose labels may not be what was meant."""
        prefix = self._prefix
        if not labels:
            word = re.split(f"[{_BLANKS}]", text.lstrip(_BLANKS), maxsplit=1)[0]
            if self._almost is not None and self._almost.match(word):
                reason = f"no label: {word[:60]!r} does not begin with {prefix!r}"
                return reason, f"write {prefix}, or set data.label_prefix"
            return "no label", f"begin the line with {prefix}NAME, or set data.label_prefix"
        for label in labels:
            if not label:
                reason = f"an empty label: nothing stands behind {prefix!r}"
                return reason, f"write {prefix}NAME without a blank between"
            if prefix in label:
                return f"label {label!r} holds {prefix!r} again", "put a blank between labels"
            if "," in label and self._intake.options.comma_labels == "refuse":
                return (
                    f"label {label!r} holds a comma; most likely a blank was meant to end it",
                    "put a blank behind the label, or, if commas belong to labels: data.comma_labels: keep",
                )
        return None

    def finish(self) -> None:
        """Tells about blank lines."""
        if self._blank:
            self._intake.note(f"{self._blank} blank lines were passed over")
