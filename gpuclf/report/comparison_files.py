"""What `gpuclf compare` is given: run folders, predictions files, tables with a column of answers per system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from gpuclf.faults import UserFault
from gpuclf.report.finished_run import OUT_OF_FOLD
from gpuclf.report.predictions import read_predictions, unescape
from gpuclf.report.run_folder import RunFolder
from gpuclf.report.strict_json import number
from gpuclf.train.model_store import task_of


@dataclass(frozen=True)
class FoldFigures:
    """A run's cross-validation: figures by metric, one a fold (mean over seeds), of the chosen cell, or nested: of the
    cell chosen for that fold without it.

    assignment: digest of which document is in which fold; ratio: held-out by training documents; chosen: the cell was
    chosen by these figures themselves.
    """

    assignment: str
    ratio: float
    figures: dict[str, tuple[float, ...]]
    chosen: bool


@dataclass(frozen=True)
class System:
    """One side of a comparison. keys: (id, how many times the id came before); gold, predicted: labels, in order."""

    name: str
    file: Path
    keys: tuple[tuple[str, int], ...]
    gold: tuple[str, ...]
    predicted: tuple[str, ...]
    out_of_fold: bool = False
    folds: FoldFigures | None = None


def read_systems(paths: Sequence[Path]) -> list[System]:
    """The systems of all arguments, two at least, each with a name of its own.

    Of run folders the test predictions count where all of them have some, else the out-of-fold rows.
    """
    folders = {path: RunFolder.open(path) for path in paths if path.is_dir()}
    metrics = {path: folder.read_metrics() for path, folder in folders.items()}
    tested = all(folder.predictions.is_file() for folder in folders.values())
    systems: list[System] = []
    for path, name in zip(paths, _names(paths), strict=True):
        if path in folders:
            systems.append(_of_run(folders[path], metrics[path], name, tested))
        elif (header := _header(path))[:1] == ["gold"] or (header[:2] == ["id", "gold"] and "predicted" not in header):
            systems += _of_table(path, header)
        else:
            _, documents = read_predictions(path)
            systems.append(_system(name, path, ((key, gold, said) for key, gold, said, _ in documents)))
    if len(systems) < 2:
        raise UserFault(
            f"at least two systems are compared, and here there is {'one' if systems else 'none'}",
            remedy="give two runs, two predictions.tsv files, or a table with the columns gold, A, B",
        )
    return _named_apart(systems)


def _of_run(folder: RunFolder, metrics: Mapping[str, Any], name: str, tested: bool) -> System:
    if task_of(folder.path) == "tag":
        raise UserFault(
            "induced tags, which are no answers that are right or wrong",
            file=folder.path,
            remedy=f"gpuclf show {folder.path} prints the figures of all its chains",
        )
    file = folder.predictions if tested else folder.path / OUT_OF_FOLD
    if not file.is_file():
        raise UserFault(
            f"has no {file.name}: the run kept no answers to compare",
            file=folder.path,
            remedy="train with test: {file: …} or folds: {k: 10}, all runs alike",
        )
    _, documents = read_predictions(file)
    rows = ((key, gold, said) for key, gold, said, _ in documents)
    return _system(name, file, rows, not tested, _fold_figures(metrics))


def _fold_figures(metrics: Mapping[str, Any]) -> FoldFigures | None:
    """None where the run has no folds, or only one of them."""
    folds = metrics.get("folds")
    if folds is None:
        return None
    nested = metrics.get("nested", {})
    honest = "mean" in nested
    by_fold: dict[int, list[Mapping[str, Any]]] = {}
    for run in nested["folds"] if honest else metrics["cells"][metrics["best"]["cell"]]["runs"]:
        by_fold.setdefault(run["fold"], []).append(run)
    if len(by_fold) < 2:
        return None
    names = metrics["cells"][metrics["best"]["cell"]]["mean"]
    if folds["most"] == 1:
        names = [name for name in names if name == "accuracy"]  # a single document has no macro figure
    figures = {
        metric: tuple(fmean(number(run[metric]) or 0.0 for run in by_fold[fold]) for fold in sorted(by_fold))
        for metric in names
    }
    return FoldFigures(
        folds["assignment"], folds["test_train_ratio"], figures, not honest and len(metrics["cells"]) > 1
    )


def _header(path: Path) -> list[str]:
    if not path.is_file():
        raise UserFault(
            "there is no such file or run folder", file=path, remedy="give the folder that a train run printed"
        )
    with path.open("rb") as file:
        return _fields(file.readline())


def _of_table(path: Path, header: Sequence[str]) -> list[System]:
    """A column of answers per system; without ids a document is its line."""
    first = header.index("gold") + 1
    rows: list[list[str]] = []
    with path.open("rb") as file:
        next(file)
        for line, content in enumerate(file, start=2):
            fields = _fields(content)
            if len(fields) != len(header):
                raise UserFault(f"has {len(fields)} columns, the header {len(header)}", file=path, line=line)
            rows.append(fields)
    ids = [row[0] if first == 2 else str(place) for place, row in enumerate(rows, start=2)]
    return [
        _system(header[column], path, ((key, row[first - 1], row[column]) for key, row in zip(ids, rows, strict=True)))
        for column in range(first, len(header))
    ]


def _fields(line: bytes) -> list[str]:
    text = line.decode("utf-8", errors="surrogateescape").removeprefix("\ufeff").rstrip("\r\n")
    return [unescape(field) for field in text.split("\t")]


def _system(
    name: str,
    file: Path,
    rows: Iterator[tuple[str, str, str]],
    out_of_fold: bool = False,
    folds: FoldFigures | None = None,
) -> System:
    seen: dict[str, int] = {}
    keys, golds, answers = [], [], []
    for key, gold, said in rows:
        if not gold:
            raise UserFault(f"document {key!r} has no gold label", file=file, remedy="compare on a labelled file")
        keys.append((key, seen.get(key, 0)))
        seen[key] = seen.get(key, 0) + 1
        golds.append(gold)
        answers.append(said)
    if not keys:
        raise UserFault("holds no document", file=file)
    return System(name, file, tuple(keys), tuple(golds), tuple(answers), out_of_fold, folds)


def _names(paths: Sequence[Path]) -> list[str]:
    """The last part of each path that tells: of RUN/predictions.tsv the run."""
    return [
        path.absolute().parent.name if path.name in ("predictions.tsv", OUT_OF_FOLD) else path.name or str(path)
        for path in paths
    ]


def _named_apart(systems: Sequence[System]) -> list[System]:
    """Names that occur twice take as many folders before them as tell them apart; where none do, a number."""
    short = [system.name for system in systems]
    named: list[System] = []
    for system in systems:
        alike = [_parts(other) for other in systems if other.name == system.name]
        name, parts = system.name, _parts(system)
        if short.count(name) > 1:
            depths = range(2, len(parts) + 1)
            apart = (n for n in depths if sum(other[-n:] == parts[-n:] for other in alike) == alike.count(parts))
            name = "/".join(parts[-next(apart, len(parts)) :])
        taken = sum(other.name == name or other.name.startswith(f"{name} (") for other in named)
        named.append(_renamed(system, name if not taken else f"{name} ({taken + 1})"))
    return named


def _parts(system: System) -> tuple[str, ...]:
    """The path that ends in the name: of the run, of the file, or of a column in it."""
    file = system.file.absolute()
    if file.parent.name == system.name:
        return file.parent.parts
    return file.parts if file.name == system.name else (*file.parts, system.name)


def _renamed(system: System, name: str) -> System:
    return System(name, system.file, system.keys, system.gold, system.predicted, system.out_of_fold, system.folds)
