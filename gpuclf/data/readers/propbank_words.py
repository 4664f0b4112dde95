"""Words for annotations that withhold them: CoNLL-U sentences by document, aligned with the sentences of its trees."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from gpuclf.data.paths import as_written
from gpuclf.data.source import Source
from gpuclf.data.text_lines import LineDecoder
from gpuclf.faults import UserFault

_COLUMNS, _FORM, _LEMMA, _XPOS = 10, 1, 2, 4
_ENDINGS = (".gz", ".zst", ".conllu", ".gold_skel", ".gold_conll", ".prop", ".parse", ".mrg", ".xml")
_MOST_JOINED = 4  # sentences of one side that are one or more of the other's
LEAST_AGREEMENT = 0.7


@dataclass(frozen=True)
class Word:
    """form, lemma and xpos of CoNLL-U."""

    form: str
    lemma: str
    pos: str


def document_key(name: str) -> str:
    """What a document is known by, whichever file names it: its last name without folders and endings."""
    key = PurePosixPath(name).name
    while ending := next((ending for ending in _ENDINGS if key.endswith(ending)), None):
        key = key.removesuffix(ending)
    return key


class WordFiles:
    """A file of many documents (`# newdoc id = …`, of which a part up to the first dash may be a genre), or a folder
    with a file for each. sha256: of the file, or of the list `sha256  path` of those that were read."""

    def __init__(self, path: Path, encoding: str):
        self._path, self._encoding = path, encoding
        self._digests: dict[str, str] = {}
        self._files: dict[str, Path] = {}
        self._documents: dict[str, list[list[Word]]] = {}
        if path.is_dir():
            found = [file for file in sorted(path.rglob("*.conllu*")) if file.is_file()]
            self._files = {document_key(file.name): file for file in found}
        else:
            self._documents = dict(self._read(path, by_document=True))

    @property
    def sha256(self) -> str:
        if not self._path.is_dir():
            return self._digests[str(self._path)]
        listing = "".join(f"{digest}  {name}\n" for name, digest in sorted(self._digests.items()))
        return hashlib.sha256(listing.encode("utf-8", "surrogateescape")).hexdigest()

    def sentences(self, document: str) -> list[list[Word]]:
        """The sentences of a document. Raises UserFault where it is not there."""
        key = document_key(document)
        if key in self._files:
            return [sentence for _, found in self._read(self._files[key], by_document=False) for sentence in found]
        if key not in self._documents:
            raise UserFault(
                f"has no words of the document {document!r}",
                file=as_written(self._path),
                key="data.words",
                remedy=f"give it a file {key}.conllu, or a line '# newdoc id = {key}' before its sentences",
            )
        return self._documents[key]

    def _read(self, path: Path, by_document: bool) -> Iterator[tuple[str, list[list[Word]]]]:
        document, sentences, sentence = "", [], []  # type: ignore[var-annotated]
        with Source(path) as source:
            decoder = LineDecoder(source.blocks(), self._encoding, as_written(path))
            number = 0
            for batch in decoder.batches():
                for text in batch:
                    number += 1
                    if text.startswith("# newdoc") and by_document:
                        if sentences:
                            yield document, sentences
                        document, sentences = _newdoc(text), []
                    elif not text.strip():
                        if sentence:
                            sentences.append(sentence)
                        sentence = []
                    elif not text.startswith("#"):
                        sentence += _word(text, as_written(path), number)
            source.drain()
        if sentence:
            sentences.append(sentence)
        if sentences:
            yield document, sentences
        name = str(path) if path == self._path else path.relative_to(self._path).as_posix()
        self._digests[name] = source.sha256


def _newdoc(text: str) -> str:
    """The document of a comment `# newdoc id = answers-2007_ans`: what follows the first dash, if it has one."""
    name = text.partition("=")[2].strip()
    return document_key(name.partition("-")[2] or name)


def _word(text: str, file: str, line: int) -> list[Word]:
    cells = text.split("\t")
    if len(cells) != _COLUMNS:
        remedy = "CoNLL-U has ten, parted by single tabs"
        raise UserFault(f"{len(cells)} columns, not {_COLUMNS}: {text[:60]!r}", file=file, line=line, remedy=remedy)
    if not cells[0].isdecimal():  # a range such as 2-3, or an empty node
        return []
    return [Word(cells[_FORM], cells[_LEMMA], cells[_XPOS])]


def aligned(tags: Sequence[Sequence[str]], sentences: Sequence[Sequence[Word]]) -> list[list[Word] | None]:
    """The words of each sentence, given as the parts of speech of its tree; None: the two do not agree.

    Sentences stand in the same order; where one side has cut a sentence, up to four are taken together. Of the words of
    a sentence LEAST_AGREEMENT at least have the same part of speech on both sides.
    """
    found: list[list[Word] | None] = []
    at = 0
    while len(found) < len(tags):
        left = len(found)
        joined = _joined(tags[left:], sentences[at:])
        if joined is None:
            found.append(None)
            at += 1
            continue
        ours, theirs = joined
        words = [word for sentence in sentences[at : at + theirs] for word in sentence]
        at += theirs
        for sentence in tags[left : left + ours]:
            part, words = words[: len(sentence)], words[len(sentence) :]
            agree = sum(tag == word.pos for tag, word in zip(sentence, part, strict=True))
            found.append(part if agree >= LEAST_AGREEMENT * len(sentence) else None)
    return found


def _joined(tags: Sequence[Sequence[str]], sentences: Sequence[Sequence[Word]]) -> tuple[int, int] | None:
    """How many sentences of both sides are together the same words; None where they part."""
    for total in range(2, 2 + _MOST_JOINED):
        for ours in range(1, total):
            theirs = total - ours
            if ours > len(tags) or theirs > len(sentences):
                continue
            left = [tag for sentence in tags[:ours] for tag in sentence]
            right = [word.pos for sentence in sentences[:theirs] for word in sentence]
            agree = sum(tag == pos for tag, pos in zip(left, right, strict=False))
            if len(left) == len(right) and (total == 2 or agree >= LEAST_AGREEMENT * len(left)):
                return ours, theirs
    return None
