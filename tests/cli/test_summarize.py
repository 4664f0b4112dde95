"""`gpuclf summarize`: ready snippets and reviews in, JSON and pages out; what a user can do wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.drive import Gpuclf, strict_json

SNIPPETS = [
    {"aspect": "food", "text": "The pizza was great", "review": "1"},
    {"aspect": "food", "text": "great pizza", "review": "2"},
    {"aspect": "food", "text": "The pizza was awful", "review": "3"},
    {"aspect": "service", "text": "rude waiter", "review": "3"},
]


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def review(number: int, food: str, waiter: str, business: str | None = "Al's") -> dict[str, Any]:
    """A review of two sentences with a span each."""
    texts = [f"The {food} was good.", f"Our {waiter} was rude."]
    aspects = [("food", food), ("service", waiter)]
    sentences = [
        {"text": text, "spans": [{"start": text.index(word), "end": text.index(word) + len(word), "aspect": aspect}]}
        for text, (aspect, word) in zip(texts, aspects, strict=True)
    ]
    record: dict[str, Any] = {"review": f"r{number}", "sentences": sentences}
    return record if business is None else record | {"business": business}


REVIEWS = [review(n, food, waiter) for n, (food, waiter) in enumerate([("pizza", "waiter"), ("soup", "server")] * 3)]


def test_ready_snippets(gpuclf: Gpuclf) -> None:
    file = gpuclf.text("snippets.jsonl", lines({"business": "Al's", "snippets": SNIPPETS}))
    out = gpuclf.folder / "out"
    said = gpuclf.done("summarize", "--snippets", file, "--out", out, "--clusters", "1").out
    assert f"wrote {out}/summary.json" in said
    assert {path.name for path in out.iterdir()} == {"summary.json", "index.html", "al-s.html"}
    [business] = strict_json((out / "summary.json").read_bytes())["businesses"]
    food, service = business["aspects"]
    [cluster] = food["clusters"]
    assert (cluster["polarity"], cluster["support"]) == ("positive", 2)
    assert [s["text"] for s in cluster["dropped"]] == ["The pizza was awful"]
    assert service["clusters"][0]["polarity"] == "negative"
    assert "pizza" in (out / "al-s.html").read_text(encoding="utf-8")


def test_reviews_by_a_run(gpuclf: Gpuclf) -> None:
    """A field that knows pizza and soup from waiters and servers."""
    gpuclf.text("reviews.jsonl", lines(*REVIEWS))
    data = {"train": "reviews.jsonl", "format": "reviews"}
    run = gpuclf.trained({"type": "crf", "C": 10.0}, data=data, features={"type": "review_context"})
    new = [review(number, "pizza", "waiter", f"B{number % 2}") for number in range(4)]
    for one in new:  # what is predicted is not in the file
        one["sentences"] = [sentence["text"] for sentence in one["sentences"]]
    file = gpuclf.text("new.jsonl", lines(*new))
    gpuclf.done("summarize", run, file)
    out = gpuclf.folder / "standing" / "new-summary"
    found = strict_json((out / "summary.json").read_bytes())
    assert [business["business"] for business in found["businesses"]] == ["B0", "B1"]
    for business in found["businesses"]:
        assert business["reviews"] == 2
        shown = {a["aspect"]: (a["positive"], a["negative"], a["clusters"][0]) for a in business["aspects"]}
        assert shown["food"][:2] == (2, 0)
        assert shown["service"][:2] == (0, 2)
        head = shown["food"][2]["supporters"][0]
        assert head["text"][head["start"] : head["end"]] == "pizza"
        assert shown["food"][2]["support"] == 2
    _refuses_other_reviews(gpuclf, run)


def _refuses_other_reviews(gpuclf: Gpuclf, run: Path) -> None:
    nobody = gpuclf.text("nobody.jsonl", lines(review(1, "pizza", "waiter", None)))
    assert "review r1 names no business" in gpuclf.refused("summarize", run, nobody).err
    empty = gpuclf.text("empty.jsonl", "")
    assert "holds no review" in gpuclf.refused("summarize", run, empty).err
    silent = gpuclf.text("silent.jsonl", lines({"business": "x", "review": 1, "text": "?"}))
    assert "finds no span" in gpuclf.refused("summarize", run, silent).err
    gpuclf.text("train.tsv", "label\ttext\n" + "neg\tgreat pizza\npos\tawful\n" * 4)
    other = gpuclf.trained("naive_bayes", data={"train": "train.tsv"})
    assert "was not trained on reviews" in gpuclf.refused("summarize", other, nobody).err
    assert [path.name for path in (gpuclf.folder / "standing").iterdir()] == ["new-summary"]


def test_the_same_bits_again_and_with_other_options(gpuclf: Gpuclf) -> None:
    file = gpuclf.text("snippets.jsonl", lines({"business": "Al's", "snippets": SNIPPETS}))
    for method in ("kmeans", "linkage"):
        made = []
        for number in range(2):
            out = gpuclf.folder / f"{method}-{number}"
            gpuclf.done("summarize", "--snippets", file, "--out", out, "--method", method)
            made.append({path.name: path.read_bytes() for path in out.iterdir()})
        assert made[0] == made[1]
    clusters = [[{"label": "food", "phrase": "great pizza"}, {"label": "food", "phrase": "The pizza was great"}]]
    taught = gpuclf.text("taught.jsonl", lines({"business": "B", "clusters": clusters}))
    gpuclf.done("summarize", "--snippets", file, "--out", gpuclf.folder / "learnt", "--learn-from", taught)
    assert str(taught) in (gpuclf.folder / "learnt" / "summary.json").read_text(encoding="utf-8")
    out = gpuclf.folder / "merged"
    gpuclf.done("summarize", "--snippets", file, "--out", out, "--method", "linkage", "--threshold", "0")
    food = strict_json((out / "summary.json").read_bytes())["businesses"][0]["aspects"][0]
    assert len(food["clusters"]) == 1


def test_sentiment_of_a_run(gpuclf: Gpuclf) -> None:
    """Its classes are read by name; here it says the contrary of the lexicon."""
    gpuclf.text("train.tsv", "label\ttext\n" + "neg\tgreat pizza\npos\tawful\n" * 4)
    run = gpuclf.trained("naive_bayes", data={"train": "train.tsv"})
    file = gpuclf.text("snippets.jsonl", lines({"business": "Al's", "snippets": SNIPPETS[1:3]}))
    gpuclf.done("summarize", "--snippets", file, "--out", gpuclf.folder / "out", "--sentiment", run, "--clusters", "2")
    food = strict_json((gpuclf.folder / "out" / "summary.json").read_bytes())["businesses"][0]["aspects"][0]
    assert {c["head"]: c["polarity"] for c in food["clusters"]} == {
        "great pizza": "negative",
        "The pizza was awful": "positive",
    }
    gpuclf.text("other.tsv", "label\ttext\n" + "ham\thi\nspam\tbuy\n" * 4)
    other = gpuclf.trained("naive_bayes", data={"train": "other.tsv"})
    [fault] = gpuclf.refused(
        "summarize", "--snippets", file, "--out", gpuclf.folder / "no", "--sentiment", other
    ).errors
    assert "its classes are 'ham', 'spam'" in fault


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "nothing to summarise"),
        (["run"], "no file to summarise"),
        (["run", "f", "--snippets", "g"], "--snippets needs no RUN"),
        (["--snippets", "none.jsonl"], "no such file"),
        (["--snippets", "FILE", "--clusters", "0"], "--clusters 0"),
        (["--snippets", "FILE", "--clusters", "x"], "--clusters x"),
        (["--snippets", "FILE", "--method", "kmeans", "--threshold", "0.2"], "--threshold has no meaning"),
        (["--snippets", "FILE", "--method", "linkage", "--threshold", "7"], "no cosine"),
        (["--snippets", "FILE", "--out", "FULL"], "already holds files"),
        (["--snippets", "FILE", "--out", "FILE"], "is not a folder"),
        (["--snippets", "EMPTY"], "holds no snippet"),
        (["NO_RUN", "FILE"], "there is no trained model"),
    ],
)
def test_faults(gpuclf: Gpuclf, arguments: list[str], reason: str) -> None:
    file = gpuclf.text("full/snippets.jsonl", lines({"business": "Al's", "snippets": SNIPPETS}))
    empty = gpuclf.text("empty.jsonl", "\n")
    named = {"FILE": str(file), "FULL": str(file.parent), "EMPTY": str(empty), "NO_RUN": str(file.parent)}
    [fault] = gpuclf.refused("summarize", *(named.get(one, one) for one in arguments)).errors
    assert reason in fault
    assert list((gpuclf.folder / "standing").iterdir()) == []
