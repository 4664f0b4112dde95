"""o02: the class NA and the texts null and n/a disappear as missing values."""

from __future__ import annotations

from pathlib import Path

from tests.cli.drive import Gpuclf, about_model, metrics_of, table_of, vocabulary


def test_na_is_a_class_like_any_other(gpuclf: Gpuclf, case: Path) -> None:
    file = case / "train.csv"
    run, output = gpuclf.train(
        gpuclf.config("naive_bayes", data={"train": file, "label": "region"}, test={"file": file})
    )
    assert "8 records in 9 lines" in output.err
    assert "4 classes: EU 2, NA 3, SA 2, null 1" in output.err
    per_class = metrics_of(run)["test"]["per_class"]
    assert {name: row["support"] for name, row in per_class.items()} == {"EU": 2, "NA": 3, "SA": 2, "null": 1}
    assert about_model(run)["classes"] == ["EU", "NA", "SA", "null"]


def test_the_text_null_is_one_token(gpuclf: Gpuclf, case: Path) -> None:
    file = case / "train.csv"
    run = gpuclf.trained("naive_bayes", data={"train": file, "label": "region"}, test={"file": file})
    assert "null" in vocabulary(run)
    assert metrics_of(run)["test"]["no_known_feature"] == 0
    assert len(table_of(run / "predictions.tsv")) == 9


def test_only_an_empty_cell_is_missing_unless_more_is_listed(gpuclf: Gpuclf, case: Path) -> None:
    file = gpuclf.text("gap.csv", "region,text\nNA,austin\nEU,oslo\n,lima\n")
    config = gpuclf.config("naive_bayes", data={"train": file, "label": "region"})
    assert f"{file}:4: " in gpuclf.not_trained(config).err
    listed = {"train": case / "train.csv", "label": "region", "missing": ["", "NA"]}
    assert "3 doubtful records" in gpuclf.not_trained(gpuclf.config("naive_bayes", data=listed)).err
