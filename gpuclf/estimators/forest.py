"""Forests and boosted trees as estimators, over categories and numbers alike (gpuclf.models.forest)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight as checked_weights
from sklearn.utils.validation import check_is_fitted, validate_data

from gpuclf.estimators.columns import ColumnCoder, categorical_columns, laid_out
from gpuclf.estimators.inputs import without_torch
from gpuclf.estimators.linear_classifier import FloatArray, WithProbabilities, class_names
from gpuclf.estimators.setup import Setup, make_setup
from gpuclf.estimators.training import Rows, train_one
from gpuclf.faults import UserFault
from gpuclf.features.rows import CodeRows, rows_to
from gpuclf.models.forest.boosted_predictor import BoostedPredictor
from gpuclf.models.forest.margins import left_out_of_bags, margins
from gpuclf.models.forest.predictor import ForestPredictor

Columns = str | Sequence[bool] | Sequence[int] | None
_RULES: dict[str, Any] = {"accept_sparse": "csr", "dtype": None, "ensure_all_finite": "allow-nan"}
_NOT_OPTIONS = frozenset({"random_state", "device", "categorical_features", "oob_score"})


class TreeClassifier(WithProbabilities, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What forests and boosted trees share. Abstract.

    categorical_features: which columns are categories. from_dtype: those of text, objects, whole numbers and truth
    values are, floats are numbers; all; None: no column is; or a mask, or column numbers. Any number of categories a
    column; None and nan are a category of their own, but no number. A sparse matrix is laid out.

    classes_ (K,) sorted, as given; n_features_in_ M; feature_importances_ (M,): shares of what all splits gained.
    """

    categorical_features: Columns
    random_state: Any
    device: str

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grows the trees. sample_weight (docs,) ≥ 0: how often a row counts; see gpuclf.models.forest.samples."""
        setup = self._setup()
        X, y = validate_data(self, without_torch(X), without_torch(y), **_RULES)
        X = laid_out(X)
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        self.coder_ = ColumnCoder(categorical_columns(X, self.categorical_features))
        data = Rows(self.coder_.fit(X, type(self).__name__), labels.astype(np.int64), class_names(classes))
        if sample_weight is not None:
            weights = checked_weights(without_torch(sample_weight), X, dtype=np.float64, ensure_non_negative=True)
            data = replace(data, weights=weights)
        try:
            trained = train_one(data, setup)
        except UserFault as fault:
            raise ValueError(f"{type(self).__name__}: {fault.message}") from fault
        assert isinstance(trained.predictor, ForestPredictor | BoostedPredictor)
        self.classes_, self.predictor_ = classes, trained.predictor
        self._note(data, setup)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the highest score (n,)."""
        scores = self._scores(X)
        return self.classes_[scores.argmax(axis=1)]

    @property
    def feature_importances_(self) -> FloatArray:
        """(M,) float64, adding up to 1 unless no split gained anything."""
        if "predictor_" not in vars(self):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet; call fit first")
        gain = self.predictor_.gain[0].cpu().numpy()
        total = gain.sum()
        return gain / total if total > 0 else np.zeros_like(gain)

    def _note(self, data: Rows, setup: Setup) -> None:
        """Further figures of the fit."""

    def _scores(self, X: Any) -> FloatArray:
        """Scores (n, K) float32."""
        check_is_fitted(self)
        X = laid_out(validate_data(self, without_torch(X), reset=False, **_RULES))
        rows = self.coder_.codes(X, type(self).__name__)
        device = self.predictor_.gain.device
        placed = rows_to(rows, device)
        docs = torch.arange(placed.num_docs, device=device)
        return self.predictor_.scores(placed, docs, None, None)[0].cpu().numpy()

    def _setup(self) -> Setup:
        names = [name for name in self._get_param_names() if name not in _NOT_OPTIONS]
        options = self._options({name: getattr(self, name) for name in names})
        return make_setup(self, "forest", options, {}, self.random_state, self.device)

    def _options(self, given: dict[str, Any]) -> dict[str, Any]:
        """The learner's options from the estimator's parameters."""
        return given

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        return tags


class ForestClassifier(TreeClassifier):
    """A forest of composed, sorted or binary splits; parameters as in gpuclf.models.forest.options.ForestOptions.

    oob_score: with bootstrap, oob_score_ is the accuracy on the rows that each tree's sample left out.
    """

    def __init__(
        self,
        n_estimators: int = 128,
        splits: Literal["composed", "sorted", "binary"] = "composed",
        criterion: Literal["entropy", "gini", "log_loss"] = "entropy",
        candidates: int | str = "sqrt",
        subset_size: int | str = "log2",
        relevant: Literal["exact", "lazy"] = "exact",
        order: Literal["one_vs_rest", "projection"] = "one_vs_rest",
        smoothing: float | None = None,
        min_category_rows: int | None = None,
        max_prefix: int | None = None,
        max_features: float | str | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        min_samples_split: int = 2,
        extra_trees: bool = False,
        bootstrap: bool = False,
        oob_score: bool = False,
        class_weight: Literal["balanced"] | Mapping[Any, float] | None = None,
        vote: Literal["unit", "soft"] = "unit",
        unseen: Literal["rest", "majority", "weighted"] = "rest",
        merge_pure_values: bool = False,
        min_value_count: int = 1,
        n_bins: int | None = None,
        categorical_features: Columns = "from_dtype",
        random_state: Any = 0,
        device: str = "auto",
    ):
        self.n_estimators = n_estimators
        self.splits = splits
        self.criterion = criterion
        self.candidates = candidates
        self.subset_size = subset_size
        self.relevant = relevant
        self.order = order
        self.smoothing = smoothing
        self.min_category_rows = min_category_rows
        self.max_prefix = max_prefix
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.min_samples_split = min_samples_split
        self.extra_trees = extra_trees
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.class_weight = class_weight
        self.vote = vote
        self.unseen = unseen
        self.merge_pure_values = merge_pure_values
        self.min_value_count = min_value_count
        self.n_bins = n_bins
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.device = device

    def _options(self, given: dict[str, Any]) -> dict[str, Any]:
        if self.oob_score and not self.bootstrap:
            raise ValueError("ForestClassifier: oob_score = True needs bootstrap = True: every tree has all rows")
        if isinstance(self.class_weight, Mapping):
            given["class_weight"] = {str(name): float(weight) for name, weight in self.class_weight.items()}
        return given

    def _note(self, data: Rows, setup: Setup) -> None:
        if not self.oob_score:
            return
        assert isinstance(self.predictor_, ForestPredictor)
        assert isinstance(data.rows, CodeRows)
        labels = torch.from_numpy(data.labels).to(setup.device)
        member = torch.ones_like(labels, dtype=torch.bool)
        if data.weights is not None:
            member = torch.from_numpy(data.weights > 0).to(setup.device)
        left_out = left_out_of_bags(member, setup.seed, int(self.predictor_.trees[0]))
        docs = torch.nonzero(member).flatten()
        rows = rows_to(data.rows, setup.device)
        self.oob_score_ = margins(self.predictor_, rows, labels, docs, left_out=left_out).accuracy


class BoostedTreesClassifier(TreeClassifier):
    """Boosted trees of gradients, n_estimators rounds of a tree for each class; parameters as in
    gpuclf.models.forest.options.ForestOptions with boosting."""

    def __init__(
        self,
        n_estimators: int = 128,
        learning_rate: float = 0.2,
        l2: float = 3.0,
        min_child_weight: float = 1.0,
        smoothing: float | None = None,
        min_category_rows: int | None = None,
        max_prefix: int | None = None,
        max_features: float | str | None = None,
        max_depth: int | None = None,
        min_samples_leaf: int = 1,
        gradient_sampling: float = 0.0,
        n_bins: int | None = None,
        categorical_features: Columns = "from_dtype",
        random_state: Any = 0,
        device: str = "auto",
    ):
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.l2 = l2
        self.min_child_weight = min_child_weight
        self.smoothing = smoothing
        self.min_category_rows = min_category_rows
        self.max_prefix = max_prefix
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.gradient_sampling = gradient_sampling
        self.n_bins = n_bins
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.device = device

    def _options(self, given: dict[str, Any]) -> dict[str, Any]:
        return given | {"boosting": True}
