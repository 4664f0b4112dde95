"""Contexts of several ambiguous words through the commands: each word's answers are those of a run of its own."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import pytest

from gpuclf.data.paths import resolve_path
from tests.cli.drive import Gpuclf

MODEL = {"type": "decomposable", "select": "heldout"}
FOLDS = {"k": 2, "allow_small": True}
WORDS = ("case.noun", "high.adj")
Records = list[dict[str, Any]]


@pytest.fixture
def gpuclf(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Gpuclf:
    monkeypatch.chdir(tmp_path)
    return Gpuclf(tmp_path, capsys, monkeypatch)


def contexts() -> Records:
    with gzip.open(resolve_path("bundled:noad_words/test.jsonl.gz"), "rt", encoding="utf-8") as lines:
        return [record for record in map(json.loads, lines) if record["word"] in WORDS]


def json_lines(file: Path, records: Records) -> str:
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(file)


def senseval(file: Path, records: Records) -> str:
    """The records as Senseval-2 XML, one <lexelt> an instance."""
    parts = ["<corpus>"]
    for one in records:
        tagged = zip(one["tokens"], one["pos"], strict=True)
        held = [f"<wf pos={quoteattr(tag)}>{escape(token)}</wf>" for token, tag in tagged]
        held[one["head"]] = f"<head>{held[one['head']]}</head>"
        parts += [
            f"<lexelt item={quoteattr(one['word'])}><instance id={quoteattr(one['id'])}>",
            f"<answer senseid={quoteattr(one['sense'])}/><context>{''.join(held)}</context></instance></lexelt>",
        ]
    file.write_text("\n".join([*parts, "</corpus>"]), encoding="utf-8")
    return str(file)


def scores(run: Path, file: str) -> dict[str, dict[str, str]]:
    """The cells of each document that are finite, by column."""
    with (run / file).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return {row["id"]: {name: cell for name, cell in row.items() if cell != "-inf"} for row in rows}


def test_every_word_is_answered_as_by_a_run_of_its_own(gpuclf: Gpuclf) -> None:
    records = contexts()[:120]
    train, test = records[::2], records[1::2]
    features = {"type": "word_sense", "by_word": True}
    files = senseval(gpuclf.folder / "train.xml", train), senseval(gpuclf.folder / "test.xml", test)
    data = {"train": files[0], "format": "senseval"}
    whole = gpuclf.trained(MODEL, data=data, features=features, folds=FOLDS, test={"file": files[1]})
    seen = 0
    for word in WORDS:
        own = [
            json_lines(gpuclf.folder / f"{word}{place}.jsonl", [one for one in part if one["word"] == word])
            for place, part in enumerate((train, test))
        ]
        data = {"train": own[0], "format": "wsd", "label": "sense"}
        alone = gpuclf.trained(MODEL, data=data, features={"type": "word_sense"}, folds=FOLDS, test={"file": own[1]})
        for file in ("predictions.tsv", "out_of_fold.tsv"):
            together = scores(whole, file)
            for name, cells in scores(alone, file).items():
                assert together[name] == cells
                seen += 1
    assert seen == len(records)


def test_words_that_are_new_or_not_named(gpuclf: Gpuclf) -> None:
    records = contexts()
    data = {"train": json_lines(gpuclf.folder / "train.jsonl", records), "format": "wsd", "label": "sense"}
    run = gpuclf.trained(MODEL, data=data, features={"type": "word_sense", "by_word": True})
    held = {"tokens": ["a", "case"], "pos": ["DT", "NN"], "head": 1}
    known, new = ({"id": word, "word": word} | held for word in ("case.noun", "new.noun"))
    lines = "".join(json.dumps(one) + "\n" for one in (known, new)).encode()
    answers = gpuclf.done("predict", run, "--input-format", "wsd", "--format", "jsonl", stdin=lines).records
    assert [answer["known"] for answer in answers] == [True, False]
    senses = {name for name, score in answers[0]["scores"].items() if score != "-inf"}
    assert senses == {record["sense"] for record in records if record["word"] == "case.noun"}
    fault = gpuclf.refused("predict", run, "--input-format", "wsd", stdin=json.dumps(held).encode())
    assert "features.by_word" in fault.err
    assert "name its field in data.word" in fault.err
