"""Heads (Collins 1999), content words (Surdeanu et al. 2003) and features of arguments, on trees of our own."""

from __future__ import annotations

import pytest

from gpuclf.data.readers.propbank_pointers import read_trees
from gpuclf.data.roles.argument import FEATURES, Argument, Sentence, stem
from gpuclf.data.roles.heads import content_word, head_word
from gpuclf.data.roles.tree import Tree, spoken_tree


def tree(text: str) -> Tree:
    return next(read_trees([text]))[1]


@pytest.mark.parametrize(
    ("text", "head", "content"),
    [
        ("(NP (DT the) (JJ old) (NN dog))", "dog", "dog"),
        ("(NP (NP (DT the) (NN dog)) (POS 's))", "'s", "'s"),
        ("(NP (NP (DT a) (NN cup)) (PP (IN of) (NP (NN tea))))", "cup", "cup"),
        ("(NP (DT the) (JJ poor))", "poor", "poor"),
        ("(NP (QP (RB about) (CD 20)) (NML (NN tea) (NNS cups)))", "cups", "cups"),
        ("(NP (`` q) (DT this) ('' q))", "this", "this"),
        ("(PP (IN in) (NP (NNP Texas)))", "in", "Texas"),  # H1
        ("(PP (-LRB- b) (IN in) (NP (NNP Texas)) (-RRB- b))", "in", "Texas"),
        ("(SBAR (IN that) (S (NP (PRP it)) (VP (VBD rained) (NP (NN yesterday)))))", "that", "rained"),  # H2
        ("(SBAR (SBAR (IN if) (S (VP (VBD came)))) (CC or) (SBAR (IN if) (S (VP (VBD went)))))", "if", "came"),
        ("(VP (VBD had) (VP (VBN placed)))", "had", "placed"),  # H3
        ("(ADVP (JJR more) (IN than))", "more", "more"),  # H4
        ("(ADJP (NP (CD 61) (NNS years)) (JJ old))", "old", "old"),  # H5
        ("(ADJP (RB too) (SBAR (WHNP (WP what)) (S (VP (VBZ happens)))))", "what", "what"),
        ("(S (VP (TO to) (VP (VB be) (ADJP (JJ new)))))", "to", "be"),
        ("(S (PP (IN in) (NP (NN shape))))", "in", "shape"),
        ("(UCP (NP (NNS birds)) (, ,) (CC and) (ADJP (JJ neat)))", "birds", "birds"),  # the first of a coordination
        ("(SQ (VBD did) (NP (PRP they)) (VP (VB go)))", "did", "did"),
        ("(WHADVP (WHADVP (WRB where)) (PP (IN in) (NP (NN town))))", "in", "in"),
        ("(XYZ (UH oh) (UH no))", "oh", "oh"),
    ],
)
def test_heads_and_content_words(text: str, head: str, content: str) -> None:
    found = tree(f"(TOP {text})")
    phrase = found.root.children[0]
    assert found.words[head_word(phrase).start] == head
    assert found.words[content_word(phrase).start] == content


@pytest.mark.parametrize(
    ("text", "voice"),
    [
        ("(S (NP (PRP he)) (VP (VBD was) (VP (VBN seen))))", "passive"),
        ("(S (NP (PRP he)) (VP (VBD got) (VP (VBN seen))))", "passive"),
        ("(S (NP (PRP he)) (VP (VBZ has) (VP (VBN seen))))", "active"),
        ("(S (NP (PRP he)) (VP (VBZ has) (VP (VBN been) (VP (VBN seen)))))", "passive"),
        ("(NP (NP (NNS men)) (VP (VBN seen)))", "passive"),
        ("(S (NP (PRP he)) (VP (MD would) (VP (VBN seen))))", "active"),
        ("(S (NP (PRP he)) (VP (VBD was) (VP (VP (VBN heard)) (CC and) (VP (VBN seen)))))", "passive"),
        ("(S (NP (PRP he)) (VP (VBD saw)))", "active"),
    ],
)
def test_voice(text: str, voice: str) -> None:
    found = tree(f"(TOP {text})")
    verb = len(found.leaves) - 1
    argument = Argument(Sentence(found, found.words, found.words), found.leaves[0], verb, "see")
    assert FEATURES["voice"](argument) == voice


def test_a_governing_preposition_and_siblings() -> None:
    found = tree("(S (VP (VBD sat) (PP (IN On) (NP (DT a) (NN mat)) (ADVP (RB there)))))")
    node = found.constituent(2, 4)
    assert node is not None
    argument = Argument(Sentence(found, found.words, found.words), node, 0, "sit")
    wanted = {"gp": "on", "lsib_pt": "IN", "rsib_pt": "ADVP", "parent_pt": "PP", "gov_cat": "VP"}
    wanted |= {"path": "NP^PP^VP!VBD", "half_path": "NP^PP^VP", "position": "after"}
    assert {name: FEATURES[name](argument) for name in wanted} == wanted


def test_the_highest_constituent_of_a_span_counts() -> None:
    found = tree("(TOP (S (NP (NP (PRP he))) (VP (VBD left))))")
    node = found.constituent(0, 1)
    assert node is not None
    assert node.label == "NP"
    assert node.parent is not None
    assert node.parent.label == "S"
    assert found.constituent(0, 2) is found.root
    assert found.constituent(1, 3) is None
    assert found.constituent(0, 3) is None


@pytest.mark.parametrize(
    ("base", "cut"),
    [
        ("unheated", "heated"),
        ("discuss", "cuss"),
        ("union", "union"),  # three letters would be left
        ("report", "report"),
        ("re-read", "read"),
        ("2004", "n"),
        ("10:30", "n:n"),
        ("13th", "nnth"),
        ("n", "n"),
    ],
)
def test_stems(base: str, cut: str) -> None:
    assert stem(base) == cut


@pytest.mark.parametrize(
    "text", ["(S (NP (DT the)", "(S (NP))", "(S (NN a)) )", "(S (NN a b))", "word", "(S (NN a) b)"]
)
def test_brackets_that_do_not_fit(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        list(read_trees([text]))


def test_a_spoken_tree_has_neither_traces_nor_marks() -> None:
    whole = tree(
        "(S (NP-SBJ=2 (-NONE- *)) (VP (VB go) (PRN (-LRB- b) (ADVP|PRT (RB now)) (-RRB- b))) (NP-1 (PRP$ my)))"
    )
    heard, kept = spoken_tree(whole)
    assert heard is not None
    labels = [node.label for node in heard.root.below()]
    assert labels == ["S", "VP", "VB", "PRN", "-LRB-", "ADVP", "RB", "-RRB-", "NP", "PRP$"]
    assert heard.words == ["go", "b", "now", "b", "my"]
    assert kept[id(whole.leaves[1])] is heard.leaves[0]
    assert id(whole.leaves[0]) not in kept
    assert (heard.root.start, heard.root.end) == (0, 5)
    assert spoken_tree(tree("(S (NP (-NONE- *PRO*)))")) == (None, {})
