"""Lines of text from blocks of bytes. A line ends at a line feed, with or without a carriage return before it.

Nothing else ends a line: U+2028, U+0085, form feed and the like are white space inside a document (never use
`str.splitlines`, which breaks at all of them).
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator

from gpuclf.faults import UserFault


class LineDecoder:
    """Decodes strictly, drops a byte order mark, counts lines. `lines` is the number of physical lines given so far."""

    def __init__(self, blocks: Iterable[bytes], encoding: str, file: str, keep_cr: bool = False):
        """`keep_cr` leaves carriage returns at line ends in place (CSV, where they may be part of a quoted field)."""
        self._blocks = blocks
        self._encoding = encoding
        self._file = file
        self._keep_cr = keep_cr
        self.lines = 0

    def batches(self) -> Iterator[list[str]]:
        """Lists of whole lines without their ends, in order; one list for each block that ends a line."""
        decoder = codecs.getincrementaldecoder(self._encoding)("strict")
        parts: list[str] = []  # of the line that the last block left unfinished
        at_start = True
        for block in self._blocks:
            text = self._decoded(decoder, block, final=False)
            if at_start and text:
                text = text.removeprefix("\ufeff")
                at_start = False
            cut = text.rfind("\n")
            if cut < 0:
                parts.append(text)
                continue
            parts.append(text[:cut])
            lines = self._cut("".join(parts))
            parts = [text[cut + 1 :]]
            yield lines
        parts.append(self._decoded(decoder, b"", final=True))
        if rest := "".join(parts):
            yield self._cut(rest)

    def _cut(self, text: str) -> list[str]:
        lines = text.split("\n")
        self.lines += len(lines)
        if "\r" in text and not self._keep_cr:
            return [line.removesuffix("\r") for line in lines]
        return lines

    def _decoded(self, decoder: codecs.IncrementalDecoder, block: bytes, final: bool) -> str:
        try:
            return decoder.decode(block, final)
        except UnicodeDecodeError as error:
            before = error.object[: error.start]
            line = self.lines + before.decode(error.encoding, "ignore").count("\n") + 1
            byte = error.object[error.start]
            raise UserFault(
                f"byte 0x{byte:02x} is not {self._encoding} ({error.reason})",
                file=self._file,
                line=line,
                remedy=self._remedy(byte, error.object, line),
            ) from error
        except UnicodeError as error:  # UTF-16 and UTF-32 without their byte order mark
            raise UserFault(f"not {self._encoding}: {error}", file=self._file, remedy="set data.encoding") from error

    def _remedy(self, byte: int, data: bytes, line: int) -> str:
        if codecs.lookup(self._encoding).name != "utf-8":
            return "set data.encoding to the encoding of this file"
        if line == 1 and data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "the file looks like UTF-16: data.encoding: utf-16"
        hint = "data.encoding: cp1252 if the whole file is in Windows-1252 (latin-1, … likewise)"
        return f"{hint}, else convert the line to UTF-8"
