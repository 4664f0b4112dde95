"""Precision, recall and F1 of chunks: spans of tokens that tags B-NP, I-NP, O … mark, counted as conlleval does.

The rules are those of conlleval (Tjong Kim Sang & Buchholz 2000, CoNLL-2000 shared task), which read IOB1, IOB2, IOE1
and IOE2 alike: a chunk begins at B, at a tag after O, after the last tag of another chunk, and wherever the type
changes, so an I after O begins one, too. S (one token) and an end E before B are added as their names say, and so IOBES
is read; L and U are other names of E and S. A chunk is right if its first and last token and its type are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

_TAG = re.compile(r"([BIESLU])(?:-(.*))?", re.DOTALL)
_SAME = {"L": "E", "U": "S"}
_ENDS_BEFORE = {"B": "BSO", "I": "BSO", "E": "BIESO", "S": "BIESO", "O": ""}  # by tag: those after it that end a chunk
_BEGINS_AFTER = {"B": "BIESO", "S": "BIESO", "I": "ESO", "E": "ESO", "O": ""}  # by tag: those before it


@dataclass(frozen=True)
class ChunkTags:
    """What the classes mean as tags. K classes and a last one, K, for what lies before and after a sentence.

    types: names of the chunks' types, in class order; type (K + 1,) int64: that of each class, -1 for O; begins, ends
    (K + 1, K + 1) bool: whether between two neighbouring tags a chunk begins with the second, ends with the first.
    """

    types: tuple[str, ...]
    type: Tensor
    begins: Tensor
    ends: Tensor


def chunk_tags(classes: Sequence[str]) -> ChunkTags | None:
    """The meaning of classes; None where they are no tags of chunks: each is O, or one of B, I, E, S, L, U, alone or
    before a hyphen and a type, and there is a B or an I of some type."""
    parsed = []
    for name in classes:
        found = _TAG.fullmatch(name)
        if found is None and name != "O":
            return None
        letter, kind = ("O", "") if found is None else (_SAME.get(found[1], found[1]), found[2] or "")
        parsed.append((letter, kind))
    typed = any(letter in "BI" and kind for letter, kind in parsed)
    plain = "O" in classes and any(letter in "BI" for letter, _ in parsed)
    if not (typed or plain):
        return None
    types = tuple(dict.fromkeys(kind for letter, kind in parsed if letter != "O"))
    parsed.append(("O", ""))
    type = torch.tensor([-1 if letter == "O" else types.index(kind) for letter, kind in parsed])
    pairs = [[_between(before, after) for after in parsed] for before in parsed]
    begins, ends = (torch.tensor([[pair[side] for pair in row] for row in pairs]) for side in (0, 1))
    return ChunkTags(types, type, begins, ends)


def _between(before: tuple[str, str], after: tuple[str, str]) -> tuple[bool, bool]:
    """Whether a chunk begins with the second tag, and whether one ends with the first."""
    changes = before[1] != after[1]
    begins = before[0] in _BEGINS_AFTER[after[0]] or (after[0] != "O" and changes)
    ends = after[0] in _ENDS_BEFORE[before[0]] or (before[0] != "O" and changes)
    return begins, ends


def chunk_counts(tags: ChunkTags, gold: Tensor, predicted: Tensor, sentence: Tensor) -> Tensor:
    """Chunks by type (R, 3, types) int64: right ones, predicted ones, those in gold.

    gold (n,), predicted (R, n): classes of tokens, all tokens of a sentence in their order; sentence (n,): its number.
    """
    both = torch.cat([gold[None], predicted])
    rows, tokens = both.shape
    kinds = len(tags.types)
    counts = torch.zeros((rows - 1, 3, kinds), dtype=torch.int64, device=both.device)
    if not tokens:
        return counts
    type, begins, ends = (table.to(both.device) for table in (tags.type, tags.begins, tags.ends))
    border = torch.full((rows, 1), len(type) - 1, dtype=both.dtype, device=both.device)
    cut = (sentence[1:] != sentence[:-1]).expand(rows, -1)
    before = torch.cat([border, torch.where(cut, border, both[:, :-1])], 1)
    after = torch.cat([torch.where(cut, border, both[:, 1:]), border], 1)
    begin, end, kind = begins[before, both], ends[both, after], type[both]
    place = torch.arange(tokens, device=both.device).expand(rows, -1)
    last = torch.where(end, place, tokens).flip(1).cummin(1).values.flip(1)  # the next end from here on
    right = begin[1:] & begin[:1] & (kind[1:] == kind[:1]) & (last[1:] == last[:1])
    for number, chosen in enumerate((right, begin[1:], begin[:1].expand(rows - 1, -1))):
        own = torch.where(chosen, kind[:1] if number == 2 else kind[1:], kinds)
        hits = torch.zeros((rows - 1, kinds + 1), dtype=torch.int64, device=both.device)
        counts[:, number] = hits.scatter_add_(1, own, torch.ones_like(own))[:, :kinds]
    return counts


def chunk_batch_metrics(counts: Tensor) -> dict[str, Tensor]:
    """Figures by name, each (R,) float64, over all types; 0 where there is nothing to divide by."""
    right, predicted, gold = counts.sum(2).to(torch.float64).unbind(1)
    return {
        "chunk_precision": right / predicted.clamp(min=1),
        "chunk_recall": right / gold.clamp(min=1),
        "chunk_f1": 2 * right / (predicted + gold).clamp(min=1),
    }


def chunk_figures(tags: ChunkTags, counts: Tensor) -> Mapping[str, Any]:
    """The same of one labelling's counts (3, types), and a record a type, JSON-able."""
    values: dict[str, Any] = {name: float(value[0]) for name, value in chunk_batch_metrics(counts[None]).items()}
    values["per_chunk"] = {}
    for place, name in enumerate(tags.types):
        own = chunk_batch_metrics(counts[None, :, place : place + 1])
        figures = {key.removeprefix("chunk_"): float(value[0]) for key, value in own.items()}
        support = {"support": int(counts[2, place]), "predicted": int(counts[1, place])}
        values["per_chunk"][name] = figures | support
    return values
