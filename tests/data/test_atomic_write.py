"""Case o28, the writing half: a file is whole or unchanged, whatever happens in between."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from gpuclf.data.atomic_write import atomic_path, atomic_write
from gpuclf.faults import UserFault


def test_writes_bytes_and_text_and_leaves_nothing_else(tmp_path):
    atomic_write(tmp_path / "a.bin", b"\0\xff")
    atomic_write(tmp_path / "b.txt", "ä\r\n")
    assert (tmp_path / "a.bin").read_bytes() == b"\0\xff"
    assert (tmp_path / "b.txt").read_bytes() == "ä\r\n".encode()
    assert sorted(os.listdir(tmp_path)) == ["a.bin", "b.txt"]


@pytest.mark.parametrize("error", [RuntimeError("half way"), KeyboardInterrupt(), OSError(errno.EIO, "bad disk")])
def test_a_failure_half_way_leaves_the_old_content_and_no_temporary_file(tmp_path, error):
    target = tmp_path / "model.safetensors"
    target.write_bytes(b"good")

    def interrupted() -> None:
        with atomic_path(target) as temporary:
            assert temporary.parent == target.parent
            assert temporary.suffix == target.suffix
            temporary.write_bytes(b"hal")
            raise error

    with pytest.raises(type(error)):
        interrupted()
    assert target.read_bytes() == b"good"
    assert os.listdir(tmp_path) == [target.name]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_a_fault_that_names_the_path(tmp_path, monkeypatch, number):
    target = tmp_path / "checkpoint.bin"
    target.write_bytes(b"good")

    def full(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[:2])
        raise OSError(number, "disk full")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UserFault, match="no space") as caught:
        atomic_write(target, b"new content")
    assert str(target) in str(caught.value)
    assert target.read_bytes() == b"good"
    assert os.listdir(tmp_path) == [target.name]


def test_a_disk_that_fills_up_at_the_last_moment_counts_as_well(tmp_path, monkeypatch):
    target = tmp_path / "x"

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "disk full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserFault, match="no space"):
        atomic_write(target, b"content")
    assert os.listdir(tmp_path) == []


def test_content_is_on_disk_before_the_name_changes_and_the_folder_after(tmp_path, monkeypatch):
    events = []
    fsync, replace = os.fsync, os.replace

    def logged_fsync(handle: int) -> None:
        events.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        fsync(handle)

    def logged_replace(source: Path, target: Path) -> None:
        events.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", logged_fsync)
    monkeypatch.setattr(os, "replace", logged_replace)
    atomic_write(tmp_path / "x", b"1")
    assert events == ["file", "rename", "folder"]


def test_permissions_are_those_of_any_new_file_or_of_the_file_replaced(tmp_path):
    plain, target = tmp_path / "plain", tmp_path / "target"
    plain.write_bytes(b"")
    atomic_write(target, b"1")
    assert target.stat().st_mode == plain.stat().st_mode
    target.chmod(0o640)
    atomic_write(target, b"2")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(UserFault, match="folder does not exist"):
        atomic_write(tmp_path / "no" / "x", b"1")
