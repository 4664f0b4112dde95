"""Contexts of an ambiguous word: parts of speech, word sets by training set, a training row without its own counts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuclf.data.records import Chunk, Contexts
from gpuclf.features.encoders import encoder_from_json, fit
from gpuclf.features.options import WordSenseOptions
from gpuclf.features.rows import concatenate, rows_to
from gpuclf.features.sense_rows import SenseRows
from gpuclf.features.views import fit_views
from gpuclf.features.word_sense import fit_word_sense, input_names
from gpuclf.features.word_sets import fit_word_sets, held_out_codes, training_codes

ABSENT, PRESENT = 1, 2


def chunk(*contexts: str, labels: list[str] | None = None) -> Chunk:
    """Contexts written as word/TAG, the head in capitals."""
    split = [[word.split("/") for word in context.split()] for context in contexts]
    ends = np.cumsum([0, *map(len, split)])
    heads = [next(place for place, (word, _) in enumerate(words) if word.isupper()) for words in split]
    tokens, tags = ([item[part] for words in split for item in words] for part in (0, 1))
    ids = [str(n) for n in range(len(split))]
    held = Contexts(ends, tokens, tags, np.array(heads, dtype=np.int64))
    return Chunk(ids, list(range(1, len(split) + 1)), labels, contexts=held)


def test_parts_of_speech_by_position_with_what_lies_beyond_the_ends() -> None:
    encoder, encoded = fit_word_sense([chunk("a/D BANK/N is/V", "BANK/N of/P a/D")], WordSenseOptions())
    assert encoder.tags == [["<s>"], ["<s>", "D"], ["N"], ["P", "V"], ["</s>", "D"]]
    rows = encoded.rows
    assert isinstance(rows, SenseRows)
    assert rows.codes.tolist() == [[1, 2, 1, 2, 1], [1, 1, 1, 1, 2]]
    new = encoder.encode([chunk("red/J BANK/N of/P of/P new/J")])
    assert new.rows.codes.tolist() == [[1, 0, 1, 1, 0]]  # type: ignore[union-attr]
    assert new.unknown.tolist() == [2]  # red and new, the head is none of the words


def test_inputs_stand_where_their_names_do() -> None:
    encoder, encoded = fit_word_sense([chunk("a/D BANK/N is/V", "BANK/N of/P a/D")], WordSenseOptions(top_words=1))
    rows, senses = encoded.rows, ["s", "pos+1"]
    assert isinstance(rows, SenseRows)
    names = input_names(encoder, senses, [0, 1, 0])
    assert [rows.input_place(name, senses) for name in names] == [*range(len(names) - 1), None]
    assert replace(rows, per_class=False).input_place("words:s", senses) is None


def test_words_are_those_around_the_head_within_the_window() -> None:
    near = WordSenseOptions(window=1, bigrams=True)
    encoder, _ = fit_word_sense([chunk("x/D a/D BANK/N b/V bank/N")], near)
    assert encoder.words == ["a", "a bank", "b", "bank b"]
    assert fit_word_sense([chunk("x/D a/D BANK/N b/V bank/N")], WordSenseOptions())[0].words == ["a", "b", "bank", "x"]


def test_an_encoder_comes_back_from_its_data() -> None:
    options = WordSenseOptions(top_words=1)
    encoder, encoded = fit([chunk("a/D BANK/N is/V", "a/D BANK/N of/P")], options)
    again = encoder_from_json(encoder.to_json(), options)
    assert again.to_json() == encoder.to_json()
    rows = again.encode([chunk("a/D BANK/N is/V")]).rows
    assert isinstance(rows, SenseRows)
    both = concatenate(encoded.rows, rows)
    assert isinstance(both, SenseRows)
    assert (both.num_docs, both.crow.tolist()) == (3, [0, 2, 4, 6])
    moved = rows_to(both, torch.device("cpu"))
    torch.testing.assert_close(moved.word, both.word)  # type: ignore[union-attr]
    assert input_names(again, ["s", "t"], [0, 1, 0])[5:] == ["words:s", "words:t", "has:is"]  # type: ignore[arg-type]


def made(seed: int, docs: int = 40, words: int = 25, classes: int = 3) -> tuple[SenseRows, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    held = torch.rand(docs, words, generator=draw) < 0.15
    labels = torch.randint(0, classes, (docs,), generator=draw)
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), held.sum(1).cumsum(0)])
    codes = torch.randint(0, 4, (docs, 2), generator=draw, dtype=torch.int32)
    return SenseRows(codes, (4, 4), crow, held.nonzero()[:, 1].to(torch.int32), words), labels


def literal(rows: SenseRows, labels: torch.Tensor, train: torch.Tensor, doc: int, classes: int) -> list[int]:
    """Codes of a document, word by word, by the counts of the rows in `train`."""

    def words_of(n: int) -> set[int]:
        return set(rows.word[rows.crow[n] : rows.crow[n + 1]].tolist())

    found = [ABSENT] * classes
    for word in words_of(doc):
        holders = [n for n in torch.nonzero(train).flatten().tolist() if word in words_of(n)]
        for k in range(classes):
            own = sum(int(labels[n]) == k for n in holders)
            if len(holders) >= rows.min_count and own > rows.threshold * len(holders):
                found[k] = PRESENT
    return found


@settings(max_examples=15)
@given(st.integers(0, 1000), st.sampled_from([0.0, 0.34, 0.5, 0.8]), st.sampled_from([1, 2]))
def test_codes_are_those_of_counting_word_by_word(seed: int, threshold: float, least: int) -> None:
    rows, labels = made(seed)
    rows = replace(rows, threshold=threshold, min_count=least)
    train = torch.arange(40) % 4 != seed % 4
    scale = fit_word_sets(rows, labels, 3, torch.stack([train, ~train]))[0]
    held = held_out_codes(rows, scale).codes
    own = training_codes(rows, labels, scale, train).codes
    literally = training_codes(replace(rows, leave_one_out=False), labels, scale, train).codes
    torch.testing.assert_close(literally, held)
    for doc in range(0, 40, 7):
        assert held[doc, 2:].tolist() == literal(rows, labels, train, doc, 3)
        without = train.clone()
        without[doc] = False
        assert own[doc, 2:].tolist() == literal(rows, labels, without, doc, 3)


def test_frequent_words_are_those_of_the_training_rows() -> None:
    rows, labels = made(3)
    rows = replace(rows, top_words=4, per_class=False)
    train = torch.arange(40) < 25
    scale = fit_word_sets(rows, labels, 3, train[None])[0]
    rank = scale.reshape(25, 4)[:, 3]
    frequency = torch.bincount(rows.word[train[rows.doc]].long(), minlength=25)
    order = sorted(range(25), key=lambda word: (-int(frequency[word]), word))[:4]
    assert [int(rank[word]) for word in order] == [1, 2, 3, 4]
    codes = held_out_codes(rows, scale)
    assert codes.num_values == (4, 4, 3, 3, 3, 3)
    for place, word in enumerate(order):
        held = {int(doc) for doc in rows.doc[rows.word == word]}
        assert {n for n in range(40) if codes.codes[n, 2 + place] == PRESENT} == held


def test_a_view_is_what_its_rows_alone_give() -> None:
    rows, labels = made(5)
    train = torch.stack([torch.arange(40) % 3 != fold for fold in range(3)])
    together = fit_views(rows, labels, 3, train, WordSenseOptions()).col_scale
    assert together is not None
    for fold in range(3):
        alone = fit_views(rows, torch.where(train[fold], labels, -1), 3, train[fold : fold + 1], WordSenseOptions())
        torch.testing.assert_close(alone.col_scale, together[fold : fold + 1])


def test_a_window_that_falls_is_refused() -> None:
    with pytest.raises(ValueError, match="no window"):
        WordSenseOptions(pos_window=(2, -2))
