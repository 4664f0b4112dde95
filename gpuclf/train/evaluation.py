"""A saved model on new documents: figures of a labelled file, predictions of any."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor

from gpuclf.data.open import open_reader, open_text_stream
from gpuclf.data.options import FORMATS
from gpuclf.faults import UserFault
from gpuclf.features.word_rows import WordRows
from gpuclf.train.distribution import gathered, rank, share_of
from gpuclf.train.labelled_file import figures, joined, predict_labelled, read_labelled
from gpuclf.train.model_file import Model
from gpuclf.train.observer import SilentObserver
from gpuclf.train.stopwatch import Stopwatch

# How standard input is read where nothing else is said, by what the encoder wants of a document.
_STREAMED = {"texts": "lines", "indexed": "svmlight", "named": "vw"}


def evaluate_file(model: Model, file: Path) -> dict[str, Any] | None:
    """Figures of the model on a labelled file (DESIGN §8). Under torchrun every process scores its own documents, each
    document once; the first process gets the figures, the others None."""
    encoded = read_labelled(model, model.data, file.absolute(), "eval", SilentObserver(), Stopwatch())
    parts = gathered(predict_labelled(model, encoded, share_of(encoded.rows.num_docs)))
    if parts is None:
        return None
    return figures(joined(parts), model.probabilities, len(model.classes))


def predict_documents(
    model: Model, file: Path | None, input_format: str | None, stream: BinaryIO
) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """(scores (docs, K), known, flagged, unknown_word (docs,) bool) of successive portions of a file or of standard
    input. unknown_word: contexts of an ambiguous word that training did not have, where every word has its own model.

    Under torchrun the first process answers alone, so that the lines come once and in order.
    """
    if rank() != 0:
        return
    if input_format is not None and input_format not in FORMATS:
        raise UserFault(f"--input-format {input_format} is unknown; there are: {', '.join(FORMATS)}")
    if file is None:
        format = input_format or _STREAMED.get(model.encoder.source) or model.data.format or "tsv"
        reader = open_text_stream(stream, model.data, format=format, index_base=model.index_base)
    else:
        options = model.data if input_format is None else model.data.model_copy(update={"format": input_format})
        reader = open_reader(file.absolute(), options, labelled=False, index_base=model.index_base)
    for chunk in reader.chunks():
        encoded = model.encoder.encode([chunk])
        scores, flagged = model.scores(encoded)
        rows = encoded.rows
        unknown_word = rows.word < 0 if isinstance(rows, WordRows) else torch.zeros_like(flagged)
        yield scores[0], torch.from_numpy(encoded.known), flagged, unknown_word
