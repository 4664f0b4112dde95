"""Documents → sparse rows: fitted in one pass over the strings, then applied to any other file."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from gpuclf.data.records import Chunk
from gpuclf.faults import UserFault
from gpuclf.features.bag_of_words import count_block
from gpuclf.features.blocks import Block
from gpuclf.features.encoded import Context, Encoded
from gpuclf.features.given_features import indexed_block, named_block, table_block, table_columns
from gpuclf.features.options import BagOfWordsOptions, SparseFeatureOptions, TableOptions
from gpuclf.features.ordered_map import ordered_map
from gpuclf.features.rows import SparseRows
from gpuclf.features.vocabulary import IndexCollector, NameCollector, Vocabulary, vocabulary_from_json
from gpuclf.ops.map_columns import map_columns

FORMAT = 1
BLOCK_CHARS = 1 << 20  # text that one task takes; small enough to spread, large enough to keep merging cheap
# What a document may bring, and the type of features for it; a table may bring its columns by name as well.
_TYPE_FOR = {
    "texts": "bag_of_words",
    "columns": "table",
    "indexed": "as_given",
    "named": "as_given",
    "sentences": "word_types",
}
_USABLE = {"bag_of_words": ("texts",), "as_given": ("indexed", "named"), "table": ("columns", "named")}


class Encoder:
    """A fitted mapping from documents to rows; immutable, and the same after a trip through JSON.

    source: what documents must bring: texts, indexed, named or columns. table: its categorical columns.
    """

    def __init__(self, options: SparseFeatureOptions, vocabulary: Vocabulary, source: str, table: list[str]):
        self.options = options
        self.vocabulary = vocabulary
        self.source = source
        self.table = table

    @cached_property
    def names(self) -> list[str]:
        """V names; column v is names[v - 1]."""
        return self.vocabulary.names()

    @property
    def collision_rate(self) -> float | None:
        """With hashing: the share of the distinct training names that share their bucket."""
        return getattr(self.vocabulary, "collision_rate", None)

    def encode(self, chunks: Iterable[Chunk]) -> Encoded:
        """Rows of documents under the fitted columns."""
        context = Context()
        assembly = _Assembly(len(self.vocabulary))

        def rows_of(piece: Chunk) -> _RowsPart:
            block = _block_of(piece, self.options, self.source, self.table)
            return _final_rows(block, self.vocabulary.columns(block.keys), self.options)

        for part in ordered_map(rows_of, text_pieces(context.followed(chunks))):
            assembly.add(part)
        return _encoded(context, assembly)

    def to_json(self) -> dict[str, Any]:
        """Plain data for model.json; unicode says whose tables cut and lower-cased the training texts."""
        return {
            "format": FORMAT,
            "type": self.options.type,
            "source": self.source,
            "table": self.table,
            "unicode": unicodedata.unidata_version,
            "vocabulary": self.vocabulary.to_json(),
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], options: SparseFeatureOptions) -> Encoder:
        """The encoder that `to_json` wrote, under the same options."""
        if data["format"] != FORMAT:
            raise UserFault(f"encoder format {data['format']} is not {FORMAT}", remedy="use the gpuclf that wrote it")
        assert data["type"] == options.type, f"an encoder of type {data['type']} under options of {options.type}"
        return cls(options, vocabulary_from_json(data["vocabulary"]), data["source"], list(data["table"]))


def fit_encoder(chunks: Iterable[Chunk], options: SparseFeatureOptions) -> tuple[Encoder, Encoded]:
    """The encoder of all features that occur in the documents, and the documents encoded; reads them once.

    Which features a model may use (min_df …) is decided later, per view, from its training rows (`fit_views`).
    """
    context = Context()
    source: str | None = None
    table: list[str] = []
    blocks: list[Block] = []
    collector: NameCollector | IndexCollector = NameCollector()

    def seen() -> Iterator[Chunk]:
        nonlocal source, table, collector
        for chunk in context.followed(chunks):
            if source is None:
                source = _source_of(chunk, options)
                if source == "indexed":
                    collector = IndexCollector()
                if isinstance(options, TableOptions):
                    table = table_columns(chunk)
            yield chunk

    def block_of(piece: Chunk) -> Block:
        return _block_of(piece, options, str(source), table).packed()

    for block in ordered_map(block_of, text_pieces(seen())):
        collector.add(block.keys)
        blocks.append(Block(block.crow, block.col, block.val, block.crow[:0], block.counts))
    if source is None:
        raise UserFault("there is no document to learn features from", remedy="give a data file with records in it")
    hashing = options.hashing if isinstance(options, BagOfWordsOptions) else None
    vocabulary, maps = collector.finish(hashing.bits if hashing else None)
    if not len(vocabulary):
        raise UserFault("no document has any feature", key="features", remedy=_empty_remedy(options))
    assembly = _Assembly(len(vocabulary))
    blocks.reverse()
    finished = ordered_map(lambda pair: _final_rows(*pair, options), ((blocks.pop(), mapping) for mapping in maps))
    for part in finished:
        assembly.add(part)
    return Encoder(options, vocabulary, source, table), _encoded(context, assembly)


def _empty_remedy(options: SparseFeatureOptions) -> str:
    if isinstance(options, BagOfWordsOptions):
        return "see whether features.token_pattern, ngrams and stop_words leave anything of your texts"
    return "see whether the data file holds features beside the labels"


def _source_of(chunk: Chunk, options: SparseFeatureOptions) -> str:
    """What the chunk brings, as far as these options can use it."""
    held = [name for name in _TYPE_FOR if getattr(chunk, name) is not None]
    usable = [name for name in _USABLE[options.type] if name in held]
    if not usable:
        raise UserFault(
            f"{options.type} cannot use what the data holds: {', '.join(held)}",
            key="features.type",
            remedy=f"use {_TYPE_FOR[held[0]]}, or data with {' or '.join(_USABLE[options.type])}",
        )
    return "columns" if options.type == "table" else usable[0]


def _block_of(chunk: Chunk, options: SparseFeatureOptions, source: str, table: list[str]) -> Block:
    found = _source_of(chunk, options)
    if found != source:
        raise UserFault(f"the data holds {found} features, the model was trained on {source} ones")
    if isinstance(options, BagOfWordsOptions):
        return count_block(chunk.texts or [], options)
    if isinstance(options, TableOptions):
        return table_block(chunk, table)
    if chunk.indexed is not None:
        return indexed_block(chunk.indexed)
    assert chunk.named is not None
    return named_block(chunk.named)


def text_pieces(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Texts in pieces of about BLOCK_CHARS, without what does not concern features; other chunks as they are."""
    for chunk in chunks:
        if chunk.texts is None:
            yield chunk
            continue
        start, size = 0, 0
        for place, text in enumerate(chunk.texts):
            size += len(text)
            if size >= BLOCK_CHARS or place == len(chunk) - 1:
                rows = slice(start, place + 1)
                yield Chunk(chunk.ids[rows], chunk.lines[rows], None, texts=chunk.texts[rows])
                start, size = place + 1, 0


def _encoded(context: Context, assembly: _Assembly) -> Encoded:
    rows, unknown = assembly.finish()
    return context.encoded(rows, unknown.numpy(), (rows.crow.diff() > 0).numpy())


class _RowsPart(NamedTuple):
    """Finished rows of some documents: lengths (docs,) int64, col (nnz,) int32, val (nnz,) float32, unknown (docs,)."""

    lengths: Tensor
    col: Tensor
    val: Tensor
    unknown: Tensor


def _final_rows(block: Block, mapping: Tensor, options: SparseFeatureOptions) -> _RowsPart:
    crow, col, val, dropped = map_columns(block.crow, block.col, block.val, mapping)
    val = _weighted(crow, val, dropped, options)
    return _RowsPart(crow.diff(), col, val, block.lost_occurrences(mapping, dropped))


def _weighted(crow: Tensor, val: Tensor, dropped: Tensor, options: SparseFeatureOptions) -> Tensor:
    """The part of the weighting that no training set is needed for."""
    if options.weighting in ("binary", "nb_ratio"):
        return torch.ones_like(val)
    if not isinstance(options, BagOfWordsOptions):
        if not torch.isfinite(val).all():
            raise UserFault("values of one feature in one document add up beyond the range of float32")
        return val
    if options.sublinear:
        return (1.0 + val.to(torch.float64).log()).to(torch.float32)
    if options.weighting == "tf":
        running = torch.cat([dropped.new_zeros(1), val.to(torch.float64).cumsum(0)])
        total = running[crow].diff() + dropped
        return (val.to(torch.float64) / torch.repeat_interleave(total, crow.diff())).to(torch.float32)
    return val


class _Assembly:
    """Puts finished rows together to those of a file."""

    def __init__(self, num_features: int):
        if num_features >= 2**31 - 1:
            raise UserFault(f"{num_features} features are more than 2^31 - 2", remedy="use features.hashing")
        self.num_features = num_features
        self.lengths = [torch.zeros(1, dtype=torch.int64)]
        self.cols = [torch.empty(0, dtype=torch.int32)]
        self.vals = [torch.empty(0, dtype=torch.float32)]
        self.unknown = [torch.empty(0, dtype=torch.int64)]

    def add(self, part: _RowsPart) -> None:
        self.lengths.append(part.lengths)
        self.cols.append(part.col)
        self.vals.append(part.val)
        self.unknown.append(part.unknown)

    def finish(self) -> tuple[SparseRows, Tensor]:
        """The rows, and unknown (docs,) int64; parts are let go as soon as they are joined."""
        col = torch.cat(self.cols)
        self.cols.clear()
        val = torch.cat(self.vals)
        self.vals.clear()
        rows = SparseRows(torch.cat(self.lengths).cumsum(0), col, val, self.num_features)
        return rows, torch.cat(self.unknown)
