"""o06: the same accented word typed on two systems is two features."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import torch

from gpuclf.features.options import WordTypesOptions
from gpuclf.features.word_types import fit_word_types
from tests.cli.drive import Gpuclf, about_model, vocabulary
from tests.data.reading import read


def test_both_normal_forms_are_answered_alike(gpuclf: Gpuclf, case: Path, learner: dict[str, Any]) -> None:
    run = gpuclf.trained(learner, data={"train": case / "train.txt"})
    said = [
        gpuclf.done("predict", run, case / name, "--input-format", "lines", "--format", "jsonl").records
        for name in ("nfc.txt", "nfd.txt")
    ]
    assert said[0] == said[1]
    assert [record["label"] for record in said[0]] == ["fr", "vi"]
    assert all(record["known"] for record in said[0])


def test_the_model_says_which_form_it_uses(gpuclf: Gpuclf, case: Path) -> None:
    run = gpuclf.trained("naive_bayes", data={"train": case / "train.txt"})
    assert about_model(run)["features"]["normalize"] == "NFC"
    assert not any(unicodedata.combining(name[0]) for name in vocabulary(run))


def test_both_normal_forms_are_the_same_word_types(case: Path) -> None:
    options = WordTypesOptions()
    texts = [read(case / name, format="sentences", labelled=False) for name in ("nfc.txt", "nfd.txt")]
    assert texts[0].sentences != texts[1].sentences, "the files differ in form"
    fitted = [fit_word_types(text.chunks, options)[0] for text in texts]
    assert fitted[0].to_json() == fitted[1].to_json()
    said = [fitted[0].encode(text.chunks) for text in texts]
    assert torch.equal(said[0].corpus.ids, said[1].corpus.ids)
    assert not said[1].new_types
    assert not any(unicodedata.combining(name[0]) for name in fitted[0].names)
    assert options.normalize == "NFC"
