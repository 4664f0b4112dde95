"""Options of decomposable models: how graphs are searched, which is taken, and how parameters are estimated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StrictInt, StrictStr, model_validator

from gpuclf.models.decomposable.criteria import CRITERIA, Rules
from gpuclf.models.decomposable.learner import Decomposable
from gpuclf.models.decomposable.plan import FOLDED, Plan
from gpuclf.models.learner import LearnerOptions
from gpuclf.models.train_options import TrainOptions

Count = Annotated[StrictInt, Field(ge=1)]
Edge = Annotated[tuple[StrictStr, StrictStr], Field(strict=False)]
Edges = Annotated[tuple[Edge, ...], Field(strict=False)]
_PAIR_BYTES = 64  # of a pair of variables in a search
_VARIABLES_GUESS = 512
_MODELS_GUESS = 128  # of a sequence


class DecomposableOptions(LearnerOptions):
    """Chordal graphs over the class and categorical inputs (Bruce & Wiebe 1999).

    direction: edges are added (forward), removed (backward) or either (both); fixed: the start graph is the model.
    start: empty, naive_bayes, tree (Chow-Liu over all variables), tan (naive Bayes with a tree over the inputs),
    saturated; backward begins with saturated and the others with empty where nothing is said.
    criterion: g2 (to saturation; for selection), aic, bic, ic (k a degree of freedom), p_value (chi-squared, α),
    exact (p by `permutations` of the rows within strata), heldout (log likelihood of the rows held out by select).
    correction of α: bonferroni over the moves there are, or sequential: a budget_share of what is left of it a step.
    dof: strata, by the values seen in each stratum; unadjusted, by the values that a variable has; nonzero, by the
    cells that occur (Pedersen, Bruce & Wiebe 1997), which can be below 0: then AIC rewards the edge.
    statistic: g2, x2 (Pearson), or power: the power divergence with power_lambda.
    max_clique, max_cells (of a clique's product space), max_edges: additions beyond are not made. fixed, forbidden:
    pairs of column names (of contexts pos-2 … and words:SENSE), or "class", that keep their edge, or never have one.
    select: criterion, the last graph; heldout, the graph that does best on heldout_fraction of the training rows;
    cv, the length of search that does best over inner_folds; leave_one_out, on all training rows, each without its own
    counts; stability, the moves of the search over all training rows with which at least a stable_share of the
    searches without one of inner_folds agree where they end, in their order and as far as graphs stay chordal
    (Meinshausen & Bühlmann 2010), judged on these folds with parameters of the other rows. Naive Bayes and tan always
    take part, ties go to naive Bayes, then to the simplest; the winner's parameters and word sets are estimated on all
    training rows. select_by: accuracy or log_loss; one_standard_error: the simplest within one of the best.
    combine: the last model (none), the mean over the sequence (mix: Pedersen & Bruce 1997), by document the most
    precise of the models that cover it (switch: Kayaalp, Pedersen & Bruce 1997), or the mean of P(class | inputs) over
    the sequence, naive Bayes and tan by the weights that explain the training rows best, each without its own counts
    (stack: Wolpert 1992).
    ess: equivalent sample size of a hyper-Dirichlet prior; 0 is maximum likelihood, with backoff for documents whose
    cells training never had: majority, naive_bayes, next_simpler of the sequence, none (majority, and said so).
    """

    type: Literal["decomposable"] = "decomposable"
    direction: Literal["forward", "backward", "both", "fixed"] = "forward"
    start: Literal["empty", "naive_bayes", "tree", "tan", "saturated"] | None = None
    criterion: Literal["g2", "aic", "bic", "ic", "p_value", "exact", "heldout"] = "aic"
    dof: Literal["unadjusted", "strata", "nonzero"] = "strata"
    statistic: Literal["g2", "x2", "power"] = "g2"
    power_lambda: Annotated[float, Field(allow_inf_nan=False)] = 2 / 3
    k: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 2.0
    alpha: Annotated[float, Field(gt=0, lt=1)] = 0.0001
    correction: Literal["none", "bonferroni", "sequential"] = "none"
    budget_share: Annotated[float, Field(gt=0, le=1)] = 0.01
    permutations: Count = 999
    max_clique: Annotated[StrictInt, Field(ge=2)] | None = None
    max_cells: Annotated[float, Field(ge=2, allow_inf_nan=False)] | None = None
    max_edges: Annotated[StrictInt, Field(ge=0)] | None = None
    fixed: Edges = ()
    forbidden: Edges = ()
    select: Literal["criterion", "heldout", "cv", "leave_one_out", "stability"] = "criterion"
    select_by: Literal["accuracy", "log_loss"] = "accuracy"
    one_standard_error: bool = False
    heldout_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.2
    inner_folds: Annotated[StrictInt, Field(ge=2)] = 5
    stable_share: Annotated[float, Field(gt=0, le=1)] = 0.6
    combine: Literal["none", "mix", "switch", "stack"] = "none"
    ess: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    backoff: Literal["majority", "naive_bayes", "next_simpler", "none"] = "majority"

    per_replica: ClassVar[frozenset[str]] = frozenset({"model.ess", "model.alpha", "model.criterion"})
    categories: ClassVar[dict[str, tuple[str, ...]]] = {"model.criterion": CRITERIA}
    probabilities: ClassVar[bool] = True
    reads: ClassVar[frozenset[str]] = frozenset({"sparse", "codes", "contexts"})
    evaluate_every: ClassVar[int] = 1 << 40  # every model's accuracy is a figure of its own; metrics are the last one's

    @model_validator(mode="after")
    def _options_fit_together(self) -> DecomposableOptions:
        default = type(self).model_fields
        idle = {
            "k": self.criterion != "ic",
            "correction": self.criterion not in ("p_value", "exact"),
            "budget_share": self.correction != "sequential",
            "permutations": self.criterion != "exact",
            "power_lambda": self.statistic != "power",
            "select_by": self.select == "criterion",
            "one_standard_error": self.select == "criterion" or self.select_by == "log_loss",
            "heldout_fraction": self.select != "heldout",
            "inner_folds": self.select not in FOLDED,
            "stable_share": self.select != "stability",
        }
        found = [name for name, is_idle in idle.items() if is_idle and getattr(self, name) != default[name].default]
        if found:
            raise ValueError(f"{', '.join(found)} would do nothing with the other options; remove it")
        if self.combine != "none" and self.select != "criterion":
            raise ValueError(f"combine {self.combine} takes all models of the search; remove select {self.select}")
        if self.criterion == "heldout" and self.select != "heldout":
            raise ValueError("criterion heldout needs rows that are held out; write select: heldout")
        if self.criterion == "g2" and self.direction == "both":
            raise ValueError("criterion g2 never ends in both directions; take forward, backward or another criterion")
        if self.criterion == "g2" and self.select == "stability":
            raise ValueError("criterion g2 adds every edge, so that all are stable; take another criterion")
        if self.criterion == "exact" and self.statistic != "g2":
            raise ValueError("the exact test is of G²; remove statistic")
        if self.statistic == "power" and self.power_lambda in (0.0, -1.0):
            raise ValueError("the power divergence is not defined for 0 and -1; G² is statistic: g2")
        if self.backoff == "next_simpler" and self.direction != "forward":
            raise ValueError("models get simpler backwards only along a forward search; take another backoff")
        return self

    def build(self, train: TrainOptions, class_names: Sequence[str]) -> Decomposable:
        infinite = float("inf")
        power = {"g2": 0.0, "x2": 1.0, "power": self.power_lambda}
        rules = Rules(self.criterion, self.dof, self.correction, self.k, self.budget_share)
        plan = Plan(
            rules=rules,
            direction=self.direction,
            start=self.start or ("saturated" if self.direction == "backward" else "empty"),
            power=power[self.statistic],
            max_clique=infinite if self.max_clique is None else self.max_clique,
            max_cells=infinite if self.max_cells is None else self.max_cells,
            max_edges=infinite if self.max_edges is None else self.max_edges,
            fixed=self.fixed,
            forbidden=self.forbidden,
            classes=tuple(class_names),
            permutations=self.permutations,
            select=self.select,
            select_by=self.select_by,
            near=self.one_standard_error,
            fraction=self.heldout_fraction,
            inner_folds=self.inner_folds,
            stable_share=self.stable_share,
            combine=self.combine,
            backoff=self.backoff,
        )
        return Decomposable(plan)

    def bytes_per_replica(self, num_features: int, num_classes: int) -> int:
        """A guess by the values of all inputs: each of these has two at least."""
        variables = min(num_features // 2 + num_classes, _VARIABLES_GUESS)
        return _PAIR_BYTES * variables**2 * (1 + (self.inner_folds if self.select in FOLDED else 0))

    def bytes_per_document(self, num_classes: int) -> int:
        """Scores of the searches, and codes of some inputs."""
        tracks = 1 + (self.inner_folds if self.select in FOLDED else 0)
        stacked = 4 * _MODELS_GUESS if self.combine == "stack" else 0
        return tracks * (16 * num_classes + 64) + stacked
