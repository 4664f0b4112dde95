"""o33: a misspelt or misplaced key is ignored and the default is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.drive import Gpuclf, Output

BAD = {
    "misspelt": ("data: {train: TRAIN}\nmodel:\n  type: mira\n  updaet_on: error\n", 4, "model.updaet_on", "update_on"),
    "hyphen": (
        "data: {train: TRAIN}\nmodel: {type: mira}\ntrain:\n  max-epochs: 3\n",
        4,
        "train.max-epochs",
        "max_epochs",
    ),
    "too high": ("data: {train: TRAIN}\nmodel: {type: mira}\nmax_epochs: 3\n", 3, "max_epochs", "train.max_epochs"),
    "section": ("data: {train: TRAIN}\nmodel: {type: mira}\ntraining: {max_epochs: 3}\n", 3, "training", "train"),
    "capital": ("data: {train: TRAIN}\nModel: {type: mira}\n", 2, "Model", "model"),
    "other model": ("data: {train: TRAIN}\nmodel:\n  type: naive_bayes\n  C: 0.1\n", 4, "model.C", "naive_bayes"),
    "other format": ("data:\n  train: TRAIN\n  quoting: false\nmodel: {type: mira}\n", 3, "data.quoting", "csv"),
    "idle": (
        "data: {train: TRAIN}\nmodel: {type: naive_bayes}\ntrain:\n  max_epochs: 9\n",
        4,
        "train.max_epochs",
        "naive_bayes",
    ),
}


def refuse(gpuclf: Gpuclf, case: Path, text: str) -> tuple[Path, Output]:
    config = gpuclf.text("run.yaml", text.replace("TRAIN", str(case / "train.txt")))
    output = gpuclf.refused("train", config)
    assert "read " not in output.err.replace("already ", ""), "no data were read"
    assert not (gpuclf.folder / "runs").exists()
    checked = gpuclf.refused("check", config)
    assert checked.err == output.err
    return config, output


@pytest.mark.parametrize(("text", "line", "key", "hint"), BAD.values(), ids=BAD)
def test_the_key_its_place_and_the_nearest_name(
    gpuclf: Gpuclf, case: Path, text: str, line: int, key: str, hint: str
) -> None:
    config, output = refuse(gpuclf, case, text)
    (error,) = [error for error in output.errors if f": {key}: " in error]
    place, _, rest = error.partition(f": {key}: ")
    assert place == f"error: {config}:{line}"
    assert hint in rest


def test_broken_yaml_has_line_and_column(gpuclf: Gpuclf, case: Path) -> None:
    config, output = refuse(gpuclf, case, "Model: naive_bayes\ndata : {train: TRAIN}\ntest: [\n")
    assert len(output.errors) == 1
    assert f"{config}:" in output.errors[0]
    assert "column" in output.errors[0]


def test_all_faults_come_at_once_in_the_order_of_the_file(gpuclf: Gpuclf, case: Path) -> None:
    text = (
        "sed: 1\ndata: {train: TRAIN, encodign: utf-8}\nmodel: {type: mira, C: -1}\n"
        "train: {max_epochs: many}\nfolds: {k: 1}\ngrid: {model.c: [1]}\n"
    )
    config, output = refuse(gpuclf, case, text)
    assert [error.split(": ")[1] for error in output.errors] == [f"{config}:{line}" for line in range(1, 7)]
