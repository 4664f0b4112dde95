"""o29: opening a model from a stranger runs its code."""

from __future__ import annotations

import io
import os
import pickle
import shutil
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from tests.cli.drive import Gpuclf

TRAIN = Path(__file__).parent / "data" / "o08" / "train.txt"


class Evil:
    """Unpickled, it creates a folder."""

    def __init__(self, marker: Path):
        self._marker = str(marker)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str]]:
        return os.mkdir, (self._marker,)


@pytest.fixture
def marker(tmp_path: Path) -> Iterator[Path]:
    """Where a folder appears when the code of an evil file has run. It must not."""
    path = tmp_path / "PWNED"
    yield path
    assert not path.exists(), "the code of the file was run"


@pytest.fixture(params=["pickle", "torch"])
def evil(request: pytest.FixtureRequest, marker: Path) -> bytes:
    """The content of a file that runs code when it is unpickled."""
    if request.param == "pickle":
        return pickle.dumps({"weights": [0.5], "x": Evil(marker)})
    content = io.BytesIO()
    torch.save({"weights": torch.zeros(2, 3), "x": Evil(marker)}, content)
    return content.getvalue()


@pytest.fixture
def run(gpuclf: Gpuclf) -> Path:
    """A good run with checkpoints, interrupted before its end as far as its files tell."""
    config = gpuclf.config("perceptron", data={"train": TRAIN}, train={"max_epochs": 4, "checkpoint_every": 1})
    folder, _ = gpuclf.train(config)
    return folder


def test_the_files_are_dangerous_indeed(evil: bytes, tmp_path: Path) -> None:
    marker = tmp_path / "PWNED"
    try:
        pickle.loads(evil)
    except pickle.UnpicklingError:
        with pytest.raises((TypeError, RuntimeError, AttributeError, pickle.UnpicklingError)):
            torch.load(io.BytesIO(evil), weights_only=True)
        return
    assert marker.exists()
    marker.rmdir()


@pytest.mark.parametrize("name", ["evil.pkl", "evil.pt", "model.bin", "model.safetensors", "model.json"])
def test_as_a_model_file(gpuclf: Gpuclf, evil: bytes, name: str) -> None:
    file = gpuclf.text(name, evil)
    for command in ("predict", "show", "resume"):
        said = gpuclf.refused(command, file, stdin=b"hello\n").err
        assert "pickled objects" in said
        assert "never loaded" in said
    assert "pickled objects" in gpuclf.refused("eval", file, TRAIN).err


@pytest.mark.parametrize("name", ["model.safetensors", "model.json"])
def test_inside_a_run_folder(gpuclf: Gpuclf, run: Path, evil: bytes, name: str) -> None:
    (run / name).write_bytes(evil)
    for command in (("predict", run), ("show", run), ("eval", run, TRAIN)):
        said = gpuclf.refused(*command, stdin=b"hello\n").err
        assert str(run / name) in said
        assert "pickled objects" in said


def test_as_a_checkpoint(gpuclf: Gpuclf, run: Path, evil: bytes) -> None:
    (run / "metrics.json").unlink()
    shutil.rmtree(run / "checkpoints")
    (run / "checkpoints").mkdir()
    (run / "checkpoints" / f"00000001-{zlib.crc32(evil):08x}.safetensors").write_bytes(evil)
    said = gpuclf.refused("resume", run).err
    assert "pickled objects are never loaded" in said
    assert str(run / "checkpoints") in said


@pytest.mark.parametrize("name", ["evil.pkl", "evil.pt"])
def test_a_checkpoint_of_another_format_is_not_looked_at(gpuclf: Gpuclf, run: Path, evil: bytes, name: str) -> None:
    (run / "metrics.json").unlink()
    shutil.rmtree(run / "checkpoints")
    (run / "checkpoints").mkdir()
    (run / "checkpoints" / name).write_bytes(evil)
    assert "from the beginning" in gpuclf.done("resume", run).err


@pytest.mark.parametrize("format", [None, "tsv", "csv", "jsonl", "parquet", "fasttext", "svmlight", "vw"])
def test_as_data(gpuclf: Gpuclf, evil: bytes, format: str | None) -> None:
    data = {"train": gpuclf.text("evil.pkl", evil), "format": format}
    features = {"type": "as_given" if format in ("svmlight", "vw") else "bag_of_words"}
    gpuclf.not_trained(gpuclf.config("naive_bayes", data=data, features=features))


def test_as_data_to_predict(gpuclf: Gpuclf, run: Path, evil: bytes) -> None:
    file = gpuclf.text("evil.txt", evil)
    gpuclf.refused("predict", run, file)
    gpuclf.refused("eval", run, file)
    gpuclf.refused("predict", run, stdin=evil)


def test_as_a_config(gpuclf: Gpuclf, evil: bytes) -> None:
    for command in ("train", "check"):
        gpuclf.refused(command, gpuclf.text("config.yaml", evil))
    marked = gpuclf.text("tagged.yaml", "model: !!python/object/apply:os.system ['touch PWNED']\n")
    assert f"{marked}:1" in gpuclf.refused("train", marked).err


def test_own_files_are_numbers_and_text(run: Path) -> None:
    names = {path.suffix for path in run.rglob("*") if path.is_file()}
    assert names <= {".html", ".json", ".jsonl", ".yaml", ".txt", ".tsv", ".safetensors"}
    for path in run.rglob("*.safetensors"):
        assert path.read_bytes()[8:9] == b"{", "safetensors begin with the length of a JSON header"
