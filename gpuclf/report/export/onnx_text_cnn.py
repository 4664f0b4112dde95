"""A convolutional network as an ONNX graph over padded documents (gpuclf.models.neural.text_cnn).

word: (documents, longest) int64, the words of each document numbered from 1 as in the JSON beside the model, 0 a word
that the model does not know; what stands behind a document's end is not read. length: (documents,) int64, the words of
each document, the unknown ones included. A document of no words, or of unknown ones alone, has no windows, as in the
model: its pooled values are 0. Outputs: see gpuclf.report.export.onnx_graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.models.neural.network import Network
from gpuclf.models.neural.text_cnn import TextCnn, TextCnnShape
from gpuclf.optim.calibration import Calibrator
from gpuclf.report.export.onnx_graph import finished
from gpuclf.report.export.onnx_layers import Layers
from gpuclf.report.export.onnx_nodes import Graph

_FAR = float(np.finfo(np.float32).min)  # below every window's value


@dataclass(frozen=True)
class TextCnnParts:
    """words: the names of words 1, 2, …; vectors (words + 1, E) float32, first that of unknown words; named: parameters
    and running means of the network."""

    classes: tuple[str, ...]
    words: list[str]
    vectors: NDArray[np.float32]
    network: Network
    named: dict[str, Tensor]
    probabilities: bool
    calibrator: Calibrator | None


def text_cnn_model(parts: TextCnnParts) -> Any:
    """The ModelProto, checked."""
    from onnx import TensorProto, helper

    module = parts.network.module
    assert isinstance(module, TextCnn)
    graph = Graph()
    layers = Layers(graph, parts.named)
    pooled = _PaddedDocuments(layers, module, parts.vectors).pooled()
    layers.head(module.head, pooled, "head", "scores")
    inputs = [
        helper.make_tensor_value_info("word", TensorProto.INT64, ["documents", "longest"]),
        helper.make_tensor_value_info("length", TensorProto.INT64, ["documents"]),
    ]
    return finished(graph, len(parts.classes), parts.probabilities, parts.calibrator, inputs)


class _PaddedDocuments:
    """Places are the last axis: (documents, E or filters, places). Behind the input's last place `kept` more are added,
    so that there always is one, and pooling always finds as many as it keeps."""

    def __init__(self, layers: Layers, module: TextCnn, vectors: NDArray[np.float32]):
        self._layers, self._graph, self._module = layers, layers.graph, module
        self._shape: TextCnnShape = module.shape
        graph, fixed = self._graph, layers.fixed
        word = graph.add("Pad", ["word", fixed([0, 0, 0, self._shape.kept])])
        read = self._before("length", graph.add("Shape", [word], start=1))  # (documents, places)
        word = graph.add("Where", [read, word, fixed(0)])
        some = graph.add("ReduceMax", [word, fixed([1])], keepdims=0)
        self._some = graph.add("Greater", [some, fixed(0)])
        x = graph.add("Gather", [graph.constant("vectors", vectors), word])
        x = graph.add("Where", [graph.add("Unsqueeze", [read, fixed([2])]), x, fixed(0.0)])
        self._vectors = graph.add("Transpose", [x], perm=[0, 2, 1])

    def pooled(self) -> str:
        """(documents, widths · kept · filters)."""
        return self._graph.add(
            "Concat", [self._branch(place) for place in range(len(self._shape.filter_widths))], axis=1
        )

    def _before(self, count: str, places: str) -> str:
        """(documents, places) bool: place < count (documents,). places: (1,) int64."""
        graph, fixed = self._graph, self._layers.fixed
        limit = graph.add("Squeeze", [places, fixed([0])])
        step = graph.add("Range", [fixed(0), limit, fixed(1)])
        return graph.add("Less", [step, graph.add("Unsqueeze", [count, fixed([1])])])

    def _branch(self, place: int) -> str:
        """(documents, kept · filters) of one width."""
        graph, fixed, shape = self._graph, self._layers.fixed, self._shape
        span = (shape.filter_widths[place] - 1) * shape.dilation
        x, count = self._vectors, "length"
        for layer in range(shape.layers):
            weight = self._layers.value(f"branches.{place}.{layer}.weight")  # (width, inputs, filters)
            name = graph.constant(f"branches.{place}.{layer}.weight", np.ascontiguousarray(weight.transpose(2, 1, 0)))
            bias = self._layers.constant(f"branches.{place}.{layer}.bias")
            wide = shape.convolution == "wide"
            pads = [span if wide else 0, span]
            x = graph.add("Conv", [x, name, bias], dilations=[shape.dilation], pads=pads)
            count = graph.add("Add", [count, fixed(span if wide else -span)])
            if not wide:  # a document shorter than the filter has one window
                count = graph.add("Max", [count, fixed(1)])
            count = graph.add("Where", [self._some, count, fixed(0)])
            here = graph.add("Unsqueeze", [self._before(count, graph.add("Shape", [x], start=2)), fixed([1])])
            if layer < shape.layers - 1:
                x = graph.add("Where", [here, self._activated(x), fixed(0.0)])
        return self._average(x, here, count) if shape.pooling == "average" else self._largest(x, here, count)

    def _activated(self, x: str) -> str:
        return self._layers.activated(self._module.activation, x)

    def _average(self, x: str, here: str, count: str) -> str:
        graph, fixed = self._graph, self._layers.fixed
        x = graph.add("Where", [here, self._activated(x), fixed(0.0)])
        total = graph.add("ReduceSum", [x, fixed([2])], keepdims=0)
        windows = graph.add("Cast", [graph.add("Max", [count, fixed(1)])], to=1)  # 1: float32
        return graph.add("Div", [total, graph.add("Unsqueeze", [windows, fixed([1])])])

    def _largest(self, x: str, here: str, count: str) -> str:
        """The largest values, or the k largest in the order of their places; of equal ones the earlier."""
        graph, fixed, kept = self._graph, self._layers.fixed, self._shape.kept
        x = graph.add("Where", [here, x, fixed(_FAR)])
        if self._shape.pooling == "max":
            best = graph.add("ReduceMax", [x, fixed([2])], keepdims=1)
        else:
            place = graph.add_both("TopK", [x, fixed([kept])], axis=2, largest=1, sorted=1)[1]
            place = graph.add_both("TopK", [place, fixed([kept])], axis=2, largest=0, sorted=1)[0]
            best = graph.add("GatherElements", [x, place], axis=2)
        found = graph.add("Unsqueeze", [self._before(count, fixed([kept])), fixed([1])])
        best = graph.add("Where", [found, self._activated(best), fixed(0.0)])  # (documents, filters, kept)
        return graph.add("Flatten", [graph.add("Transpose", [best], perm=[0, 2, 1])], axis=1)
