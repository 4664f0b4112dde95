"""Checkpoints are whole or not there; a torn one is recognised and the one before it used (case o28)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from gpuclf.faults import UserFault
from gpuclf.train.checkpoint import Checkpoint, load_latest, save_checkpoint


def write(folder: Path, number: int) -> Path:
    return save_checkpoint(folder, Checkpoint({"weights": torch.full((300,), float(number))}, {"step": number}))


def test_values_and_tensors_come_back(tmp_path: Path) -> None:
    tensors = {"a": torch.arange(5), "b": torch.zeros(0), "c": torch.tensor(True)}
    save_checkpoint(tmp_path, Checkpoint(tensors, {"text": "é\n", "list": [1, None]}))
    found = load_latest(tmp_path, pytest.fail)
    assert found is not None
    assert found.values == {"text": "é\n", "list": [1, None]}
    assert found.tensors.keys() == tensors.keys()
    for name, tensor in tensors.items():
        torch.testing.assert_close(found.tensors[name], tensor, rtol=0, atol=0)


def test_the_last_two_are_kept(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path, number)
    assert len(list(tmp_path.iterdir())) == 2
    found = load_latest(tmp_path, pytest.fail)
    assert found is not None
    assert found.values["step"] == 4


@pytest.mark.parametrize("share", [0.0, 0.6, 0.999])
def test_a_cut_checkpoint_is_named_and_the_one_before_it_used(tmp_path: Path, share: float) -> None:
    write(tmp_path, 1)
    newest = write(tmp_path, 2)
    os.truncate(newest, int(newest.stat().st_size * share))
    notes: list[str] = []
    found = load_latest(tmp_path, notes.append)
    assert found is not None
    assert found.values["step"] == 1
    assert str(newest) in notes[0]


def test_a_changed_byte_is_recognised_too(tmp_path: Path) -> None:
    write(tmp_path, 1)
    newest = write(tmp_path, 2)
    content = bytearray(newest.read_bytes())
    content[-1] ^= 1
    newest.write_bytes(content)
    notes: list[str] = []
    found = load_latest(tmp_path, notes.append)
    assert found is not None
    assert found.values["step"] == 1


def test_a_full_disk_leaves_the_old_one_and_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = write(tmp_path, 1)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserFault, match="no space"):
        write(tmp_path, 2)
    assert list(tmp_path.iterdir()) == [kept]


def test_no_folder_is_no_checkpoint(tmp_path: Path) -> None:
    assert load_latest(tmp_path / "none", pytest.fail) is None
