"""o40: the cache is used although data or settings have changed. There is no cache: every run reads its files."""

from __future__ import annotations

import os
from pathlib import Path

from tests.cli.drive import Gpuclf, vocabulary

TIME = (1_700_000_000, 1_700_000_000)


def test_a_change_of_content_alone_takes_effect(gpuclf: Gpuclf, case: Path) -> None:
    answers = []
    for version in ("v1.txt", "v2.txt"):
        file = gpuclf.text("data/train.txt", (case / version).read_bytes())
        os.utime(file, TIME)
        run = gpuclf.trained("naive_bayes", data={"train": file})
        answers += gpuclf.done("predict", run, stdin=b"red\n").labels
    assert answers == ["aa", "bb"]
    assert [path.name for path in (gpuclf.folder / "data").iterdir()] == ["train.txt"], "nothing is left beside it"


def test_a_change_of_settings_alone_takes_effect(gpuclf: Gpuclf, case: Path) -> None:
    names = [
        vocabulary(
            gpuclf.trained("naive_bayes", data={"train": case / "v1.txt"}, features={"type": "bag_of_words"} | features)
        )
        for features in ({}, {"ngrams": [1, 2]}, {"token_pattern": "[a-z]"})
    ]
    assert "red sky" not in names[0]
    assert "red sky" in names[1]
    assert names[2] == sorted("bdeklrsuy")


def test_a_read_only_folder_of_data_is_enough(gpuclf: Gpuclf, case: Path) -> None:
    file = gpuclf.text("data/train.txt", (case / "v1.txt").read_bytes())
    file.chmod(0o444)
    file.parent.chmod(0o555)
    try:
        run = gpuclf.trained("naive_bayes", data={"train": file})
    finally:
        file.parent.chmod(0o755)
    assert gpuclf.done("predict", run, stdin=b"red\n").labels == ["aa"]
