"""The first line of TSV and CSV files: a header, or the first document."""

from __future__ import annotations

from collections.abc import Sequence

from gpuclf.data.intake import Intake
from gpuclf.data.table_rows import TableRows, text_refs


class HeaderOrNot:
    """Binds the columns at the first record, by `data.header` and `data.columns`; passes all other records on."""

    def __init__(self, rows: TableRows, intake: Intake):
        self._rows = rows
        self._intake = intake
        self._bound = False

    @property
    def width(self) -> int | None:
        """Number of columns, once known."""
        return len(self._rows.names) if self._bound else None

    @property
    def rows(self) -> TableRows:
        """The rows that records are passed on to."""
        return self._rows

    def record(self, line: int, cells: Sequence[str]) -> None:
        """One record, the header included."""
        if self._bound:
            self._rows.row(line, cells)
            return
        self._bound = True
        if self._intake.options.header:
            self._header(cells)
        else:
            self._first_row(line, cells)

    def finish(self) -> None:
        """Refuses a file without the header that was promised."""
        if not self._bound and self._intake.options.header:
            raise self._intake.fault("the file is empty: it has not even a header line", remedy="check the path")

    def _header(self, cells: Sequence[str]) -> None:
        options = self._intake.options
        if options.columns is not None and list(cells) != options.columns:
            raise self._intake.fault(
                f"the header is {', '.join(map(repr, cells[:20]))}, but data.columns says "
                f"{', '.join(map(repr, options.columns))}",
                key="data.columns",
                remedy="data.header: false if the first line is no header, else leave data.columns out",
            )
        self._rows.bind(cells)
        refs = [*text_refs(options), *([options.label] if self._intake.labelled else [])]
        if any(isinstance(ref, int) for ref in refs):  # no name was looked for in it
            self._intake.note(
                f"line 1 was taken as the header ({', '.join(map(repr, cells[:8]))}); if it is a document: "
                "data.header: false"
            )

    def _first_row(self, line: int, cells: Sequence[str]) -> None:
        options = self._intake.options
        if options.columns is None:
            self._rows.bind([str(place) for place in range(len(cells))], names_from="config")
        elif not self._intake.labelled and len(cells) == len(options.columns) - 1 and options.label in options.columns:
            self._rows.bind([name for name in options.columns if name != options.label], names_from="config")
        else:
            self._rows.bind(options.columns, names_from="config")
        if len(cells) == len(self._rows.names) and self._rows.looks_like_header(cells):
            self._intake.note(
                f"line {line} reads like a header ({', '.join(map(repr, cells[:8]))}) but was taken as a document, "
                "as data.header is false"
            )
        self._rows.row(line, cells)
