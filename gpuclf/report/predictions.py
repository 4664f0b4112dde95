"""predictions.tsv: a header, then one line a document: id, gold, predicted, one score per class.

The score columns bear the names of their classes, in the model's class order; the first three columns are found by
place (a class may be called "id"). Backslash, tab, line feed and carriage return inside an id or a name are written
\\\\, \\t, \\n, \\r, so a line is a document and a tab a column, whatever the ids hold. A score has nine digits: the
exact float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from torch import Tensor

from gpuclf.data.atomic_write import atomic_path
from gpuclf.faults import UserFault

HEADER = ("id", "gold", "predicted")
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_MEANINGS = {"\\": "\\", "t": "\t", "n": "\n", "r": "\r"}


def escape(text: str) -> str:
    """The text in one field of one line."""
    return text.translate(_ESCAPES)


def unescape(field: str) -> str:
    """What `escape` was given."""
    if "\\" not in field:
        return field
    parts: list[str] = []
    rest = iter(field)
    for char in rest:
        if char == "\\":
            following = next(rest, "")
            char = _MEANINGS.get(following, char + following)  # an unknown escape stays as it is
        parts.append(char)
    return "".join(parts)


class PredictionsWriter:
    """Takes the documents block by block, so that the scores of all of them are never held."""

    def __init__(self, file: BinaryIO, classes: Sequence[str]):
        self._file = file
        self._classes = [escape(name) for name in classes]
        self._format = "\t".join(["%.9g"] * len(classes))
        self._line("\t".join([*HEADER, *self._classes]))

    def add(self, ids: Sequence[str], gold: Sequence[str] | None, predicted: Tensor, scores: Tensor) -> None:
        """gold: labels as in the file (also such that the model does not know), None where there are none.

        predicted (n,) int64 class numbers, scores (n, K).
        """
        assert scores.shape == (len(ids), len(self._classes)), scores.shape
        golds = [""] * len(ids) if gold is None else [escape(label) for label in gold]
        names = [self._classes[index] for index in predicted.tolist()]
        for key, label, name, row in zip(ids, golds, names, scores.tolist(), strict=True):
            self._line(f"{escape(key)}\t{label}\t{name}\t{self._format % tuple(row)}")

    def _line(self, text: str) -> None:
        self._file.write(text.encode("utf-8", errors="surrogateescape") + b"\n")


@contextmanager
def predictions_file(path: Path, classes: Sequence[str]) -> Iterator[PredictionsWriter]:
    """A writer whose file appears under `path` when the block ends well, and not at all otherwise."""
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        yield PredictionsWriter(file, classes)


def read_predictions(path: Path) -> tuple[list[str], Iterator[tuple[str, str, str, list[float]]]]:
    """The class names, and (id, gold, predicted, scores) of each document, read as they are asked for."""
    if not path.is_file():
        raise UserFault("there is no such file", file=path, remedy="give the folder of a finished run")
    with path.open("rb") as file:
        header = file.readline().decode("utf-8", errors="surrogateescape").rstrip("\n").split("\t")
    if tuple(header[:3]) != HEADER:
        raise UserFault("does not begin with the columns id, gold, predicted", file=path, line=1)
    return [unescape(name) for name in header[3:]], _documents(path, len(header))


def _documents(path: Path, columns: int) -> Iterator[tuple[str, str, str, list[float]]]:
    with path.open("rb") as file:
        next(file)
        for count, line in enumerate(file, start=2):
            fields = line.decode("utf-8", errors="surrogateescape").rstrip("\n").split("\t")
            if len(fields) != columns:
                raise UserFault(f"has {len(fields)} columns, the header {columns}", file=path, line=count)
            key, gold, predicted = (unescape(field) for field in fields[:3])
            yield key, gold, predicted, [float(score) for score in fields[3:]]
