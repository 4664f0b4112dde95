"""Everything one experiment is made of: the sections of a config, as one frozen record.

What a single key may hold is checked here; what keys demand of each other is in `option_checks`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from gpuclf.data.options import REVIEWS, DataOptions, bundled_data
from gpuclf.data.paths import ConfigPath
from gpuclf.features.options import BagOfWordsOptions, FeatureOptions
from gpuclf.models.learner import LearnerOptions
from gpuclf.models.registry import LEARNERS, ModelOptions
from gpuclf.models.train_options import TrainOptions
from gpuclf.optim.calibration import CalibrationMethod

# Of held-out documents; the last two are of tokens: aspects in reviews, and spans that tags such as B-NP mark.
Metric = Literal["accuracy", "macro_f1", "micro_f1", "weighted_f1", "aspect_f1", "chunk_f1"]
TaggingMetric = Literal["log_joint", "many_to_one", "one_to_one", "v_measure"]  # of a tagger's chains
Seed = Annotated[int, Field(ge=0, lt=2**63)]
FoldCount = Annotated[int, Field(ge=2)]
Repeats = Annotated[int, Field(ge=1)]
FoldIndex = Annotated[int, Field(ge=0)]

RUN_ROOT = "runs"  # default of run.root; the config loader places it beside the config file


class Section(BaseModel):
    """A section of a config: nothing unknown, nothing converted, nothing changed afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class FoldChoice(Section):
    """One fold of a k-fold split: training rows are those of the other folds. Folds are numbered from 0."""

    k: FoldCount
    index: FoldIndex

    @model_validator(mode="after")
    def _index_below_k(self) -> FoldChoice:
        if self.index >= self.k:
            raise ValueError(f"index {self.index} is not a fold of k = {self.k}; folds are numbered from 0")
        return self


class ValidationOptions(Section):
    """Held-out documents to choose by and to stop early by: a file, a share of the training file, or one fold of it."""

    file: ConfigPath | None = None
    fraction: Annotated[float, Field(gt=0, lt=1)] | None = None
    fold: FoldChoice | None = None
    stratified: bool = True  # every class keeps its share; has no meaning for a file
    seed: Seed | None = None  # of the assignment; None: the experiment's seed

    @model_validator(mode="after")
    def _exactly_one_source(self) -> ValidationOptions:
        given = [name for name in ("file", "fraction", "fold") if getattr(self, name) is not None]
        if len(given) != 1:
            said = f"{' and '.join(given)} are given" if given else "none of them is given"
            raise ValueError(f"exactly one of file, fraction, fold says where the held-out documents come from; {said}")
        return self


class FoldsOptions(Section):
    """k-fold cross-validation of the training file. The assignment depends on seed and document ids alone.

    `k: all` is leave-one-out: every document, or with `grouped` every group, is a fold. Fold f of repeat r has the
    number r · k + f.
    """

    k: FoldCount | Literal["all"] = 10
    repeats: Repeats = 1  # the whole cross-validation again, each time with other folds
    inner: FoldCount | None = None  # nested: so many folds within each fold's training rows choose a cell for it alone
    stratified: bool = True  # every class is spread evenly over the folds
    grouped: bool = False  # documents with one value of data.group stay in one fold
    allow_small: bool = False  # a class with fewer documents than folds is let through
    index: FoldIndex | None = None  # run this fold only
    seed: Seed | None = None  # of the assignment; None: the experiment's seed

    @model_validator(mode="after")
    def _options_agree(self) -> FoldsOptions:
        if self.k == "all":
            if self.repeats > 1:
                raise ValueError("with k: all every repeat would be the same; remove repeats")
            if self.index is not None:
                raise ValueError("with k: all a fold is one document or group; remove index, or give a number for k")
            if self.inner is not None:
                raise ValueError("with k: all there would be inner folds for every document; give a number for k")
        elif self.index is not None and self.index >= self.k * self.repeats:
            times = f" times {self.repeats} repeats" if self.repeats > 1 else ""
            raise ValueError(f"index {self.index} is not a fold of k = {self.k}{times}; folds are numbered from 0")
        return self


class SelectOptions(Section):
    """How the best cell of the grid is chosen, and whether it is then trained on all rows of the training file."""

    metric: Metric | TaggingMetric = "accuracy"
    refit: bool | None = None  # None: yes, unless validation names a file or a fold
    one_standard_error: bool = False  # the simplest cell within one standard error (over folds) of the best


class TestOptions(Section):
    """The labelled file on which the chosen model is measured once, at the end."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    file: ConfigPath


class RunOptions(Section):
    """Where the run folder goes: `dir` names it, otherwise it is root/<name>/<time>."""

    dir: ConfigPath | None = None
    root: ConfigPath = Field(default_factory=lambda: Path(RUN_ROOT).absolute())
    tensorboard: bool = True
    report: bool = True  # report.html, a page for a person
    permutations: Annotated[int, Field(ge=0)] = 2  # of each input, for a forest's permutation importances; 0: none


def learner_defaults(data: dict[str, Any]) -> dict[str, Any]:
    """Plain values of a config, with the features and the metric that its learner is trained with where none are given.

    Sections may be missing, plain values or options already; what cannot be understood is left to validation.
    """
    model = data.get("model")
    name = model.get("type") if isinstance(model, dict) else getattr(model, "type", None)
    learner = LEARNERS.get(name, LearnerOptions) if isinstance(name, str) else LearnerOptions
    filled = dict(data)
    source = data.get("data")
    format = source.get("format") if isinstance(source, dict) else getattr(source, "format", None)
    reviews = format == REVIEWS
    for section, key, default in (
        ("features", "type", "review_context" if reviews else learner.default_features),
        ("select", "metric", "aspect_f1" if reviews else learner.default_metric),
    ):
        given = filled.get(section)
        if given is None or (isinstance(given, dict) and key not in given):
            filled[section] = {key: default, **(given or {})}
    train = filled.get("train")
    if learner.default_batch != LearnerOptions.default_batch and (train is None or isinstance(train, dict)):
        filled["train"] = {"batch": learner.default_batch, **(train or {})}
    return filled


def _reading_numbers(data: dict[str, Any]) -> dict[str, Any]:
    """Features of type categorical have a code for missing numbers: these are read unless the config refuses them."""
    features, table = data["features"], data.get("data")
    kind = features.get("type") if isinstance(features, dict) else getattr(features, "type", None)
    if kind != "categorical" or not isinstance(table, dict):
        return data
    return {**data, "data": {"missing_numbers": "keep", **table}}


def _no_grid(value: Any) -> Any:
    return {} if value is None else value


def _folder_name(name: str) -> str:
    if re.fullmatch(r"[^/\\\x00-\x1f.][^/\\\x00-\x1f]*", name) is None:
        raise ValueError(f"{name!r} cannot name a folder; leave out slashes and a dot at the beginning")
    return name


def _device_name(name: str) -> str:
    if re.fullmatch(r"auto|cpu|cuda(:[0-9]+)?", name) is None:
        raise ValueError(f"{name!r} is not a device; there are auto, cpu, cuda and cuda:0, cuda:1, …")
    return name


class ExperimentOptions(Section):
    """A whole experiment: data, features, a learner, how to train, how to choose, where to write."""

    name: Annotated[str, AfterValidator(_folder_name)] = "experiment"
    seed: Seed = 0
    data: DataOptions = Field(default_factory=bundled_data)
    features: FeatureOptions = Field(default_factory=BagOfWordsOptions)
    model: ModelOptions
    train: TrainOptions = Field(default_factory=TrainOptions)
    validation: ValidationOptions | None = None
    folds: FoldsOptions | None = None
    select: SelectOptions = Field(default_factory=SelectOptions)
    calibrate: CalibrationMethod | None = None  # probabilities from scores, learnt on the held-out documents
    grid: Annotated[dict[str, list[Any]], BeforeValidator(_no_grid)] = Field(default_factory=dict)
    test: TestOptions | None = None
    device: Annotated[str, AfterValidator(_device_name)] = "auto"
    run: RunOptions = Field(default_factory=RunOptions)

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_the_learner(cls, data: Any) -> Any:
        return _reading_numbers(learner_defaults(data)) if isinstance(data, dict) else data
