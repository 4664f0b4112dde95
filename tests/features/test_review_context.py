"""Reviews as rows: tokens with their places and aspects, content words of sentences, words that a view may use."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch

from gpuclf.data.records import Chunk, Reviews
from gpuclf.faults import UserFault
from gpuclf.features.encoded import Encoded
from gpuclf.features.options import ReviewContextOptions
from gpuclf.features.review_context import ReviewContext, fit_review_context
from gpuclf.features.review_tokens import placed_tokens
from gpuclf.features.review_words import ReviewWords
from gpuclf.features.rows import ReviewRows, concatenate, rows_to
from gpuclf.features.token_pattern import WORDS_AND_SIGNS, compile_pattern
from gpuclf.features.views import fit_views

Spans = list[list[tuple[int, int, str]]]


def chunk(*given: list[str], spans: Spans | None = None, first: int = 0) -> Chunk:
    """One review for each list of sentences."""
    starts = np.cumsum([0, *map(len, given)], dtype=np.int64)
    names = [f"r{number}" for number in range(first, first + len(given))]
    texts = [text for sentences in given for text in sentences]
    ids = [f"{name}:{place}" for name, one in zip(names, given, strict=True) for place in range(1, len(one) + 1)]
    groups = [name for name, one in zip(names, given, strict=True) for _ in one]
    reviews = Reviews(starts, names, [None] * len(given), texts, np.full(len(texts), -1), spans)
    return Chunk(ids, [1] * len(ids), None, groups=groups, reviews=reviews)


def rows_of(encoded: Encoded) -> ReviewRows:
    assert isinstance(encoded.rows, ReviewRows)
    return encoded.rows


def held(words: ReviewWords, names: list[str]) -> list[Counter[str]]:
    """The content words of each sentence, as often as they stand in it."""
    crow, word, count = words.crow.tolist(), words.word.tolist(), words.count.tolist()
    assert all(word[a:b] == sorted(set(word[a:b])) for a, b in pairwise(crow))
    return [
        Counter({names[word[place]]: int(count[place]) for place in range(crow[s], crow[s + 1])})
        for s in range(words.num_sentences)
    ]


TRAIN = [
    chunk(["The Soup was GOOD soup.", "Cheap!"], ["Good view, the best.", ""], spans=[[(4, 8, "food")], [], [], []]),
    chunk(["Soup and wine; wine."], ["A view of 42 wines"], spans=[[(9, 13, "food")], []], first=2),
]


def test_tokens_stand_where_the_text_has_them() -> None:
    text = "Cre\u0300me bru\u0302le\u0301e\u2019s \U0001f600 4.50$"
    placed = placed_tokens(chunk([text]).reviews, compile_pattern(WORDS_AND_SIGNS))
    found = [text[a:b] for a, b in zip(placed.begins.tolist(), placed.ends.tolist(), strict=True)]
    assert found == placed.sentences.tokens
    assert found == ["Cre\u0300me", "bru\u0302le\u0301e", "\u2019", "s", "\U0001f600", "4", ".", "50", "$"]
    assert placed.sentences.gold is None


def test_a_token_is_of_the_first_span_that_it_shares_a_character_with() -> None:
    reviews = chunk(["a bc-de fg h"], spans=[[(0, 1, "x"), (3, 5, "y"), (6, 9, "z")]]).reviews
    gold = placed_tokens(reviews, re.compile(r"[a-z]+|-")).sentences.gold
    assert gold == ["x", "y", "y", "z", "z", "NONE"]
    whole = placed_tokens(reviews, re.compile(r"\S+")).sentences
    assert whole.gold == ["x", "y", "z", "NONE"]
    grouped = placed_tokens(reviews, re.compile(r"([a-z])[a-z]*"))
    assert grouped.sentences.tokens == ["a", "b", "d", "f", "h"]
    assert grouped.ends.tolist() == [1, 3, 6, 9, 12]


def test_rows_of_reviews() -> None:
    encoder, encoded = fit_review_context(TRAIN, [], ReviewContextOptions())
    rows = rows_of(encoded)
    assert rows.starts.tolist() == [0, 6, 8, 14, 14, 20, 25]
    assert rows.reviews.starts.tolist() == [0, 2, 4, 5, 6]
    assert encoded.groups == ["r0"] * 8 + ["r1"] * 6 + ["r2"] * 6 + ["r3"] * 5
    assert encoded.ids[7:9] == ["r0:2:2", "r1:1:1"]
    assert encoded.labels is not None
    assert [place for place, label in enumerate(encoded.labels) if label == "food"] == [1, 16]
    assert encoder.words == ["good", "soup", "view"]  # wine and wines each in one review; the, was, and: stop words
    expected = [{"good": 1, "soup": 2}, {}, {"good": 1, "view": 1}, {}, {"soup": 1}, {"view": 1}]
    assert held(rows.reviews, encoder.words) == [Counter(words) for words in expected]
    of_token = [encoder.words[word] if word >= 0 else "" for word in rows.token_word.tolist()]
    assert of_token[:6] == ["", "soup", "", "good", "soup", ""]
    names = {"word[0]=Soup", "ending[0]=oup", "all_capitals[0]=no", "initial_capital[0]=yes", "digit[+3]=no"}
    crow = rows.crow.tolist()
    assert names <= {encoder.names[col - 1] for col in rows.col[crow[1] : crow[2]].tolist()}


def test_unlabelled_reviews_teach_words_and_get_no_rows() -> None:
    beside = [chunk(["Wine, olives."], ["Olives of the VIEW"])]
    encoder, encoded = fit_review_context(TRAIN, beside, ReviewContextOptions(stop_words=["Good", "OF"]))
    alone, without = fit_review_context(TRAIN, [], ReviewContextOptions(stop_words=["Good", "OF"]))
    rows = rows_of(encoded)
    assert encoder.words == ["olives", "soup", "the", "view", "wine"]
    assert rows.unlabelled is not None
    assert held(rows.unlabelled, encoder.words) == [Counter(wine=1, olives=1), Counter(olives=1, the=1, view=1)]
    assert encoder.names == alone.names
    assert torch.equal(rows.col, rows_of(without).col)
    moved = rows_to(rows, torch.device("cpu"))
    assert isinstance(moved, ReviewRows)
    assert torch.equal(moved.token_word, rows.token_word)
    assert moved.unlabelled is not None


def test_a_view_knows_the_words_of_two_of_its_reviews() -> None:
    beside = [chunk(["Soup."])]
    encoder, encoded = fit_review_context(TRAIN, beside, ReviewContextOptions())
    rows = rows_of(encoded)
    review = torch.tensor([int(name[1:]) for name in encoded.groups or ()])
    masks = [torch.ones(4), torch.tensor([1.0, 1, 0, 0]), torch.tensor([0.0, 0, 1, 1]), torch.tensor([0.0, 1, 0, 1])]
    known = rows.known_words(torch.stack([mask.bool()[review] for mask in masks]))
    found = [[encoder.words[word] for word in torch.nonzero(row).flatten().tolist()] for row in known]
    assert found == [["good", "soup", "view"], ["good", "soup"], ["soup"], ["view"]]


def test_a_fold_knows_what_a_separate_run_knows() -> None:
    encoder, encoded = fit_review_context(TRAIN, [], ReviewContextOptions())
    half, _ = fit_review_context(TRAIN[:1], [], ReviewContextOptions())
    mask = torch.tensor([name in ("r0", "r1") for name in encoded.groups or ()])
    known = rows_of(encoded).known_words(mask[None])[0]
    assert [word for word, holds in zip(encoder.words, known.tolist(), strict=True) if holds] == half.words


@pytest.mark.parametrize("neighbours", [0, 2])
def test_a_folds_features_are_those_of_a_separate_run(neighbours: int) -> None:
    options = ReviewContextOptions(neighbours=neighbours)
    train = [
        chunk(["Good soup.", "Cheap wine!"], ["Soup, good view."]),
        chunk(["Cheap wine."], ["The view."], first=2),
    ]
    encoder, encoded = fit_review_context(train, [], options)
    half, own = fit_review_context(train[:1], [], options)

    def known(names: list[str], of: Encoded, mask: torch.Tensor) -> set[str]:
        scale = fit_views(of.rows, torch.zeros(len(of.ids)), 1, mask[None], options).col_scale
        assert scale is not None
        return {name for name, value in zip(names, scale[0, 1:].tolist(), strict=True) if value}

    mask = torch.tensor([name in ("r0", "r1") for name in encoded.groups or ()])
    separate = known(half.names, own, torch.ones(len(own.ids), dtype=torch.bool))
    assert known(encoder.names, encoded, mask) == separate
    assert ("sentence[-1]=good" in separate) == (neighbours > 0)


def test_new_reviews_and_a_trip_through_json() -> None:
    options = ReviewContextOptions(window=1, min_df=1)
    encoder, encoded = fit_review_context(TRAIN, [], options)
    again = ReviewContext.from_json(json.loads(json.dumps(encoder.to_json())), options)
    new = chunk(["soup \u00e0 la carte", "Good"])
    first, second = encoder.encode([new]), again.encode([new])
    assert first.labels is None
    assert torch.equal(first.rows.col, second.rows.col)
    assert held(rows_of(second).reviews, again.words) == [Counter(soup=1), Counter(good=1)]
    joined = concatenate(encoded.rows, first.rows)
    assert isinstance(joined, ReviewRows)
    assert joined.reviews.starts.tolist() == [0, 2, 4, 5, 6, 8]
    assert joined.starts[-1] == joined.num_docs == joined.token_word.numel() == encoded.rows.num_docs + 5
    assert held(joined.reviews, encoder.words)[-2:] == [Counter(soup=1), Counter(good=1)]


def test_composed_and_decomposed_spellings_are_one_word() -> None:
    """Case o06: the two forms of an accent are one, in features and content words; places are those of the text."""
    texts = ["cr\u00e8me", unicodedata.normalize("NFD", "cr\u00e8me")]
    encoder, encoded = fit_review_context([chunk(texts[:1], texts[1:])], [], ReviewContextOptions())
    rows = rows_of(encoded)
    assert encoder.words == ["cr\u00e8me"]
    assert torch.equal(rows.col[: rows.crow[1]], rows.col[rows.crow[1] :])
    assert encoder.place(chunk(texts[1:])).ends.tolist() == [6]


def test_what_is_no_review_is_refused() -> None:
    with pytest.raises(UserFault, match=r"use data\.format reviews"):
        fit_review_context([Chunk(["1"], [1], ["a"], texts=["x"])], [], ReviewContextOptions())
    with pytest.raises(UserFault, match="no word"):
        fit_review_context([chunk([" "])], [], ReviewContextOptions())
    with pytest.raises(ValueError, match="is not a regular expression"):
        ReviewContextOptions(token_pattern="(")
