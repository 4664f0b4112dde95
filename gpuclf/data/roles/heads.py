"""Which word is the head of a phrase: the rules of Collins (1999), Head-Driven Statistical Models for Natural Language
Parsing, appendix A; and which one carries its content: Surdeanu et al. (2003), Using Predicate-Argument Structures for
Information Extraction, figure 3."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpuclf.data.roles.tree import PUNCTUATION, Node

LEFT, RIGHT = 1, -1  # from which end children are searched, for the first category of the list that any child has

_RULES: dict[str, tuple[int, str]] = {
    "ADJP": (LEFT, "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": (RIGHT, "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": (RIGHT, "CC RB IN"),
    "FRAG": (RIGHT, ""),
    "INTJ": (LEFT, ""),
    "LST": (RIGHT, "LS :"),
    "NAC": (LEFT, "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "PP": (RIGHT, "IN TO VBG VBN RP FW"),
    "PRN": (LEFT, ""),
    "PRT": (RIGHT, "RP"),
    "QP": (LEFT, "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": (RIGHT, "VP NP ADVP ADJP PP"),
    "S": (LEFT, "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": (LEFT, "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": (LEFT, "SQ S SINV SBARQ FRAG"),
    "SINV": (LEFT, "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": (LEFT, "VBZ VBD VBP VB MD VP SQ"),
    "UCP": (RIGHT, ""),
    "VP": (LEFT, "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": (LEFT, "CC WRB JJ ADJP"),
    "WHADVP": (RIGHT, "CC WRB"),
    "WHNP": (LEFT, "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": (RIGHT, "IN TO FW"),
}
_LISTS = {label: (side, tuple(order.split())) for label, (side, order) in _RULES.items()}
_OTHERS = (LEFT, ())  # phrases without a rule: their first child
_NOUN_PHRASES = ("NP", "NX", "NML")
_NOUN_STEPS: tuple[tuple[int, frozenset[str]], ...] = (
    (RIGHT, frozenset(["NN", "NNP", "NNPS", "NNS", "NX", "NML", "ADD", "GW", "POS", "JJR"])),
    (LEFT, frozenset(["NP"])),
    (RIGHT, frozenset(["$", "ADJP", "PRN"])),
    (RIGHT, frozenset(["CD"])),
    (RIGHT, frozenset(["JJ", "JJS", "RB", "QP"])),
)
_CONTENT_OF_ADJP = ("JJ", "VB", "NN", "ADJP")  # adjectives, verbs, nouns, by the beginnings of their names
CLAUSES = ("S", "SQ", "SINV", "SBARQ")


def spoken(node: Node) -> list[Node]:
    """The children without punctuation; all of them where there is nothing else."""
    return [child for child in node.children if child.label not in PUNCTUATION] or node.children


def head_child(node: Node) -> Node:
    """The child that the head comes from. Punctuation is passed over."""
    children = spoken(node)
    if node.label in _NOUN_PHRASES:
        return children[_noun_head(children)]
    side, order = _LISTS.get(node.label, _OTHERS)
    place = _by_priority(children, side, order)
    if place >= 2 and children[place - 1].label == "CC":  # A and B: the head is A
        place -= 2
    return children[place]


def _by_priority(children: list[Node], side: int, order: Iterable[str]) -> int:
    places = range(len(children))[::side]
    for wanted in order:
        for place in places:
            if children[place].label == wanted:
                return place
    return places[0]


def _noun_head(children: list[Node]) -> int:
    last = len(children) - 1
    if children[last].label == "POS":
        return last
    for side, wanted in _NOUN_STEPS:
        for place in range(len(children))[::side]:
            if children[place].label in wanted:
                return place
    return last


def head_word(node: Node) -> Node:
    """The part of speech of the phrase's head."""
    while not node.is_word:
        node = head_child(node)
    return node


def content_word(node: Node) -> Node:
    """The part of speech of the phrase's content word: of the child that the heuristics name; where they name none,
    the head word (H6). A clause goes by its verb phrase, or else by the child that its head comes from."""
    while not node.is_word:
        choose = _CONTENT.get(node.label)
        child = None if choose is None else choose(spoken(node))
        if child is None and node.label in ("S", "SBAR"):
            child = head_child(node)
        if child is None:
            return head_word(node)
        node = child
    return node


def _first(children: Iterable[Node], labels: tuple[str, ...]) -> Node | None:
    return next((child for child in children if child.label in labels), None)


def _last_of_adjp(children: list[Node]) -> Node | None:
    return next((child for child in reversed(children) if child.label.startswith(_CONTENT_OF_ADJP)), None)


def _last_of_advp(children: list[Node]) -> Node | None:
    return next((child for child in reversed(children) if child.label not in ("IN", "TO")), None)


_CONTENT: dict[str, Callable[[list[Node]], Node | None]] = {
    "PP": lambda children: children[-1],  # H1: in Texas
    "SBAR": lambda children: _first(children, CLAUSES) or _first(children, ("SBAR",)),  # H2: that occurred yesterday
    "VP": lambda children: _first(children, ("VP",)),  # H3: had placed
    "ADVP": _last_of_advp,  # H4: more than
    "ADJP": _last_of_adjp,  # H5: 61 years old
    "S": lambda children: _first(children, ("VP",)),
}
