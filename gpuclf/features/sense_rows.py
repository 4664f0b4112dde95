"""Contexts of an ambiguous word as rows: inputs that are the same for all training sets, and the words around it.

Which words speak for a class is learnt from a training set (gpuclf.features.word_sets), so the codes that a learner
sees differ between views, and between a document as a training row and the same one as a held-out row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

BINARY = 3  # codes of a word input: 0 never occurs, 1 absent, 2 present


@dataclass(frozen=True)
class SenseRows:
    """codes (docs, P) int32: the inputs that no training set changes (parts of speech), 0 = unseen; num_values of each.

    crow (docs+1,) int64, word (nnz,) int32: the distinct words of each context, rising, below num_words. per_class:
    whether each class has an input that says if any word of its set occurs. A word belongs to class S where
    P(S | word) > threshold among the training documents that hold it, at least min_count of them; leave_one_out: not
    counting the document itself. top_words: so many frequent words are inputs of their own. names (P,): of the inputs
    that no training set changes.
    """

    codes: Tensor
    num_values: tuple[int, ...]
    crow: Tensor
    word: Tensor
    num_words: int
    per_class: bool = True
    threshold: float = 0.5
    leave_one_out: bool = True
    min_count: int = 1
    top_words: int = 0
    names: tuple[str, ...] = ()

    @property
    def num_docs(self) -> int:
        return self.codes.shape[0]

    def input_place(self, name: str, classes: Sequence[str]) -> int | None:
        """The place, from 0, of the input that is called `name` (see gpuclf.features.word_sense.input_names); None for
        a name that no input has in every training set."""
        of_classes = [f"words:{name}" for name in classes] if self.per_class and self.num_words else []
        known = [*self.names, *of_classes]
        return known.index(name) if name in known else None

    @property
    def num_features(self) -> int:
        """The values of all inputs that are known without the classes."""
        return sum(self.num_values) + BINARY * self.top_words

    @property
    def doc(self) -> Tensor:
        """(nnz,) int64: the document of each word."""
        return torch.repeat_interleave(torch.arange(self.num_docs, device=self.word.device), self.crow.diff())

    def to(self, device: torch.device) -> SenseRows:
        """The same rows on `device`."""
        return replace(self, codes=self.codes.to(device), crow=self.crow.to(device), word=self.word.to(device))

    def joined(self, second: SenseRows) -> SenseRows:
        """These documents, then those of `second`; both encoded with the same encoder."""
        crow = torch.cat([self.crow, second.crow[1:] + self.crow[-1]])
        codes, word = torch.cat([self.codes, second.codes]), torch.cat([self.word, second.word])
        return replace(self, codes=codes, crow=crow, word=word)
