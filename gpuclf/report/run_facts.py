"""What `gpuclf show` tells of a run folder: the model, its options, its sizes, where it errs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.optim.calibration import calibrator_name
from gpuclf.report.content_topics import topic_facts
from gpuclf.report.explain import ModelFacts, sparsity
from gpuclf.report.final_figures import model_weights
from gpuclf.report.finished_run import OUT_OF_FOLD
from gpuclf.report.forest_text import importances, tree_lines
from gpuclf.report.graph_model import graph_facts, word_facts
from gpuclf.report.predictions import read_predictions
from gpuclf.report.run_folder import RunFolder
from gpuclf.report.transitions import model_transitions
from gpuclf.report.word_table import judged_of
from gpuclf.train.model_file import load_model


def run_facts(folder: RunFolder, word: str | None = None) -> ModelFacts:
    """The facts of a run with a model; confusions are those of the test file, else of the out-of-fold rows. word: of
    several ambiguous words with a model each, this one alone. Raises: UserFault where there is no such word."""
    facts = _run_facts(folder)
    return facts if word is None else _of_word(facts, word)


def _of_word(facts: ModelFacts, word: str) -> ModelFacts:
    if word not in facts.words:
        if not facts.words:
            raise UserFault("--word is for models with features.by_word, one for each ambiguous word")
        near = get_close_matches(word, facts.words, 3, 0.3) or list(facts.words)[:3]
        raise UserFault(f"--word {word}: there is no such word", remedy=f"name one such as {', '.join(near)}")
    own = {name: figures["per_word"][word] for name, figures in facts.judged.items()}
    judged = {name: {"per_word": {word: row}} for name, row in own.items()}
    return replace(facts, words={word: facts.words[word]}, judged=judged, options={}, confusion=None)


def _run_facts(folder: RunFolder) -> ModelFacts:
    model = load_model(folder.path, torch.device("cpu"))
    classes, confusion = list(model.classes), None
    for path in (folder.predictions, folder.path / OUT_OF_FOLD):
        if path.is_file():
            classes, confusion = _confusion(path, classes)
            break
    features: dict[str, Any] = model.features.model_dump(exclude_defaults=True)
    options = {f"model.{key}": value for key, value in model.options.model_dump().items()}
    options |= {f"features.{key}": value for key, value in features.items()}
    if model.calibrator is not None:
        options["calibrate"] = calibrator_name(model.calibrator)
    weights = model_weights(model)
    graph, words = graph_facts(model), word_facts(model)
    metrics = _metrics(folder)
    sizes = {"classes": len(model.classes), "features": len(model.encoder.names)}
    if words:
        sizes["words"] = len(words)
    if weights is not None and options.get("model.penalty") in ("l1", "elasticnet"):
        sizes |= sparsity(weights)
    return ModelFacts(
        name=folder.path.name if folder.path.name else str(folder.path),
        classes=model.classes,
        feature_names=model.encoder.names,
        weights=weights,
        transitions=model_transitions(model),
        topics=topic_facts(model),
        confusion=confusion,
        unknown_classes=classes[len(model.classes) :],
        options=options,
        sizes=sizes,
        importances=importances(model),
        tree=tree_lines(model),
        graph=None if graph is None else graph.lines(),
        words={word: facts.lines() for word, facts in words.items()},
        judged=judged_of(metrics) if words else {},
        forest=metrics.get("forest", {}),
    )


def _metrics(folder: RunFolder) -> dict[str, Any]:
    """metrics.json; nothing for runs without that file."""
    found: dict[str, Any] = json.loads(folder.metrics.read_bytes()) if folder.metrics.is_file() else {}
    return found


def _confusion(path: Path, classes: Sequence[str]) -> tuple[list[str], Tensor]:
    """Counts by gold and predicted class; classes that only gold has come after the model's."""
    _, documents = read_predictions(path)
    place = {name: index for index, name in enumerate(classes)}
    pairs = [(place.setdefault(gold, len(place)), place[predicted]) for _, gold, predicted, _ in documents]
    counts = torch.zeros(len(place), len(place), dtype=torch.int64)
    for gold_index, predicted_index in pairs:
        counts[gold_index, predicted_index] += 1
    return list(place), counts
