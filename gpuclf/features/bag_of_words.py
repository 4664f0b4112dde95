"""A block of texts → counts of locally numbered features, with their names. Independent of every other block."""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch
from torch import Tensor

from gpuclf.features.blocks import Block
from gpuclf.features.names import Names, gather_spans, interleave, lengths_to_ptr, repeated
from gpuclf.features.options import BagOfWordsOptions
from gpuclf.features.tokenizer import CLASS_PATTERNS, Tokens, text_normalizer, tokenize, tokenize_by_class
from gpuclf.features.word_features import escape_words, extra_features, has_extra_features, word_shape
from gpuclf.ops.char_spans import char_spans
from gpuclf.ops.intern_spans import intern_spans
from gpuclf.ops.ngrams import NGrams, ngrams
from gpuclf.ops.row_counts import row_counts

_WHITE_SPACE_RUN = re.compile(r"\s\s+")  # as in scikit-learn: a single white space stays what it is
Expansion = tuple[Tensor, Tensor]


def count_block(texts: Sequence[str], options: BagOfWordsOptions) -> Block:
    """Feature counts of raw texts."""
    if options.analyzer == "char":
        return _count_chars(texts, options)
    if options.analyzer == "char_wb":
        return _count_chars_in_words(texts, options)
    return _count_words(texts, options)


def _count_words(texts: Sequence[str], options: BagOfWordsOptions) -> Block:
    normalize = text_normalizer(options.normalize, options.lowercase and not options.shapes)
    tokens = tokenize([normalize(text) for text in texts], options.token_pattern)
    ids, first = intern_spans(tokens.text, tokens.starts, tokens.ends)
    types = gather_spans(tokens.text, tokens.starts[first], tokens.ends[first])
    shapes = None
    if options.shapes:
        written = types.to_strings()
        shapes = [word_shape(word) for word in written]
        lower = text_normalizer(options.normalize, options.lowercase)
        types = Names.from_strings([lower(word) for word in written])
    ptr = tokens.token_ptr
    if options.stop_words:
        ptr, ids, types = _without_stop_words(ptr, ids, types, options)
    shortest, longest = options.ngrams
    extras = has_extra_features(options)
    if longest == 1 and not extras:
        return Block(*row_counts(ptr, ids, len(types)), types)
    grams = ngrams(ptr, ids, len(types), longest)
    names = _gram_names(types, grams)
    if shortest == 1 and not extras:
        return Block(*row_counts(grams.ptr, grams.ids, len(names)), names)
    expansion, names = _expand(types, names, grams.level_start[shortest - 1], shapes, options)
    return Block(*row_counts(grams.ptr, grams.ids, len(names), expansion), names)


def _without_stop_words(
    ptr: Tensor, ids: Tensor, types: Names, options: BagOfWordsOptions
) -> tuple[Tensor, Tensor, Names]:
    normalize = text_normalizer(options.normalize, options.lowercase)
    stop = {normalize(word) for word in options.stop_words}
    kept_types = torch.tensor([word not in stop for word in types.to_strings()], dtype=torch.bool)
    kept = kept_types[ids]
    ptr = torch.cat([ptr[:1], kept.cumsum(0)])[ptr]
    return ptr, (kept_types.cumsum(0) - 1)[ids[kept]], types.take(torch.nonzero(kept_types).flatten())


def _gram_names(types: Names, grams: NGrams) -> Names:
    """Names of all ids: the words, then each level's n-grams as words joined by one blank."""
    parts = [types]
    for start, stop in zip(grams.level_start[1:-1], grams.level_start[2:], strict=True):
        rows = slice(start - len(types), stop - len(types))
        shorter = parts[-1].take(grams.left[rows] - (start - len(parts[-1])))
        parts.append(interleave([shorter, repeated(" ", stop - start), types.take(grams.right[rows])]))
    return Names.joined(parts)


def _expand(
    types: Names, grams: Names, first_wanted: int, shapes: list[str] | None, options: BagOfWordsOptions
) -> tuple[Expansion, Names]:
    """The features of each id: itself from first_wanted on, and the extra features of a word."""
    extras: list[list[str]] = [[] for _ in range(len(types))]
    own = grams.take(torch.arange(first_wanted, len(grams)))
    if has_extra_features(options):
        words = types.to_strings()
        extras = [extra_features(w, shapes[i] if shapes else None, options) for i, w in enumerate(words)]
        own = Names.from_strings(escape_words(own.to_strings()))
    flat = Names.from_strings([feature for word in extras for feature in word])
    extra_ids, first = intern_spans(flat.data, flat.ptr[:-1], flat.ptr[1:])
    sizes = torch.zeros(len(grams), dtype=torch.int64)
    sizes[: len(types)] = torch.tensor([len(word) for word in extras], dtype=torch.int64)
    sizes[first_wanted:] += 1
    start = lengths_to_ptr(sizes)
    columns = torch.full((int(start[-1]),), -1, dtype=torch.int64)
    columns[start[first_wanted:-1]] = torch.arange(len(own))
    columns[columns < 0] = extra_ids + len(own)
    return (start, columns), Names.joined([own, flat.take(first)])


def _count_chars(texts: Sequence[str], options: BagOfWordsOptions) -> Block:
    normalize = text_normalizer(options.normalize, options.lowercase)
    buffer = Names.from_strings([_WHITE_SPACE_RUN.sub(" ", normalize(text)) for text in texts])
    starts, ends, ptr = char_spans(buffer.data, buffer.ptr, *options.ngrams, False)
    ids, first = intern_spans(buffer.data, starts, ends)
    names = gather_spans(buffer.data, starts[first], ends[first])
    return Block(*row_counts(ptr, ids, len(names)), names)


def _count_chars_in_words(texts: Sequence[str], options: BagOfWordsOptions) -> Block:
    """N-grams are found once per distinct word, and counted as often as the word occurs."""
    normalize = text_normalizer(options.normalize, options.lowercase)
    tokens: Tokens = tokenize_by_class([normalize(text) for text in texts], CLASS_PATTERNS[r"\S+"])
    ids, first = intern_spans(tokens.text, tokens.starts, tokens.ends)
    words = gather_spans(tokens.text, tokens.starts[first], tokens.ends[first])
    blank = repeated(" ", len(words))
    padded = interleave([blank, words, blank])
    starts, ends, span_ptr = char_spans(padded.data, padded.ptr, *options.ngrams, True)
    columns, first = intern_spans(padded.data, starts, ends)
    names = gather_spans(padded.data, starts[first], ends[first])
    return Block(*row_counts(tokens.token_ptr, ids, len(names), (span_ptr, columns)), names)
