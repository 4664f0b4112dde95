"""The modules of a network as a graph: what TensorBoard's graph page draws, a box for each module inside its parent."""

from __future__ import annotations

from typing import NamedTuple

from torch import nn

from gpuclf.models.neural.layers import Hidden
from gpuclf.models.neural.network import Network, Shape, shape_of
from gpuclf.models.neural.options import NeuralOptions
from gpuclf.models.neural.predictor import NeuralPredictor
from gpuclf.models.neural.text_cnn import TextCnnShape
from gpuclf.train.model_file import Model


class GraphNode(NamedTuple):
    """A step from documents to scores. name: the module's place, with / between; kind: what it does; inputs: names of
    nodes before it; about: what else is known, by name."""

    name: str
    kind: str
    inputs: tuple[str, ...] = ()
    about: tuple[tuple[str, str], ...] = ()


def network_graph(model: Model) -> list[GraphNode]:
    """Its steps in the order of their work; [] for other models."""
    predictor = model.predictor
    if not isinstance(predictor, NeuralPredictor):
        return []
    assert isinstance(model.options, NeuralOptions)
    return _Drawing(shape_of(predictor.network), predictor.classes, predictor.table.shape[1], model.options).nodes


class _Drawing:
    def __init__(self, shape: Shape, classes: int, features: int, options: NeuralOptions):
        self._shape, self._dropout = shape, options.dropout
        self._modules = dict(Network(shape, classes).module.named_modules())
        self.nodes: list[GraphNode] = []
        rows, width = str(features), str(shape.table_width(classes))
        about = {"rows": rows, "numbers": width}
        if isinstance(shape, TextCnnShape):
            x = self._node("word_vectors", "Embedding", self._node("words", "Input"), about=about)
            x = self._dropped("word_vectors", x, options.input_dropout)
            x = self._node("pooled", "Concat", *[self._branch(i, x) for i in range(len(shape.filter_widths))])
            x = self._dropped("pooled", x, self._dropout)
        else:
            x = self._dropped("features", self._node("features", "Input"), options.input_dropout)
            x = self._node("first_layer", "EmbeddingBag", x, about=about)
        for place in range(len(shape.hidden)):
            x = self._dropped(f"head/hidden/{place}", self._hidden(f"head.hidden.{place}", x), self._dropout)
        self._node("scores", "Output", self._module("head.output", x))

    def _branch(self, place: int, x: str) -> str:
        """The convolutions of one width, and the pooling."""
        assert isinstance(self._shape, TextCnnShape)
        shape = self._shape
        about = {"dilation": str(shape.dilation), "convolution": shape.convolution}
        for layer in range(shape.layers):
            name = f"branches.{place}.{layer}"
            x = self._module(name, x, kind="Convolution", about=about)
            x = self._node(f"{name}.activation", type(self._modules["activation"]).__name__, x)
        return self._node(f"branches.{place}.pooling", f"Pooling_{shape.pooling}", x, about={"kept": str(shape.kept)})

    def _hidden(self, name: str, x: str) -> str:
        layer = self._modules[name]
        assert isinstance(layer, Hidden)
        y = self._module(f"{name}.linear", x)
        if not isinstance(layer.norm, nn.Identity):
            y = self._module(f"{name}.norm", y)
        y = self._module(f"{name}.activation", y)
        if layer.connection == "residual":
            return self._node(f"{name}.add", "Add", x, y)
        if layer.connection == "highway":
            return self._node(f"{name}.mix", "Highway", x, y, self._module(f"{name}.gate", x))
        return y

    def _dropped(self, name: str, x: str, probability: float) -> str:
        return self._node(f"{name}/dropout", "Dropout", x, about={"p": str(probability)}) if probability else x

    def _module(self, name: str, x: str, kind: str | None = None, about: dict[str, str] | None = None) -> str:
        module = self._modules[name]
        sizes = {n: " × ".join(map(str, p.shape)) for n, p in module.named_parameters(recurse=False)}
        return self._node(name, kind or type(module).__name__, x, about=sizes | (about or {}))

    def _node(self, name: str, kind: str, *inputs: str, about: dict[str, str] | None = None) -> str:
        name = name.replace(".", "/")
        self.nodes.append(GraphNode(name, kind, inputs, tuple((about or {}).items())))
        return name
