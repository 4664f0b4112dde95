"""report.html of a run folder: gathers what is known when the run is over, and writes the page, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from gpuclf.data.atomic_write import atomic_write
from gpuclf.data.records import ReadReport
from gpuclf.metrics.confusion import confusion
from gpuclf.report.html.learning_section import wanted_figures
from gpuclf.report.html.mean_curves import mean_curves
from gpuclf.report.html.page import page
from gpuclf.report.html.page_facts import PageFacts
from gpuclf.report.metrics_log import read_rows
from gpuclf.report.run_folder import RunFolder
from gpuclf.report.summary import FinalFigures
from gpuclf.train.experiment import ExperimentResult
from gpuclf.train.labelled_file import Predictions
from gpuclf.train.mistakes import Mistake, surest_mistakes, with_texts
from gpuclf.train.options import ExperimentOptions

_MISTAKES = 30


def write_report(
    folder: RunFolder,
    options: ExperimentOptions,
    figures: FinalFigures,
    result: ExperimentResult,
    reads: Sequence[tuple[str, ReadReport]],
) -> None:
    """Reads metrics.jsonl, env.json and the texts of the mistakes. `figures`: what TensorBoard was given."""
    model = result.models[0].model
    shown = result.test if result.test is not None else result.out_of_fold
    facts = PageFacts(
        figures=figures,
        metrics=result.metrics,
        learner=str(getattr(model.options, "type", "model")),
        finished=datetime.now(),
        folder=folder.path.name,
        reads=reads,
        curves=mean_curves(read_rows(folder.metrics_log), wanted_figures(result.metrics["best"]["metric"])),
        environment=_environment(folder),
        gold_classes=() if shown is None else shown.classes,
        confusion=None if shown is None else confusion(shown.gold, shown.predicted, len(shown.classes)),
        mistakes=() if shown is None else _mistakes(options, result, shown, figures),
        probabilities=model.probabilities,
    )
    atomic_write(folder.report, page(facts))


def _mistakes(
    options: ExperimentOptions, result: ExperimentResult, shown: Predictions, figures: FinalFigures
) -> list[Mistake]:
    """The surest mistakes; scores are those of the figures (log probabilities where the learner gives them)."""
    model = result.models[0].model
    assert figures.scores is not None
    judged = Predictions(shown.ids, shown.classes, shown.gold, figures.scores, shown.known, shown.flagged)
    if result.test is not None and options.test is not None:
        file = options.test.file
    elif options.validation is not None and options.validation.file is not None:
        file = options.validation.file
    else:
        file = options.data.train
    return with_texts(surest_mistakes(judged, _MISTAKES), options.data, file, model.index_base, encoder=model.encoder)


def _environment(folder: RunFolder) -> dict[str, Any]:
    return json.loads(folder.env.read_bytes()) if folder.env.is_file() else {}
