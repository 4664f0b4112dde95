"""`gpuclf predict` and `gpuclf eval`: one line a document, figures of a labelled file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.drive import Gpuclf, strict_json

TRAIN = "__label__ham hello friend\n__label__ham good day\n__label__spam win cash\n__label__spam cash now\n"


@pytest.fixture
def run(gpuclf: Gpuclf) -> Path:
    return gpuclf.trained("naive_bayes", data={"train": gpuclf.text("train.txt", TRAIN)})


@pytest.fixture
def without_probabilities(gpuclf: Gpuclf) -> Path:
    return gpuclf.trained("perceptron", data={"train": gpuclf.text("train.txt", TRAIN)})


def test_output_lines_equal_input_lines(gpuclf: Gpuclf, run: Path) -> None:
    texts = ["hello", "", "  ", "cash\tnow", "unknown\x0bwords\x0chere", "win \u2028 cash"] * 7
    stdin = "".join(f"{text}\n" for text in texts).encode()
    assert gpuclf.done("predict", run, stdin=stdin).labels == ["ham", "ham", "ham", "spam", "ham", "spam"] * 7
    assert len(gpuclf.done("predict", run, stdin=b"hello").lines) == 1
    assert gpuclf.done("predict", run, stdin=b"").out == ""
    assert gpuclf.done("predict", run, stdin=b"\n").lines == ["ham\tno_known_feature"]


def test_a_file_in_the_format_of_the_data_needs_no_labels(gpuclf: Gpuclf, run: Path) -> None:
    file = gpuclf.text("new.txt", "hello\n__label__ham cash now\n")
    assert gpuclf.done("predict", run, file).labels == ["ham", "spam"]
    table = gpuclf.text("new.csv", "id,text\n1,cash\n2,good\n")
    assert gpuclf.done("predict", run, table, "--input-format", "csv").labels == ["spam", "ham"]
    said = gpuclf.refused("predict", run, file, "--input-format", "xml").err
    assert "fasttext" in said


def test_json_lines_and_probabilities(gpuclf: Gpuclf, run: Path) -> None:
    records = gpuclf.done("predict", run, "--format", "jsonl", "--proba", stdin=b"cash\n\n").records
    assert records[0]["label"] == "spam"
    assert records[1] == {
        "label": "ham",
        "known": False,
        "remark": "no_known_feature",
        "probabilities": pytest.approx({"ham": 0.5, "spam": 0.5}),
    }
    (line,) = gpuclf.done("predict", run, "--proba", stdin=b"cash\n").lines
    label, remark, *shares = line.split("\t")
    assert (label, remark) == ("spam", "")
    values = dict(share.split("=") for share in shares)
    assert list(values) == ["ham", "spam"]
    assert sum(map(float, values.values())) == pytest.approx(1.0)


def test_probabilities_are_refused_where_there_are_none(gpuclf: Gpuclf, without_probabilities: Path) -> None:
    said = gpuclf.refused("predict", without_probabilities, "--proba", stdin=b"cash\n").err
    assert "perceptron gives scores, not probabilities" in said
    (record,) = gpuclf.done("predict", without_probabilities, "--format", "jsonl", stdin=b"cash\n").records
    assert set(record["scores"]) == {"ham", "spam"}


def test_what_cannot_be_read_is_refused(gpuclf: Gpuclf, run: Path) -> None:
    assert "no such file" in gpuclf.refused("predict", run, "absent.txt").err
    assert "no trained model" in gpuclf.refused("predict", gpuclf.folder / "absent", stdin=b"").err
    assert "is not a device" in gpuclf.refused("predict", run, "--device", "tpu", stdin=b"x\n").err
    assert "<stdin>:2: byte 0xff" in gpuclf.refused("predict", run, stdin=b"\n\xff\n").err


def test_a_reader_that_stops_reading_causes_no_traceback(gpuclf: Gpuclf, run: Path, repository: Path) -> None:
    many = gpuclf.text("many.txt", "hello friend\n" * 60_000)
    process = subprocess.Popen(
        [sys.executable, "-m", "gpuclf", "predict", str(run), str(many)],
        env=os.environ | {"PYTHONPATH": str(repository)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b"ham")
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()
    process.wait(timeout=60)
    assert b"Traceback" not in said
    assert b"Exception" not in said


def test_eval_prints_figures(gpuclf: Gpuclf, run: Path) -> None:
    file = gpuclf.text("test.txt", "__label__ham hello\n__label__spam cash\n__label__spam day\n__label__ham \n")
    output = gpuclf.done("eval", run, file)
    assert "documents 4, accuracy 0.7500" in output.out
    figures = strict_json(gpuclf.done("eval", run, file, "--json").out)
    assert figures["documents"] == 4
    assert figures["accuracy"] == 0.75
    assert figures["no_known_feature"] == 1
    assert figures["per_class"]["ham"] == {
        "precision": pytest.approx(2 / 3),
        "recall": 1.0,
        "f1": pytest.approx(0.8),
        "support": 2,
        "predicted": 3,
    }


def test_eval_wants_labels(gpuclf: Gpuclf, run: Path) -> None:
    file = gpuclf.text("new.txt", "hello\ncash\n")
    assert "no label" in gpuclf.refused("eval", run, file).err
    assert "holds no document" in gpuclf.refused("eval", run, gpuclf.text("empty.txt", "")).err
    assert "no such file" in gpuclf.refused("eval", run, "absent.txt").err


def test_eval_and_the_test_of_the_run_agree(gpuclf: Gpuclf) -> None:
    file = gpuclf.text("train.txt", TRAIN)
    run = gpuclf.trained("mira", data={"train": file}, test={"file": file})
    test = json.loads((run / "metrics.json").read_bytes())["test"]
    assert strict_json(gpuclf.done("eval", run, file, "--json").out) == test
