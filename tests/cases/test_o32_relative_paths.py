"""o32: relative paths depend on where one stands. Rule: paths in a config are relative to that config file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.drive import Gpuclf, about_model, metrics_of


@pytest.fixture
def project(gpuclf: Gpuclf, case: Path) -> Path:
    """The case's folders, copied: proj/ with the config, elsewhere/ with files of the same names."""
    for name in ("proj", "elsewhere"):
        shutil.copytree(case / name, gpuclf.folder / name)
    return gpuclf.folder


@pytest.mark.parametrize(
    ("standing", "given"),
    [
        ("proj", lambda root: Path("configs/run.yaml")),
        ("proj/configs", lambda root: Path("run.yaml")),
        ("proj/configs", lambda root: Path("./../configs/run.yaml")),
        ("elsewhere", lambda root: Path("../proj/configs/run.yaml")),
        ("elsewhere", lambda root: root / "proj/configs/run.yaml"),
        ("/", lambda root: root / "proj/configs/run.yaml"),
        ("/", lambda root: Path(os.path.relpath(root / "proj/configs/run.yaml", "/"))),
    ],
)
def test_the_same_files_from_everywhere(
    gpuclf: Gpuclf, project: Path, monkeypatch: pytest.MonkeyPatch, standing: str, given: Callable[[Path], Path]
) -> None:
    monkeypatch.chdir(project / standing)
    output = gpuclf.done("train", given(project))
    (run,) = (project / "proj" / "configs" / "out" / "run").iterdir()
    assert about_model(run)["classes"] == ["other", "right"]
    assert metrics_of(run)["test"]["accuracy"] == 1.0
    assert f"read {project / 'proj' / 'data' / 'train.txt'}: " in output.err
    assert f"read {project / 'proj' / 'configs' / 'data' / 'test.txt'}: " in output.err
    assert output.out.splitlines()[-1] == f"run folder: {run}"


def test_through_a_symbolic_link_the_real_config_counts(
    gpuclf: Gpuclf, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "elsewhere" / "link.yaml").symlink_to(project / "proj" / "configs" / "run.yaml")
    monkeypatch.chdir(project / "elsewhere")
    gpuclf.done("train", "link.yaml")
    ((run,),) = [list(folder.iterdir()) for folder in (project / "proj" / "configs" / "out").iterdir()]
    assert about_model(run)["classes"] == ["other", "right"]


def test_a_sweep_of_two(gpuclf: Gpuclf, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "elsewhere")
    gpuclf.done(
        "train",
        "../proj/configs/run.yaml",
        "grid.model.alpha=[0.5,1]",
        "folds={k: 2, stratified: false, allow_small: true}",
        "data.train=../proj/data/train.txt",
    )
    (run,) = (project / "proj" / "configs" / "out" / "run").iterdir()
    assert about_model(run)["classes"] == ["other", "right"]
    assert not list((project / "elsewhere").rglob("metrics.json"))


def test_a_missing_file_is_shown_as_written_and_as_resolved(
    gpuclf: Gpuclf, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "elsewhere")
    config = project / "proj" / "configs" / "run.yaml"
    config.write_text(config.read_text(encoding="utf-8").replace("../data/train.txt", "../data/trian.txt"))
    said = gpuclf.refused("train", config).err
    assert "../data/trian.txt" in said
    assert str(project / "proj" / "data" / "trian.txt") in said
    assert "relative to the config file" in said
    assert f"{config}:1: data.train" in said
    assert not list((project / "proj").rglob("config.yaml"))


def test_a_missing_test_file_is_found_out_before_training(gpuclf: Gpuclf, project: Path) -> None:
    (project / "proj" / "configs" / "data" / "test.txt").unlink()
    config = project / "proj" / "configs" / "run.yaml"
    output = gpuclf.refused("train", config)
    assert str(project / "proj" / "configs" / "data" / "test.txt") in output.err
    assert "docs/s" not in output.err, "nothing was trained"
    assert not list((project / "proj").rglob("config.yaml"))
