"""The topics of a content model as the report takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class TopicFacts:
    """Of each topic its most typical words, apart by blanks; moves (T+1, T+1): probabilities from a topic, in the last
    row from a review's start, to a topic, in the last column to its end."""

    words: Sequence[str]
    moves: Tensor

    @property
    def names(self) -> tuple[list[str], list[str]]:
        """Those of the rows and of the columns of moves."""
        topics = [f"topic {number}" for number in range(len(self.words))]
        return [*topics, "start"], [*topics, "end"]
