"""Every config that is shipped is run for one step."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from gpuclf.config import LoadedConfig, load
from gpuclf.models.registry import LEARNERS
from gpuclf.train.observer import SilentObserver
from gpuclf.train.run import run_experiment
from gpuclf.train.signals import StopRequest

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = sorted((ROOT / "configs").rglob("*.yaml"))
NAMES = [
    "content/products-crf.yaml",
    "content/products.yaml",
    "linear/arow.yaml",
    "linear/banking77.yaml",
    "linear/calibrated.yaml",
    "linear/cw.yaml",
    "linear/exact_online.yaml",
    "linear/logistic.yaml",
    "linear/mira.yaml",
    "linear/naive_bayes.yaml",
    "linear/online_svm.yaml",
    "linear/pa2.yaml",
    "linear/perceptron.yaml",
    "linear/quickstart.yaml",
    "linear/scw.yaml",
    "linear/svm.yaml",
    "linear/svmlight.yaml",
    "neural/feedforward.yaml",
    "neural/text_cnn.yaml",
    "srl/forest.yaml",
    "srl/paper/bagging.yaml",
    "srl/paper/baseline.yaml",
    "srl/paper/extended.yaml",
    "srl/paper/first_tree.yaml",
    "srl/paper/frequent_values.yaml",
    "srl/paper/lazy.yaml",
    "srl/paper/merged_values.yaml",
    "srl/paper/new.yaml",
    "srl/propbank.yaml",
    "srl/sorted.yaml",
    "tagging/ewt-crf.yaml",
    "tagging/ewt.yaml",
    "wsd/decomposable.yaml",
    "wsd/mix.yaml",
    "wsd/words.yaml",
]


def small(path: Path, folder: Path) -> LoadedConfig:
    """The config cut down to one step on few documents."""
    overrides = [f"run.dir='{folder}'", "device=cpu"]
    loaded = load(path)
    if "max_epochs" in loaded.options.model.train_keys:
        overrides.append("train.max_epochs=1")
    if "max_iter" in type(loaded.options.model).model_fields:
        overrides.append("model.max_iter=1")
    if "em_iterations" in type(loaded.options.model).model_fields:
        overrides += ["model.em_iterations=1", "model.joint_iterations=1"]
    if "n_estimators" in type(loaded.options.model).model_fields:
        overrides.append("model.n_estimators=4")
    if "sweeps" in type(loaded.options.model).model_fields:
        overrides.append("model.sweeps=1")
    if loaded.options.data.format in ("tsv", "conllu"):
        overrides.append("data.limit=400")  # the first few classes, whole
    if loaded.options.data.format == "reviews":
        overrides.append("data.limit=20")
    return load(path, overrides)


def test_no_config_escapes() -> None:
    """The tests below cover what is there; this one notices when nothing is."""
    assert [str(path.relative_to(ROOT / "configs")) for path in CONFIGS] == NAMES


def test_every_learner_has_a_config() -> None:
    assert {str(getattr(load(path).options.model, "type", None)) for path in CONFIGS} == set(LEARNERS)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_loads_and_resolves(path: Path, tmp_path: Path) -> None:
    loaded = load(path)
    again = tmp_path / "config.yaml"
    again.write_text(loaded.resolved_yaml(), encoding="utf-8")
    same = load(again).options
    assert same == loaded.options
    same.model.build(same.train, ["NONE", "a", "b"])  # all keys are written now: what is at its default is no fault
    assert loaded.options.run.root == ROOT / "runs"
    assert loaded.options.test is not None
    for file in (loaded.options.data.train, loaded.options.test.file):
        assert file.is_file()
        assert file.is_relative_to(ROOT)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_key_is_explained(path: Path) -> None:
    """A newcomer reads these files first: a comment at the top, and beside the keys of each section."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# ")
    keys = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    assert sum("# " in line for line in keys) >= len(keys) / 2


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_runs_for_one_step(path: Path, tmp_path: Path) -> None:
    loaded = small(path, tmp_path)
    result = run_experiment(loaded.options, tmp_path, SilentObserver(), StopRequest())
    assert result is not None
    assert len(result.metrics["cells"]) == math.prod(map(len, _axes(loaded)))
    figure = "many_to_one" if loaded.options.model.task == "tag" else "accuracy"
    assert 0 <= result.metrics["test"][figure] <= 1


def _axes(loaded: LoadedConfig) -> list[list[object]]:
    return [values for key, values in loaded.grid.items() if key != "seed"]


def test_the_starter_config_loads() -> None:
    path = ROOT / "gpuclf" / "data" / "starter_files" / "experiment.yaml"
    options = load(path).options
    assert options.data.train.is_file()
    assert options.test is not None
    assert options.test.file.is_file()
