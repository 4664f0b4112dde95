"""What `gpuclf show` tells of a run folder: the model, its options, its sizes, where it errs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from gpuclf.optim.calibration import calibrator_name
from gpuclf.report.content_topics import topic_facts
from gpuclf.report.explain import ModelFacts, sparsity
from gpuclf.report.final_figures import model_weights
from gpuclf.report.finished_run import OUT_OF_FOLD
from gpuclf.report.forest_text import importances, tree_lines
from gpuclf.report.graph_model import graph_facts
from gpuclf.report.predictions import read_predictions
from gpuclf.report.run_folder import RunFolder
from gpuclf.report.transitions import model_transitions
from gpuclf.train.model_file import load_model


def run_facts(folder: RunFolder) -> ModelFacts:
    """The facts of a run with a model; confusions are those of the test file, else of the out-of-fold rows."""
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
    graph = graph_facts(model)
    sizes = {"classes": len(model.classes), "features": len(model.encoder.names)}
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
        forest=_forest(folder),
    )


def _forest(folder: RunFolder) -> dict[str, Any]:
    """What metrics.json has of a forest; nothing for other models, and for runs without that file."""
    if not folder.metrics.is_file():
        return {}
    found: dict[str, Any] = json.loads(folder.metrics.read_bytes()).get("forest", {})
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
