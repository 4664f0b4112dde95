"""The default pattern, `\\p{M}`, and the fast form of known patterns = `re`."""

from __future__ import annotations

import re
import sys
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuclf.features.token_pattern import DEFAULT_TOKEN_PATTERN, compile_pattern, find_tokens, mark_ranges
from gpuclf.features.tokenizer import CLASS_PATTERNS, class_table, text_normalizer, tokenize
from gpuclf.ops.word_spans import BEGIN, CONTINUE

DEFAULT = compile_pattern(DEFAULT_TOKEN_PATTERN)
SPECIAL = st.sampled_from(
    "aZ_09 \t\n\x1c\x85\xa0\u2028é\u0301\u0327ि्\u200c\u200d\u20e3ก็ل\u0651是的²½ⅷ𝒳🙂\U000e0100İΣς-'\""
)
TEXT = st.text(alphabet=SPECIAL | st.characters(exclude_categories=["Cs"]), max_size=40)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("I use R", ["I", "use", "R"]),
        ("got a 5", ["got", "a", "5"]),
        ("是 的 不", ["是", "的", "不"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("ที่นี่ ก็", ["ที่นี่", "ก็"]),
        ("தமிழ்", ["தமிழ்"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("pa\u0302te\u0301", ["pa\u0302te\u0301"]),
        ("don't x_y 3.5", ["don", "t", "x_y", "3", "5"]),
        (" \u0301 .\u0301 \u200d", []),
        ("", []),
    ],
)
def test_default_pattern(text: str, tokens: list[str]) -> None:
    assert find_tokens(DEFAULT, text) == tokens


@given(TEXT)
def test_no_default_token_is_marks_alone(text: str) -> None:
    for token in find_tokens(DEFAULT, text):
        assert not unicodedata.category(token[0]).startswith("M")


def test_marks_are_all_of_unicode() -> None:
    marks = {c for a, b in mark_ranges() for c in range(a, b + 1)}
    assert marks == {c for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c))[0] == "M"}


def test_class_tables_agree_with_python_on_every_code_point() -> None:
    words, spaces = class_table(r"\w", r"\w"), class_table(r"\S", r"\S")
    default = class_table(CLASS_PATTERNS[DEFAULT_TOKEN_PATTERN].begins, CLASS_PATTERNS[DEFAULT_TOKEN_PATTERN].continues)
    words, spaces, default = words.tolist(), spaces.tolist(), default.tolist()
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        is_word = char.isalnum() or char == "_"
        goes_on = is_word or char in "\u200c\u200d" or unicodedata.category(char)[0] == "M"
        assert words[code] == (BEGIN | CONTINUE) * is_word
        assert spaces[code] == (BEGIN | CONTINUE) * (not char.isspace())
        assert default[code] == BEGIN * is_word | CONTINUE * goes_on


@pytest.mark.parametrize("pattern", CLASS_PATTERNS)
@settings(max_examples=50)
@given(texts=st.lists(TEXT, max_size=4))
def test_fast_path_equals_re(pattern: str, texts: list[str]) -> None:
    tokens = tokenize(texts, pattern)
    raw = bytes(tokens.text.tolist())
    found = [raw[a:b].decode() for a, b in zip(tokens.starts.tolist(), tokens.ends.tolist(), strict=True)]
    ptr = tokens.token_ptr.tolist()
    compiled = compile_pattern(pattern)
    assert [found[a:b] for a, b in pairwise(ptr)] == [compiled.findall(text) for text in texts]


@pytest.mark.parametrize(
    ("pattern", "text", "tokens"),
    [
        (r"\p{M}", "e\u0301a", ["\u0301"]),
        (r"[^\p{M}]+", "e\u0301a", ["e", "a"]),
        (r"[]\p{M}]+", "]\u0301x", ["]\u0301"]),
        (r"[^]\p{M}]+", "]\u0301x", ["x"]),
        (r"\\p\{M\}", r"a\p{M}", [r"\p{M}"]),
        (r"\[\p{M}+\]", "[\u0301]", ["[\u0301]"]),
        (r"(?i)#([a-z]+)", "#Ab c #d", ["Ab", "d"]),
        (r"x*", "axxb", ["xx"]),
    ],
)
def test_marks_escape_and_groups(pattern: str, text: str, tokens: list[str]) -> None:
    assert find_tokens(compile_pattern(pattern), text) == tokens


def test_bad_pattern_is_an_error_of_re() -> None:
    with pytest.raises(re.error):
        compile_pattern("[a")


@given(st.text(max_size=20))
def test_normalising_gives_equal_words_for_equal_texts(text: str) -> None:
    normalize = text_normalizer("NFC", lowercase=True)
    result = normalize(text)
    assert unicodedata.is_normalized("NFC", result)
    assert normalize(unicodedata.normalize("NFD", text)) == result


def test_lower_case_and_forms_are_options() -> None:
    assert text_normalizer("none", lowercase=False)("E\u0301") == "E\u0301"
    assert text_normalizer("NFC", lowercase=False)("E\u0301") == "É"
    assert text_normalizer("NFKC", lowercase=True)("ﬁN") == "fin"
