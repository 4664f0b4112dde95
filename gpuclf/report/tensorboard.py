"""TensorBoard event files of a run, all within the run folder. The only place that imports tensorboard.

Layout: without a grid everything is in the run folder itself. With one, each cell is a sub-run `cells/NN_OPTIONS`, so
that one chart of the tag `held_out/accuracy` shows a curve per cell and the HPARAMS table a row per cell; what concerns
the whole run (refit, test, PR curves, pictures, histograms, text) is in the run folder's own event file.

Tags: `fit/*` figures of the training steps and `held_out/*` metrics, means over the cell's folds and seeds; `runs/*`
the single folds and seeds; `summary/*` the cell's figures in metrics.json; `refit/*` the chosen cell on all rows;
`test/*`; `gold/*` a tagger's figures against gold tags; `forest/*` a forest's, accuracy being a curve over the number
of its trees; `importance/*`, `splits/*`, `permutation/*` of its inputs. Steps are the learner's (from 1), final figures
stand at step 0; every tag has each step once, rising.
"""

from __future__ import annotations

import itertools
import math
import os
import re
import struct
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.histogram_pb2 import HistogramProto
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.pr_curve import metadata as pr_metadata
from tensorboard.plugins.text import metadata as text_metadata
from tensorboard.summary.writer.record_writer import RecordWriter
from tensorboard.util.tensor_util import make_tensor_proto
from torch import Tensor

from gpuclf.data.atomic_write import named_faults
from gpuclf.report.cell_curve import CellCurve
from gpuclf.report.content_topics import moves_figure, topics_markdown
from gpuclf.report.forest_record import forest_scalars
from gpuclf.report.grid_figure import grid_figure
from gpuclf.report.network_graph import GraphNode
from gpuclf.report.plots import confusion_figure, png, pr_figure
from gpuclf.report.ranking_curve import pr_curve, thin
from gpuclf.report.reliability_figure import reliability_figure
from gpuclf.report.strict_json import number
from gpuclf.report.summary import (
    NOT_EVALUATED,
    FinalFigures,
    GridPlan,
    StepRow,
    cell_failure,
    cell_label,
    metric_names,
    option_text,
    run_label,
    short_names,
    step_figures,
)
from gpuclf.report.tensorboard_texts import texts_of
from gpuclf.report.topic_record import TopicFacts

_EVENTS = "events.out.tfevents."
_CELLS = "cells"
_PR_POINTS = 128
_HISTOGRAM_BINS = 30
_INPUTS = 50  # of a forest, with a curve of their own
_RUN_CURVES = 200  # folds × seeds with curves of their own; of more (leave-one-out) nobody could look at each
_file_numbers = itertools.count()


class TensorBoardLog:
    """Writes a run's event files as training goes. Files are opened, extended and closed at every call: a grid of a
    thousand cells holds no file open, and what was written is on its way to the disk."""

    def __init__(self, folder: Path, plan: GridPlan):
        self._plan = plan
        self._expected = len(plan.runs) if plan.counted else sys.maxsize
        self._started = time.time()
        self._root = _EventFile(folder)
        self._files = [self._root]
        if len(plan.cells) > 1:
            self._files = [_EventFile(folder / _CELLS / name) for name in _folder_names(plan.cells)]
        self._curves: dict[tuple[str, int], CellCurve] = {}

    @classmethod
    def rebuild(cls, folder: Path, rows: Iterable[StepRow], plan: GridPlan) -> TensorBoardLog:
        """Deletes the event files of a run that is resumed, and writes the rows (of the cut metrics.jsonl) again.

        So a tag never has a step twice, and points after the checkpoint are gone.
        """
        for old in [*folder.glob(f"{_EVENTS}*"), *folder.glob(f"{_CELLS}/*/{_EVENTS}*")]:
            old.unlink()
        log = cls(folder, plan)
        for file in {log._root, *log._files}:
            file.add_restart()
        for _, group in itertools.groupby(rows, key=lambda row: (row["phase"], row["batch"], row["step"])):
            log.step(list(group))
        return log

    def step(self, rows: Sequence[StepRow]) -> None:
        """The rows of one step of one batch of replicas."""
        touched: dict[tuple[str, int], None] = {}
        for row in rows:
            if row["phase"] == "inner":
                continue  # inner folds choose a cell for one fold; metrics.json tells which
            key = (row["phase"], row["cell"])
            touched[key] = None
            run = (row["seed"], row["fold"])
            if key not in self._curves:
                self._curves[key] = CellCurve(self._expected if row["phase"] == "grid" else 1)
            self._write_topics(row)
            figures = step_figures(row)
            self._curves[key].add(run, row["step"], figures)
            if row["phase"] == "grid" and 1 < self._expected <= _RUN_CURVES:
                suffix = run_label(*run)
                self._files[row["cell"]].add(
                    row["step"],
                    [_scalar(f"runs/{name}/{suffix}", value) for name, value in figures.items()],
                    row.get("time"),
                )
        for key in touched:
            self._write_means(key, rows[-1].get("time"))
        self._flush()

    def _write_topics(self, row: StepRow) -> None:
        """What a content model tells as it learns: of a cell the first seed and fold, and the final model's."""
        first = (row["seed"], row["fold"]) == self._plan.runs[0] if row["phase"] == "grid" else row["fold"] is None
        if "topics" not in row or not first or row["seed"] != self._plan.runs[0][0]:
            return
        facts = TopicFacts(row["topics"], torch.tensor(row["topic_moves"], dtype=torch.float64))
        file = self._files[row["cell"]] if row["phase"] == "grid" else self._root
        words = _text(f"{row['phase']}/topics", topics_markdown(facts.words))
        moves = _picture(f"{row['phase']}/topic_moves", png(moves_figure(facts)))
        file.add(row["step"], [words, moves], row.get("time"))

    def final(self, figures: FinalFigures) -> None:
        """Everything that is known when training is over."""
        self._write_remaining()
        self._write_hparams(figures)
        root = partial(self._root.add, 0)
        root([_text(tag, text) for tag, text in texts_of(figures).items()])
        root([_scalar(f"test/{k}", value) for k, v in figures.test.items() if (value := number(v)) is not None])
        if figures.gold is not None and figures.predicted is not None and figures.gold.numel():
            root(_evaluation(figures, figures.gold, figures.predicted))
        grid = grid_figure(figures.cells, figures.best)
        if grid is not None:
            root([_picture("pictures/grid", png(grid))])
        if figures.importances is not None:
            root([_scalar(f"importance/{name}", share) for name, share in figures.importances[:_INPUTS]])
        for step, scalars in forest_scalars(figures.forest):
            self._root.add(step, [_scalar(tag, value) for tag, value in scalars.items()])
        if figures.weights is not None:
            root(_weight_histograms(figures.weights, figures.classes))
        root([_histogram_value(tag, values) for tag, values in figures.histograms.items() if values.numel()])
        root([_picture(f"pictures/{name}", encoded) for name, encoded in figures.pictures.items()])
        self._flush()

    def close(self) -> None:
        """Writes means that waited for runs which never came (an interrupted run); nothing may follow."""
        self._write_remaining()
        self._flush()

    def _write_remaining(self) -> None:
        for key in self._curves:
            self._write_means(key, None, everything=True)

    def _write_means(self, key: tuple[str, int], wall_time: float | None, *, everything: bool = False) -> None:
        phase, cell = key
        file, prefix = (self._files[cell], "") if phase == "grid" else (self._root, f"{phase}/")
        for step, means in self._curves[key].take(everything=everything):
            tags = {name if not prefix else prefix + name.removeprefix("fit/"): value for name, value in means.items()}
            file.add(step, [_scalar(tag, value) for tag, value in tags.items()], wall_time)

    def _write_hparams(self, figures: FinalFigures) -> None:
        """The HPARAMS tab: an experiment in the root, one session per cell with its final metrics."""
        keys = list(dict.fromkeys(key for cell in figures.cells for key in cell["options"]))
        names = short_names(keys)
        metrics = metric_names(figures.cells)
        experiment = api_pb2.Experiment(
            name=figures.name,
            time_created_secs=self._started,
            hparam_infos=[
                _hparam_info(key, names[key], [c["options"].get(key) for c in figures.cells]) for key in keys
            ],
            metric_infos=[_metric_info(f"summary/{name}", f"{name} (mean)") for name in metrics]
            + [_metric_info(f"summary/{name}_sd", f"{name} (sd)") for name in metrics if _has_sd(figures.cells, name)],
        )
        data = plugin_data_pb2.HParamsPluginData
        self._root.add(0, [_hparams(hparams_metadata.EXPERIMENT_TAG, data(experiment=experiment))])
        for file, cell in zip(self._files, figures.cells, strict=True):
            failed = cell_failure(cell) not in (None, NOT_EVALUATED)
            # without a group name a session is its own group: cells of other run folders never mix with it
            start = plugin_data_pb2.SessionStartInfo(start_time_secs=self._started)
            for key, value in cell["options"].items():
                _set_hparam(start.hparams[key], value, as_text=not _is_number_column(figures.cells, key))
            status = api_pb2.STATUS_FAILURE if failed else api_pb2.STATUS_SUCCESS
            end = plugin_data_pb2.SessionEndInfo(status=status, end_time_secs=time.time())
            file.add(0, [] if failed else _final_scalars(cell))
            file.add(0, [_hparams(hparams_metadata.SESSION_START_INFO_TAG, data(session_start_info=start))])
            file.add(0, [_hparams(hparams_metadata.SESSION_END_INFO_TAG, data(session_end_info=end))])

    def _flush(self) -> None:
        for file in {self._root, *self._files}:
            file.flush()


def write_graph(folder: Path, nodes: Sequence[GraphNode]) -> None:
    """The graph of a network in an event file of its own; nothing without nodes."""
    graph = GraphDef()
    for n in nodes:
        graph.node.add(name=n.name, op=n.kind, input=n.inputs, attr={k: AttrValue(s=v.encode()) for k, v in n.about})
    _EventFile(folder, [Event(wall_time=time.time(), graph_def=graph.SerializeToString())] if nodes else []).flush()


class _EventFile:
    """One event file; made on the first flush with something in it."""

    def __init__(self, folder: Path, pending: Sequence[Event] = ()):
        self._folder = folder
        # TensorBoard reads a folder's files in the order of their names
        self._path = folder / f"{_EVENTS}{int(time.time()):010d}.gpuclf.{os.getpid()}.{next(_file_numbers):06d}"
        self._pending = list(pending)

    def add(self, step: int, values: Sequence[Summary.Value], wall_time: float | None = None) -> None:
        if values:
            when = time.time() if wall_time is None else wall_time
            self._pending.append(Event(wall_time=when, step=step, summary=Summary(value=values)))

    def add_restart(self) -> None:
        """Tells a TensorBoard that already shows the deleted file to drop its points."""
        self._pending.append(Event(wall_time=time.time(), step=0, session_log=SessionLog(status=SessionLog.START)))

    def flush(self) -> None:
        if not self._pending:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        new = not self._path.exists()
        with named_faults(self._path), self._path.open("ab") as file:
            records = RecordWriter(file)
            if new:
                records.write(Event(wall_time=time.time(), file_version="brain.Event:2").SerializeToString())
            for event in self._pending:
                records.write(event.SerializeToString())
        self._pending.clear()


def _folder_names(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """A folder name per cell: its number, which keeps the grid's order in the list of runs, and its options."""
    width = len(str(len(cells) - 1))
    labels = [re.sub(r"[^\w=.,+\-]+", "_", re.sub(r"[\[\]]", "", cell_label(options)))[:80] for options in cells]
    return [f"{index:0{width}d}_{label}" for index, label in enumerate(labels)]


def _scalar(tag: str, value: float) -> Summary.Value:
    return Summary.Value(tag=tag, simple_value=value)


def _text(tag: str, markdown: str) -> Summary.Value:
    metadata = SummaryMetadata.FromString(text_metadata.create_summary_metadata(tag, "").SerializeToString())
    return Summary.Value(tag=tag, metadata=metadata, tensor=make_tensor_proto([markdown.encode("utf-8", "replace")]))


def _picture(tag: str, encoded: bytes) -> Summary.Value:
    width, height = struct.unpack(">II", encoded[16:24])  # of the PNG header
    image = Summary.Image(height=height, width=width, colorspace=4, encoded_image_string=encoded)
    return Summary.Value(tag=tag, image=image)


def _hparams(tag: str, content: Any) -> Summary.Value:
    metadata = hparams_metadata.create_summary_metadata(content)
    return Summary.Value(tag=tag, metadata=metadata, tensor=hparams_metadata.NULL_TENSOR)


def _evaluation(figures: FinalFigures, gold: Tensor, predicted: Tensor) -> list[Summary.Value]:
    """PR curves per class and the pictures."""
    rows = f"{figures.rows_are} rows"
    values = [_picture("pictures/confusion", png(confusion_figure(gold, predicted, figures.classes, title=rows)))]
    if figures.scores is None:
        return values
    values.append(_picture("pictures/pr_curves", png(pr_figure(gold, figures.scores, figures.classes, title=rows))))
    if figures.probabilities:
        values.append(_picture("pictures/reliability", png(reliability_figure(gold, figures.scores, title=rows))))
    for index, name in enumerate(figures.classes):
        positive = (gold == index).numpy()
        if positive.any():
            values.append(_pr_value(f"pr/{name}", positive, figures.scores[:, index].numpy(), rows))
    return values


def _pr_value(tag: str, positive: NDArray[np.bool_], scores: NDArray[Any], rows: str) -> Summary.Value:
    """The plugin thinks of thresholds evenly spread over [0, 1]; the scores of a linear model lie anywhere. So its
    `threshold` is the place of the point between the most lenient (0) and the strictest (1) one."""
    curve = thin(pr_curve(positive, scores), _PR_POINTS)
    true, false = curve.true_positives[::-1], curve.false_positives[::-1]
    total, negatives = int(positive.sum()), int((~positive).sum())
    data = np.stack([true, false, negatives - false, total - true, true / np.maximum(true + false, 1), true / total])
    note = f"{rows}; {total} of {len(positive)} are of this class. Threshold: 0 most lenient point, 1 strictest point."
    metadata = pr_metadata.create_summary_metadata(tag, note, data.shape[1])
    return Summary.Value(tag=tag, metadata=metadata, tensor=make_tensor_proto(data.astype(np.float32)))


def _weight_histograms(weights: Tensor, classes: Sequence[str]) -> list[Summary.Value]:
    """Of the weights that are neither 0 nor infinite, without the offset: all together, and one a class."""
    body = weights[1:].numpy()
    columns = [("weights/all", body.ravel()), *((f"weights_of_class/{n}", body[:, k]) for k, n in enumerate(classes))]
    return [
        Summary.Value(tag=tag, histo=_histogram(kept))
        for tag, column in columns
        if (kept := column[np.isfinite(column) & (column != 0)].astype(np.float64)).size
    ]


def _histogram_value(tag: str, values: Tensor) -> Summary.Value:
    return Summary.Value(tag=tag, histo=_histogram(values.double().numpy()))


def _histogram(values: NDArray[np.float64]) -> HistogramProto:
    counts, edges = np.histogram(values, bins=_HISTOGRAM_BINS)
    return HistogramProto(
        min=values.min(),
        max=values.max(),
        num=values.size,
        sum=values.sum(),
        sum_squares=np.square(values).sum(),
        bucket_limit=edges.tolist(),  # a bucket ends at its limit: the first one, below all values, is empty
        bucket=[0, *counts.tolist()],
    )


def _is_number_column(cells: Sequence[Mapping[str, Any]], key: str) -> bool:
    values = [cell["options"].get(key) for cell in cells]
    return all(isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in values)


def _hparam_info(key: str, name: str, values: Sequence[Any]) -> api_pb2.HParamInfo:
    """A column; mixed and infinite values (C: [1, inf]) are shown as text, which the table takes for every option."""
    info = api_pb2.HParamInfo(name=key, display_name=name)
    if _is_number_column([{"options": {key: value}} for value in values], key):
        info.type = api_pb2.DATA_TYPE_FLOAT64
        info.domain_interval.min_value, info.domain_interval.max_value = min(values), max(values)
        info.differs = len(set(values)) > 1
        return info
    info.type = api_pb2.DATA_TYPE_STRING
    texts = list(dict.fromkeys(option_text(value) for value in values))
    for text in texts:
        info.domain_discrete.values.add(string_value=text)
    info.differs = len(texts) > 1
    return info


def _set_hparam(target: Any, value: Any, *, as_text: bool) -> None:
    if as_text:
        target.string_value = option_text(value)
    else:
        target.number_value = value


def _metric_info(tag: str, name: str) -> api_pb2.MetricInfo:
    return api_pb2.MetricInfo(name=api_pb2.MetricName(tag=tag), display_name=name)


def _has_sd(cells: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(number((cell.get("std") or {}).get(name)) is not None for cell in cells)


def _final_scalars(cell: Mapping[str, Any]) -> list[Summary.Value]:
    values = [("", cell.get("mean") or {}), ("_sd", cell.get("std") or {})]
    return [
        _scalar(f"summary/{k}{suffix}", value)
        for suffix, figures in values
        for k, v in figures.items()
        if (value := number(v)) is not None
    ]
