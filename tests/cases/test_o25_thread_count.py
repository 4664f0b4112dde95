"""o25: the number of threads changes the result. At greater length in tests/resume/test_threads.py."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest
import torch

from tests.cli.drive import Gpuclf, every_learner

LEARNERS = every_learner() | {
    "logistic-sgd": {"type": "logistic", "optimizer": "sgd", "max_iter": 3},
    "logistic-dcd": {"type": "logistic", "optimizer": "dcd", "max_iter": 5},
    "forest-boosting": {"type": "forest", "n_estimators": 3, "boosting": True, "trees_per_step": 3},
}
FILES = ("model.safetensors", "predictions.tsv", "out_of_fold.tsv")


@pytest.fixture(autouse=True)
def threads_as_before() -> Iterator[None]:
    """`train.threads` is a setting of the process."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def documents(count: int) -> str:
    """The case's: three classes, 25 words a document, a word may be of two classes."""
    draw = random.Random(5)
    lines = []
    for place in range(count):
        kind = place % 3
        lines.append(
            f"__label__c{kind} " + " ".join(f"w{draw.randrange(kind * 30, kind * 30 + 80)}" for _ in range(25))
        )
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_same_bits_on_1_and_4_threads(gpuclf: Gpuclf, learner: str) -> None:
    """Model, scores and calibrated probabilities, which add up to 1; the number of threads is in env.json."""
    file = gpuclf.text("train.txt", documents(300))
    sections = {
        "folds": {"k": 2},
        "calibrate": "platt",
        "test": {"file": file},
        "seed": 1,
        "run": {"report": False, "permutations": 0},
    }
    config = gpuclf.config(LEARNERS[learner], data={"train": file}, **sections)
    found = {}
    epochs = ["train.max_epochs=2"] if '"max_epochs"' in config.read_text() else []
    for threads in (1, 4):
        run, _ = gpuclf.train(config, f"train.threads={threads}", "run.tensorboard=false", *epochs)
        assert json.loads((run / "env.json").read_bytes())["threads"] == threads
        found[threads] = [(run / name).read_bytes() for name in FILES]
    assert found[1] == found[4]
    records = gpuclf.done("predict", run, file, "--proba", "--format", "jsonl").records
    assert all(abs(sum(record["probabilities"].values()) - 1) < 1e-9 for record in records)
