"""The architecture as tests: layers, file sizes, what start-up imports, what is shipped."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "gpuclf"
SOURCES = sorted(PACKAGE.rglob("*.py"))
CONTRACTS = {"layers", "families", "ops", "estimators", "faults", "tensorboard", "yaml", "quiet"}

# What `gpuclf --help` must not wait for: together these take seconds to import.
HEAVY = [
    "matplotlib",
    "numba",
    "numpy",
    "pyarrow",
    "pydantic",
    "rich",
    "ruamel",
    "scipy",
    "tensorboard",
    "torch",
    "triton",
]


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_imports_keep_to_the_layers():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from importlinter.cli import lint_imports_command; lint_imports_command()",
            "--no-logo",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(CONTRACTS)} kept, 0 broken" in done.stdout


def test_every_contract_is_there():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert {contract["id"] for contract in project["tool"]["importlinter"]["contracts"]} == CONTRACTS


def test_torchs_own_tensorboard_writer_is_imported_in_one_place_at_most():
    """The import contract sees torch.utils.tensorboard only as torch."""
    users = {path.relative_to(PACKAGE).as_posix() for path in SOURCES if "torch.utils.tensorboard" in imported(path)}
    assert users <= {"report/tensorboard.py"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_file_holds_one_idea(path: Path):
    source = path.read_text(encoding="utf-8")
    assert source.count("\n") <= 400, "two ideas in one file?"
    assert path.stem not in {"utils", "util", "misc", "common", "helpers"}
    long = [
        f"{node.name} at line {node.lineno}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 70
    ]
    assert not long, f"functions of more than 70 lines: {long}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_exception_is_swallowed_whole(path: Path):
    """A broad handler may tidy up, and then must raise the same exception on."""
    broad = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in {"Exception", "BaseException"})
        and not (isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None)
    ]
    assert not broad, f"bare or broad except at lines {broad}"


def test_every_op_has_a_reference_and_a_test():
    ops = sorted(path.name for path in (PACKAGE / "ops").iterdir() if (path / "__init__.py").is_file())
    assert ops
    tested = set().union(*(imported(path) for path in (ROOT / "tests" / "ops").glob("test_*.py")))
    assert not [op for op in ops if f"gpuclf.ops.{op}" not in tested]
    kernels = [op for op in ops if any((PACKAGE / "ops" / op / f"{kind}.py").is_file() for kind in ("cpu", "cuda"))]
    assert not [op for op in kernels if not (PACKAGE / "ops" / op / "reference.py").is_file()]


def test_the_command_line_starts_without_heavy_imports():
    code = (
        f"import sys, gpuclf.cli; print(*sorted(set({HEAVY!r}) & {{name.partition('.')[0] for name in sys.modules}}))"
    )
    assert run_python(code).split() == []


def test_help_starts_without_heavy_imports():
    code = f"""
import sys
from gpuclf.cli import main
try:
    code = main(["--help"])
except SystemExit as stop:
    code = stop.code
assert not code, code
print("imported:", *sorted(set({HEAVY!r}) & {{name.partition(".")[0] for name in sys.modules}}))
"""
    out = run_python(code)
    assert out.splitlines()[-1].split() == ["imported:"]
    assert "train" in out


def test_importing_the_package_imports_nothing_else():
    code = "import sys; before = set(sys.modules); import gpuclf; print(*sorted(set(sys.modules) - before))"
    assert run_python(code).split() == ["gpuclf"]


def test_the_package_ships_its_types_and_data():
    assert (PACKAGE / "py.typed").is_file()
    banking = PACKAGE / "data" / "bundled" / "banking77"
    assert {"train.tsv.gz", "test.tsv.gz"} <= {path.name for path in banking.iterdir()}
    licence = (banking / "LICENSE-CC-BY-4.0").read_text(encoding="utf-8")
    assert "Attribution 4.0 International Public License" in licence
    assert "Section 8" in licence
    assert "PolyAI" in (banking / "LICENSE").read_text(encoding="utf-8")
    ewt = PACKAGE / "data" / "bundled" / "ewt"
    assert {"train.conllu.gz", "dev.conllu.gz"} <= {path.name for path in ewt.iterdir()}
    licence = (ewt / "LICENSE-CC-BY-SA-4.0").read_text(encoding="utf-8")
    assert "Attribution-ShareAlike 4.0 International Public License" in licence
    assert "Section 8" in licence
    assert "Leland Stanford" in (ewt / "LICENSE").read_text(encoding="utf-8")
    roles = PACKAGE / "data" / "bundled" / "ewt_roles"
    assert {"train.tsv.gz", "test.tsv.gz"} <= {path.name for path in roles.iterdir()}
    assert (roles / "LICENSE-CC-BY-SA-4.0").read_bytes() == (ewt / "LICENSE-CC-BY-SA-4.0").read_bytes()
    assert "propbank" in (roles / "LICENSE").read_text(encoding="utf-8")


def imported(path: Path) -> set[str]:
    """Full names of what a file imports, wherever in the file."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names
