"""Small helpers to hand texts and tables to the encoder, and an independent count of features."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from gpuclf.data.records import Chunk
from gpuclf.features.encoder import Encoded, Encoder
from gpuclf.features.options import BagOfWordsOptions
from gpuclf.features.token_pattern import compile_pattern


def chunk_of(texts: Sequence[str], labels: list[str] | None = None) -> Chunk:
    ids = [str(i + 1) for i in range(len(texts))]
    return Chunk(ids=ids, lines=list(range(1, len(texts) + 1)), labels=labels, texts=list(texts))


def table_of(columns: dict[str, list[str]]) -> Chunk:
    size = len(next(iter(columns.values())))
    return Chunk([str(i) for i in range(size)], list(range(2, size + 2)), None, columns=columns)


def dense(encoded: Encoded) -> Tensor:
    """(docs, V) float32, the offset's column left out."""
    rows = encoded.rows
    matrix = torch.zeros(rows.num_docs, rows.num_features + 1)
    doc = torch.repeat_interleave(torch.arange(rows.num_docs), rows.crow.diff())
    matrix[doc, rows.col.long()] = rows.val
    return matrix[:, 1:]


def counts(encoder: Encoder, encoded: Encoded) -> list[dict[str, float]]:
    """Each document as name → value."""
    rows = encoded.rows
    result = []
    for doc in range(rows.num_docs):
        part = slice(int(rows.crow[doc]), int(rows.crow[doc + 1]))
        names = [encoder.names[column - 1] for column in rows.col[part].tolist()]
        result.append(dict(zip(names, rows.val[part].tolist(), strict=True)))
    return result


def plain_word_counts(texts: Sequence[str], options: BagOfWordsOptions) -> list[Counter[str]]:
    """Word n-grams counted the slow way: `re` over each normalised text; shares nothing with the kernels."""
    pattern = compile_pattern(options.token_pattern)
    stop = {plain_normal(word, options) for word in options.stop_words}
    result = []
    for text in texts:
        tokens = [m.group(m.re.groups) for m in pattern.finditer(plain_normal(text, options))]
        tokens = [token for token in tokens if token and token not in stop]
        result.append(
            Counter(
                " ".join(tokens[i : i + n])
                for n in range(options.ngrams[0], options.ngrams[1] + 1)
                for i in range(len(tokens) - n + 1)
            )
        )
    return result


def plain_normal(text: str, options: BagOfWordsOptions) -> str:
    if options.normalize != "none":
        text = unicodedata.normalize(options.normalize, text)
    if options.lowercase:
        text = text.lower()
    return text if options.normalize == "none" else unicodedata.normalize(options.normalize, text)
