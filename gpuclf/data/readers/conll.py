"""CoNLL columns: one word a line, columns parted by tabs or blanks, an empty line ends a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from gpuclf.data.intake import Intake, SentenceBody
from gpuclf.data.options import ColumnRef
from gpuclf.data.readers.open_sentence import OpenSentence

_DOCUMENT = "-DOCSTART-"


class ConllParser:
    """The first word decides: with a tab in its line, every tab parts columns and blanks belong to words; else runs of
    blanks and tabs part them. Nothing else does: a no-break space stays inside a word.

    A line of `-DOCSTART-` (CoNLL-2003) begins a document; it is no word, ends a sentence, and is counted in a note.
    Read without gold tags, a file may also have all columns but the gold one, or the words alone.
    """

    keep_cr = False

    def __init__(self, intake: Intake, body: SentenceBody):
        self._intake = intake
        self._with_gold = body.with_gold
        self._sentence = OpenSentence(intake, body)
        self._missing = frozenset(intake.options.missing)
        self._documents = 0
        self._width = 0  # 0: no word was seen yet
        self._tabs = False
        self._token = 0
        self._gold: int | None = None
        self._inputs: list[int] = []

    def parse(self, first: int, lines: Sequence[str]) -> None:
        """Words, and the ends of sentences."""
        sentence, missing = self._sentence, self._missing
        for line, text in enumerate(lines, first):
            if not text.strip(" "):
                sentence.end()
                continue
            if text.startswith(_DOCUMENT) and text[len(_DOCUMENT) :][:1] in ("", " ", "\t"):
                sentence.end()
                self._documents += 1
                continue
            if not self._width:
                self._bind(text)
            cells = text.split("\t") if self._tabs else _split_at_blanks(text)
            if len(cells) != self._width:
                sentence.bad(line, *self._wrong_width(cells))
            elif cells == self._intake.options.columns and len(cells) > 1:
                sentence.bad(line, "names the columns: a header, not a word", "remove it: this format has no header")
            else:
                gold = None if self._gold is None else cells[self._gold]
                sentence.word(line, cells[self._token], gold, missing, [cells[place] for place in self._inputs])

    def finish(self) -> None:
        """Ends the last sentence; tells about documents."""
        self._sentence.end()
        self._sentence.note_one_sentence()
        if self._documents:
            self._intake.note(f"{self._documents} lines of {_DOCUMENT} began documents; they are no words")

    def _bind(self, text: str) -> None:
        """Decides how columns are parted, how many there are, and where words and gold tags stand."""
        options = self._intake.options
        self._tabs = "\t" in text.strip(" \t")
        found = len(text.split("\t") if self._tabs else _split_at_blanks(text))
        names = options.columns
        columns = found if names is None else len(names)
        token = options.tokens if options.tokens is not None else 0
        gold = options.gold if names is not None or self._with_gold else None
        if names is None and found == 1 and not self._with_gold:
            token = 0  # the words alone
        places = list(range(columns))
        token_place = self._place(token, "data.tokens", columns)
        gold_place = None if gold is None else self._place(gold, "data.gold", columns)
        if not self._with_gold and found < columns:
            all_but_gold = [place for place in places if place != gold_place]
            places = all_but_gold if found == len(all_but_gold) else [token_place] if found == 1 else places
        if gold_place == token_place:
            raise self._intake.fault(
                "the words stand in the same column as the gold tags", key="data.gold", remedy="name another column"
            )
        inputs = [self._place(name, "data.inputs", columns) for name in options.inputs]
        for name, place in zip(options.inputs, inputs, strict=True):
            if place not in places:
                raise self._intake.fault(
                    f"there is no column {name!r}: the lines have {found} columns", key="data.inputs",
                    remedy="give the words with the columns that data.inputs names",
                )  # fmt: skip
        self._inputs = [places.index(place) for place in inputs]
        self._width = len(places)
        self._token = places.index(token_place)
        self._gold = places.index(gold_place) if self._with_gold and gold_place is not None else None

    def _place(self, ref: ColumnRef, key: str, columns: int) -> int:
        names = self._intake.options.columns
        if isinstance(ref, str):
            if names is None:
                raise self._intake.fault(
                    f"the columns have no names, so none is called {ref!r}",
                    key=key,
                    remedy="name them, as in data.columns: [token, tag], or give the place of one, counted from 0",
                )
            if ref not in names:
                known = ", ".join(map(repr, names))
                raise self._intake.fault(f"no column {ref!r} among {known}", key=key, remedy="see data.columns")
            return names.index(ref)
        if ref >= columns:
            raise self._intake.fault(
                f"no column {ref}: there are {columns}, counted from 0", key=key, remedy="give the place of one"
            )
        return ref

    def _wrong_width(self, cells: list[str]) -> tuple[str, str]:
        found = f"{len(cells)} column{'s' * (len(cells) != 1)}, not {self._width}"
        if self._intake.options.columns is not None and len(self._intake.options.columns) == self._width:
            found += " as data.columns says"
        else:
            found += " as the first word has"
        how = "tabs (as the first word has one, blanks belong to words)" if self._tabs else "runs of blanks or tabs"
        return f"{found}: {' '.join(cells)[:60]!r}", f"columns are parted by {how}; an empty line ends a sentence"


def _split_at_blanks(text: str) -> list[str]:
    return [cell for cell in text.replace("\t", " ").split(" ") if cell]
