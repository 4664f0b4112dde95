"""The content words of the sentences of reviews: what a model of topics sees of a text. No strings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True)
class ReviewWords:
    """Review r has the sentences starts[r] to starts[r + 1]; sentence s the words word[crow[s]:crow[s + 1]], rising.

    starts (reviews+1,), crow (sentences+1,) int64; word (nnz,) int32 below num_words; count (nnz,) float32: how often
    each stands in the sentence. A sentence may have no content word, a review no sentence. Words are those of all
    reviews read, whatever a training set holds: `known_words` says which ones a view may use.
    """

    starts: Tensor
    crow: Tensor
    word: Tensor
    count: Tensor
    num_words: int

    @property
    def num_reviews(self) -> int:
        return self.starts.numel() - 1

    @property
    def num_sentences(self) -> int:
        return self.crow.numel() - 1

    def to(self, device: torch.device) -> ReviewWords:
        return self._mapped(lambda tensor: tensor.to(device))

    def joined(self, other: ReviewWords) -> ReviewWords:
        """These reviews, then the others; both of the same vocabulary."""
        assert self.num_words == other.num_words, "the words are those of one vocabulary"
        return replace(
            self,
            starts=torch.cat([self.starts, other.starts[1:] + self.starts[-1]]),
            crow=torch.cat([self.crow, other.crow[1:] + self.crow[-1]]),
            word=torch.cat([self.word, other.word]),
            count=torch.cat([self.count, other.count]),
        )

    def documents(self, mask: Tensor) -> Tensor:
        """(num_words,) int64: in how many of the reviews that mask (reviews,) names each word stands."""
        lengths, sizes = self.starts.diff(), self.crow.diff()
        review = torch.repeat_interleave(torch.repeat_interleave(lengths), sizes)  # of each entry
        chosen = mask.to(self.word.device)[review]
        pairs = torch.unique(review[chosen] * self.num_words + self.word[chosen].long())
        return torch.bincount(pairs % max(self.num_words, 1), minlength=self.num_words)

    def _mapped(self, change: Callable[[Tensor], Tensor]) -> ReviewWords:
        return replace(
            self,
            starts=change(self.starts),
            crow=change(self.crow),
            word=change(self.word),
            count=change(self.count),
        )
