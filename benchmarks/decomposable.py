"""The paper's experiment on word senses (Bruce & Wiebe 1999, figure 2) on freely licensed words, in one command.

    python -m benchmarks.decomposable                       34 NOAD words × 10 folds × all systems, a figure, and the
                                                            same models one by one (5 CPU minutes in all)
    python -m benchmarks.decomposable --rules               rules to choose or combine models of a search, on the same;
                                                            the best of them on half of the words, on the other half
    python -m benchmarks.decomposable --words case.noun     some of the words
    python -m benchmarks.decomposable --sets interest hard  the four classical sets, system by system
    python -m benchmarks.decomposable --sets interest --shuffled-folds   on the folds of the independent reference
    python -m benchmarks.decomposable --graphs              BIC searches beside Chordalysis' edges, with CPU seconds

Needs the measuring data ($GPUCLF_DATA or ../shared/data). Words × folds × criteria are one batch. `best` is the highest
held-out accuracy of any model that the searches over all training rows meet, fold by fold: an oracle. p: paired t over
folds, plain as in the paper and corrected for training sets that overlap (Nadeau & Bengio 2003). LR: logistic
regression on the same positions and on all words as binary features (C 1). CPU seconds count all threads, without
reading and feature views; one by one means a batch of one model each, from its word's contexts alone, whose accuracies
must be the same.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
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
from gpuclf.features.word_rows import WordRows
from gpuclf.features.word_sense import fit_word_sense
from gpuclf.metrics.paired_t import PairedT, paired_t
from gpuclf.models.decomposable.criteria import CRITERIA
from gpuclf.models.decomposable.options import DecomposableOptions
from gpuclf.models.learner import Predictor, Problem, Replicas
from gpuclf.models.linear.logistic import LogisticOptions
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.loop import BatchLoop

FOLDS = 10
SPLITS = 1000
ACCURACY = 5  # the place of the held-out accuracy among SearchState.last
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
    """Held-out accuracy (FOLDS,) by word and system, `best` among them, and CPU seconds of training and judging."""

    accuracy: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    seconds: float = 0.0

    def note(self, word: str, system: str, fold: int, accuracy: float) -> None:
        """One more accuracy; of `best` the highest counts."""
        folds = self.accuracy.setdefault(word, {}).setdefault(system, [0.0] * FOLDS)
        folds[fold] = max(folds[fold], accuracy) if system == BEST else accuracy


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
    """Some words, all models of which train together: words × folds × criteria are one batch of searches."""

    def __init__(self, words: Sequence[Word], systems: dict[str, dict[str, Any]]):
        self.words, self.systems = words, systems
        self.classes = sum(len(word.classes) for word in words)
        begins = np.cumsum([0, *(len(word.classes) for word in words)])
        self.own = [tuple(range(*ends)) for ends in itertools.pairwise(begins.tolist())]
        self.labels = torch.cat([word.labels + own[0] for word, own in zip(words, self.own, strict=True)])
        self.keys = torch.cat([word.keys for word in words])
        train = torch.cat([word.train for word in words], dim=1)
        self.rows = words[0].rows if len(words) == 1 else self._joined()
        self.views = fit_views(self.rows, self.labels, self.classes, train, WordSenseOptions())

    def _joined(self) -> WordRows:
        numbers = torch.repeat_interleave(torch.tensor([len(word.labels) for word in self.words]))
        places = torch.cat([torch.arange(len(word.labels)) for word in self.words])
        parts, names = tuple(word.rows for word in self.words), tuple(word.name for word in self.words)
        return WordRows(parts, names, tuple(self.own), numbers, places)

    def run(self, names: Sequence[str], folds: Sequence[int], found: Found) -> None:
        """Searches once, by the first system of each criterion, on each of the folds; each system then chooses a model
        of the searches by its criterion. Notes how these, and the models that are met, do."""
        began = time.process_time()
        by_criterion = {criterion_of(self.systems[name]): name for name in reversed(names)}
        models = [(criterion, fold) for fold in folds for criterion in by_criterion]
        met = [set(self.systems[by_criterion[criterion]]) <= {"criterion"} for criterion, _ in models]  # by `best`
        state, rule = None, None
        for name in names:
            options = DecomposableOptions(**self.systems[name])
            learner = options.build(TrainOptions(), tuple(map(str, range(self.classes))))
            if state is None:
                problem = self._problem(options, models)
                state = learner.init(problem)
                while not bool(learner.finished(problem, state).all()):
                    state = learner.step(problem, state)
                    for (_, fold), counts, last in zip(models, met, state.last[..., ACCURACY], strict=True):
                        for word, accuracy in zip(
                            self.words, last.reshape(-1).tolist() if counts else (), strict=False
                        ):
                            found.note(word.name, BEST, fold, accuracy)
            if rule != (rule := self.systems[name] | {"criterion": None}):
                predictor = learner.result(problem, learner.rechosen(problem, state))
            for place, (criterion, fold) in enumerate(models):
                if criterion == criterion_of(self.systems[name]):
                    self._judge(problem, predictor, place, name, fold, found)
        found.seconds += time.process_time() - began

    def _problem(self, options: DecomposableOptions, models: Sequence[tuple[str, int]]) -> Problem:
        """Models (criterion, fold) as replicas of one batch."""
        view = torch.tensor([fold for _, fold in models])
        values = {"ess": options.ess, "alpha": options.alpha}
        held = {f"model.{name}": torch.full((len(view),), float(value)).double() for name, value in values.items()}
        held["model.criterion"] = torch.tensor([CRITERIA.index(criterion) for criterion, _ in models]).double()
        replicas = Replicas(view, torch.zeros_like(view), held)
        return Problem(self.rows, self.labels, self.keys, self.classes, self.views, replicas)

    def _judge(self, problem: Problem, predictor: Predictor, place: int, system: str, fold: int, found: Found) -> None:
        """Notes the share of each word's held-out contexts that a replica answers rightly."""
        docs = torch.nonzero(~self.views.train[fold]).flatten()
        assert self.views.col_scale is not None, "contexts have word sets"
        said = predictor.scores(self.rows, docs, self.views.col_scale[fold], None, slice(place, place + 1))[0].argmax(1)
        right = (said == self.labels[docs]).double()
        first = 0
        for word in self.words:
            last = first + len(word.labels)
            own = float(right[(docs >= first) & (docs < last)].mean())
            found.note(word.name, system, fold, own)
            if system == NB:
                found.note(word.name, BEST, fold, own)
            first = last


def run_logistic(word: Word, folds: Sequence[int], found: Found) -> None:
    """Logistic regression on a word's positions and all words around it, the folds as one batch."""
    began = time.process_time()
    rows, view = sparse_rows(word.rows), torch.tensor(folds)
    views = fit_views(rows, word.labels, len(word.classes), word.train, AsGivenOptions())
    options, train = LogisticOptions(C=1.0), TrainOptions()
    held = {
        key: torch.full((len(view),), float(getattr(options, key.partition(".")[2]) or 0)).double()
        for key in options.per_replica
    }
    replicas = Replicas(view, torch.zeros_like(view), held)
    problem = Problem(rows, word.labels, word.keys, len(word.classes), views, replicas)
    learner = options.build(train, word.classes)
    predictor = BatchLoop(learner, problem, train, options.max_steps(train)).run(lambda report, loop: None).predictor
    assert views.col_scale is not None
    assert views.row_scale is not None
    for place, fold in enumerate(folds):
        docs = torch.nonzero(~word.train[fold]).flatten()
        scales = views.col_scale[fold], views.row_scale[fold]
        said = predictor.scores(rows, docs, *scales, slice(place, place + 1))[0].argmax(1)
        found.note(word.name, LR, fold, float((said == word.labels[docs]).double().mean()))
    found.seconds += time.process_time() - began


def together(words: Sequence[Word], systems: dict[str, dict[str, Any]]) -> Found:
    """All words and folds of the systems that may be one batch, batch after batch."""
    found, experiment = Found(), Experiment(words, systems)
    for names in batches(systems):
        if names == [LR]:
            for word in words:
                run_logistic(word, range(FOLDS), found)
        else:
            experiment.run(names, range(FOLDS), found)
    return found


def one_by_one(word: Word, systems: dict[str, dict[str, Any]]) -> Found:
    """Every model of a word as a batch of its own, from the word's contexts alone."""
    found, experiment = Found(), Experiment([word], systems)
    for name, fold in itertools.product(systems, range(FOLDS)):
        if name == LR:
            run_logistic(word, [fold], found)
        else:
            experiment.run([name], [fold], found)
    return found


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
    """The paper's table, a row a word; means, words that are better; CPU seconds; the figure."""
    words = [read(path, shuffled) for path in paths]
    found = together(words, systems)
    tested = [name for name in (SELECTED, STACK) if name in systems]
    head = ["word", "senses", "contexts", "entropy", *systems, BEST]
    head += [text for name in tested for text in (f"{name} − NB", "p", "corrected p")]
    done, rows = [], []
    for word in words:
        accuracy = found.accuracy[word.name]
        means = {name: percent(values) for name, values in accuracy.items()}
        tests = {name: paired_t(accuracy[name], accuracy[NB]) for name in systems if name != NB}
        done.append(WordRow(word.name, len(word.classes), len(word.labels), word.entropy, means, tests))
        cells = [word.name, str(len(word.classes)), str(len(word.labels)), f"{word.entropy:.3f}"]
        cells += [f"{means[name]:.1f}" for name in [*systems, BEST]]
        for name in tested:
            corrected = paired_t(accuracy[name], accuracy[NB], RATIO)
            cells += [f"{100 * tests[name].mean:+.1f}", f"{tests[name].p:.3f}", f"{corrected.p:.3f}"]
        rows.append(cells)
    print(f"{markdown_table(head, rows)}\n\n{summary(done, systems)}")
    if systems is RULES and len(done) > 1:
        print(f"\n{halves(done, list(systems))}")
    models = len(words) * FOLDS * len(systems)
    print(f"\nCPU seconds of {models:,} models: {found.seconds:.1f} in batches of all words", flush=True)
    if serial:
        alone = [one_by_one(word, systems) for word in words]
        for word, again in zip(words, alone, strict=True):
            same = again.accuracy[word.name] == found.accuracy[word.name]
            assert same, f"{word.name}: a batch is not what its models are alone"
        print(f"one by one, with the same accuracies: {sum(again.seconds for again in alone):.1f}")
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
