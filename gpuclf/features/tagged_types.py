"""What a tagger of word types works on: sentences as type numbers, and the spelling of each type as codes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from gpuclf.ops.type_gibbs import TypeContexts, TypeFeatures, contexts_of, features_of


@dataclass(frozen=True)
class TypeCorpus:
    """Sentences over numbered word types.

    ids         (tokens,) int32: the type of each token, from 0.
    offsets     (sentences+1,) int64: sentence s is ids[offsets[s]:offsets[s + 1]]; a sentence may be empty.
    type_codes  (types, templates) int32: the value of each template for each type, from 0; -1: a value that the fitted
                vocabulary does not have (types of new text only).
    num_values  by template, the values of the fitted vocabulary.
    """

    ids: Tensor
    offsets: Tensor
    type_codes: Tensor
    num_values: tuple[int, ...]

    @property
    def num_types(self) -> int:
        return self.type_codes.shape[0]

    @property
    def num_tokens(self) -> int:
        return self.ids.numel()

    @property
    def num_sentences(self) -> int:
        return self.offsets.numel() - 1

    @property
    def num_docs(self) -> int:
        """A document is a sentence."""
        return self.num_sentences

    @property
    def num_features(self) -> int:
        """Values of all templates together."""
        return sum(self.num_values)

    @cached_property
    def contexts(self) -> TypeContexts:
        """What the tokens of every type stand beside; worked out at the first use."""
        return contexts_of(self.ids, self.offsets, self.num_types)

    @cached_property
    def features(self) -> TypeFeatures:
        """The codes in the sampler's numbering; every value must be known."""
        return features_of(self.type_codes, self.num_values)

    def to(self, device: torch.device) -> TypeCorpus:
        """The same corpus on `device`."""
        return TypeCorpus(self.ids.to(device), self.offsets.to(device), self.type_codes.to(device), self.num_values)
