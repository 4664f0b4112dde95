"""The cells of a grid by ambiguous word."""

from __future__ import annotations

import io
from typing import Any

from gpuclf.report.word_cells import print_word_cells, word_cells

FOLDS = (0.5, 0.6, 0.5, 0.7)


def cell(C: float, **shift: float) -> dict[str, Any]:
    """Accuracies of the words a and b over four folds and two seeds; c has documents in two folds only."""
    runs = []
    for seed in (0, 1):
        for fold, accuracy in enumerate(FOLDS):
            words = {word: accuracy + shift.get(word, 0.0) + 0.01 * (fold % 2) * (word in shift) for word in "ab"}
            runs.append({"seed": seed, "fold": fold, "per_word": words | ({"c": 0.5} if fold < 2 else {})})
    return {"options": {"model.C": C}, "runs": runs}


def test_words_on_which_the_chosen_cell_is_better_or_worse() -> None:
    metrics = {
        "cells": [
            cell(1, a=-0.2),
            cell(2),
            cell(3, a=0.02, b=0.3),
            {"options": {"model.C": 4}, "failed": "x", "runs": []},
        ],
        "best": {"cell": 1},
        "folds": {"test_train_ratio": 5.0},
    }
    found = word_cells(metrics)
    assert found is not None
    assert found.head == ["word", "C=1", "C=2 *", "C=3"]
    assert [row[0] for row in found.rows] == ["a", "b", "c"]
    assert found.rows[0] == ["a", "0.3800", "0.5750", "0.6000"]
    assert found.rows[2] == ["c", "0.5000", "0.5000", "0.5000"]
    assert found.sums[0] == ["mean over words", "0.4850", "0.5500", "0.6600"]
    assert found.sums[1:3] == [["* better, paired t", "1", "", "0"], ["* worse, paired t", "0", "", "2"]]
    assert found.sums[3:] == [["* better, corrected", "1", "", "0"], ["* worse, corrected", "0", "", "1"]]


def test_the_best_of_many_cells_are_shown() -> None:
    metrics = {"cells": [cell(n, a=n / 100) for n in range(11)], "best": {"cell": 0}}
    found = word_cells(metrics)
    assert found is not None
    assert found.head == ["word", "C=0 *", *(f"C={n}" for n in range(4, 11))]
    print_word_cells(metrics, out := io.StringIO())
    assert "The 3 cells with the lowest means are left out." in out.getvalue()


def test_nothing_is_said_of_one_cell_or_of_no_words() -> None:
    assert word_cells({"cells": [cell(1)], "best": {"cell": 0}}) is None
    other = {"options": {}, "runs": [{"seed": 0, "fold": 0, "accuracy": 0.5}]}
    assert word_cells({"cells": [other, other], "best": {"cell": 0}}) is None
    print_word_cells({"cells": [other, other], "best": {"cell": 0}}, out := io.StringIO())
    assert not out.getvalue()
