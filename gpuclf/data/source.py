"""The bytes of a file, decompressed, in blocks; with size and SHA-256 of the file on disk, from the same reading."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from gpuclf.data.paths import as_written
from gpuclf.faults import UserFault

BLOCK = 1 << 20
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"


class Source:
    """One reading of a file or stream. gzip and zstd are known by their first bytes, whatever the file is called.

    `size` and `sha256` count every raw byte once `drain` has been called.
    """

    def __init__(self, path: Path, stream: BinaryIO | None = None):
        """`stream` is read instead of the file where given (standard input); `path` then only names it."""
        self.path = path
        self._stream = stream
        self._owned: BinaryIO | None = None
        self._hash = hashlib.sha256()
        self._ended = False
        self.size = 0

    def __enter__(self) -> Source:
        if self._stream is None:
            try:
                self._owned = self._stream = self.path.open("rb", buffering=0)
            except PermissionError:
                raise UserFault("not allowed to read this file", file=as_written(self.path)) from None
        return self

    def __exit__(self, *_: object) -> None:
        if self._owned is not None:
            self._owned.close()

    @property
    def sha256(self) -> str:
        return self._hash.hexdigest()

    def blocks(self) -> Iterator[bytes]:
        """The decompressed bytes. Raises UserFault for damaged or cut off compressed data."""
        raw = self._raw_blocks()
        first = next(raw, b"")
        while 0 < len(first) < 4:  # a pipe may hand over less than the mark
            more = next(raw, b"")
            if not more:
                break
            first += more
        if first.startswith(_GZIP):
            yield from self._gunzip(first, raw)
        elif first.startswith(_ZSTD):
            yield from self._unzstd(first, raw)
        else:
            yield first
            yield from raw

    def drain(self) -> None:
        """Reads what is left, so that size and digest are those of the whole file."""
        for _ in self._raw_blocks():
            pass

    def _raw_blocks(self) -> Iterator[bytes]:
        assert self._stream is not None, "enter the source before reading"
        # read1 gives what a pipe holds instead of waiting for a full block
        read: Callable[[int], bytes] = getattr(self._stream, "read1", self._stream.read)
        while not self._ended:  # a terminal would wait for a second end
            block = read(BLOCK)
            self._ended = not block
            self._hash.update(block)
            self.size += len(block)
            if block:
                yield block

    def _gunzip(self, block: bytes, raw: Iterator[bytes]) -> Iterator[bytes]:
        member = zlib.decompressobj(wbits=31)
        while True:
            try:
                out = member.decompress(block, 4 * BLOCK)
            except zlib.error as error:
                raise self._damaged("gzip", str(error)) from error
            if out:
                yield out
            block = member.unused_data if member.eof else member.unconsumed_tail
            if member.eof:
                block = block.lstrip(b"\0")  # padding between members is allowed
                while not block:
                    block = next(raw, b"")
                    if not block:
                        return
                    block = block.lstrip(b"\0")
                member = zlib.decompressobj(wbits=31)
            elif not block:
                block = next(raw, b"")
                if not block:
                    raise self._damaged("gzip", "it ends too early")

    def _unzstd(self, block: bytes, raw: Iterator[bytes]) -> Iterator[bytes]:
        import zstandard

        frame: Any = zstandard.ZstdDecompressor().decompressobj()
        while True:
            try:
                # small steps bound what one call can unfold
                for at in range(0, len(block), BLOCK // 16):
                    if frame.eof:
                        frame = zstandard.ZstdDecompressor().decompressobj()
                    piece = block[at : at + BLOCK // 16]
                    while piece:
                        if frame.eof:
                            frame = zstandard.ZstdDecompressor().decompressobj()
                        if out := frame.decompress(piece):
                            yield out
                        piece = frame.unused_data if frame.eof else b""
            except zstandard.ZstdError as error:
                raise self._damaged("zstd", str(error)) from error
            block = next(raw, b"")
            if not block:
                if not frame.eof:
                    raise self._damaged("zstd", "it ends too early")
                return

    def _damaged(self, kind: str, why: str) -> UserFault:
        return UserFault(
            f"damaged {kind} data ({why})", file=as_written(self.path), remedy="copy or download the file again"
        )
