"""A saved tagger on new text: tags sentence by sentence, and figures where the text has gold tags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor

from gpuclf.data.open import ENDINGS, PACKED, open_reader, open_text_stream
from gpuclf.data.options import COLUMNS_OF_WORDS, FORMATS, DataOptions
from gpuclf.data.records import Chunk
from gpuclf.faults import UserFault
from gpuclf.features.token_context import TokenContext
from gpuclf.models.sequence.chain_predictor import ChainPredictor
from gpuclf.train.distribution import rank
from gpuclf.train.model_file import Model
from gpuclf.train.observer import SilentObserver
from gpuclf.train.stopwatch import Stopwatch
from gpuclf.train.tagging.experiment import figures_of_text
from gpuclf.train.tagging.tagged_text import read_sentences
from gpuclf.train.tagging.tagger_file import Tagger

STREAMED = "sentences"  # how standard input is read where nothing else is said
SENTENCE_FORMATS = ("sentences", "conll", "conllu", "lines")


@dataclass(frozen=True)
class TaggedSentences:
    """Successive sentences: sentence s is tokens[offsets[s]:offsets[s + 1]]; tags and known (tokens,); probabilities
    (tokens, K) float64, where they were asked for: P(label of the token | sentence)."""

    tokens: list[str]
    tags: Tensor
    known: Tensor
    offsets: Tensor
    probabilities: Tensor | None = None


def input_format(data: DataOptions, file: Path | None, given: str | None) -> str:
    """The format that text is read in: as said, else that of the training data or what a file's name says, and raw text
    from standard input."""
    if given is not None and given not in FORMATS:
        raise UserFault(f"--input-format {given} is unknown; there are: {', '.join(FORMATS)}")
    if given is not None:
        return given
    if file is None:
        return STREAMED
    endings = (suffix for suffix in reversed(file.suffixes) if suffix not in PACKED)
    by_name = ENDINGS.get(next(endings, ""), STREAMED)
    return data.format or (by_name if by_name in COLUMNS_OF_WORDS else STREAMED)


def tag_text(tagger: Tagger, file: Path | None, format: str, stream: BinaryIO) -> Iterator[TaggedSentences]:
    """Tags a file or standard input, a portion at a time; the tags of a sentence depend on nothing outside of it.

    Under torchrun the first process answers alone.
    """
    for chunk in _chunks(tagger.data, file, format, stream):
        sentences = tagger.words.encode([chunk], keep_tokens=True)
        assert sentences.tokens is not None, "tokens were asked for"
        known = sentences.corpus.ids < sentences.num_known
        yield TaggedSentences(sentences.tokens, tagger.tags(sentences), known, sentences.corpus.offsets)


def label_text(
    model: Model, file: Path | None, format: str, stream: BinaryIO, probabilities: bool = False
) -> Iterator[TaggedSentences]:
    """Likewise the labels by a model of classes whose documents are the tokens of sentences. A chain that decodes by
    other means than its marginals still has these as probabilities."""
    marginal = _with_probabilities(model) if probabilities else None
    for chunk in _chunks(model.data, file, format, stream):
        assert chunk.sentences is not None, "the format holds sentences"
        assert isinstance(model.encoder, TokenContext), "the model labels tokens"
        tokens, offsets = chunk.sentences.tokens, torch.from_numpy(chunk.sentences.offsets)
        encoded = model.encoder.encode([chunk])
        labels = model.scores(encoded)[0][0].argmax(dim=1)  # ties go to the first class
        known = torch.tensor(model.encoder.knows(tokens))
        shares = None if marginal is None else marginal.scores(encoded)[0][0].double().softmax(1)
        yield TaggedSentences(tokens, labels, known, offsets, shares)


def _with_probabilities(model: Model) -> Model:
    """A model of the same weights whose scores are log probabilities."""
    if model.probabilities:
        return model
    if isinstance(model.predictor, ChainPredictor):
        return replace(model, predictor=replace(model.predictor, decode="marginal"))
    raise UserFault(f"{model.options.type} gives scores, not probabilities", remedy="leave --proba out")


def _chunks(data: DataOptions, file: Path | None, format: str, stream: BinaryIO) -> Iterator[Chunk]:
    """The sentences of a file or of standard input; none for any process but the first."""
    if rank() != 0:
        return
    options = _for_format(data, format)
    if file is None:
        yield from open_text_stream(stream, options, format=format).chunks()
    else:
        yield from open_reader(file.absolute(), options, labelled=False).chunks()


def _for_format(data: DataOptions, format: str) -> DataOptions:
    """The data options for text of this format: what says how another format is read is left out."""
    if format == data.format or (data.format is None and format in COLUMNS_OF_WORDS):
        return data
    return data.model_copy(update={"format": format, "columns": None, "tokens": None, "gold": None, "inputs": []})


def evaluate_text(tagger: Tagger, file: Path) -> dict[str, Any]:
    """Figures of the tagger on a text with gold tags."""
    sentences = read_sentences(tagger.words, tagger.data, file.absolute(), "eval", SilentObserver(), Stopwatch())
    return figures_of_text(tagger, sentences)
