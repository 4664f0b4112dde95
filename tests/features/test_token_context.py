"""Tokens of sentences as sparse rows: spelling, neighbours, ends of sentences, what is new, JSON."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gpuclf.data.records import Chunk, Sentences
from gpuclf.faults import UserFault
from gpuclf.features.encoded import Encoded
from gpuclf.features.options import TokenContextOptions
from gpuclf.features.rows import SequenceRows
from gpuclf.features.token_context import TokenContext, fit_token_context


def chunk(*sentences: str, gold: bool = True) -> Chunk:
    """Sentences of blank-separated words; each word's tag is its length."""
    words = [sentence.split() for sentence in sentences]
    offsets = np.cumsum([0, *map(len, words)], dtype=np.int64)
    tokens = [word for sentence in words for word in sentence]
    tags = [str(len(word)) for word in tokens] if gold else None
    ids = [f"s{number}" for number in range(len(words))]
    return Chunk(ids, list(range(1, len(words) + 1)), None, sentences=Sentences(offsets, tokens, tags))


def named(encoder: TokenContext, encoded: Encoded) -> list[set[str]]:
    """The features of each token, by name."""
    rows = encoded.rows
    assert isinstance(rows, SequenceRows)
    crow, col = rows.crow.tolist(), rows.col.tolist()
    assert all(
        a < b
        for i in range(rows.num_docs)
        for a, b in zip(col[crow[i] :], col[crow[i] + 1 : crow[i + 1]], strict=False)
    )
    return [{encoder.names[c - 1] for c in col[crow[i] : crow[i + 1]]} for i in range(rows.num_docs)]


def test_a_token_in_its_sentence() -> None:
    encoder, encoded = fit_token_context(
        [chunk("The Dog", "barks")], TokenContextOptions(window=1, prefixes=1, suffixes=2)
    )
    first, second, third = named(encoder, encoded)
    assert first == {
        "word[-1]=<before>", "word[0]=The", "word[+1]=Dog", "lower[-1]=<before>", "lower[0]=the", "lower[+1]=dog",
        "shape[-1]=<before>", "shape[0]=Xxx", "shape[+1]=Xxx", "prefix1[0]=T", "suffix1[0]=e", "suffix2[0]=he",
        "pair[0,+1]=the dog",
    }  # fmt: skip
    assert {"word[-1]=The", "word[+1]=<after>", "pair[-1,0]=the dog"} <= second
    assert {"word[-1]=<before>", "word[+1]=<after>"} <= third  # the sentence before is another
    assert not any(name.startswith("pair") for name in third)
    assert encoded.ids == ["s0:1", "s0:2", "s1:1"]
    assert encoded.groups == ["s0", "s0", "s1"]
    assert encoded.labels == ["3", "3", "5"]
    assert encoded.lines == [1, 1, 2]


def test_columns_do_not_hang_on_the_order_of_sentences() -> None:
    options = TokenContextOptions()
    one, rows = fit_token_context([chunk("a b c", "b a")], options)
    other, mixed = fit_token_context([chunk("b a"), chunk("a b c")], options)
    assert one.names == other.names
    assert named(one, rows)[:3] == named(other, mixed)[2:]


def test_new_words_leave_what_is_known_of_them() -> None:
    encoder, _ = fit_token_context([chunk("walked home")], TokenContextOptions(window=1, prefixes=0, suffixes=2))
    found = named(encoder, encoder.encode([chunk("talked home", gold=False)]))
    assert found[0] == {
        "word[-1]=<before>", "word[+1]=home", "lower[-1]=<before>", "lower[+1]=home",
        "shape[-1]=<before>", "shape[0]=xxxx", "shape[+1]=xxxx", "suffix1[0]=d", "suffix2[0]=ed",
    }  # fmt: skip
    assert "pair[-1,0]=walked home" not in found[1]
    assert encoder.knows(["talked", "home"]) == [False, True]


def test_alike_spellings_are_one_word() -> None:
    """NFC and NFD of é (case o06)."""
    encoder, _ = fit_token_context([chunk("caf\u00e9")], TokenContextOptions())
    assert encoder.knows(["cafe\u0301"]) == [True]


def test_comes_back_from_json() -> None:
    options = TokenContextOptions(shapes=0)
    encoder, encoded = fit_token_context([chunk("The dog barks .", "It barks !")], options)
    again = TokenContext.from_json(json.loads(json.dumps(encoder.to_json())), options)
    assert again.names == encoder.names
    new = chunk("The cat barks !")
    assert named(again, again.encode([new])) == named(encoder, encoder.encode([new]))
    assert encoder.num_features == len(encoder.names) == encoded.rows.num_features


def test_nothing_and_empty_sentences() -> None:
    encoder, _ = fit_token_context([chunk("a b")], TokenContextOptions())
    assert encoder.encode([]).rows.num_docs == 0
    rows = encoder.encode([chunk("a", "", "b")]).rows
    assert isinstance(rows, SequenceRows)
    assert rows.starts.tolist() == [0, 1, 1, 2]


def test_texts_and_silence_are_refused() -> None:
    with pytest.raises(UserFault, match="needs sentences"):
        fit_token_context([Chunk(["1"], [1], ["a"], texts=["some text"])], TokenContextOptions())
    with pytest.raises(UserFault, match="no word"):
        fit_token_context([chunk("")], TokenContextOptions())


def with_tags(*sentences: str) -> Chunk:
    """Sentences of word/TAG."""
    pairs = [[token.split("/") for token in sentence.split()] for sentence in sentences]
    offsets = np.cumsum([0, *map(len, pairs)], dtype=np.int64)
    words, tags = ([pair[side] for sentence in pairs for pair in sentence] for side in (0, 1))
    found = Sentences(offsets, words, tags, {"pos": tags})
    return Chunk([str(number) for number in range(len(pairs))], [1] * len(pairs), None, sentences=found)


def test_further_columns_in_their_window_and_in_pairs() -> None:
    options = TokenContextOptions(window=0, shapes=0, prefixes=0, suffixes=0, pairs=False, input_window=1)
    encoder, encoded = fit_token_context([with_tags("the/DT dog/NN barks/VB", "dog/NN the/DT")], options)
    found = [{name for name in token if name.startswith("pos")} for token in named(encoder, encoded)]
    assert found[0] == {"pos[-1]=<before>", "pos[0]=DT", "pos[+1]=NN", "pos[0,+1]=DT NN"}
    assert found[1] == {"pos[-1]=DT", "pos[0]=NN", "pos[+1]=VB", "pos[-1,0]=DT NN", "pos[0,+1]=NN VB"}
    assert found[3] == {"pos[-1]=<before>", "pos[0]=NN", "pos[+1]=DT", "pos[0,+1]=NN DT"}
    again = TokenContext.from_json(json.loads(json.dumps(encoder.to_json())), options)
    assert again.names == encoder.names
    assert len(again.names) == again.num_features
    fresh = named(again, again.encode([with_tags("cat/NN the/XX")]))
    assert {name for name in fresh[0] if name.startswith("pos")} == {"pos[-1]=<before>", "pos[0]=NN"}
    assert {name for name in fresh[1] if name.startswith("pos")} == {"pos[-1]=NN", "pos[+1]=<after>"}


def test_text_without_a_column_that_the_model_reads_is_refused() -> None:
    encoder, _ = fit_token_context([with_tags("the/DT dog/NN")], TokenContextOptions())
    with pytest.raises(UserFault, match="'pos'"):
        encoder.encode([chunk("the dog", gold=False)])
