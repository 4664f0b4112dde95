"""Content words of neighbouring sentences as features of tokens."""

from __future__ import annotations

import torch

from gpuclf.features.neighbour_words import neighbour_names, with_neighbours
from gpuclf.features.review_words import ReviewWords
from gpuclf.features.rows import ReviewRows


def test_a_token_gets_the_words_of_the_sentences_around_its_own_in_its_review() -> None:
    reviews = ReviewWords(
        starts=torch.tensor([0, 3, 4]),
        crow=torch.tensor([0, 2, 2, 3, 4]),
        word=torch.tensor([0, 2, 1, 2], dtype=torch.int32),
        count=torch.tensor([1.0, 3.0, 1.0, 1.0]),
        num_words=3,
    )
    rows = ReviewRows(  # sentences of 1, 2, 1 and 1 tokens; one column
        crow=torch.tensor([0, 1, 1, 2, 3, 3]),
        col=torch.tensor([1, 1, 1], dtype=torch.int32),
        val=torch.tensor([5.0, 6.0, 7.0]),
        num_features=1,
        starts=torch.tensor([0, 1, 3, 4, 5]),
        token_word=torch.tensor([0, -1, -1, 1, 2], dtype=torch.int32),
        reviews=reviews,
    )
    found = with_neighbours(rows, 2)
    names = ["own", *neighbour_names("abc", 2)]
    read = [
        {names[col - 1]: value for col, value in zip(found.col[a:b].tolist(), found.val[a:b].tolist(), strict=True)}
        for a, b in zip(found.crow[:-1].tolist(), found.crow[1:].tolist(), strict=True)
    ]
    before, after = {"sentence[-1]=a": 1.0, "sentence[-1]=c": 1.0}, {"sentence[+1]=b": 1.0}
    assert read == [
        {"own": 5.0, "sentence[+2]=b": 1.0},
        before | after,
        {"own": 6.0} | before | after,
        {"own": 7.0, "sentence[-2]=a": 1.0, "sentence[-2]=c": 1.0},
        {},
    ]
    assert found.num_features == len(names) == 13
    assert all(bool((found.col[a:b].diff() > 0).all()) for a, b in zip(found.crow[:-1], found.crow[1:], strict=True))
