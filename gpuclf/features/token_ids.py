"""Texts → sequences of word numbers: fitted in one pass over the strings, then applied to any other file.

Words are numbered from 1 by code point; 0 is a word that is not among them. Which of the words a model knows (min_df …)
is decided later, per view, from its training rows (`gpuclf.features.views.fit_views`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gpuclf.data.records import Chunk
from gpuclf.faults import UserFault
from gpuclf.features.encoded import Context, Encoded
from gpuclf.features.encoder import text_pieces
from gpuclf.features.names import Names, gather_spans, lengths_to_ptr
from gpuclf.features.options import TokenIdsOptions
from gpuclf.features.ordered_map import ordered_map
from gpuclf.features.rows import TokenRows
from gpuclf.features.tokenizer import text_normalizer, tokenize
from gpuclf.features.vocabulary import NameCollector, Vocabulary, vocabulary_from_json
from gpuclf.ops.intern_spans import intern_spans

FORMAT = 1


class _Piece(NamedTuple):
    """Tokens of some documents: lengths (docs,) int64, ids (tokens,) int64 into the piece's own words."""

    lengths: Tensor
    ids: Tensor
    words: Names


class TokenEncoder:
    """A fitted numbering of words; immutable, and the same after a trip through JSON."""

    source = "texts"
    collision_rate = None

    def __init__(self, options: TokenIdsOptions, vocabulary: Vocabulary):
        self.options = options
        self.vocabulary = vocabulary

    @cached_property
    def names(self) -> list[str]:
        """V words; word i is names[i - 1]."""
        return self.vocabulary.names()

    def encode(self, chunks: Iterable[Chunk]) -> Encoded:
        """Documents under the fitted numbering; words that it lacks are 0."""
        context = Context()

        def coded(chunk: Chunk) -> tuple[Tensor, Tensor]:
            piece = _cut(chunk, self.options)
            return piece.lengths, self.vocabulary.columns(piece.words).clamp(min=0)[piece.ids]

        return self._encoded(context, list(ordered_map(coded, text_pieces(context.followed(chunks)))))

    def _encoded(self, context: Context, parts: list[tuple[Tensor, Tensor]]) -> Encoded:
        """The documents of all parts, each lengths (docs,) and ids (tokens,)."""
        empty = torch.zeros(0, dtype=torch.int64)
        offsets = lengths_to_ptr(torch.cat([empty, *(lengths for lengths, _ in parts)]))
        ids = torch.cat([empty, *(ids for _, ids in parts)]).to(torch.int32)
        running = lengths_to_ptr(ids == 0)
        unknown = running[offsets].diff()
        rows = TokenRows(ids, offsets, len(self.vocabulary) + 1)
        return context.encoded(rows, unknown.numpy(), (unknown < offsets.diff()).numpy())

    def to_json(self) -> dict[str, Any]:
        """Plain data for model.json; unicode says whose tables cut and lower-cased the training texts."""
        return {
            "format": FORMAT,
            "type": self.options.type,
            "unicode": unicodedata.unidata_version,
            "vocabulary": self.vocabulary.to_json(),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], options: TokenIdsOptions) -> TokenEncoder:
        """The encoder that `to_json` wrote, under the same options."""
        if data["format"] != FORMAT:
            raise UserFault(f"encoder format {data['format']} is not {FORMAT}", remedy="use the gpuclf that wrote it")
        return cls(options, vocabulary_from_json(data["vocabulary"]))


def fit_tokens(chunks: Iterable[Chunk], options: TokenIdsOptions) -> tuple[TokenEncoder, Encoded]:
    """The numbering of all words of the documents, and the documents encoded; reads them once."""
    context, collector = Context(), NameCollector()
    pieces: list[_Piece] = []
    for piece in ordered_map(lambda chunk: _cut(chunk, options), text_pieces(context.followed(chunks))):
        collector.add(piece.words)
        pieces.append(piece)
    vocabulary, maps = collector.finish(None)
    if not len(vocabulary):
        raise UserFault(
            "no document has any word",
            key="features",
            remedy="see whether features.token_pattern leaves anything of your texts",
        )
    encoder = TokenEncoder(options, vocabulary)
    coded = [(piece.lengths, mapping[piece.ids]) for piece, mapping in zip(pieces, maps, strict=True)]
    return encoder, encoder._encoded(context, coded)


def _cut(chunk: Chunk, options: TokenIdsOptions) -> _Piece:
    if chunk.texts is None:
        raise UserFault(
            "token_ids cannot use what the data holds: no texts",
            key="features.type",
            remedy="use data with texts, or features: {type: bag_of_words} of another learner",
        )
    normalize = text_normalizer(options.normalize, options.lowercase)
    tokens = tokenize([normalize(text) for text in chunk.texts], options.token_pattern)
    starts, ends, lengths = tokens.starts, tokens.ends, tokens.token_ptr.diff()
    if options.max_len is not None:
        place = torch.arange(starts.numel()) - torch.repeat_interleave(tokens.token_ptr[:-1], lengths)
        read = place < options.max_len
        starts, ends, lengths = starts[read], ends[read], lengths.clamp(max=options.max_len)
    ids, first = intern_spans(tokens.text, starts, ends)
    return _Piece(lengths, ids, gather_spans(tokens.text, starts[first], ends[first]))
