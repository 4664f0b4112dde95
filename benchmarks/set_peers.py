"""scikit-learn's linear learners on the inputs that benchmarks.sets gives to ours, chosen by folds of training data.

Inputs are made by scikit-learn and numpy: words or words and pairs of words, as tf-idf (sublinear, rows of length 1) or
as presence times the log-count ratio of the training documents of a fold (Wang & Manning 2012), rows of length 1.
"""

from __future__ import annotations

import csv
import gzip
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

FOLDS = 5
_GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def peer_rows(folder: Path) -> list[list[str]]:
    """One row a peer: what the folds chose, its mean over them, accuracy and macro-F1 on the test file, CPU seconds.

    Matrices are made once for all peers and are not in their seconds.
    """
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.metrics import f1_score
    from sklearn.model_selection import StratifiedKFold

    (texts, labels), (test_texts, test_labels) = _read(folder / "train.tsv.gz"), _read(folder / "test.tsv.gz")
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(texts, labels))
    found: dict[str, list[tuple[float, str, NDArray[Any]]]] = {name: [] for name in _peers()}
    seconds = dict.fromkeys(found, 0.0)
    for ngrams in ((1, 1), (1, 2)):
        counter = CountVectorizer(token_pattern=r"\b\w+\b", ngram_range=ngrams, dtype=np.float64)
        counts, test_counts = counter.fit_transform(texts), counter.transform(test_texts)
        for name, weighted in (("tfidf", _tfidf), ("nb_ratio", _ratios)):
            parts = [(weighted(counts[a], labels[a], counts[b]), labels[a], labels[b]) for a, b in folds]
            whole = weighted(counts, labels, test_counts)
            for peer, make in _peers().items():
                began = time.process_time()
                means = [
                    np.mean([(make(C).fit(x, y).predict(held) == z).mean() for (x, held), y, z in parts]) for C in _GRID
                ]
                best = int(np.argmax(means))
                predicted = make(_GRID[best]).fit(whole[0], labels).predict(whole[1])
                seconds[peer] += time.process_time() - began
                found[peer].append((float(means[best]), f"{name}, ngrams {ngrams}, C {_GRID[best]:g}", predicted))
    rows = []
    for peer, tried in found.items():
        mean, chosen, predicted = max(tried, key=lambda one: one[0])
        figures = (mean, (predicted == test_labels).mean(), f1_score(test_labels, predicted, average="macro"))
        rows.append([f"peer: {peer}", chosen, *(f"{figure:.4f}" for figure in figures), f"{seconds[peer]:.1f}"])
    return rows


def _peers() -> dict[str, Callable[[float], Any]]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    return {
        "LinearSVC": lambda C: LinearSVC(C=C, tol=1e-2, random_state=0),
        "LogisticRegression(liblinear)": lambda C: LogisticRegression(C=C, tol=1e-2, solver="liblinear"),
    }


def _read(file: Path) -> tuple[list[str], NDArray[Any]]:
    with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [text for _, text in rows], np.array([label for label, _ in rows])


def _tfidf(own: Any, labels: NDArray[Any], other: Any) -> tuple[Any, Any]:
    from sklearn.feature_extraction.text import TfidfTransformer

    fitted = TfidfTransformer(sublinear_tf=True).fit(own)
    return fitted.transform(own), fitted.transform(other)


def _ratios(own: Any, labels: NDArray[Any], other: Any) -> tuple[Any, Any]:
    first = labels == labels[0]
    present = own.sign()
    p, q = (1 + np.asarray(present[rows].sum(axis=0)).ravel() for rows in (first, ~first))
    seen = own.getnnz(axis=0) > 0
    ratio = np.where(seen, np.log(p / p[seen].sum()) - np.log(q / q[seen].sum()), 0.0)
    return _unit(present @ scipy.sparse.diags(ratio)), _unit(other.sign() @ scipy.sparse.diags(ratio))


def _unit(matrix: Any) -> Any:
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return scipy.sparse.diags(1 / np.where(lengths > 0, lengths, 1.0)) @ matrix
