"""The learners as scikit-learn estimators: for pipelines, GridSearchCV, and everything else that speaks its API.

The online rules (Perceptron, MIRA, OnlineSVM, ConfidenceWeighted, AROW, SCW), NaiveBayes, LogisticRegression and
LinearSVM take a matrix (numpy, scipy sparse, torch dense or sparse CSR) and labels of any type; parameters are named as
the options of `gpuclf.models` and of the `train` section, but for OnlineSVM's decay, which is the option lambda.
ForestClassifier and BoostedTreesClassifier take columns of categories (text, objects, whole numbers) and of numbers.
BatchedGridSearch trains grid × folds as one batch. Needs scikit-learn, which gpuclf itself does not:
pip install 'gpuclf[sklearn]'.
"""

from __future__ import annotations

try:
    import sklearn  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "sklearn":
        raise
    raise ModuleNotFoundError(
        "gpuclf.estimators needs scikit-learn: pip install 'gpuclf[sklearn]'", name="sklearn"
    ) from error

from gpuclf.estimators.batched_grid_search import BatchedGridSearch
from gpuclf.estimators.forest import BoostedTreesClassifier, ForestClassifier
from gpuclf.estimators.naive_bayes import NaiveBayes
from gpuclf.estimators.online import AROW, MIRA, SCW, ConfidenceWeighted, OnlineSVM, Perceptron
from gpuclf.estimators.regularised import LinearSVM, LogisticRegression

__all__ = [
    "AROW",
    "MIRA",
    "SCW",
    "BatchedGridSearch",
    "BoostedTreesClassifier",
    "ConfidenceWeighted",
    "ForestClassifier",
    "LinearSVM",
    "LogisticRegression",
    "NaiveBayes",
    "OnlineSVM",
    "Perceptron",
]
