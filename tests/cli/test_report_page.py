"""report.html as `gpuclf train` leaves it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.drive import Gpuclf, metrics_of
from tests.report.html.building import Page

EVIL = "<script>x</script>"
WORDS = ("red", "blue", "green", "<b>bold</b>", "&amp;")


def _page(run: Path) -> Page:
    page = Page((run / "report.html").read_text(encoding="utf-8"))
    assert not page.faults
    return page


def _files(gpuclf: Gpuclf) -> dict[str, Path]:
    def text(start: int, count: int) -> str:
        rows = [
            f"{('ham', EVIL)[i % 2]}\t{WORDS[i % 5]} {WORDS[i * 7 % 3]} word{i}\n" for i in range(start, start + count)
        ]
        return "label\ttext\n" + "".join(rows)

    return {"train": gpuclf.text("train.tsv", text(0, 60)), "test": gpuclf.text("test.tsv", text(60, 30))}


@pytest.mark.parametrize("model", [{"type": "naive_bayes"}, {"type": "mira"}], ids=["probabilities", "scores"])
def test_the_page_of_a_run(model: dict[str, Any], gpuclf: Gpuclf) -> None:
    files = _files(gpuclf)
    key = "model.alpha" if model["type"] == "naive_bayes" else "model.C"
    run = gpuclf.trained(
        model,
        data={"train": files["train"]},
        grid={key: [0.01, 0.1, 1.0]},
        folds={"k": 3},
        test={"file": files["test"]},
    )
    page, metrics = _page(run), metrics_of(run)
    assert f"{metrics['test']['accuracy']:.4f} test accuracy" in page.texts["header"]
    assert page.count("circle", class_="ring") == 1
    assert page.count("script") == 1
    assert "train.tsv" in page.texts["data"]
    assert "test.tsv" in page.texts["data"]
    assert EVIL in page.texts["data"]
    assert ("calibration error" in page.texts["reliability"]) == (model["type"] == "naive_bayes")
    assert 0 < metrics["test"]["accuracy"] < 1
    assert page.count("blockquote") == round(30 * (1 - metrics["test"]["accuracy"]))
    texts = [line.split("\t")[1] for line in files["test"].read_text().splitlines()[1:]]
    assert any(text in page.texts["mistakes"] for text in texts)


def test_without_a_test_file_the_held_out_documents_are_shown(gpuclf: Gpuclf) -> None:
    files = _files(gpuclf)
    run = gpuclf.trained("mira", data={"train": files["train"]}, validation={"file": files["test"]})
    page = _page(run)
    assert "held-out accuracy" in page.texts["header"]
    assert any(f"word{i}" in page.texts["mistakes"] for i in range(60, 90))


def test_a_model_that_nothing_was_held_out_for(gpuclf: Gpuclf) -> None:
    page = _page(gpuclf.trained("perceptron", data={"train": _files(gpuclf)["train"]}))
    assert "mistakes" not in page.texts
    assert "No documents were held out" in page.texts["grid"]


def test_features_have_ids_in_place_of_texts(gpuclf: Gpuclf) -> None:
    file = gpuclf.text("train.svm", "".join(f"{i % 2 + 1} {i % 3 + 1}:1 {i % 7 + 5}:1\n" for i in range(42)))
    run = gpuclf.trained("mira", data={"train": file}, features={"type": "as_given"}, folds={"k": 3})
    assert "named by their ids" in _page(run).texts["mistakes"]


def test_a_run_may_do_without(gpuclf: Gpuclf) -> None:
    config = gpuclf.config("perceptron", data={"train": _files(gpuclf)["train"]})
    run, _ = gpuclf.train(config, "+run.report=false")
    assert not (run / "report.html").exists()
    assert (run / "metrics.json").exists()


def test_figures_are_kept_when_the_page_cannot_be_written(gpuclf: Gpuclf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is told, and what the run found is there all the same."""
    from gpuclf.faults import UserFault

    def full(path: Path, content: str) -> None:
        raise UserFault(f"no space left to write {path}")

    monkeypatch.setattr("gpuclf.report.html.written.atomic_write", full)
    config = gpuclf.config("perceptron", data={"train": _files(gpuclf)["train"]})
    output = gpuclf("train", config, f"run.dir={gpuclf.folder / 'run'}")
    assert output.code == 2
    assert "report.html" in output.err
    assert "classes" in metrics_of(gpuclf.folder / "run")
    assert not (gpuclf.folder / "run" / "report.html").exists()
