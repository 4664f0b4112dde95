"""PropBank: trees and the arguments of their verbs → a table of categories, a row for each argument of a verb."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from gpuclf.data.intake import Intake
from gpuclf.data.paths import as_written, require_file
from gpuclf.data.readers.propbank_columns import BadSentence, blocks, read_columns
from gpuclf.data.readers.propbank_pointers import Pointers, annotated, read_pointers, read_trees
from gpuclf.data.readers.propbank_words import WordFiles, aligned
from gpuclf.data.records import Chunk
from gpuclf.data.roles.argument import FEATURES, Argument, Sentence
from gpuclf.data.roles.proposition import Annotated, Span, arguments_of
from gpuclf.data.roles.tree import Tree
from gpuclf.data.source import Source
from gpuclf.data.table_rows import TableBody
from gpuclf.data.text_lines import LineDecoder
from gpuclf.faults import UserFault

_PACKED = (".gz", ".zst")
_COLUMNS = (".gold_skel", ".gold_conll")
_POINTERS = ".prop"
_LIST = (".txt", ".list")


class PropbankReader:
    """Reads `.gold_skel` (or `.gold_conll`, the same with words) and `.prop` files: one, all in a folder, or those that
    a list names, one a line (`.txt`; endings may be left out), relative to data.annotations or to the list.

    data.words: CoNLL-U for files that withhold words; data.trees: the bracketed trees that `.prop` files point into.
    A row is an argument that is a constituent, of a predicate that is a verb; ids are document:sentence:verb:start-end,
    words and sentences counted from 0. Lines are those of the annotation's file, where the sentence begins.
    """

    def __init__(self, intake: Intake, body: TableBody, *, chunk_docs: int = 4096):
        self.report = intake.report
        self._intake = intake
        self._body = body
        self._chunk_docs = chunk_docs
        self._names = list(intake.options.categorical)
        self._words: WordFiles | None = None
        self._used = False
        self._trees: dict[Path, list[Tree]] = {}
        self._digests: dict[Path, str] = {}
        self._sentences = self._unaligned = self._not_spoken = self._no_constituent = 0
        self._examples: list[str] = []

    def chunks(self) -> Iterator[Chunk]:
        """Chunks of at least `chunk_docs` documents but for the last; a sentence is never parted."""
        assert not self._used, "a reader reads its file once"
        self._used = True
        intake, options = self._intake, self._intake.options
        if options.words is not None:
            self._words = WordFiles(require_file(options.words, key="data.words", folder=True), options.encoding)
        for file in self._files():
            intake.file = as_written(file)
            for sentence, given in self._worded(file):
                for span, argument in arguments_of(sentence, given):
                    self._argument(sentence, span, argument)
                if intake.pending >= self._chunk_docs and not intake.failed:
                    yield intake.take()
                if intake.room <= 0:
                    break
            if intake.room <= 0:
                break
        self._close()
        if intake.pending:
            yield intake.take()

    def _argument(self, sentence: Annotated, span: Span, argument: Argument | None) -> None:
        if argument is None:
            self._no_constituent += 1
            self._example(f"{span.role} of words {span.start}-{span.end - 1}, {_place(sentence)}")
            return
        name = f"{sentence.document}:{sentence.number}:{argument.verb}:{span.start}-{span.end}"
        if self._intake.knows_id(name):  # the same words twice: two roles of one constituent
            name = f"{name}:{span.role}"
        group = {"document": sentence.document, "sentence": f"{sentence.document}:{sentence.number}"}
        chosen = self._intake.options.group
        for _ in range(
            self._intake.admit(
                sentence.line, [span.role], id=name, group=None if chosen is None else group[str(chosen)]
            )
        ):
            self._body.append([FEATURES[feature](argument) for feature in self._names], [])

    def _worded(self, file: Path) -> Iterator[tuple[Annotated, Sentence]]:
        """The sentences of a file with their words; those without are counted."""
        found = list(self._annotated(file))
        self._sentences += len(found)
        by_document: dict[str, list[Annotated]] = {}
        for sentence in found:
            by_document.setdefault(sentence.document, []).append(sentence)
        for document, sentences in by_document.items():
            if all(sentence.words is not None for sentence in sentences):
                for sentence in sentences:
                    assert sentence.words is not None
                    lemmas = sentence.words if sentence.lemmas is None else sentence.lemmas
                    yield sentence, Sentence(sentence.tree, sentence.words, lemmas)
                continue
            if self._words is None:
                raise self._intake.fault(
                    "withholds its words ([WORD])", key="data.words", remedy="name the CoNLL-U file or folder with them"
                )
            tags = [[leaf.label for leaf in sentence.tree.leaves] for sentence in sentences]
            for sentence, words in zip(sentences, aligned(tags, self._words.sentences(document)), strict=True):
                if words is None:
                    self._unaligned += 1
                    self._example(f"words that do not fit, {_place(sentence)}")
                else:
                    forms, lemmas = [word.form for word in words], [word.lemma for word in words]
                    yield sentence, Sentence(sentence.tree, forms, lemmas)

    def _annotated(self, file: Path) -> Iterator[Annotated]:
        if _bare(file).endswith(_POINTERS):
            yield from self._pointed(file)
            return
        numbers: dict[str, int] = {}
        for first, rows in blocks(self._lines(file)):
            document = rows[0][0]
            number = numbers.get(document, 0)
            numbers[document] = number + 1
            try:
                yield read_columns(first, rows, number)
            except BadSentence as error:
                self._intake.bad(error.line, error.reason, error.remedy)

    def _pointed(self, file: Path) -> Iterator[Annotated]:
        """The sentences that a file of pointers annotates, in the order of their trees."""
        found: dict[str, dict[int, list[Pointers]]] = {}
        for line, text in enumerate(self._lines(file), 1):
            if text.strip():
                try:
                    pointers = read_pointers(line, text)
                except BadSentence as error:
                    self._intake.bad(error.line, error.reason, error.remedy)
                    continue
                found.setdefault(pointers.tree, {}).setdefault(pointers.number, []).append(pointers)
        for name, by_tree in found.items():
            trees = self._trees_of(name)
            for number, group in sorted(by_tree.items()):
                try:
                    if number >= len(trees):
                        remedy = "trees count from 0; are they those that were annotated?"
                        raise BadSentence(group[0].line, f"no tree {number} in {name}: it has {len(trees)}", remedy)
                    sentence = annotated(name, number, trees[number], group)
                except BadSentence as error:
                    self._intake.bad(error.line, error.reason, error.remedy)
                    continue
                if sentence is None:
                    self._not_spoken += 1
                else:
                    yield sentence

    def _trees_of(self, name: str) -> list[Tree]:
        root = self._intake.options.trees
        if root is None:
            raise self._intake.fault(
                "points into trees that are not given", key="data.trees", remedy="name their file, or their folder"
            )
        file = require_file(root, key="data.trees", folder=True)
        if file.is_dir():
            places = [file / f"{name}{packed}" for packed in ("", *_PACKED)]
            file = next((place for place in places if place.is_file()), places[0])
            require_file(file, key="data.trees")
        if file not in self._trees:
            self._trees.clear()  # annotations of one tree file stand together
            try:
                self._trees[file] = [tree for _, tree in read_trees(self._lines(file))]
            except BadSentence as error:
                raise UserFault(error.reason, file=as_written(file), line=error.line, remedy=error.remedy) from error
        return self._trees[file]

    def _files(self) -> list[Path]:
        path = self.report.path
        if path.is_dir():
            files = [file for file in sorted(path.rglob("*")) if file.is_file() and not file.name.startswith(".")]
            for ending in (*_COLUMNS, _POINTERS):
                chosen = [file for file in files if _bare(file).endswith(ending)]
                if chosen:
                    return chosen
            raise self._intake.fault("holds no .gold_skel, .gold_conll or .prop file", remedy="check data.train")
        return self._listed(path) if _bare(path).endswith(_LIST) else [path]

    def _listed(self, path: Path) -> list[Path]:
        """The files that a list names. Those that are not there are told of; none at all is a fault."""
        given = self._intake.options.annotations
        root = path.parent if given is None else require_file(given, key="data.annotations", folder=True)
        names = [text.strip() for text in self._lines(path) if text.strip()]
        found = {name: _named(root, name) for name in names}
        missing = [name for name, file in found.items() if file is None]
        files = [file for file in found.values() if file is not None]
        if not files:
            raise self._intake.fault(
                f"names {len(names)} files, and none is in {root} (with .gold_skel, .gold_conll or .prop)",
                key="data.annotations",
                remedy="name the folder that the list is relative to",
            )
        if missing:
            self._intake.note(f"{len(missing)} of the {len(names)} files named are not there, such as {missing[0]}")
        return files

    def _lines(self, file: Path) -> Iterator[str]:
        """The lines of a file, which is counted and remembered."""
        with Source(file) as source:
            decoder = LineDecoder(source.blocks(), self._intake.options.encoding, as_written(file))
            for batch in decoder.batches():
                yield from batch
            source.drain()
        if file not in self._digests:
            self._digests[file] = source.sha256
            self.report.bytes += source.size
            self.report.lines += decoder.lines

    def _example(self, text: str) -> None:
        if len(self._examples) < 3:
            self._examples.append(text)

    def _close(self) -> None:
        intake = self._intake
        if list(self._digests) == [self.report.path]:
            self.report.sha256 = self._digests[self.report.path]
        else:
            listing = "".join(f"{digest}  {file.name}\n" for file, digest in sorted(self._digests.items()))
            self.report.sha256 = hashlib.sha256(listing.encode("utf-8", "surrogateescape")).hexdigest()
        if self._words is not None and intake.options.words is not None:
            self.report.companions[str(intake.options.words)] = self._words.sha256
        counts = {
            "arguments that are no constituent": self._no_constituent,
            "sentences whose words do not fit their tree": self._unaligned,
            "sentences of which nothing is spoken": self._not_spoken,
        }
        left_out = [f"{count:,} {what}" for what, count in counts.items() if count]
        if left_out:
            shown = f" (such as {'; '.join(self._examples)})" if self._examples else ""
            intake.note(f"left out, of {self._sentences:,} sentences: {', '.join(left_out)}{shown}")
        intake.close()


def _bare(path: Path) -> str:
    """The name without the endings of compressed files."""
    name = path.name
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return name


def _named(root: Path, name: str) -> Path | None:
    """The file of this name in `root`, with or without its ending."""
    bare = name.removesuffix(".conllu")
    for ending in ("", *(ending + packed for ending in (*_COLUMNS, _POINTERS) for packed in ("", *_PACKED))):
        if (root / f"{bare}{ending}").is_file():
            return root / f"{bare}{ending}"
    return None


def _place(sentence: Annotated) -> str:
    return f"sentence {sentence.number} of {sentence.document}"
