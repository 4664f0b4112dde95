"""Stand-off annotations of PropBank (`.prop`) and the trees that they point into, in brackets as treebanks have them.

A line: file of the tree, its number there, number of the predicate's word, annotator, base form, frame, five marks, and
the arguments as POINTER-ROLE. A pointer is word:height, the node so many levels above a word, where what is not spoken
counts as a word, too; a*b are mentions of the same, a,b and a;b parts of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gpuclf.data.readers.propbank_columns import BadSentence
from gpuclf.data.roles.proposition import Annotated, Proposition, Span
from gpuclf.data.roles.tree import Brackets, Node, Tree, spoken_tree

_TOKEN = re.compile(r"[()]|[^\s()]+")
_FIXED = 7
_POINTER = re.compile(r"[0-9]{1,6}:[0-9]{1,6}(?:[*,;&][0-9]{1,6}:[0-9]{1,6})*")
_LINE = "TREE NUMBER WORD ANNOTATOR LEMMA FRAME ----- 3:0-rel 4:1-ARG1 …"


@dataclass(frozen=True)
class Pointers:
    """A line: tree and its number, the predicate's word and base form, and (pointer, role) of its arguments."""

    line: int
    tree: str
    number: int
    word: int
    lemma: str
    arguments: Sequence[tuple[str, str]]


def read_pointers(line: int, text: str) -> Pointers:
    """One line of a `.prop` file. Raises BadSentence."""
    cells = text.split()
    if len(cells) < _FIXED or not (cells[1].isdecimal() and cells[2].isdecimal()):
        raise BadSentence(line, f"is no proposition: {text[:60]!r}", f"a line reads {_LINE}")
    arguments = []
    for cell in cells[_FIXED:]:
        pointer, dash, role = cell.partition("-")
        if not dash or not role or _POINTER.fullmatch(pointer) is None:
            raise BadSentence(line, f"{cell!r} is no argument", "it reads POINTER-ROLE, as in 4:1-ARG1")
        arguments.append((pointer, role))
    return Pointers(line, cells[0], int(cells[1]), int(cells[2]), cells[4].lower(), arguments)


def annotated(document: str, number: int, tree: Tree, pointers: Sequence[Pointers]) -> Annotated | None:
    """A tree without what is not spoken, and its propositions; None where nothing is spoken. Raises BadSentence.

    Of a pointer with several places the first that is spoken counts: the others are pronouns for it, or continue it.
    """
    heard, kept = spoken_tree(tree)
    if heard is None:
        return None
    propositions = []
    for given in sorted(pointers, key=lambda p: p.word):
        verb = _node(tree, f"{given.word}:0", given.line)
        if id(verb) not in kept:
            raise BadSentence(given.line, f"word {given.word} is not spoken", "words are counted from 0, with traces")
        spans = []
        for pointer, role in given.arguments:
            nodes = [_node(tree, place, given.line) for place in re.split(r"[*,;&]", pointer)]
            said = [kept[id(node)] for node in nodes if id(node) in kept]
            if said:
                start, end = said[0].start, said[0].end
                spans.append(Span(role, start, end, heard.constituent(start, end)))
        spans.sort(key=lambda span: span.start)
        propositions.append(Proposition(kept[id(verb)].start, given.lemma, spans))
    return Annotated(document, number, pointers[0].line, heard, propositions, heard.words)


def _node(tree: Tree, pointer: str, line: int) -> Node:
    word, height = map(int, pointer.split(":"))
    node = tree.above(word, height) if word < len(tree.leaves) else None
    if node is None:
        remedy = "are the trees those that were annotated? words count from 0, with traces"
        raise BadSentence(line, f"{pointer} points out of its tree of {len(tree.leaves)} words", remedy)
    return node


def read_trees(lines: Iterable[str]) -> Iterator[tuple[int, Tree]]:
    """The first line (from 1) of every tree, and the tree with all its words, spoken or not.

    An outer bracket without a category, as treebanks have it, is called TOP. Raises BadSentence.
    """
    brackets, first, line = Brackets(), 0, 0
    begun: list[str] = []  # of the innermost bracket: (, its category, its word
    try:
        for line, text in enumerate(lines, 1):
            for token in _TOKEN.findall(text):
                first = first or line
                begun = _taken(brackets, begun, token)
                if token == ")" and not brackets.depth:
                    yield first, brackets.tree()
                    brackets, first = Brackets(), 0
        if brackets.depth or begun:
            raise ValueError(f"{brackets.depth + bool(begun)} of its brackets are not closed")
    except ValueError as error:
        where = f", in the tree that begins in line {first}" if first else ""
        raise BadSentence(line, f"{error}{where}", "give every bracket its other one") from error


def _taken(brackets: Brackets, begun: list[str], token: str) -> list[str]:
    """What is begun after one more bracket, category or word. Raises ValueError."""
    if token == "(":
        if len(begun) == 3:
            raise ValueError(f"a bracket opens after the word {begun[2]!r}")
        if begun:
            brackets.open(begun[1] if len(begun) == 2 else "TOP")
        return ["("]
    if token != ")":
        if len(begun) in (1, 2):
            return [*begun, token]
        raise ValueError(f"{token!r} stands where a bracket belongs")
    if len(begun) == 3:
        brackets.word(begun[1], begun[2])
    elif begun:
        raise ValueError(f"{' '.join(begun)}) holds no word")
    else:
        brackets.close()
    return []
