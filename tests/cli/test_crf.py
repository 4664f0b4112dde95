"""A conditional random field as a user meets it: train, tag new sentences, measure, show, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.drive import Gpuclf
from tests.cli.test_tagging import columns, corpus


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "train.tsv").write_text(columns(corpus()))
    (tmp_path / "test.tsv").write_text(columns(corpus(1, 10)).replace("dog", "wolf"))
    path = tmp_path / "crf.yaml"
    path.write_text(
        "data: {train: train.tsv, format: conll, columns: [token, tag], tokens: token, gold: tag}\n"
        "model: {type: crf, max_iter: 30}\n"
        "grid: {model.C: [0.1, 1.0]}\n"
        "folds: {k: 3}\n"
        "test: {file: test.tsv}\n"
        "device: cpu\n"
    )
    return path


def test_from_training_to_tags(gpuclf: Gpuclf, config: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert gpuclf("train", config, f"run.dir={run}").code == 0
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["test"]["accuracy"] > 0.9  # the wolf is known by its place and by the words beside it
    assert len(metrics["cells"]) == 2
    assert (run / "report.html").is_file()
    held_out = (run / "out_of_fold.tsv").read_text().splitlines()
    assert len(held_out) == 1 + 60 * 6
    tagged = gpuclf("predict", run, stdin=b"a wolf sees the cat .\n")
    assert tagged.out == "a/D wolf/N sees/V the/D cat/N ./P\n"
    by_column = gpuclf("predict", run, tmp_path / "test.tsv").out.splitlines()
    assert len(by_column) == 10 * 7
    as_json = json.loads(gpuclf("predict", run, "--format", "jsonl", stdin=b"a wolf .\n").out)
    assert as_json == {"tokens": ["a", "wolf", "."], "tags": ["D", "N", "P"], "known": [True, False, True]}
    measured = json.loads(gpuclf("eval", run, tmp_path / "test.tsv", "--json").out)
    assert measured["accuracy"] == metrics["test"]["accuracy"]
    shown = gpuclf("show", run)
    assert shown.code == 0
    assert "word[0]=" in shown.out


def test_what_is_refused(gpuclf: Gpuclf, config: Path, tmp_path: Path) -> None:
    text = config.read_text()
    config.write_text(text.replace(", gold: tag", ""))
    without = gpuclf("train", config, f"run.dir={tmp_path / 'run'}")
    assert without.code == 2
    assert "data.gold" in without.err
    config.write_text(text + "features: {type: word_types}\n")
    other = gpuclf("train", config, f"run.dir={tmp_path / 'run'}")
    assert other.code == 2
    assert "token_context" in other.err
    assert not (tmp_path / "run").exists()
