"""Whole configs: values, places, defaults, paths, and the resolved form."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpuclf.config import LoadedConfig, load
from gpuclf.faults import UserFault, UserFaults
from gpuclf.models.linear.mira import MiraOptions
from gpuclf.models.linear.perceptron import PerceptronOptions

Load = Callable[..., LoadedConfig]
Faults = Callable[..., list[UserFault]]

EXACT_ONLINE = """\
# One example at a time, file order, no shuffling: the textbook algorithm.
name: exact-online
seed: 0
data: {train: ../data/r52.train.svm.gz, format: svmlight, index_base: 1}
features: {type: as_given}
model: {type: mira, C: .inf, update_on: error, average: true}
train: {max_epochs: 3, shuffle: false, batch: 1}
test: {file: ../data/r52.test.svm.gz}
device: cpu
"""

GRID = """\
name: grid
data: {train: train.tsv, format: tsv, header: false, columns: [label, text]}
features: {type: bag_of_words, token_pattern: '\\b\\w+\\b', ngrams: [1, 2], weighting: tfidf, min_df: 1.0}
model: {type: mira, update_on: margin}
train: {max_epochs: 10, early_stopping: {metric: macro_f1, patience: 2}}
grid: {model.C: [0.001, 1, .inf], seed: [0, 1], features.ngrams: [[1, 1], [1, 2]]}
folds: {k: 5, stratified: true}
select: {metric: accuracy}
"""

NAIVE_BAYES = "model: {type: naive_bayes, variant: complement}\nvalidation: {fold: {k: 4, index: 0}}\n"


def test_values(load_text: Load, tmp_path: Path) -> None:
    options = load_text(EXACT_ONLINE).options
    assert isinstance(options.model, MiraOptions)
    assert math.isinf(options.model.C)
    assert options.train.max_epochs == 3
    assert options.train.shuffle is False
    assert options.data.train == tmp_path.parent / "data" / "r52.train.svm.gz"
    assert options.name == "exact-online"


def test_another_model_by_overrides(load_text: Load) -> None:
    options = load_text(EXACT_ONLINE, "model.type=perceptron", "~model.C", "~model.update_on").options
    assert isinstance(options.model, PerceptronOptions)
    assert options.model.average is True


def test_keys_that_the_new_model_lacks_are_each_named(faults_in: Faults) -> None:
    faults = faults_in(EXACT_ONLINE, "model.type=perceptron")
    assert [(fault.key, fault.line) for fault in faults] == [("model.C", 6), ("model.update_on", 6)]
    for fault in faults:
        assert "does not apply to model.type perceptron; it is an option of mira" in fault.message
        assert f"~{fault.key}" in (fault.remedy or "")


def test_a_quoted_override_of_a_pattern(load_text: Load) -> None:
    options = load_text(GRID, r"features.token_pattern='[a-z]+(?:\'[a-z]+)?'").options
    assert options.features.token_pattern == "[a-z]+(?:'[a-z]+)?"


def test_source_of_keys(load_text: Load, tmp_path: Path) -> None:
    loaded = load_text(EXACT_ONLINE, "model.C=2")
    assert (loaded.source["train.batch"].file, loaded.source["train.batch"].line) == (tmp_path / "config.yaml", 7)
    assert loaded.source["train.batch"].column == 40
    assert loaded.source["model.C"].override == "model.C=2"
    assert "train.tol" not in loaded.source


def test_locate(load_text: Load, tmp_path: Path) -> None:
    loaded = load_text(GRID, "select.metric=macro_f1")
    config = tmp_path / "config.yaml"

    def place(key: str | None, file: str | None = None) -> tuple[object, object]:
        fault = loaded.locate(UserFault("m", key=key, file=file))
        return fault.file, fault.line

    assert place("model.update_on") == (config, 4)
    assert place("model.C") == (config, 4)  # left to its default: the section around it
    assert place("grid.model.C[2]") == (config, 6)
    assert place("test.file") == (config, None)
    assert place("select.metric") == ("override 'select.metric=macro_f1'", None)
    assert place(None) == (None, None)
    assert place("model.C", "data.tsv") == ("data.tsv", None)
    both = loaded.locate(UserFaults([UserFault("a", key="model.C"), UserFault("b", key="folds.k")]))
    assert isinstance(both, UserFaults)
    assert [fault.line for fault in both.faults] == [4, 7]


@pytest.mark.parametrize("text", [EXACT_ONLINE, GRID, NAIVE_BAYES, "model: {type: perceptron}\n"])
def test_the_resolved_config_gives_the_same_options_anywhere(text: str, load_text: Load, tmp_path: Path) -> None:
    loaded = load_text(text)
    folder = tmp_path / "some" / "run"
    folder.mkdir(parents=True)
    again = folder / "config.yaml"
    again.write_text(loaded.resolved_yaml(), encoding="utf-8")
    reloaded = load(again)
    assert reloaded.options == loaded.options
    assert repr(reloaded.options) == repr(loaded.options)  # 1 and 1.0 are equal, but not the same min_df
    assert reloaded.resolved_yaml() == loaded.resolved_yaml()


def test_the_resolved_config_holds_defaults_and_absolute_paths(load_text: Load, tmp_path: Path) -> None:
    text = load_text(GRID).resolved_yaml()
    assert "update_on: margin" in text
    assert "checkpoint_seconds: 60.0" in text
    assert f'train: "{tmp_path / "train.tsv"}"' in text
    assert f'root: "{tmp_path / "runs"}"' in text
    assert "model.C: [0.001, 1, .inf]" in text


def test_a_grid_of_models_resolves_too(load_text: Load, tmp_path: Path) -> None:
    loaded = load_text(
        "model: {type: mira}\ngrid: {model.type: [mira, perceptron, naive_bayes]}\nfolds: {k: 2}\n",
        "train.max_epochs=2",
    )
    again = tmp_path / "resolved.yaml"
    again.write_text(loaded.resolved_yaml())
    assert load(again).grid == loaded.grid
    assert load(again).options.train == loaded.options.train


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_any_text_survives_the_resolved_config(load_text: Load, tmp_path: Path, text: str) -> None:
    loaded = load_text("model: {type: perceptron}\n")
    features = loaded.options.features.model_copy(update={"stop_words": [text, f"${{{text}}}", "no", "1e-3", "~"]})
    changed = LoadedConfig(loaded.path, loaded.options.model_copy(update={"features": features}), {})
    again = tmp_path / "resolved.yaml"
    again.write_bytes(changed.resolved_yaml().encode("utf-8"))
    assert load(again).options.features.stop_words == features.stop_words


def test_defaults_of_the_place(tmp_path: Path) -> None:
    """Case o32: outputs never land where the caller happens to stand."""
    path = tmp_path / "my-experiment.yaml"
    path.write_text("model: {type: perceptron}\n")
    options = load(path).options
    assert options.name == "my-experiment"
    assert options.run.root == tmp_path / "runs"
    assert options.data.train.name == "train.tsv.gz"
    assert options.data.train.is_file(), "the bundled data are the default"


def test_an_empty_section_has_its_defaults_and_null_switches_off(load_text: Load) -> None:
    options = load_text("model: {type: mira}\ntrain:\nselect:\nfolds: {k: 3}\n", "folds=null").options
    assert options.train.max_epochs == 10
    assert options.folds is None


def test_byte_order_mark(load_text: Load) -> None:
    """Case o03: the first key is seed, not U+FEFF and seed."""
    assert load_text("\ufeffseed: 1\nmodel: {type: mira}\n").options.seed == 1


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Case o32: files of the same names in several places; only those beside the config are the right ones."""
    for name, text in {
        "proj/configs/run.yaml": (
            "data: {train: ../data/train.txt, format: fasttext}\nmodel: {type: perceptron}\n"
            "test: {file: data/test.txt}\nrun: {root: out}\n"
        ),
        "proj/configs/data/test.txt": "__label__right good\n",
        "proj/data/train.txt": "__label__right good data\n__label__other stuff\n",
        "elsewhere/data/train.txt": "__label__wrong bad data\n__label__other stuff\n",
        "elsewhere/data/test.txt": "__label__wrong bad\n",
    }.items():
        target = tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    (tmp_path / "elsewhere" / "configs").mkdir()
    (tmp_path / "elsewhere" / "configs" / "link.yaml").symlink_to(tmp_path / "proj/configs/run.yaml")
    (tmp_path / "linked").symlink_to(tmp_path / "proj")
    return tmp_path


@pytest.mark.parametrize("stand", ["proj", "proj/configs", "elsewhere", "/"])
@pytest.mark.parametrize("name", ["proj/configs/run.yaml", "elsewhere/configs/link.yaml", "linked/configs/run.yaml"])
@pytest.mark.parametrize("relative", [True, False])
@pytest.mark.parametrize("overrides", [(), ("grid.seed=[0,1]",)])
def test_the_same_files_from_wherever_one_stands(
    project: Path, monkeypatch: pytest.MonkeyPatch, stand: str, name: str, relative: bool, overrides: tuple[str, ...]
) -> None:
    """Case o32: paths are relative to the folder of the real config file, and so are outputs."""
    monkeypatch.chdir(project / stand)
    path = Path(os.path.relpath(project / name)) if relative else project / name
    options = load(path, overrides).options
    assert options.test is not None
    assert options.data.train.samefile(project / "proj/data/train.txt")
    assert options.test.file.samefile(project / "proj/configs/data/test.txt")
    assert options.run.root.is_absolute()
    assert options.run.root.resolve() == (project / "proj/configs/out").resolve()
    assert options.name == "run"


def test_paths_typed_as_overrides_are_relative_to_the_current_directory(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project / "elsewhere")
    options = load(project / "proj/configs/run.yaml", ["data.train=data/train.txt", "run.dir=here"]).options
    assert options.data.train == project / "elsewhere/data/train.txt"
    assert options.run.dir == project / "elsewhere/here"


def test_paths_of_an_extended_file_are_relative_to_it(project: Path) -> None:
    own = project / "elsewhere" / "own.yaml"
    own.write_text("extends: ../proj/configs/run.yaml\nvalidation: {file: data/test.txt}\n")
    options = load(own).options
    assert options.data.train.samefile(project / "proj/data/train.txt")
    assert options.validation is not None
    assert options.validation.file == project / "elsewhere/data/test.txt"
    assert options.run.root == project / "proj/configs/out"


def test_loading_reads_no_data(load_text: Load) -> None:
    """A resolved config must load where the training data are not."""
    assert load_text("model: {type: mira}\ndata: {train: /nowhere/at/all.tsv}\n").options.data.train.name == "all.tsv"
