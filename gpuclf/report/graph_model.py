"""From a decomposable model, or one for each of several ambiguous words, to what is told of its graph."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gpuclf.features.sense_words import SenseWordsEncoder
from gpuclf.features.word_sense import WordSenseEncoder, input_names
from gpuclf.models.decomposable.predictor import DecomposablePredictor
from gpuclf.models.decomposable.word_predictor import WordPredictor
from gpuclf.report.graph_facts import CLASS_NAME, GraphFacts, WordFacts
from gpuclf.train.model_file import Model


def graph_facts(model: Model) -> GraphFacts | None:
    """The facts of a decomposable model; None for others, and where every ambiguous word has one of its own."""
    predictor = model.predictor
    if not isinstance(predictor, DecomposablePredictor):
        return None
    encoder = model.encoder
    if not isinstance(encoder, WordSenseEncoder):
        return _facts(predictor, list(encoder.names))
    assert model.col_scale is not None, "contexts have word sets"
    return _facts(predictor, _inputs(encoder, model.classes, model.col_scale))


def word_facts(model: Model) -> dict[str, WordFacts]:
    """The facts of each ambiguous word's model, by word; none for models without."""
    predictor, encoder = model.predictor, model.encoder
    if not isinstance(predictor, WordPredictor):
        return {}
    assert isinstance(encoder, SenseWordsEncoder), "contexts of several words"
    assert model.col_scale is not None, "contexts have word sets"
    words = list(zip(encoder.words, encoder.encoders, encoder.own_classes, strict=True))
    scales = model.col_scale.cpu().split([len(own.words) * (len(senses) + 1) for _, own, senses in words])
    found = {}
    for place, (word, own, senses) in enumerate(words):
        one = predictor.of_word(place)
        graph = _facts(one, _inputs(own, senses, scales[place]))
        shares = dict(zip(senses, one.prior[0].exp().tolist(), strict=True))
        found[word] = WordFacts(graph, shares, int(one.documents[0]))
    return found


def _facts(predictor: DecomposablePredictor, inputs: Sequence[str]) -> GraphFacts:
    """Of the first replica's model, with its inputs by name."""
    edges = [(a, b) for a, b in predictor.edges[0].tolist() if a >= 0]
    weights = () if predictor.weights is None else predictor.weights[0].tolist()
    return GraphFacts([CLASS_NAME, *inputs], edges, predictor.combine, int(predictor.models[0]), weights)


def _inputs(encoder: WordSenseEncoder, classes: Sequence[str], col_scale: Tensor) -> list[str]:
    """The inputs of an ambiguous word's contexts by name, the frequent words among them by a view's sets (W · (K + 1),)
    (see gpuclf.features.word_sets)."""
    sets = col_scale.reshape(len(encoder.words), -1) if encoder.words else torch.zeros(0, 1)
    return input_names(encoder, classes, sets[:, -1].long().tolist())
