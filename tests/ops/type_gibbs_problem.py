"""Small random texts for the type-level sampler, and the same quantities worked out the long way."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gpuclf.ops.type_gibbs import Counts, Hyper, TypeContexts, TypeFeatures, contexts_of, count, features_of


@dataclass(frozen=True)
class Text:
    """Sentences of types, and feature codes (types, templates)."""

    sentences: list[list[int]]
    codes: Tensor
    num_values: tuple[int, ...]

    @property
    def num_types(self) -> int:
        return len(self.codes)

    @property
    def contexts(self) -> TypeContexts:
        ids = torch.tensor([i for sentence in self.sentences for i in sentence], dtype=torch.int32)
        offsets = torch.tensor([0, *map(len, self.sentences)]).cumsum(0)
        return contexts_of(ids, offsets, self.num_types)

    @property
    def features(self) -> TypeFeatures:
        return features_of(self.codes, self.num_values)


def drawn(seed: int, types: int = 6, sentences: int = 8, templates: int = 2, longest: int = 7) -> Text:
    """A random text: words that follow themselves, sentences of one word and of none; the last type has no token."""
    g = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, longest + 1, (sentences,), generator=g).tolist()
    known = max(1, types - 1)
    words = [(torch.rand(n, generator=g) ** 2 * known).long().tolist() for n in [*lengths, 1]]
    words.append([0, 0, 0])
    num_values = tuple(2 + f for f in range(templates))
    codes = [torch.randint(0, n, (types,), generator=g) for n in num_values]
    table = torch.stack(codes, 1) if codes else torch.zeros((types, 0), dtype=torch.int64)
    return Text(words, table.to(torch.int32), num_values)


def random_tags(seed: int, chains: int, types: int, tags: int) -> Tensor:
    return torch.randint(0, tags, (chains, types), generator=torch.Generator().manual_seed(seed)).to(torch.int32)


def hyper(alpha: list[float], beta: list[float], level: list[int]) -> Hyper:
    double = torch.float64
    return Hyper(torch.tensor(alpha, dtype=double), torch.tensor(beta, dtype=double), torch.tensor(level))


def on(device: torch.device, *records: Any) -> list[Any]:
    moved: list[Any] = []
    for record in records:
        if isinstance(record, Counts):
            moved.append(Counts(*(part.to(device) for part in record)))
        elif isinstance(record, Hyper):
            moved.append(Hyper(record.alpha.to(device), record.beta.to(device), record.level.to(device)))
        else:
            moved.append(record.to(device))
    return moved


def started(text: Text, seed: int, chains: int, tags: int) -> tuple[Tensor, Counts]:
    """Random tags and their counts."""
    drawn_tags = random_tags(seed, chains, text.num_types, tags)
    return drawn_tags, count(text.contexts, text.features, drawn_tags, tags)


def urn_log_joint(text: Text, tags: list[int], k: int, alpha: float, beta: float, level: int) -> float:
    """The log joint, drawing one thing after the other from Pólya's urns: nothing but fractions."""
    total = 0.0
    of_tag = [tags.count(t) for t in range(k)]
    prior_seen = [0] * k
    value_seen: dict[tuple[int, int, int], int] = {}
    value_total: dict[tuple[int, int], int] = {}
    for i, t in enumerate(tags):
        total += math.log((prior_seen[t] + beta) / (i + k * beta)) if level > 0 else -math.log(k)
        prior_seen[t] += 1
        for f, n in enumerate(text.num_values if level == 2 else ()):
            v = int(text.codes[i, f])
            seen, drawn_before = value_seen.get((t, f, v), 0), value_total.get((t, f), 0)
            total += math.log((seen + beta) / (drawn_before + n * beta))
            value_seen[t, f, v], value_total[t, f] = seen + 1, drawn_before + 1
    follows: dict[tuple[int, int], int] = {}
    left: dict[int, int] = {}
    emitted: dict[int, int] = {}
    emitted_by: dict[int, int] = {}
    for sentence in filter(None, text.sentences):
        path = [k, *(tags[i] for i in sentence), k]
        for s, t in itertools.pairwise(path):
            total += math.log((follows.get((s, t), 0) + alpha) / (left.get(s, 0) + (k + 1) * alpha))
            follows[s, t], left[s] = follows.get((s, t), 0) + 1, left.get(s, 0) + 1
        for i in sentence:
            t = tags[i]
            total += math.log((emitted.get(i, 0) + alpha) / (emitted_by.get(t, 0) + of_tag[t] * alpha))
            emitted[i], emitted_by[t] = emitted.get(i, 0) + 1, emitted_by.get(t, 0) + 1
    return total
