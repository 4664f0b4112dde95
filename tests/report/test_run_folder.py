from __future__ import annotations

import json
import math
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
import torch

from gpuclf.faults import UserFault
from gpuclf.report.run_folder import RunFolder, default_path
from gpuclf.report.strict_json import dump, number


def test_create_refuses_a_folder_that_holds_anything(tmp_path: Path) -> None:
    """Case o31: never a second run's files beside the first's."""
    RunFolder.create(tmp_path / "a" / "b").write_config("name: x\n")
    with pytest.raises(UserFault, match="not empty") as caught:
        RunFolder.create(tmp_path / "a" / "b")
    assert "run.dir" in str(caught.value)
    assert (tmp_path / "a" / "b" / "config.yaml").read_text() == "name: x\n"


def test_two_runs_cannot_claim_one_empty_folder(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.mkdir()
    RunFolder.create(path)
    with pytest.raises(UserFault, match="not empty"):
        RunFolder.create(path)


def test_create_refuses_a_file(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("mine")
    with pytest.raises(UserFault, match="is a file"):
        RunFolder.create(tmp_path / "run")
    assert (tmp_path / "run").read_text() == "mine"


def test_create_below_a_file_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserFault, match="cannot be made"):
        RunFolder.create(tmp_path / "file" / "run")


def test_default_path_is_new_every_time(tmp_path: Path) -> None:
    now = datetime(2025, 1, 31, 14, 5, 9)
    first = default_path(tmp_path, "sms mira/é", now)
    assert first == tmp_path / "sms_mira_é" / "2025-01-31_14-05-09"
    RunFolder.create(first)
    assert default_path(tmp_path, "sms mira/é", now).name == "2025-01-31_14-05-09-2"
    assert default_path(tmp_path, "../..", now).parent.parent == tmp_path


def test_open_refuses_what_is_no_run_folder(tmp_path: Path) -> None:
    with pytest.raises(UserFault, match="no such run folder"):
        RunFolder.open(tmp_path / "absent")
    with pytest.raises(UserFault, match=r"no config\.yaml"):
        RunFolder.open(tmp_path)


def test_metrics_are_strict_json_with_words_for_what_is_no_number(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    with pytest.raises(UserFault, match="gpuclf resume"):
        folder.read_metrics()
    cells = [{"options": {"model.C": math.inf}, "mean": {"accuracy": math.nan, "loss": -math.inf}}]
    folder.write_metrics({"cells": cells, "n": np.int64(3), "x": torch.tensor([1.5])})

    def refuse(word: str) -> None:
        raise AssertionError(word)

    read = json.loads(folder.metrics.read_bytes(), parse_constant=refuse)
    assert read == folder.read_metrics()
    assert read["cells"][0] == {"options": {"model.C": "inf"}, "mean": {"accuracy": "nan", "loss": "-inf"}}
    assert read["n"] == 3
    assert read["x"] == [1.5]
    assert number(read["cells"][0]["options"]["model.C"]) == math.inf
    assert folder.finished


def test_json_keeps_truth_values_and_strange_file_names() -> None:
    assert json.loads(dump({"a": True, "b": None, "c": "\udc80é"})) == {"a": True, "b": None, "c": "\udc80é"}
    assert number(True) is None
    assert number("nine") is None
    with pytest.raises(TypeError, match="object"):
        dump({"x": object()})


def test_overrides_stand_as_typed(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run")
    assert folder.overrides.read_bytes() == b""
    folder.write_overrides(["model.C=1e-3", "+name='ä b'", "data.train=\udcff.tsv"])
    assert folder.overrides.read_bytes() == "model.C=1e-3\n+name='ä b'\ndata.train=".encode() + b"\xff.tsv\n"


def test_discard_takes_away_the_folders_that_were_made_for_the_run(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.mkdir()
    first, second = (RunFolder.create(given / "runs" / "name" / time) for time in ("1", "2"))
    first.discard()
    assert second.path.exists()
    second.path.rename(given / "elsewhere")  # so that nothing is left in the folders of the first
    RunFolder(first.path, first.above).path.mkdir()
    first.discard()
    assert [folder.name for folder in given.iterdir()] == ["elsewhere"]


def test_discard_leaves_what_was_trained_or_is_foreign(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "a")
    folder.write_config("x: 1\n")
    folder.metrics_log.touch()
    folder.discard()
    assert not folder.path.exists()

    foreign = RunFolder.create(tmp_path / "b")
    (foreign.path / "notes.txt").write_text("keep")
    foreign.discard()
    assert [file.name for file in foreign.path.iterdir()] == ["notes.txt"]

    trained = RunFolder.create(tmp_path / "c")
    trained.write_config("x: 1\n")
    trained.metrics_log.write_text("{}\n")
    trained.discard()
    assert trained.config.exists()
