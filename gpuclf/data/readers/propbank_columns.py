"""Skeletons of PropBank (`.gold_skel`, `.gold_conll`): one word a line, columns parted by blanks, an empty line after a
sentence. Columns: document, sentence, number of the word, word, part of speech, piece of the tree, base form or -,
frame or -, then one for each frame with the spans of its arguments, as in (ARG0*, *, *)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpuclf.data.roles.proposition import Annotated, Proposition, Span
from gpuclf.data.roles.tree import Brackets, Tree, add_piece

MASKED = "[WORD]"
_FIXED = 8  # columns before those of the frames
_DOCUMENT, _WORD, _POS, _PIECE, _LEMMA, _FRAME = 0, 3, 4, 5, 6, 7
_SPAN = re.compile(r"((?:\([^()*\s]+)*)\*(\)*)")


class BadSentence(ValueError):
    """A sentence that does not hold together: the line, the reason, and what mends it."""

    def __init__(self, line: int, reason: str, remedy: str):
        super().__init__(reason)
        self.line, self.reason, self.remedy = line, reason, remedy


def blocks(lines: Iterator[str]) -> Iterator[tuple[int, list[list[str]]]]:
    """The first line (from 1) and the rows of every sentence."""
    rows: list[list[str]] = []
    first = 1
    for line, text in enumerate(lines, 1):
        cells = [] if text.startswith("#") else text.split()
        if cells:
            first = first if rows else line
            rows.append(cells)
        elif rows and not text.strip():
            yield first, rows
            rows = []
    if rows:
        yield first, rows


def read_columns(first: int, rows: list[list[str]], number: int) -> Annotated:
    """The sentence that begins in line `first`. Raises BadSentence."""
    width = len(rows[0])
    for line, cells in enumerate(rows, first):
        if len(cells) != width or width < _FIXED:
            wanted = f"not {width} as the sentence's first line has" if width >= _FIXED else f"and {_FIXED} are needed"
            remedy = "every line of a sentence has as many columns, eight and one a frame"
            raise BadSentence(line, f"{len(cells)} columns, {wanted}", remedy)
    tree = _tree(first, rows)
    frames = [place for place, cells in enumerate(rows) if cells[_FRAME] != "-"]
    if len(frames) != width - _FIXED:
        raise BadSentence(
            first,
            f"{len(frames)} frames, but {width - _FIXED} columns of arguments",
            "every frame has a column, in the order of the frames",
        )
    propositions = [
        Proposition(place, _lemma(rows[place]), _spans(first, rows, _FIXED + column, tree))
        for column, place in enumerate(frames)
    ]
    words = None if any(cells[_WORD] == MASKED for cells in rows) else [cells[_WORD] for cells in rows]
    return Annotated(rows[0][_DOCUMENT], number, first, tree, propositions, words)


def _lemma(cells: list[str]) -> str:
    return cells[_LEMMA].lower() if cells[_LEMMA] != "-" else cells[_FRAME].partition(".")[0]


def _tree(first: int, rows: list[list[str]]) -> Tree:
    brackets = Brackets()
    read = 0
    try:
        for cells in rows:
            add_piece(brackets, cells[_PIECE], cells[_POS], cells[_WORD])
            read += 1
        return brackets.tree()
    except ValueError as error:
        line = first + min(read, len(rows) - 1)
        raise BadSentence(line, f"the tree's brackets: {error}", "give every bracket its other one") from error


def _spans(first: int, rows: list[list[str]], column: int, tree: Tree) -> list[Span]:
    """The spans of one frame, by their beginnings. One that is no constituent may have punctuation too much."""
    open_spans: list[tuple[str, int]] = []
    found = []
    for place, cells in enumerate(rows):
        cell = _SPAN.fullmatch(cells[column])
        if cell is None:
            raise BadSentence(first + place, f"{cells[column]!r} is no piece of a span", "spans read (ARG0*, *, *)")
        open_spans += [(label, place) for label in cell[1].split("(")[1:]]
        for _ in cell[2]:
            if not open_spans:
                raise BadSentence(
                    first + place, "a span closes that was not opened", "give every bracket its other one"
                )
            role, start = open_spans.pop()
            found.append(_span(role, start, place + 1, tree))
    if open_spans:
        role, start = open_spans[-1]
        raise BadSentence(first + start, f"the span ({role} is not closed", "give every bracket its other one")
    return sorted(found, key=lambda span: span.start)


def _span(role: str, start: int, end: int, tree: Tree) -> Span:
    node = tree.constituent(start, end)
    if node is None:
        start, end = tree.trimmed(start, end)
        node = tree.constituent(start, end)
    return Span(role, start, end, node)
