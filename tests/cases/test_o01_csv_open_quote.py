"""o01: an opening quote mark that is never closed swallows rows."""

from __future__ import annotations

from pathlib import Path

from tests.cli.drive import Gpuclf, table_of, vocabulary

LABELS = ["fine", "junk", "fine", "junk", "fine", "fine", "fine"]


def test_by_default_the_file_is_refused_at_the_line_where_the_quote_opens(gpuclf: Gpuclf, case: Path) -> None:
    said = gpuclf.not_trained(gpuclf.config("naive_bayes", data={"train": case / "train.csv"})).err
    assert f"{case / 'train.csv'}:3: " in said
    assert "quote" in said
    assert "data.quoting" in said


def test_without_quoting_every_row_is_a_document(gpuclf: Gpuclf, case: Path) -> None:
    file = case / "train.csv"
    config = gpuclf.config(
        "naive_bayes",
        data={"train": file, "quoting": False},
        features={"type": "bag_of_words", "token_pattern": r"\S+"},
        test={"file": file},
    )
    run, output = gpuclf.train(config)
    assert f"read {file}: 7 records in 8 lines" in output.err
    assert [row[1] for row in table_of(run / "predictions.tsv")[1:]] == LABELS
    assert {'"claim', '24"', '17"'} <= set(vocabulary(run))
