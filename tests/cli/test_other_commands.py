"""show, check, init, --help, --version, and what is no command."""

from __future__ import annotations

import pytest

from gpuclf import __version__
from gpuclf.cli import main
from gpuclf.models.registry import LEARNERS
from tests.cli.drive import Gpuclf, every_learner

TRAIN = "__label__ham hello friend\n__label__ham good day\n__label__spam win cash\n__label__spam cash now\n"
COMMANDS = ("train", "resume", "eval", "predict", "show", "check", "init")


@pytest.mark.parametrize("model", every_learner().values(), ids=every_learner())
def test_show_names_options_features_and_confusions(gpuclf: Gpuclf, model: dict[str, str]) -> None:
    file = gpuclf.text("train.txt", TRAIN)
    run = gpuclf.trained(model, data={"train": file}, test={"file": file})
    out = gpuclf.done("show", run, "--features", "2").out
    assert "2 classes, 7 features" in out
    assert "model.type" in out
    assert "of 4 documents are wrong" in out
    weighs_none = model.get("variant") == "bernoulli" or "optimizer" in LEARNERS[model["type"]].train_keys
    assert "cash" in out or weighs_none


def test_show_of_what_is_no_run(gpuclf: Gpuclf) -> None:
    assert "there is no such run folder" in gpuclf.refused("show", gpuclf.folder / "absent").err
    assert "no config.yaml" in gpuclf.refused("show", gpuclf.folder).err


def test_check_tells_sizes_and_trains_nothing(gpuclf: Gpuclf) -> None:
    file = gpuclf.text("train.txt", TRAIN)
    config = gpuclf.config("mira", data={"train": file}, grid={"model.C": [0.1, 1], "seed": [0, 1]}, folds={"k": 2})
    output = gpuclf.done("check", config)
    facts = dict(line.split(maxsplit=1) for line in output.lines)
    assert facts["documents"] == "4"
    assert facts["features"].startswith("7 ")
    assert facts["models"] == "8 to choose among, in 1 batch of 8"
    assert "4 records in 4 lines" in output.err
    assert sorted(path.name for path in gpuclf.folder.iterdir()) == ["config.yaml", "standing", "train.txt"]


def test_check_tells_a_file_once_however_often_it_is_read(gpuclf: Gpuclf) -> None:
    file = gpuclf.text("train.txt", TRAIN)
    grid = {"features.ngrams": [[1, 1], [1, 2]]}
    config = gpuclf.config("mira", data={"train": file}, grid=grid, folds={"k": 2})
    assert gpuclf.done("check", config).err.count("4 records in 4 lines") == 1
    assert gpuclf.train(config)[1].err.count("4 records in 4 lines") == 1


def test_check_tells_all_faults_at_once_with_file_and_line(gpuclf: Gpuclf) -> None:
    config = gpuclf.text("bad.yaml", "nmae: x\nmodel: {type: mira, C: 0}\ntrain:\n  max_epochs: no\n")
    errors = gpuclf.refused("check", config, "seed=-1").errors
    assert [error.split(": ")[1] for error in errors[:3]] == [f"{config}:{line}" for line in (1, 2, 4)]
    assert "override 'seed=-1'" in errors[3]
    assert len(errors) == 4


def test_check_finds_missing_files_and_small_classes(gpuclf: Gpuclf) -> None:
    file = gpuclf.text("train.txt", TRAIN)
    absent = {"train": gpuclf.folder / "absent.txt"}
    config = gpuclf.config("mira", data=absent, test={"file": gpuclf.folder / "none.txt"})
    assert len(gpuclf.refused("check", config).errors) == 2
    config = gpuclf.config("mira", data={"train": file}, folds={"k": 3})
    assert "fewer than 3 folds" in gpuclf.refused("check", config).err


def test_init_writes_what_train_can_run(gpuclf: Gpuclf) -> None:
    folder = gpuclf.folder / "mine"
    output = gpuclf.done("init", folder)
    config = folder / "experiment.yaml"
    assert output.lines[-1] == f"next: gpuclf train {config}"
    assert (folder / "data" / "LICENSE").is_file()
    gpuclf.done("check", config)
    run, trained = gpuclf.train(config, "train.max_epochs=1", "run.tensorboard=false")
    assert "test: documents" in trained.out
    assert gpuclf.done("predict", run, stdin=b"my card has not arrived\n").lines


def test_init_never_writes_over_anything(gpuclf: Gpuclf) -> None:
    file = gpuclf.text("mine/notes.txt", "mine")
    assert "not empty" in gpuclf.refused("init", gpuclf.folder / "mine").err
    assert "is a file" in gpuclf.refused("init", file).err
    assert "cannot be written" in gpuclf.refused("init", "/proc/gpuclf-starter").err
    assert [path.name for path in (gpuclf.folder / "mine").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 0
    out = capsys.readouterr().out
    assert "usage: gpuclf" in out
    if len(arguments) == 1:
        assert all(name in out for name in COMMANDS)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"gpuclf {__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["frobnicate"], ["train"], ["predict"], ["train", "x", "--frob"]])
def test_what_is_no_command(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert "usage: gpuclf" in capsys.readouterr().err
