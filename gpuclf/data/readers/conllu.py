"""CoNLL-U (Universal Dependencies): ten columns parted by single tabs, comments, ranges and empty nodes.

Format: https://universaldependencies.org/format.html. The words are the lines with a whole number as id; a range
(`2-3`, a contraction as it is written) and an empty node (`8.1`, a word that is only understood) are no words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpuclf.data.intake import Intake, SentenceBody
from gpuclf.data.options import ColumnRef
from gpuclf.data.readers.open_sentence import OpenSentence

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_ID = re.compile(r"([0-9]{1,9})(?:(-)[0-9]+|(\.)[0-9]+)?", re.ASCII)
_UNTAGGED = "_"


class ConlluParser:
    """A sentence is known by its `sent_id`, or by its number where the first sentence has none.

    Ranges and empty nodes are passed over and counted in a note. The ids of the words must run 1, 2, 3, so that two
    sentences without an empty line between them are noticed.
    """

    keep_cr = False

    def __init__(self, intake: Intake, body: SentenceBody):
        options = intake.options
        self._intake = intake
        self._sentence = OpenSentence(intake, body)
        self._token = self._place(options.tokens if options.tokens is not None else "form", "data.tokens")
        self._gold: int | None = None
        if body.with_gold:
            assert options.gold is not None, "gold tags are collected where data.gold names them"
            self._gold = self._place(options.gold, "data.gold")
            if self._gold == self._token:
                raise intake.fault("the words stand in this column", key="data.gold", remedy="take upos or xpos")
        self._inputs = [self._place(name, "data.inputs") for name in options.inputs]
        self._untagged = frozenset({*options.missing, _UNTAGGED})
        self._named: bool | None = None  # whether sentences have a sent_id, as the first one says
        self._sent_id: str | None = None
        self._words = 0  # the id of the last word of the sentence
        self._ranges = 0
        self._empty_nodes = 0
        self._repeated = 0

    def parse(self, first: int, lines: Sequence[str]) -> None:
        """Comments, words, and the ends of sentences."""
        for line, text in enumerate(lines, first):
            if not text.strip(" "):
                self._end()
            elif text.startswith("#"):
                self._comment(line, text)
            else:
                self._node(line, text)

    def finish(self) -> None:
        """Ends the last sentence; tells what was passed over."""
        self._end()
        self._sentence.note_one_sentence()
        if self._ranges or self._empty_nodes:
            self._intake.note(
                f"passed over as no words: {self._ranges} multiword ranges (such as 2-3) and {self._empty_nodes} empty "
                "nodes (such as 8.1)"
            )
        if self._repeated:
            self._intake.note(f"{self._repeated} sentences repeat a sent_id and are known by their line as well")

    def _comment(self, line: int, text: str) -> None:
        key, _, value = text[1:].partition("=")
        if key.strip() != "sent_id" or not value.strip():
            return
        if self._sentence.line:
            self._sentence.bad(line, "a sent_id inside a sentence", "put an empty line before it")
        self._sent_id = value.strip()

    def _node(self, line: int, text: str) -> None:
        """A word, a range or an empty node."""
        sentence = self._sentence
        cells = text.split("\t")
        if len(cells) != len(COLUMNS):
            hint = "" if len(cells) > 1 else "; other columned text is format conll"
            sentence.bad(
                line,
                f"{len(cells)} column{'s' * (len(cells) != 1)}, not {len(COLUMNS)}: {text[:60]!r}",
                f"CoNLL-U has ten, parted by single tabs{hint}",
            )
            return
        kind = _ID.fullmatch(cells[0])
        if kind is None:
            remedy = "ids are 1 (a word), 1-2 (a range) or 1.1 (an empty node)"
            sentence.bad(line, f"{cells[0]!r} is no id", remedy)
            return
        sentence.begin(line)
        if kind[2]:
            self._ranges += 1
        elif kind[3]:
            self._empty_nodes += 1
        else:
            self._words += 1
            if kind[1] != str(self._words):
                sentence.bad(
                    line,
                    f"word {self._words} of the sentence has id {kind[1]}",
                    "ids run 1, 2, 3 …; an empty line ends a sentence",
                )
                self._words = int(kind[1])
                return
            gold = None if self._gold is None else cells[self._gold]
            sentence.word(line, cells[self._token], gold, self._untagged, [cells[place] for place in self._inputs])

    def _end(self) -> None:
        sentence = self._sentence
        if sentence.line:
            if not self._words:
                sentence.bad(sentence.line, "a sentence without a word", "give it words, or remove it")
            sentence.end(self._name(sentence.line))
        self._words = 0
        self._sent_id = None

    def _name(self, line: int) -> str | None:
        """The id of the sentence; None: its number."""
        if self._named is None:
            self._named = self._sent_id is not None
        if not self._named:
            return None
        if self._sent_id is None:
            return f"line {line}"
        if self._intake.knows_id(self._sent_id):
            self._repeated += 1
            return f"{self._sent_id} line {line}"
        return self._sent_id

    def _place(self, ref: ColumnRef, key: str) -> int:
        if isinstance(ref, str) and ref.lower() in COLUMNS:
            return COLUMNS.index(ref.lower())
        if isinstance(ref, int) and ref < len(COLUMNS):
            return ref
        raise self._intake.fault(f"CoNLL-U has no column {ref!r}", key=key, remedy=f"it has {', '.join(COLUMNS)}")
