"""The paper's experiment on word senses (Bruce & Wiebe 1999, figure 2) on freely licensed words, in one command.

    python -m benchmarks.decomposable                       34 NOAD words × 10 folds × all systems
    python -m benchmarks.decomposable --words case.noun     some of them
    python -m benchmarks.decomposable --sets interest hard  the four classical sets, system by system
    python -m benchmarks.decomposable --graphs              BIC searches beside Chordalysis' edges, with CPU seconds

Needs the measuring data ($GPUCLF_DATA or ../shared/data). `best` is the highest held-out accuracy of any model that
the searches meet, fold by fold: an oracle. p: paired t over folds, plain as in the paper and corrected for training
sets that overlap (Nadeau & Bengio 2003). LR: logistic regression on the same positions and on all words as binary
features (C 1). CPU seconds count all threads; all folds of a word train together.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.green import ROOT, require_green
from benchmarks.measure import markdown_table, surroundings
from gpuclf.data.class_order import class_order
from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.data.splits import document_keys, fold_of
from gpuclf.features.options import AsGivenOptions, WordSenseOptions
from gpuclf.features.rows import CodeRows, SparseRows, Views
from gpuclf.features.sense_rows import SenseRows
from gpuclf.features.views import fit_views
from gpuclf.features.word_sense import fit_word_sense
from gpuclf.metrics.paired_t import paired_t
from gpuclf.models.decomposable.options import DecomposableOptions
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.linear.logistic import LogisticOptions
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.loop import BatchLoop, StepReport

FOLDS = 10
TESTS = ["tests/models/test_decomposable.py", "tests/ops/test_conditional_tables.py", "tests/ops/test_chordal_moves.py"]
NB, SELECTED, LR = "NB", "AIC held-out", "LR"
SYSTEMS: dict[str, dict[str, Any]] = {
    NB: {"direction": "fixed", "start": "naive_bayes"},
    "G² sequence": {"criterion": "g2"},
    "G² held-out": {"criterion": "g2", "select": "heldout"},
    "AIC": {"criterion": "aic"},
    SELECTED: {"criterion": "aic", "select": "heldout"},
    "BIC": {"criterion": "bic"},
    "p .0001": {"criterion": "p_value"},
    "mix": {"criterion": "aic", "combine": "mix"},
    "AIC l-o-o": {"criterion": "aic", "select": "leave_one_out"},
    "AIC l-o-o loss": {"criterion": "aic", "select": "leave_one_out", "select_by": "log_loss"},
    "AIC l-o-o 1 SE": {"criterion": "aic", "select": "leave_one_out", "one_standard_error": True},
    LR: {},
}


@dataclass(frozen=True)
class Word:
    """A word's contexts: rows, classes, and folds train (FOLDS, docs) bool."""

    name: str
    rows: SenseRows
    labels: Tensor
    keys: Tensor
    classes: tuple[str, ...]
    train: Tensor

    def problem(self, rows: SenseRows | SparseRows, views: Views, options: dict[str, float]) -> Problem:
        count = len(self.train)
        held = {name: torch.full((count,), value, dtype=torch.float64) for name, value in options.items()}
        replicas = Replicas(torch.arange(count), torch.zeros(count, dtype=torch.int64), held)
        return Problem(rows, self.labels, self.keys, len(self.classes), views, replicas)


def read(path: Path) -> Word:
    """The contexts of a file, and stratified folds by hash of their ids."""
    data = DataOptions(train=path, format="wsd", label="sense")
    _, encoded = fit_word_sense(open_reader(path, data).chunks(), WordSenseOptions())
    assert isinstance(encoded.rows, SenseRows)
    assert encoded.labels is not None
    classes = class_order(encoded.labels)
    labels = np.array([classes.index(label) for label in encoded.labels])
    keys = document_keys(encoded.ids)
    folds = fold_of(keys, labels, None, FOLDS, 0, True, True)
    train = torch.from_numpy(np.stack([folds != fold for fold in range(FOLDS)]))
    name = path.name.removesuffix(".jsonl.gz")
    return Word(name, encoded.rows, torch.from_numpy(labels), torch.from_numpy(keys), classes, train)


def accuracies(word: Word, problem: Problem, scores: Any) -> list[float]:
    """Held-out accuracy of each fold; `scores(fold, docs)` of its model."""
    found = []
    for fold in range(FOLDS):
        docs = torch.nonzero(~word.train[fold]).flatten()
        found.append(float((scores(fold, docs).argmax(1) == problem.labels[docs]).double().mean()))
    return found


def searched(word: Word, options: dict[str, Any]) -> tuple[list[float], list[float]]:
    """Held-out accuracy of each fold, and the highest of any model that its search meets."""
    chosen = DecomposableOptions(**options)
    views = fit_views(word.rows, word.labels, len(word.classes), word.train, WordSenseOptions())
    problem = word.problem(word.rows, views, {"model.ess": chosen.ess, "model.alpha": chosen.alpha})
    train = TrainOptions(evaluate_every=chosen.evaluate_every)
    best = [0.0] * FOLDS

    def follow(report: StepReport, loop: BatchLoop) -> None:
        del loop
        for place, position in enumerate(report.positions.tolist()):
            best[position] = max(best[position], float(report.figures["outside_accuracy"][place]))

    predictor = BatchLoop(chosen.build(train, word.classes), problem, train, None).run(follow).predictor
    assert views.col_scale is not None
    scale = views.col_scale

    def scores(fold: int, docs: Tensor) -> Tensor:
        return predictor.scores(word.rows, docs, scale[fold], None, slice(fold, fold + 1))[0]

    return accuracies(word, problem, scores), best


def logistic(word: Word) -> list[float]:
    """Held-out accuracy of logistic regression on positions and words as binary features."""
    rows = word.rows
    base = torch.tensor([0, *rows.num_values]).cumsum(0)
    fixed = rows.codes.long() + base[:-1] + 1
    width = fixed.shape[1] + rows.crow.diff()
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), width.cumsum(0)])
    parts = [
        torch.cat([fixed[n], rows.word[rows.crow[n] : rows.crow[n + 1]].long() + base[-1] + 1])
        for n in range(len(width))
    ]
    col = torch.cat(parts).to(torch.int32)
    sparse = SparseRows(crow, col, torch.ones(len(col)), int(base[-1]) + rows.num_words)
    options = AsGivenOptions()
    views = fit_views(sparse, word.labels, len(word.classes), word.train, options)
    chosen = LogisticOptions(C=1.0)
    settings = {key: float(getattr(chosen, key.partition(".")[2]) or 0.0) for key in chosen.per_replica}
    problem = word.problem(sparse, views, settings)
    train = TrainOptions()
    loop = BatchLoop(chosen.build(train, word.classes), problem, train, chosen.max_steps(train))
    predictor = loop.run(lambda report, running: None).predictor
    assert views.col_scale is not None
    assert views.row_scale is not None
    columns, heights = views.col_scale, views.row_scale

    def scores(fold: int, docs: Tensor) -> Tensor:
        return predictor.scores(sparse, docs, columns[fold], heights[fold], slice(fold, fold + 1))[0]

    return accuracies(word, problem, scores)


def entropy(labels: Tensor) -> float:
    share = torch.bincount(labels).double() / len(labels)
    return float(-(torch.xlogy(share, share)).sum() / math.log(2))


def percent(values: Sequence[float]) -> float:
    return 100 * sum(values) / len(values)


def compare_words(paths: Sequence[Path], systems: Sequence[str]) -> None:
    """The paper's table: a row a word as it is done, then means, significant words, CPU seconds by system."""
    head = ["word", "senses", "contexts", "entropy", *systems, "best", "selected − NB", "p", "corrected p"]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
    totals: dict[str, list[float]] = {name: [] for name in [*systems, "best"]}
    cpu = dict.fromkeys(systems, 0.0)
    better = worse = 0
    for path in paths:
        word = read(path)
        found: dict[str, list[float]] = {}
        best = [0.0] * FOLDS
        for name in systems:
            began = time.process_time()
            found[name], met = (logistic(word), []) if name == LR else searched(word, SYSTEMS[name])
            cpu[name] += time.process_time() - began
            if SYSTEMS[name].get("select") is None and name != LR:
                best = [max(pair) for pair in zip(best, met, strict=True)]
        found["best"] = best
        for name, values in found.items():
            totals[name].append(percent(values))
        ratio = 1 / (FOLDS - 1)
        plain, corrected = paired_t(found[SELECTED], found[NB]), paired_t(found[SELECTED], found[NB], ratio)
        better += plain.p < 0.05 and plain.mean > 0
        worse += plain.p < 0.05 and plain.mean < 0
        cells = [word.name, str(len(word.classes)), str(len(word.labels)), f"{entropy(word.labels):.3f}"]
        cells += [f"{percent(found[name]):.1f}" for name in [*systems, "best"]]
        cells += [f"{100 * plain.mean:+.1f}", f"{plain.p:.3f}", f"{corrected.p:.3f}"]
        print("| " + " | ".join(cells) + " |", flush=True)
    count = len(paths)
    means = [f"{sum(totals[name]) / count:.1f}" for name in [*systems, "best"]]
    print("| mean | | | | " + " | ".join(means) + " | | | |")
    print(f"\n{SELECTED} against {NB}, plain paired t at .05: better on {better} words, worse on {worse} of {count}")
    print("CPU seconds: " + ", ".join(f"{name} {seconds:.1f}" for name, seconds in cpu.items()))


def compare_graphs(folder: Path) -> None:
    """BIC with unadjusted degrees of freedom on the wide tables: edges, whether they are Chordalysis', CPU seconds."""
    rows = []
    for name in ("interest_0", "line_0", "line_100", "line_300"):
        with gzip.open(folder / f"wide_{name}.csv.gz", "rt", encoding="ascii") as lines:
            cells = np.loadtxt(lines, delimiter=",", dtype=np.int64)
        columns = [np.unique(column, return_inverse=True)[1] for column in cells.T]
        codes = torch.from_numpy(np.stack(columns[1:], axis=1).astype(np.int32)) + 1
        held = CodeRows(codes, tuple(int(column.max()) + 2 for column in columns[1:]))
        labels, one = torch.from_numpy(columns[0]), torch.zeros(1, dtype=torch.int64)
        options = {"model.ess": torch.ones(1).double(), "model.alpha": torch.full((1,), 0.01).double()}
        views = Views(torch.ones(1, len(labels), dtype=torch.bool))
        keys = torch.arange(len(labels))
        problem = Problem(held, labels, keys, int(labels.max()) + 1, views, Replicas(one, one, options))
        learner = DecomposableOptions(criterion="bic", dof="unadjusted").build(TrainOptions(), ["a", "b"])
        seconds = []
        for run in range(3):
            began = time.process_time()
            state = learner.init(problem)
            while not bool(learner.finished(problem, state).all()):
                state = learner.step(problem, state)
            learner.result(problem, state)
            if run:  # the first one loads the kernels
                seconds.append(time.process_time() - began)
        found = [tuple(sorted(move)) for move in state.moves[0, 0].tolist() if move[0] >= 0]
        listed = folder / "chordalysis" / f"ch_{name}.txt"
        same = "no list"
        if listed.is_file():
            wanted = [tuple(sorted(map(int, line.split()))) for line in listed.read_text().splitlines()]
            same = "same, in the same order" if found == wanted else "others"
        rows.append([name, str(1 + len(held.num_values)), str(len(found)), same, f"{min(seconds):.2f}"])
    print(markdown_table(["table", "variables", "edges", "Chordalysis' edges", "CPU s"], rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", nargs="+", help="NOAD words; all of them by default")
    parser.add_argument("--sets", nargs="+", help="interest, hard, line, serve instead of NOAD words")
    parser.add_argument(
        "--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS), help="NB and AIC held-out are needed"
    )
    parser.add_argument("--graphs", action="store_true", help="searches over wide tables")
    parser.add_argument("--without-tests", action="store_true", help="do not run the tests first")
    given = parser.parse_args()
    folder = Path(os.environ.get("GPUCLF_DATA", ROOT.parent / "shared" / "data")) / "wsd"
    print(surroundings(torch.device("cpu")))
    if not given.without_tests:
        require_green(TESTS)
    if given.graphs:
        compare_graphs(folder)
        return
    if given.sets:
        paths = [folder / f"{name}.jsonl.gz" for name in given.sets]
    else:
        listed = json.loads((folder / "noad" / "index.json").read_text(encoding="utf-8"))
        names = given.words or [word["word"] for word in listed]
        paths = [folder / "noad" / f"{name}.jsonl.gz" for name in names]
    compare_words(paths, [name for name in SYSTEMS if name in {*given.systems, NB, SELECTED}])


if __name__ == "__main__":
    main()
