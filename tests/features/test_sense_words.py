"""Contexts of several ambiguous words: every word is encoded, and its sets learnt, as from a file of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuclf.data.records import Chunk, Contexts
from gpuclf.faults import UserFault
from gpuclf.features.encoders import encoder_from_json, fit
from gpuclf.features.options import WordSenseOptions
from gpuclf.features.rows import concatenate, rows_to, stored_numbers
from gpuclf.features.sense_rows import SenseRows
from gpuclf.features.sense_words import SenseWordsEncoder, fit_sense_words
from gpuclf.features.views import fit_views, row_scale_of
from gpuclf.features.word_rows import WordRows
from gpuclf.features.word_sense import fit_word_sense

OPTIONS = WordSenseOptions(by_word=True, top_words=2)
ALONE = OPTIONS.model_copy(update={"by_word": False})
Record = tuple[str, str, list[str], int]  # word, label, tokens, head


def chunk(records: list[Record], *, named: bool = True) -> Chunk:
    """Contexts whose parts of speech are the first letters of their tokens."""
    tokens = [token for _, _, held, _ in records for token in held]
    ends = np.cumsum([0, *(len(held) for _, _, held, _ in records)])
    heads = np.array([head for *_, head in records], dtype=np.int64)
    words = [word for word, *_ in records] if named else None
    held = Contexts(ends, tokens, [token[0] for token in tokens], heads, words)
    numbers = [str(n) for n in range(len(records))]
    return Chunk(numbers, list(range(1, len(records) + 1)), [label for _, label, *_ in records], contexts=held)


def drawn(seed: int, docs: int = 40, words: int = 3) -> list[Record]:
    draw = np.random.default_rng(seed)
    made: list[Record] = []
    for _ in range(docs):
        length = int(draw.integers(1, 7))
        tokens = [f"{'abc'[int(t) % 3]}{t}" for t in draw.integers(0, 9, length)]
        word = int(draw.integers(0, words))
        label = f"w{word}s{draw.integers(0, 1 + word)}"  # the first word has a single class
        made.append((f"w{word}", label, tokens, int(draw.integers(0, length))))
    return made


def word_rows(encoded: Any) -> WordRows:
    assert isinstance(encoded.rows, WordRows)
    return encoded.rows


def assert_same(first: SenseRows, second: SenseRows) -> None:
    for name, value in vars(first).items():
        other = getattr(second, name)
        assert torch.equal(value, other) if isinstance(value, torch.Tensor) else value == other, name


FILE: list[Record] = [
    ("b", "b2", ["x", "b", "y"], 1),
    ("a", "a1", ["p", "a"], 1),
    ("b", "b1", ["b", "z"], 0),
    ("a", "a1", ["a", "q"], 0),
]


def test_words_and_classes_stand_in_order() -> None:
    encoder, encoded = fit_sense_words([chunk(FILE[:2]), chunk(FILE[2:])], WordSenseOptions(by_word=True))
    rows = word_rows(encoded)
    assert (rows.names, rows.classes, encoder.classes) == (("a", "b"), ((0,), (1, 2)), ("a1", "b1", "b2"))
    assert (rows.word.tolist(), rows.place.tolist()) == ([1, 0, 1, 0], [0, 0, 1, 1])
    assert [rows.docs(part).tolist() for part in (0, 1)] == [[1, 3], [0, 2]]
    labels = torch.tensor([2, 0, 1, -1])
    assert [rows.local_labels(part, labels).tolist() for part in (0, 1)] == [[0, -1], [1, 0]]
    assert rows.local_labels(0, torch.tensor([2, 1, 1, 0])).tolist() == [-1, 0], "b1 is no class of a"
    assert encoder.names[:2] == ["a:pos-2", "a:pos-1"]
    assert encoder.names[-3:] == ["b:x", "b:y", "b:z"]
    assert (rows.num_docs, rows.num_features) == (4, sum(part.num_features for part in rows.parts))
    assert stored_numbers(rows) == 4 * 5 + 5


@given(st.integers(0, 10_000))
@settings(max_examples=6, deadline=None)
def test_every_word_is_what_its_contexts_alone_give(seed: int) -> None:
    records = drawn(seed)
    encoder, encoded = fit([chunk(records[:13]), chunk(records[13:])], OPTIONS)
    assert isinstance(encoder, SenseWordsEncoder)
    rows, labels = word_rows(encoded), torch.tensor([encoder.classes.index(label) for _, label, *_ in records])
    train = torch.rand(4, len(records), generator=torch.Generator().manual_seed(seed)) < 0.6
    train[3] = rows.word != 1  # a view without a training row of that word
    views = fit_views(rows, labels, len(encoder.classes), train, OPTIONS)
    assert views.col_scale is not None
    assert views.col_scale.shape == (4, sum(rows.scale_sizes))
    for part, word in enumerate(rows.names):
        own = [record for record in records if record[0] == word]
        alone, found = fit_word_sense([chunk(own)], ALONE)
        assert isinstance(found.rows, SenseRows)
        assert_same(rows.parts[part], found.rows)
        assert (encoder.encoders[part].tags, encoder.encoders[part].words) == (alone.tags, alone.words)
        docs = rows.docs(part)
        assert encoded.unknown[docs].tolist() == found.unknown.tolist()
        assert encoded.known[docs].tolist() == found.known.tolist()
        senses = sorted({label for _, label, *_ in own})
        assert [encoder.classes[place] for place in rows.classes[part]] == senses
        local = torch.tensor([senses.index(label) for _, label, *_ in own])
        assert torch.equal(rows.local_labels(part, labels), local)
        own_views = fit_views(found.rows, local, len(senses), train[:, docs], ALONE)
        assert own_views.col_scale is not None
        torch.testing.assert_close(rows.scale(part, views.col_scale), own_views.col_scale, rtol=0, atol=0)
        torch.testing.assert_close(rows.scale(part, views.col_scale[2]), own_views.col_scale[2], rtol=0, atol=0)
    if "w1" in rows.names:
        assert not rows.scale(rows.names.index("w1"), views.col_scale)[3].any()
    assert row_scale_of(rows, views.col_scale[0], OPTIONS) is None


def test_contexts_of_new_words_have_no_part() -> None:
    encoder, _ = fit_sense_words([chunk(FILE)], OPTIONS)
    new = [("c", "?", ["x", "c", "y"], 1), ("a", "?", ["p", "a", "new"], 1), ("b", "?", ["u"], 0)]
    encoded = encoder.encode([chunk(new)])  # type: ignore[arg-type]
    rows = word_rows(encoded)
    assert (rows.word.tolist(), rows.place.tolist()) == ([-1, 0, 1], [0, 0, 0])
    assert [part.num_docs for part in rows.parts] == [1, 1]
    assert encoded.unknown.tolist() == [2, 1, 0]
    assert encoded.known.tolist() == [False, True, True]
    assert word_rows(encoder.encode([])).num_docs == 0


@given(st.integers(0, 10_000), st.integers(0, 40))
@settings(max_examples=20, deadline=None)
def test_joined_rows_are_those_of_one_file(seed: int, cut: int) -> None:
    records = drawn(seed)
    encoder, _ = fit_sense_words([chunk(records[5:])], OPTIONS)
    records[3:3] = [("new", "?", ["a", "b"], 0)]
    whole = word_rows(encoder.encode([chunk(records)]))
    first, second = (word_rows(encoder.encode([chunk(part)])) for part in (records[:cut], records[cut:]))
    joined = rows_to(concatenate(first, second), torch.device("cpu"))
    assert isinstance(joined, WordRows)
    assert torch.equal(joined.word, whole.word)
    assert torch.equal(joined.place, whole.place)
    for one, other in zip(joined.parts, whole.parts, strict=True):
        assert_same(one, other)


def test_an_encoder_comes_back_from_its_data() -> None:
    encoder, encoded = fit([chunk(FILE)], OPTIONS)
    again = encoder_from_json(encoder.to_json(), OPTIONS)
    assert again.to_json() == encoder.to_json()
    assert again.names == encoder.names
    rows, found = word_rows(encoded), word_rows(again.encode([chunk(FILE)]))
    assert (rows.names, rows.classes) == (found.names, found.classes)
    for one, other in zip(rows.parts, found.parts, strict=True):
        assert_same(one, other)
    with pytest.raises(UserFault, match="encoder format 0"):
        encoder_from_json(encoder.to_json() | {"format": 0}, OPTIONS)


def test_words_must_be_named() -> None:
    encoder, _ = fit_sense_words([chunk(FILE)], OPTIONS)
    for reading in (lambda chunks: fit_sense_words(chunks, OPTIONS), encoder.encode):
        with pytest.raises(UserFault, match="the word of every context") as caught:
            reading([chunk(FILE), chunk(FILE, named=False)])
        assert caught.value.key == "features.by_word"
        assert "data.word" in str(caught.value.remedy)
    with pytest.raises(UserFault, match="word_sense needs contexts"):
        fit_sense_words([replace(chunk(FILE), contexts=None, texts=["a"] * 4)], OPTIONS)


def test_a_fault_of_one_word_names_it() -> None:
    bare = WordSenseOptions(by_word=True, pos_window=None, collocations="none", top_words=1)
    with pytest.raises(UserFault, match="of the word 'c', no context has any feature"):
        fit_sense_words([chunk([*FILE, ("c", "c1", ["c"], 0)])], bare)
    with pytest.raises(UserFault, match="there is no context"):
        fit_sense_words([], OPTIONS)
