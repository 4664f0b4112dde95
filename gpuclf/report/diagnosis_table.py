"""`gpuclf eval --diagnose` for a person: the parts of the error, and what they say about where to work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO

from gpuclf.report.run_folder import RunFolder
from gpuclf.report.visible_text import open_console, visible
from gpuclf.train.diagnosis import Diagnosis, diagnose
from gpuclf.train.loop import CONVERGED, DIVERGED
from gpuclf.train.model_file import Model
from gpuclf.train.options import ExperimentOptions


def diagnose_run(
    folder: RunFolder, options: ExperimentOptions, model: Model, file: Path, check: Callable[[], None]
) -> Diagnosis:
    """The diagnosis of a finished run's model on a labelled file; `options` are those of its config.yaml."""
    metrics = folder.read_metrics()
    return diagnose(model, options, metrics["best"]["options"], metrics["final"][0]["steps"], file, check)


def print_diagnosis(found: Diagnosis, learner: str, file: Path, stream: IO[str] | None = None) -> None:
    """One table, the parts in the order in which they arise, and a line on the largest."""
    from rich.table import Table

    console = open_console(stream)
    console.print(f"where the errors come from ({visible(str(file))}, {found.documents:,} documents)", style="bold")
    table = Table(box=None, pad_edge=False)
    table.add_column("part")
    table.add_column("error", justify="right")
    table.add_column("documents", justify="right")
    table.add_column("what it is", overflow="fold")
    rows = [
        ("features", found.features, "documents that look the same to the model, but are of different classes"),
        ("model form", found.form, f"beyond that, {learner} with parameters learnt from this very file"),
        ("parameter estimates", found.estimates, "beyond that, parameters learnt from the training file instead"),
    ]
    if found.unseen:
        rows.insert(0, ("unseen classes", found.unseen, "documents of classes that the training file does not have"))
    for name, count, about in rows:
        table.add_row(name, f"{count / found.documents:.4f}", f"{count:,}", about)
    table.add_row("all", f"{found.wrong / found.documents:.4f}", f"{found.wrong:,}", "the run's model", style="bold")
    console.print(table)
    for line in notes(found, learner):
        console.print(line)


def notes(found: Diagnosis, learner: str) -> list[str]:
    """What a reader must know to read the table rightly, and what the largest part suggests."""
    said = []
    judged = found.documents - found.unseen
    if found.distinct == judged:
        said.append("no two documents look the same to the model: the features could tell every one of them apart")
    else:
        said.append(f"the documents are of {found.distinct:,} kinds that the model can tell apart")
    if found.training is not None:
        documents, wrong = found.training
        share = wrong / documents
        said.append(f"in the training file the features leave {share:.4f} open ({wrong:,} of {documents:,} documents)")
    else:
        said.append("the training file is not where it was: nothing is said about its features")
    if found.status == DIVERGED:
        said.append(f"learning from this file diverged: {learner}'s part is that of its last finite parameters")
    elif found.status != CONVERGED:
        said.append(f"learning from this file ended by {found.status}, so a part of the model form may be training")
    if found.form < 0 or found.estimates < 0:
        said.append(f"a part below 0: what {learner} minimises is not the number of errors")
    parts = {"features": found.features, "model form": found.form, "parameter estimates": found.estimates}
    largest = max(parts, key=lambda name: parts[name])
    if parts[largest] > 0:
        said.append(f"the largest part is {largest}: {_ADVICE[largest]}")
    return said


_ADVICE = {
    "features": "other features, or corrected labels, can help; another learner or more training documents cannot",
    "model form": "another learner, weaker regularisation or features that combine words can help",
    "parameter estimates": "more training documents, cleaner ones, or other regularisation can help",
}
