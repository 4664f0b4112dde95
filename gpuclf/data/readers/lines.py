"""Documents one a line, with their labels one a line in a parallel file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuclf.data.intake import Intake, TextBody
from gpuclf.data.paths import as_written
from gpuclf.data.source import Source
from gpuclf.data.text_lines import LineDecoder


class LinesParser:
    """Every line is a document, a blank one too. The two files must have the same number of lines."""

    keep_cr = False

    def __init__(self, intake: Intake, body: TextBody, labels: Source | None):
        self._intake = intake
        self._body = body
        self._source = labels
        self._labels = iter(()) if labels is None else self._label_lines(labels)
        self._docs = 0
        self._taken = 0
        self._missing = frozenset(intake.options.missing)

    def _label_lines(self, source: Source) -> Iterator[str]:
        decoder = LineDecoder(source.blocks(), self._intake.options.encoding, as_written(source.path))
        for batch in decoder.batches():
            yield from batch

    def parse(self, first: int, lines: Sequence[str]) -> None:
        """A document and, from the other file, its label."""
        self._docs = first + len(lines) - 1
        for line, text in enumerate(lines, first):
            labels: list[str] = []
            if self._source is not None:
                label = next(self._labels, None)
                if label is None:  # counted on, refused at the end
                    return
                self._taken += 1
                labels = [label] if label.strip() and label not in self._missing else []
            for _ in range(self._intake.admit(line, labels, empty=not text.strip())):
                self._body.texts.append(text)

    def finish(self) -> None:
        """Refuses files of unequal length."""
        if self._source is None:
            return
        labels = self._taken + sum(1 for _ in self._labels)
        if labels != self._docs:
            raise self._intake.fault(
                f"{self._docs} lines of documents, but {labels} lines of labels in {as_written(self._source.path)}",
                key="data.labels",
                remedy="the two files must run in parallel, one label a line",
            )
