"""What PropBank (Palmer, Gildea & Kingsbury 2005) says of a sentence: its verbs, and the spans of their arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpuclf.data.roles.argument import Argument, Sentence
from gpuclf.data.roles.tree import Node, Tree

_PARTS = ("R-", "C-")  # a pronoun that stands for an argument, and what continues one
_NO_ROLES = ("V", "rel", "Support")
_LINK = "LINK"


@dataclass(frozen=True)
class Span:
    """A role and the words start … end - 1 that have it; node: the constituent, where there is one."""

    role: str
    start: int
    end: int
    node: Node | None


@dataclass(frozen=True)
class Proposition:
    """A predicate: the number of its word, its base form, and its spans in their order."""

    word: int
    lemma: str
    spans: Sequence[Span]


@dataclass(frozen=True)
class Annotated:
    """A sentence as its file gives it: document, its number there from 0, and the line where it begins. words is None
    where the file withholds them; lemmas, where it has none of its own."""

    document: str
    number: int
    line: int
    tree: Tree
    propositions: Sequence[Proposition]
    words: Sequence[str] | None = None
    lemmas: Sequence[str] | None = None


def is_argument(role: str) -> bool:
    """Whether a span of this label is an argument of its own."""
    return role not in _NO_ROLES and not role.startswith((*_PARTS, _LINK))


def arguments_of(annotated: Annotated, sentence: Sentence) -> Iterator[tuple[Span, Argument | None]]:
    """The arguments of the sentence's verbs, verb by verb; None for a span that is no constituent.

    Predicates that are no verbs are passed over. A verb goes by its base form among the sentence's words.
    """
    for proposition in annotated.propositions:
        if not annotated.tree.leaves[proposition.word].label.startswith("VB"):
            continue
        lemma = proposition.lemma
        if annotated.lemmas is None and sentence.lemmas is not sentence.words:
            lemma = sentence.lemmas[proposition.word].lower()
        for span in proposition.spans:
            if is_argument(span.role):
                node = span.node
                yield span, None if node is None else Argument(sentence, node, proposition.word, lemma)
