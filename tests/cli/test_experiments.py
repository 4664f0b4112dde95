"""Whole experiments through the command: grids, folds, validation, seeds, memory; a cell is what it would be alone."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from gpuclf.models.registry import LEARNERS
from tests.cli.drive import Gpuclf, Output, metrics_of, strict_json

CLASSES = ("ash", "fir", "yew")


def texts(count: int, seed: int) -> str:
    """fastText lines of three classes whose words overlap, so that no learner is right about all."""
    draw = random.Random(seed)
    lines = []
    for number in range(count):
        place = number % 3
        words = [f"w{draw.choice([place, place, 3, 4, 5])}{draw.randrange(3)}" for _ in range(4)]
        lines.append(f"__label__{CLASSES[place]} {' '.join(words)}\n")
    return "".join(lines)


# Of documents. Searches over the words of bags take minutes: test_decomposable has a table for them.
CLASSIFIERS = [
    name
    for name, kind in LEARNERS.items()
    if kind.task == "classify" and "sparse" in kind.reads and name != "decomposable"
]


@pytest.fixture
def files(gpuclf: Gpuclf) -> dict[str, Path]:
    return {
        name: gpuclf.text(f"{name}.txt", texts(count, seed))
        for name, count, seed in (("train", 60, 0), ("test", 30, 1))
    }


def grid_of(kind: str) -> dict[str, list[Any]]:
    """Two per-replica values where the learner has such an option, and two kinds of features."""
    numeric = {key: [0.05, 0.5] for key in sorted(LEARNERS[kind].per_replica) if key in ("model.C", "model.alpha")}
    return {**numeric, "features.ngrams": [[1, 1], [1, 2]]}


def figures_of(run: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in run.items() if name not in ("seed", "fold")}


def overrides_for(options: dict[str, Any]) -> list[str]:
    return [f"{key}={value}" for key, value in options.items()]


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_cell_of_a_grid_is_what_a_run_of_its_own_gives(gpuclf: Gpuclf, files: dict[str, Path], kind: str) -> None:
    config = gpuclf.config(
        kind, data={"train": files["train"]}, grid=grid_of(kind) | {"seed": [0, 5]}, folds={"k": 3}, **_epochs(kind)
    )
    together = metrics_of(gpuclf.train(config)[0])
    assert len({run["accuracy"] for cell in together["cells"] for run in cell["runs"]}) > 1
    for cell in together["cells"][::3]:
        for run in cell["runs"][1:]:
            fold = f"validation.fold={{k: 3, index: {run['fold']}}}"
            alone = gpuclf.train(
                config,
                "~grid",
                "~folds",
                f"seed={run['seed']}",
                fold,
                "validation.seed=0",
                *overrides_for(cell["options"]),
            )
            ((single,),) = [entry["runs"] for entry in metrics_of(alone[0])["cells"]]
            assert figures_of(single) == figures_of(run)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_the_model_of_the_chosen_cell_is_what_training_it_alone_gives(
    gpuclf: Gpuclf, files: dict[str, Path], kind: str
) -> None:
    config = gpuclf.config(kind, data={"train": files["train"]}, grid=grid_of(kind), folds={"k": 3}, **_epochs(kind))
    run, _ = gpuclf.train(config)
    best = metrics_of(run)["best"]["options"]
    alone, _ = gpuclf.train(config, "~grid", "~folds", *overrides_for(best))
    first, second = (load_file(folder / "model.safetensors") for folder in (run, alone))
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        torch.testing.assert_close(tensor, second[name], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_batches_of_one_model_give_the_same_bytes_as_one_batch(
    gpuclf: Gpuclf, files: dict[str, Path], kind: str
) -> None:
    config = gpuclf.config(
        kind,
        data={"train": files["train"]},
        grid=grid_of(kind) | {"seed": [0, 1]},
        folds={"k": 3},
        test={"file": files["test"]},
        **_epochs(kind),
    )
    runs = [gpuclf.train(config, *more) for more in ([], ["train.memory_budget=1e-9"], ["train.memory_budget=2e-5"])]
    assert "grid 2/" in runs[1][1].err
    metrics = [metrics_of(folder) for folder, _ in runs]
    for values in metrics:
        del values["seconds"]
    assert metrics[0] == metrics[1] == metrics[2]
    for name in ("model.safetensors", "model.json", "predictions.tsv", "out_of_fold.tsv"):
        assert len({(folder / name).read_bytes() for folder, _ in runs}) == 1, name


STOPPING = {"max_epochs": 30, "early_stopping": {"metric": "accuracy", "patience": 2}}


@pytest.mark.parametrize("kind", [name for name, kind in LEARNERS.items() if "max_epochs" in kind.train_keys])
@pytest.mark.parametrize("source", ["file", "fraction", "fold"])
def test_early_stopping_keeps_the_best_of_what_was_held_out(
    gpuclf: Gpuclf, files: dict[str, Path], kind: str, source: str
) -> None:
    validation = {"file": files["test"], "fraction": 0.3, "fold": {"k": 3, "index": 1}}[source]
    config = gpuclf.config(kind, data={"train": files["train"]}, validation={source: validation}, train=STOPPING)
    run, _ = gpuclf.train(config)
    metrics = metrics_of(run)
    ((only,),) = [cell["runs"] for cell in metrics["cells"]]
    rows = [strict_json(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    seen = [row["held_out"]["accuracy"] for row in rows if "held_out" in row]  # not of the refit
    assert only["status"] in ("early_stopped", "converged")
    assert len(seen) < 30
    assert metrics["best"]["value"] == only["accuracy"] == max(seen)
    assert metrics["out_of_fold"]["accuracy"] == max(seen)
    if source == "file":
        assert strict_json(gpuclf.done("eval", run, files["test"], "--json").out)["accuracy"] == max(seen)


def test_a_seed_is_trained_again_as_long_as_was_best_for_it(gpuclf: Gpuclf, files: dict[str, Path]) -> None:
    config = gpuclf.config(
        "perceptron",
        data={"train": files["train"]},
        test={"file": files["test"]},
        validation={"fraction": 0.4, "seed": 0},
        train=STOPPING,
        grid={"seed": [0, 1, 2, 3]},
    )
    folder, _ = gpuclf.train(config)
    together, first = metrics_of(folder), (folder / "model.safetensors").read_bytes()
    ((*runs,),) = [cell["runs"] for cell in together["cells"]]
    assert len({run["steps"] for run in runs}) > 1
    assert [seed["steps"] for seed in together["final"]] == [run["steps"] for run in runs]
    rows = [strict_json(line) for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {row["batch"] for row in rows if row["phase"] == "refit"} == {0}
    for run, tested in zip(runs, together["test_seeds"]["runs"], strict=True):
        by_itself, _ = gpuclf.train(config, "~grid", f"seed={run['seed']}")
        alone = metrics_of(by_itself)
        assert ((by_itself / "model.safetensors").read_bytes() == first) == (run["seed"] == 0)
        assert alone["cells"][0]["runs"][0]["steps"] == run["steps"]
        assert {name: alone["test"][name] for name in ("accuracy", "macro_f1")} == {
            name: tested[name] for name in ("accuracy", "macro_f1")
        }


@pytest.mark.parametrize("kind", ["svm", "forest"])
def test_learners_that_count_no_epochs_are_trained_again_as_long_as_was_best(
    gpuclf: Gpuclf, files: dict[str, Path], kind: str
) -> None:
    config = gpuclf.config(
        kind,
        data={"train": files["train"]},
        validation={"fraction": 0.4, "seed": 0},
        train={"early_stopping": {"patience": 2}},
    )
    metrics = metrics_of(gpuclf.train(config)[0])
    ((run,),) = [cell["runs"] for cell in metrics["cells"]]
    assert run["status"] == "early_stopped"
    assert metrics["final"] == [{"seed": 0, "status": "max_epochs", "steps": run["steps"]}]


def test_refit_or_not(gpuclf: Gpuclf, files: dict[str, Path]) -> None:
    config = gpuclf.config(
        "mira", data={"train": files["train"]}, validation={"fraction": 0.5}, train=_epochs("mira")["train"]
    )
    default, kept, refitted = (
        gpuclf.train(config, *more)[0] for more in ([], ["select.refit=false"], ["select.refit=true"])
    )
    numbers = [(run / "model.safetensors").read_bytes() for run in (default, kept, refitted)]
    assert numbers[0] == numbers[2]
    assert numbers[1] != numbers[2]
    whole, _ = gpuclf.train(config, "~validation")
    assert (whole / "model.safetensors").read_bytes() == numbers[2]


def test_without_refit_there_must_be_one_model_to_keep(gpuclf: Gpuclf, files: dict[str, Path]) -> None:
    config = gpuclf.config("mira", data={"train": files["train"]}, folds={"k": 3}, select={"refit": False})
    assert "select.refit" in gpuclf.not_trained(config).err


def test_several_seeds_are_several_models(gpuclf: Gpuclf, files: dict[str, Path]) -> None:
    config = gpuclf.config(
        "perceptron", data={"train": files["train"]}, grid={"seed": [3, 1]}, test={"file": files["test"]}
    )
    run, output = gpuclf.train(config)
    seeds = metrics_of(run)["test_seeds"]
    assert sorted(entry["seed"] for entry in seeds["runs"]) == [1, 3]
    assert "test over 2 seeds: accuracy" in output.out
    alone, _ = gpuclf.train(config, "~grid", "seed=3")
    assert (run / "model.safetensors").read_bytes() == (alone / "model.safetensors").read_bytes()


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_one_cell_and_nothing_held_out(gpuclf: Gpuclf, files: dict[str, Path], kind: str) -> None:
    output: Output
    run, output = gpuclf.train(gpuclf.config(kind, data={"train": files["train"]}))
    metrics = metrics_of(run)
    assert len(metrics["cells"]) == 1
    assert metrics["best"]["value"] is None
    assert metrics["cells"][0]["runs"][0]["fold"] is None
    assert "nan" not in (run / "metrics.json").read_text(encoding="utf-8")
    assert output.out == f"run folder: {run}\n"


def test_groups_stay_in_one_fold(gpuclf: Gpuclf) -> None:
    rows = [f"{'ab'[group % 2]}\tword{group}\tg{group}\n" for group in range(20) for _ in range(3)]
    file = gpuclf.text("train.tsv", "label\ttext\tauthor\n" + "".join(rows))
    config = gpuclf.config("naive_bayes", data={"train": file, "group": "author"}, folds={"k": 4, "grouped": True})
    grouped, _ = gpuclf.train(config)
    straddling, _ = gpuclf.train(config, "folds.grouped=false")
    assert metrics_of(grouped)["out_of_fold"]["accuracy"] <= 0.5, "words of an author are unknown to the others"
    assert metrics_of(straddling)["out_of_fold"]["accuracy"] > 0.7
    assert "data.group" in gpuclf.not_trained(config, "data.group=null").err


def test_one_fold_alone(gpuclf: Gpuclf, files: dict[str, Path]) -> None:
    config = gpuclf.config("naive_bayes", data={"train": files["train"]}, folds={"k": 4})
    every = metrics_of(gpuclf.train(config)[0])["cells"][0]["runs"]
    one = metrics_of(gpuclf.train(config, "folds.index=2")[0])["cells"][0]["runs"]
    assert one == [every[2]]


def _epochs(kind: str) -> dict[str, Any]:
    return {"train": {"max_epochs": 2}} if "max_epochs" in LEARNERS[kind].train_keys else {}
