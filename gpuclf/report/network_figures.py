"""What is shown of a network: histograms of weights and activations, its layers, and word vectors for the projector."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from gpuclf.data.atomic_write import atomic_write
from gpuclf.features.rows import rows_to
from gpuclf.features.views import row_scale_of
from gpuclf.models.neural.network import Network, shape_of
from gpuclf.models.neural.portions import entries_of
from gpuclf.models.neural.predictor import NeuralPredictor
from gpuclf.train.corpus import Corpus
from gpuclf.train.model_file import Model

_DOCS = 500  # training documents whose activations are shown
_WORDS = 5_000  # points of the projector; more make a browser slow
CONFIG, VECTORS, LABELS = "projector_config.pbtxt", "projector_vectors.tsv", "projector_words.tsv"


def histograms(model: Model, corpus: Corpus) -> dict[str, Tensor]:
    """Values by tag: weights/* of each layer, activations/* of each hidden one on some documents; {} for others."""
    predictor = model.predictor
    if not isinstance(predictor, NeuralPredictor):
        return {}
    network = Network(shape_of(predictor.network), predictor.classes)
    table = predictor.table[0].cpu()
    values = {"weights/first_layer": table[table.any(1)].flatten()}
    parts = predictor.parameters[0].cpu().split([shape.numel() for shape in network.shapes.values()])
    values |= {f"weights/{name}": part for name, part in zip(network.shapes, parts, strict=True)}
    rows = rows_to(corpus.rows, model.device)
    row_scale = row_scale_of(rows, model.col_scale, model.features)
    docs = torch.arange(min(_DOCS, corpus.num_docs), device=model.device)
    entries = entries_of(rows, docs, model.col_scale, row_scale, network.shape.gap, predictor.table.dtype)
    _, seen = network.activations(predictor.parameters[0], predictor.buffers[0], predictor.sums(0, entries), entries)
    return values | {f"activations/layer_{place}": units.flatten().cpu() for place, units in enumerate(seen)}


def layers_text(model: Model) -> dict[str, str]:
    """The modules of the network in Markdown, as torch prints them, under `network`."""
    predictor = model.predictor
    if not isinstance(predictor, NeuralPredictor):
        return {}
    network = Network(shape_of(predictor.network), predictor.classes)
    first = f"first layer: a table of {tuple(predictor.table.shape[1:])}\n{network.module}"
    return {"network": "\n".join(f"    {line}" for line in first.splitlines())}


def write_projector(folder: Path, model: Model) -> None:
    """Three files for TensorBoard's embedding projector, where the model looks word vectors up; else nothing."""
    predictor = model.predictor
    if not isinstance(predictor, NeuralPredictor) or not shape_of(predictor.network).gap:
        return
    table = predictor.table[0].cpu()
    words = torch.nonzero(table[1:].any(1)).flatten()[:_WORDS] + 1
    names = model.encoder.names
    vectors = ["\t".join(f"{value:.5g}" for value in table[word].tolist()) + "\n" for word in words.tolist()]
    atomic_write(folder / VECTORS, "".join(vectors))
    atomic_write(folder / LABELS, "".join(" ".join(names[word - 1].split()) + "\n" for word in words.tolist()))
    entry = f'embeddings {{\n  tensor_name: "words"\n  tensor_path: "{VECTORS}"\n  metadata_path: "{LABELS}"\n}}\n'
    atomic_write(folder / CONFIG, entry)
