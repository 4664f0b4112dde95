"""A network as ONNX files: a feedforward one takes what a linear model takes (gpuclf.report.export.onnx_graph), a
text_cnn the numbers of words (gpuclf.report.export.onnx_text_cnn)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gpuclf.data.atomic_write import atomic_write
from gpuclf.models.neural.feedforward import Feedforward
from gpuclf.models.neural.network import Network, shape_of
from gpuclf.models.neural.predictor import NeuralPredictor
from gpuclf.models.neural.text_cnn import TextCnnShape
from gpuclf.report.export.linear_parts import table_parts
from gpuclf.report.export.onnx_graph import check_possible, dense_model, sparse_model
from gpuclf.report.export.onnx_layers import Layers
from gpuclf.report.export.onnx_nodes import Graph
from gpuclf.report.export.onnx_text_cnn import TextCnnParts, text_cnn_model
from gpuclf.report.export.vectoriser import token_reader, vectoriser
from gpuclf.train.model_file import Model

BAG_FILES = ("dense.onnx", "sparse.onnx", "onnx.json")
TOKEN_FILES = ("tokens.onnx", "onnx.json")


def network_files(predictor: NeuralPredictor) -> tuple[str, ...]:
    """The names of a network's files."""
    return TOKEN_FILES if isinstance(shape_of(predictor.network), TextCnnShape) else BAG_FILES


def write_network(model: Model, predictor: NeuralPredictor, paths: Sequence[Path]) -> None:
    """Writes the files, named as `network_files` says. UserFault: see `check_possible`."""
    network = Network(shape_of(predictor.network), predictor.classes)
    size = 4 * (predictor.table[0].numel() + network.num_parameters)
    check_possible(size, "train with fewer features or smaller layers")
    if isinstance(network.shape, TextCnnShape):
        parts = _text_cnn_parts(model, predictor, network)
        atomic_write(paths[0], text_cnn_model(parts).SerializeToString())
        about = token_reader(model, parts.words)
    else:
        about = _write_feedforward(model, predictor, network, paths)
    atomic_write(paths[-1], json.dumps(about, indent=1) + "\n")


def _write_feedforward(
    model: Model, predictor: NeuralPredictor, network: Network, paths: Sequence[Path]
) -> dict[str, object]:
    named = network.named(predictor.parameters[0], predictor.buffers[0])
    module = network.module
    assert isinstance(module, Feedforward)
    table = predictor.table[0].cpu().float().numpy()
    parts = table_parts(model, table, np.zeros(table.shape[1], dtype=np.float32), presence=False)

    def behind(graph: Graph, sums: str) -> None:
        Layers(graph, named).head(module.head, sums, "head", "scores")

    atomic_write(paths[0], dense_model(parts, behind).SerializeToString())
    atomic_write(paths[1], sparse_model(parts, behind).SerializeToString())
    return vectoriser(model, parts)


def _text_cnn_parts(model: Model, predictor: NeuralPredictor, network: Network) -> TextCnnParts:
    """The words that the model knows, numbered anew."""
    vectors, names = predictor.table[0].cpu().float().numpy(), model.encoder.names
    known = np.arange(1, len(vectors)) if model.col_scale is None else np.flatnonzero(model.col_scale[1:].cpu()) + 1
    return TextCnnParts(
        classes=model.classes,
        words=[names[number - 1] for number in known],
        vectors=np.ascontiguousarray(vectors[[0, *known]]),
        network=network,
        named=network.named(predictor.parameters[0], predictor.buffers[0]),
        probabilities=model.probabilities,
        calibrator=model.calibrator,
    )
