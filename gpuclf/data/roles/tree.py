"""Phrase-structure trees: read from brackets, whole or cut into a piece a word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_PIECE = re.compile(r"((?:\([^\s()*]+)*)\*(\)*)")
_MARKS = re.compile(r"(?<!^)[-=|].*")  # of function and of reference, as in NP-SBJ-1
EMPTY = "-NONE-"  # the category of what is not spoken: traces, omitted subjects

PUNCTUATION = frozenset([",", ".", ":", "``", "''", "-LRB-", "-RRB-", "HYPH", "NFP"])


@dataclass(eq=False)
class Node:
    """A phrase, or a word's part of speech (no children). It spans the words start … end - 1."""

    label: str
    start: int
    end: int = 0
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)

    @property
    def is_word(self) -> bool:
        """Whether it is the part of speech of a word."""
        return not self.children

    @property
    def place(self) -> int:
        """Which child of its parent it is."""
        assert self.parent is not None, "the root is nobody's child"
        return next(place for place, child in enumerate(self.parent.children) if child is self)

    def up(self) -> Iterator[Node]:
        """The node, its parent, and so on to the root."""
        node: Node | None = self
        while node is not None:
            yield node
            node = node.parent

    def below(self) -> Iterator[Node]:
        """The node and all below it, parents before children, left to right."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)


@dataclass(frozen=True, eq=False)
class Tree:
    """A sentence: root, the part of speech of each word, and the words (of bracketed text; else filled in later)."""

    root: Node
    leaves: list[Node]
    words: list[str]

    def constituent(self, start: int, end: int) -> Node | None:
        """The highest constituent that spans exactly these words; None: there is none."""
        if not 0 <= start < end <= len(self.leaves):
            return None
        found = None
        for node in self.leaves[start].up():
            if node.start < start or node.end > end:
                break
            found = node
        return found if found is not None and found.end == end else None

    def trimmed(self, start: int, end: int) -> tuple[int, int]:
        """The span without punctuation at its ends."""
        while end - start > 1 and self.leaves[end - 1].label in PUNCTUATION:
            end -= 1
        while end - start > 1 and self.leaves[start].label in PUNCTUATION:
            start += 1
        return start, end

    def above(self, word: int, height: int) -> Node | None:
        """The node `height` levels above the part of speech of a word; None beyond the root."""
        for level, node in enumerate(self.leaves[word].up()):
            if level == height:
                return node
        return None


class Brackets:
    """Builds a tree from opened and closed phrases and words. Raises ValueError with a reason where they do not fit."""

    def __init__(self) -> None:
        self._root: Node | None = None
        self._open: list[Node] = []
        self._leaves: list[Node] = []
        self._words: list[str] = []

    @property
    def depth(self) -> int:
        """Phrases that are open."""
        return len(self._open)

    def open(self, label: str) -> None:
        """A phrase begins."""
        if not self._open and self._root is not None:
            raise ValueError(f"({label} begins after the tree has ended")
        node = Node(label, len(self._leaves), parent=self._open[-1] if self._open else None)
        if self._open:
            self._open[-1].children.append(node)
        self._root = self._root or node
        self._open.append(node)

    def word(self, pos: str, word: str) -> None:
        """A word of the innermost open phrase."""
        if not self._open:
            raise ValueError(f"the word {word!r} stands outside the tree")
        start = len(self._leaves)
        leaf = Node(pos, start, start + 1, self._open[-1])
        self._open[-1].children.append(leaf)
        self._leaves.append(leaf)
        self._words.append(word)

    def close(self) -> None:
        """The innermost phrase ends."""
        if not self._open:
            raise ValueError("a bracket closes that was not opened")
        node = self._open.pop()
        node.end = len(self._leaves)
        if not node.children:
            raise ValueError(f"({node.label}) has no words")

    def tree(self) -> Tree:
        """The tree, once all its brackets are closed."""
        if self._open:
            raise ValueError(
                f"{len(self._open)} of its brackets are not closed, the innermost is ({self._open[-1].label}"
            )
        if self._root is None:
            raise ValueError("there is no tree")
        return Tree(self._root, self._leaves, self._words)


def add_piece(brackets: Brackets, piece: str, pos: str, word: str) -> None:
    """What a column of a tree says of one word, as in `(S(NP*)`: phrases that begin, the word, phrases that end.

    Raises: ValueError where it is no such piece, or does not fit.
    """
    found = _PIECE.fullmatch(piece)
    if found is None:
        raise ValueError(f"{piece!r} is no piece of a tree, such as (S(NP*)")
    for label in found[1].split("(")[1:]:
        brackets.open(label)
    brackets.word(pos, word)
    for _ in found[2]:
        brackets.close()


def spoken_tree(tree: Tree) -> tuple[Tree | None, dict[int, Node]]:
    """The tree without traces, phrases of nothing else, and marks of function (None where nothing is left); and what
    became of each of its nodes that are left, by id."""
    before = [0]
    for leaf in tree.leaves:
        before.append(before[-1] + (leaf.label != EMPTY))
    made: dict[int, Node] = {}
    leaves = []
    for node in tree.root.below():
        start, end = before[node.start], before[node.end]
        if start == end:
            continue
        parent = None if node.parent is None else made[id(node.parent)]
        label = node.label if node.label.startswith("-") else _MARKS.sub("", node.label)  # -LRB- is a whole name
        made[id(node)] = here = Node(label, start, end, parent)
        if parent is not None:
            parent.children.append(here)
        if node.is_word:
            leaves.append(here)
    words = [word for word, leaf in zip(tree.words, tree.leaves, strict=True) if leaf.label != EMPTY]
    return (Tree(made[id(tree.root)], leaves, words) if leaves else None), made
