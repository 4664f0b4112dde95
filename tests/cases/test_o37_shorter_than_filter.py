"""o37: a document shorter than the filter: convolution wide, narrow and dilated, pooled in every way."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

from tests.cli.drive import Gpuclf

SETTINGS = [
    *({"convolution": c, "pooling": p} for c, p in itertools.product(("wide", "narrow"), ("max", "average", "k_max"))),
    {"convolution": "narrow", "dilation": 4},
]


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: "-".join(map(str, setting.values())))
def test_every_text_has_a_finite_answer_that_no_other_text_changes(
    gpuclf: Gpuclf, case: Path, setting: dict[str, str], batch: int
) -> None:
    model = {"type": "text_cnn", "widths": [2, 3, 5], "embedding_dim": 8, "filters": 8, "k": 3, **setting}
    train = {"max_epochs": 30, "batch": batch, "learning_rate": 0.02}
    run = gpuclf.trained(model, data={"train": case / "train.txt"}, train=train)
    options = ("--input-format", "lines", "--format", "jsonl")
    together = gpuclf.done("predict", run, case / "test.txt", *options).records
    assert len(together) == 5
    for line, record in zip((case / "test.txt").read_bytes().split(b"\n"), together, strict=False):
        alone = gpuclf.done("predict", run, *options, stdin=line + b"\n").records
        assert alone[0]["scores"] == record["scores"]
        assert all(math.isfinite(score) for score in record["scores"].values())
    assert [record["label"] for record in together[:2]] == ["pos", "neg"]
    assert [record["known"] for record in together] == [True, True, False, False, True]
    assert together[2]["scores"] == together[3]["scores"], "a text without a known word is as one without words"
