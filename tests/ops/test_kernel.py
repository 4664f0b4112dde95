"""Compiled kernels are found again only while every line of their source is the same."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from gpuclf.ops import kernel
from gpuclf.ops.sparse_scores import cpu as scores_kernel


def test_compiled_code_lies_under_a_digest_of_all_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "ops"
    shutil.copytree(Path(kernel.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(kernel, "_SOURCES", copy)
    file = copy / "sparse_scores" / "cpu.py"
    before = kernel.cache_folder(file)
    other = copy / "word_spans" / "cpu.py"
    other.write_text(other.read_text() + "# changed\n")
    assert kernel.cache_folder(file) == before, "what the kernel does not import is nothing to it"
    helper = copy / "prefetch.py"  # imported by a file that the kernel imports
    helper.write_text(helper.read_text() + "# changed\n")
    assert kernel.cache_folder(file) != before


def test_what_python_loads_for_a_kernel_is_what_its_digest_covers() -> None:
    root = Path(kernel.__file__).parent
    found = {path.relative_to(root).as_posix() for path in kernel.sources_of(Path(scores_kernel.__file__))}
    assert {"sparse_scores/cpu.py", "sparse_rows.py", "prefetch.py", "kernel.py"} <= found
    assert "word_spans/cpu.py" not in found


def test_imports_over_several_lines_and_of_submodules_are_followed(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text(
        "from gpuclf.ops.sparse_rows import (\n    block_scores,\n    row_values,\n)\n"
        "def late():\n    from gpuclf.ops.online_epoch import reference as other, records\n"
    )
    names = {path.as_posix().partition("/ops/")[2] for path in kernel.sources_of(file)}
    assert {
        "sparse_rows.py",
        "online_epoch/reference.py",
        "online_epoch/records.py",
        "online_epoch/__init__.py",
    } <= names


def test_every_kernel_is_compiled_this_way() -> None:
    sources = Path(kernel.__file__).parent
    others = [path for path in sources.rglob("*.py") if path.name != "kernel.py"]
    assert len(others) > 40
    assert not [path for path in others if "njit" in path.read_text() or "numba.jit" in path.read_text()]


def test_kernels_say_where_their_code_lies() -> None:
    compiled = [value for value in vars(scores_kernel).values() if hasattr(value, "_cache")]
    assert len(compiled) >= 2
    for function in compiled:
        folder = kernel.cache_folder(Path(sys.modules[function.__module__].__file__ or ""))
        assert str(function._cache.cache_path).startswith(folder)
