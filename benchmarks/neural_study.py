"""Defaults of networks, judged on folds of training files alone: `python -m benchmarks.neural_study`.

    python -m benchmarks.neural_study [--set rt_polarity] [--scale 0.05] [--seeds 0 1] [--data FOLDER] [--out FILE]

Each of five folds of a training file is judged once: of the other four a tenth is held out to stop early by, as
`validation.fraction` does. `kept` is the network at its best epoch, `refit` one that is trained on all of the four
folds for as many epochs (`select.refit`); `last` its weights at the end of an epoch, `mean` their means over it
(`model.average`), each stopped by figures of its own. Test files are not read. Every fold and seed is a line of --out,
by which a study that was broken off goes on.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.measure import markdown_table
from gpuclf.data.splits import fold_of, holdout
from gpuclf.models.learner import Learner, Predictor, Problem
from gpuclf.train.corpus import Corpus, read_corpus
from gpuclf.train.grid import Cell
from gpuclf.train.observer import SilentObserver
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.plan import plan_batches
from gpuclf.train.stopwatch import Stopwatch
from gpuclf.train.training_batch import prepare
from gpuclf.train.views import Split

FOLDS = 5
TOKENS = {"type": "token_ids", "token_pattern": r"\b\w+\b", "min_df": 2}
WORDS = {"type": "bag_of_words", "token_pattern": r"\b\w+\b", "ngrams": [1, 2], "weighting": "tfidf", "sublinear": True}
CNN = {"type": "text_cnn", "dropout": 0.5}
SETS: dict[str, dict[str, Any]] = {
    "rt_polarity": {
        "features": TOKENS,
        "model": {**CNN, "embedding_dim": 100, "filters": 100, "widths": [3, 4, 5]},
        "train": {"batch": 64, "max_epochs": 10, "early_stopping": {"patience": 2}},
    },
    "trec6": {
        "features": TOKENS,
        "model": {**CNN, "embedding_dim": 64, "filters": 64, "widths": [1, 2, 3]},
        "train": {"batch": 32, "max_epochs": 15, "early_stopping": {"patience": 3}},
    },
    "movie_reviews": {
        "features": TOKENS,
        "model": {**CNN, "embedding_dim": 48, "filters": 48, "widths": [1, 2]},
        "train": {"batch": 32, "max_epochs": 15, "early_stopping": {"patience": 3}},
    },
    "banking77": {
        "features": {**WORDS, "norm": "l2"},
        "model": {"type": "feedforward", "hidden": [256], "dropout": 0.3},
        "train": {"batch": 64, "learning_rate": 3e-3, "max_epochs": 30, "early_stopping": {"patience": 4}},
    },
}
SCALES: dict[str, float | None] = {"xavier": None, "0.05": 0.05, "0.02": 0.02}  # model.embedding_scale
RESULTS = ("kept last", "kept mean", "refit last", "refit mean")


def options_of(name: str, scale: str, data: Path) -> ExperimentOptions:
    given = SETS[name]
    model = {**given["model"], "average": True}
    if model["type"] == "text_cnn":
        model["embedding_scale"] = SCALES[scale]
    files = {"train": str(data / name / "train.tsv.gz"), "format": "tsv", "header": False, "columns": ["label", "text"]}
    return ExperimentOptions.model_validate({**given, "data": files, "model": model, "device": "cpu"}, strict=False)


class Running:
    """A network that trains on some documents (docs,) bool, and its figures on others."""

    def __init__(self, corpus: Corpus, options: ExperimentOptions, train: NDArray[np.bool_], seed: int):
        device = torch.device("cpu")
        split = Split(torch.from_numpy(np.where(train, -1, 0)[None]), (0,), (0,), folded=False)
        prepared = prepare(corpus, split, options.features, device, Stopwatch())
        (batch,) = plan_batches([[Cell(0, {}, options)]], [seed], [0], [1])
        self.problem: Problem = prepared.problem(batch, options.model, device)
        self.learner: Learner = options.model.build(options.train, corpus.classes)
        self.state = self.learner.init(self.problem)

    def epoch(self) -> dict[str, Predictor]:
        """One epoch further: its last weights and their mean."""
        self.state = self.learner.step(self.problem, self.state)
        last = self.learner.alternatives(self.problem, self.state)["final"]
        return {"last": last, "mean": self.learner.result(self.problem, self.state)}

    def accuracy(self, predictor: Predictor, docs: NDArray[np.bool_]) -> float:
        index, views = torch.from_numpy(np.nonzero(docs)[0]), self.problem.views
        col, row = (None if s is None else s[0] for s in (views.col_scale, views.row_scale))
        scores = predictor.scores(self.problem.rows, index, col, row)[0]
        return float((scores.argmax(1) == self.problem.labels[index]).double().mean())


def stopped(curve: list[float], patience: int, most: int) -> int | None:
    """The best epoch (from 1), where training has stopped."""
    best = int(np.argmax(curve)) + 1 if curve else 0
    return best if curve and (len(curve) - best >= patience or len(curve) == most) else None


def judged(corpus: Corpus, options: ExperimentOptions, fold: NDArray[np.bool_], seed: int) -> dict[str, float]:
    """Accuracies on the fold (docs,) bool by RESULTS, and the epochs of both kinds."""
    assert options.train.early_stopping is not None
    patience, most = options.train.early_stopping.patience, options.train.max_epochs
    whole, held = ~fold, np.zeros_like(fold)
    rows = np.nonzero(whole)[0]
    held[rows[holdout(corpus.keys[rows], corpus.labels[rows], 0.1, seed, True, None)]] = True
    running = Running(corpus, options, whole & ~held, seed)
    inner: dict[str, list[float]] = {"last": [], "mean": []}
    outer: dict[str, list[float]] = {"last": [], "mean": []}
    while any(stopped(curve, patience, most) is None for curve in inner.values()):
        for kind, predictor in running.epoch().items():
            if stopped(inner[kind], patience, most) is None:
                inner[kind].append(running.accuracy(predictor, held))
                outer[kind].append(running.accuracy(predictor, fold))
    best = {kind: stopped(curve, patience, most) or 0 for kind, curve in inner.items()}
    found: dict[str, float] = {f"kept {kind}": outer[kind][epoch - 1] for kind, epoch in best.items()}
    running = Running(corpus, options, whole, seed)
    for epoch in range(1, max(best.values()) + 1):
        for kind, predictor in running.epoch().items():
            if best[kind] == epoch:
                found[f"refit {kind}"] = running.accuracy(predictor, fold)
    return found | {f"epochs {kind}": epoch for kind, epoch in best.items()}


def table(lines: Iterable[dict[str, Any]]) -> str:
    """Means over folds and seeds, and differences, fold by fold and seed by seed, from the first scale's refit last."""
    made = {(r["set"], r["scale"], r["fold"], r["seed"]): r for r in lines}
    rows = []
    for name, scale in dict.fromkeys(key[:2] for key in made):
        own = {key[2:]: record for key, record in made.items() if key[:2] == (name, scale)}
        others = {key[2:]: record for key, record in made.items() if key[:2] == (name, "xavier")}
        for result in RESULTS:
            values = np.array([record[result] for record in own.values()])
            gains = np.array([own[k][result] - others[k]["refit last"] for k in own if k in others])
            gain = f"{gains.mean():+.4f} ± {gains.std(ddof=1) / len(gains) ** 0.5:.4f}" if len(gains) > 1 else "–"
            epochs = np.mean([record[f"epochs {result.split()[1]}"] for record in own.values()])
            rows.append([name, scale, result, f"{values.mean():.4f}", gain, f"{epochs:.1f}", str(len(values))])
    return markdown_table(["set", "first vectors", "result", "accuracy", "− xavier, refit last", "epochs", "n"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", choices=list(SETS), dest="sets")
    parser.add_argument("--scale", action="append", choices=list(SCALES), dest="scales")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/text"))
    parser.add_argument("--out", type=Path, default=Path("runs/neural_study.jsonl"))
    chosen = parser.parse_args()
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.loads(line) for line in chosen.out.read_text().splitlines()] if chosen.out.exists() else []
    there = {(r["set"], r["scale"], r["fold"], r["seed"]) for r in lines}
    for seed in chosen.seeds:
        for name in chosen.sets or list(SETS):
            is_cnn = SETS[name]["model"]["type"] == "text_cnn"
            for scale in (chosen.scales or list(SCALES)) if is_cnn else ["xavier"]:
                options = options_of(name, scale, chosen.data)
                corpus = read_corpus(options.data, options.features, None, SilentObserver(), Stopwatch())
                fold = fold_of(corpus.keys, corpus.labels, None, FOLDS, 777, True, True, corpus.classes)
                for number in range(FOLDS):
                    if (name, scale, number, seed) in there:
                        continue
                    began = time.process_time()
                    about = {"set": name, "scale": scale, "fold": number, "seed": seed}
                    found = judged(corpus, options, fold == number, seed)
                    lines.append(about | found | {"cpu": time.process_time() - began})
                    with chosen.out.open("a") as file:
                        file.write(json.dumps(lines[-1]) + "\n")
                    print(lines[-1], flush=True)
    print(table(lines))


if __name__ == "__main__":
    main()
