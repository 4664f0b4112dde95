"""What is refused, all at once, in which words and with which place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from gpuclf.config import LoadedConfig
from gpuclf.config.schema import fields_of, type_names
from gpuclf.faults import UserFault
from gpuclf.models.registry import LEARNERS
from gpuclf.train.options import ExperimentOptions

Load = Callable[..., LoadedConfig]
Faults = Callable[..., list[UserFault]]

# Case o34: key, value as written, what the trainer receives; None: refused.
VALUES = [
    ("train.tol", "1e-3", 0.001),
    ("train.tol", "1E-4", 0.0001),
    ("train.tol", "1.e-5", 1e-05),
    ("train.tol", "'0.1'", None),
    ("train.tol", ".5", 0.5),
    ("train.tol", "1e-06", 1e-06),
    ("train.tol", "+2e0", 2.0),
    ("train.tol", "1_0.5", None),
    ("train.tol", "0,1", None),
    ("train.tol", "true", None),
    ("train.tol", "inf", None),
    ("train.tol", ".inf", None),
    ("train.tol", "nan", None),
    ("train.tol", ".nan", None),
    ("train.tol", "-0.1", None),
    ("train.tol", "3", 3.0),
    ("model.C", "inf", math.inf),
    ("model.C", ".inf", math.inf),
    ("model.C", "'inf'", None),
    ("model.C", "nan", None),
    ("model.C", ".nan", None),
    ("model.C", "-.inf", None),
    ("model.C", "0", None),
    ("model.C", "null", None),
    ("train.max_epochs", "1e2", 100),
    ("train.max_epochs", "10.0", 10),
    ("train.max_epochs", "3.7", None),
    ("train.max_epochs", "'5'", None),
    ("train.max_epochs", "yes", None),
    ("train.max_epochs", ".inf", None),
    ("seed", "010", 10),
    ("seed", "-1", None),
    ("seed", "1e300", None),
    ("seed", "9223372036854775808", None),
    ("train.batch", "0", None),
    ("train.shuffle", "1", None),
    ("train.shuffle", "'false'", None),
    ("train.shuffle", "no", None),
    ("train.shuffle", "false", False),
    ("data.columns", "[a, b]", ["a", "b"]),
    ("data.columns", "a", None),
    ("features.ngrams", "[1, 2]", (1, 2)),
    ("features.ngrams", "[1, 2, 3]", None),
    ("features.ngrams", "[]", None),
    ("features.min_df", "1", 1),
    ("features.min_df", "1.0", 1.0),
    ("device", "cuda:1", "cuda:1"),
    ("device", "gpu", None),
    ("name", "a/b", None),
    ("name", "..", None),
    ("name", "''", None),
]


def written(key: str, value: str) -> str:
    """A valid config in which one key has this value, literally."""
    sections: dict[str, dict[str, str]] = {
        "data": {"train": "x.tsv"},
        "features": {"type": "bag_of_words"},
        "model": {"type": "mira"},
    }
    section, _, name = key.rpartition(".")
    lines = []
    if section:
        sections.setdefault(section, {})[name] = value
    else:
        lines.append(f"{key}: {value}")
    for section, keys in sections.items():
        lines += [f"{section}:", *(f"  {name}: {text}" for name, text in keys.items())]
    return "\n".join(lines) + "\n"


def value_of(loaded: LoadedConfig, key: str) -> Any:
    value: Any = loaded.options
    for part in key.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize(("key", "value", "expected"), VALUES)
@pytest.mark.parametrize("how", ["file", "override"])
def test_values_in_files_and_overrides(
    load_text: Load, faults_in: Faults, key: str, value: str, expected: object, how: str
) -> None:
    """Case o34: what is no number is refused, never kept as a text; file and override agree."""
    text, overrides = (written(key, value), ()) if how == "file" else (written("seed", "0"), (f"{key}={value}",))
    if expected is None:
        (fault,) = faults_in(text, *overrides)
        if "," not in value or how == "file":  # 0,1 is no override at all
            assert fault.key is not None
            assert fault.key.split("[")[0] == key
            assert "wanted: " in fault.message or fault.remedy or "not" in fault.message
        assert value.strip("'") in str(fault) or how == "file"
    else:
        read = value_of(load_text(text, *overrides), key)
        assert read == expected
        assert type(read) is type(expected)


def test_a_refusal_says_value_kind_and_what_is_wanted(faults_in: Faults) -> None:
    (fault,) = faults_in(written("train.max_epochs", "'5'"))
    assert str(fault).endswith(
        "train.max_epochs: '5' is a text because of its quotes; "
        "wanted: a whole number of at least 1; write 5 without quotes"
    )
    (fault,) = faults_in(written("train.max_epochs", "3.7"))
    assert "3.7 is not a whole number; wanted: a whole number of at least 1" in str(fault)
    (fault,) = faults_in(written("train.shuffle", "yes"))
    assert fault.message == "'yes' is a text; wanted: true or false"
    assert fault.remedy == "write true"
    (fault,) = faults_in(written("model.update_on", "margni"))
    assert fault.message == "'margni' is not one of error, margin"
    assert fault.remedy == "did you mean margin?"
    (fault,) = faults_in(written("train.tol", "-1"))
    assert fault.message == "-1 is out of range; wanted: a finite number of at least 0 or null"


def test_infinity_and_nan_are_refused_everywhere_but_where_they_mean_something() -> None:
    """Every number of every component, also of those that are added later."""
    allowed = {"model.C"}
    seen = set()

    def check(section: type[BaseModel], prefix: str) -> None:
        for name, spec in fields_of(section).items():
            key = f"{prefix}{name}"
            for below in spec.sections:
                check(below, f"{key}.")
            if not any(kind is float for kind, _ in spec.alternatives):
                continue
            seen.add(key)
            for bad in (math.nan,) if key in allowed else (math.nan, math.inf, -math.inf):
                with pytest.raises(ValueError, match=r"."):
                    section.__pydantic_validator__.validate_assignment(section.model_construct(), name, bad)

    check(ExperimentOptions, "")
    assert {"model.C", "model.alpha", "train.tol", "validation.fraction", "features.min_df"} <= seen


MISSPELT = """\
data: {train: train.txt, format: fasttext}
model:
  type: perceptron
optimiser:
  lerning_rate: 5
  max_epoch: 3
train:
  epochs: 3
  tol:
    l_2: 0.1
folds: {k: 3}
devise: cpu
shuffle: false
C: 1
"""


def test_misspelt_and_misplaced_keys(faults_in: Faults) -> None:
    """Case o33: every bad key with path, line, section and nearest valid name."""
    faults = {fault.key: fault for fault in faults_in(MISSPELT)}
    assert {key: fault.line for key, fault in faults.items()} == {
        "optimiser": 4,
        "optimiser.lerning_rate": 5,
        "optimiser.max_epoch": 6,
        "train.epochs": 8,
        "train.tol": 9,
        "devise": 12,
        "shuffle": 13,
        "C": 14,
    }
    assert "at the top level" in faults["optimiser"].message
    assert faults["optimiser.max_epoch"].remedy == "did you mean train.max_epochs?"
    assert faults["train.epochs"].message == "there is no key 'epochs' in section train"
    assert faults["train.epochs"].remedy == "did you mean train.max_epochs?"
    assert faults["devise"].remedy == "did you mean device?"
    assert faults["shuffle"].remedy == "did you mean train.shuffle?"
    having = ", ".join(name for name, kind in LEARNERS.items() if "C" in kind.model_fields)
    assert faults["C"].remedy == f"model.C is an option of model.type {having}"


def test_a_key_that_does_not_apply_to_the_model_chosen(faults_in: Faults) -> None:
    """Case o33 c."""
    (fault,) = faults_in("model:\n  type: naive_bayes\n  alpha: 1.0\n  C: 0.1\n")
    assert (fault.key, fault.line) == ("model.C", 4)
    assert "does not apply to model.type naive_bayes; it is an option of mira" in fault.message


@pytest.mark.parametrize(
    ("key", "meant"), [("learning_rate", "learning_rate"), ("lr", "learning_rate"), ("batch_size", "batch")]
)
def test_a_key_that_networks_have_in_another_section(faults_in: Faults, key: str, meant: str) -> None:
    (fault,) = faults_in(f"model: {{type: feedforward, {key}: 1}}\n")
    assert f"did you mean train.{meant}?" in (fault.remedy or "")


def test_a_key_of_another_section(faults_in: Faults) -> None:
    (fault,) = faults_in("model: {type: mira, max_epochs: 3}\n")
    assert fault.remedy == "did you mean train.max_epochs?"
    (fault,) = faults_in("model: {type: mira}\ntrain: {seed: 3}\n")
    assert "did you mean seed" in (fault.remedy or "")


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("train: {batch_size: 64}", "did you mean train.batch?"),
        ("train: {adam_beta2: 0.9}", "did you mean train.beta2?"),
        ("train: {max_learning_rate_now: 1.0}", "did you mean train.learning_rate?"),
        ("train: {lr: 0.1}", "did you mean train.learning_rate?"),
    ],
)
def test_a_key_of_more_words_than_there_are(faults_in: Faults, line: str, remedy: str) -> None:
    (fault,) = faults_in(f"model: {{type: feedforward}}\n{line}\n")
    assert fault.remedy == remedy


def test_syntax_error_with_line_and_column(faults_in: Faults) -> None:
    """Case o33 d."""
    (fault,) = faults_in("Model: {type: naive_bayes}\ndata : {train: train.txt}\ntest: [\n")
    assert fault.line == 4
    assert fault.message.startswith("column 1: ")


def test_a_section_in_another_case_is_named_without_its_keys(faults_in: Faults) -> None:
    faults = faults_in("Model: {type: mira, C: 1}\n")
    assert [fault.key for fault in faults] == ["Model", "model"]
    assert faults[0].remedy == "did you mean model?"
    assert "is missing" in faults[1].message


def test_dotted_keys_outside_of_grid(faults_in: Faults) -> None:
    (fault,) = faults_in("model: {type: mira}\nmodel.C: 1\n")
    assert "model: {C: …}" in (fault.remedy or "")


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ("seed: 1\n", "model", "with one of perceptron, mira, naive_bayes"),
        ("model: {C: 1}\n", "model.type", "choose one of perceptron, mira, naive_bayes"),
        ("model: naive_bayes\n", "model", "write model: {type: naive_bayes}"),
        ("model: {type: mirra}\n", "model.type", "did you mean mira?"),
        ("model: {type: os.system}\n", "model.type", "choose one of"),
        ("model: {type: mira}\nfeatures: {type: bag}\n", "features.type", "choose one of bag_of_words"),
        ("model: {type: mira}\ndata: {format: tsv}\n", "data.train", "give a path"),
        ("model: {type: mira}\ntest: {}\n", "test.file", "give a path"),
        ("model: {type: mira}\ntest: x.tsv\n", "test", "wanted: a section"),
        ("model: {type: mira}\nfolds: 5\n", "folds", "wanted: a section or null"),
    ],
)
def test_missing_and_unknown_components(faults_in: Faults, text: str, key: str, said: str) -> None:
    (fault,) = faults_in(text)
    assert fault.key == key
    assert said in str(fault)


def test_everything_at_once_in_the_order_of_the_file(faults_in: Faults) -> None:
    faults = faults_in(
        "seed: -1\nmodel:\n  type: mira\n  C: x\ntrain:\n  batch: 0\n  tool: 1\n"
        "folds: {k: 3}\nvalidation: {fraction: 0.1}\ngrid:\n  model.C: [1, -1]\n",
        "train.max_epochs=0",
    )
    assert [(fault.key, fault.line) for fault in faults] == [
        ("seed", 1),
        ("model.C", 4),
        ("train.batch", 6),
        ("train.tool", 7),
        ("validation", 9),
        ("grid.model.C[1]", 11),
        ("train.max_epochs", None),
    ]
    assert "override 'train.max_epochs=0'" in str(faults[-1])


def test_no_fault_is_made_up_from_what_another_fault_left(faults_in: Faults) -> None:
    assert [f.key for f in faults_in("model: {type: mira}\ndata: {train: x.svm, format: svmligth}\n")] == [
        "data.format"
    ]
    text = "model: {type: mira}\nvalidation: {fraction: 2}\ngrid: {model.C: [1, 2]}\ntrain: {early_stopping: {}}\n"
    assert [fault.key for fault in faults_in(text)] == ["validation.fraction"]


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ("validation: {}", "validation", "none of them is given"),
        ("validation: {file: x, fraction: 0.1}", "validation", "file and fraction are given"),
        ("validation: {fold: {k: 3, index: 3}}", "validation.fold", "index 3 is not a fold"),
        ("folds: {k: 3, index: 3}", "folds", "index 3 is not a fold"),
        ("folds: {k: 1}", "folds.k", "of at least 2"),
        ("folds: {grouped: true}", "folds.grouped", "data.group"),
        ("train: {early_stopping: {}}", "train.early_stopping", "nothing|no held-out documents to stop by"),
        ("features: {type: as_given}", "features.type", "as_given needs a format that holds features"),
        ("features: {type: table}", "features.type", "table needs columns"),
        ("data: {train: x, format: svmlight}", "features.type", "write features: {type: as_given}"),
        ("data: {train: x, format: vw}", "features.type", "write features: {type: as_given}"),
        ("data: {train: x.svm.gz}", "features.type", "write features: {type: as_given}"),
        ("data: {train: x.tsv, categorical: [a]}", "features.type", "write features: {type: table}"),
    ],
)
def test_what_keys_demand_of_each_other(faults_in: Faults, text: str, key: str, said: str) -> None:
    (fault,) = faults_in(f"model: {{type: mira}}\n{text}\n")
    assert (fault.key, fault.line) == (key, 2 if key in text or key.split(".")[0] in text else None)
    assert any(part in str(fault) for part in said.split("|"))


def test_train_keys_that_the_learner_does_not_use(faults_in: Faults, load_text: Load) -> None:
    faults = faults_in("model: {type: naive_bayes}\ntrain: {max_epochs: 3, threads: 2, shuffle: true}\n")
    assert [fault.key for fault in faults] == ["train.max_epochs", "train.shuffle"]
    assert "has no meaning for model.type naive_bayes" in faults[0].message
    loop_keys = "threads: 2, time_budget: 5, memory_budget: 1, checkpoint_every: 3, checkpoint_seconds: 1"
    assert load_text(f"model: {{type: naive_bayes}}\ntrain: {{{loop_keys}}}\n").options.train.threads == 2


def test_the_registry_and_the_options_name_the_same_learners() -> None:
    classes = fields_of(ExperimentOptions)["model"].sections
    assert {name: section for section in classes for name in type_names(section)} == LEARNERS
    for name, section in LEARNERS.items():
        keys = {f"model.{field}" for field in section.model_fields} | {f"train.{key}" for key in section.train_keys}
        assert section.per_replica <= keys, name
        assert all(isinstance(key, str) and "." not in key for key in section.train_keys)
