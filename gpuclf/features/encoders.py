"""The encoder of each kind of features: fitted, or read back from a model file."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gpuclf.data.records import Chunk
from gpuclf.features.categorical import CategoryEncoder, fit_categories
from gpuclf.features.encoded import DocumentEncoder, Encoded
from gpuclf.features.encoder import Encoder, fit_encoder
from gpuclf.features.options import (
    CategoricalOptions,
    ReviewContextOptions,
    RowFeatureOptions,
    TokenContextOptions,
    TokenIdsOptions,
    WordSenseOptions,
)
from gpuclf.features.review_context import ReviewContext, fit_review_context
from gpuclf.features.sense_words import SenseWordsEncoder, fit_sense_words
from gpuclf.features.token_context import TokenContext, fit_token_context
from gpuclf.features.token_ids import TokenEncoder, fit_tokens
from gpuclf.features.word_sense import WordSenseEncoder, fit_word_sense


def fit(
    chunks: Iterable[Chunk], options: RowFeatureOptions, unlabelled: Iterable[Chunk] = ()
) -> tuple[DocumentEncoder, Encoded]:
    """The encoder that the documents teach under these options, and the documents encoded; reads them once.

    unlabelled: reviews of which a model of topics learns words, and that get no rows; read after the documents.
    """
    if isinstance(options, ReviewContextOptions):
        return fit_review_context(chunks, unlabelled, options)
    if isinstance(options, CategoricalOptions):
        return fit_categories(chunks, options)
    if isinstance(options, TokenIdsOptions):
        return fit_tokens(chunks, options)
    if isinstance(options, WordSenseOptions):
        return fit_sense_words(chunks, options) if options.by_word else fit_word_sense(chunks, options)
    if isinstance(options, TokenContextOptions):
        return fit_token_context(chunks, options)
    return fit_encoder(chunks, options)


def encoder_from_json(data: dict[str, Any], options: RowFeatureOptions) -> DocumentEncoder:
    """The encoder whose `to_json` gave `data`, under the same options."""
    if isinstance(options, CategoricalOptions):
        return CategoryEncoder.from_json(data)
    if isinstance(options, TokenIdsOptions):
        return TokenEncoder.from_json(data, options)
    if isinstance(options, WordSenseOptions):
        of_words = SenseWordsEncoder if options.by_word else WordSenseEncoder
        return of_words.from_json(data, options)
    if isinstance(options, TokenContextOptions):
        return TokenContext.from_json(data, options)
    if isinstance(options, ReviewContextOptions):
        return ReviewContext.from_json(data, options)
    return Encoder.from_json(data, options)
