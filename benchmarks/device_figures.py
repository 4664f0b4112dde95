"""Every family on a card beside the same work on the processor: first that the results agree, then how long each takes.

    python -m benchmarks.device_figures --device cuda --out FOLDER     on a machine with a card
    python -m benchmarks.device_figures --device cpu --dry             the same program in small, to test it

Two kinds of work (CASES, CONFIGS). A case is some steps of a learner, or one call of an op, on data drawn from a seed
at the size of a workstation user's; compared is what the model says (scores of documents, tags of word types, sums). A
config is trained through the command line, and its predictions are compared; those of the card may differ from those of
the processor in a few documents, where sums of float32 in another order decide.

A line of JSON a case goes to FOLDER/device_figures.jsonl as soon as it is measured, the table to device_figures.txt.
What disagrees, or fails, gets no times, and the exit code is 1. After --seconds no further case is begun.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks import device_data as data
from benchmarks.green import ROOT
from benchmarks.measure import markdown_table, surroundings
from gpuclf.models.forest.options import ForestOptions
from gpuclf.models.learner import LearnerOptions, Problem, settled
from gpuclf.models.linear.arow import ArowOptions
from gpuclf.models.linear.logistic import LogisticOptions
from gpuclf.models.linear.mira import MiraOptions
from gpuclf.models.linear.naive_bayes import NaiveBayesOptions
from gpuclf.models.neural.options import FeedforwardOptions, TextCnnOptions
from gpuclf.models.sequence.crf import CrfOptions
from gpuclf.models.tagger.options import TypeTaggerOptions
from gpuclf.models.train_options import TrainOptions
from gpuclf.ops.chain_sums import chain_sums
from gpuclf.ops.pair_tables import joint_counts, pair_statistics
from gpuclf.train.devices import prepare_process
from gpuclf.train.loop import BatchLoop

REPEATS = 3
ENOUGH = 5.0  # seconds of one case on one device, after which it is not repeated
COMPARED = 500  # documents whose scores are compared


@dataclass(frozen=True)
class Work:
    """fresh: what a run begins with, not timed; run: what is timed; said: the numbers (…, choices) to compare."""

    fresh: Callable[[], Any]
    run: Callable[[Any], Any]
    said: Callable[[Any], Tensor]


@dataclass(frozen=True)
class Case:
    """make(device, *sizes) is the work, of so many `units` of what `unit` names; small: sizes of a dry run. The card's
    numbers may be off by `within` of the largest one, and the largest of each row must be at the same place in `agree`
    of the rows; within 0: the same bits."""

    family: str
    name: str
    make: Callable[..., Work]
    sizes: tuple[int, ...]
    small: tuple[int, ...]
    units: int
    unit: str
    within: float
    agree: float = 1.0


@dataclass(frozen=True)
class Line:
    """A line of the table; seconds on the processor and on the device."""

    family: str
    name: str
    outcome: str
    difference: float | None = None
    agreement: float | None = None
    seconds: tuple[float, float] | None = None
    units: int = 1
    unit: str = "run"

    @property
    def good(self) -> bool:
        return self.outcome == "equal"


def learner(
    options: LearnerOptions, made: Callable[..., Problem], steps: int, train: TrainOptions | None = None
) -> Callable[..., Work]:
    """So many steps of a learner, from its first state on; 0: all that the loop makes of them."""

    def make(device: torch.device, *sizes: int) -> Work:
        problem, section = data.to_device(made(*sizes), device), train or TrainOptions()
        chosen = options.build(section, [str(k) for k in range(problem.num_classes)])
        if not steps:
            return Work(
                lambda: BatchLoop(chosen, problem, section, options.max_steps(section)),
                lambda loop: loop.run(lambda report, running: None),
                lambda outcome: scores(settled(outcome.predictor), problem),
            )

        def run(state: Any) -> Any:
            for _ in range(steps):
                state = chosen.step(problem, state)
            return state

        def said(state: Any) -> Tensor:
            predictor: Any = settled(chosen.result(problem, state))
            return predictor.tags if options.task == "tag" else scores(predictor, problem)

        return Work(lambda: chosen.init(problem), run, said)

    return make


def scores(predictor: Any, problem: Problem) -> Tensor:
    """(R, documents, K) of the first documents, each replica under its own view."""
    docs = torch.arange(min(COMPARED, problem.labels.numel()), device=problem.labels.device)
    found = []
    for place, view in enumerate(problem.replicas.view.tolist()):
        scales = (None if s is None else s[view] for s in (problem.views.col_scale, problem.views.row_scale))
        found.append(predictor.scores(problem.rows, docs, *scales, slice(place, place + 1)))
    return torch.cat(found)


def op(given: Callable[..., tuple[Any, ...]], call: Callable[..., Tensor]) -> Callable[..., Work]:
    """One call of an op."""

    def make(device: torch.device, *sizes: int) -> Work:
        arguments = [part.to(device) if isinstance(part, Tensor) else part for part in given(*sizes)]
        return Work(lambda: None, lambda state: call(*arguments), lambda result: result)

    return make


def _marginals(*arguments: Any) -> Tensor:
    return chain_sums(*arguments).probability


def _pairs(codes: Tensor, num_values: Sequence[int]) -> Tensor:
    return pair_statistics(joint_counts(codes, num_values), num_values, len(codes))


TEXTS, SENTENCES = (11_000, 30_000), (12_000, 40_000)  # documents and features; sentences and features of tokens
FEW_TEXTS, FEW_SENTENCES = (120, 300), (40, 200)
TAGGING: dict[str, Any] = {"tags": 45, "sweeps": 30}
BATCHED: dict[str, Any] = {"sampler": "batched", "batch": 4096}
NETWORKS = TrainOptions(batch=64)
CASES = [
    Case("linear", "MIRA, 20 models", learner(MiraOptions(), data.grid_of_texts("model.C"), 1),
         TEXTS, FEW_TEXTS, 1, "epochs", 1e-2, 0.99),
    Case("linear", "AROW, 20 models", learner(ArowOptions(), data.grid_of_texts("model.r"), 1),
         TEXTS, FEW_TEXTS, 1, "epochs", 1e-2, 0.99),
    Case("linear", "Naive Bayes, 20 models", learner(NaiveBayesOptions(), data.grid_of_texts("model.alpha"), 1),
         TEXTS, FEW_TEXTS, 1, "fits", 1e-5, 0.999),
    Case("linear", "logistic, 20 models, to the optimum", learner(
        LogisticOptions(tol=1e-5), data.grid_of_texts("model.C"), 0
    ), TEXTS, FEW_TEXTS, 1, "fits", 0.1, 0.99),  # each device on a way of its own
    Case("linear", "logistic, 20 models, SGD", learner(
        LogisticOptions(optimizer="sgd"), data.grid_of_texts("model.C"), 1
    ), TEXTS, FEW_TEXTS, 1, "epochs", 1e-2, 0.99),
    Case("tagger", "exact, 8 chains", learner(TypeTaggerOptions(**TAGGING), data.tagged(8, 45), 3),
         (8_000, 17_000), (40, 60), 3, "sweeps", 1.0, 0.99),
    Case("tagger", "batched, 8 chains", learner(TypeTaggerOptions(**TAGGING, **BATCHED), data.tagged(8, 45), 3),
         (8_000, 17_000), (40, 60), 3, "sweeps", 1.0, 0.99),
    Case("forest", "composed, 16 trees", learner(ForestOptions(n_estimators=16), data.roles, 2),
         (60_000,), (300,), 16, "trees", 0.0),
    Case("forest", "sorted, 16 trees", learner(ForestOptions(n_estimators=16, splits="sorted"), data.roles, 2),
         (60_000,), (300,), 16, "trees", 0.0),
    Case("forest", "boosting, 8 rounds", learner(ForestOptions(n_estimators=8, boosting=True), data.roles, 1),
         (60_000,), (300,), 8, "rounds", 0.1, 0.99),
    Case("networks", "feedforward 256, 5 models", learner(
        FeedforwardOptions(hidden=(256,), dropout=0.3), data.seeded_texts(False, 5), 1, NETWORKS
    ), (4_000, 20_000), FEW_TEXTS, 1, "epochs", 0.05, 0.95),
    Case("networks", "text_cnn 100 x (3, 4, 5), 5 models", learner(
        TextCnnOptions(embedding_dim=100, filters=100, dropout=0.5), data.seeded_texts(True, 5), 1, NETWORKS
    ), (4_000, 20_000), FEW_TEXTS, 1, "epochs", 0.05, 0.95),
    Case("sequences", "CRF, 5 models", learner(CrfOptions(), data.grid_of_sentences("model.C"), 3),
         SENTENCES, FEW_SENTENCES, 3, "iterations", 1e-3, 0.999),
    Case("sequences", "forward-backward, 17 labels x 5", op(data.chains(5, 17), _marginals),
         (12_000,), (40,), 1, "passes", 1e-5, 0.999),
    Case("sequences", "forward-backward, 9 labels x 7 topics", op(data.chains(7, 9), _marginals),
         (12_000,), (40,), 1, "passes", 1e-5, 0.999),
    Case("decomposable", "tables of all pairs", op(data.table, _pairs),
         (20_000, 60), (200, 8), 1, "tables", 1e-9, 0.99),
]  # fmt: skip

# Configs of the package's own data; those of a dry run, with what makes them small; the least share of equal answers.
CONFIGS: list[tuple[str, list[str], list[str] | None, float]] = [
    ("linear/mira.yaml", [], None, 0.99),
    ("linear/logistic.yaml", [], None, 0.98),
    ("tagging/ewt.yaml", ["model.sweeps=5"], ["model.sweeps=2", "data.limit=100"], 0.999),
    ("srl/forest.yaml", ["model.n_estimators=16"], ["model.n_estimators=2", "data.limit=200"], 1.0),
    ("neural/text_cnn.yaml", ["train.max_epochs=3"], None, 0.95),
    ("tagging/ewt-crf.yaml", ["model.max_iter=30"], None, 0.99),
    ("content/products.yaml", ["model.joint_iterations=5"], None, 0.98),
    ("wsd/decomposable.yaml", [], None, 1.0),
]


def measured(case: Case, device: torch.device, dry: bool) -> Line:
    """The results of both devices compared, and where they agree the median times."""
    devices = torch.device("cpu"), device
    works = [case.make(where, *(case.small if dry else case.sizes)) for where in devices]
    said = [work.said(work.run(work.fresh())).cpu() for work in works]  # compiles kernels, too
    difference, agreement = compared(*said)
    equal = difference <= case.within and agreement >= case.agree
    outcome = "equal" if equal else "DIFFERENT"
    line = Line(case.family, case.name, outcome, difference, agreement, units=case.units, unit=case.unit)
    if not equal:
        return line
    here, there = (
        median_seconds(work, where, 1 if dry else REPEATS) for work, where in zip(works, devices, strict=True)
    )
    return replace(line, seconds=(here, there))


def compared(one: Tensor, other: Tensor) -> tuple[float, float]:
    """The largest difference, of the largest number; and the share of rows with the largest number at one place."""
    if one.shape != other.shape:
        return float("inf"), 0.0
    if not one.is_floating_point():
        same = float((one == other).double().mean())
        return float(same < 1), same
    one, other = one.double(), other.double()
    off = torch.where(one == other, 0.0, (one - other).abs())  # infinities that agree
    largest = one[one.isfinite()].abs().max().clamp(min=1e-300)
    return float(off.max() / largest), float((one.argmax(-1) == other.argmax(-1)).double().mean())


def median_seconds(work: Work, device: torch.device, repeats: int) -> float:
    """Of some runs; one at least."""
    spent: list[float] = []
    while len(spent) < repeats and sum(spent) < ENOUGH:
        state = work.fresh()
        wait(device)
        began = time.perf_counter()
        work.run(state)
        wait(device)
        spent.append(time.perf_counter() - began)
    return statistics.median(spent)


def wait(device: torch.device) -> None:
    """Until the card has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def trained(config: str, overrides: Sequence[str], least: float, device: torch.device) -> Line:
    """A config through the command line on both devices: predictions compared, and the seconds of training alone."""
    from gpuclf.cli import main as command

    said, seconds = [], []
    with tempfile.TemporaryDirectory() as folder:
        for place, kind in enumerate(("cpu", device.type)):
            run = Path(folder) / str(place)
            code = command(["train", str(ROOT / "configs" / config), f"device={kind}", f"run.dir={run}", *overrides])
            if code:
                return Line("config", config, f"FAILED on {kind}: exit code {code}")
            said.append(said_by(run))
            metrics = json.loads((run / "metrics.json").read_text(encoding="utf-8"))
            seconds.append(metrics["seconds"]["train"])
    same = sum(a == b for a, b in zip(*said, strict=False)) / max(*map(len, said), 1)
    outcome = "equal" if same >= least else "DIFFERENT"
    return Line("config", config, outcome, None, same, (seconds[0], seconds[1]), unit="trainings")


def said_by(run: Path) -> list[str]:
    """The decisions of a run: test predictions of a classifier, tags of the types of a tagger."""
    file = next(run / name for name in ("predictions.tsv", "tags.tsv") if (run / name).is_file())
    return ["\t".join(row.split("\t")[:3]) for row in file.read_text(encoding="utf-8").splitlines()[1:]]


def table(lines: Sequence[Line], device: torch.device) -> str:
    """What was measured, one line a case; ratio: how many times the card is as fast."""
    rows = []
    for line in lines:
        row = [line.family, line.name, line.outcome]
        row.append("" if line.difference is None else f"{line.difference:.0e}")
        row.append("" if line.agreement is None else f"{100 * line.agreement:.2f} %")
        if line.seconds:
            here, there = line.seconds
            speed = f"{line.units / there:.3g} {line.unit}/s"
            row += [f"{here:.3f}", f"{there:.3f}", speed, f"{here / max(there, 1e-9):.1f}"]
        rows.append(row + [""] * (9 - len(row)))
    head = ["family", "work", "results", "off by", "same choice", "CPU s", f"{device.type} s", "speed there", "ratio"]
    return markdown_table(head, rows)


def guarded(measure: Callable[[], Line], family: str, name: str) -> Line:
    """What a case gives; one that fails ends no other."""
    try:
        return measure()
    except Exception as error:  # reported with its traceback, and in the exit code
        traceback.print_exc()
        return Line(family, name, f"FAILED: {type(error).__name__}: {error}".split("\n")[0][:120])


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda", help="what is compared with the processor")
    parser.add_argument("--dry", action="store_true", help="small sizes, one run each")
    parser.add_argument("--out", type=Path, default=Path(), help="folder of the figures")
    parser.add_argument("--threads", type=int, help="of the processor")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no case after so many")
    parser.add_argument("--only", nargs="+", metavar="WORD", help="cases whose family or name begins so")
    given = parser.parse_args(argv)
    prepare_process(given.threads)
    device, began, lines = torch.device(given.device), time.perf_counter(), []
    work: list[tuple[str, str, Callable[[], Line]]] = [
        (case.family, case.name, partial(measured, case, device, given.dry)) for case in CASES
    ]
    for config, full, small, least in CONFIGS:
        overrides = small if given.dry else full
        if overrides is not None:
            work.append(("config", config, partial(trained, config, overrides, least, device)))
    with (given.out / "device_figures.jsonl").open("w", encoding="utf-8") as file:
        for family, name, measure in work:
            if given.only and not any(text.startswith(word) for word in given.only for text in (family, name)):
                continue
            late = time.perf_counter() - began > given.seconds
            lines.append(Line(family, name, "not begun: no time") if late else guarded(measure, family, name))
            print(json.dumps(asdict(lines[-1])), file=file, flush=True)
            text = f"{surroundings(device)}\n\n{table(lines, device)}\n"  # each time: the next case may be the last
            (given.out / "device_figures.txt").write_text(text, encoding="utf-8")
    print(table(lines, device))
    return int(not all(line.good or "no time" in line.outcome for line in lines))


if __name__ == "__main__":
    sys.exit(main())
