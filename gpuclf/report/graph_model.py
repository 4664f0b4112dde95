"""From a decomposable model to what is told of its graph."""

from __future__ import annotations

import torch

from gpuclf.features.word_sense import WordSenseEncoder, input_names
from gpuclf.models.decomposable.predictor import DecomposablePredictor
from gpuclf.report.graph_facts import CLASS_NAME, GraphFacts
from gpuclf.train.model_file import Model


def graph_facts(model: Model) -> GraphFacts | None:
    """The facts of a decomposable model; None for others."""
    predictor = model.predictor
    if not isinstance(predictor, DecomposablePredictor):
        return None
    edges = [(a, b) for a, b in predictor.edges[0].tolist() if a >= 0]
    names = [CLASS_NAME, *_inputs(model)]
    weights = () if predictor.weights is None else predictor.weights[0].tolist()
    return GraphFacts(names, edges, predictor.combine, int(predictor.models[0]), weights)


def _inputs(model: Model) -> list[str]:
    encoder = model.encoder
    if not isinstance(encoder, WordSenseEncoder):
        return list(encoder.names)
    assert model.col_scale is not None, "contexts have word sets"
    sets = model.col_scale.reshape(len(encoder.words), -1) if encoder.words else torch.zeros(0, 1)
    return input_names(encoder, model.classes, sets[:, -1].long().tolist())
