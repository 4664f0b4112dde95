"""o05: exotic separators inside a document shift all later labels by one."""

from __future__ import annotations

from pathlib import Path

from tests.cli.drive import Gpuclf, table_of, vocabulary


def test_only_a_line_feed_ends_a_document(gpuclf: Gpuclf, case: Path) -> None:
    docs = case / "docs.txt"
    assert len(docs.read_text(encoding="utf-8").splitlines()) > 4
    config = gpuclf.config("naive_bayes", data={"train": docs, "format": "lines", "labels": case / "labels.txt"})
    run, output = gpuclf.train(config)
    assert "4 records in 4 lines" in output.err
    assert "4 classes: a 1, b 1, c 1, d 1" in output.err
    assert vocabulary(run) == ["done", "east", "going", "north", "south", "west"]
    assert gpuclf.done("predict", run, docs).labels == ["a", "b", "c", "d"]
    assert gpuclf.done("predict", run, stdin=docs.read_bytes()).labels == ["a", "b", "c", "d"]


def test_a_separator_inside_json_is_no_line_end_either(gpuclf: Gpuclf, case: Path) -> None:
    file = case / "one.jsonl"
    run, output = gpuclf.train(gpuclf.config("naive_bayes", data={"train": file}, test={"file": file}))
    assert "2 records in 2 lines" in output.err
    assert [row[1] for row in table_of(run / "predictions.tsv")[1:]] == ["a", "b"]
    assert gpuclf.done("predict", run, file).labels == ["a", "b"]


def test_parallel_files_of_unequal_length_are_refused_with_both_counts(gpuclf: Gpuclf, case: Path) -> None:
    data = {"train": case / "docs.txt", "format": "lines", "labels": case / "short_labels.txt"}
    said = gpuclf.not_trained(gpuclf.config("naive_bayes", data=data)).err
    assert "short_labels.txt" in said
    assert "3" in said
    assert "4" in said
