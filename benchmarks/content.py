"""Aspects of SemEval-2016 restaurant reviews with and without content structure (needs the measuring data).

    python -m benchmarks.content [DATA] [--out FOLDER] [--only NAME …] [--folds K] [--without-tests]

DATA holds reviews/semeval16_restaurants_{train,test}.jsonl.gz; $GPUCLF_DATA or ../shared/data where not given. Every
setting is two runs of `gpuclf train`: one chooses options by folds of the training reviews, the other trains them on
all of those, with three seeds, and labels the test reviews. Then `gpuclf compare` of each with the field alone. The
field alone and with neighbouring sentences draw no number: its seeds are one model.

A figure is token F1 over the five aspects together, NONE left out (Sauper, Haghighi & Barzilay 2010), of the test
reviews. Processor seconds are those of the two runs.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from benchmarks.green import ROOT, require_green
from benchmarks.measure import markdown_table, surroundings
from gpuclf.features.rows import ReviewRows
from gpuclf.metrics.clustering import clustering_confusion, clustering_figures
from gpuclf.models.sequence.content_predictor import ContentPredictor
from gpuclf.train.labelled_file import read_labelled
from gpuclf.train.model_file import load_model
from gpuclf.train.observer import SilentObserver
from gpuclf.train.stopwatch import Stopwatch

TESTS = ["tests/ops/test_chain_sums.py", "tests/models/test_content.py", "tests/models/test_decoding.py"]
SEEDS = [0, 1, 2]
UNLABELLED = ("yelp_targets_train", "yelp_targets_test", "mams_acsa_train", "mams_acsa_val", "mams_acsa_test")


@dataclass(frozen=True)
class Setting:
    """A row of the table: options of every run, those that folds choose among, and the setting whose chosen options it
    starts from."""

    name: str
    model: dict[str, Any]
    grid: dict[str, list[Any]]
    features: dict[str, Any] = field(default_factory=dict)
    after: str | None = None
    unlabelled: tuple[str, ...] = ()


_PLAIN: dict[str, Any] = {"type": "content", "content": "none"}
_ROUNDS = {"em_iterations": 60, "joint_iterations": 8}
SETTINGS = (
    Setting("no content", _PLAIN | {"decode": "marginal"}, {"model.C": [1.0, 2.0, 4.0]}),
    Setting(
        "recall penalty", _PLAIN | {"decode": "mbr"}, {"model.recall_penalty": [2.0, 3.0, 4.0]}, after="no content"
    ),
    Setting(
        "neighbouring sentences",
        _PLAIN | {"decode": "mbr"},
        {"model.C": [1.0, 2.0, 4.0]},
        features={"neighbours": 1},
        after="recall penalty",
    ),
    Setting(
        "independent",
        {"type": "content", "content": "independent", "decode": "mbr", "tol": 0.01},
        {"model.topic_C": [0.05, 0.5], "model.background": [0.5, 0.85]},
        after="recall penalty",
    ),
    Setting(
        "joint",
        {"type": "content", "content": "joint", "decode": "mbr"} | _ROUNDS,
        {"model.topic_C": [0.05, 0.5], "model.C": [2.0, 4.0]},
        after="recall penalty",
    ),
    Setting(
        "joint, unlabelled reviews",
        {"type": "content", "content": "joint", "decode": "mbr"} | _ROUNDS,
        {"model.background": [0.3, 0.85]},
        after="joint",
        unlabelled=UNLABELLED,
    ),
)


def config(setting: Setting, data: Path, chosen: dict[str, Any]) -> dict[str, Any]:
    """The experiment as a config; options by key that earlier settings have chosen come first."""
    made: dict[str, Any] = {
        "name": setting.name.replace(" ", "-").replace(",", ""),
        "data": {"train": str(data / "semeval16_restaurants_train.jsonl.gz"), "format": "reviews"},
        "features": {"min_df": 2},
        "model": {},
        "run": {"tensorboard": False},
        "device": "cpu",
    }
    for key, value in chosen.items():
        section, _, name = key.partition(".")
        made[section][name] = value
    made["model"] |= setting.model
    made["features"] |= setting.features
    if setting.unlabelled:
        made["data"]["unlabelled"] = [str(data / f"{name}.jsonl.gz") for name in setting.unlabelled]
    return made


def run(setting: Setting, data: Path, out: Path, chosen: dict[str, Any], folds: int) -> dict[str, Any]:
    """Chooses, trains, tests; the options that were chosen, figures by seed and processor seconds."""
    folder = out / setting.name.replace(" ", "-").replace(",", "")
    folder.mkdir(parents=True, exist_ok=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    choosing = config(setting, data, chosen)
    choosing |= {"seed": SEEDS[0], "grid": setting.grid, "folds": {"k": folds, "allow_small": True}}
    choosing["select"] = {"metric": "aspect_f1"}
    train(choosing, folder / "choosing")
    found = json.loads((folder / "choosing" / "metrics.json").read_bytes())
    best = found["cells"][found["best"]["cell"]]
    options = chosen | best["options"]
    final = config(setting, data, options)
    final["test"] = {"file": str(data / "semeval16_restaurants_test.jsonl.gz")}
    final["grid"] = {"seed": SEEDS}
    train(final, folder / "final")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    record = {"options": options, "folds": best["mean"]["aspect_f1"], "seconds": seconds}
    record |= {**tested(folder / "final"), "topics": topics(folder / "final", data)}
    (folder / "record.json").write_text(json.dumps(record))
    return record


def train(made: dict[str, Any], folder: Path) -> None:
    """One run, in a process of its own, unless it was made before."""
    if (folder / "metrics.json").is_file():
        return
    path = folder.with_suffix(".yaml")
    path.write_text(json.dumps(made, indent=1))  # JSON is YAML
    command = [sys.executable, "-m", "gpuclf", "train", str(path), f"run.dir={folder}"]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)


def tested(folder: Path) -> dict[str, Any]:
    """Of the saved model's test figures those of aspects, and the F1 of every seed."""
    metrics = json.loads((folder / "metrics.json").read_bytes())
    test = metrics["test"]
    seeds = [entry["aspect_f1"] for entry in metrics.get("test_seeds", {}).get("runs", [test])]
    by_class = {name: figures["recall"] for name, figures in test["per_class"].items() if name != "NONE"}
    return {name: test[f"aspect_{name}"] for name in ("precision", "recall", "f1")} | {
        "seeds": seeds,
        "by_class": by_class,
    }


def topics(folder: Path, data: Path) -> dict[str, float]:
    """How the likeliest topics of the test reviews' sentences go with the aspect that most of their marked tokens have:
    purity (many-to-one), V, and the share of the most frequent aspect, which one topic for all would have."""
    model = load_model(folder, torch.device("cpu"))
    if not isinstance(model.predictor, ContentPredictor):
        return {}
    encoded = read_labelled(
        model, model.data, data / "semeval16_restaurants_test.jsonl.gz", "test", SilentObserver(), Stopwatch()
    )
    rows = encoded.rows
    assert isinstance(rows, ReviewRows)
    assert encoded.labels is not None
    number = {name: place for place, name in enumerate(model.classes)}
    labels = torch.tensor([number[name] for name in encoded.labels])
    sentence = torch.repeat_interleave(rows.starts.diff())
    counts = torch.zeros(rows.reviews.num_sentences, len(number), dtype=torch.int64)
    counts.index_put_((sentence, labels), torch.ones_like(labels), accumulate=True)
    counts[:, number["NONE"]] = 0
    gold = torch.where(counts.sum(1) > 0, counts.argmax(1), -1)
    reviews = torch.arange(rows.reviews.num_reviews)
    posterior = model.predictor.topic_posteriors(rows, reviews)[:, 0]
    confusion = clustering_confusion(posterior.argmax(1), gold, posterior.shape[1], len(number))
    found = clustering_figures(confusion[None])
    one = confusion.sum(0).max() / confusion.sum()
    return {"purity": float(found.many_to_one[0]), "v": float(found.v_measure[0]), "one topic": float(one)}


def table(records: dict[str, dict[str, Any]]) -> str:
    """The figures of all settings."""
    rows = []
    for name, found in records.items():
        options = ", ".join(f"{key.partition('.')[2]} {value:g}" for key, value in found["options"].items())
        each = " ".join(f"{value:.3f}" for value in found["seeds"])
        recall = " ".join(f"{aspect} {value:.2f}" for aspect, value in found["by_class"].items())
        rows.append(
            [name, options, f"{found['folds']:.3f}", f"{fmean(found['seeds']):.3f}", each, f"{found['precision']:.3f}",
             f"{found['recall']:.3f}", recall, " ".join(f"{v:.2f}" for v in found["topics"].values()) or "-",
             f"{found['seconds']:.0f}"]
        )  # fmt: skip
    head = [
        "setting",
        "chosen by folds",
        "F1 of folds",
        "test F1",
        "seeds",
        "P",
        "R",
        "recall by aspect",
        "topics: purity, V, one",
        "CPU s",
    ]
    return markdown_table(head, rows)


def compare(out: Path, names: list[str]) -> str:
    """What `gpuclf compare` says of the F1 of the settings' models of the first seed, whole reviews drawn."""
    folders = [str(out / name.replace(" ", "-").replace(",", "") / "final") for name in names]
    command = [sys.executable, "-m", "gpuclf", "compare", *folders, "--metric", "aspect_f1"]
    return subprocess.run(command, check=True, cwd=ROOT, capture_output=True, text=True).stdout


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("data", nargs="?", type=Path, default=Path(os.environ.get("GPUCLF_DATA", "../shared/data")))
    arguments.add_argument("--out", type=Path, default=Path("runs/benchmark-content"))
    arguments.add_argument("--only", nargs="*", default=[setting.name for setting in SETTINGS])
    arguments.add_argument("--folds", type=int, default=3)
    arguments.add_argument("--without-tests", action="store_true")
    given = arguments.parse_args()
    if not given.without_tests:
        require_green(TESTS)
    print(surroundings(torch.device("cpu")), "\n")
    data, out = (given.data / "reviews").absolute(), given.out.absolute()
    records: dict[str, dict[str, Any]] = {}
    for setting in SETTINGS:
        kept = out / setting.name.replace(" ", "-").replace(",", "") / "record.json"
        if kept.is_file():
            records[setting.name] = json.loads(kept.read_bytes())
        elif setting.name in given.only:
            chosen = {} if setting.after is None else records[setting.after]["options"]
            records[setting.name] = run(setting, data, out, chosen, given.folds)
    print(table(records), "\n")
    if len(records) > 1:
        print(compare(out, list(records)))


if __name__ == "__main__":
    main()
