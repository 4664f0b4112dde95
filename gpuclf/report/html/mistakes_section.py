"""The mistakes that the model was surest of, with their texts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpuclf.report.html.markup import Markup, joined, name_text, tag
from gpuclf.train.mistakes import Mistake


def mistakes_section(mistakes: Sequence[Mistake], wrong: int, probabilities: bool) -> Markup:
    """`wrong`: mistakes in all. Scores are log probabilities where the learner gives them, and are shown as such."""
    if not mistakes:
        said = "There are no mistakes." if wrong == 0 else "Nothing was judged."
        return tag("p", said, class_="note")
    how = "probability" if probabilities else "score"
    which = f"All {wrong:,} mistakes" if len(mistakes) == wrong else f"{len(mistakes)} of {wrong:,} mistakes"
    note = f"{which}, first those whose predicted class is furthest above the gold one in {how}."
    if all(mistake.text is None for mistake in mistakes):
        note += " The data holds features, not texts: documents are named by their ids."
    return joined(tag("p", note, class_="note"), *(_mistake(mistake, probabilities) for mistake in mistakes))


def _mistake(mistake: Mistake, probabilities: bool) -> Markup:
    scores = [
        tag(
            "li",
            tag("bdi", name_text(name), class_=_kind(name, mistake)),
            " " + _score(value, probabilities),
        )
        for name, value in mistake.scores
    ]
    unseen = None if mistake.known else tag("span", "no feature is known to the model", class_="remark")
    line = tag(
        "p",
        tag("code", name_text(mistake.id, 60), title="id of the document"),
        " gold ",
        tag("bdi", name_text(mistake.gold), class_="gold"),
        " predicted ",
        tag("bdi", name_text(mistake.predicted), class_="given"),
        " ",
        unseen,
    )
    text = None if mistake.text is None else tag("blockquote", mistake.text or "(empty)", dir="auto")
    return tag("article", line, text, tag("ul", *scores, class_="scores"), class_="mistake")


def _kind(name: str, mistake: Mistake) -> str | None:
    return "gold" if name == mistake.gold else "given" if name == mistake.predicted else None


def _score(value: float, probabilities: bool) -> str:
    if not probabilities:
        return "−∞" if value == -math.inf else f"{value:.4g}"
    share = math.exp(value)
    return f"{share:.1%}" if share >= 0.0005 or share == 0 else f"{share:.1e}"
