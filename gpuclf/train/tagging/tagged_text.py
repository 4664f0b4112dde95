"""The text that chains learn from: read once, numbered once, shared by all of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.faults import UserFault
from gpuclf.features.options import WordTypesOptions
from gpuclf.features.word_types import EncodedSentences, WordTypes, fit_word_types
from gpuclf.models.tagger.options import TypeTaggerOptions
from gpuclf.train.corpus import documents
from gpuclf.train.observer import Observer
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.stopwatch import Stopwatch


@dataclass(frozen=True)
class TaggedText:
    """Sentences with the numbering of their word types; gold tags, where there are any, for scoring only."""

    words: WordTypes
    sentences: EncodedSentences
    sha256: dict[str, str]


def read_text(data: DataOptions, features: WordTypesOptions, observer: Observer, watch: Stopwatch) -> TaggedText:
    """Reads the training file once. Raises UserFault where it holds no word."""
    labelled = data.gold is not None
    reader = open_reader(data.train, data, labelled=labelled)
    with watch.timed("features"):
        words, sentences = fit_word_types(documents(reader, "train", observer, watch), features)
    return TaggedText(words, sentences, {"train": reader.report.sha256})


def read_sentences(
    words: WordTypes, data: DataOptions, file: Path, role: str, observer: Observer, watch: Stopwatch
) -> EncodedSentences:
    """A further file under the same numbering, with its gold tags. Raises UserFault where it has none."""
    reader = open_reader(file, data)
    with watch.timed("features"):
        found = words.encode(documents(reader, role, observer, watch))
    if found.gold is None:
        raise UserFault("has no gold tags to be judged by", file=file, remedy="name their column in data.gold")
    return found


def tagger_options(options: ExperimentOptions) -> TypeTaggerOptions:
    """The model section of a tagging experiment."""
    assert isinstance(options.model, TypeTaggerOptions), "tags are induced by a tagger"
    return options.model


class TextSource:
    """Gives the text of a cell; keeps the last one, since cells of one kind follow each other.

    `sha256`, by role, of the files that the run began with; None until something is read.
    """

    def __init__(self, observer: Observer, watch: Stopwatch, sha256: dict[str, str] | None = None):
        self._observer, self._watch, self.sha256 = observer, watch, sha256
        self._key: str | None = None
        self._text: TaggedText | None = None

    def text(self, options: ExperimentOptions) -> TaggedText:
        data, features = options.data, options.features
        assert isinstance(features, WordTypesOptions), "a tagger works on word types"
        key = data.model_dump_json() + features.model_dump_json()
        if self._text is None or key != self._key:
            self._text = None  # before the next is read: never two in memory
            self._text = read_text(data, features, self._observer, self._watch)
            self._key = key
            if self.sha256 is None:
                self.sha256 = self._text.sha256
            if self._text.sha256 != self.sha256:
                raise UserFault(
                    "the data has changed since this run began (its sha256 is another)",
                    file=data.train,
                    remedy="restore the file, or train in a new folder",
                )
        return self._text
