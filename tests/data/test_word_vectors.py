"""Files of word vectors: header or none, words with blanks, duplicates, coverage, and lines that are wrong."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from gpuclf.data.word_vectors import read_word_vectors
from gpuclf.faults import UserFault

WORDS = ["cat", "dog", "New York", "unheard"]


def written(folder: Path, text: str, name: str = "vectors.txt") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("header", ["", "3 2\n"])
@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz"])
def test_header_or_none(tmp_path: Path, header: str, name: str) -> None:
    path = written(tmp_path, header + "dog 1 -2.5\nhorse 7 8\nNew York 3 4e-1 \n", name)
    found = read_word_vectors(path, WORDS, "features.vectors")
    nan = np.nan
    np.testing.assert_array_equal(found.vectors, np.float32([[nan, nan], [1, -2.5], [3, 0.4], [nan, nan]]))
    assert (found.found, found.lines, found.duplicates) == (2, 3, 0)


def test_of_two_vectors_of_a_word_the_first_counts(tmp_path: Path) -> None:
    found = read_word_vectors(written(tmp_path, "cat 1 2\ncat 3 4\n"), WORDS, "k")
    assert found.vectors[0].tolist() == [1, 2]
    assert found.duplicates == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cat 1 2\ndog 1\n", r":2: has 1 numbers, the first line has 2"),
        ("2 3\ncat 1 2\n", r":2: has 2 numbers, the header says 3"),
        ("cat 1 x\n", r":1: .*no vector"),
        ("cat 1 inf\n", r":1: .*infinite"),
        ("", "holds no vector"),
        ("2 3\n", "holds no vector"),
        ("cat 1 2\ndog 1 2 3\n", ":2: has 3 numbers, the first line has 2"),
        ("cat\n", r":1: has 0 numbers"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserFault, match=message):
        read_word_vectors(written(tmp_path, text), WORDS, "k")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserFault, match="no such file"):
        read_word_vectors(tmp_path / "none.txt", WORDS, "features.vectors")
