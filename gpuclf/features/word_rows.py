"""Contexts of several ambiguous words as rows: every word has inputs, words around it and classes of its own.

A model of each word is trained on that word's contexts alone; this record keeps them together, so that one batch
trains all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from gpuclf.features.sense_rows import SenseRows


@dataclass(frozen=True)
class WordRows:
    """Contexts of several ambiguous words; each word has inputs, word sets and classes of its own.

    parts: the contexts of each word in file order, words in sorted order (by code point). names: the words. classes: of
    each word, the numbers (rising) of its classes among all classes; one alone is always the answer. word (docs,)
    int64: the part of a context, -1 for a word that training did not have; place (docs,) int64: its row in that part
    (0 where there is none).
    """

    parts: tuple[SenseRows, ...]
    names: tuple[str, ...]
    classes: tuple[tuple[int, ...], ...]
    word: Tensor
    place: Tensor

    @property
    def num_docs(self) -> int:
        return self.word.numel()

    @property
    def num_features(self) -> int:
        """The values of all inputs of all words that are known without the classes."""
        return sum(part.num_features for part in self.parts)

    @property
    def scale_sizes(self) -> list[int]:
        """How many numbers of a view's col_scale belong to each word: W · (K + 1) of its own words and classes."""
        return [part.num_words * (len(own) + 1) for part, own in zip(self.parts, self.classes, strict=True)]

    def docs(self, part: int) -> Tensor:
        """(n,) int64: the documents of a part, by row of the part."""
        return torch.nonzero(self.word == part).flatten()  # rows of a part are in file order, as documents are

    def local_labels(self, part: int, labels: Tensor) -> Tensor:
        """(n,) int64: of labels (docs,), numbers among all classes, those of a part as places among its word's classes;
        -1 for none, and for a class that only other words have."""
        own = torch.tensor(self.classes[part], dtype=torch.int64, device=labels.device)
        given = labels[self.docs(part)]
        same = given[:, None] == own
        return torch.where(same.any(dim=1), same.to(torch.int64).argmax(dim=1), -1)

    def scale(self, part: int, col_scale: Tensor) -> Tensor:
        """(…, W · (K + 1)): a word's own sets (see gpuclf.features.word_sets) within col_scale (…, sum of all)."""
        sizes = self.scale_sizes
        start = sum(sizes[:part])
        return col_scale[..., start : start + sizes[part]]

    def to(self, device: torch.device) -> WordRows:
        """The same rows on `device`."""
        parts = tuple(part.to(device) for part in self.parts)
        return replace(self, parts=parts, word=self.word.to(device), place=self.place.to(device))

    def joined(self, second: WordRows) -> WordRows:
        """These documents, then those of `second`; both encoded with the same encoder."""
        assert (self.names, self.classes) == (second.names, second.classes)
        parts = tuple(one.joined(other) for one, other in zip(self.parts, second.parts, strict=True))
        before = torch.tensor([part.num_docs for part in self.parts], dtype=torch.int64, device=self.word.device)
        known = second.word >= 0
        place = second.place.clone()
        place[known] += before[second.word[known]]
        word, place = torch.cat([self.word, second.word]), torch.cat([self.place, place])
        return replace(self, parts=parts, word=word, place=place)
