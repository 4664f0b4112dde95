"""Folds of reviews, and the learner that inner folds choose."""

from __future__ import annotations

import numpy as np

from benchmarks.set_folds import FOLD_SIZE, System, chosen_of, folds_of


def test_a_fold_is_the_same_hundred_of_each_class() -> None:
    labels = np.array(["neg"] * 2 * FOLD_SIZE + ["pos"] * 2 * FOLD_SIZE + ["neg"] * FOLD_SIZE + ["pos"] * FOLD_SIZE)
    fold = folds_of(labels)
    assert fold[2 * FOLD_SIZE] == 0  # a class is counted on its own, through both files
    assert [(fold[labels == name] == np.repeat([0, 1, 2], FOLD_SIZE)).all() for name in ("neg", "pos")] == [True, True]


def test_a_candidate_is_chosen_fold_by_fold_by_inner_means_and_the_first_of_equals() -> None:
    first, second = System(), System()
    for mean_of_first, mean_of_second in ((0.7, 0.8), (0.9, 0.9)):
        first.add(np.array(["a"]), "C 1", mean_of_first, 2.0)
        second.add(np.array(["b"]), "C 3", mean_of_second, 3.0)
    found = chosen_of([(first.chosen, first), (second.chosen, second)])
    assert found.chosen == ["C 3", "C 1"]
    assert [str(answers[0]) for answers in found.answers] == ["b", "a"]
    assert found.cpu == 10.0
