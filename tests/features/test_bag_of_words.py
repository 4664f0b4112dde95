"""Bags of words against scikit-learn's CountVectorizer and against slow counting in plain Python."""

from __future__ import annotations

import gzip
import json
import unicodedata
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from gpuclf.faults import UserFault
from gpuclf.features import encoder as encoder_module
from gpuclf.features.encoder import Encoded, Encoder, fit_encoder
from gpuclf.features.options import BagOfWordsOptions
from gpuclf.features.vocabulary import HashVocabulary, NameCollector
from gpuclf.features.word_features import word_shape
from tests.features.documents import chunk_of, counts, dense, plain_word_counts

TEXTS = [
    "The cat sat on the mat, the CAT.",
    "",
    "A dog -- a big dog -- barked!  Twice.",
    "\t\n ",
    "Ünïcödé straße ΑΣ हिन्दी ที่นี่ 3.14 x",
    "prefix=un suffix=ed word=x shape=X",
    "  mixed \t\t white\n\n\nspace\u00a0here ",
    "I",
    "🙂 emoji 𝒳 astral",
]


def fit(texts: list[str], **options: Any) -> tuple[Encoder, Encoded]:
    return fit_encoder([chunk_of(texts)], BagOfWordsOptions(**options))


def assert_same_as_count_vectorizer(
    texts: list[str], peer: CountVectorizer, encoder: Encoder, encoded: Encoded
) -> None:
    expected = peer.fit_transform(texts)
    expected.sort_indices()
    assert encoder.names == sorted(peer.vocabulary_)
    np.testing.assert_array_equal(encoded.rows.crow.numpy(), expected.indptr)
    np.testing.assert_array_equal(encoded.rows.col.numpy(), expected.indices + 1)
    np.testing.assert_array_equal(encoded.rows.val.numpy(), expected.data)


@pytest.mark.parametrize(
    "options",
    [
        {"token_pattern": r"\b\w+\b"},
        {"token_pattern": r"(?u)\b\w\w+\b"},
        {"token_pattern": r"\S+", "lowercase": False},
        {"token_pattern": r"[a-z]+(?: [a-z]+)?"},
        {"token_pattern": r"#?(\w+)"},
        {"token_pattern": r"\w+", "ngrams": (1, 3)},
        {"token_pattern": r"\w+", "ngrams": (2, 2)},
        {"token_pattern": r"[a-z]+(?: [a-z]+)?", "ngrams": (1, 2)},
        {"token_pattern": r"\w+", "stop_words": ["the", "a"], "ngrams": (1, 2)},
        {"analyzer": "char", "ngrams": (1, 3)},
        {"analyzer": "char", "ngrams": (4, 50)},
        {"analyzer": "char_wb", "ngrams": (1, 4)},
        {"analyzer": "char_wb", "ngrams": (3, 5), "lowercase": False},
        {"analyzer": "char_wb", "ngrams": (6, 9)},
    ],
)
def test_same_as_count_vectorizer(options: dict[str, Any]) -> None:
    encoder, encoded = fit(TEXTS, normalize="none", **options)
    peer = CountVectorizer(
        token_pattern=options.get("token_pattern") if options.get("analyzer") is None else None,
        analyzer=options.get("analyzer", "word"),
        ngram_range=options.get("ngrams", (1, 1)),
        stop_words=options.get("stop_words"),
        lowercase=options.get("lowercase", True),
    )
    assert_same_as_count_vectorizer(TEXTS, peer, encoder, encoded)


def bundled_texts() -> list[str]:
    packed = files("gpuclf").joinpath("data/bundled/banking77/train.tsv.gz")
    if not packed.is_file():
        pytest.skip("the bundled data set is not in this tree")
    lines = gzip.decompress(packed.read_bytes()).decode().splitlines()
    return [line.split("\t", 1)[1] for line in lines]


@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
def test_same_as_count_vectorizer_on_bundled_data(ngrams: tuple[int, int]) -> None:
    texts = bundled_texts()
    encoder, encoded = fit(texts, token_pattern=r"\b\w+\b", normalize="none", ngrams=ngrams)
    peer = CountVectorizer(token_pattern=r"\b\w+\b", ngram_range=ngrams)
    assert_same_as_count_vectorizer(texts, peer, encoder, encoded)


@pytest.mark.slow
def test_same_as_count_vectorizer_on_20_newsgroups(shared_data: Path) -> None:
    with gzip.open(shared_data / "text/20news/train.tsv.gz", "rt", encoding="utf-8", newline="\n") as lines:
        texts = [line.rstrip("\n").split("\t", 1)[1] for line in lines]
    encoder, encoded = fit(texts, token_pattern=r"\b\w+\b", normalize="none")
    assert_same_as_count_vectorizer(texts, CountVectorizer(token_pattern=r"\b\w+\b"), encoder, encoded)
    with gzip.open(shared_data / "text/20news/test.tsv.gz", "rt", encoding="utf-8", newline="\n") as lines:
        unseen = [line.rstrip("\n").split("\t", 1)[1] for line in lines]
    peer = CountVectorizer(token_pattern=r"\b\w+\b", vocabulary=encoder.names)
    expected = peer.transform(unseen)
    expected.sort_indices()
    encoded = encoder.encode([chunk_of(unseen)])
    np.testing.assert_array_equal(encoded.rows.crow.numpy(), expected.indptr)
    np.testing.assert_array_equal(encoded.rows.col.numpy(), expected.indices + 1)
    np.testing.assert_array_equal(encoded.rows.val.numpy(), expected.data)


WORDS = st.text(alphabet="ab é\u0301\u0327ि\u200dİΣ是1_.,-", max_size=25)


@settings(max_examples=60)
@given(st.lists(WORDS, min_size=1, max_size=6), st.booleans(), st.sampled_from(["NFC", "NFKC", "none"]))
def test_default_pattern_against_plain_counting(texts: list[str], lowercase: bool, form: Any) -> None:
    options = BagOfWordsOptions(lowercase=lowercase, normalize=form, ngrams=(1, 2), stop_words=["a"])
    texts = [*texts, "b"]  # so that there is a feature
    encoder, encoded = fit_encoder([chunk_of(texts)], options)
    expected = plain_word_counts(texts, options)
    assert counts(encoder, encoded) == expected
    assert encoder.names == sorted(set().union(*expected))


@settings(max_examples=40)
@given(st.lists(WORDS, min_size=1, max_size=5), st.lists(WORDS, max_size=5), st.booleans())
def test_encoding_new_documents_counts_known_and_unknown(seen: list[str], new: list[str], hashed: bool) -> None:
    options = BagOfWordsOptions(hashing={"bits": 62} if hashed else None)
    encoder, fitted = fit_encoder([chunk_of([*seen, "b"])], options)
    again = Encoder.from_json(json.loads(json.dumps(encoder.to_json())), options)
    encoded = again.encode([chunk_of(new)])
    known = set().union(*plain_word_counts([*seen, "b"], options))
    for doc, row in enumerate(plain_word_counts(new, options)):
        assert encoded.unknown[doc] == sum(n for name, n in row.items() if name not in known)
        assert encoded.known[doc] == any(name in known for name in row)
    assert float(dense(encoded).sum()) == sum(
        n for row in plain_word_counts(new, options) for name, n in row.items() if name in known
    )
    same = again.encode([chunk_of([*seen, "b"])])
    assert torch.equal(dense(same), dense(fitted))
    assert not same.unknown.any()


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@pytest.mark.parametrize("hashing", [None, {"bits": 5}])
def test_result_depends_on_neither_threads_nor_blocks(
    analyzer: Any, hashing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{t} {i % 7} {t[::-1]}" for i, t in enumerate(TEXTS * 9)]
    options = BagOfWordsOptions(analyzer=analyzer, ngrams=(1, 2), hashing=hashing)
    encoder, whole = fit_encoder([chunk_of(texts, labels=["x"] * len(texts))], options)
    threads = torch.get_num_threads()
    merge = NameCollector.add

    def merge_at_once(self: NameCollector, keys: Any) -> None:
        merge(self, keys)
        self._merge()

    for count, size in ((1, 1), (3, 40), (2, 10**9)):
        monkeypatch.setattr(encoder_module, "BLOCK_CHARS", size)
        monkeypatch.setattr(NameCollector, "add", merge_at_once if size == 40 else merge)
        torch.set_num_threads(count)
        try:
            parts = [chunk_of(texts[i : i + 4], labels=["x"] * len(texts[i : i + 4])) for i in range(0, len(texts), 4)]
            other, pieces = fit_encoder(parts, options)
            new = encoder.encode(parts)
        finally:
            torch.set_num_threads(threads)
        assert other.to_json() == encoder.to_json()
        for rows in (pieces.rows, new.rows):
            assert torch.equal(rows.crow, whole.rows.crow)
            assert torch.equal(rows.col, whole.rows.col)
            assert torch.equal(rows.val, whole.rows.val)
        assert pieces.labels == ["x"] * len(texts)


def test_columns_rise_and_types_are_the_contracts() -> None:
    encoder, encoded = fit(TEXTS, ngrams=(1, 2))
    rows = encoded.rows
    assert (rows.crow.dtype, rows.col.dtype, rows.val.dtype) == (torch.int64, torch.int32, torch.float32)
    assert rows.num_features == len(encoder.names)
    assert encoder.names == sorted(set(encoder.names))
    for start, stop in zip(rows.crow[:-1].tolist(), rows.crow[1:].tolist(), strict=True):
        assert (rows.col[start:stop].diff() > 0).all()
    assert int(rows.col.min()) == 1
    assert int(rows.col.max()) == rows.num_features
    assert encoded.known.tolist() == [bool(text.strip()) for text in TEXTS]


def test_weightings() -> None:
    texts = ["a a a b", "b c"]
    for options, expected in (
        ({"weighting": "binary"}, [[1, 1, 0], [0, 1, 1]]),
        ({"weighting": "tf"}, [[0.75, 0.25, 0], [0, 0.5, 0.5]]),
        ({"sublinear": True}, [[1 + np.log(3), 1, 0], [0, 1, 1]]),
        ({"weighting": "tfidf", "sublinear": True}, [[1 + np.log(3), 1, 0], [0, 1, 1]]),
        ({"weighting": "tfidf"}, [[3, 1, 0], [0, 1, 1]]),
    ):
        torch.testing.assert_close(dense(fit(texts, **options)[1]), torch.tensor(expected, dtype=torch.float32))


def test_tf_counts_unknown_words_in_the_length() -> None:
    encoder, _ = fit(["a b"], weighting="tf")
    torch.testing.assert_close(dense(encoder.encode([chunk_of(["a zz zz b b"])])), torch.tensor([[0.2, 0.4]]))


def test_prefixes_suffixes_and_shapes() -> None:
    encoder, encoded = fit(["Undo it"], prefixes=(1, 2), suffixes=(3, 4), shapes=True)
    features = ["undo", "it", "prefix=u", "prefix=un", "prefix=i", "prefix=it", "suffix=ndo", "suffix=undo"]
    assert counts(encoder, encoded) == [dict.fromkeys([*features, "shape=Xxxx", "shape=xx"], 1.0)]


def test_extra_features_never_collide_with_words() -> None:
    encoder, encoded = fit(["prefix=u word=word=x u"], token_pattern=r"\S+", prefixes=(1, 1))
    expected = {"word=prefix=u": 1, "word=word=word=x": 1, "u": 1, "prefix=p": 1, "prefix=w": 1, "prefix=u": 1}
    assert counts(encoder, encoded) == [expected]


def test_bigrams_alone_with_suffixes() -> None:
    encoder, encoded = fit(["ab cb"], ngrams=(2, 2), suffixes=(1, 1))
    assert counts(encoder, encoded) == [{"ab cb": 1, "suffix=b": 2}]


def test_shapes_see_the_text_before_lower_casing() -> None:
    encoder, encoded = fit(["The THE the"], shapes=True)
    assert counts(encoder, encoded) == [{"the": 3, "shape=Xxx": 1, "shape=XXX": 1, "shape=xxx": 1}]


@pytest.mark.parametrize(
    ("word", "shape"),
    [
        ("Unseen", "Xxxxx"),
        ("USA", "XXX"),
        ("42", "dd"),
        ("123456", "dddd"),
        ("Mc-3x_", "Xx-dx_"),
        ("हिन्दी", "xxx"),
        ("ǅ", "X"),
    ],
)
def test_word_shape(word: str, shape: str) -> None:
    assert word_shape(word) == shape


def test_nfc_and_nfd_are_one_word() -> None:
    """Case o06."""
    trained = [unicodedata.normalize("NFC", t) for t in ("crème brûlée", "phở bò", "phở gà")]
    encoder, fitted = fit(trained)
    nfd = encoder.encode([chunk_of([unicodedata.normalize("NFD", t) for t in trained])])
    assert nfd.unknown.tolist() == [0, 0, 0]
    assert torch.equal(dense(nfd), dense(fitted))
    assert not any(unicodedata.category(name[0]).startswith("M") for name in encoder.names)


def test_one_letter_words_are_kept() -> None:
    """Case o07."""
    assert fit(["I code in C", "grade a 7", "好 的"])[0].names == [
        "7",
        "a",
        "c",
        "code",
        "grade",
        "i",
        "in",
        "好",
        "的",
    ]
    assert fit(["8 9", "5 6"])[0].names == ["5", "6", "8", "9"]


def test_documents_without_a_known_word_are_rows_and_say_so() -> None:
    """Case o08."""
    encoder, _ = fit(["good morning", "cheap pills"])
    encoded = encoder.encode([chunk_of(["", "zzz yyy zzz", "cheap zzz"])])
    assert encoded.rows.crow.tolist() == [0, 0, 0, 1]
    assert encoded.known.tolist() == [False, False, True]
    assert encoded.unknown.tolist() == [0, 3, 1]
    assert encoded.labels is None


def test_hashing_to_two_to_the_thirty_buckets_costs_what_its_entries_cost() -> None:
    """Case o22."""
    texts = ["a b", "c", "a d", "e", "b"]
    encoder, encoded = fit(texts, hashing={"bits": 30})
    assert isinstance(encoder.vocabulary, HashVocabulary)
    assert encoded.rows.num_features == 5
    assert encoder.collision_rate == 0.0
    assert (encoder.vocabulary.buckets.diff() > 0).all()
    assert int(encoder.vocabulary.buckets.max()) < 2**30
    assert {name.split(" ")[1] for name in encoder.names} == set("abcde")


def test_hashing_sums_colliding_words_and_reports_them() -> None:
    words = [f"w{i}" for i in range(8)]
    encoder, encoded = fit([" ".join(words)] * 2, hashing={"bits": 2})
    assert isinstance(encoder.vocabulary, HashVocabulary)
    assert encoder.collision_rate is not None
    per_bucket = dense(encoded)[0].tolist()
    assert sum(per_bucket) == 8
    assert encoder.collision_rate == sum(n for n in per_bucket if n > 1) / 8
    assert len(set(encoder.names)) == len(encoder.names) <= 4
    unknown = encoder.encode([chunk_of([" ".join(f"new{i}" for i in range(100))])])
    used = len(encoder.names)
    assert unknown.unknown[0] == 0 if used == 4 else unknown.unknown[0] > 0


def test_nothing_to_learn_from_is_a_fault() -> None:
    with pytest.raises(UserFault, match="no document has any feature"):
        fit(["...", ""])
    with pytest.raises(UserFault, match="no document to learn"):
        fit_encoder([], BagOfWordsOptions())


def test_lone_surrogates_do_not_stop_the_run() -> None:
    encoder, encoded = fit(["a\ud800b \udfff"], token_pattern=r"\S+")
    assert encoder.names == ["a\ud800b", "\udfff"]
    assert json.loads(json.dumps(encoder.to_json()))["vocabulary"]["names"] == encoder.names
    assert encoded.rows.val.tolist() == [1, 1]
