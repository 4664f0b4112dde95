"""Classes of words from a text file, such as the tags.tsv of a tagger's run: a line a word, WORD TAB CLASS."""

from __future__ import annotations

import re
from pathlib import Path

from gpuclf.data.paths import as_written, require_file
from gpuclf.data.source import Source
from gpuclf.data.text_lines import LineDecoder
from gpuclf.faults import UserFault

_HEADER = ["type", "tag"]  # of tags.tsv
_MEANINGS = {"t": "\t", "n": "\n", "r": "\r"}  # of what follows a backslash there


def read_word_classes(path: Path, key: str) -> dict[str, str]:
    """The class of each word; further fields of a line are not looked at, nor is a first line that says type, tag.

    Raises UserFault, with file and line, for a line without a class, and for a word of two classes.
    """
    require_file(path, key=key)
    classes: dict[str, str] = {}
    name = as_written(path)
    with Source(path) as source:
        decoder = LineDecoder(source.blocks(), "utf-8", name)
        for batch in decoder.batches():
            for line, text in enumerate(batch, decoder.lines - len(batch) + 1):
                fields = text.split("\t")
                if not text or (line == 1 and fields[:2] == _HEADER):
                    continue
                if len(fields) < 2 or not fields[0] or not fields[1].strip():
                    remedy = "write WORD TAB CLASS, or give the tags.tsv of a tagger's run"
                    raise UserFault(f"{text[:60]!r} is no word with its class", name, line, key, remedy)
                word = re.sub(r"\\(.)", lambda found: _MEANINGS.get(found.group(1), found.group(1)), fields[0])
                if classes.setdefault(word, fields[1]) != fields[1]:
                    said = f"{word!r} is of the class {fields[1]!r} here, and of {classes[word]!r} before"
                    raise UserFault(said, name, line, key, "give each word one class")
    if not classes:
        raise UserFault("holds no word", file=name, key=key, remedy="write WORD TAB CLASS, a line a word")
    return classes
