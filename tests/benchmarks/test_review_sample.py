"""The bundled sample of product reviews: the rule that made its spans, and what its files hold."""

from __future__ import annotations

import csv
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from benchmarks.review_sample import aspect_of, sample, spans_of, stem
from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.data.paths import BUNDLED, resolve_path

FOLDER = BUNDLED / "products"


def records(name: str) -> list[dict[str, Any]]:
    with gzip.open(FOLDER / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def stems(text: str) -> tuple[str, ...]:
    return tuple(map(stem, re.findall(r"[^\W_]+", text)))


def test_spans_are_the_places_of_a_features_words() -> None:
    text = "Its Battery-life is bad, the battery too: batteries die. A batting cage."
    found = spans_of(text, ["battery", "battery life", "size"])
    assert [(text[a:b], feature) for a, b, feature in found] == [
        ("Battery-life", "battery life"),
        ("battery", "battery"),
        ("batteries", "battery"),
    ]
    assert spans_of("go on", ["goes"]) == []  # too short to lose its ending
    assert stem("Carries") == stem("carry") == "carr"


def test_a_feature_is_of_the_first_aspect_that_has_one_of_its_words() -> None:
    assert aspect_of("battery life") == "battery"
    assert aspect_of("FM reception") == "sound"
    assert aspect_of("camera") == "device"
    assert aspect_of("picture of camera") == "picture"
    assert aspect_of("fun") is None


@pytest.mark.parametrize(("name", "reviews", "sentences", "spans"), [("train", 86, 827, 515), ("test", 49, 407, 264)])
def test_the_files_hold_what_is_said_of_them(name: str, reviews: int, sentences: int, spans: int) -> None:
    path = resolve_path(f"bundled:products/{name}.jsonl.gz")
    chunks = list(open_reader(path, DataOptions(train=path, format="reviews")).chunks())
    assert sum(len(chunk.reviews.ids) for chunk in chunks if chunk.reviews is not None) == reviews
    assert sum(map(len, chunks)) == sentences
    with (FOLDER / "features.tsv").open(encoding="utf-8", newline="") as file:
        aspects = {stems(row["feature"]): row["aspect"] for row in csv.DictReader(file, delimiter="\t")}
    marked = 0
    for chunk in chunks:
        assert chunk.reviews is not None
        assert chunk.reviews.spans is not None
        for text, found in zip(chunk.reviews.texts, chunk.reviews.spans, strict=True):
            for start, end, aspect in found:
                assert aspects[stems(text[start:end])] == aspect
                marked += 1
    assert marked == spans


def test_no_review_is_in_two_files_and_all_are_small() -> None:
    ids = [record["review"] for name in ("train", "test", "unlabelled") for record in records(name)]
    assert len(ids) == len(set(ids)) == 86 + 49 + 110
    assert sum(file.stat().st_size for file in FOLDER.glob("*.gz")) < 400_000
    for name in ("LICENSE", "LICENSE-CC-BY-4.0"):
        assert "CC BY 4.0" in (FOLDER / name).read_text() or "Attribution 4.0" in (FOLDER / name).read_text()


def test_the_source_gives_the_same_files_again(shared_data: Path) -> None:
    parts, _ = sample(shared_data / "reviews")
    assert {name: records(name) for name in parts} == parts
