"""Real files, where they are at hand ($GPUCLF_DATA or ../shared/data): sizes, and the time that reading takes."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest

from tests.data.reading import Read, read


def _file(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        pytest.skip(f"no {name} among the measuring data at {folder}")
    return path


@pytest.mark.parametrize(
    ("name", "records", "classes"),
    [("20news/train", 11314, 20), ("r52/train", 6532, 52), ("trec6/train", 5452, 6), ("sms_spam/test", 1114, 2)],
)
def test_text_sets_have_the_documents_and_classes_that_they_are_known_for(shared_data, name, records, classes):
    found = read(_file(shared_data, f"text/{name}.tsv.gz"), header=False, columns=["label", "text"])
    assert found.report.records == found.report.lines == records
    assert len(found.report.per_class) == classes
    assert sum(found.report.per_class.values()) == records


def test_svmlight_of_r52(shared_data):
    found = read(_file(shared_data, "text/svmlight/r52.train.svm.gz"), index_base=1)
    assert found.report.records == 6532
    assert sum(len(chunk.indexed.values) for chunk in found.chunks) == 472943


def _cpu_seconds(work) -> float:
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


@pytest.mark.slow
def test_reading_20_newsgroups_takes_little_more_than_unpacking_it(shared_data):
    path = _file(shared_data, "text/20news/train.tsv.gz")
    unpacking = _cpu_seconds(lambda: gzip.decompress(path.read_bytes()))
    reading = _cpu_seconds(lambda: _check(read(path, header=False, columns=["label", "text"])))
    assert reading < unpacking + 0.5


def _check(found: Read) -> None:
    assert found.report.records == 11314
