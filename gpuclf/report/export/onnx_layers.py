"""The hidden layers and the output of a network as ONNX nodes (gpuclf.models.neural.layers), as they score: no dropout,
batch norm by its running means. Offsets and weights keep their names."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from gpuclf.models.neural.layers import Head, Hidden, Offset
from gpuclf.report.export.onnx_nodes import Graph

_OPERATORS = {nn.Sigmoid: "Sigmoid", nn.Tanh: "Tanh", nn.ReLU: "Relu"}


class Layers:
    """Adds layers to a graph. named: the network's parameters and running means by name."""

    def __init__(self, graph: Graph, named: dict[str, Tensor]):
        self.graph, self._named = graph, named
        self._fixed: dict[tuple[str, str, tuple[int, ...]], str] = {}

    def value(self, name: str) -> NDArray[np.float32]:
        return self._named[name].detach().cpu().float().numpy()

    def constant(self, name: str) -> str:
        """A parameter as it is; returns its name."""
        return self.graph.constant(name, np.ascontiguousarray(self.value(name)))

    def fixed(self, value: Any) -> str:
        """A number or a list of them, once in the graph: int64 of whole numbers, else float32."""
        array = np.asarray(value)
        array = array.astype(np.int64 if array.dtype.kind == "i" else np.float32)
        key = (str(array.tolist()), str(array.dtype), array.shape)
        if key not in self._fixed:
            self._fixed[key] = self.graph.constant(f"fixed_{len(self._fixed)}", array)
        return self._fixed[key]

    def activated(self, module: nn.Module, x: str) -> str:
        """f(x), of the modules that gpuclf.models.neural.layers.activation makes."""
        if isinstance(module, nn.Identity):
            return x
        if isinstance(module, nn.LeakyReLU):
            return self.graph.add("LeakyRelu", [x], alpha=module.negative_slope)
        return self.graph.add(_OPERATORS[type(module)], [x])

    def head(self, head: Head, x: str, name: str, output: str) -> None:
        """Adds the node `output`: the scores (documents, K) of x (documents, units), by the head called `name`."""
        for place, layer in enumerate(head.hidden):
            assert isinstance(layer, Hidden)
            x = self._hidden(layer, x, f"{name}.hidden.{place}")
        self._linear(head.output, x, f"{name}.output", output)

    def _hidden(self, layer: Hidden, x: str, name: str) -> str:
        y = self._linear(layer.linear, x, f"{name}.linear")
        y = self.activated(layer.activation, self._normed(layer.norm, y, f"{name}.norm"))
        if layer.connection == "residual":
            return self.graph.add("Add", [x, y])
        if layer.connection == "highway":
            through = self.graph.add("Sigmoid", [self._linear(layer.gate, x, f"{name}.gate")])
            rest = self.graph.add("Sub", [self.fixed(1.0), through])
            return self.graph.add("Add", [self.graph.add("Mul", [through, y]), self.graph.add("Mul", [rest, x])])
        return y

    def _linear(self, module: nn.Module, x: str, name: str, output: str | None = None) -> str:
        bias = self.constant(f"{name}.bias")
        if isinstance(module, Offset):
            return self.graph.add("Add", [x, bias], output)
        return self.graph.add("Gemm", [x, self.constant(f"{name}.weight"), bias], output, transB=1)

    def _normed(self, module: nn.Module, x: str, name: str) -> str:
        if isinstance(module, nn.Identity):
            return x
        if isinstance(module, nn.LayerNorm):
            inputs = [x, self.constant(f"{name}.weight"), self.constant(f"{name}.bias")]
            return self.graph.add("LayerNormalization", inputs, axis=-1, epsilon=module.eps)
        assert isinstance(module, nn.BatchNorm1d)
        root = np.sqrt(self.value(f"{name}.running_var").astype(np.float64) + module.eps)
        scale = (self.value(f"{name}.weight") / root).astype(np.float32)
        apart = self.graph.add("Sub", [x, self.constant(f"{name}.running_mean")])
        scaled = self.graph.add("Mul", [apart, self.graph.constant(f"{name}.scale", scale)])
        return self.graph.add("Add", [scaled, self.constant(f"{name}.bias")])
