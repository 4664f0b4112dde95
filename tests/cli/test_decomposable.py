"""Decomposable models through the commands: contexts of a word and tables; shown, predicted, judged, interrupted."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from gpuclf.data.paths import resolve_path
from tests.cli.drive import Gpuclf, metrics_of

SENSES = {
    "data": {"train": "bundled:noad_where/train.jsonl.gz", "format": "wsd", "label": "sense"},
    "features": {"type": "word_sense"},
    "test": {"file": "bundled:noad_where/test.jsonl.gz"},
}


@pytest.fixture
def gpuclf(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Gpuclf:
    monkeypatch.chdir(tmp_path)
    return Gpuclf(tmp_path, capsys, monkeypatch)


def test_senses_are_learnt_shown_predicted_and_judged(gpuclf: Gpuclf) -> None:
    run = gpuclf.trained({"type": "decomposable", "select": "heldout"}, **SENSES, folds={"k": 3})
    metrics = metrics_of(run)
    assert 0.5 < metrics["test"]["accuracy"] < 1
    shown = gpuclf.done("show", run).out
    assert "= P(class, " in shown
    assert "deselected, no neighbours of the class" in shown
    page = (run / "report.html").read_text(encoding="utf-8")
    assert 'id="graph"' in page
    assert "The clique tree" in page
    with gzip.open(resolve_path("bundled:noad_where/test.jsonl.gz"), "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    contexts = "".join(json.dumps({k: v for k, v in r.items() if k != "sense"}) + "\n" for r in records)
    labels = gpuclf.done("predict", run, stdin=contexts.encode()).labels
    right = sum(label == record["sense"] for label, record in zip(labels, records, strict=True))
    assert right == round(metrics["test"]["accuracy"] * len(records))
    judged = json.loads(gpuclf.done("eval", run, gpuclf_test_file(gpuclf), "--diagnose", "--json").out)
    assert judged["accuracy"] == metrics["test"]["accuracy"]
    parts = judged["diagnosis"]["wrong"]
    assert sum(parts[name] for name in parts if name != "all") == parts["all"]


def gpuclf_test_file(gpuclf: Gpuclf) -> Path:
    copy = gpuclf.folder / "test.jsonl.gz"
    copy.write_bytes(Path(resolve_path("bundled:noad_where/test.jsonl.gz")).read_bytes())
    return copy


def table(rows: int) -> str:
    """A label that follows colour; shape follows the label in part, size nothing."""
    lines = ["label\tcolour\tshape\tsize"]
    for n in range(rows):
        label = "yes" if n % 3 else "no"
        lines.append(f"{label}\t{'red' if n % 3 else 'blue'}\t{'round' if n % 2 or not n % 3 else 'flat'}\ts{n % 5}")
    return "\n".join(lines) + "\n"


def test_a_table_gives_its_graph(gpuclf: Gpuclf) -> None:
    data = {"train": gpuclf.text("train.tsv", table(150)), "categorical": ["colour", "shape", "size"], "format": "tsv"}
    model = {
        "type": "decomposable",
        "criterion": "bic",
        "fixed": [["class", "size"]],
        "forbidden": [["class", "shape"]],
    }
    run = gpuclf.trained(model, data=data, features={"type": "categorical"}, folds={"k": 3})
    assert metrics_of(run)["out_of_fold"]["accuracy"] == 1.0
    shown = gpuclf.done("show", run).out
    assert "P(class, colour" in shown
    assert "P(class, size" in shown
    assert "P(class, shape" not in shown
    bad = gpuclf.config(model | {"fixed": [["class", "weight"]]}, data=data, features={"type": "categorical"})
    assert "model.fixed: names 'weight'" in gpuclf.not_trained(bad).err


def test_without_a_prior_the_covered_documents_are_told(gpuclf: Gpuclf) -> None:
    """A colour and shape that were never seen together leave every class without a probability."""
    rows = "label\tcolour\tshape\n" + "yes\tred\tround\nno\tblue\tflat\n" * 20
    test = gpuclf.text("test.tsv", "label\tcolour\tshape\n" + "yes\tred\tround\n" * 2 + "no\tblue\tround\n" * 2)
    data = {"train": gpuclf.text("train.tsv", rows), "categorical": ["colour", "shape"], "format": "tsv"}
    model = {"type": "decomposable", "direction": "fixed", "start": "saturated", "ess": 0.0}
    run = gpuclf.trained(model, data=data, features={"type": "categorical"}, test={"file": test})
    found = metrics_of(run)["test"]
    assert found["covered"] == {"documents": 2, "recall": 0.5, "precision": 1.0}
    assert found["accuracy"] == 1.0, "no stands first among classes that are as frequent"
    assert "(recall 0.5000), of which 1.0000 are right" in (run / "report.html").read_text(encoding="utf-8")


def test_contexts_are_for_learners_that_read_them(gpuclf: Gpuclf) -> None:
    said = gpuclf.not_trained(gpuclf.config("naive_bayes", **SENSES)).err
    assert "does not read contexts" in said
    other = SENSES | {"features": {"type": "bag_of_words"}}
    assert "hold contexts of an ambiguous word" in gpuclf.not_trained(gpuclf.config("naive_bayes", **other)).err


def test_all_pairs_of_too_many_inputs_are_refused(gpuclf: Gpuclf) -> None:
    rows = ["label\ttext"] + [f"{n % 2}\t{' '.join(f'w{n * 40 + i}' for i in range(40))}" for n in range(50)]
    data = {"train": gpuclf.text("t.tsv", "\n".join(rows) + "\n"), "format": "tsv"}
    said = gpuclf.not_trained(gpuclf.config("decomposable", data=data, features={"type": "bag_of_words"})).err
    assert "inputs have" in said
    assert "features.hashing" in said
