"""Corpora by feature options: the strings are read once for all cells that share them."""

from __future__ import annotations

from gpuclf.train.corpus import Corpus, read_corpus
from gpuclf.train.observer import Observer
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.stopwatch import Stopwatch


class CorpusSource:
    """Gives the corpus of an experiment; keeps the last one, since cells of one kind follow each other."""

    def __init__(self, observer: Observer, watch: Stopwatch):
        self._observer, self._watch = observer, watch
        self._key: str | None = None
        self._corpus: Corpus | None = None

    def corpus(self, options: ExperimentOptions) -> Corpus:
        key = options.data.model_dump_json() + options.features.model_dump_json()
        if self._corpus is None or key != self._key:
            self._corpus = None  # before the next is read: never two in memory
            file = options.validation.file if options.validation is not None else None
            self._corpus = read_corpus(options.data, options.features, file, self._observer, self._watch)
            self._key = key
        return self._corpus
