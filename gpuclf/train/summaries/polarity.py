"""How strongly each snippet praises or blames: by the lexicon, or by a classifier that a run has trained."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from gpuclf.data.records import Chunk
from gpuclf.faults import UserFault
from gpuclf.train.model_file import Model
from gpuclf.train.summaries.lexicon import NEUTRAL_BELOW, strength
from gpuclf.train.summaries.snippets import Snippet

_NAMES = {
    1.0: ("positive", "pos", "+", "+1", "1", "good", "praise", "positiv"),
    0.0: ("neutral", "neu", "0", "mixed", "none", "conflict", "objective"),
    -1.0: ("negative", "neg", "-", "-1", "bad", "blame", "negativ"),
}
_SIGN = {name: sign for sign, names in _NAMES.items() for name in names}
_CHUNK = 4096


def strengths(snippets: Sequence[Snippet], sentiment: Model | None, run: Path | None = None) -> list[float]:
    """Above 0 for praise, below for blame; 0 is neutral. What the file says of a snippet comes first.

    The lexicon looks at the sentence around a snippet where the snippet has no opinion word. A classifier gives
    P(positive) - P(negative), rounded to the sign of its best class where it has no probabilities or neutral is best.
    Raises UserFault for a classifier whose classes are not polarities, or which does not read texts.
    """
    found = _by_lexicon(snippets) if sentiment is None else list(_by_model(snippets, sentiment, run))
    return [
        value if snippet.polarity is None else float(snippet.polarity)
        for snippet, value in zip(snippets, found, strict=True)
    ]


def _by_lexicon(snippets: Sequence[Snippet]) -> list[float]:
    values = [strength(snippet.text) or strength(snippet.sentence) for snippet in snippets]
    return [value if abs(value) >= NEUTRAL_BELOW else 0.0 for value in values]


def _by_model(snippets: Sequence[Snippet], model: Model, run: Path | None) -> Iterator[float]:
    signs = torch.tensor(class_signs(model, run))
    for start in range(0, len(snippets), _CHUNK):
        texts = [snippet.text for snippet in snippets[start : start + _CHUNK]]
        numbers = list(range(start + 1, start + len(texts) + 1))
        encoded = model.encoder.encode([Chunk([str(number) for number in numbers], numbers, None, texts=texts)])
        scores = model.scores(encoded)[0][0]
        best = signs[scores.argmax(dim=1)]
        if model.probabilities:
            values = torch.softmax(scores.double(), dim=1) @ signs.double()
            agreed = values.sign() == best
            yield from torch.where(agreed, values, best.double()).tolist()
        else:
            yield from best.tolist()


def class_signs(model: Model, run: Path | None) -> list[float]:
    """1, 0 or -1 for each class of a classifier of polarity, by its name."""
    if model.encoder.source != "texts":
        raise UserFault(
            f"reads {model.encoder.source}, not texts, and cannot judge snippets",
            file=run,
            remedy="give --sentiment a run whose features read texts (bag_of_words, token_ids)",
        )
    names = [name.strip().casefold() for name in model.classes]
    strange = [shown for shown, name in zip(model.classes, names, strict=True) if name not in _SIGN]
    signs = [_SIGN.get(name, 0.0) for name in names]
    if strange or not {1.0, -1.0} <= set(signs):
        listed = ", ".join(map(repr, model.classes[:8])) + (", …" if len(model.classes) > 8 else "")
        raise UserFault(
            f"is no classifier of polarity: its classes are {listed}",
            file=run,
            remedy="give --sentiment a run with classes named positive and negative, and perhaps neutral (or 1, -1, 0)",
        )
    return signs
