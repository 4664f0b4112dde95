"""The mistakes that a model was surest of, and their texts."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.features.options import ReviewContextOptions
from gpuclf.features.review_context import fit_review_context
from gpuclf.train.labelled_file import Predictions
from gpuclf.train.mistakes import Mistake, surest_mistakes, with_texts

CLASSES = ("a", "b", "c")


def _predictions(scores: list[list[float]], gold: list[int], classes: tuple[str, ...] = CLASSES) -> Predictions:
    every = torch.ones(len(gold), dtype=torch.bool)
    ids = [str(number + 1) for number in range(len(gold))]
    return Predictions(ids, classes, torch.tensor(gold), torch.tensor(scores), every, ~every)


def test_the_widest_margins_come_first_and_ties_in_file_order() -> None:
    scores = [[3.0, 1.0, 0.0], [5.0, 0.0, 1.0], [2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [9.0, 0.0, 0.0]]
    found = surest_mistakes(_predictions(scores, [1, 1, 2, 0, 0]), limit=3)
    assert [mistake.id for mistake in found] == ["2", "1", "3"]
    assert [mistake.margin for mistake in found] == [5.0, 2.0, 2.0]
    assert (found[0].gold, found[0].predicted) == ("b", "a")
    assert found[0].scores == (("a", 5.0), ("c", 1.0), ("b", 0.0))


def test_gold_is_shown_even_if_its_score_is_low() -> None:
    (found,) = surest_mistakes(_predictions([[3.0, 2.0, 1.0]], [2]), limit=5, highest=2)
    assert found.scores == (("a", 3.0), ("b", 2.0), ("c", 1.0))


def test_unknown_gold_is_measured_against_the_second_class_and_infinity_is_widest() -> None:
    scores = [[3.0, 1.0, 0.0], [0.0, -math.inf, -1.0]]
    found = surest_mistakes(_predictions(scores, [3, 1], (*CLASSES, "new")), limit=5)
    assert [(mistake.gold, mistake.margin) for mistake in found] == [("b", math.inf), ("new", 2.0)]
    assert found[1].scores == (("a", 3.0), ("b", 1.0), ("c", 0.0))


def test_no_mistakes() -> None:
    assert surest_mistakes(_predictions([[1.0, 0.0, 0.0]], [0]), limit=5) == []
    assert with_texts([], DataOptions(train=Path("/nowhere")), Path("/nowhere"), None) == []


@pytest.mark.parametrize("named", [False, True])
def test_texts_are_found_by_id(named: bool, tmp_path: Path) -> None:
    file = tmp_path / "test.tsv"
    lines = "".join(f"{'d' if named else ''}{i}\ta\ttext {i}{' long' * 50}\n" for i in range(1, 6))
    file.write_text("name\tlabel\ttext\n" + lines)
    data = DataOptions(train=file, id="name" if named else None)
    mistakes = surest_mistakes(_predictions([[0.0, float(i), 0.0] for i in range(1, 6)], [0] * 5), limit=2)
    if named:
        from dataclasses import replace

        mistakes = [replace(mistake, id=f"d{mistake.id}") for mistake in mistakes]
    found = with_texts(mistakes, data, file, None, longest=11)
    assert [mistake.text for mistake in found] == ["text 5 long …", "text 4 long …"]


def _mistake(name: str) -> Mistake:
    return Mistake(id=name, gold="a", predicted="b", margin=1.0, scores=(), known=True)


def test_a_token_is_shown_in_its_sentence(tmp_path: Path) -> None:
    file = tmp_path / "test.tsv"
    file.write_text("the\tD\ncat\tN\n\nit\tP\nsat\tV\n")
    data = DataOptions(train=file, format="conll", columns=["token", "tag"], tokens="token", gold="tag")
    found = with_texts([_mistake("2:2"), _mistake("1:1")], data, file, None)
    assert [mistake.text for mistake in found] == ["it ⟦sat⟧", "⟦the⟧ cat"]
    reviews = tmp_path / "test.jsonl"
    reviews.write_text('{"review": "x:1", "sentences": [{"text": "Good  soup, soup.", "spans": []}]}\n')
    data = DataOptions(train=reviews, format="reviews")
    encoder, _ = fit_review_context(open_reader(reviews, data).chunks(), [], ReviewContextOptions())
    (of_review,) = with_texts([_mistake("x:1:1:4")], data, reviews, None, encoder=encoder)
    assert of_review.text == "Good  soup, ⟦soup⟧."
    assert with_texts([_mistake("x:1:1:4")], data, reviews, None)[0].text is None  # nobody says what a token is


def test_formats_without_text_give_none(tmp_path: Path) -> None:
    file = tmp_path / "test.svm"
    file.write_text("1 1:1 2:1\n2 1:1\n")
    mistakes = surest_mistakes(_predictions([[0.0, 1.0, 0.0]], [0]), limit=2)
    (found,) = with_texts(mistakes, DataOptions(train=file, format="svmlight"), file, 1)
    assert found.text is None
