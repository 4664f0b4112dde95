"""o04: curly quotes and the euro sign in another encoding."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.cli.drive import Gpuclf, vocabulary


def assert_says_where(said: str, file: Path) -> None:
    assert f"{file}:2: " in said
    assert "0x92" in said
    assert "data.encoding" in said


def test_a_byte_that_is_no_utf_8_is_refused_with_its_line_and_the_setting(gpuclf: Gpuclf, case: Path) -> None:
    config = gpuclf.config("naive_bayes", data={"train": case / "mixed.txt"})
    assert_says_where(gpuclf.not_trained(config).err, case / "mixed.txt")


def test_the_locale_plays_no_part(gpuclf: Gpuclf, case: Path, repository: Path) -> None:
    config = gpuclf.config("naive_bayes", data={"train": case / "mixed.txt"})
    done = subprocess.run(
        [sys.executable, "-m", "gpuclf", "train", str(config)],
        env=os.environ | {"LC_ALL": "C", "PYTHONPATH": str(repository), "PYTHONUTF8": "0"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert_says_where(done.stderr.decode("utf-8"), case / "mixed.txt")
    assert not (gpuclf.folder / "runs" / "config").exists() or not any((gpuclf.folder / "runs" / "config").iterdir())


def test_the_encoding_that_the_config_names_is_used(gpuclf: Gpuclf, case: Path) -> None:
    file = case / "cp1252.txt"
    run = gpuclf.trained(
        "naive_bayes",
        data={"train": file, "encoding": "cp1252"},
        features={"type": "bag_of_words", "token_pattern": r"\S+"},
    )
    assert {"isn\u2019t", "\u20ac", "that\u2019s", "caf\u00e9"} <= set(vocabulary(run))
    assert gpuclf.done("predict", run, stdin="\u20ac 9\n".encode("cp1252")).labels == ["neg"]
