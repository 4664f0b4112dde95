"""A tagger for a person: each tag with its words, and which tag follows which."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.train.tagging.tagger_file import Tagger

START, STOP = "start", "stop"


@dataclass(frozen=True)
class Tag:
    """One induced tag: its types and tokens in the training text, and its most frequent words with their counts."""

    name: str
    types: int
    tokens: int
    words: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class TagFacts:
    """tags: those in use, the most frequent first. transitions (K+1, K+1) int64: bigrams of the training text between
    these tags in this order; the last row is the sentence start, the last column its end."""

    tags: tuple[Tag, ...]
    transitions: Tensor
    unused: int

    @property
    def tokens(self) -> int:
        return sum(tag.tokens for tag in self.tags)

    @property
    def follows(self) -> Tensor:
        """(K+1, K+1) float64: P(next tag | tag), the shares of each row."""
        counts = self.transitions.double()
        return counts / counts.sum(dim=1, keepdim=True).clamp(min=1)


def tag_facts(tagger: Tagger, words: int = 12) -> TagFacts:
    """Facts of a tagger; `words`: how many a tag names at most. Ties go to the lower tag and the earlier word."""
    tags, counts, names = tagger.predictor.tags[0].cpu(), tagger.counts, tagger.words.names
    tokens = torch.zeros(tagger.num_tags, dtype=torch.int64).index_add_(0, tags, counts)
    types = torch.bincount(tags, minlength=tagger.num_tags)
    order = torch.sort(tokens, descending=True, stable=True).indices
    order = order[types[order] > 0]
    by_count = torch.sort(counts, descending=True, stable=True).indices
    found = []
    for tag in order.tolist():
        own = by_count[tags[by_count] == tag][:words].tolist()
        top = tuple((names[word] or "(rare words)", int(counts[word])) for word in own)
        found.append(Tag(tagger.tag_names[tag], int(types[tag]), int(tokens[tag]), top))
    ends = torch.cat([order, torch.tensor([tagger.num_tags])])
    transitions = tagger.predictor.transitions[0].cpu().to(torch.int64)[ends][:, ends]
    return TagFacts(tuple(found), transitions, tagger.num_tags - len(found))
