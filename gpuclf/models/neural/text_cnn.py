"""The convolutional network (3.52–3.57; Kim 2014): windows over word vectors, pooled over each document.

All documents of a portion lie one after the other with `gap` rows of zeros before each and after the last, so that no
window sees two documents, and no row is spent on padding to the longest. A wide convolution of span s = (w - 1) ·
dilation takes the windows that begin up to s rows before the document; a narrow one those that lie within it, or where
the document is shorter than the filter the one that begins with it. A document without words has no window: its pooled
values are 0, and it gets the answer of the offsets behind them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from gpuclf.models.neural.layers import ActivationName, ConnectionName, Head, NormName, activation
from gpuclf.ops.pooled_windows import pooled_windows
from gpuclf.ops.pooled_windows.reference import pooled_windows as plain_pooled_windows
from gpuclf.ops.pooled_windows.reference import windows

PoolingName = Literal["max", "average", "k_max"]
ConvolutionName = Literal["wide", "narrow"]


@dataclass(frozen=True)
class TextCnnShape:
    """What cannot differ within a batch. Every width is a branch of `layers` convolutions, the last one pooled."""

    embedding_dim: int
    filters: int
    filter_widths: tuple[int, ...]
    layers: int
    dilation: int
    convolution: ConvolutionName
    pooling: PoolingName
    k: int
    hidden: tuple[int, ...]
    activation: ActivationName
    norm: NormName
    connection: ConnectionName

    @property
    def gap(self) -> int:
        return (max(self.filter_widths) - 1) * self.dilation

    @property
    def kept(self) -> int:
        """Values of each filter and document that pooling keeps."""
        return self.k if self.pooling == "k_max" else 1

    def table_width(self, classes: int) -> int:
        del classes
        return self.embedding_dim

    def widths(self) -> tuple[int, ...]:
        """The pooled values are the first layer that dropout concerns."""
        return (len(self.filter_widths) * self.filters * self.kept, *self.hidden)

    def module(self, classes: int) -> nn.Module:
        return TextCnn(self, classes)


class Spans(NamedTuple):
    """Where one layer of a branch finds the windows of each document: start, length (B,) int64.

    source (rows,) int64: the rows of this layer's input as windows of the layer before, from 1; 0 is a row of zeros. Of
    the first layer it is empty: its input are the word vectors themselves.
    """

    source: Tensor
    start: Tensor
    length: Tensor


def spans_of(shape: TextCnnShape, lengths: Tensor) -> tuple[list[list[Spans]], list[int]]:
    """For each width its layers' spans, and the most windows that a document has in the last one; lengths (B,)."""
    branches, longest = [], []
    for width in shape.filter_widths:
        span, layers = (width - 1) * shape.dilation, []
        gap, count, source = shape.gap, lengths, lengths[:0]
        for _ in range(shape.layers):
            first = gap + torch.cat([lengths.new_zeros(1), (count + gap).cumsum(0)])
            if shape.convolution == "wide":
                start, windows_of = first[:-1] - span, count + span
            else:
                start, windows_of = first[:-1], (count - span).clamp(min=1)
            windows_of = windows_of.masked_fill(lengths == 0, 0)
            layers.append(Spans(source, start, windows_of))
            source = _packed(start, windows_of, span)
            gap, count = span, windows_of
        branches.append(layers)
        longest.append(int(count.max()) if count.numel() else 0)
    return branches, longest


def _packed(start: Tensor, count: Tensor, gap: int) -> Tensor:
    """Windows start … start + count - 1 of every document, from 1, with `gap` zeros before each and after the last."""
    first = gap + torch.cat([start.new_zeros(1), (count + gap).cumsum(0)])
    places = torch.zeros(int(first[-1]), dtype=torch.int64, device=start.device)
    doc = torch.repeat_interleave(count)
    within = torch.arange(doc.numel(), device=start.device) - (count.cumsum(0) - count)[doc]
    places[first[:-1][doc] + within] = start[doc] + within + 1
    return places


class Filters(nn.Module):
    """`weight` (width, inputs, filters) and `bias` (filters,) of one convolution."""

    def __init__(self, width: int, inputs: int, filters: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, inputs, filters))
        self.bias = nn.Parameter(torch.empty(filters))


class TextCnn(nn.Module):
    """From word vectors to scores."""

    def __init__(self, shape: TextCnnShape, classes: int):
        super().__init__()
        self.shape = shape
        self.branches = nn.ModuleList(
            nn.ModuleList(
                Filters(width, shape.filters if layer else shape.embedding_dim, shape.filters)
                for layer in range(shape.layers)
            )
            for width in shape.filter_widths
        )
        self.activation = activation(shape.activation)
        pooled = shape.widths()[0]
        self.head = Head(pooled, shape.hidden, classes, shape.activation, shape.norm, shape.connection, with_sums=False)

    def forward(
        self,
        vectors: Tensor,
        dropout: Sequence[Tensor | None],
        branches: Sequence[Sequence[Spans]],
        longest: Sequence[int],
        plain: bool = False,
    ) -> tuple[Tensor, list[Tensor]]:
        """vectors (N, E) of all words as they are packed; see Head. plain: as torch.func can map it."""
        pooled = []
        filters: Any
        for filters, spans, most in zip(self.branches, branches, longest, strict=True):
            x = vectors
            for layer, span in zip(filters[:-1], spans[1:], strict=True):
                made = self.activation(windows(x, layer.weight, layer.bias, self.shape.dilation, not self.training))
                blank = made.new_zeros(1, made.shape[1])
                x = torch.cat([blank, made]).index_select(0, span.source)
            pooled.append(self._pooled(x, filters[-1], spans[-1], most, plain))
        features = torch.cat(pooled, dim=1)
        scores, seen = self.head(features if dropout[0] is None else features * dropout[0], dropout[1:])
        return scores, [features, *seen]

    def _pooled(self, x: Tensor, filters: Filters, span: Spans, longest: int, plain: bool) -> Tensor:
        """(B, kept · filters)."""
        shape = self.shape
        weight, bias = filters.weight, filters.bias
        if shape.pooling == "average":
            values = self.activation(windows(x, weight, bias, shape.dilation, not self.training)).to(x.dtype)
            return _averages(values, span, longest) if plain else _averages_in_order(values, span)
        pool = plain_pooled_windows if plain else pooled_windows
        values = pool(x, weight, bias, shape.dilation, span.start, span.length, longest, shape.kept, not self.training)
        # The largest values have the largest activations: taken behind the pooling, of the few that are left. Places
        # that a document does not have stay 0, whatever the activation of 0.
        there = torch.arange(shape.kept, device=x.device) < span.length[:, None]
        return torch.where(there[..., None], self.activation(values), 0.0).flatten(1)


def _averages(values: Tensor, span: Spans, longest: int) -> Tensor:
    """(B, F): means of the windows of each document, as torch.func can map it."""
    step = torch.arange(longest, device=values.device)
    here = step < span.length[:, None]
    index = (span.start[:, None] + step).clamp(max=values.shape[0] - 1)
    each = torch.where(here[..., None], values[index], 0.0)
    return each.sum(1) / span.length.clamp(min=1)[:, None]


def _averages_in_order(values: Tensor, span: Spans) -> Tensor:
    """The same, summed window by window, so that the longest document plays no part in how another is rounded."""
    doc = torch.repeat_interleave(span.length)
    before = span.length.cumsum(0) - span.length
    window = torch.arange(doc.numel(), device=values.device) + (span.start - before)[doc]
    return embedding_bag(window, values, before, mode="sum") / span.length.clamp(min=1)[:, None]
