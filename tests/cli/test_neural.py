"""Networks through the commands: TensorBoard's histograms and projector, word vectors, resume, predict, eval, show."""

from __future__ import annotations

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tests.cli.drive import Gpuclf, about_model

TEXTS = "__label__pos a really good film\n__label__neg a really bad film\n__label__pos good\n__label__neg bad\n" * 4


@pytest.fixture
def data(gpuclf: Gpuclf) -> Path:
    return gpuclf.text("train.txt", TEXTS)


def test_a_cnn_with_word_vectors_leaves_histograms_and_a_projector(gpuclf: Gpuclf, data: Path) -> None:
    vectors = gpuclf.text("vectors.txt", "2 3\ngood 1 2 3\nunheard 4 5 6\n")
    model = {"type": "text_cnn", "embedding_dim": 3, "filters": 4, "widths": [2], "embeddings": "frozen"}
    config = gpuclf.config(
        model,
        data={"train": data},
        features={"type": "token_ids", "vectors": str(vectors)},
        train={"max_epochs": 3, "batch": 4},
        test={"file": str(data)},
        run={"tensorboard": True},
    )
    run, output = gpuclf.train(config)
    assert "1 of 5 words (20.0 %) have one" in output.err
    assert (run / "projector_words.tsv").read_text().split() == ["a", "bad", "film", "good", "really"]
    assert (run / "projector_vectors.tsv").read_text().split("\n")[3] == "1\t2\t3"
    assert "vectors" not in about_model(run)["features"]
    board = EventAccumulator(str(run), {"histograms": 0}).Reload()
    tags = set(board.Tags()["histograms"])
    assert {"weights/first_layer", "weights/branches.0.0.weight", "activations/layer_0"} <= tags
    nodes = {node.name: node for node in board.Graph().node}
    assert {name for node in nodes.values() for name in node.input} == nodes.keys() - {"scores"}
    assert nodes["branches/0/0"].attr["weight"].s.decode() == "2 × 3 × 4"
    assert nodes["branches/0/pooling"].op == "Pooling_max"
    scalars = set(board.Tags()["scalars"])
    assert {"refit/loss", "refit/learning_rate", "refit/gradient_norm", "refit/dead_units"} <= scalars
    assert gpuclf.done("predict", run, data, "--proba", "--input-format", "fasttext").lines
    assert "text_cnn" in (run / "report.html").read_text()
    assert gpuclf.done("show", run).out
    assert "export --to onnx" in gpuclf.refused("export", run, "--to", "text").err


def test_the_graph_of_a_network_shows_its_connections(gpuclf: Gpuclf, data: Path) -> None:
    model = {"type": "feedforward", "hidden": [4, 4], "connection": "highway", "norm": "layer", "dropout": 0.5}
    config = gpuclf.config(model, data={"train": data}, train={"max_epochs": 1, "batch": 4}, run={"tensorboard": True})
    run, _ = gpuclf.train(config)
    nodes = {node.name: list(node.input) for node in EventAccumulator(str(run)).Reload().Graph().node}
    first, second = "head/hidden/0", "head/hidden/1"
    assert nodes[f"{first}/linear"] == ["first_layer"]
    assert nodes[f"{second}/mix"] == [f"{first}/dropout", f"{second}/activation", f"{second}/gate"]
    assert nodes["head/output"] == [f"{second}/dropout"]


def test_vectors_of_another_length_are_refused(gpuclf: Gpuclf, data: Path) -> None:
    vectors = gpuclf.text("vectors.txt", "good 1 2 3\n")
    features = {"type": "token_ids", "vectors": str(vectors)}
    config = gpuclf.config({"type": "text_cnn", "embedding_dim": 4}, data={"train": data}, features=features)
    assert "set model.embedding_dim: 3" in gpuclf.not_trained(config).err


@pytest.mark.parametrize(
    ("model", "features", "said"),
    [
        ("text_cnn", "bag_of_words", "reads sequences of words"),
        ("feedforward", "token_ids", "gives sequences of words"),
    ],
)
def test_features_that_do_not_fit_are_refused(gpuclf: Gpuclf, data: Path, model: str, features: str, said: str) -> None:
    config = gpuclf.config(model, data={"train": data}, features={"type": features})
    assert said in gpuclf.not_trained(config).err


@pytest.mark.parametrize("schedule", ["constant", "one_cycle"])
def test_a_network_stopped_early_in_folds_is_trained_on_all_rows(gpuclf: Gpuclf, data: Path, schedule: str) -> None:
    config = gpuclf.config(
        {"type": "feedforward", "hidden": [2]},
        data={"train": data},
        train={"max_epochs": 3, "batch": 4, "schedule": schedule, "early_stopping": {"patience": 1}},
        folds={"k": 2},
    )
    run, output = gpuclf.train(config)
    assert "refit" in output.err
    assert 1 <= about_model(run)["training"]["steps"] <= 3
