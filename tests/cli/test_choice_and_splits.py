"""How cells are chosen and documents split, through the command: what metrics.json says can be recomputed from it."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest

from tests.cli.drive import Gpuclf, metrics_of

WORDS = ["ash", "fir", "yew", "oak", "elm", "box"]


def sentences(count: int, seed: int) -> str:
    """Labelled lines of two noisy classes."""
    generator = np.random.default_rng(seed)
    lines = []
    for _ in range(count):
        label = int(generator.integers(2))
        words = [WORDS[3 * label + int(generator.integers(3))]]
        words += [WORDS[int(generator.integers(6))] for _ in range(3)]
        lines.append(f"c{label}\t{' '.join(words)}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def data(gpuclf: Gpuclf) -> dict[str, Any]:
    """The data section of forty noisy lines."""
    file: Path = gpuclf.text("train.tsv", sentences(40, 3))
    return {"train": file, "header": False, "columns": ["label", "text"]}


@pytest.mark.parametrize(
    ("model", "option", "direction"),
    [
        ({"type": "mira"}, {"model.C": [1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001]}, -1),
        ({"type": "naive_bayes"}, {"model.alpha": [0.01, 0.1, 1.0, 10.0, 30.0]}, 1),
    ],
)
@pytest.mark.parametrize("budget", [None, 1e-6], ids=["one batch", "a batch each"])
def test_one_standard_error(
    gpuclf: Gpuclf,
    data: dict[str, Any],
    model: dict[str, Any],
    option: dict[str, list[float]],
    direction: int,
    budget: Any,
) -> None:
    train = {} if budget is None else {"memory_budget": budget}
    if model["type"] == "mira":
        train["max_epochs"] = 3
    sections = {"data": data, "folds": {"k": 5}, "grid": option, "train": train}
    run = gpuclf.trained(model, select={"one_standard_error": True}, **sections)
    metrics = metrics_of(run)
    ((key, values),) = option.items()
    means = [cell["mean"]["accuracy"] for cell in metrics["cells"]]
    top = max(range(len(means)), key=lambda cell: (means[cell], direction * values[cell]))
    folds = [row["accuracy"] for row in metrics["cells"][top]["runs"]]
    least = means[top] - stdev(folds) / 5**0.5
    wanted = max(
        (value for value, mean in zip(values, means, strict=True) if mean >= least), key=lambda v: direction * v
    )
    assert metrics["best"]["options"] == {key: wanted}
    assert metrics["best"]["value"] == fmean(row["accuracy"] for row in metrics["cells"][values.index(wanted)]["runs"])
    assert metrics["out_of_fold"]["accuracy"] == pytest.approx(metrics["best"]["value"]), (
        "its out-of-fold rows were kept"
    )
    plain = metrics_of(gpuclf.trained(model, **sections))
    assert plain["best"]["options"] == {key: values[top]}
    assert plain["cells"] == metrics["cells"]
