"""Reviews as a user meets them: train on spans, measure aspects, label new reviews, compare, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.drive import Gpuclf

DISHES, STAFF, PRAISE = ("soup", "fish stew", "bread"), ("waiter", "staff"), ("great", "awful", "fine", "cold")


def corpus(size: int, first: int = 0) -> list[dict[str, Any]]:
    """Reviews of two sentences whose dishes and staff are marked; every fourth has none of them."""
    reviews = []
    for number in range(first, first + size):
        dish, who, how = DISHES[number % 3], STAFF[number % 2], PRAISE[(number // 2) % 4]
        sentences = [
            sentence(f"The {dish} was {how}.", dish, "food"),
            sentence(f"Our {who} was {how}!", who, "service"),
        ]
        if number % 4 == 3:
            sentences = [{"text": "We came by car.", "spans": []}]
        reviews.append({"business": f"B{number % 2}", "review": f"r{number}", "sentences": sentences})
    return reviews


def sentence(text: str, marked: str, aspect: str) -> dict[str, Any]:
    start = text.index(marked)
    return {"text": text, "spans": [{"start": start, "end": start + len(marked), "aspect": aspect}]}


def written(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    written(tmp_path / "train.jsonl", corpus(24))
    written(tmp_path / "test.jsonl", corpus(8, 24))
    path = tmp_path / "reviews.yaml"
    path.write_text(
        "data: {train: train.jsonl, format: reviews}\n"
        "model: {type: crf, max_iter: 12}\n"
        "grid: {model.C: [0.01, 1.0]}\n"
        "folds: {k: 2}\n"
        "test: {file: test.jsonl}\n"
        "device: cpu\n"
    )
    return path


def test_from_training_to_labelled_spans(gpuclf: Gpuclf, config: Path, tmp_path: Path) -> None:
    run, other = tmp_path / "run", tmp_path / "other"
    trained = gpuclf("train", config, f"run.dir={run}")
    assert trained.code == 0, trained.err
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["best"]["metric"] == "aspect_f1"
    assert metrics["test"]["aspect_f1"] == 1.0
    assert metrics["test"]["any_aspect_recall"] == 1.0
    assert metrics["test"]["likeliest_tokens"][-1]["tokens"] == round(0.2 * metrics["test"]["documents"])
    assert metrics["folds"]["documents"] == (run / "out_of_fold.tsv").read_text().count("\n") - 1
    assert "aspect_f1 1.0000" in trained.out
    new = tmp_path / "new.jsonl"
    text = "Fine.  The fish stew was awful!"
    written(new, [{"business": "B9", "review": "n", "text": text}, {"sentences": ["Our waiter was cold!"]}])
    first, second, third = gpuclf("predict", run, new).records
    assert (first["business"], first["review"], first["sentence"], first["spans"]) == ("B9", "n", 1, [])
    assert (second["begin"], second["text"]) == (7, "The fish stew was awful!")
    assert "begin" not in third
    assert [(span["text"], span["aspect"]) for span in second["spans"]] == [("fish stew", "food")]
    span = third["spans"][0]
    assert third["text"][span["start"] : span["end"]] == span["text"] == "waiter"
    assert 0.5 < span["probability"] <= 1
    assert gpuclf("predict", run, stdin=new.read_bytes()).records == [first, second, third]
    measured = json.loads(gpuclf("eval", run, tmp_path / "test.jsonl", "--json").out)
    assert measured["aspect_f1"] == 1.0
    weak = gpuclf("train", config, f"run.dir={other}", "~grid", "~folds", "model.decode=mbr", "model.C=0.0001")
    assert weak.code == 0, weak.err
    compared = gpuclf("compare", run, other, "--metric", "aspect_f1", "--samples", "200")
    assert "draws whole reviews" in compared.out
    risky = gpuclf("predict", other, new).records
    assert all(0 <= span["probability"] <= 1 for record in risky for span in record["spans"])


def test_what_is_refused(gpuclf: Gpuclf, config: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    plain = gpuclf("train", config, f"run.dir={run}", "+features.type=token_context")
    assert plain.code == 2
    assert "write features: {type: review_context}" in plain.err
    broken = corpus(3)
    broken[2]["sentences"][0]["spans"][0]["end"] = 99
    written(tmp_path / "train.jsonl", broken)
    beyond = gpuclf("train", config, f"run.dir={run}")
    assert beyond.code == 2
    assert "train.jsonl:3: sentence 1: spans 1: 4 to 99 is no span of a text of 20 characters" in beyond.err
    other = config.with_name("other.yaml")
    other.write_text("model: {type: naive_bayes}\nselect: {metric: aspect_f1}\n")
    metric = gpuclf("check", other)
    assert metric.code == 2
    assert "only tokens of reviews have aspects" in metric.err
    assert not run.exists()


def test_unlabelled_reviews_are_there_and_read(gpuclf: Gpuclf, config: Path) -> None:
    unread = "data.unlabelled: nothing is learnt from reviews without labels"
    content = Path(__file__).parents[2] / "configs" / "content" / "products.yaml"
    assert unread in gpuclf.refused("check", content, "model.content=none").err
    assert unread in gpuclf.refused("check", config, "+data.unlabelled=[more.jsonl]").err
    absent = gpuclf.refused("check", content, "data.unlabelled=[more.jsonl]").err
    assert "data.unlabelled" in absent
    assert unread not in absent
