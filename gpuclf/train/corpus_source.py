"""Corpora by feature options: the strings are read once for all cells that share them."""

from __future__ import annotations

from gpuclf.faults import UserFault
from gpuclf.train.corpus import Corpus, read_corpus
from gpuclf.train.observer import Observer
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.stopwatch import Stopwatch


class CorpusSource:
    """Gives the corpus of an experiment; keeps the last one, since cells of one kind follow each other.

    `sha256`, by role, of the files that the run began with: they are read again for other features, and by a resumed
    run, and must not have changed meanwhile. None until something is read.
    """

    def __init__(self, observer: Observer, watch: Stopwatch, sha256: dict[str, str] | None = None):
        self._observer, self._watch, self.sha256 = observer, watch, sha256
        self._key: str | None = None
        self._corpus: Corpus | None = None

    def corpus(self, options: ExperimentOptions) -> Corpus:
        key = options.data.model_dump_json() + options.features.model_dump_json()
        if self._corpus is None or key != self._key:
            self._corpus = None  # before the next is read: never two in memory
            file = options.validation.file if options.validation is not None else None
            self._corpus = read_corpus(options.data, options.features, file, self._observer, self._watch)
            self._key = key
            self._check(self._corpus, options)
        return self._corpus

    def _check(self, corpus: Corpus, options: ExperimentOptions) -> None:
        if self.sha256 is None:
            self.sha256 = corpus.sha256
        changed = [role for role in corpus.sha256 if corpus.sha256[role] != self.sha256.get(role)]
        if changed:
            validation = options.validation.file if options.validation is not None else None
            files = {"train": options.data.train, "validation": validation}
            files |= {f"unlabelled {place}": file for place, file in enumerate(options.data.unlabelled, start=1)}
            raise UserFault(
                "the data has changed since this run began (its sha256 is another)",
                file=files[changed[0]],
                remedy="restore the file, or train in a new folder",
            )
