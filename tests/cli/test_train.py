"""`gpuclf train`: fresh runs, refusals, and the run folder that is left."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from safetensors import safe_open

from tests.cli.drive import Gpuclf, metrics_of, strict_json, table_of

TEXT = "".join(f"__label__{'ab'[i % 2]} {'red' if i % 2 else 'blue'} word{i % 5}\n" for i in range(20))


@pytest.fixture
def config(gpuclf: Gpuclf) -> Path:
    file = gpuclf.text("train.txt", TEXT)
    return gpuclf.config(
        "mira",
        data={"train": file},
        train={"max_epochs": 3},
        grid={"model.C": [0.1, 1.0], "features.ngrams": [[1, 1], [1, 2]]},
        folds={"k": 2},
        test={"file": file},
        run={"tensorboard": True},
    )


def test_a_run_folder_holds_all_that_it_should_and_every_file_is_valid(gpuclf: Gpuclf, config: Path) -> None:
    run, output = gpuclf.train(config, "model.average=false", "name=demo")
    assert output.out.splitlines()[-1] == f"run folder: {run}"
    names = {path.name for path in run.iterdir()}
    wanted = "config.yaml overrides.txt env.json metrics.jsonl metrics.json predictions.tsv out_of_fold.tsv"
    assert {*wanted.split(), "model.safetensors", "model.json"} <= names
    assert any(name.startswith("events.out.tfevents.") for name in names)
    assert (run / "overrides.txt").read_text().split("\n") == [f"run.dir={run}", "model.average=false", "name=demo", ""]
    rows = [strict_json(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert {row["phase"] for row in rows} == {"grid", "refit"}
    environment = strict_json((run / "env.json").read_bytes())
    assert {"gpuclf", "python", "platform", "packages", "device", "threads", "git", "seeds", "data"} <= set(environment)
    assert {Path(file["path"]).name for file in environment["data"]} == {"train.txt"}
    assert all(len(file["sha256"]) == 64 and file["size"] == len(TEXT) for file in environment["data"])
    strict_json((run / "model.json").read_bytes())
    with safe_open(run / "model.safetensors", framework="pt") as opened:
        assert "col_scale" in opened.keys()  # noqa: SIM118 (not a dict)
    for name, count in (("predictions.tsv", 20), ("out_of_fold.tsv", 20)):
        header, *documents = table_of(run / name)
        assert header == ["id", "gold", "predicted", "a", "b"]
        assert len(documents) == count
        assert all(len(document) == 5 for document in documents)


def test_metrics_json_has_the_names_that_others_rely_on(gpuclf: Gpuclf, config: Path) -> None:
    metrics = metrics_of(gpuclf.train(config)[0])
    assert len(metrics["cells"]) == 4
    for cell in metrics["cells"]:
        assert set(cell["options"]) == {"model.C", "features.ngrams"}
        assert [(run["seed"], run["fold"]) for run in cell["runs"]] == [(0, 0), (0, 1)]
        assert {"accuracy", "macro_f1"} <= set(cell["mean"]) & set(cell["std"])
    assert {"cell", "metric", "value"} <= set(metrics["best"])
    assert {"accuracy", "macro_f1", "per_class"} <= set(metrics["test"])
    assert {"read", "features", "train", "evaluate"} <= set(metrics["seconds"])
    assert metrics["device"] == "cpu"


def test_the_resolved_config_gives_the_same_run_again(gpuclf: Gpuclf, config: Path) -> None:
    first, _ = gpuclf.train(config, "seed=3", "model.update_on=error")
    again, _ = gpuclf.train(first / "config.yaml")
    for name in ("model.safetensors", "model.json", "predictions.tsv", "out_of_fold.tsv"):
        assert (first / name).read_bytes() == (again / name).read_bytes()


def contents(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()}


def test_a_folder_with_anything_in_it_is_refused_and_left_alone(gpuclf: Gpuclf, config: Path) -> None:
    run, _ = gpuclf.train(config)
    before = contents(run)
    said = gpuclf.refused("train", config, f"run.dir={run}").err
    assert "not empty" in said
    assert "run.dir" in said
    assert before == contents(run)


def test_runs_without_run_dir_lie_beside_the_config_each_in_its_own_folder(gpuclf: Gpuclf, config: Path) -> None:
    for _ in range(2):
        gpuclf.done("train", config, "~grid", "~folds", "run.tensorboard=false")
    assert len(list((gpuclf.folder / "runs" / "config").iterdir())) == 2


@pytest.mark.parametrize("place", ["train.txt", "/proc/gpuclf-run", "train.txt/run"])
def test_a_folder_that_cannot_be_made_is_refused(gpuclf: Gpuclf, config: Path, place: str) -> None:
    output = gpuclf.refused("train", config, f"run.dir={gpuclf.folder / place}")
    assert "run.dir" in output.err
    assert len(output.errors) == 1


@pytest.mark.parametrize(
    ("override", "hint"),
    [
        ("model.c=1", "did you mean model.C?"),
        ("model.C=much", "number"),
        ("model.C", "has no '='"),
        ("+model.type=mira", "is there already"),
        ("~nothing", "cannot be removed"),
        ("seed=0,1", "comma"),
        ("grid.model.C=[1", "missing at the end"),
        ("model.type=mir", "mira"),
        ("folds.k=1", "2"),
        ("train.max_epochs=0", "1"),
        ("validation.fraction=0.5", "folds"),
    ],
)
def test_bad_overrides_are_told_by_what_was_typed(gpuclf: Gpuclf, config: Path, override: str, hint: str) -> None:
    output = gpuclf.not_trained(config, override)
    assert f"override '{override}'" in output.err
    assert hint in output.err


def test_a_missing_config_is_told_as_written_and_as_resolved(gpuclf: Gpuclf) -> None:
    said = gpuclf.refused("train", "no.yaml").err
    assert "no.yaml" in said
    assert str(gpuclf.folder / "standing" / "no.yaml") in said
    assert "is a folder" in gpuclf.refused("train", ".").err


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("__label__a red\nno marker\n", "train.txt:2: "),
        ("", "holds no document"),
        ("__label__a red\n__label__a blue\n", "two classes"),
        ("__label__a red\n__label__b \xff\n", "train.txt:2: "),
    ],
)
def test_bad_data_leave_no_run_folder(gpuclf: Gpuclf, config: Path, text: str, hint: str) -> None:
    gpuclf.text("train.txt", text.encode("latin-1"))
    assert hint in gpuclf.not_trained(config).err


def test_a_bad_test_file_is_found_out_before_training(gpuclf: Gpuclf, config: Path) -> None:
    test = gpuclf.text("test.txt", "__label__a red\nno marker\n")
    output = gpuclf.not_trained(config, f"test.file={test}")
    assert f"{test}:2: " in output.err
    assert "docs/s" not in output.err


def test_a_finished_run_has_nothing_to_resume(gpuclf: Gpuclf, config: Path) -> None:
    run, _ = gpuclf.train(config)
    before = (run / "metrics.json").read_bytes()
    assert "nothing to resume" in gpuclf.done("resume", run).out
    assert (run / "metrics.json").read_bytes() == before
    shutil.rmtree(run)
    assert "there is no such run folder" in gpuclf.refused("resume", run).err
