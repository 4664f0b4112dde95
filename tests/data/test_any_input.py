"""Whatever the bytes: a reader gives consistent chunks or one fault for the user, never anything else."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuclf.data.open import open_text_stream
from gpuclf.data.options import SENTENCE_FORMATS, DataOptions
from gpuclf.faults import UserFault

PIECES = [
    b"\n", b"\r\n", b"\r", b"\t", b",", b'"', b" ", b"|", b":", b"'", b"#", b"^", b"{", b"}", b"[", b"]", b"\\ud800",
    b"__label__", b"label", b"text", b"a", b"1", b"0", b"-1", b"1:2", b"3:1e39", b"qid:2", b"nan", b"\xff", b"\0", b"",
    b'{"label": "a", "text": "b"}', "\u2028".encode(), "\ufeff".encode(), "é".encode(), b"\x1f\x8b",
    b"\x28\xb5\x2f\xfd", b"-DOCSTART-", b"# sent_id = 1", "\u00a0".encode(), b"8.1",
]  # fmt: skip
# Lines of words, which random bytes seldom make.
NODE = "%s\t%s\t_\t%s\t_\t_\t0\troot\t_\t_\n"
FIRST, SECOND = (NODE % ("1", "a", "Y")).encode(), (NODE % ("2", "b c", "X")).encode()
LINES = [
    b"\n", b" \r\n", b"a\tY\n", b"a\tY\n\n", b"b Y \n", b"c\n", b"-DOCSTART- X\n", b"\n# sent_id = one\n", b"#\n",
    FIRST + b"\n", FIRST + SECOND + b"\n", b"\n" + FIRST, SECOND, (NODE % ("1-2", "ab", "_")).encode(),
    (NODE % ("2.1", "d", "_")).encode(), "\u00a0 e\u2028\n".encode(),
]  # fmt: skip
SENTENCES = [FIRST + b"\n", FIRST + SECOND + b"\n", b"# sent_id = 1\n" + FIRST + b"\n", SECOND + b"\n", b"\n"]
BYTES = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join),
    st.binary(max_size=60),
    st.lists(st.sampled_from(LINES), max_size=8).map(b"".join),
    st.lists(st.sampled_from(SENTENCES), max_size=6).map(b"".join),
)
SETTINGS = st.fixed_dictionaries(
    {
        "on_bad": st.sampled_from(["refuse", "skip"]),
        "several_labels": st.sampled_from(["refuse", "repeat"]),
        "quoting": st.booleans(),
        "escaped": st.booleans(),
        "named_labels": st.booleans(),
    },
    optional={
        "header": st.just(False),
        "columns": st.just(["label", "text"]),
        "numeric": st.just(["text"]),
        "categorical": st.just(["a"]),
        "label": st.sampled_from([0, "label", "a"]),
        "id": st.sampled_from(["label", 1]),
        "group": st.just("text"),
        "tokens": st.sampled_from(["label", "form", "lemma", 0, 1]),
        "gold": st.sampled_from(["text", "upos", "xpos", 1, 3]),
        "tokenize": st.just("words"),
        "missing": st.just(["", "X"]),
        "encoding": st.sampled_from(["utf-16", "utf-16-le", "utf-32", "cp1252", "ascii", "utf-7"]),
    },
)


@pytest.mark.parametrize("format", ["tsv", "csv", "jsonl", "fasttext", "svmlight", "vw", "lines", *SENTENCE_FORMATS])
@given(content=BYTES, settings=SETTINGS, labelled=st.booleans(), chunk_docs=st.integers(1, 4))
def test_consistent_chunks_or_a_user_fault(format, content, settings, labelled, chunk_docs):
    if format in SENTENCE_FORMATS:  # they refuse these at once, whatever the bytes
        settings = {key: value for key, value in settings.items() if key not in ("numeric", "categorical")}
    try:
        options = DataOptions(train="x", **settings)
    except ValueError:
        return
    docs = tokens = 0
    try:
        labelled = labelled and format != "lines"
        reader = open_text_stream(io.BytesIO(content), options, format=format, labelled=labelled, chunk_docs=chunk_docs)
        for chunk in reader.chunks():
            docs += len(chunk)
            _consistent(chunk, labelled and format not in SENTENCE_FORMATS)
            if chunk.sentences is not None:
                tokens += len(chunk.sentences.tokens)
                asked = labelled and options.gold is not None and format != "sentences"
                assert (chunk.sentences.gold is not None) == asked
    except UserFault:
        return
    report = reader.report
    assert report.bytes == len(content)
    assert report.skipped == 0 or settings["on_bad"] == "skip"
    assert docs == report.records or (settings["several_labels"] == "repeat" and docs > report.records)
    assert tokens == report.tokens
    assert not labelled or format in SENTENCE_FORMATS or docs == sum(report.per_class.values())


def _consistent(chunk, labelled: bool) -> None:
    assert len(chunk) > 0
    assert len(chunk.lines) == len(chunk)
    assert chunk.lines == sorted(chunk.lines)
    assert (chunk.labels is not None) == labelled
    assert chunk.labels is None or (len(chunk.labels) == len(chunk) and all(label.strip() for label in chunk.labels))
    assert chunk.groups is None or len(chunk.groups) == len(chunk)
    assert sum(part is not None for part in (chunk.texts, chunk.indexed, chunk.named, chunk.sentences)) == 1
    assert chunk.texts is None or len(chunk.texts) == len(chunk)
    if chunk.sentences is not None:
        _consistent_sentences(chunk.sentences, len(chunk))
    for text in (*(chunk.texts or ()), *(chunk.labels or ()), *chunk.ids):
        text.encode()  # no halves of surrogate pairs
    features = chunk.indexed if chunk.indexed is not None else chunk.named
    if features is None:
        return
    assert len(features.indptr) == len(chunk) + 1
    assert features.indptr[-1] == len(features.values)
    assert np.isfinite(features.values).all()
    assert (features.values != 0).all()
    if chunk.indexed is not None:
        for a, b in zip(features.indptr[:-1], features.indptr[1:], strict=True):
            assert (np.diff(features.indices[a:b]) > 0).all()
            assert (features.indices[a:b] >= 0).all()


def _consistent_sentences(sentences, docs: int) -> None:
    assert len(sentences.offsets) == docs + 1
    assert (np.diff(sentences.offsets) >= 0).all()
    assert (sentences.offsets[0], sentences.offsets[-1]) == (0, len(sentences.tokens))
    assert all(token.strip() for token in sentences.tokens)
    assert sentences.gold is None or len(sentences.gold) == len(sentences.tokens)
    assert sentences.gold is None or all(tag.strip() for tag in sentences.gold)
    for text in (*sentences.tokens, *(sentences.gold or ())):
        text.encode()
