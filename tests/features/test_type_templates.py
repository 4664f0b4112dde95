"""What the spelling of a word says, in any script."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from gpuclf.features.options import FeatureOptions, WordTypesOptions
from gpuclf.features.type_templates import NO, YES, templates_of

ALL = WordTypesOptions(suffixes=3, last3=False, capital=True, punctuation=True, digit=True, hyphen=True)


@pytest.mark.parametrize(
    ("template", "yes", "no"),
    [
        ("capital", ["The", "É", "ǅ", "Ж", "Ⅷ", "𝐀b", "Ω"], ["the", "é", "3D", "'The", "中", "ß", "iPad", "אב"]),
        ("punctuation", [".", "Mr.", "、", "«", "¿Qué", "don't", "x-y", "؟", "_"], ["a", "$", "+", "3", "á", "€"]),
        ("digit", ["3", "a3", "٣", "½", "Ⅷ", "1,000", "३", "三3"], ["a", "-", "三", "two"]),
        ("hyphen", ["-", "x-y", "—", "\u2010", "a\u2013b", "〜"], ["_", "\u2212", "a", "'", "~"]),
    ],
)
def test_yes_and_no(template, yes, no):
    value = templates_of(ALL)[template]
    assert {word: value(word) for word in yes} == dict.fromkeys(yes, YES)
    assert {word: value(word) for word in no} == dict.fromkeys(no, NO)


def test_suffixes_are_code_points_and_a_short_word_is_its_own():
    templates = templates_of(ALL)
    assert [templates[f"suffix{n}"]("Straße") for n in (1, 2, 3)] == ["e", "ße", "aße"]
    assert [templates[f"suffix{n}"]("𝐀b") for n in (1, 2, 3)] == ["b", "𝐀b", "𝐀b"]
    assert templates_of(WordTypesOptions(suffixes=2, last3=True, hyphen=True))["last3"]("walking") == "ing"


def test_which_templates_there_are():
    assert list(templates_of(ALL)) == ["suffix1", "suffix2", "suffix3", "capital", "punctuation", "digit", "hyphen"]
    none = WordTypesOptions(suffixes=0, last3=False, capital=False, punctuation=False, digit=False, hyphen=False)
    assert templates_of(none) == {}


def test_word_types_are_chosen_by_their_name():
    options = TypeAdapter(FeatureOptions).validate_python({"type": "word_types", "suffixes": 2})
    assert options == WordTypesOptions(suffixes=2)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"suffixes": 3, "last3": True}, "third of the 3 suffixes"),
        ({"suffixes": -1}, "suffixes"),
        ({"suffixes": True}, "suffixes"),
        ({"min_count": 0}, "min_count"),
        ({"token_pattern": "(a)(b)"}, "2 groups"),
        ({"token_pattern": "("}, "not a regular expression"),
        ({"hyphens": True}, "Extra inputs"),
    ],
)
def test_options_are_strict(settings, reason):
    with pytest.raises(ValidationError, match=reason):
        WordTypesOptions(**settings)
