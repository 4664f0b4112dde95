"""Tagging runs as a user meets them: train, tag new text, measure, show, and what is refused."""

from __future__ import annotations

import json
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from gpuclf.config import load
from gpuclf.train.observer import SilentObserver, StepProgress
from gpuclf.train.run import run_experiment
from gpuclf.train.signals import Interrupted, StopRequest
from tests.cli.drive import Gpuclf

WORDS = {
    "D": ["the", "a", "this"],
    "N": ["dog", "cat", "house", "tree", "Bank"],
    "V": ["sees", "bites", "likes"],
    "P": [".", "!"],
}


def corpus(seed: int = 0, sentences: int = 60) -> list[list[tuple[str, str]]]:
    """Sentences of one pattern, determiner noun verb determiner noun stop, with their gold tags."""
    draw = random.Random(seed)
    return [[(draw.choice(WORDS[tag]), tag) for tag in "DNVDNP"] for _ in range(sentences)]


def columns(text: list[list[tuple[str, str]]]) -> str:
    return "\n".join("".join(f"{word}\t{tag}\n" for word, tag in sentence) for sentence in text)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "train.tsv").write_text(columns(corpus()))
    (tmp_path / "test.tsv").write_text(columns(corpus(1, 10)).replace("dog", "wolf"))
    path = tmp_path / "tagger.yaml"
    path.write_text(
        "data: {train: train.tsv, format: conll, columns: [token, tag], tokens: token, gold: tag}\n"
        "model: {type: type_tagger, tags: 4, sweeps: 8}\n"
        "grid: {seed: [0, 1], model.alpha_token: [0.1, 0.5]}\n"
        "test: {file: test.tsv}\n"
        "device: cpu\n"
    )
    return path


@pytest.fixture
def run(gpuclf: Gpuclf, config: Path, tmp_path: Path) -> Path:
    gpuclf.done("train", config, f"run.dir={tmp_path / 'run'}")
    return tmp_path / "run"


def test_a_run_leaves_tags_tagged_text_and_figures(run: Path) -> None:
    metrics = json.loads((run / "metrics.json").read_text())
    assert [len(cell["runs"]) for cell in metrics["cells"]] == [2, 2]
    best = metrics["cells"][metrics["best"]["cell"]]
    assert best["mean"]["log_joint"] == max(cell["mean"]["log_joint"] for cell in metrics["cells"])
    assert metrics["best"]["log_joint"] == max(chain["log_joint"] for chain in best["runs"])
    rows = [line.split("\t") for line in (run / "tags.tsv").read_text().splitlines()]
    assert rows[0] == ["type", "tag", "count", "margin"]
    counts = [int(row[2]) for row in rows[1:]]
    assert sum(counts) == 60 * 6
    assert counts == sorted(counts, reverse=True)
    assert {row[0] for row in rows[1:]} == {word for words in WORDS.values() for word in words}
    tags = {row[0]: row[1] for row in rows[1:]}
    lines = (run / "tagged.txt").read_text().splitlines()
    assert len(lines) == 60
    assert all(tags[pair.rpartition("/")[0]] == pair.rpartition("/")[2] for line in lines for pair in line.split(" "))
    log = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert len(log) == 4 * 8
    assert {"log_joint", "tag_changes", "gold"} <= log[0].keys()
    assert metrics["test"]["tokens"] == 60
    assert metrics["test"]["unseen_tokens"] > 0
    for name in ("report.html", "projector_config.pbtxt", "projector_vectors.tsv", "model.json"):
        assert (run / name).stat().st_size, name
    labels = (run / "projector_words.tsv").read_text().splitlines()
    assert len(labels) == 1 + len(rows[1:])
    assert len((run / "projector_vectors.tsv").read_text().splitlines()) == len(rows[1:])


def test_the_pattern_is_found(run: Path) -> None:
    """Four classes of words in six fixed places: chains of eight sweeps find them up to their names."""
    metrics = json.loads((run / "metrics.json").read_text())
    assert metrics["gold"]["many_to_one"] > 0.9
    assert metrics["test"]["many_to_one"] > 0.8


def test_new_text_is_tagged_line_by_line(gpuclf: Gpuclf, run: Path) -> None:
    sentences = ["the wolf sees a cat .", "", "this dog bites", "zzz"]
    together = gpuclf.done("predict", run, stdin="".join(f"{line}\n" for line in sentences).encode()).lines
    assert len(together) == 4
    assert together[1] == ""
    assert [pair.rpartition("/")[0] for pair in together[0].split(" ")] == sentences[0].split(" ")
    alone = [gpuclf.done("predict", run, stdin=f"{line}\n".encode()).lines[0] for line in sentences]
    assert together == alone, "no answer depends on other sentences"
    records = gpuclf.done("predict", run, "--format", "jsonl", stdin=b"the wolf sees\n").records
    assert records[0]["tokens"] == ["the", "wolf", "sees"]
    assert records[0]["known"] == [True, False, True]
    assert f"wolf/{records[0]['tags'][1]}" in gpuclf.done("predict", run, stdin=b"the wolf sees\n").lines[0]


def test_a_file_of_columns_comes_back_as_columns(gpuclf: Gpuclf, run: Path, tmp_path: Path) -> None:
    lines = gpuclf.done("predict", run, tmp_path / "test.tsv").lines
    given = (tmp_path / "test.tsv").read_text().splitlines()
    assert [line.split("\t")[0] for line in lines if line] == [line.split("\t")[0] for line in given if line]
    assert lines.count("") == 10
    (tmp_path / "words.tsv").write_text("the\ndog\n\ncat\n")
    assert [line.split("\t")[0] for line in gpuclf.done("predict", run, tmp_path / "words.tsv").lines if line] == [
        "the",
        "dog",
        "cat",
    ]


def test_eval_repeats_the_figures_of_the_test(gpuclf: Gpuclf, run: Path, tmp_path: Path) -> None:
    figures = json.loads(gpuclf.done("eval", run, tmp_path / "test.tsv", "--json").out)
    assert figures == json.loads((run / "metrics.json").read_text())["test"]


def test_show_names_words_and_transitions(gpuclf: Gpuclf, run: Path) -> None:
    shown = gpuclf.done("show", run).out
    assert "the" in shown
    assert "start" in shown
    assert "By level" in shown
    assert "feats" in shown


def test_check_plans_and_trains_nothing(gpuclf: Gpuclf, config: Path) -> None:
    shown = gpuclf.done("check", config).out
    assert "360" in shown
    assert "4 to choose among, in 1 batch of 4" in shown


def test_a_chain_is_what_it_is_alone(gpuclf: Gpuclf, config: Path, run: Path, tmp_path: Path) -> None:
    metrics = json.loads((run / "metrics.json").read_text())
    alone = tmp_path / "alone"
    gpuclf.done("train", config, "~grid", "seed=1", "model.alpha_token=0.5", f"run.dir={alone}")
    chain = json.loads((alone / "metrics.json").read_text())["cells"][0]["runs"][0]
    together = metrics["cells"][1]["runs"][1]
    assert together == chain


def test_gold_tags_have_no_part_in_training(gpuclf: Gpuclf, config: Path, run: Path, tmp_path: Path) -> None:
    blind = tmp_path / "blind"
    gpuclf.done("train", config, "~data.gold", "~test", f"run.dir={blind}")
    assert (blind / "tags.tsv").read_bytes() == (run / "tags.tsv").read_bytes()
    assert "gold" not in json.loads((blind / "metrics.json").read_text())


class Stopper(SilentObserver):
    """Asks to stop at one step."""

    def __init__(self, stop: StopRequest, at: int):
        self._stop, self._at, self.rows = stop, at, 0

    def step(self, rows: list[dict[str, Any]], progress: StepProgress) -> None:
        self.rows += len(rows)
        if progress.step == self._at:
            self._stop.number = signal.SIGTERM


@pytest.mark.parametrize("at", [1, 5])
@pytest.mark.parametrize("overrides", [(), ("model.result=mode",), ("model.result=best", "model.sampler=batched")])
def test_a_resumed_run_goes_on_to_the_same_bits(
    config: Path, tmp_path: Path, at: int, overrides: tuple[str, ...]
) -> None:
    options = load(config, overrides).options
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    for folder in (whole, cut):
        folder.mkdir()
    run_experiment(options, whole, SilentObserver(), StopRequest())
    stop = StopRequest()
    with pytest.raises(Interrupted):
        run_experiment(options, cut, Stopper(stop, at), stop)
    rest = Stopper(StopRequest(), -1)
    run_experiment(options, cut, rest, StopRequest(), resumes=True)
    assert rest.rows == 4 * (8 - at)
    for name in ("model.safetensors", "model.json"):
        assert (cut / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize(
    ("override", "part"),
    [
        ("+folds.k=3", "nothing is held out"),
        ("+validation.fraction=0.1", "nothing is held out"),
        ("+calibrate=platt", "calibrated"),
        ("+select.metric=accuracy", "does not measure"),
        ("+features.type=bag_of_words", "word types"),
        ("+train.max_epochs=3", "has no meaning"),
        ("model.tags=0", "model.tags"),
        ("+model.mh=true", "sampler"),
    ],
)
def test_what_belongs_to_other_tasks_is_refused(gpuclf: Gpuclf, config: Path, override: str, part: str) -> None:
    assert part in gpuclf.refused("train", config, override).err


def test_classifiers_refuse_what_belongs_to_taggers(gpuclf: Gpuclf, config: Path) -> None:
    said = gpuclf.refused("train", config, "model={type: mira}", "~grid").err
    assert "bag_of_words needs texts" in said


def test_other_commands_say_what_a_tagger_is_not(gpuclf: Gpuclf, run: Path, tmp_path: Path) -> None:
    assert "--proba has no meaning" in gpuclf.refused("predict", run, "--proba").err
    assert "--diagnose has no meaning" in gpuclf.refused("eval", run, tmp_path / "test.tsv", "--diagnose").err
    assert "tags words" in gpuclf.refused("export", run, "--to", "text").err
    assert "induced tags" in gpuclf.refused("compare", run, run).err


def test_tensorboard_shows_chains_and_tags(run: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    root = EventAccumulator(str(run)).Reload()
    assert {"pictures/transitions", "pictures/tag_sizes"} <= set(root.Tags()["images"])
    assert any(tag.startswith("tags") for tag in root.Tags()["tensors"])
    cell = EventAccumulator(str(next((run / "cells").iterdir()))).Reload()
    for tag in ("fit/log_joint", "fit/tag_changes", "gold/many_to_one", "gold/v_measure"):
        assert [event.step for event in cell.Scalars(tag)] == list(range(1, 9)), tag
    assert [event.step for event in cell.Scalars("runs/fit/log_joint/seed 1")] == list(range(1, 9))
