"""Options of the type-level tagger, and what they mean for a sweep."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gpuclf.data.paths import ConfigPath
from gpuclf.models.learner import LearnerOptions
from gpuclf.models.tagger.start_tags import read_start_tags
from gpuclf.models.tagger.type_tagger import TypeTaggerLearner
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops.type_gibbs import LEVELS, BatchPlan

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=0)]
Number = Annotated[int, Field(ge=1)]


class Annealing(BaseModel):
    """Temperature: from `start` down to 1 over the first `sweeps`, and from 1 to `quench_to` over the last `quench`.

    It falls by the same factor every sweep. At a temperature T a tag is drawn with probability ∝ P(tag | rest)^(1/T).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    start: Positive = 1.0
    sweeps: Whole = 0
    quench: Whole = 0
    quench_to: Positive = 0.1

    def temperature(self, sweep: int, total: int) -> float:
        """Of sweep number `sweep` (from 0) of `total`."""
        if sweep < self.sweeps:
            return float(self.start ** (1 - sweep / self.sweeps))
        left = total - sweep  # sweeps to come, this one included
        if left <= self.quench:
            return float(self.quench_to ** ((self.quench - left + 1) / self.quench))
        return 1.0


class Resampling(BaseModel):
    """Slice sampling of the hyperparameters after a sweep: `every` so many, from sweep `after` on; prior Exp(1)."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    alpha_token: bool = True
    beta_type: bool = True
    every: Number = 1
    after: Whole = 0


class TypeTaggerOptions(LearnerOptions):
    """One tag per word type, by collapsed Gibbs sampling (Lee, Haghighi & Barzilay 2010); chains are replicas."""

    type: Literal["type_tagger"] = "type_tagger"
    tags: Number = 45  # as many as the Penn Treebank has
    level: Literal["1tw", "prior", "feats"] = "feats"  # uniform tags; + tag prior; + type features
    sampler: Literal["exact", "paper", "clojure", "batched"] = "exact"
    alpha_token: Positive = 0.1  # concentration of transitions and emissions
    beta_type: Positive = 1.0  # concentration of the tag prior and the features
    sweeps: Number = 30
    result: Literal["last", "best", "mode"] = "last"  # last sample; best by log joint; a type's commonest recent tag
    mode_sweeps: Number = 10  # sweeps that the mode is taken over, the last ones
    init: Literal["random"] | ConfigPath = "random"  # or a tags.tsv to go on from; types it lacks begin at random
    anneal: Annealing = Annealing()
    resample: Resampling | None = None
    batch: Number = 512  # batched: types scored at once
    head: Whole = 300  # batched: the most frequent types, visited one by one
    mh: bool = False  # batched: Metropolis-Hastings correction, so that every batch size samples the same posterior
    mh_after: Whole = 5  # sweeps before the correction begins: from random tags it would refuse nearly every batch

    per_replica: ClassVar[frozenset[str]] = frozenset({"model.alpha_token", "model.beta_type", "model.level"})
    task: ClassVar[Literal["classify", "tag"]] = "tag"
    default_features: ClassVar[str] = "word_types"
    default_metric: ClassVar[str] = "log_joint"
    categories: ClassVar[dict[str, tuple[str, ...]]] = {"model.level": LEVELS}

    @model_validator(mode="after")
    def _options_agree(self) -> TypeTaggerOptions:
        changed = {name for name, field in type(self).model_fields.items() if getattr(self, name) != field.default}
        batched = sorted(
            {"batch", "head", "mh", "mh_after"} & changed
        )  # at their defaults they may stand in any config
        if batched and self.sampler != "batched":
            raise ValueError(
                f"{batched[0]} means nothing with sampler: {self.sampler}; set sampler: batched or remove it"
            )
        if "mh_after" in changed and not self.mh:
            raise ValueError("mh_after means nothing without mh; set mh: true or remove it")
        if self.mh and self.mh_after >= self.sweeps:
            raise ValueError(f"no sweep would be corrected: mh_after {self.mh_after} of {self.sweeps} sweeps")
        if "mode_sweeps" in changed and self.result != "mode":
            raise ValueError(f"mode_sweeps means nothing with result: {self.result}; set result: mode or remove it")
        if self.anneal.sweeps + self.anneal.quench > self.sweeps:
            raise ValueError("anneal.sweeps and anneal.quench together are more than sweeps")
        if self.anneal.start != 1.0 and self.anneal.sweeps == 0:
            raise ValueError("anneal.start means nothing without anneal.sweeps")
        return self

    @property
    def richness(self) -> int:
        """Log joints compare within a level only: a richer one explains more."""
        return LEVELS.index(self.level)

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> TypeTaggerLearner:
        """class_names: the word types, in the order of their numbers."""
        mode = self.mode_sweeps if self.result == "mode" else 0
        return TypeTaggerLearner(
            sampler=self.sampler,
            sweeps=self.sweeps,
            wanted=self.result,
            first_of_mode=self.sweeps - min(mode, self.sweeps),
            temperatures=tuple(self.anneal.temperature(s, self.sweeps) for s in range(self.sweeps)),
            resampled=self._resampled(),
            alpha_token=self.alpha_token,
            beta_type=self.beta_type,
            level=LEVELS.index(self.level),
            plan=BatchPlan(self.batch, self.head, self.mh),
            uncorrected=self.mh_after,
            start=None if self.init == "random" else read_start_tags(Path(self.init), class_names, self.tags),
        )

    def _resampled(self) -> tuple[tuple[str, ...], ...]:
        """The parameters to resample after each sweep."""
        plan = self.resample
        if plan is None:
            return ((),) * self.sweeps
        names = tuple(name for name in ("alpha_token", "beta_type") if getattr(plan, name))
        due = [sweep >= plan.after and (sweep - plan.after) % plan.every == 0 for sweep in range(self.sweeps)]
        return tuple(names if now else () for now in due)

    def max_steps(self, train: TrainOptions) -> int | None:
        """A step is a sweep."""
        return self.sweeps

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        """num_features: word types. Counts of feature values (at most about as many as types) and of transitions in the
        state and in the result, tags, draws, and the tally of a mode."""
        counts = 4 * num_features * num_classes + 8 * (num_classes + 1) ** 2
        tally = 4 * num_features * num_classes if self.result == "mode" else 0
        return 2 * counts + tally + 48 * num_features
