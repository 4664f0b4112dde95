"""o14: smoothing 0 gives nan posteriors and the wrong class."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.drive import Gpuclf, about_model, strict_json, table_of


def test_smoothing_zero_is_exact(gpuclf: Gpuclf, case: Path) -> None:
    run = gpuclf.trained({"type": "naive_bayes", "alpha": 0}, data={"train": case / "train.txt"})
    assert about_model(run)["model"]["alpha"] == 0
    warm, cold, mild, both = gpuclf.done(
        "predict", run, case / "test.txt", "--input-format", "lines", "--proba", "--format", "jsonl"
    ).records
    assert warm["probabilities"] == {"a": 1.0, "b": 0.0}
    assert cold["probabilities"] == {"a": 0.0, "b": 1.0}
    assert mild["probabilities"] == pytest.approx({"a": 4 / 7, "b": 3 / 7})
    assert both["probabilities"] == pytest.approx({"a": 2 / 3, "b": 1 / 3})
    assert both["remark"] == "every_class_impossible"
    assert "remark" not in mild


@pytest.mark.parametrize("variant", ["bernoulli", "complement"])
def test_the_other_variants_give_numbers_or_a_reason(gpuclf: Gpuclf, case: Path, variant: str) -> None:
    config = gpuclf.config({"type": "naive_bayes", "variant": variant, "alpha": 0}, data={"train": case / "train.txt"})
    run = gpuclf.folder / "run"
    output = gpuclf("train", config, f"run.dir={run}")
    if output.code == 0:
        lines = gpuclf.done("predict", run, case / "test.txt", "--input-format", "lines", "--format", "jsonl").lines
        records = [strict_json(line) for line in lines]
        sure = [record for record in records[:2] if "remark" not in record]
        assert sure, "a text whose words stand in one class only"
        assert all(record["label"] == label for record, label in zip(records, "ab", strict=False) if record in sure)
        assert "nan" not in "".join(lines)
    else:
        assert output.code == 2
        assert "model.alpha" in output.err
        assert not run.exists()


def test_the_figures_of_a_test_file_stay_numbers(gpuclf: Gpuclf, case: Path) -> None:
    test = gpuclf.text("test.txt", "__label__b warm\n__label__a warm cold\n__label__b mild\n")
    run = gpuclf.trained({"type": "naive_bayes", "alpha": 0}, data={"train": case / "train.txt"}, test={"file": test})
    assert "nan" not in (run / "metrics.json").read_text(encoding="utf-8")
    rows = table_of(run / "predictions.tsv")
    assert rows[1][:3] == ["1", "b", "a"]
    assert rows[1][4] == "-inf"
