"""movie_reviews with each of Pang & Lee's ten folds once the test file: `python -m benchmarks.sets --movie-folds`.

The fixed test file holds 200 documents, one standard error of which is 1.8 points; the ten folds hold 2,000. For each
fold every learner of ours and of scikit-learn is chosen anew by 3 folds of the other nine alone, trained on all nine
and measured on the fold: nested cross-validation (Varma & Simon 2006). First on tf-idf of words, then on log-count
ratios of words and pairs of words (Wang & Manning 2012), then with the input, too, chosen by the inner folds. The rows
"chosen by the folds" also leave the learner itself to the inner folds, so nothing in them is picked with hindsight.
One fold of one input of one learner of ours is one `gpuclf train`.

Answers stand in answers.tsv of --out, a table that `gpuclf compare` reads. CPU seconds of ours are of whole runs, those
of the peers of fits and predictions.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import markdown_table, timed
from benchmarks.set_experiments import experiment, run
from benchmarks.set_peers import Input, Labels, count_words, peers, peers_chosen, read
from gpuclf.metrics.mcnemar import mcnemar
from gpuclf.report.predictions import read_predictions

MOVIES = "movie_reviews"
FOLD_SIZE = 100  # documents of each class
INNER_FOLDS = 3
INPUTS: tuple[Input, ...] = (("tfidf", (1, 1)), ("nb_ratio", (1, 2)))
OURS = ("mira", "arow", "scw", "logistic", "svm")
OURS_CHOSEN, PEERS_CHOSEN = "ours, chosen by the folds", "peers, chosen by the folds"
TWINS = (
    ("mira", "PassiveAggressive (PA-I)"),
    ("svm", "LinearSVC"),
    ("logistic", "LogisticRegression(liblinear)"),
    (OURS_CHOSEN, PEERS_CHOSEN),
)


@dataclass
class System:
    """A learner's answers, fold after fold, with what was chosen and by which mean of the inner folds."""

    answers: list[Labels] = field(default_factory=list)
    chosen: list[str] = field(default_factory=list)
    means: list[float] = field(default_factory=list)
    cpu: float = 0.0

    def add(self, answers: Labels, chosen: str, mean: float, cpu: float) -> None:
        self.answers.append(answers)
        self.chosen.append(chosen)
        self.means.append(mean)
        self.cpu += cpu


def movie_folds(folder: Path, learners: Sequence[str] | None, out: Path, device: str) -> None:
    """Prints the tables and leaves runs, folds and answers.tsv in `out`."""
    texts, labels = (np.concatenate(parts) for parts in zip(*_both(folder), strict=True))
    fold = folds_of(labels)
    masks = [fold == number for number in range(int(fold.max()) + 1)]
    for number, held in enumerate(masks):
        for part, mask in (("train", ~held), ("test", held)):
            _write(out / f"fold{number + 1}" / f"{part}.tsv.gz", labels[mask], texts[mask])
    gold = np.concatenate([labels[held] for held in masks])
    ours, theirs = tuple(learners or OURS), tuple(peers())
    by_input: list[dict[str, System]] = []
    for one in INPUTS:
        counts = {one[1]: count_words(list(texts), one[1])}
        systems = {name: System() for name in ours + theirs}
        for number, held in enumerate(masks):
            for learner in ours:
                systems[learner].add(*_ours(out, f"fold{number + 1}", learner, one, device))
            for peer, chosen in peers_chosen(counts, labels, ~held, theirs, [one], INNER_FOLDS).items():
                systems[peer].add(chosen.predicted, chosen.setting, chosen.mean, chosen.seconds)
            rights = [f"{title} {(s.answers[-1] == labels[held]).mean():.3f}" for title, s in systems.items()]
            print(f"fold {number + 1}, {one[0]}, ngrams {one[1]}: {', '.join(rights)}", flush=True)
        by_input.append(systems)
        _report(f"{one[0]}, ngrams {one[1]}", systems, gold, ours, theirs)
    chosen_inputs = {
        name: chosen_of([(systems[name].chosen, systems[name]) for systems in by_input]) for name in ours + theirs
    }
    answers = _report("input chosen by the inner folds", chosen_inputs, gold, ours, theirs)
    _write_answers(out / "answers.tsv", gold, answers)


def _report(
    title: str, systems: Mapping[str, System], gold: Labels, ours: Sequence[str], theirs: Sequence[str]
) -> dict[str, Labels]:
    """Prints both tables with the rows for the learner that the inner folds choose; the answers of all rows."""
    named = {
        side: [([name] * len(systems[name].means), systems[name]) for name in names]
        for side, names in ((OURS_CHOSEN, ours), (PEERS_CHOSEN, theirs))
    }
    shown = dict(systems) | {side: chosen_of(candidates) for side, candidates in named.items()}
    answers = {name: np.concatenate(system.answers) for name, system in shown.items()}
    print(f"\n{title}\n\n{_accuracies(shown, gold)}\n\n{_pairs(gold, answers, ours, theirs)}\n", flush=True)
    return answers


def folds_of(labels: Labels) -> NDArray[np.int64]:
    """The fold (docs,) of each document: the first hundred of each class (cv000 to cv099), the next hundred, …"""
    fold = np.empty(len(labels), dtype=np.int64)
    for name in np.unique(labels):
        own = labels == name
        fold[own] = np.arange(own.sum()) // FOLD_SIZE
    return fold


def chosen_of(candidates: Sequence[tuple[Sequence[str], System]]) -> System:
    """Fold by fold the answers of the candidate with the highest mean of the inner folds, the first of equals, told of
    by the words beside it (one a fold)."""
    found = System(cpu=sum(system.cpu for _, system in candidates))
    for number in range(len(candidates[0][1].means)):
        told, system = max(candidates, key=lambda one: one[1].means[number])
        found.add(system.answers[number], told[number], system.means[number], 0.0)
    return found


def _both(folder: Path) -> Iterator[tuple[NDArray[np.object_], Labels]]:
    """Texts and labels of train.tsv.gz, which has the first nine hundred of each class in order, and of test.tsv.gz."""
    for part in ("train", "test"):
        texts, labels = read(folder / f"{part}.tsv.gz")
        yield np.array(texts, dtype=object), labels


def _write(file: Path, labels: Labels, texts: NDArray[np.object_]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(file, "wt", encoding="utf-8", newline="", compresslevel=1) as lines:
        lines.writelines(f"{label}\t{text}\n" for label, text in zip(labels, texts, strict=True))


def _ours(data: Path, name: str, learner: str, one: Input, device: str) -> tuple[Labels, str, float, float]:
    """The test answers of one run, what the inner folds chose, its mean, CPU seconds."""
    weights, ngrams = one
    place = data / "runs" / name / learner / weights
    options = experiment(name, learner, weights, data, device, [ngrams], INNER_FOLDS)
    metrics, (_, cpu) = timed(partial(run, options, place))
    best = metrics["best"]
    told = ", ".join([weights, *(f"{key.rpartition('.')[2]} {value}" for key, value in best["options"].items())])
    said = np.array([answer for _, _, answer, _ in read_predictions(place / "predictions.tsv")[1]])
    return said, told, best["value"], cpu


def _write_answers(file: Path, gold: Labels, answers: Mapping[str, Labels]) -> None:
    rows = zip(gold, *answers.values(), strict=True)
    file.write_text("\n".join("\t".join(row) for row in [("gold", *answers), *rows]) + "\n", encoding="utf-8")


def _accuracies(systems: Mapping[str, System], gold: Labels) -> str:
    rows = []
    for title, system in systems.items():
        right = np.concatenate(system.answers) == gold
        by_fold = right.reshape(len(system.answers), -1).mean(axis=1)
        told = "; ".join(f"{choice} (×{times})" for choice, times in Counter(system.chosen).most_common())
        rows.append([title, f"{right.mean():.4f}", f"{by_fold.std(ddof=1):.4f}", f"{system.cpu:.0f}", told])
    return markdown_table(["learner", "accuracy", "s.d. over folds", "CPU s", "chosen"], rows)


def _pairs(gold: Labels, answers: Mapping[str, Labels], ours: Sequence[str], theirs: Sequence[str]) -> str:
    """McNemar's test of each twin pair, and of the best of ours with the best peer (both picked with hindsight)."""
    first, second = (max(names, key=lambda name: (answers[name] == gold).sum()) for names in (ours, theirs))
    rows = []
    for one, other in dict.fromkeys([(first, second), *(pair for pair in TWINS if pair[0] in answers)]):
        right, others = answers[one] == gold, answers[other] == gold
        test = mcnemar(int((right & ~others).sum()), int((~right & others).sum()))
        points = 100 * (right.mean() - others.mean())
        rows.append(
            [f"{one} − {other}", f"{points:+.2f}", str(test.only_first), str(test.only_second), f"{test.p:.3f}"]
        )
    return markdown_table(["pair (the first: best of each side)", "points", "only ours", "only peer's", "p"], rows)
