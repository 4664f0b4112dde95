"""The mistakes that a model was surest of, with the text of the documents, read again from the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.data.records import Chunk
from gpuclf.features.encoded import DocumentEncoder
from gpuclf.features.review_context import ReviewContext
from gpuclf.train.labelled_file import Predictions


@dataclass(frozen=True)
class Mistake:
    """A document with the wrong class. scores: of the highest classes and of gold, highest first.

    margin: how much the predicted class is above the gold one (above the second where the model does not know gold).
    text: None for formats that hold features, or where the document was not found again.
    """

    id: str
    gold: str
    predicted: str
    margin: float
    scores: tuple[tuple[str, float], ...]
    known: bool  # whether any feature of the document is known to the model
    text: str | None = None


def surest_mistakes(predictions: Predictions, limit: int, highest: int = 3) -> list[Mistake]:
    """The mistakes with the widest margins, widest first, ties in the order of the file."""
    wrong = torch.nonzero(predictions.predicted != predictions.gold).flatten()
    margins = _margins(predictions.scores[wrong], predictions.gold[wrong])
    order = torch.sort(margins, descending=True, stable=True).indices[:limit]
    found = []
    for place in order.tolist():
        doc = int(wrong[place])
        row, gold = predictions.scores[doc], int(predictions.gold[doc])
        ranked = torch.sort(row, descending=True, stable=True).indices.tolist()
        shown = ranked[:highest] + [gold] * (gold < len(ranked) and gold not in ranked[:highest])
        found.append(
            Mistake(
                id=predictions.ids[doc],
                gold=predictions.classes[gold],
                predicted=predictions.classes[ranked[0]],
                margin=float(margins[place]),
                scores=tuple((predictions.classes[index], float(row[index])) for index in shown),
                known=bool(predictions.known[doc]),
            )
        )
    return found


def with_texts(
    mistakes: Sequence[Mistake],
    data: DataOptions,
    file: Path,
    index_base: int | None,
    longest: int = 1500,
    encoder: DocumentEncoder | None = None,
) -> list[Mistake]:
    """The mistakes with their texts (the first `longest` characters), found by id in a second pass over their file.

    The text of a token is its sentence, where it stands in brackets of its own: ⟦token⟧; those of reviews are found by
    the encoder. The pass ends with the last of them; formats that hold no text are not read. Raises UserFault where the
    file is no longer what it was.
    """
    wanted = {mistake.id for mistake in mistakes}
    texts: dict[str, str] = {}
    for chunk in open_reader(file, data, index_base=index_base).chunks() if wanted else ():
        if chunk.texts is not None:
            found = (place for place, name in enumerate(chunk.ids) if name in wanted)
            texts |= {chunk.ids[place]: _cut(chunk.texts[place], longest) for place in found}
        elif chunk.sentences is not None or (chunk.reviews is not None and isinstance(encoder, ReviewContext)):
            texts |= {name: _cut(text, longest) for name, text in _tokens(chunk, encoder, wanted)}
        else:
            break
        if len(texts) == len(wanted):
            break
    return [replace(mistake, text=texts.get(mistake.id)) for mistake in mistakes]


def _tokens(chunk: Chunk, encoder: DocumentEncoder | None, wanted: set[str]) -> Iterator[tuple[str, str]]:
    """The tokens of a chunk that are wanted: the id SENTENCE:PLACE, and the sentence with the token in brackets."""
    sentences = {name.rpartition(":")[0] for name in wanted}
    placed = encoder.place(chunk) if isinstance(encoder, ReviewContext) and chunk.reviews is not None else None
    held = chunk.sentences if placed is None else placed.sentences
    assert held is not None
    for number, sentence in enumerate(chunk.ids):
        if sentence not in sentences:
            continue
        first, end = int(held.offsets[number]), int(held.offsets[number + 1])
        for token in range(first, end):
            name = f"{sentence}:{token - first + 1}"
            if name not in wanted:
                continue
            if placed is None:
                words = [f"⟦{word}⟧" if at == token else word for at, word in enumerate(held.tokens[first:end], first)]
                yield name, " ".join(words)
            else:
                assert chunk.reviews is not None
                text, begin, stop = chunk.reviews.texts[number], int(placed.begins[token]), int(placed.ends[token])
                yield name, f"{text[:begin]}⟦{text[begin:stop]}⟧{text[stop:]}"


def _margins(scores: Tensor, gold: Tensor) -> Tensor:
    """(n,) float64 of scores (n, K): the highest less gold's, or less the second where gold has no column."""
    scores = scores.double()
    best = scores.max(dim=1).values
    known = gold < scores.shape[1]
    others = scores.gather(1, gold.clamp(max=scores.shape[1] - 1)[:, None]).squeeze(1)
    second = scores.topk(min(2, scores.shape[1]), dim=1).values[:, -1]
    return torch.nan_to_num(best - torch.where(known, others, second), nan=0.0, posinf=torch.inf)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest].rstrip() + " …"
