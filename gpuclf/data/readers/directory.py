"""One folder a class, one file a document, as many corpora are handed round."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from gpuclf.data.intake import Body, Intake, TextBody
from gpuclf.data.records import Chunk
from gpuclf.data.source import Source
from gpuclf.data.text_lines import LineDecoder

_CHUNK_SIZE = 16 << 20


class DirectoryReader:
    """The first folder below the root is the label; ids are paths below the root; hidden files are passed over.

    Files come in the order of their paths by code point. The digest is that of the list `sha256  path` of all files.
    Read without labels, files may also lie in the root itself.
    """

    def __init__(self, intake: Intake, body: Body, *, chunk_docs: int = 4096):
        self.report = intake.report
        self._intake = intake
        assert isinstance(body, TextBody), "files are texts"
        self._body = body
        self._chunk_docs = chunk_docs
        self._used = False

    def chunks(self) -> Iterator[Chunk]:
        """Chunks of at most `chunk_docs` documents."""
        assert not self._used, "a reader reads its file once"
        self._used = True
        intake = self._intake
        listing = hashlib.sha256()
        size = 0
        for name in self._names():
            if intake.room > 0:
                text = self._read(name, listing)
                size += len(text)
                self._document(name, text)
            if intake.pending and not intake.failed and (intake.pending >= self._chunk_docs or size > _CHUNK_SIZE):
                yield intake.take()
                size = 0
        self.report.sha256 = listing.hexdigest()
        intake.close()
        if intake.pending:
            yield intake.take()

    def _names(self) -> list[str]:
        root = self.report.path
        names, hidden, links = [], 0, 0
        for folder, folders, files in os.walk(root):
            hidden += sum(name.startswith(".") for name in (*folders, *files))
            links += sum(os.path.islink(os.path.join(folder, name)) for name in folders)
            folders[:] = [name for name in folders if not name.startswith(".")]
            names += [Path(folder, name).relative_to(root).as_posix() for name in files if not name.startswith(".")]
        if hidden:
            self._intake.note(f"{hidden} hidden files or folders were passed over")
        if links:
            self._intake.note(f"{links} links to folders were not followed")
        return sorted(names)

    def _read(self, name: str, listing: hashlib._Hash) -> str:
        path = self.report.path / name
        if not path.is_file():
            raise self._intake.fault(f"{name} is not a regular file", remedy="remove it from the folder")
        with Source(path) as source:
            decoder = LineDecoder(source.blocks(), self._intake.options.encoding, str(path))
            text = "\n".join(line for lines in decoder.batches() for line in lines)
            source.drain()
        self.report.bytes += source.size
        self.report.lines += decoder.lines
        listing.update(f"{source.sha256}  {name}\n".encode("utf-8", "surrogateescape"))
        return text

    def _document(self, name: str, text: str) -> None:
        folder, slash, _ = name.partition("/")
        number = self.report.records + self.report.skipped + 1
        if self._intake.labelled and not slash:
            self._intake.bad(number, f"file {name!r} lies in no class folder", "move it into the folder of its class")
            return
        if any("\udc80" <= c <= "\udcff" for c in name):
            self._intake.bad(number, f"the name {name!a} is not UTF-8", "rename it")
            return
        for _ in range(self._intake.admit(1, [folder], id=name, empty=not text.strip())):
            self._body.texts.append(text)
