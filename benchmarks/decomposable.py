"""The paper's experiment on word senses (Bruce & Wiebe 1999, figure 2) on freely licensed words, in one command.

    python -m benchmarks.decomposable                       34 NOAD words × 10 folds × all systems, a figure, and the
                                                            same models one by one (5 CPU minutes in all)
    python -m benchmarks.decomposable --rules               rules to choose or combine models of a search, on the same;
                                                            the best of them on half of the words, on the other half
    python -m benchmarks.decomposable --words case.noun     some of the words
    python -m benchmarks.decomposable --sets interest hard  the four classical sets, system by system
    python -m benchmarks.decomposable --sets interest --shuffled-folds   on the folds of the independent reference
    python -m benchmarks.decomposable --graphs              BIC searches beside Chordalysis' edges, with CPU seconds

Needs the measuring data ($GPUCLF_DATA or ../shared/data). A word's folds and criteria train as one batch. `best` is the
highest held-out accuracy of any model that the searches over all training rows meet, fold by fold: an oracle. p: paired
t over folds, plain as in the paper and corrected for training sets that overlap (Nadeau & Bengio 2003). LR: logistic
regression on the same positions and on all words as binary features (C 1). CPU seconds count all threads, without
reading and feature views; one by one means a batch of one model each, whose accuracies must be the same.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold
from torch import Tensor

from benchmarks.decomposable_systems import BEST, LR, NB, RULES, SELECTED, STACK, SYSTEMS, batches, criterion_of
from benchmarks.green import ROOT, require_green
from benchmarks.measure import markdown_table, surroundings
from benchmarks.senses_figure import WordRow, draw_words
from gpuclf.data.class_order import class_order
from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.data.splits import document_keys, fold_of
from gpuclf.features.options import AsGivenOptions, WordSenseOptions
from gpuclf.features.rows import CodeRows, SparseRows, Views
from gpuclf.features.sense_rows import SenseRows
from gpuclf.features.views import fit_views
from gpuclf.features.word_sense import fit_word_sense
from gpuclf.metrics.paired_t import PairedT, paired_t
from gpuclf.models.decomposable.criteria import CRITERIA
from gpuclf.models.decomposable.options import DecomposableOptions
from gpuclf.models.learner import LearnerOptions, Predictor, Problem, Replicas
from gpuclf.models.linear.logistic import LogisticOptions
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.loop import BatchLoop, StepReport

FOLDS = 10
SPLITS = 1000
RATIO = 1 / (FOLDS - 1)  # of judged to training rows
TESTS = ["tests/models/test_decomposable.py", "tests/ops/test_conditional_tables.py", "tests/ops/test_chordal_moves.py"]


@dataclass(frozen=True)
class Word:
    """A word's contexts: rows, classes, and folds train (FOLDS, docs) bool."""

    name: str
    rows: SenseRows
    labels: Tensor
    keys: Tensor
    classes: tuple[str, ...]
    train: Tensor

    @property
    def entropy(self) -> float:
        share = torch.bincount(self.labels).double() / len(self.labels)
        return float(-(torch.xlogy(share, share)).sum() / math.log(2))


@dataclass
class Found:
    """Held-out accuracy (FOLDS,) by system, `best` among them, and CPU seconds of training and judging."""

    accuracy: dict[str, list[float]] = field(default_factory=dict)
    seconds: float = 0.0


def read(path: Path, shuffled: bool = False) -> Word:
    """The contexts of a file, and stratified folds by hash of their ids, or those of scikit-learn."""
    data = DataOptions(train=path, format="wsd", label="sense")
    _, encoded = fit_word_sense(open_reader(path, data).chunks(), WordSenseOptions())
    assert isinstance(encoded.rows, SenseRows)
    assert encoded.labels is not None
    classes = class_order(encoded.labels)
    labels = np.array([classes.index(label) for label in encoded.labels])
    keys = document_keys(encoded.ids)
    folds = shuffled_folds(labels) if shuffled else fold_of(keys, labels, None, FOLDS, 0, True, True)
    train = torch.from_numpy(np.stack([folds != fold for fold in range(FOLDS)]))
    name = path.name.removesuffix(".jsonl.gz")
    return Word(name, encoded.rows, torch.from_numpy(labels), torch.from_numpy(keys), classes, train)


def shuffled_folds(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """The fold (docs,) of each context by scikit-learn's StratifiedKFold, which the independent reference took."""
    folds = np.zeros(len(labels), dtype=np.int64)
    splits = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(labels[:, None], labels)
    for fold, (_, judged) in enumerate(splits):
        folds[judged] = fold
    return folds


class Experiment:
    """One word, as codes for searches and as sparse rows for logistic regression, with the views of all folds."""

    def __init__(self, word: Word, systems: dict[str, dict[str, Any]]):
        self.word, self.systems = word, systems
        classes = len(word.classes)
        self.views = fit_views(word.rows, word.labels, classes, word.train, WordSenseOptions())
        self.sparse = sparse_rows(word.rows)
        self.sparse_views = fit_views(self.sparse, word.labels, classes, word.train, AsGivenOptions())

    def together(self) -> Found:
        """All folds of the systems that may be one batch, batch after batch."""
        found = Found({BEST: [0.0] * FOLDS})
        for names in batches(self.systems):
            criteria = list(dict.fromkeys(criterion_of(self.systems[name]) for name in names))
            first = [
                next(name for name in names if criterion_of(self.systems[name]) == criterion) for criterion in criteria
            ]
            models = [(name, fold) for fold in range(FOLDS) for name in first]
            if first == names:
                self._run(names, models, found)
            else:
                self._choose(names, models, found)
        return found

    def one_by_one(self) -> Found:
        """Every model as a batch of its own."""
        found = Found({BEST: [0.0] * FOLDS})
        for name in self.systems:
            for fold in range(FOLDS):
                self._run([name], [(name, fold)], found)
        return found

    def _run(self, names: Sequence[str], models: Sequence[tuple[str, int]], found: Found) -> None:
        """Trains models (system, fold) as one batch, and notes how they, and those that they meet, do."""
        began = time.process_time()
        linear = names[0] == LR
        options = LogisticOptions(C=1.0) if linear else DecomposableOptions(**self.systems[names[0]])
        train = TrainOptions() if linear else TrainOptions(evaluate_every=options.evaluate_every)
        problem = self._problem(options, models, linear)
        counts = set(self.systems[names[0]]) <= {"criterion"} and not linear  # of models that `best` is taken over

        def follow(report: StepReport, loop: BatchLoop) -> None:
            del loop
            for place, position in enumerate(report.positions.tolist() if counts else ()):
                met = float(report.figures["outside_accuracy"][place])
                found.accuracy[BEST][models[position][1]] = max(found.accuracy[BEST][models[position][1]], met)

        learner = options.build(train, self.word.classes)
        predictor = BatchLoop(learner, problem, train, options.max_steps(train)).run(follow).predictor
        for place, (name, fold) in enumerate(models):
            right = self._right(problem, predictor, place)
            found.accuracy.setdefault(name, [0.0] * FOLDS)[fold] = right
            if name == NB:
                found.accuracy[BEST][fold] = max(found.accuracy[BEST][fold], right)
        found.seconds += time.process_time() - began

    def _choose(self, names: Sequence[str], models: Sequence[tuple[str, int]], found: Found) -> None:
        """Searches once, by the first system of each criterion and fold; each system chooses a model of it."""
        began = time.process_time()
        options = [DecomposableOptions(**self.systems[name]) for name in names]
        problem = self._problem(options[0], models, False)
        state = None
        for name, own in zip(names, options, strict=True):
            learner = own.build(TrainOptions(evaluate_every=own.evaluate_every), self.word.classes)
            if state is None:
                state = learner.init(problem)
                while not bool(learner.finished(problem, state).all()):
                    state = learner.step(problem, state)
            predictor = learner.result(problem, learner.rechosen(problem, state))
            for place, (searched, fold) in enumerate(models):
                if criterion_of(self.systems[searched]) == criterion_of(self.systems[name]):
                    found.accuracy.setdefault(name, [0.0] * FOLDS)[fold] = self._right(problem, predictor, place)
        found.seconds += time.process_time() - began

    def _problem(self, options: LearnerOptions, models: Sequence[tuple[str, int]], linear: bool) -> Problem:
        """Models (system, fold) as replicas of one batch."""
        word, view = self.word, torch.tensor([fold for _, fold in models])
        rows, views = (self.sparse, self.sparse_views) if linear else (word.rows, self.views)
        held = {key: torch.tensor([self._option(options, key, n) for n, _ in models]) for key in options.per_replica}
        replicas = Replicas(view, torch.zeros_like(view), {key: value.double() for key, value in held.items()})
        return Problem(rows, word.labels, word.keys, len(word.classes), views, replicas)

    def _right(self, problem: Problem, predictor: Predictor, place: int) -> float:
        """The share of a replica's held-out contexts that its model answers rightly."""
        fold = int(problem.replicas.view[place])
        docs = torch.nonzero(~self.word.train[fold]).flatten()
        scales = (problem.views.col_scale, problem.views.row_scale)
        columns, heights = (None if part is None else part[fold] for part in scales)
        said = predictor.scores(problem.rows, docs, columns, heights, slice(place, place + 1))[0].argmax(1)
        return float((said == self.word.labels[docs]).double().mean())

    def _option(self, options: LearnerOptions, key: str, system: str) -> float:
        value = getattr(options, key.partition(".")[2])
        if key == "model.criterion":
            return CRITERIA.index(criterion_of(self.systems[system]))
        return float(value or 0.0)


def sparse_rows(rows: SenseRows) -> SparseRows:
    """Positions and words as binary features."""
    base = torch.tensor([0, *rows.num_values]).cumsum(0)
    fixed = rows.codes.long() + base[:-1] + 1
    width = fixed.shape[1] + rows.crow.diff()
    crow = torch.cat([torch.zeros(1, dtype=torch.int64), width.cumsum(0)])
    parts = [
        torch.cat([fixed[n], rows.word[rows.crow[n] : rows.crow[n + 1]].long() + base[-1] + 1])
        for n in range(len(width))
    ]
    col = torch.cat(parts).to(torch.int32)
    return SparseRows(crow, col, torch.ones(len(col)), int(base[-1]) + rows.num_words)


def percent(values: Sequence[float]) -> float:
    return 100 * sum(values) / len(values)


def compare_words(
    paths: Sequence[Path], systems: dict[str, dict[str, Any]], serial: bool, shuffled: bool, figure: Path | None
) -> None:
    """The paper's table, a row a word as it is done; means, words that are better; CPU seconds; the figure."""
    tested = [name for name in (SELECTED, STACK) if name in systems]
    head = ["word", "senses", "contexts", "entropy", *systems, BEST]
    head += [text for name in tested for text in (f"{name} − NB", "p", "corrected p")]
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head), flush=True)
    done: list[WordRow] = []
    together = alone = 0.0
    for path in paths:
        word = read(path, shuffled)
        experiment = Experiment(word, systems)
        found = experiment.together()
        together += found.seconds
        if serial:
            again = experiment.one_by_one()
            assert again.accuracy == found.accuracy, f"{word.name}: a batch is not what its models are alone"
            alone += again.seconds
        means = {name: percent(values) for name, values in found.accuracy.items()}
        tests = {name: paired_t(found.accuracy[name], found.accuracy[NB]) for name in systems if name != NB}
        done.append(WordRow(word.name, len(word.classes), len(word.labels), word.entropy, means, tests))
        cells = [word.name, str(len(word.classes)), str(len(word.labels)), f"{word.entropy:.3f}"]
        cells += [f"{means[name]:.1f}" for name in [*systems, BEST]]
        for name in tested:
            corrected = paired_t(found.accuracy[name], found.accuracy[NB], RATIO)
            cells += [f"{100 * tests[name].mean:+.1f}", f"{tests[name].p:.3f}", f"{corrected.p:.3f}"]
        print("| " + " | ".join(cells) + " |", flush=True)
    print(f"\n{summary(done, systems)}")
    if systems is RULES and len(done) > 1:
        print(f"\n{halves(done, list(systems))}")
    models = len(paths) * FOLDS * len(systems)
    print(f"\nCPU seconds of {models:,} models: {together:.1f} in batches" + f", {alone:.1f} one by one" * serial)
    if figure is not None:
        draw_words(done, SELECTED, STACK, figure)
        print(f"figure: {figure}")


def summary(done: Sequence[WordRow], systems: dict[str, dict[str, Any]]) -> str:
    """Means over words of all systems: how much of the way from naive Bayes to `best` each goes, and on how many words
    it is better or worse by the plain paired t at .05."""
    means = {name: sum(row.accuracy[name] for row in done) / len(done) for name in [*systems, BEST]}
    gap = max(means[BEST] - means[NB], 1e-9)
    rows = []
    for name, mean in means.items():
        tests: list[PairedT] = [row.tests[name] for row in done if name in row.tests]
        better = sum(test.p < 0.05 and test.mean > 0 for test in tests)
        worse = sum(test.p < 0.05 and test.mean < 0 for test in tests)
        above = sum(test.mean > 0 for test in tests)
        about = [f"{above}", f"{better}", f"{worse}"] if tests else ["", "", ""]
        rows.append([name, f"{mean:.2f}", f"{100 * (mean - means[NB]) / gap:.0f} %", *about])
    return markdown_table(["system", "mean", "of the gap", "words above NB", "significantly", "sign. below"], rows)


def halves(done: Sequence[WordRow], rules: Sequence[str]) -> str:
    """What choosing a rule with hindsight is worth: the rule of the best mean on a random half of the words, scored on
    the other half, over SPLITS splits (seed 0)."""
    table = np.array([[row.accuracy[name] for name in [*rules, BEST]] for row in done])
    bayes, draw = list(rules).index(NB), np.random.default_rng(0)
    chosen, own, other, gaps = [], [], [], []
    for _ in range(SPLITS):
        order = draw.permutation(len(table))
        first, second = (table[part].mean(0) for part in (order[: len(order) // 2], order[len(order) // 2 :]))
        rule = int(first[:-1].argmax())
        chosen.append(rules[rule])
        own.append(first[rule] - first[bayes])
        other.append(second[rule] - second[bayes])
        gaps.append(second[-1] - second[bayes])
    times = ", ".join(f"{name} {chosen.count(name)}" for name in sorted(set(chosen), key=chosen.count, reverse=True))
    gain, spread, share = float(np.mean(other)), float(np.std(other)), 100 * np.mean(other) / np.mean(gaps)
    return (
        f"The best of {len(rules)} rules on half of the words, over {SPLITS} splits ({times}): {np.mean(own):+.2f} "
        f"over naive Bayes there; on the other half {gain:+.2f} (sd {spread:.2f}), {share:.0f} % of the gap"
    )


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
    parser.add_argument("--rules", action="store_true", help="rules to choose and combine models instead of systems")
    parser.add_argument("--systems", nargs="+", choices=[*SYSTEMS, *RULES], help="some of them, and naive Bayes")
    parser.add_argument(
        "--shuffled-folds", action="store_true", help="folds of scikit-learn's StratifiedKFold, state 0"
    )
    parser.add_argument("--graphs", action="store_true", help="searches over wide tables")
    parser.add_argument("--without-serial", action="store_true", help="do not train the same models one by one")
    parser.add_argument("--without-tests", action="store_true", help="do not run the tests first")
    given = parser.parse_args()
    folder = Path(os.environ.get("GPUCLF_DATA", ROOT.parent / "shared" / "data")) / "wsd"
    print(surroundings(torch.device("cpu")))
    if not given.without_tests:
        require_green(TESTS)
    if given.graphs:
        compare_graphs(folder)
        return
    systems = RULES if given.rules else SYSTEMS
    if given.systems:
        systems = {name: options for name, options in (SYSTEMS | RULES).items() if name in {NB, *given.systems}}
    if given.sets:
        paths = [folder / f"{name}.jsonl.gz" for name in given.sets]
    else:
        listed = json.loads((folder / "noad" / "index.json").read_text(encoding="utf-8"))
        names = given.words or [word["word"] for word in listed]
        paths = [folder / "noad" / f"{name}.jsonl.gz" for name in names]
    whole = systems is SYSTEMS and not (given.sets or given.words)
    figure = ROOT / "benchmarks" / "figures" / "word-senses.svg" if whole else None
    compare_words(paths, systems, not (given.without_serial or given.rules), given.shuffled_folds, figure)


if __name__ == "__main__":
    main()
