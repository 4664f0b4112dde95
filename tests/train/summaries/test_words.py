"""Folding of words, the clause around a span, and the polarity of a snippet by the lexicon."""

from __future__ import annotations

import pytest

from gpuclf.train.summaries.lemmas import folded, lemmas
from gpuclf.train.summaries.lexicon import polarity_of, strength
from gpuclf.train.summaries.opinion_words import PHRASES, WORDS
from gpuclf.train.summaries.windows import MOST, snippet_span

ALIKE = [
    "portion portions",
    "dish dishes dishes'",
    "taste tastes tasted tasting",
    "berry berries",
    "friendly friendlier friendliest",
    "stop stopped stopping",
    "good better best",
    "child children",
    "wait waits waited waiting",
    "nice nicer nicely",
    "bake bakes baked baking",
]
APART = [
    "wine win",
    "server serve",
    "butter butt",
    "dinner din",
    "bus bu",
    "glass glas",
    "this thi",
    "is i",
]


@pytest.mark.parametrize("forms", ALIKE)
def test_forms_of_a_word_fold_alike(forms: str) -> None:
    assert len({folded(form.rstrip("'")) for form in forms.split()}) == 1


@pytest.mark.parametrize("words", APART)
def test_other_words_stay_apart(words: str) -> None:
    one, other = words.split()
    assert folded(one) != folded(other)


def test_lemmas_of_a_text() -> None:
    assert lemmas("The WAITERS’ dishes weren't 2-for-1…") == "the waiter dish weren't 2-for-1"
    assert lemmas("?!") == ""


@pytest.mark.parametrize(
    ("sentence", "span", "snippet"),
    [
        ("The food was great, but the service was slow.", "food", "The food was great"),
        ("The food was great, but the service was slow.", "service", "the service was slow."),
        ("It has great sushi and even better service.", "service", "It has great sushi and even better service."),
        ("The pizza is good and the staff are rude.", "pizza", "The pizza is good"),
        ("The pizza is good and the staff are rude.", "staff", "the staff are rude."),
        ("Yum!", "Yum", "Yum!"),
        ("Service: slow, loud, late.", "Service", "Service: slow, loud, late."),
        ("Great place -- we loved the decor.", "decor", "we loved the decor."),
        ("The software is Sooo... not good. I like it.", "software", "The software is Sooo... not good."),
        ("Although the decor is dated, the food is fresh.", "food", "the food is fresh."),
    ],
)
def test_the_snippet_is_the_clause_around_the_span(sentence: str, span: str, snippet: str) -> None:
    start = sentence.index(span)
    begin, stop = snippet_span(sentence, start, start + len(span))
    assert sentence[begin:stop] == snippet


def test_a_long_snippet_keeps_the_words_near_its_span() -> None:
    words = [f"w{number}" for number in range(100)]
    sentence = " ".join(words)
    for place in (0, 50, 99):
        start = sentence.index(words[place])
        begin, stop = snippet_span(sentence, start, start + len(words[place]))
        assert len(sentence[begin:stop].split()) == MOST
        assert words[place] in sentence[begin:stop].split()


@pytest.mark.parametrize("sentence", ["", " ", "a", "…, but; – (and) so the -- .", "ещё раз: вкусно, но дорого"])
def test_any_span_of_any_sentence_has_a_snippet_that_holds_it(sentence: str) -> None:
    for start in range(len(sentence)):
        for end in range(start + 1, len(sentence) + 1):
            begin, stop = snippet_span(sentence, start, end)
            assert 0 <= begin <= start < end <= stop <= len(sentence)


@pytest.mark.parametrize(
    "text",
    [
        "The pizza was delicious.",
        "Not bad at all",
        "I can't complain about the service",
        "You can't go wrong with the soup",
        "The decor is dated, but the food is amazing",
        "Despite the wait, a great meal",
        "Not only fresh, friendly too",
        "The fries weren't greasy",
        "I would recommend the duck",
    ],
)
def test_praise(text: str) -> None:
    assert polarity_of(text) == 1, strength(text)


@pytest.mark.parametrize(
    "text",
    [
        "The pizza was disgusting.",
        "The soup was not very good",
        "They never were friendly",
        "The room is too loud",
        "The food is great but the service is horrible",
        "It could have been better",
        "A waste of money",
        "The steak was over-cooked",
        "Nothing special",
    ],
)
def test_blame(text: str) -> None:
    assert polarity_of(text) == -1, strength(text)


@pytest.mark.parametrize("text", ["We went on Tuesday.", "I had the hot and sour soup", "", "It looks like a house"])
def test_neither(text: str) -> None:
    assert polarity_of(text) == 0, strength(text)


def test_degrees_and_what_decides_without_an_opinion_word() -> None:
    assert strength("very good") > strength("good") > strength("a bit good") > 0
    assert strength("good!") > strength("good")
    assert strength("terrible") < strength("not great") < 0
    assert polarity_of("the bread", "I hated the bread, the wine, all of it") == -1
    assert polarity_of("the bread was good", "I hated all of it, but the bread was good") == 1


def test_the_list_has_words_and_phrases_of_both_kinds() -> None:
    assert min(sum(value > 0 for value in WORDS.values()), sum(value < 0 for value in WORDS.values())) > 250
    assert {value > 0 for value in PHRASES.values() if value} == {True, False}
