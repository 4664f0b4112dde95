"""Word types: numbered by code point whatever the order of reading; new text, rare words, gold tags kept apart."""

from __future__ import annotations

import json
import random
import unicodedata
from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gpuclf.data.records import Chunk, Sentences
from gpuclf.faults import UserFault
from gpuclf.features.encoder import fit_encoder
from gpuclf.features.options import BagOfWordsOptions, WordTypesOptions
from gpuclf.features.word_types import RARE, EncodedSentences, WordTypes, fit_word_types
from tests.features.documents import chunk_of

PLAIN = WordTypesOptions()


def sentences(lines: list[str], gold: list[str] | None = None) -> Chunk:
    """A chunk of sentences whose tokens are parted by blanks, and so are the gold tags."""
    tokens = [line.split(" ") if line else [] for line in lines]
    offsets = np.cumsum([0, *map(len, tokens)], dtype=np.int64)
    tags = None if gold is None else [tag for line in gold for tag in line.split(" ")]
    names = [str(place) for place in range(len(lines))]
    flat = [token for line in tokens for token in line]
    return Chunk(names, list(range(1, len(lines) + 1)), None, sentences=Sentences(offsets, flat, tags))


def spelt(types: WordTypes, encoded: EncodedSentences) -> list[list[str]]:
    """Each sentence as the names of its types."""
    names = types.names + encoded.new_types
    return [[names[t] for t in encoded.corpus.ids[a:b]] for a, b in pairwise(encoded.corpus.offsets.tolist())]


def code(types: WordTypes, name: str, template: str) -> str | None:
    """The value of a template for a known type, looked up in the codes."""
    column = list(types.values).index(template)
    return types.values[template][int(types.type_codes[types.names.index(name), column])]


def test_types_are_numbered_by_code_point():
    types, encoded = fit_word_types([sentences(["b a", "Z b é \U0001f600 ﬀ"])], PLAIN)
    assert types.names == ["Z", "a", "b", "é", "ﬀ", "\U0001f600"]
    assert encoded.corpus.ids.tolist() == [2, 1, 0, 2, 3, 5, 4]
    assert encoded.corpus.offsets.tolist() == [0, 2, 7]
    assert (encoded.corpus.ids.dtype, encoded.corpus.offsets.dtype) == (torch.int32, torch.int64)
    assert encoded.corpus.type_codes.dtype == torch.int32
    assert encoded.corpus.type_codes.shape == (6, len(encoded.corpus.num_values))
    assert encoded.ids == ["0", "1"]
    assert encoded.lines == [1, 2]


WORDS = st.text(st.sampled_from("abAB1-é\u0301ß"), min_size=1, max_size=3)
LINES = st.lists(st.lists(WORDS, max_size=5).map(" ".join), min_size=1, max_size=8).filter(any)


@given(LINES, st.randoms(use_true_random=False), st.integers(1, 3), st.booleans(), st.integers(1, 3))
def test_the_order_of_reading_changes_nothing(lines, shuffler: random.Random, chunk_size, lowercase, min_count):
    options = WordTypesOptions(lowercase=lowercase, min_count=min_count)
    types, encoded = fit_word_types([sentences(lines)], options)
    order = shuffler.sample(range(len(lines)), len(lines))
    shuffled = [lines[place] for place in order]
    chunks = [sentences(shuffled[at : at + chunk_size]) for at in range(0, len(lines), chunk_size)]
    again, other = fit_word_types(chunks, options)
    assert (again.names, again.values) == (types.names, types.values)
    assert torch.equal(other.corpus.type_codes, encoded.corpus.type_codes)
    whole = spelt(types, encoded)
    assert spelt(again, other) == [whole[place] for place in order]
    assert torch.equal(types.encode([sentences(lines)]).corpus.ids, encoded.corpus.ids)


@given(LINES)
def test_types_are_the_normal_forms_of_the_tokens(lines):
    types, encoded = fit_word_types([sentences(lines)], PLAIN)
    plain = [[unicodedata.normalize("NFC", word) for word in line.split(" ") if word] for line in lines]
    assert spelt(types, encoded) == plain
    assert types.names == sorted({word for line in plain for word in line})
    columns = zip(encoded.corpus.type_codes.T.tolist(), encoded.corpus.num_values, strict=True)
    assert all(set(codes) == set(range(size)) for codes, size in columns), "every value is seen, and none besides"


def test_the_same_word_in_two_normal_forms_is_one_type():
    nfc, nfd = (unicodedata.normalize(form, "café Được") for form in ("NFC", "NFD"))
    types, encoded = fit_word_types([sentences([nfc, nfd])], PLAIN)
    assert types.names == nfc.split(" ")
    assert encoded.corpus.ids.tolist() == [0, 1, 0, 1]
    assert torch.equal(types.encode([sentences([nfd])]).corpus.ids, types.encode([sentences([nfc])]).corpus.ids)
    apart, _ = fit_word_types([sentences([nfc, nfd])], WordTypesOptions(normalize="none"))
    assert len(apart) == 4


def test_lower_case_on_request():
    types, encoded = fit_word_types([sentences(["The the İ i\u0307"])], WordTypesOptions(lowercase=True))
    assert types.names == ["i\u0307", "the"]
    assert encoded.corpus.ids.tolist() == [1, 1, 0, 0]


def test_unseen_words_are_new_types_with_the_values_that_are_known():
    options = WordTypesOptions(suffixes=0, last3=True, hyphen=True)
    types, _ = fit_word_types([sentences(["walking Talked 7 now"])], options)
    encoded = types.encode([sentences(["zoo walking", "Balking 7 zoo x-y"])])
    assert encoded.new_types == ["Balking", "x-y", "zoo"]
    assert encoded.num_known == len(types) == 4
    assert encoded.corpus.ids.tolist() == [6, 3, 4, 0, 6, 5]
    assert encoded.num_unknown_tokens == 4
    assert encoded.corpus.num_types == 7
    assert torch.equal(encoded.corpus.type_codes[:4], types.type_codes)
    found = dict(zip(types.values, encoded.corpus.type_codes[4].tolist(), strict=True))
    for name, value in {"last3": "ing", "capital": "yes", "digit": "no"}.items():
        assert types.values[name][found[name]] == value
    unlike = dict(zip(types.values, encoded.corpus.type_codes[5].tolist(), strict=True))
    assert unlike["last3"] == unlike["punctuation"] == -1, "no word of the training text had one"
    assert unlike["capital"] == types.values["capital"].index("no")


def test_new_types_do_not_depend_on_the_chunks():
    types, _ = fit_word_types([sentences(["a b"])], PLAIN)
    whole = types.encode([sentences(["z a", "y z", "b x"])])
    parts = types.encode([sentences(["z a"]), sentences(["y z", "b x"])])
    assert whole.new_types == parts.new_types == ["x", "y", "z"]
    assert torch.equal(whole.corpus.ids, parts.corpus.ids)
    assert torch.equal(whole.corpus.offsets, parts.corpus.offsets)


def test_rare_words_are_folded_on_request_only():
    chunk = sentences(["a b a c", "b a D"])
    kept, _ = fit_word_types([chunk], PLAIN)
    assert kept.names == ["D", "a", "b", "c"]
    types, encoded = fit_word_types([chunk], WordTypesOptions(min_count=2))
    assert types.names == [RARE, "a", "b"]
    assert encoded.corpus.ids.tolist() == [1, 2, 1, 0, 2, 1, 0]
    assert code(types, RARE, "capital") == "no"
    unseen = types.encode([sentences(["a never D"])])
    assert unseen.corpus.ids.tolist() == [1, 0, 0], "unseen words are rare words"
    assert unseen.new_types == []
    unfolded, _ = fit_word_types([sentences(["a a"])], WordTypesOptions(min_count=2))
    assert unfolded.names == ["a"]
    assert unfolded.encode([sentences(["b"])]).new_types == ["b"], "no rare class was learnt"


def test_counts_of_spellings_that_become_alike_are_added():
    types, _ = fit_word_types([sentences(["The the e\u0301 é"])], WordTypesOptions(lowercase=True, min_count=2))
    assert types.names == ["the", "é"]


def test_gold_tags_are_kept_apart_in_class_order():
    chunks = [sentences(["a b"], ["10 9"]), sentences(["a"], ["2"])]
    types, encoded = fit_word_types(chunks, PLAIN)
    assert encoded.gold_classes == ("2", "9", "10"), "by value, as all are integers"
    assert encoded.gold.tolist() == [2, 1, 0]
    without, plain = fit_word_types([sentences(["a b"]), sentences(["a"])], PLAIN)
    assert (without.names, without.values) == (types.names, types.values)
    assert (plain.gold, plain.gold_classes) == (None, ())
    assert torch.equal(plain.corpus.ids, encoded.corpus.ids)


@pytest.mark.parametrize("first", [True, False])
def test_gold_tags_of_some_sentences_are_none(first):
    chunks = [sentences(["a b"], ["X Y"]), sentences(["a"])]
    _, encoded = fit_word_types(chunks if first else chunks[::-1], PLAIN)
    assert encoded.gold is None
    assert encoded.gold_classes == ()


def test_empty_sentences_are_kept():
    types, encoded = fit_word_types([sentences(["", "a", ""])], PLAIN)
    assert encoded.corpus.offsets.tolist() == [0, 0, 1, 1]
    nothing = types.encode([])
    assert (nothing.corpus.num_tokens, nothing.corpus.num_sentences, nothing.gold) == (0, 0, None)
    assert nothing.corpus.ids.dtype == torch.int32
    with pytest.raises(UserFault, match="no word"):
        fit_word_types([sentences(["", ""])], PLAIN)


def test_tokens_as_they_stand_are_kept_where_asked_for():
    types, _ = fit_word_types([sentences(["a"])], WordTypesOptions(lowercase=True))
    chunks = [sentences(["A e\u0301"]), sentences(["É"])]
    assert types.encode(chunks).tokens is None
    encoded = types.encode(chunks, keep_tokens=True)
    assert encoded.tokens == ["A", "e\u0301", "É"]
    assert spelt(types, encoded) == [["a", "é"], ["é"]]


def test_texts_are_cut_into_words_and_signs():
    texts = ["Don't stop\u00a0— e\u0301t A\u0301. \u0301", "हिन्दी? 3.5%!"]
    types, encoded = fit_word_types([chunk_of(texts)], PLAIN)
    assert spelt(types, encoded) == [
        ["Don", "'", "t", "stop", "—", "ét", "Á", "."],
        ["हिन्दी", "?", "3", ".", "5", "%", "!"],
    ]
    assert not any(unicodedata.combining(name[0]) for name in types.names)
    own, encoded = fit_word_types([chunk_of(texts)], WordTypesOptions(token_pattern=r"\S+"))
    assert spelt(own, encoded)[1] == ["हिन्दी?", "3.5%!"]


@pytest.mark.parametrize("options", [PLAIN, WordTypesOptions(min_count=2, lowercase=True, suffixes=4, last3=False)])
def test_the_same_after_a_trip_through_json(options):
    types, encoded = fit_word_types([sentences(["The cat , the dog", "Él 3-4 a\u2028b"])], options)
    about = json.loads(json.dumps(types.to_json()))
    assert about["unicode"] == unicodedata.unidata_version
    again = WordTypes.from_json(about, options)
    assert torch.equal(again.type_codes, encoded.corpus.type_codes)
    for left, right in ((types, again), (again, types)):
        one, two = (side.encode([sentences(["the new 3-4 Él"])]) for side in (left, right))
        assert torch.equal(one.corpus.ids, two.corpus.ids)
        assert torch.equal(one.corpus.type_codes, two.corpus.type_codes)
        assert one.corpus.num_values == two.corpus.num_values
    with pytest.raises(UserFault, match="format 9"):
        WordTypes.from_json(about | {"format": 9}, options)


def test_a_corpus_moves_to_a_device(device):
    _, encoded = fit_word_types([sentences(["a b"])], PLAIN)
    moved = encoded.corpus.to(device)
    assert {moved.ids.device.type, moved.offsets.device.type, moved.type_codes.device.type} == {device.type}
    assert moved.num_values == encoded.corpus.num_values


def test_what_features_and_data_do_not_share_is_said():
    with pytest.raises(UserFault, match="sentences") as fault:
        fit_encoder([sentences(["a b"])], BagOfWordsOptions())
    assert "word_types" in str(fault.value)
    with pytest.raises(UserFault, match="word_types cannot use"):
        fit_word_types([Chunk(["1"], [1], None, columns={"a": ["b"]})], PLAIN)
