"""o34: 1e-3 is a text, not a number. File and override read a value alike: right, or refused with key and value."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.cli.drive import Gpuclf

RATE, EPOCHS, SEED, BATCH, SHUFFLE, WIDTH = (
    "model.C",
    "train.max_epochs",
    "seed",
    "train.batch",
    "train.shuffle",
    "train.tol",
)
VALUES = [
    (RATE, "1e-3", 0.001),
    (RATE, "1E-4", 0.0001),
    (RATE, "1.e-5", 0.00001),
    (RATE, "'0.1'", None),
    (RATE, ".5", 0.5),
    (RATE, "1e-06", 0.000001),
    (RATE, "+2e0", 2.0),
    (RATE, "1_0.5", None),
    (RATE, "true", None),
    (RATE, "inf", (None, math.inf)),  # a value with a meaning: no limit
    (RATE, "nan", None),
    (RATE, "-0.1", None),
    (EPOCHS, "1e2", (None, 100)),
    (EPOCHS, "10.0", (None, 10)),
    (EPOCHS, "3.7", None),
    (EPOCHS, "'5'", None),
    (EPOCHS, "yes", None),
    (SEED, "010", (None, 10)),
    (SEED, "1e400", None),
    (BATCH, "0", None),
    (SHUFFLE, "1", None),
    (SHUFFLE, "'false'", None),
    (SHUFFLE, "no", None),
    (EPOCHS, "[]", None),
    (EPOCHS, "null", None),
    (WIDTH, "nan", None),
]


@pytest.mark.parametrize(("key", "written", "right"), VALUES, ids=[f"{key}={value}" for key, value, _ in VALUES])
@pytest.mark.parametrize("place", ["file", "override"])
def test_the_value_that_the_trainer_receives(gpuclf: Gpuclf, place: str, key: str, written: str, right: object) -> None:
    train = Path(__file__).parent / "data" / "o08" / "train.txt"
    section, _, name = key.partition(".")
    parts = {"data": f"{{train: {train}}}", "run": "{tensorboard: false}", "model": "{type: mira}"}
    overrides = [f"{key}={written}"] if place == "override" else []
    if place == "file":
        inner = f"{name}: {written}" if name else written
        parts[section] = f"{{type: mira, {inner}}}" if section == "model" else f"{{{inner}}}" if name else written
    config = gpuclf.text("run.yaml", "".join(f"{name}: {value}\n" for name, value in parts.items()))
    output = gpuclf("train", config, f"run.dir={gpuclf.folder / 'run'}", *overrides)
    rights = right if isinstance(right, tuple) else (right,)
    if output.code == 2:
        assert None in rights, output.err
        (error,) = output.errors
        assert key in error
        assert written.strip("'") in error or written == "1e400"  # shown as what it is read as: inf
        assert not (gpuclf.folder / "run").exists()
        return
    assert output.code == 0
    resolved = YAML(typ="safe").load((gpuclf.folder / "run" / "config.yaml").read_text(encoding="utf-8"))
    got = resolved[section][name] if name else resolved[section]
    assert got in [value for value in rights if value is not None]
    assert type(got) is type(next(value for value in rights if value is not None))


def test_a_decimal_comma_is_no_number(gpuclf: Gpuclf) -> None:
    config = gpuclf.text("run.yaml", "model: {type: mira}\n")
    said = gpuclf.refused("train", config, "model.C=0,1").err
    assert "model.C=0,1" in said
    config = gpuclf.text("run.yaml", "model:\n  type: mira\n  C: 0,1\n")
    assert f"{config}:3: model.C" in gpuclf.refused("train", config).err
