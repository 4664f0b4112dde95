"""The table of ambiguous words: sorted, cut where there are very many, and which graphs are drawn."""

from __future__ import annotations

import io
from typing import Any

from gpuclf.report.graph_facts import GraphFacts, WordFacts
from gpuclf.report.word_pictures import drawn_note, drawn_words, word_texts
from gpuclf.report.word_table import print_words, unknown_note, word_table


def figures(accuracies: dict[str, float | None], documents: int = 3) -> dict[str, Any]:
    training = {"training_documents": 4, "classes": 2, "majority": 0.5, "entropy": 1.0}
    return {"per_word": {word: {"documents": documents, "accuracy": a, **training} for word, a in accuracies.items()}}


def facts(edges: list[tuple[int, int]]) -> WordFacts:
    return WordFacts(GraphFacts(["class", "pos"], edges, "none", 1), {"x|1": 0.75, "y": 0.25}, 4)


def test_words_by_name_and_their_means() -> None:
    held, test = figures({"b": 0.5, "a": 1.0}, documents=4), figures({"b": None, "a": 0.25})
    table = word_table({"held-out": held, "test": test})
    assert table is not None
    training, judged = ["in training", "senses", "majority", "entropy"], ["test documents", "test accuracy"]
    assert table.head == ["word", *training, "held-out accuracy", *judged], "folds hold out what is in training"
    assert table.rows[0] == ["a", "4", "2", "0.5000", "1.0000", "1.0000", "3", "0.2500"]
    assert table.rows[1][-2:] == ["3", ""]
    assert table.means == ["mean over words", "4.0", "2.0", "0.5000", "1.0000", "0.7500", "3.0", "0.2500"]
    assert word_table({"test": {"accuracy": 0.5}}) is None


def test_of_very_many_words_those_with_the_lowest_accuracy_are_printed() -> None:
    out = io.StringIO()
    print_words({"": figures({f"w{n:02}": n / 100 for n in range(70)})}, out)
    lines = out.getvalue().splitlines()
    assert [line.split()[0] for line in lines[1:16]] == [f"w{n:02}" for n in range(15)]
    assert lines[17] == "(15 words with the lowest accuracy, 55 others left out)"
    print_words({"": {"accuracy": 0.5}}, out := io.StringIO())
    assert not out.getvalue()


def test_words_that_training_did_not_have_are_told() -> None:
    found = unknown_note({"held-out": {}, "test": {"unknown_words": {"documents": 2, "accuracy": 0.5}}})
    assert found is not None
    assert found.startswith("documents of words that training did not have: test 2 (accuracy 0.5000)")
    assert unknown_note({"test": {}}) is None


def test_a_dozen_words_are_drawn_and_the_others_named() -> None:
    words = {f"w{n:02}": facts([(0, 1)] if n else []) for n in range(15)}
    assert drawn_words(words) == [f"w{n:02}" for n in range(1, 13)]
    said = drawn_note(words)
    assert "12 of 15" in said
    assert "beyond the first 12: w13, w14." in said
    assert "nothing is to be drawn: w00." in said
    texts = word_texts(words, {"test": figures({"w|": 0.5})})
    assert "    4 documents of 2 senses: x|1 75.0%, y 25.0%\n      = P(class, pos)" in texts["factorisation"]
    assert "| w\\| | 4 |" in texts["words"]
    assert word_texts({}, {}) == {}
