"""The one loop that reads every line-based format: bytes → lines → a parser → chunks of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Protocol

from gpuclf.data.intake import Intake
from gpuclf.data.records import Chunk
from gpuclf.data.source import Source
from gpuclf.data.text_lines import LineDecoder

_CHUNK_SIZE = 16 << 20  # characters; a chunk of very long documents is closed early


class LineParser(Protocol):
    """Understands one format. Calls `Intake.admit` or `Intake.bad` once for each record."""

    keep_cr: bool

    def parse(self, first: int, lines: Sequence[str]) -> None:
        """Consecutive lines, the first of them being line `first` (from 1) of the file; at most one record a line."""
        ...

    def finish(self) -> None:
        """The file has ended (not called when data.limit ended the reading)."""
        ...


class LineReader:
    """Reads one file or stream once."""

    def __init__(
        self,
        source: Source,
        parser: LineParser,
        intake: Intake,
        *,
        chunk_docs: int = 4096,
        eager: bool = False,
        beside: Source | None = None,
    ):
        """`eager` gives a chunk for every block that arrives (a pipe that someone waits at).

        `beside` is a second file that the parser reads along; it is open while this one is.
        """
        assert chunk_docs > 0, "chunks hold at least one document"
        self.report = intake.report
        self._source = source
        self._parser = parser
        self._intake = intake
        self._chunk_docs = chunk_docs
        self._eager = eager
        self._beside = beside
        self._used = False

    def chunks(self) -> Iterator[Chunk]:
        """Chunks of at most `chunk_docs` documents; raises UserFault for bad input, at the latest at the end."""
        assert not self._used, "a reader reads its file once"
        self._used = True
        intake = self._intake
        with ExitStack() as stack:
            source = stack.enter_context(self._source)
            if self._beside is not None:
                stack.enter_context(self._beside)
            decoder = LineDecoder(source.blocks(), intake.options.encoding, intake.file, self._parser.keep_cr)
            since = 0  # characters since the last chunk
            for lines in decoder.batches():
                yield from self._batch(decoder.lines - len(lines) + 1, lines)
                since += sum(map(len, lines))
                if self._eager or since > _CHUNK_SIZE:
                    if intake.pending and not intake.failed:
                        yield intake.take()
                    since = 0
                if intake.room <= 0:
                    break
            else:
                self._parser.finish()
            source.drain()
            if self._beside is not None:
                self._beside.drain()
                self.report.companions[str(self._beside.path)] = self._beside.sha256
            self.report.bytes, self.report.sha256 = source.size, source.sha256
        intake.close()
        if intake.pending:
            yield intake.take()

    def _batch(self, first: int, lines: list[str]) -> Iterator[Chunk]:
        intake = self._intake
        at = 0
        while at < len(lines) and intake.room > 0:
            step = self._chunk_docs if intake.failed else min(self._chunk_docs - intake.pending, intake.room)
            self._parser.parse(first + at, lines[at : at + step])
            at += step
            self.report.lines = first - 1 + min(at, len(lines))
            if intake.pending >= self._chunk_docs and not intake.failed:
                yield intake.take()
