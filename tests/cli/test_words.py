"""What is told of models for several ambiguous words: on the console, the page, in metrics.json and by `show`."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import torch

from gpuclf.report.graph_model import graph_facts, word_facts
from gpuclf.train import run_context
from gpuclf.train.model_file import load_model
from tests.cli.drive import Gpuclf, metrics_of, strict_json

CLUES = {
    "bank": ("river", "money"),
    "light": ("lamp", "feather"),
    "cell": ("prison",),
    "pitch": ("tar", "sing"),
    "hm": ("", ""),
}
COUNTS = {"bank": 24, "light": 16, "cell": 5, "pitch": 2, "hm": 2}
MODEL = {"type": "decomposable", "criterion": "bic"}
BARE = {"report": False, "tensorboard": False}
CPU = torch.device("cpu")
FOLDS = {"k": 2, "allow_small": True}
Records = list[dict[str, Any]]


@pytest.fixture
def gpuclf(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Gpuclf:
    return Gpuclf(tmp_path, capsys, monkeypatch)


def context(word: str, number: int) -> dict[str, Any]:
    """Every fifth clue is that of another sense; cell has one sense, pitch two contexts, hm no word around it."""
    clues = CLUES[word]
    sense = number % len(clues)
    clue = clues[(sense + (number % 5 == 4)) % len(clues)]
    return {"id": f"{word}{number}", "sense": f"{word}/{sense}", "word": word} | {
        "tokens": [clue, word] if clue else [word],
        "pos": ["NN" if number % 3 else "JJ", "NN"][not clue :],
        "head": int(bool(clue)),
    }


def records(start: int = 0, share: float = 1.0) -> Records:
    return [context(word, start + n) for word, count in COUNTS.items() for n in range(round(count * share))]


def file_of(gpuclf: Gpuclf, name: str, contexts: Records) -> Path:
    return gpuclf.text(name, "".join(json.dumps(one) + "\n" for one in contexts))


def sections(gpuclf: Gpuclf, word: str | None = None) -> dict[str, Any]:
    """Training and test contexts of all words, or of one, whose model is then the only one."""
    parts = [
        [one for one in part if word in (None, one["word"])] for part in (records(), records(start=1000, share=0.5))
    ]
    train, test = (file_of(gpuclf, f"{word}{place}.jsonl", part) for place, part in enumerate(parts))
    data = {"train": train, "format": "wsd", "label": "sense"}
    features = {"type": "word_sense", "by_word": word is None, "top_words": 2}
    return {"data": data, "features": features, "folds": FOLDS, "test": {"file": test}}


def test_figures_and_graph_of_a_word_are_those_of_a_run_on_its_contexts(gpuclf: Gpuclf) -> None:
    run = gpuclf.trained(MODEL, **sections(gpuclf), run=BARE)
    whole, graphs = metrics_of(run), word_facts(load_model(run, CPU))
    assert list(graphs) == sorted(COUNTS)
    word = "light"
    run = gpuclf.trained(MODEL, **sections(gpuclf, word), run=BARE)
    alone, graph = metrics_of(run), graph_facts(load_model(run, CPU))
    assert graphs[word].graph == graph
    assert graphs[word].senses == pytest.approx({f"{word}/0": 0.5, f"{word}/1": 0.5})
    assert any(name.startswith("has:") for name in graphs[word].graph.names)
    held = whole["out_of_fold"]["per_word"][word]
    assert held["fold_accuracy"] == [run["accuracy"] for run in alone["cells"][0]["runs"]]
    assert held["fold_accuracy"] == [run["per_word"][word] for run in whole["cells"][0]["runs"]]
    assert held["fold_mean"] == alone["cells"][0]["mean"]["accuracy"]
    assert held["accuracy"] == alone["out_of_fold"]["accuracy"]
    assert whole["test"]["per_word"][word]["accuracy"] == alone["test"]["accuracy"]
    assert (held["majority"], held["entropy"]) == (pytest.approx(0.5), pytest.approx(1.0))
    assert (held["training_documents"], held["classes"]) == (COUNTS[word], 2)
    cell = whole["out_of_fold"]["per_word"]["cell"]
    assert (cell["accuracy"], cell["majority"], cell["entropy"], cell["classes"]) == (1.0, 1.0, 0.0, 1)
    words = whole["test"]["per_word"]
    assert list(words) == sorted(COUNTS)
    assert whole["test"]["accuracy_over_words"] == pytest.approx(fmean(row["accuracy"] for row in words.values()))


def test_a_run_tells_of_its_words(gpuclf: Gpuclf) -> None:
    config = gpuclf.config(MODEL, **sections(gpuclf), grid={"model.criterion": ["bic", "aic"]})
    run, said = gpuclf.train(config)
    lines = [line for line in said.lines if line.split()[:1] == ["light"]]
    assert lines[0].split()[:5] == ["light", "16", "2", "0.5000", "1.0000"]
    assert len(lines) == 2, "of the words, and of the words by cell"
    cells = [line.split() for line in said.lines if line.startswith(("* better", "* worse"))]
    assert [line[:3] + line[-1:] for line in cells] == [
        ["*", which, kind, "0"] for kind in ("paired", "corrected") for which in ("better,", "worse,")
    ], "two folds tell nothing"
    page = (run / "report.html").read_text(encoding="utf-8")
    assert 'id="words"' in page
    assert "Held-out accuracy of each cell by word" in page
    assert "Without an edge, so that nothing is to be drawn: cell, hm." in page
    assert "over the senses of all words together" in page
    shown = gpuclf.done("show", run).out
    assert "16 documents of 2 senses: light/0 50.0%, light/1 50.0%" in shown
    assert "P(class, words:light/0" in shown
    one = gpuclf.done("show", run, "--word", "bank").out
    assert "words:bank/1" in one
    assert "light" not in one
    assert "name one such as bank" in gpuclf.refused("show", run, "--word", "bench").err


def test_words_that_training_did_not_have(gpuclf: Gpuclf) -> None:
    """Told apart from the known ones in figures, diagnosis and answers."""
    run = gpuclf.trained(MODEL, **sections(gpuclf) | {"folds": None, "test": None})
    new = [context("bank", n) | {"id": f"new{n}", "word": "bench"} for n in range(3)]
    strange = [context("light", 2) | {"id": "strange", "sense": "bank/1"}]
    file = file_of(gpuclf, "judged.jsonl", [*records(start=1000, share=0.5), *new, *strange])
    found = strict_json(gpuclf.done("eval", run, file, "--diagnose", "--json").out)
    assert found["unknown_words"] == {"documents": 3, "accuracy": pytest.approx(2 / 3)}, "bank/0 is the most frequent"
    assert found["per_word"]["light"]["documents"] == 9
    wrong = found["diagnosis"]["wrong"]
    assert wrong["unseen_classes"] == 1, "light has no such class"
    assert sum(wrong[part] for part in wrong if part != "all") == wrong["all"]
    assert "words that training did not have: 3 (accuracy 0.6667)" in gpuclf.done("eval", run, file).out
    asked = [{key: one[key] for key in ("tokens", "pos", "head", "word")} for one in (new[0], records()[0])]
    stdin = "".join(json.dumps(one) + "\n" for one in asked).encode()
    assert gpuclf.done("predict", run, stdin=stdin).lines == ["bank/0\tunknown_word", "bank/0\t"]
    config = gpuclf.config(MODEL, **sections(gpuclf), calibrate="platt")
    assert "also the senses of other words" in gpuclf.not_trained(config).err
    assert "only linear models and networks can be exported" in gpuclf.refused("export", run, "--to", "text").err


def test_a_stopped_run_goes_on_to_the_same_models(gpuclf: Gpuclf, monkeypatch: pytest.MonkeyPatch) -> None:
    config = gpuclf.config(MODEL, **sections(gpuclf), train={"checkpoint_every": 1}, run=BARE)
    whole, _ = gpuclf.train(config)
    parts, steps, calls = gpuclf.folder / "parts", run_context.step_rows, [0]

    def interrupted(*given: Any, **named: Any) -> Any:
        calls[0] += 1
        if calls[0] in (2, 4):
            raise KeyboardInterrupt
        return steps(*given, **named)

    monkeypatch.setattr(run_context, "step_rows", interrupted)
    assert gpuclf("train", config, f"run.dir={parts}").code == 130
    assert gpuclf("resume", parts).code == 130
    gpuclf.done("resume", parts)
    for name in ("model.safetensors", "model.json", "predictions.tsv", "out_of_fold.tsv"):
        assert (parts / name).read_bytes() == (whole / name).read_bytes()
    assert metrics_of(parts)["cells"] == metrics_of(whole)["cells"]
