"""o24: same seed, same device, another model."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.cli.drive import Gpuclf, every_learner

SECTIONS: dict[str, Any] = {"seed": 7, "run": {"report": False, "tensorboard": False, "permutations": 0}}
LEARNERS = every_learner() | {
    "forest-sorted": {"type": "forest", "n_estimators": 8, "splits": "sorted", "max_features": 9, "bootstrap": True},
    "forest-boosting": {"type": "forest", "n_estimators": 3, "boosting": True, "trees_per_step": 3},
}


def documents(count: int) -> str:
    """The case's, fewer: four classes that share words."""
    draw = random.Random(3)
    words = [f"w{i}" for i in range(300)]
    lines = []
    for place in range(count):
        kind = place % 4
        own = words[kind * 40 : kind * 40 + 140]
        lines.append(f"__label__c{kind} " + " ".join(draw.choice(own) for _ in range(20)))
    return "\n".join(lines) + "\n"


def _twice(gpuclf: Gpuclf, model: dict[str, Any], device: str) -> list[bytes]:
    """Model files and predictions of two runs with one seed, which must be the same; and the predicted labels."""
    file = gpuclf.text("train.txt", documents(200))
    config = gpuclf.config(model, data={"train": file}, test={"file": file}, device=device, **SECTIONS)
    epochs = ["train.max_epochs=2"] if '"max_epochs"' in config.read_text() else []
    found = []
    for _ in range(2):
        run, _ = gpuclf.train(config, *epochs)
        found.append([(run / name).read_bytes() for name in ("model.safetensors", "predictions.tsv")])
    assert found[0] == found[1]
    return [line.split(b"\t")[2] for line in found[0][1].splitlines()[1:]]


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_same_seed_gives_the_same_bytes(gpuclf: Gpuclf, learner: str) -> None:
    _twice(gpuclf, LEARNERS[learner], "cpu")


@pytest.mark.cuda
@pytest.mark.parametrize("learner", LEARNERS)
def test_the_same_bytes_on_a_gpu_and_the_labels_of_the_cpu(gpuclf: Gpuclf, learner: str) -> None:
    """Float sums of other devices may differ in their last bits, so that a document in a hundred may."""
    on_gpu, on_cpu = (_twice(gpuclf, LEARNERS[learner], device) for device in ("cuda", "cpu"))
    assert sum(one != other for one, other in zip(on_gpu, on_cpu, strict=True)) <= 2
