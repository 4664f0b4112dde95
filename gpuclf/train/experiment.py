"""A whole experiment with classes: read, choose among the cells, train the final model, test it, save it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.train.calibration import Calibration, calibrate, calibrated
from gpuclf.train.checkpoint import Checkpoint
from gpuclf.train.corpus import Corpus
from gpuclf.train.corpus_source import CorpusSource
from gpuclf.train.distribution import rank
from gpuclf.train.final_stage import FINAL, SeedModel, kept_models, train_final
from gpuclf.train.forest_figures import forest_figures
from gpuclf.train.grid import Cell, expand, seeds_of
from gpuclf.train.grid_stage import GridResult, out_of_fold, run_grid
from gpuclf.train.input_files import require_inputs
from gpuclf.train.labelled_file import Predictions, check_labelled, figures, predict_labelled, read_labelled
from gpuclf.train.model_file import save_model
from gpuclf.train.nested import nested_record
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.run_context import RunContext
from gpuclf.train.selection import CellRecord, RunRecord, cell_records
from gpuclf.train.token_chunks import token_chunks
from gpuclf.train.views import Split, fold_record, held_out_split, whole_split
from gpuclf.train.word_figures import judged_words


@dataclass(frozen=True)
class ExperimentResult:
    """What an experiment gives. `metrics` is metrics.json (DESIGN §8)."""

    metrics: dict[str, Any]
    models: list[SeedModel]  # one a seed; the first is the saved one
    corpus: Corpus
    test: Predictions | None
    out_of_fold: Predictions | None


def run_classification(context: RunContext) -> ExperimentResult | None:
    """Runs the experiment of `context`. Under torchrun the processes share the grid; the first does the rest, and the
    others get None."""
    options = context.options
    require_inputs(options)
    cells, seeds = expand(options), seeds_of(options)
    began_with = context.saved.values["fingerprint"] if context.saved is not None else None
    source = CorpusSource(context.observer, context.watch, began_with)
    context.fingerprint = _checked(options, source.corpus(cells[0].options)).sha256
    held_out = options.folds is not None or options.validation is not None
    grid = run_grid(context, source, cells, seeds, not _refits(options)) if held_out else None
    if rank() != 0:
        return None
    cell = cells[0] if grid is None else cells[grid.best.index]
    corpus = source.corpus(cell.options)
    models = _final(context, corpus, cell, seeds, grid)
    calibration = _calibration(context, corpus, cell, grid)
    if calibration is not None:
        models = calibrated(models, calibration.calibrator)
    save_model(context.folder, models[0].model, {"status": models[0].status, "steps": models[0].steps})
    return _finished(context, corpus, cells, cell, grid, models, calibration)


def _calibration(context: RunContext, corpus: Corpus, cell: Cell, grid: GridResult | None) -> Calibration | None:
    method, split = context.options.calibrate, held_out_split(context.options, corpus)
    if method is None or grid is None or split is None:
        return None
    with context.watch.timed("evaluate"):
        docs = torch.sort(grid.harvest.docs).values
        held_out = _held_out_predictions(corpus, grid)
        return calibrate(method, corpus, split, docs, held_out, cell.options.model.probabilities)


def _checked(options: ExperimentOptions, corpus: Corpus) -> Corpus:
    """The corpus, once the test file is known to be readable beside it."""
    if options.test is not None:
        check_labelled(options.data, options.test.file, corpus.index_base)
    return corpus


def _refits(options: ExperimentOptions) -> bool:
    """Whether the chosen cell is trained once more on all training documents. A validation file is none of them, and
    a fold on its own is asked for to see that fold's model."""
    if options.select.refit is not None:
        return options.select.refit
    return options.validation is None or options.validation.fraction is not None


def _final(
    context: RunContext, corpus: Corpus, cell: Cell, seeds: Sequence[int], grid: GridResult | None
) -> list[SeedModel]:
    if grid is not None and not _refits(context.options):
        return kept_models(context, corpus, cell, grid)
    stage: tuple[dict[str, Any], dict[str, Tensor]] = ({}, {})
    steps: dict[int, int] = {}
    if grid is not None:
        stage = grid.state.pack()
        if context.options.train.early_stopping is not None:  # of each seed by itself, as if it were the only one
            by_seed = {seed: [run.steps for run in grid.best.runs if run.seed == seed] for seed in seeds}
            steps = {seed: max(1, round(fmean(taken))) for seed, taken in by_seed.items()}
    _check_stage(context.saved)
    return train_final(context, corpus, cell, seeds, stage, steps)


def _check_stage(saved: Checkpoint | None) -> None:
    if saved is not None and saved.values["stage"]["name"] != FINAL:
        raise UserFault("the newest checkpoint does not belong to this config", remedy="train again in a new folder")


def _finished(
    context: RunContext,
    corpus: Corpus,
    cells: Sequence[Cell],
    cell: Cell,
    grid: GridResult | None,
    models: list[SeedModel],
    calibration: Calibration | None,
) -> ExperimentResult:
    options, metric = context.options, context.options.select.metric
    records = _without_grid(cells, models) if grid is None else grid.cells
    best = records[cell.index]
    metrics: dict[str, Any] = {
        "cells": [record.as_json() for record in records],
        "best": {"cell": best.index, "options": best.options, "metric": metric, "value": best.mean.get(metric)},
        "final": [{"seed": m.seed, "status": m.status, "steps": m.steps} for m in models],
        "classes": list(corpus.classes),
    }
    test, judged = None, None
    with context.watch.timed("evaluate"):
        if options.test is not None:
            encoded = read_labelled(
                models[0].model, options.data, options.test.file, "test", context.observer, context.watch
            )
            test = predict_labelled(models[0].model, encoded)
            metrics |= _test_figures(models, test, encoded, len(corpus.classes))
            _note_unknown(context, options.test.file, test, len(corpus.classes))
            judged = (encoded, test.gold)
        held_out = None
        if grid is not None:
            held_out = _held_out_predictions(corpus, grid) if calibration is None else calibration.held_out
            split = held_out_split(options, corpus)
            if split is not None and split.folded:
                metrics["folds"] = fold_record(split, corpus)
            held_out = _with_words(held_out, models[0], corpus, grid, split)
            if options.folds is not None and options.folds.inner is not None:
                settings, simplest = [other.settings for other in cells], cells[0].options.model.simplest
                metrics["nested"] = nested_record(settings, grid.state.records, options.select, simplest)
            metrics["out_of_fold"] = figures(held_out, models[0].model.probabilities, len(corpus.classes))
        forest = forest_figures(models[0], corpus, _trained_on(options, corpus, grid), judged, options.run.permutations)
        if forest is not None:
            metrics["forest"] = forest
    if calibration is not None:
        metrics["calibration"] = calibration.record
        _note_uncalibrated(context, calibration)
    metrics["seconds"] = {name: round(value, 6) for name, value in context.watch.seconds.items()}
    metrics["device"] = str(context.device)
    return ExperimentResult(metrics, models, corpus, test, held_out)


def _trained_on(options: ExperimentOptions, corpus: Corpus, grid: GridResult | None) -> Split:
    """The split whose first view the final model was trained on."""
    kept = None if grid is None or _refits(options) else held_out_split(options, corpus)
    return whole_split(corpus) if kept is None else kept


def _without_grid(cells: Sequence[Cell], models: Sequence[SeedModel]) -> list[CellRecord]:
    """The table where nothing was held out: one cell, its runs without figures."""
    runs = [RunRecord(cells[0].index, model.seed, None, model.status, model.steps, {}) for model in models]
    return cell_records([cells[0].settings], runs)


def _test_figures(models: Sequence[SeedModel], test: Predictions, encoded: Any, num_known: int) -> dict[str, Any]:
    found: dict[str, Any] = {"test": figures(test, models[0].model.probabilities, num_known)}
    for name, other in models[0].alternatives.items():
        found[f"test_{name}"] = figures(predict_labelled(other, encoded), other.probabilities, num_known)
    if len(models) > 1:
        runs = [{"seed": models[0].seed, **_headline(found["test"])}]
        for seed_model in models[1:]:
            values = figures(predict_labelled(seed_model.model, encoded), seed_model.model.probabilities, num_known)
            runs.append({"seed": seed_model.seed, **_headline(values)})
        names = [name for name in runs[0] if name != "seed"]
        found["test_seeds"] = {
            "runs": runs,
            "mean": {name: fmean(run[name] for run in runs) for name in names},
            "std": {name: stdev(run[name] for run in runs) for name in names},
        }
    return found


def _headline(values: dict[str, Any]) -> dict[str, float]:
    names = ("accuracy", "macro_f1", "micro_f1", "weighted_f1", "aspect_f1", "any_aspect_f1", "chunk_f1")
    return {name: values[name] for name in names if name in values}


def _note_unknown(context: RunContext, file: Path, test: Predictions, num_known: int) -> None:
    for index in range(num_known, len(test.classes)):
        count = int((test.gold == index).sum())
        context.observer.note(
            f"{file}: class {test.classes[index]} is not in the training file; its {count} document(s) count as errors"
        )


def _note_uncalibrated(context: RunContext, calibration: Calibration) -> None:
    absent = calibration.record["classes_without_documents"]
    if absent:
        context.observer.note(
            f"no held-out document is of {', '.join(absent)}: calibration knows these classes only as being rare"
        )


def _held_out_predictions(corpus: Corpus, grid: GridResult) -> Predictions:
    ids, gold, scores = out_of_fold(corpus, grid.harvest)
    nothing = torch.zeros(len(ids), dtype=torch.bool)
    classes = corpus.classes + corpus.extra_classes
    chunks = token_chunks(corpus.rows, classes)
    sentence = None if chunks is None else chunks.sentences(grid.harvest.docs.sort().values.cpu())
    return Predictions(ids, classes, gold, scores, ~nothing, nothing, corpus.outside, sentence)


def _with_words(
    held_out: Predictions, model: SeedModel, corpus: Corpus, grid: GridResult, split: Split | None
) -> Predictions:
    """The held-out documents with the ambiguous word of each, where every word has a model of its own."""
    docs = torch.sort(grid.harvest.docs).values
    fold = split.held_by[split.first][docs] if split is not None and split.folded else None
    return replace(held_out, words=judged_words(model.model.predictor, corpus.rows, docs, fold))
