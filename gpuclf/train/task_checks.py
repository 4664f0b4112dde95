"""What the keys of an experiment demand of each other by the task of its learner: classes of documents, or tags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from gpuclf.faults import UserFault
from gpuclf.models.registry import learner_options
from gpuclf.train.options import ExperimentOptions, Metric, TaggingMetric

_HELD_OUT = ("folds", "validation")


def tasks_of(options: ExperimentOptions) -> list[str]:
    """The tasks of the learners that the experiment trains, each once: those of the grid, or of the model section."""
    names = [str(name) for name in options.grid.get("model.type", [options.model.type])]
    return list(dict.fromkeys(learner_options(name).task for name in names))


def task_faults(options: ExperimentOptions) -> Iterator[UserFault]:
    """Sections and values that belong to another task."""
    tasks = tasks_of(options)
    if len(tasks) > 1:
        yield UserFault(
            "learners of classes and of tags cannot be compared in one grid",
            key="grid.model.type",
            remedy="train apart",
        )
        return
    tags = tasks == ["tag"]
    metrics = get_args(TaggingMetric if tags else Metric)
    if options.select.metric not in metrics:
        yield UserFault(
            f"{options.select.metric} does not measure what {options.model.type} gives; there are {', '.join(metrics)}",
            key="select.metric",
            remedy="take one of these",
        )
    if not tags:
        if options.features.type == "word_types":
            yield UserFault(
                f"{options.model.type} learns from documents, and word_types makes none",
                key="features.type",
                remedy="write features: {type: bag_of_words}, or train a type_tagger",
            )
        return
    if options.features.type != "word_types":
        yield UserFault(
            f"{options.model.type} works on word types, and {options.features.type} gives none",
            key="features.type",
            remedy="write features: {type: word_types}, or leave features out",
        )
    for name in _HELD_OUT:
        if getattr(options, name) is not None:
            yield UserFault(
                f"{options.model.type} learns from all of its text without labels; nothing is held out",
                key=name,
                remedy=f"remove it (on the command line: ~{name}); test: {{file: …}} measures the tagger on other text",
            )
    if options.calibrate is not None:
        yield UserFault(
            "tags that no document is known to have cannot be calibrated", key="calibrate", remedy="remove it"
        )
    if options.select.one_standard_error or options.select.refit is not None:
        key = "select.one_standard_error" if options.select.one_standard_error else "select.refit"
        yield UserFault("has no meaning without folds or validation", key=key, remedy="remove it")
    other_text = [key for key in options.grid if key.startswith(("features.", "data."))]
    if other_text and options.select.metric == "log_joint":
        yield UserFault(
            "log joints of different texts or features are not comparable",
            key=f"grid.{other_text[0]}",
            remedy="choose by gold tags (select.metric: v_measure), or train apart",
        )
