"""Classes of words from a file, and as features of tokens of reviews."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.data.word_classes import read_word_classes
from gpuclf.faults import UserFault
from gpuclf.features.options import ReviewContextOptions
from gpuclf.features.review_context import ReviewContext, fit_review_context
from gpuclf.features.rows import ReviewRows
from tests.data.reading import write


def test_a_taggers_table_and_a_plain_one(tmp_path: Path) -> None:
    table = "type\ttag\tcount\tmargin\nthe\tT1\t9\t3.5\na\\\\b\tT2\t1\tinf\n"
    assert read_word_classes(write(tmp_path / "tags.tsv", table), "k") == {"the": "T1", "a\\b": "T2"}
    assert read_word_classes(write(tmp_path / "p.tsv", "a b\tX\n\na b\tX\n"), "k") == {"a b": "X"}


@pytest.mark.parametrize(
    ("content", "said", "line"),
    [
        ("a\tX\nb\n", "'b' is no word with its class", 2),
        ("a\tX\n\tY\n", "is no word with its class", 2),
        ("a\tX\na\tY\n", "'a' is of the class 'Y' here, and of 'X' before", 2),
        ("type\ttag\n", "holds no word", None),
    ],
)
def test_what_is_refused(tmp_path: Path, content: str, said: str, line: int | None) -> None:
    with pytest.raises(UserFault) as caught:
        read_word_classes(write(tmp_path / "c.tsv", content), "features.word_classes")
    assert said in caught.value.message
    assert caught.value.line == line
    assert caught.value.key == "features.word_classes"


def test_classes_are_features_and_stay_with_the_model(tmp_path: Path) -> None:
    classes = write(tmp_path / "c.tsv", "soup\tN\nhot\tA\n")
    record = {"sentences": [{"text": "Hot soup here", "spans": []}]}
    reviews = write(tmp_path / "r.jsonl", json.dumps(record) + "\n")
    options = ReviewContextOptions(word_classes=classes, input_window=1, input_pairs=False)

    def named(encoder: ReviewContext) -> list[set[str]]:
        rows = encoder.encode(open_reader(reviews, DataOptions(train=reviews, format="reviews")).chunks()).rows
        assert isinstance(rows, ReviewRows)
        crow, col = rows.crow.tolist(), rows.col.tolist()
        found = [[encoder.names[c - 1] for c in col[crow[t] : crow[t + 1]]] for t in range(rows.num_docs)]
        return [{name for name in names if name.startswith("class[")} for names in found]

    encoder, _ = fit_review_context(
        open_reader(reviews, DataOptions(train=reviews, format="reviews")).chunks(), [], options
    )
    expected = [
        {"class[-1]=<before>", "class[0]=A", "class[+1]=N"},
        {"class[-1]=A", "class[0]=N", "class[+1]=<unknown>"},
        {"class[-1]=N", "class[0]=<unknown>", "class[+1]=<after>"},
    ]
    assert named(encoder) == expected
    classes.unlink()
    data = json.loads(json.dumps(encoder.to_json()))
    again = ReviewContext.from_json(data, options.model_copy(update={"word_classes": None}))
    assert named(again) == expected
