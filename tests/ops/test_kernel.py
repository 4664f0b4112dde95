"""Compiled kernels are found again only while every line of kernel source is the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import numba
import pytest

from gpuclf.ops import kernel


def test_compiled_code_lies_under_a_digest_of_all_kernel_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = kernel._cache_folder()
    copy = tmp_path / "ops"
    shutil.copytree(Path(kernel.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(kernel, "_SOURCES", copy)
    assert kernel._cache_folder() == before
    helper = copy / "sparse_rows.py"
    helper.write_text(helper.read_text() + "# changed\n")
    assert kernel._cache_folder() != before


def test_every_kernel_is_compiled_this_way() -> None:
    sources = Path(kernel.__file__).parent
    others = [path for path in sources.rglob("*.py") if path.name != "kernel.py"]
    assert len(others) > 40
    assert not [path for path in others if "njit" in path.read_text() or "numba.jit" in path.read_text()]
    assert numba.config.CACHE_DIR
