"""Options of forests: the paper's composed splits, and other splits on the same trees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictFloat, StrictInt, field_validator, model_validator

from gpuclf.faults import UserFault
from gpuclf.models.forest.boosting import Boosting
from gpuclf.models.forest.learner import Forest
from gpuclf.models.forest.numbers import MOST_BINS
from gpuclf.models.forest.samples import ValueReduction
from gpuclf.models.learner import LearnerOptions
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops.boost_round import BoostRules
from gpuclf.ops.grow_forest import NO_LIMIT, GrowthRules

Count = Annotated[StrictInt, Field(ge=1)]
_FACTOR = re.compile(r"(\d+(?:\.\d+)?)\s*\*\s*(sqrt|log)")
_NODE_BYTES = 30  # of a node and its share of the values listed, with two nodes a document at most


class ForestOptions(LearnerOptions):
    """A forest over categorical and numeric inputs (Nielsen & Pradhan 2004; Breiman 2001). See GrowthRules for splits.

    candidates: composed subsets tried a node, of the f that there are: sqrt, log, a number, or a factor as in 12*sqrt.
    relevant: values that composed subsets are drawn from: exact, those present at the node, or lazy, the paper's
    shortcut: they are recounted at nodes under 1000 rows, or after the rows have halved; else the parent's list stands.
    max_features: inputs tried a node by sorted and binary splits: a number, a share, sqrt or log2; all by default.
    bootstrap: each tree gets as many rows as there are, drawn with replacement; the rows left out judge it.
    class_weight: balanced, or a weight by class (rounded to 1/64 of the least one).
    vote: unit, a vote a tree, or soft, the shares of the classes in its leaf. unseen: what a value that training had
    not does at a node: rest goes with the values not listed (what a listed node has not seen does so, too), majority
    with most training rows, weighted both ways. A part of a vote, spread by the frequency rank of the classes, breaks
    ties for the class most frequent in training.
    merge_pure_values: all values of an input that training has with one class only become one value a class;
    min_value_count: values with fewer training rows become unseen ones.
    n_bins: numbers are cut at so many quantiles of the training rows at most (None: between any two numbers). A missing
    number is a bin of its own: a node sends it to the side that gains most; an input that has some in training counts
    as two in draws. Where training has none, it goes as `unseen` says, rest being the side above the threshold.
    trees_per_step: trees (rounds of boosting) between progress figures, checkpoints and held-out evaluations.
    boosting: n_estimators rounds of a tree of gradients for each class instead (see BoostRules), shrunk by
    learning_rate; l2 and min_child_weight (of second derivatives) keep rare classes from running away;
    gradient_sampling above 0 grows a class's tree on a sample of rows, see Boosting. Values are then
    always ordered by their gradients, and max_features inputs are drawn for each round. Defaults: max_depth 6,
    max_prefix 64, smoothing 5, min_category_rows 2, max_features half of the inputs, but two (one alone could not tell
    that it depends on another); of forests: none, none, 1, 1 and all.
    """

    type: Literal["forest"] = "forest"
    n_estimators: Count = 128
    splits: Literal["composed", "sorted", "binary"] = "composed"
    criterion: Literal["entropy", "gini", "log_loss"] = "entropy"
    candidates: StrictInt | str = "sqrt"
    subset_size: Literal["log2", "sqrt", "half", "one"] | StrictInt = "log2"
    relevant: Literal["exact", "lazy"] = "exact"
    order: Literal["one_vs_rest", "projection"] = "one_vs_rest"
    smoothing: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    min_category_rows: Count | None = None
    max_prefix: Count | None = None
    max_features: StrictInt | StrictFloat | Literal["sqrt", "log2"] | None = None
    max_depth: Count | None = None
    min_samples_leaf: Count = 1
    min_samples_split: Annotated[StrictInt, Field(ge=2)] = 2
    extra_trees: bool = False
    bootstrap: bool = False
    class_weight: Literal["balanced"] | dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] | None = None
    vote: Literal["unit", "soft"] = "unit"
    unseen: Literal["rest", "majority", "weighted"] = "rest"
    merge_pure_values: bool = False
    min_value_count: Count = 1
    n_bins: Annotated[StrictInt, Field(ge=2, le=MOST_BINS)] | None = None
    trees_per_step: Count = 8
    boosting: bool = False
    learning_rate: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 0.2
    l2: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 3.0
    min_child_weight: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    gradient_sampling: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0

    train_keys: ClassVar[frozenset[str]] = frozenset({"early_stopping"})
    no_weights: ClassVar[str | None] = None
    probabilities: ClassVar[bool] = True
    reads: ClassVar[frozenset[str]] = frozenset({"codes", "sparse"})

    @field_validator("candidates")
    @classmethod
    def _candidates_are_known(cls, value: int | str) -> int | str:
        if isinstance(value, int):
            if value < 1:
                raise ValueError(f"{value} candidates are none; give 1 or more")
        elif value not in ("sqrt", "log") and _FACTOR.fullmatch(value) is None:
            raise ValueError(f"{value!r} is not sqrt, log, a whole number, or a factor such as 12*sqrt")
        return value

    @field_validator("subset_size")
    @classmethod
    def _subset_is_positive(cls, value: int | str) -> int | str:
        if isinstance(value, int) and value < 1:
            raise ValueError(f"a subset of {value} values is none; give 1 or more")
        return value

    @field_validator("max_features")
    @classmethod
    def _some_features(cls, value: int | float | str | None) -> int | float | str | None:
        if isinstance(value, float) and not 0 < value <= 1:
            raise ValueError(f"{value} is not a share of the inputs; give a number above 0, up to 1.0")
        if isinstance(value, int) and value < 1:
            raise ValueError(f"{value} inputs are none; give 1 or more, or a share such as 0.5")
        return value

    @model_validator(mode="after")
    def _options_belong_to_splits(self) -> ForestOptions:
        composed, ordered = (
            ("candidates", "subset_size", "relevant"),
            ("order", "smoothing", "min_category_rows", "max_prefix"),
        )
        idle = {
            "composed": (*ordered, "max_features", "extra_trees"),
            "sorted": composed,
            "binary": (*composed, *ordered),
        }
        fields = type(self).model_fields
        if self.boosting:
            chosen = (
                "vote",
                "unseen",
                "bootstrap",
                "class_weight",
                "criterion",
                "merge_pure_values",
                "min_value_count",
            )
            unread = (*composed, "order", "extra_trees", *chosen)
            idle = {"composed": unread, "sorted": unread, "binary": (*unread, "splits")}
        else:
            of_boosting = ("learning_rate", "l2", "min_child_weight", "gradient_sampling")
            idle = {name: (*keys, *of_boosting) for name, keys in idle.items()}
        found = [name for name in idle[self.splits] if getattr(self, name) != fields[name].default]
        if found:
            mode = "boosting" if self.boosting else f"splits {self.splits}"
            raise ValueError(f"{', '.join(found)} would do nothing with {mode}; remove it")
        if self.order == "projection" and self.smoothing != fields["smoothing"].default:
            raise ValueError("smoothing would do nothing with order projection; remove it")
        return self

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> Forest | Boosting:
        if self.boosting:
            rounds, portion, inputs = self.n_estimators, self.trees_per_step, self.max_features
            rules = self._boost_rules()
            sampling = self.gradient_sampling
            return Boosting(rounds, portion, self.learning_rate, inputs, sampling, rules, self.n_bins)
        weights: Literal["balanced"] | tuple[float, ...] | None = None
        if isinstance(self.class_weight, dict):
            unknown = [name for name in self.class_weight if name not in class_names]
            if unknown:
                raise UserFault(
                    f"names {', '.join(map(repr, unknown))}, which training documents do not have",
                    key="model.class_weight",
                    remedy=f"the classes are {', '.join(list(class_names)[:20])}",
                )
            weights = tuple(self.class_weight.get(name, 1.0) for name in class_names)
        elif self.class_weight is not None:
            weights = "balanced"
        return Forest(
            rules=self._rules(),
            max_features=self.max_features,
            trees=self.n_estimators,
            portion=self.trees_per_step,
            bootstrap=self.bootstrap,
            class_weight=weights,
            soft=self.vote == "soft",
            unseen=self.unseen,
            reduction=ValueReduction(self.merge_pure_values, self.min_value_count),
            n_bins=self.n_bins,
        )

    def _boost_rules(self) -> BoostRules:
        return BoostRules(
            max_depth=self.max_depth or 6,
            l2=self.l2,
            smoothing=5.0 if self.smoothing is None else self.smoothing,
            max_prefix=self.max_prefix or 64,
            min_category_rows=self.min_category_rows or 2,
            min_samples_leaf=self.min_samples_leaf,
            min_curvature=self.min_child_weight,
        )

    def _rules(self) -> GrowthRules:
        factor, kind = 1.0, self.candidates
        if isinstance(kind, str) and (found := _FACTOR.fullmatch(kind)):
            factor, kind = float(found[1]), found[2]
        return GrowthRules(
            splits=self.splits,
            criterion="gini" if self.criterion == "gini" else "entropy",
            subset=1 if self.subset_size == "one" else self.subset_size,
            candidates=kind,  # type: ignore[arg-type]  # one of the words, by the validator
            candidate_factor=factor,
            relevant=self.relevant,
            order=self.order,
            smoothing=1.0 if self.smoothing is None else self.smoothing,
            min_category_rows=self.min_category_rows or 1,
            max_prefix=self.max_prefix or NO_LIMIT,
            max_depth=self.max_depth or NO_LIMIT,
            min_samples_leaf=self.min_samples_leaf,
            min_samples_split=self.min_samples_split,
            extra_trees=self.extra_trees,
        )

    def max_steps(self, train: TrainOptions) -> int | None:
        """Portions of trees up to the last."""
        return -(-self.n_estimators // self.trees_per_step)

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        return num_features

    def bytes_per_document(self, num_classes: int) -> int:
        if self.boosting:
            return 64 * num_classes  # scores, and slopes twice while they are sorted by class; the trees are small
        return 2 * _NODE_BYTES * self.n_estimators + (4 * num_classes if self.bootstrap else 0)
