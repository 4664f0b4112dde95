"""The features of a constituent as an argument of a verb: Gildea & Jurafsky (2002), Surdeanu et al. (2003), Pradhan et
al. (2004), as far as a tree and its words give them. Names of words are in lower case; `-` stands for nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from gpuclf.data.roles.heads import CLAUSES, content_word, head_word, spoken
from gpuclf.data.roles.tree import Node, Tree

NOTHING = "-"
_PREFIX = re.compile(r"(?:un|dis|mis|over|anti|non)-?|(?:re|pre|co|ex)-")
_HAVE = ("have", "has", "had", "having", "'ve", "'d")
_LEAST_STEM = 4
_DIGIT = re.compile(r"[0-9]")
_NUMBER = re.compile(r"[n.,:/-]+")
_RUN = re.compile(r"n+")


@dataclass(frozen=True)
class Sentence:
    """A tree with words and their base forms, both as long as the tree's leaves."""

    tree: Tree
    words: Sequence[str]
    lemmas: Sequence[str]


@dataclass(frozen=True)
class Argument:
    """A constituent, and the verb (its word's number and base form) whose argument it is."""

    sentence: Sentence
    node: Node
    verb: int
    lemma: str

    @cached_property
    def leaf(self) -> Node:
        return self.sentence.tree.leaves[self.verb]

    @cached_property
    def common(self) -> Node:
        """The lowest node that holds both the constituent and the verb."""
        over = set(map(id, self.node.up()))
        return next(node for node in self.leaf.up() if id(node) in over)

    @cached_property
    def climbed(self) -> str:
        labels = []
        for node in self.node.up():
            labels.append(node.label)
            if node is self.common:
                break
        return "^".join(labels)

    @cached_property
    def path(self) -> str:
        down = []
        for node in self.leaf.up():
            if node is self.common:
                break
            down.append(node.label)
        return "!".join([self.climbed, *reversed(down)])

    @cached_property
    def head(self) -> Node:
        return head_word(self.node)

    @cached_property
    def content(self) -> Node:
        return content_word(self.node)

    def word(self, leaf: int) -> str:
        return self.sentence.words[leaf].lower()

    def base(self, leaf: int) -> str:
        return self.sentence.lemmas[leaf].lower()

    def sibling(self, step: int) -> str:
        if self.node.parent is None:
            return NOTHING
        place, children = self.node.place + step, self.node.parent.children
        return children[place].label if 0 <= place < len(children) else NOTHING


def _position(argument: Argument) -> str:
    return "before" if argument.node.start < argument.verb else "after"


def _voice(argument: Argument) -> str:
    """active for a past participle whose nearest helping verb is a form of have, a modal or `to`; else passive."""
    if argument.leaf.label != "VBN":
        return "active"
    phrase = argument.leaf.parent
    while phrase is not None and phrase.label in ("VP", "UCP") and phrase.parent is not None:
        for helper in reversed(phrase.parent.children[: phrase.place]):
            if helper.is_word and helper.label.startswith(("VB", "MD", "TO")):
                has = argument.base(helper.start) == "have" or argument.word(helper.start) in _HAVE
                return "active" if has or helper.label in ("MD", "TO") else "passive"
        phrase = phrase.parent
    return "passive"


def _subcat(argument: Argument) -> str:
    """The rule that expands the verb's phrase, without punctuation."""
    phrase = argument.leaf.parent
    assert phrase is not None, "a word stands in a phrase"
    inside = [child.label for child in spoken(phrase)]
    return f"{phrase.label}>{'-'.join(inside)}"


def _gov_cat(argument: Argument) -> str:
    """For a noun phrase, whether a clause or a verb phrase is the nearest over it (Gildea & Jurafsky 2002)."""
    if argument.node.label != "NP":
        return NOTHING
    for node in list(argument.node.up())[1:]:
        if node.label == "VP":
            return "VP"
        if node.label in CLAUSES:
            return "S"
    return NOTHING


def _governing_preposition(argument: Argument) -> str:
    parent = argument.node.parent
    if parent is None or parent.label != "PP":
        return NOTHING
    return argument.word(head_word(parent).start)


def _parent(argument: Argument) -> str:
    return argument.node.parent.label if argument.node.parent is not None else NOTHING


def stem(base: str) -> str:
    """A base form without its prefix, as in fortunately for unfortunately, and with digits as n: 13th is nnth; in a
    number as a whole any digits are one n: 2004 is n, 10:30 is n:n.

    A prefix is taken off where four letters or more are left; some only with their hyphen.
    """
    found = _PREFIX.match(base)
    if found and len(base) - found.end() >= _LEAST_STEM:
        base = base[found.end() :]
    base = _DIGIT.sub("n", base)
    return _RUN.sub("n", base) if _NUMBER.fullmatch(base) else base


BASELINE = ("pred", "pt", "hw", "path", "position", "voice", "subcat")
FEATURES: dict[str, Callable[[Argument], str]] = {
    "pred": lambda a: a.lemma,
    "pt": lambda a: a.node.label,
    "hw": lambda a: a.word(a.head.start),
    "path": lambda a: a.path,
    "position": _position,
    "voice": _voice,
    "subcat": _subcat,
    "gov_cat": _gov_cat,
    "hw_pos": lambda a: a.head.label,
    "cw": lambda a: a.word(a.content.start),
    "cw_pos": lambda a: a.content.label,
    "cw_base": lambda a: stem(a.base(a.content.start)),
    "half_path": lambda a: a.climbed,
    "gp": _governing_preposition,
    "parent_pt": _parent,
    "lsib_pt": lambda a: a.sibling(-1),
    "rsib_pt": lambda a: a.sibling(1),
    "first_word": lambda a: a.word(a.node.start),
    "last_word": lambda a: a.word(a.node.end - 1),
    "pred_pos": lambda a: a.leaf.label,
}
