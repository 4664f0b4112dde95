"""Which of several systems is better, by how much, and whether the data can tell: every pair, every test that fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from gpuclf.data.aspects import NONE
from gpuclf.faults import UserFault
from gpuclf.metrics.aspects import aspect_f1
from gpuclf.metrics.bootstrap import METRICS, bootstrap_difference, resampled, resampled_units
from gpuclf.metrics.confusion import confusion
from gpuclf.metrics.holm import holm
from gpuclf.metrics.mcnemar import McNemar, disagreements, mcnemar, paired_interval
from gpuclf.metrics.paired_t import PairedT, paired_t
from gpuclf.metrics.proportions import two_proportions
from gpuclf.report.comparison_files import System

MCNEMAR, BOOTSTRAP, PROPORTIONS = "McNemar", "paired bootstrap", "two proportions (z)"
ASPECT_F1 = "aspect_f1"
PAIRED_T, CORRECTED_T = "paired t over folds", "corrected paired t over folds"

Measure = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Settings:
    """What is asked for: a metric, resamples and their seed, alpha (intervals have level 1 - alpha)."""

    metric: str = "accuracy"
    samples: int = 10_000
    seed: int = 0
    alpha: float = 0.05
    different_tests: bool = False

    @property
    def level(self) -> float:
        return 1 - self.alpha


@dataclass(frozen=True)
class PairTest:
    """One test of one pair. difference: first minus second; holm_p: corrected over all pairs under this test."""

    first: str
    second: str
    test: str
    metric: str
    difference: float
    interval: tuple[float, float]
    p: float
    holm_p: float
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """What a pair's deciding test says; better is None where neither is; significant: holm_p is below alpha."""

    first: str
    second: str
    better: str | None
    significant: bool
    by: PairTest


@dataclass(frozen=True)
class Comparison:
    """figures: accuracy and the metric asked for, by system; tests, pair after pair; a verdict a pair; remarks."""

    settings: Settings
    documents: dict[str, int]
    figures: dict[str, dict[str, float]]
    tests: tuple[PairTest, ...]
    verdicts: tuple[Verdict, ...]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        systems = {name: {"documents": self.documents[name], **figures} for name, figures in self.figures.items()}
        return asdict(self.settings) | {
            "systems": systems,
            "tests": [asdict(test) for test in self.tests],
            "verdicts": [asdict(verdict) | {"by": verdict.by.test} for verdict in self.verdicts],
            "notes": list(self.notes),
        }


def compare(systems: Sequence[System], settings: Settings) -> Comparison:
    """Every pair of the systems; raises UserFault where their documents do not fit together."""
    if settings.different_tests:
        return _on_different_documents(systems, settings)
    answers = _aligned(systems)
    measures = _measures(systems, settings, answers)
    counts = confusion(answers.gold, answers.predicted, answers.num_classes)
    tests = [*_mcnemar(systems, answers, settings), *_bootstrap(systems, answers, counts, settings, measures)]
    folded, notes = _over_folds(systems, settings)
    tests += folded
    if any(system.out_of_fold for system in systems):
        notes.append("the documents are out-of-fold rows of the training file: their models share training documents")
    decides = MCNEMAR if settings.metric == "accuracy" else BOOTSTRAP
    if folded and systems[0].out_of_fold:
        decides = CORRECTED_T
    if settings.metric == ASPECT_F1:
        notes.append("the bootstrap draws whole reviews; McNemar's test takes tokens as if each stood by itself")
    return _compared(systems, settings, list(counts), measures, tests, decides, notes)


def _measures(systems: Sequence[System], settings: Settings, answers: _Answers) -> dict[str, Measure]:
    """The accuracy, and the metric asked for: from confusion matrices (..., K, K) to (...)."""
    if settings.metric != ASPECT_F1:
        return {name: METRICS[name] for name in ("accuracy", settings.metric)}
    if NONE not in answers.names:
        raise UserFault(
            f"no document is {NONE}: these are no tokens of reviews",
            file=systems[0].file,
            key="--metric",
            remedy="take macro_f1, or runs on data.format: reviews",
        )
    return {"accuracy": METRICS["accuracy"], ASPECT_F1: partial(aspect_f1, outside=answers.names.index(NONE))}


def _compared(
    systems: Sequence[System],
    settings: Settings,
    counts: Sequence[Tensor],
    measures: dict[str, Measure],
    tests: Sequence[PairTest],
    decides: str,
    notes: Sequence[str],
) -> Comparison:
    figures = {
        system.name: {name: float(measure(own)) for name, measure in measures.items()}
        for system, own in zip(systems, counts, strict=True)
    }
    corrected = _with_holm(tests)
    return Comparison(
        settings=settings,
        documents={system.name: len(system.keys) for system in systems},
        figures=figures,
        tests=tuple(corrected),
        verdicts=tuple(_verdict(test, settings.alpha) for test in corrected if test.test == decides),
        notes=tuple(notes),
    )


def _verdict(test: PairTest, alpha: float) -> Verdict:
    better = None if test.difference == 0 else (test.first if test.difference > 0 else test.second)
    return Verdict(test.first, test.second, better, better is not None and test.holm_p < alpha, test)


def _with_holm(tests: Sequence[PairTest]) -> list[PairTest]:
    """Corrected over the pairs, each kind of test by itself; pair after pair."""
    corrected: dict[int, float] = {}
    for kind in dict.fromkeys(test.test for test in tests):
        own = [index for index, test in enumerate(tests) if test.test == kind]
        corrected |= dict(zip(own, holm([tests[index].p for index in own]), strict=True))
    pairs = list(dict.fromkeys((test.first, test.second) for test in tests))
    with_p = [replace(test, holm_p=corrected[index]) for index, test in enumerate(tests)]
    return sorted(with_p, key=lambda test: pairs.index((test.first, test.second)))


@dataclass(frozen=True)
class _Answers:
    """gold (n,), predicted (systems, n) int64 of the same documents, by `names`; reviews (n,) int64: the review that
    each is a token of, by its id REVIEW:SENTENCE:TOKEN (its own number for other ids)."""

    gold: Tensor
    predicted: Tensor
    names: list[str]
    reviews: Tensor

    @property
    def num_classes(self) -> int:
        return len(self.names)


def _aligned(systems: Sequence[System]) -> _Answers:
    """All answers in the first system's order of documents."""
    first = systems[0]
    gold = dict(zip(first.keys, first.gold, strict=True))
    rows = []
    for system in systems:
        place = {key: index for index, key in enumerate(system.keys)}
        shared = sum(key in gold for key in place)
        if shared != len(gold) or shared != len(place):
            raise UserFault(
                f"{shared} documents match by id: {first.name} has {len(gold)}, {system.name} has {len(place)}",
                file=system.file,
                remedy="compare answers to the same documents; for independent test sets: --different-tests",
            )
        for key, label in zip(system.keys, system.gold, strict=True):
            if gold[key] != label:
                raise UserFault(
                    f"document {key[0]!r} is {label!r} here and {gold[key]!r} in {first.file}: not the same documents",
                    file=system.file,
                    remedy="compare answers to the same documents; for independent test sets: --different-tests",
                )
        rows.append([system.predicted[place[key]] for key in first.keys])
    names = sorted({*first.gold, *(label for row in rows for label in row)})
    number = {name: index for index, name in enumerate(names)}
    return _Answers(
        torch.tensor([number[label] for label in first.gold]),
        torch.tensor([[number[label] for label in row] for row in rows]),
        names,
        _reviews([key for key, _ in first.keys]),
    )


def _reviews(ids: Sequence[str]) -> Tensor:
    numbers: dict[str, int] = {}
    parts = [id.rsplit(":", 2) for id in ids]
    names = [part[0] if len(part) == 3 else id for part, id in zip(parts, ids, strict=True)]
    return torch.tensor([numbers.setdefault(name, len(numbers)) for name in names])


def _mcnemar(systems: Sequence[System], answers: _Answers, settings: Settings) -> list[PairTest]:
    right = answers.predicted == answers.gold
    tests = []
    for a, b in combinations(range(len(systems)), 2):
        counts = disagreements(right[a], right[b])
        test = mcnemar(*counts)
        size = answers.gold.numel()
        interval = paired_interval(*counts, size, settings.level)
        tests.append(_row(systems, a, b, MCNEMAR, "accuracy", (counts[0] - counts[1]) / size, interval, test.p, test))
    return tests


def _bootstrap(
    systems: Sequence[System], answers: _Answers, counts: Tensor, settings: Settings, measures: dict[str, Measure]
) -> list[PairTest]:
    metric = measures[settings.metric]
    observed = metric(counts)
    asked = (answers.gold, answers.predicted, answers.num_classes, metric, settings.samples, settings.seed)
    figures = resampled_units(*asked, answers.reviews) if settings.metric == ASPECT_F1 else resampled(*asked)
    tests = []
    for a, b in combinations(range(len(systems)), 2):
        test = bootstrap_difference(float(observed[a] - observed[b]), figures[:, a] - figures[:, b], settings.level)
        tests.append(_row(systems, a, b, BOOTSTRAP, settings.metric, test.difference, test.interval, test.p, test))
    return tests


def _over_folds(systems: Sequence[System], settings: Settings) -> tuple[list[PairTest], list[str]]:
    """Both t tests of every pair of runs with the same folds, and remarks."""
    tests: list[PairTest] = []
    notes: list[str] = []
    for a, b in combinations(range(len(systems)), 2):
        first, second = systems[a].folds, systems[b].folds
        if first is None or second is None:
            continue
        if first.assignment != second.assignment:
            notes.append(
                f"{systems[a].name} and {systems[b].name} have different folds: no paired t (give both the same data, "
                "folds and seed)"
            )
            continue
        if settings.metric not in first.figures:
            notes.append(f"folds of one document have no {settings.metric}: no paired t")
            continue
        figures = first.figures[settings.metric], second.figures[settings.metric]
        for name, ratio in ((PAIRED_T, 0.0), (CORRECTED_T, first.ratio)):
            test: PairedT = paired_t(*figures, ratio, settings.level)
            details = asdict(test) | {"first_folds": figures[0], "second_folds": figures[1]}
            tests.append(_row(systems, a, b, name, settings.metric, test.mean, test.interval, test.p, details))
    if tests and any(system.folds is not None and system.folds.chosen for system in systems):
        notes.append(
            "fold figures are those of the cell that was chosen by them, so they flatter the larger grid "
            "(folds.inner chooses anew for every fold)"
        )
    return tests, notes


def _on_different_documents(systems: Sequence[System], settings: Settings) -> Comparison:
    if settings.metric != "accuracy":
        raise UserFault(f"different test sets are compared by accuracy, not by {settings.metric}", key="--metric")
    right = [sum(g == p for g, p in zip(s.gold, s.predicted, strict=True)) for s in systems]
    tests = []
    for a, b in combinations(range(len(systems)), 2):
        if set(zip(systems[a].keys, systems[a].gold, strict=True)) == set(
            zip(systems[b].keys, systems[b].gold, strict=True)
        ):
            raise UserFault(
                f"{systems[a].name} and {systems[b].name} answer the same documents",
                key="--different-tests",
                remedy="leave it out: a paired test sees more",
            )
        test = two_proportions(right[a], len(systems[a].keys), right[b], len(systems[b].keys), settings.level)
        tests.append(_row(systems, a, b, PROPORTIONS, "accuracy", test.difference, test.interval, test.p, test))
    counts = [torch.tensor([[yes, len(s.keys) - yes], [0, 0]]) for yes, s in zip(right, systems, strict=True)]
    return _compared(systems, settings, counts, {"accuracy": METRICS["accuracy"]}, tests, PROPORTIONS, [])


def _row(
    systems: Sequence[System],
    a: int,
    b: int,
    test: str,
    metric: str,
    difference: float,
    interval: tuple[float, float],
    p: float,
    details: Any,
) -> PairTest:
    known = details if isinstance(details, dict) else asdict(details)
    kept = {name: value for name, value in known.items() if name not in ("p", "interval", "difference")}
    return PairTest(systems[a].name, systems[b].name, test, metric, difference, interval, p, p, kept)


def counts_in_words(test: McNemar) -> str:
    """The test of two counts alone, in all its forms."""
    return (
        f"McNemar, {test.form}: p = {test.p:.6g}; only the first right {test.only_first:,}, only the second "
        f"{test.only_second:,}; {forms_in_words(asdict(test))}"
    )


def forms_in_words(test: dict[str, Any]) -> str:
    """The three forms of McNemar's test beside each other."""
    return (
        f"exact p {test['exact_p']:.6g}; chi-squared {test['chi_squared']:.4f} (p {test['chi_squared_p']:.6g}), "
        f"with continuity correction {test['corrected']:.4f} (p {test['corrected_p']:.6g})"
    )
