"""A run folder while a process works on it, and at the end: predictions, tables, metrics.json, report.html."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpuclf.report.console import print_grid, print_test
from gpuclf.report.ending import last_row, not_converged
from gpuclf.report.final_figures import final_figures, grid_plan, seeks_optimum
from gpuclf.report.metrics_log import read_rows
from gpuclf.report.network_figures import write_projector
from gpuclf.report.network_graph import network_graph
from gpuclf.report.predictions import predictions_file
from gpuclf.report.run_folder import RunFolder
from gpuclf.report.run_lock import locked
from gpuclf.report.run_observer import RunObserver, WorkerObserver
from gpuclf.report.word_cells import print_word_cells
from gpuclf.report.word_table import judged_of, print_words
from gpuclf.train.devices import choose_device
from gpuclf.train.distribution import meet, rank
from gpuclf.train.experiment import ExperimentResult
from gpuclf.train.labelled_file import Predictions
from gpuclf.train.model_file import Model
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.run import Result

OUT_OF_FOLD = "out_of_fold.tsv"
HEADLINE = ("accuracy", "macro_f1")  # what the grid's table shows; metrics.json has the rest
CHUNKS = ("chunk_precision", "chunk_recall", "chunk_f1")  # of tokens with tags such as B-NP
ASPECTS = ("aspect_precision", "aspect_recall", "aspect_f1", "any_aspect_f1")  # of tokens of reviews


@contextmanager
def working_on(folder: RunFolder, options: ExperimentOptions) -> Iterator[RunObserver | WorkerObserver]:
    """The observer of this process; the first process holds the folder's lock meanwhile."""
    if rank() != 0:
        meet()  # nothing of the folder is touched before it is locked
        worker = WorkerObserver(folder, rank())
        try:
            yield worker
        finally:
            worker.close()
        return
    device = choose_device(options.device)
    with locked(folder):
        meet()
        with RunObserver(folder, grid_plan(options), device, options.run.tensorboard) as observer:
            yield observer


def finish(
    folder: RunFolder,
    options: ExperimentOptions,
    config_text: str,
    result: Result,
    observer: RunObserver | WorkerObserver,
) -> None:
    """Writes what a finished run leaves, prints its tables, and writes metrics.json, the mark of the end.

    The page for a person comes after it: it tells what is there already, and nothing about it can hold the figures up.
    """
    assert isinstance(observer, RunObserver)
    if not isinstance(result, ExperimentResult):
        from gpuclf.report.tagging.finish import finish_tagging

        finish_tagging(folder, options, config_text, result, observer)
        return
    for path, predictions in ((folder.predictions, result.test), (folder.path / OUT_OF_FOLD, result.out_of_fold)):
        if predictions is not None:
            _write(path, predictions, result.models[0].model)
    short = not_converged(result.metrics, seeks_optimum(result.models[0].model))
    last = last_row(read_rows(folder.metrics_log), result.models[0].seed) if short else None
    figures = final_figures(options, config_text, result, last)
    if short:
        observer.note(figures.ending[0])
    observer.final(figures)
    if options.run.tensorboard:
        from gpuclf.report.tensorboard import write_graph

        write_projector(folder.path, result.models[0].model)
        write_graph(folder.path, network_graph(result.models[0].model))
    _print(options, result)
    for log in folder.worker_logs():
        log.unlink()  # their rows are in metrics.jsonl
    folder.write_metrics(result.metrics)
    if options.run.report:
        from gpuclf.report.html.written import write_report

        write_report(folder, options, figures, result, observer.reads)
    print(f"run folder: {folder.path}")


def _print(options: ExperimentOptions, result: ExperimentResult) -> None:
    metrics = result.metrics
    if metrics["best"]["value"] is not None:
        shown = dict.fromkeys((options.select.metric, *HEADLINE))
        print_grid([_headline(cell, tuple(shown)) for cell in metrics["cells"]], metrics["best"])
    if "mean" in metrics.get("nested", {}):
        nested, metric = metrics["nested"], metrics["nested"]["metric"]
        spread = f"{nested['mean'][metric]:.4f} ± {nested['std'][metric]:.4f}"
        print(f"nested, each fold by the cell chosen without it: {metric} {spread} over {len(nested['folds'])} folds")
    if "test" in metrics:
        print_test(shown_figures(metrics["test"]))
        for name in sorted(name for name in metrics if name.startswith("test_") and name != "test_seeds"):
            variant = name.removeprefix("test_")
            print(f"test with the {variant} weights: accuracy {metrics[name]['accuracy']:.4f}")
    if "test_seeds" in metrics:
        seeds = metrics["test_seeds"]
        names = [name for name in ("aspect_f1", "chunk_f1", "accuracy") if name in seeds["mean"]]
        figures = ", ".join(f"{name} {seeds['mean'][name]:.4f} ± {seeds['std'][name]:.4f}" for name in names)
        print(f"test over {len(seeds['runs'])} seeds: {figures}")
    print_words(judged_of(metrics))
    print_word_cells(metrics)


def shown_figures(test: dict[str, Any]) -> dict[str, Any]:
    """The figures of a labelled file that are printed; metrics.json has all of them."""
    names = (
        "documents",
        *ASPECTS,
        *CHUNKS,
        *HEADLINE,
        "accuracy_over_words",
        "log_loss",
        "expected_calibration_error",
        "per_class",
        "per_chunk",
    )
    shown = {name: test[name] for name in names if name in test}
    if_any = (
        "log_loss_infinite_documents",
        "no_known_feature",
        "never_predicted",
        "without_gold",
        "not_in_training",
    )
    return shown | {name: test[name] for name in if_any if test.get(name)}


def _headline(cell: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The cell with these figures only."""
    keep = {*names, "seed", "fold", "failed"}
    runs = [{key: value for key, value in run.items() if key in keep} for run in cell["runs"]]
    mean, std = ({n: cell[part][n] for n in names if n in cell[part]} for part in ("mean", "std"))
    return cell | {"runs": runs, "mean": mean, "std": std}


def _write(path: Path, predictions: Predictions, model: Model) -> None:
    gold = [predictions.classes[index] for index in predictions.gold.tolist()]
    with predictions_file(path, model.classes) as writer:
        writer.add(predictions.ids, gold, predictions.predicted, predictions.scores)
