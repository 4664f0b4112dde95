"""Parquet files, a row group at a time. Lines are row numbers here, from 1."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gpuclf.data.intake import Intake
from gpuclf.data.options import ColumnRef
from gpuclf.data.records import Chunk
from gpuclf.data.table_rows import TableRows, text_refs
from gpuclf.faults import UserFault

if TYPE_CHECKING:
    import pyarrow as pa

_BLOCK = 1 << 20


class ParquetReader:
    """Reads the wanted columns only. Strings are taken as they are, whole numbers in decimal; all else is refused.

    The digest takes a reading of its own, as Parquet is read out of order.
    """

    def __init__(self, rows: TableRows, intake: Intake, *, chunk_docs: int = 4096):
        self.report = intake.report
        self._rows = rows
        self._intake = intake
        self._chunk_docs = chunk_docs
        self._used = False

    def chunks(self) -> Iterator[Chunk]:
        """Chunks of at most `chunk_docs` documents."""
        assert not self._used, "a reader reads its file once"
        self._used = True
        intake, path = self._intake, self.report.path
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ModuleNotFoundError:
            raise intake.fault(
                "reading Parquet needs the package pyarrow, which is not installed", remedy="pip install pyarrow"
            ) from None
        self._digest()
        try:
            with pq.ParquetFile(path) as file:
                wanted = self._bind(file.schema_arrow)
                for batch in file.iter_batches(batch_size=self._chunk_docs, columns=wanted):
                    yield from self._batch(batch, wanted)
                    if intake.room <= 0:
                        break
        except pa.ArrowInvalid as error:
            raise intake.fault(
                f"not a whole Parquet file: {error}", remedy="check data.format, or write it again"
            ) from error
        intake.close()
        if intake.pending:
            yield intake.take()

    def _digest(self) -> None:
        digest = hashlib.sha256()
        with self.report.path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                self.report.bytes += len(block)
        self.report.sha256 = digest.hexdigest()

    def _bind(self, schema: pa.Schema) -> list[str]:
        """Checks names and types; the names of the columns to read."""
        options = self._intake.options
        self._rows.bind(schema.names, names_from="schema")
        refs: list[ColumnRef] = [*([options.label] if self._intake.labelled else []), *text_refs(options)]
        refs += [ref for ref in (options.id, options.group) if ref is not None]
        texts = {self._name(ref, schema) for ref in (*refs, *options.categorical)}
        numbers = set(options.numeric)
        if self._intake.weighted and options.weight is not None:
            numbers.add(self._name(options.weight, schema))
        used = [name for name in schema.names if name in texts or name in numbers]
        for name in used:
            kind = schema.field(name).type
            if not _taken(kind, decimal_numbers=name in numbers):
                raise self._intake.fault(
                    f"column {name!r} is of type {kind}",
                    remedy="write it as strings (or whole numbers): other types have no text of their own",
                )
        # only some columns are read: where each of the file's columns is among them
        self._places = [used.index(name) if name in used else None for name in schema.names]
        return used

    def _name(self, ref: ColumnRef, schema: pa.Schema) -> str:
        return schema.names[ref] if isinstance(ref, int) else ref

    def _batch(self, batch: pa.RecordBatch, wanted: list[str]) -> Iterator[Chunk]:
        columns = [_texts(batch.column(name)) for name in wanted]
        empty = [None] * batch.num_rows
        full = [empty if place is None else columns[place] for place in self._places]
        for cells in zip(*full, strict=True):
            self.report.lines += 1
            self._rows.row(self.report.lines, cells)
            if self._intake.pending >= self._chunk_docs and not self._intake.failed:
                yield self._intake.take()
            if self._intake.room <= 0:
                return


def _taken(kind: pa.DataType, decimal_numbers: bool) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _taken(kind.value_type, decimal_numbers)
    if decimal_numbers and (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return True
    strings = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return bool(strings or pa.types.is_integer(kind))


def _texts(column: pa.Array) -> list[Any]:
    """The cells as texts, null as None; floats as the shortest text that gives them back."""
    cells = column.to_pylist()
    return [cell if cell is None or isinstance(cell, str) else str(cell) for cell in cells]


def refuse_compressed(path_name: str, file: str) -> None:
    """Parquet compresses inside; a compressed Parquet file cannot be read in parts."""
    if path_name.endswith((".gz", ".zst")):
        raise UserFault(
            "a compressed Parquet file", file=file, remedy="unpack it: Parquet is compressed inside already"
        )
