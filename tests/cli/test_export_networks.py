"""gpuclf export --to onnx of networks: onnxruntime's scores are the model's, for documents of any length."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from gpuclf.features.rows import TokenRows
from gpuclf.models.neural.layers import ActivationName, ConnectionName, NormName
from gpuclf.models.neural.network import Network, shape_text
from gpuclf.models.neural.predictor import NeuralPredictor
from gpuclf.models.neural.text_cnn import TextCnnShape
from gpuclf.train.labelled_file import read_labelled
from gpuclf.train.model_file import Model, load_model
from gpuclf.train.observer import SilentObserver
from gpuclf.train.stopwatch import Stopwatch
from tests.cli.drive import Gpuclf

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

WORDS = ["good", "bad", "Café", "film", "नमस्ते", "plot"]
# None shorter than no filter, all short of the widest, unknown words (0) alone, among others, and at either end.
DOCUMENTS = [[1, 2, 3, 4, 5, 6, 7, 1, 2], [], [3], [0, 0], [0, 4, 0, 5, 0], [7, 7]]


def lines(count: int, seed: int) -> str:
    """Labelled texts of 1 to 9 words, some of which go with a class, and some occur once."""
    draw = np.random.default_rng(seed)
    made = []
    for number, label in enumerate(draw.integers(0, 3, count)):
        words = [*draw.choice(WORDS, draw.integers(0, 7)), WORDS[label], f"once{seed}x{number}"]
        made.append(f"{'xyz'[label]}\t{' '.join(draw.permutation(words))}\n")
    return "".join(made)


def exported(gpuclf: Gpuclf, model: dict[str, Any], features: dict[str, Any], **more: Any) -> tuple[Path, Path]:
    """The folder with the graphs of a run, and a test file; its last documents have no known word, one, and none."""
    test = gpuclf.text("test.tsv", lines(9, 2) + "x\t¤ unheard\nx\tbad\nx\t\n")
    data = {"train": gpuclf.text("train.tsv", lines(30, 1)), "header": False, "columns": ["label", "text"]}
    train = {"max_epochs": 2, "learning_rate": 0.05, "batch": 8}
    run = gpuclf.trained(model, data=data, features={"min_df": 2, **features}, train=train, **more)
    folder = gpuclf.folder / "graphs"
    names = ["tokens.onnx"] if model["type"] == "text_cnn" else ["dense.onnx", "sparse.onnx"]
    output = gpuclf.done("export", run, "--to", "onnx", "--out", folder)
    assert output.lines == [f"wrote {folder / name}" for name in [*names, "onnx.json"]]
    return run, test


def own(run: Path, test: Path) -> tuple[Model, Any, np.ndarray]:
    """The model of a run, the encoded test file, and what the model says of it."""
    model = load_model(run, torch.device("cpu"))
    encoded = read_labelled(model, model.data, test, "test", SilentObserver(), Stopwatch())
    return model, encoded, model.scores(encoded)[0][0].numpy()


def given(graph: Path | bytes, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of a graph by name."""
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, inputs), strict=True))


def assert_close(found: np.ndarray, expected: Any) -> None:
    np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-5, atol=1e-5)


def padded(documents: list[list[int]]) -> dict[str, np.ndarray]:
    """The inputs of a text_cnn's graph; what stands behind a document's end is no word's number."""
    word = np.full((len(documents), max(map(len, documents))), 10**6, dtype=np.int64)
    for place, document in enumerate(documents):
        word[place, : len(document)] = document
    return {"word": word, "length": np.array([len(document) for document in documents], dtype=np.int64)}


def cnn(
    *,
    widths: tuple[int, ...] = (4,),
    layers: int = 1,
    dilation: int = 1,
    convolution: Any = "wide",
    pooling: Any = "max",
    hidden: tuple[int, ...] = (),
    activation: ActivationName = "relu",
    norm: NormName = "none",
    connection: ConnectionName = "none",
) -> TextCnnShape:
    k = 3 if pooling == "k_max" else 1
    return TextCnnShape(3, 4, widths, layers, dilation, convolution, pooling, k, hidden, activation, norm, connection)


SHAPES = {
    "wide": cnn(widths=(1, 2, 4), activation="sigmoid"),
    "narrow": cnn(widths=(2, 4), convolution="narrow", hidden=(5,), activation="tanh", norm="batch"),
    "deep wide": cnn(widths=(2, 3), layers=3, dilation=2, activation="sigmoid", pooling="average"),
    "deep narrow": cnn(widths=(3, 1), layers=2, convolution="narrow", pooling="average", activation="sigmoid"),
    "deep k-max": cnn(layers=2, pooling="k_max", hidden=(6, 6), norm="layer", connection="residual"),
    "narrow k-max": cnn(widths=(2, 3), convolution="narrow", dilation=3, pooling="k_max", activation="sigmoid"),
    "highway": cnn(hidden=(4, 4), activation="leaky_relu", norm="batch", connection="highway"),
    "single words": cnn(widths=(1,), convolution="narrow", pooling="k_max", activation="identity"),
}


def drawn(shape: TextCnnShape) -> NeuralPredictor:
    """A network of three classes and seven words with numbers drawn at random, the variances positive."""
    network, draw = Network(shape, 3), torch.Generator().manual_seed(5)
    table = torch.randn(1, 8, shape.embedding_dim, generator=draw)
    parameters = torch.randn(1, network.num_parameters, generator=draw)
    buffers = torch.rand(1, network.first_buffers().numel(), generator=draw) + 0.5
    return NeuralPredictor(table, parameters, buffers, shape_text(shape), 3)


def scores_of(predictor: NeuralPredictor, documents: list[list[int]]) -> Tensor:
    """(documents, K)."""
    offsets = torch.tensor([0, *map(len, documents)]).cumsum(0)
    ids = torch.tensor([word for document in documents for word in document], dtype=torch.int32)
    return predictor.scores(TokenRows(ids, offsets, 8), torch.arange(len(documents)), None, None)[0]


@pytest.mark.parametrize("shape", SHAPES)
def test_graphs_of_text_cnns_score_documents_of_different_lengths(shape: str) -> None:
    from gpuclf.report.export.onnx_text_cnn import TextCnnParts, text_cnn_model

    predictor = drawn(SHAPES[shape])
    network = Network(SHAPES[shape], 3)
    named = network.named(predictor.parameters[0], predictor.buffers[0])
    names = [f"w{number}" for number in range(7)]
    parts = TextCnnParts(("a", "b", "c"), names, predictor.table[0].numpy(), network, named, True, None)
    graph = text_cnn_model(parts).SerializeToString()
    expected = scores_of(predictor, DOCUMENTS)
    outputs = given(graph, padded(DOCUMENTS))
    assert_close(outputs["scores"], expected)
    assert_close(outputs["probabilities"], expected.softmax(dim=1))
    assert outputs["class"].tolist() == expected.argmax(dim=1).tolist()
    assert len({tuple(row) for row in np.round(outputs["scores"], 4).tolist()}) == 5  # two have no known word
    for document, scores in zip(DOCUMENTS, expected, strict=True):  # alone, without padding
        assert_close(given(graph, padded([document]))["scores"][0], scores)


def test_a_text_cnn_reads_the_words_that_its_record_numbers(gpuclf: Gpuclf) -> None:
    model = {"type": "text_cnn", "embedding_dim": 3, "filters": 4, "widths": [2, 3], "hidden": [4]}
    features = {"type": "token_ids", "max_len": 5}
    run, test = exported(gpuclf, model, features, calibrate="temperature", folds={"k": 3})
    about = json.loads((gpuclf.folder / "graphs" / "onnx.json").read_text())
    number = {word: place for place, word in enumerate(about["words"], start=1)}
    assert set(number) == {unicodedata.normalize("NFC", word.lower()) for word in WORDS}
    documents = []
    for line in test.read_text(encoding="utf-8").splitlines():
        text = unicodedata.normalize(about["unicode"], line.split("\t")[1]).lower()
        assert about["lowercase"]
        words = re.findall(about["token_pattern"], text)[: about["max_len"]]
        documents.append([number.get(word, 0) for word in words])
    loaded, encoded, expected = own(run, test)
    assert expected.shape == (12, 3)
    outputs = given(gpuclf.folder / "graphs" / "tokens.onnx", padded(documents))
    assert_close(np.log(outputs["probabilities"]), expected)
    assert outputs["class"].tolist() == expected.argmax(axis=1).tolist()
    docs = torch.arange(12)
    raw = loaded.predictor.scores(encoded.rows, docs, loaded.col_scale, None)[0]
    assert_close(outputs["scores"], raw)
    assert about["calibration"]["method"] == "temperature"
    assert about["classes"] == ["x", "y", "z"]


NETWORKS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "none": ({"hidden": []}, {"weighting": "binary"}),
    "batch": ({"hidden": [5, 4], "norm": "batch", "activation": "tanh"}, {"weighting": "tfidf", "norm": "l2"}),
    "highway": ({"hidden": [4, 4], "norm": "layer", "connection": "highway"}, {"norm": "l1"}),
    "residual": ({"hidden": [4, 4, 4], "connection": "residual", "activation": "sigmoid", "loss": "margin"}, {}),
}


@pytest.mark.parametrize("kind", NETWORKS)
def test_a_feedforward_network_takes_what_linear_models_take(gpuclf: Gpuclf, kind: str) -> None:
    options, features = NETWORKS[kind]
    run, test = exported(gpuclf, {"type": "feedforward", **options}, features)
    about = json.loads((gpuclf.folder / "graphs" / "onnx.json").read_text())
    model, encoded, expected = own(run, test)
    place = {name: number for number, name in enumerate(about["features"])}
    names, rows = model.encoder.names, encoded.rows
    row = torch.repeat_interleave(rows.crow.diff()).numpy()
    kept = np.array([names[column - 1] in place for column in rows.col.tolist()])
    feature = np.array([place[names[column - 1]] for column in rows.col[torch.from_numpy(kept)].tolist()])
    value = rows.val.numpy()[kept]
    values = np.zeros((12, len(place)), dtype=np.float32)
    values[row[kept], feature] = value
    sparse = {"row": row[kept], "feature": feature, "value": value, "documents": np.array([12])}
    assert len(place) == len(WORDS)
    for name, inputs in (("dense", {"values": values}), ("sparse", sparse)):
        outputs = given(gpuclf.folder / "graphs" / f"{name}.onnx", inputs)
        assert_close(outputs["scores"], expected)
        assert outputs["class"].tolist() == expected.argmax(axis=1).tolist()
        assert ("probabilities" in outputs) == (kind != "residual")
        if kind != "residual":
            likely = torch.from_numpy(expected).softmax(dim=1)
            assert_close(outputs["probabilities"], likely)


def test_other_targets_hold_linear_models_only(gpuclf: Gpuclf) -> None:
    run, _ = exported(gpuclf, {"type": "feedforward", "hidden": [3]}, {})
    for target in ("text", "sklearn"):
        said = gpuclf.refused("export", run, "--to", target).err
        assert "the model is not linear" in said
        assert "export --to onnx" in said
    assert not (run / "export").exists()
    said = gpuclf.refused("export", run, "--to", "onnx", "--out", gpuclf.folder / "graphs").err
    assert "dense.onnx: is there already" in said
