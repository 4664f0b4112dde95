"""What a summary is made of: snippets of reviews, each about one aspect of one business."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Snippet:
    """A clause or sentence that says something about an aspect of a business.

    review: the id of the review it is from, None where that is not known (each such snippet counts as a review). place:
    where the words that are about the aspect stand in `text` (start, end in characters), None for a snippet as a whole.
    sentence: the whole sentence around it, "" where that is not known. polarity: 1, 0 or -1 where the file says so.
    """

    business: str
    aspect: str
    text: str
    review: str | None = None
    place: tuple[int, int] | None = None
    sentence: str = ""
    polarity: int | None = None
