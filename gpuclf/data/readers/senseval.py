"""Senseval-2 lexical sample XML: <instance> with <answer>s and a <context> in which a <head> holds the target.

The ambiguous word of an instance is the item of the <lexelt> that it stands in. Words with tags are <wf pos="…">
elements; text between these is a bare marker and no word. A context without any such element is plain text, cut at
blanks, whose words have no tags. Entities that the file declares itself are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.parsers import expat

from gpuclf.data.intake import Intake
from gpuclf.data.readers.context_body import BadContext, ContextBody, Item, words_of
from gpuclf.faults import UserFault

_REMEDY = "mend the instance: one <head> with one word in its <context>"


class SensevalParser:
    """An instance is a record, known by its id; its labels are the senseid of its answers."""

    keep_cr = False

    def __init__(self, intake: Intake, body: ContextBody):
        self._intake, self._body = intake, body
        self._markers = 0
        self._line = 0
        self._instance: _Instance | None = None
        self._word: str | None = None
        self._expat = expat.ParserCreate()
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._text
        self._expat.EntityDeclHandler = self._entity

    def parse(self, first: int, lines: Sequence[str]) -> None:
        """Some lines of the file; instances may stand on one or on several."""
        for self._line, text in enumerate(lines, first):
            self._feed(text + "\n", False)

    def finish(self) -> None:
        """The end of the document; tells about markers."""
        self._feed("", True)
        if self._markers:
            self._intake.note(f"{self._markers} bare markers among the words were passed over (such as FRASL)")
        words = self._body.words_note()
        if words is not None:
            self._intake.note(words)

    def _feed(self, text: str, last: bool) -> None:
        try:
            self._expat.Parse(text, last)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            where = "" if self._instance is None else f" in instance {self._instance.id!r}"
            raise self._intake.fault(
                f"not well-formed XML{where}: {reason} (column {error.offset + 1})",
                line=self._line,
                remedy="write & as &amp; and < as &lt; in texts, and close every element",
            ) from None

    def _entity(self, name: str, *declaration: object) -> None:
        del declaration
        raise self._refused(
            f"declares an entity {name!r}", "entities of a file's own are not read: write the text itself"
        )

    def _refused(self, message: str, remedy: str) -> UserFault:
        return self._intake.fault(message, line=self._line, remedy=remedy)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        found = self._instance
        if name == "instance":
            self._instance = _Instance(attributes.get("id"), self._line)
        elif name == "lexelt":
            self._word = attributes.get("item") or None
        elif found is None:
            return
        elif name == "answer":
            found.answers.append(attributes.get("senseid", ""))
        elif name == "context":
            found.inside = True
        elif name in ("head", "wf"):
            found.cut()
            if name == "head":
                found.heads.append(len(found.items))
                found.in_head = True
            else:
                found.tag = attributes.get("pos", "")

    def _end(self, name: str) -> None:
        found = self._instance
        if name == "lexelt":
            self._word = None
        if found is None:
            return
        if name == "wf":
            found.word()
        elif name == "head":
            found.cut()
            found.in_head = False
        elif name == "context":
            found.cut()
            found.inside = False
        elif name == "instance":
            self._instance = None
            self._take(found)

    def _text(self, text: str) -> None:
        if self._instance is not None and self._instance.inside:
            self._instance.pending += text

    def _take(self, found: _Instance) -> None:
        try:
            tokens, tags, head = words_of(*found.whole())
        except BadContext as reason:
            self._intake.bad(found.line, f"{found.id}: {reason}", _REMEDY)
            return
        self._markers += sum(item.marker for item in found.items)
        labels = list(dict.fromkeys(label for label in found.answers if label not in self._intake.options.missing))
        copies = self._intake.admit(found.line, labels, id=found.id)
        for _ in range(copies):
            self._body.append(tokens, tags, head, self._word)
        self._intake.report.tokens += len(tokens) * (copies > 0)


class _Instance:
    """An instance as far as it was read. heads: places among `items`; pending: text that no item holds yet."""

    def __init__(self, id: str | None, line: int):
        self.id, self.line = id, line
        self.answers: list[str] = []
        self.items: list[Item] = []
        self.heads: list[int] = []
        self.inside = self.in_head = self.tagged = False
        self.tag: str | None = None
        self.pending = ""

    def cut(self) -> None:
        """Words of plain text; whether they are markers is known at the end."""
        self.items += [Item(part) for part in self.pending.split()]
        self.pending = ""

    def word(self) -> None:
        """One tagged word."""
        text = " ".join(self.pending.split())
        if text:
            self.items.append(Item(text, self.tag or "", marker=False))
            self.tagged = True
        self.pending, self.tag = "", None

    def whole(self) -> tuple[list[Item], int]:
        """All items and the place of the target; in a context with tags, words without one are markers."""
        if len(self.heads) != 1:
            raise BadContext(f"{len(self.heads)} heads, where one marks the target")
        if self.tagged:
            self.items = [item if item.tag else Item(item.text, marker=True) for item in self.items]
        return self.items, self.heads[0]
