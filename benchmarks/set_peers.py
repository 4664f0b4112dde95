"""scikit-learn's linear learners on the inputs that benchmarks.sets gives to ours, chosen by folds of training data.

Inputs are made by scikit-learn and numpy: words or words and pairs of words, as tf-idf (sublinear, rows of length 1) or
as presence times the log-count ratio of the training documents of a fold (Wang & Manning 2012), rows of length 1.
"""

from __future__ import annotations

import csv
import gzip
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from benchmarks.set_experiments import NGRAMS, WEIGHTS

Labels = NDArray[np.str_]
Input = tuple[str, tuple[int, int]]  # weighting, n-grams
INPUTS: tuple[Input, ...] = tuple((weights, ngrams) for ngrams in NGRAMS for weights in WEIGHTS)


@dataclass(frozen=True)
class Peer:
    """An estimator and the settings of its grid, simplest first."""

    make: Callable[..., Any]
    settings: tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class Chosen:
    """What the folds of the training documents chose for a peer, and what it then says of the test documents."""

    mean: float  # accuracy over the folds
    setting: str
    predicted: Labels
    seconds: float  # of processor time, all fits and predictions; making the matrices is in no peer's seconds


def peer_rows(folder: Path) -> list[list[str]]:
    """One row a peer: what the folds chose, its mean over them, accuracy and macro-F1 on the test file, CPU seconds."""
    from sklearn.metrics import f1_score

    (texts, labels), (test_texts, test_labels) = (read(folder / f"{part}.tsv.gz") for part in ("train", "test"))
    train = np.arange(len(texts) + len(test_texts)) < len(texts)
    counts = {ngrams: count_words([*texts, *test_texts], ngrams) for ngrams in NGRAMS}
    rows = []
    for peer, chosen in peers_chosen(counts, np.concatenate([labels, test_labels]), train, tuple(peers())).items():
        said = chosen.predicted
        figures = (chosen.mean, (said == test_labels).mean(), f1_score(test_labels, said, average="macro"))
        cells = [f"peer: {peer}", chosen.setting, *(f"{figure:.4f}" for figure in figures), f"{chosen.seconds:.1f}"]
        rows.append(cells)
        print(" | ".join(cells), flush=True)
    return rows


def count_words(texts: Sequence[str], ngrams: tuple[int, int]) -> Any:
    """Counts of words, or of words and pairs of words, a scipy CSR matrix (documents, features)."""
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer(token_pattern=r"\b\w+\b", ngram_range=ngrams, dtype=np.float64).fit_transform(texts)


def peers_chosen(
    counts: Mapping[tuple[int, int], Any],
    labels: Labels,
    train: NDArray[np.bool_],
    names: Sequence[str],
    inputs: Sequence[Input] = INPUTS,
    folds: int = 5,
) -> dict[str, Chosen]:
    """Each peer with the input and setting of the highest mean over folds of the training documents (mask (docs,)).

    The first of equal means is taken: the earlier input, the simplest setting.
    """
    from sklearn.model_selection import StratifiedKFold

    own = labels[train]
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=0).split(own, own))
    best: dict[str, Chosen] = {}
    spent = dict.fromkeys(names, 0.0)
    for weights, ngrams in inputs:
        training, test, weighted = counts[ngrams][train], counts[ngrams][~train], _WEIGHTED[weights]
        parts = [(weighted(training[a], own[a], training[b]), own[a], own[b]) for a, b in splits]
        whole = weighted(training, own, test)
        for name in names:
            began = time.process_time()
            peer = peers()[name]
            means = [
                float(
                    np.mean([(peer.make(**setting).fit(x, y).predict(held) == z).mean() for (x, held), y, z in parts])
                )
                for setting in peer.settings
            ]
            place = int(np.argmax(means))
            if name not in best or means[place] > best[name].mean:
                setting = peer.settings[place]
                predicted = peer.make(**setting).fit(whole[0], own).predict(whole[1])
                told = ", ".join(f"{key} {value}" for key, value in setting.items())
                best[name] = Chosen(means[place], f"{weights}, ngrams {ngrams}, {told}", predicted, 0.0)
            spent[name] += time.process_time() - began
    return {name: replace(chosen, seconds=spent[name]) for name, chosen in best.items()}


def peers() -> dict[str, Peer]:
    """scikit-learn's linear learners; the online ones with the epochs that BASELINES.tsv gave them, and with and
    without averaging."""
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.svm import LinearSVC

    def passive_aggressive(C: float, average: bool) -> Any:
        # what scikit-learn's PassiveAggressiveClassifier(loss="hinge") is, under the name that stays
        return SGDClassifier(
            penalty=None, learning_rate="pa1", eta0=C, average=average, max_iter=20, tol=None, random_state=0
        )

    wide = tuple({"C": C} for C in (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0))
    steps = tuple({"C": C, "average": average} for C in (0.01, 0.03, 0.1, 0.3, 1.0) for average in (True, False))
    rates = tuple({"loss": loss, "alpha": a} for loss in ("hinge", "log_loss") for a in (1e-3, 1e-4, 1e-5, 1e-6))
    return {
        "PassiveAggressive (PA-I)": Peer(passive_aggressive, steps),
        "LinearSVC": Peer(lambda **setting: LinearSVC(tol=1e-2, random_state=0, **setting), wide),
        "LogisticRegression(liblinear)": Peer(
            lambda **setting: LogisticRegression(tol=1e-2, solver="liblinear", **setting), wide
        ),
        "SGD": Peer(lambda **setting: SGDClassifier(random_state=0, **setting), rates),
    }


def read(file: Path) -> tuple[list[str], Labels]:
    """The texts and labels of a file of label TAB text."""
    with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
        rows = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [text for _, text in rows], np.array([label for label, _ in rows])


def _tfidf(own: Any, labels: Labels, other: Any) -> tuple[Any, Any]:
    from sklearn.feature_extraction.text import TfidfTransformer

    seen = own.getnnz(axis=0) > 0  # other words are unknown, as they are to ours
    fitted = TfidfTransformer(sublinear_tf=True).fit(own[:, seen])
    return fitted.transform(own[:, seen]), fitted.transform(other[:, seen])


def _ratios(own: Any, labels: Labels, other: Any) -> tuple[Any, Any]:
    seen = own.getnnz(axis=0) > 0
    present, first = own[:, seen].sign(), labels == labels[0]
    p, q = (1 + np.asarray(present[rows].sum(axis=0)).ravel() for rows in (first, ~first))
    ratio = scipy.sparse.diags(np.log(p / p.sum()) - np.log(q / q.sum()))
    return _unit(present @ ratio), _unit(other[:, seen].sign() @ ratio)


def _unit(matrix: Any) -> Any:
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    return scipy.sparse.diags(1 / np.where(lengths > 0, lengths, 1.0)) @ matrix


_WEIGHTED: dict[str, Callable[[Any, Labels, Any], tuple[Any, Any]]] = {"tfidf": _tfidf, "nb_ratio": _ratios}
