"""gpuclf export: each target's files, rebuilt into scores by hand, give the run's decisions on its test file."""

from __future__ import annotations

import json
import sys
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from gpuclf.report.predictions import escape, read_predictions, unescape
from gpuclf.train.labelled_file import read_labelled
from gpuclf.train.model_file import load_model
from gpuclf.train.observer import SilentObserver
from gpuclf.train.stopwatch import Stopwatch
from tests.cli.drive import Gpuclf

WORDS = ["good", "bad", "café", "Film", "नमस्ते", "a", "very", "plot", "dull", "great"]
FEATURES: dict[str, dict[str, Any]] = {
    "counts": {},
    "tfidf": {"weighting": "tfidf", "sublinear": True, "norm": "l2", "ngrams": [1, 2], "min_df": 2},
    "binary": {"weighting": "binary", "norm": "l1", "stop_words": ["A", "very"]},
    "characters": {"analyzer": "char_wb", "ngrams": [2, 3], "norm": "l2"},
    "ratios": {"weighting": "nb_ratio", "norm": "l2"},
}
MODELS: dict[str, dict[str, Any]] = {
    "mira": {"type": "mira"},
    "multinomial": {"type": "naive_bayes"},
    "bernoulli": {"type": "naive_bayes", "variant": "bernoulli"},
}


def lines(count: int, seed: int) -> str:
    """Labelled texts in which some words go with a class, and some words are new in every file."""
    draw = np.random.default_rng(seed)
    made = []
    for label in draw.integers(0, 3, count):
        words = [*draw.choice(WORDS, 6), *[WORDS[label]] * 2, f"word{seed}{draw.integers(5)}"]
        made.append(f"{'xyz'[label]}\t{' '.join(draw.permutation(words))}\n")
    return "".join(made)


def trained(gpuclf: Gpuclf, model: dict[str, Any], features: dict[str, Any]) -> tuple[Path, Path]:
    """A run with a test file, and that file; its last document has no known word."""
    train, test = gpuclf.text("train.tsv", lines(60, 1)), gpuclf.text("test.tsv", lines(40, 2) + "x\t¤\n")
    data = {"train": train, "header": False, "columns": ["label", "text"]}
    return gpuclf.trained(model, data=data, features=features, test={"file": test}), test


def own_scores(run: Path) -> tuple[list[str], np.ndarray, list[str]]:
    """Classes, scores (docs, K) and predicted classes that the run wrote of its test file."""
    classes, documents = read_predictions(run / "predictions.tsv")
    rows = list(documents)
    return classes, np.array([scores for *_, scores in rows]), [predicted for _, _, predicted, _ in rows]


def texts_of(test: Path) -> list[str]:
    return [line.split("\t")[1] for line in test.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("features", FEATURES)
def test_a_classifier_rebuilt_in_scikit_learn_decides_the_same(gpuclf: Gpuclf, model: str, features: str) -> None:
    run, test = trained(gpuclf, MODELS[model], FEATURES[features])
    output = gpuclf.done("export", run, "--to", "sklearn")
    assert output.lines == [f"wrote {run / 'export' / name}" for name in ("sklearn.npz", "sklearn.json")]
    arrays = np.load(run / "export" / "sklearn.npz")
    about = json.loads((run / "export" / "sklearn.json").read_text())
    texts = [unicodedata.normalize(about["unicode"], text) for text in texts_of(test)]
    parameters = about["CountVectorizer"] | {"ngram_range": tuple(about["CountVectorizer"]["ngram_range"])}
    x = CountVectorizer(**parameters, vocabulary=about["features"]).transform(texts).astype(np.float64)
    if about["binary"]:
        x.data[:] = 1
    if about["sublinear"]:
        x.data[:] = 1 + np.log(x.data)
    x = x @ scipy.sparse.diags(arrays["feature_scale"])
    if about["norm"]:
        x = normalize(x, about["norm"])
    rebuilt = LogisticRegression()
    rebuilt.coef_, rebuilt.intercept_ = arrays["coef_"].astype(np.float64), arrays["intercept_"].astype(np.float64)
    rebuilt.classes_ = arrays["classes_"]
    classes, scores, predicted = own_scores(run)
    assert about["classes"] == classes == arrays["classes_"].tolist()
    np.testing.assert_allclose(rebuilt.decision_function(x), scores, rtol=1e-5, atol=1e-5)
    assert rebuilt.predict(x).tolist() == predicted


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("features", FEATURES)
def test_onnxruntime_gives_the_same_scores(gpuclf: Gpuclf, model: str, features: str) -> None:
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    run, test = trained(gpuclf, MODELS[model], FEATURES[features])
    gpuclf.done("export", run, "--to", "onnx", "--out", gpuclf.folder / "graphs")
    about = json.loads((gpuclf.folder / "graphs" / "onnx.json").read_text())
    x = encoded(run, test, about["features"])
    row, feature = x.nonzero()
    inputs = {
        "dense": {"values": x.toarray()},
        "sparse": {"row": row.astype(np.int64), "feature": feature.astype(np.int64), "value": x.data},
    }
    inputs["sparse"]["documents"] = np.array([x.shape[0]], dtype=np.int64)
    classes, scores, predicted = own_scores(run)
    for kind, values in inputs.items():
        session = onnxruntime.InferenceSession(
            gpuclf.folder / "graphs" / f"{kind}.onnx", providers=["CPUExecutionProvider"]
        )
        names = [output.name for output in session.get_outputs()]
        given = dict(zip(names, session.run(None, values), strict=True))
        np.testing.assert_allclose(given["scores"], scores, rtol=1e-4, atol=1e-4)
        assert [classes[place] for place in given["class"]] == predicted
        assert ("probabilities" in given) == (model != "mira")
        if model != "mira":
            expected = torch.softmax(torch.from_numpy(scores), dim=1).numpy()
            np.testing.assert_allclose(given["probabilities"], expected, atol=1e-4)


def encoded(run: Path, test: Path, features: list[str]) -> scipy.sparse.csr_array:
    """The test file's values (docs, F) float32 of the exported features, from the run's own encoder."""
    model = load_model(run, torch.device("cpu"))
    rows = read_labelled(model, model.data, test, "test", SilentObserver(), Stopwatch()).rows
    parts = (rows.val.numpy(), rows.col.numpy() - 1, rows.crow.numpy())
    x = scipy.sparse.csr_array(parts, shape=(rows.num_docs, rows.num_features))
    place = {name: number for number, name in enumerate(model.encoder.names)}
    return x[:, [place[name] for name in features]].tocsr()


def test_text_weights_are_lines_with_the_offset_first(gpuclf: Gpuclf) -> None:
    """Counts without norm: scores are sums of the lines' weights. Odd names are escaped."""
    documents = [("x", "w\\t: (offset) (offset)"), ("y", "w\\t: w\t u\n"), ("z", "u\n u\n")]
    records = [json.dumps({"label": label, "text": text}) for label, text in documents]
    data = {"train": gpuclf.text("train.jsonl", "\n".join(records))}
    features = {"token_pattern": "[^ ]+"}
    run = gpuclf.trained({"type": "perceptron"}, data=data, features=features, test={"file": data["train"]})
    assert gpuclf.done("export", run, "--to", "text").lines == [f"wrote {run / 'export' / 'weights.tsv'}"]
    table = [line.split("\t") for line in (run / "export" / "weights.tsv").read_text().splitlines()]
    assert table[0] == ["feature", "class", "weight"]
    assert [line[:2] for line in table[1:4]] == [["(offset)", name] for name in "xyz"]
    model = load_model(run, torch.device("cpu"))
    weights = model.predictor.weights[:, 0]  # type: ignore[attr-defined]
    assert [float(np.float32(weight)) for _, _, weight in table[1:4]] == weights[0].tolist()
    found = {(unescape(feature), name): float(np.float32(weight)) for feature, name, weight in table[4:]}
    expected = {
        (feature, name): float(weights[column + 1, k])
        for column, feature in enumerate(model.encoder.names)
        for k, name in enumerate(model.classes)
        if weights[column + 1, k] != 0
    }
    assert found == expected
    assert found
    assert all(escape(unescape(line[0])) == line[0] for line in table)


def test_nothing_is_written_over(gpuclf: Gpuclf) -> None:
    run, _ = trained(gpuclf, MODELS["mira"], {})
    gpuclf.done("export", run, "--to", "sklearn")
    gpuclf.done("export", run, "--to", "text")
    before = {path: path.read_bytes() for path in (run / "export").iterdir()}
    assert "is there already; move it away" in gpuclf.refused("export", run, "--to", "sklearn").err
    (run / "export" / "sklearn.npz").unlink()
    assert "sklearn.json: is there already" in gpuclf.refused("export", run, "--to", "sklearn").err
    assert not (run / "export" / "sklearn.npz").exists()
    assert {path.read_bytes() for path in (run / "export").iterdir()} < set(before.values())
    assert "is a file, not a folder" in gpuclf.refused("export", run, "--to", "text", "--out", run / "model.json").err


def test_what_cannot_be_exported_is_refused(gpuclf: Gpuclf, monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = trained(gpuclf, {"type": "naive_bayes", "alpha": 0}, {})
    assert "with smoothing 0 a feature excludes classes" in gpuclf.refused("export", run, "--to", "text").err
    assert "there is no trained model" in gpuclf.refused("export", gpuclf.folder, "--to", "text").err
    run, _ = trained(gpuclf, MODELS["mira"], {})
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert "pip install 'gpuclf[onnx]'" in gpuclf.refused("export", run, "--to", "onnx").err


def test_features_without_a_counterpart_are_named(gpuclf: Gpuclf) -> None:
    run, _ = trained(gpuclf, MODELS["mira"], {"suffixes": [1, 2], "weighting": "tf"})
    gpuclf.done("export", run, "--to", "sklearn")
    about = json.loads((run / "export" / "sklearn.json").read_text())
    assert about["CountVectorizer"] is None
    assert about["not_in_scikit_learn"] == ["suffixes", "weighting tf"]
