"""A conditional random field as a user meets it: train, tag new sentences, measure, show, and what is refused."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from gpuclf.data.records import Chunk, Sentences
from gpuclf.features.rows import SequenceRows
from gpuclf.train.model_file import load_model
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
    assert "Weights of transitions" in shown.out
    page = (run / "report.html").read_text()
    assert 'id="transitions"' in page
    assert "D → N: " in page


@pytest.mark.parametrize("decode", ["marginal", "viterbi"])
def test_exported_weights_give_the_probabilities_of_predict(
    gpuclf: Gpuclf, config: Path, tmp_path: Path, decode: str
) -> None:
    run = tmp_path / "run"
    config.write_text(config.read_text().replace("max_iter: 30", f"max_iter: 30, decode: {decode}"))
    gpuclf.done("train", config, f"run.dir={run}", "~folds", "~grid")
    gpuclf.done("export", run, "--to", "text")
    gpuclf.done("export", run, "--to", "arrays")
    told = gpuclf.done("predict", run, "--proba", "--format", "jsonl", stdin=b"a wolf sees this cat\n").out
    words, found = ["a", "wolf", "sees", "this", "cat"], json.loads(told)
    weights, transitions = _lines(run / "export/weights.tsv"), _lines(run / "export/transitions.tsv")
    model = load_model(run, torch.device("cpu"))
    labels = list(model.classes)
    moves = {(before, after): float(weight) for before, after, weight in transitions}
    offset = {label: float(weight) for _, label, weight in weights[: len(labels)]}
    by_feature = {(feature, label): float(weight) for feature, label, weight in weights[len(labels) :]}
    rows = model.encoder.encode([chunk(words)]).rows
    assert isinstance(rows, SequenceRows)
    names = [[model.encoder.names[c - 1] for c in rows.col[a:b]] for a, b in itertools.pairwise(rows.crow)]
    shares = dict.fromkeys(itertools.product(labels, repeat=len(words)), 0.0)
    for sequence in shares:
        score = sum(moves[pair] for pair in itertools.pairwise(sequence))
        for label, own in zip(sequence, names, strict=True):
            score += offset[label] + sum(by_feature.get((feature, label), 0.0) for feature in own)
        shares[sequence] = math.exp(score)
    total = sum(shares.values())
    for place in range(len(words)):
        for label in labels:
            own = sum(share for sequence, share in shares.items() if sequence[place] == label) / total
            assert found["probabilities"][place][label] == pytest.approx(own, rel=1e-4, abs=1e-7)
    arrays = np.load(run / "export/chain.npz")
    assert arrays["transition_"].tolist() == [
        [pytest.approx(moves[before, after], rel=1e-6) for after in labels] for before in labels
    ]
    column = arrays["features_"].tolist().index("word[0]=cat")
    for label, weight in zip(labels, arrays["coef_"][:, column].tolist(), strict=True):
        assert weight == pytest.approx(by_feature.get(("word[0]=cat", label), 0.0), rel=1e-6)
    lines = gpuclf.done("predict", run, "--proba", stdin=b"a wolf\n").out.splitlines()
    assert lines[2] == ""
    assert lines[1].split("\t")[:2] == ["wolf", "N"]
    assert [field.split("=")[0] for field in lines[1].split("\t")[2:]] == labels


def _lines(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in path.read_text().splitlines()[1:]]


def chunk(words: list[str]) -> Chunk:
    return Chunk(["1"], [1], None, sentences=Sentences(np.array([0, len(words)]), words))


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


def test_chunks_learnt_from_words_and_tags(gpuclf: Gpuclf, tmp_path: Path) -> None:
    """A column of tags decides where chunks are: folds choose by their F1, which eval recounts."""
    begins = {"D": "B-NP", "N": "I-NP", "V": "B-VP", "P": "O"}

    def lines(text: list[list[tuple[str, str]]]) -> str:
        return "\n".join("".join(f"x{word} {tag} {begins[tag]}\n" for word, tag in sentence) for sentence in text)

    (tmp_path / "train.conll").write_text(lines(corpus()))
    (tmp_path / "test.conll").write_text(lines(corpus(1, 10)).replace("I-NP", "B-NP", 2).replace("xdog", "xwolf"))
    config = tmp_path / "chunks.yaml"
    config.write_text(
        "data: {train: train.conll, columns: [word, tag, chunk], tokens: word, gold: chunk, inputs: [tag]}\n"
        "features: {type: token_context, window: 0, input_window: 1}\n"
        "model: {type: crf}\n"
        "grid: {model.C: [0.001, 1.0]}\n"
        "folds: {k: 2}\n"
        "select: {metric: chunk_f1}\n"
        "test: {file: test.conll}\n"
        "device: cpu\n"
    )
    run = tmp_path / "run"
    printed = gpuclf.done("train", config, f"run.dir={run}").out
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["best"]["metric"] == "chunk_f1"
    assert metrics["best"]["value"] == metrics["cells"][1]["mean"]["chunk_f1"] == 1.0
    assert metrics["out_of_fold"]["chunk_f1"] == 1.0
    # 30 chunks predicted; two of gold's 32 are halves of one that is predicted whole, twice
    test = metrics["test"]
    assert (test["per_chunk"]["VP"]["support"], test["per_chunk"]["NP"]["support"]) == (10, 22)
    assert test["chunk_precision"] == pytest.approx(28 / 30)
    assert test["chunk_recall"] == pytest.approx(28 / 32)
    assert "chunk_f1 0.90" in printed
    assert json.loads(gpuclf.done("eval", run, tmp_path / "test.conll", "--json").out)["chunk_f1"] == test["chunk_f1"]
    (tmp_path / "new.conll").write_text("xa D\nxbat N\n")
    assert gpuclf.done("predict", run, tmp_path / "new.conll").out == "xa\tB-NP\nxbat\tI-NP\n\n"
    raw = gpuclf("predict", run, stdin=b"xa xbat\n")
    assert (raw.code, "'tag'" in raw.err) == (2, True)


def test_chunks_where_there_are_none(gpuclf: Gpuclf, config: Path, tmp_path: Path) -> None:
    refused = gpuclf("train", config, f"run.dir={tmp_path / 'run'}", "+select.metric=chunk_f1")
    assert refused.code == 2
    assert "no tags of chunks" in refused.err
