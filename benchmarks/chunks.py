"""Chunking by conditional random fields: spans of aspects in reviews of products, with and without parts of speech.

    python -m benchmarks.chunks [--tagger-sentences N] [--untested]

The bundled reviews have spans with an aspect, which become tags B-battery, I-battery, O …; a tagger that is trained on
the bundled sentences of UD English EWT gives their words a second column. Folds of the training reviews' sentences
choose C by chunk_f1; figures are of the test reviews, counted as conlleval does.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections.abc import Iterator
from importlib import resources
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from benchmarks.green import require_green
from benchmarks.measure import markdown_table
from gpuclf.cli import main as gpuclf
from gpuclf.features.token_pattern import WORDS_AND_SIGNS, compile_pattern
from gpuclf.train.model_file import load_model
from gpuclf.train.tagging.new_text import label_text

TESTS = ["tests/metrics/test_chunks.py", "tests/models/test_crf.py"]
INPUTS: dict[str, list[str]] = {"words": [], "words and parts of speech": ["pos"]}


def sentences(name: str) -> Iterator[list[tuple[str, str]]]:
    """Words and tags of the sentences of the bundled reviews."""
    file = resources.files("gpuclf.data").joinpath("bundled", "products", name)
    pattern = compile_pattern(WORDS_AND_SIGNS)
    for line in gzip.decompress(file.read_bytes()).decode("utf-8").splitlines():
        for sentence in json.loads(line)["sentences"]:
            words, before = [], None
            for found in pattern.finditer(sentence["text"]):
                span = next(
                    (s for s in sentence["spans"] if s["start"] < found.end() and found.start() < s["end"]), None
                )
                tag = "O" if span is None else f"{'I' if span is before else 'B'}-{span['aspect']}"
                words.append((found[0], tag))
                before = span
            if words:
                yield words


def write(name: str, tagger: Path, path: Path) -> None:
    """The sentences as lines word TAB pos TAB tag."""
    given = list(sentences(name))
    path.write_text("\n".join("".join(f"{word}\n" for word, _ in words) for words in given), encoding="utf-8")
    model = load_model(tagger, torch.device("cpu"))
    blocks = []
    waiting = iter(given)
    for part in label_text(model, path, "conll", sys.stdin.buffer):
        for start, end in pairwise(part.offsets.tolist()):
            rows = zip(next(waiting), part.tags[start:end].tolist(), strict=True)
            blocks.append("".join(f"{word}\t{model.classes[pos]}\t{tag}\n" for (word, tag), pos in rows))
    path.write_text("\n".join(blocks), encoding="utf-8")


def train(config: dict[str, Any], path: Path) -> Path:
    """The run folder of a config."""
    run = path.with_suffix("")
    path.write_text(json.dumps(config | {"device": "cpu", "run": {"dir": run.name}}))
    if gpuclf(["train", str(path)]):
        raise SystemExit("training failed")
    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tagger-sentences", type=int, help="that the tagger learns from (default: all)")
    parser.add_argument("--untested", action="store_true", help="the tests were run before")
    chosen = parser.parse_args()
    if not chosen.untested:
        require_green(TESTS)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        data: dict[str, Any] = {"train": "bundled:ewt/train.conllu.gz", "format": "conllu", "gold": "upos"}
        limit = {} if chosen.tagger_sentences is None else {"limit": chosen.tagger_sentences}
        tagger = train(
            {"data": data | limit, "features": {"type": "token_context", "min_df": 2}, "model": {"type": "crf"}},
            home / "tagger.yaml",
        )
        for part in ("train", "test"):
            write(f"{part}.jsonl.gz", tagger, home / f"{part}.conll")
        for number, (name, inputs) in enumerate(INPUTS.items()):
            data = {"train": "train.conll", "format": "conll", "columns": ["word", "pos", "chunk"], "tokens": "word"}
            config = {
                "data": data | {"gold": "chunk", "inputs": inputs},
                "features": {"type": "token_context", "min_df": 2},
                "model": {"type": "crf"},
                "grid": {"model.C": [0.3, 1.0, 3.0]},
                "folds": {"k": 3},
                "select": {"metric": "chunk_f1"},
                "test": {"file": "test.conll"},
            }
            metrics = json.loads((train(config, home / f"chunks{number}.yaml") / "metrics.json").read_text())
            best, test = metrics["best"], metrics["test"]
            figures = (best["value"], *(test[f"chunk_{part}"] for part in ("precision", "recall", "f1")))
            C = metrics["cells"][best["cell"]]["options"]["model.C"]
            rows.append([name, f"{C:g}", *(f"{value:.4f}" for value in figures)])
    print(markdown_table(["features of", "C", "F1 of folds", "precision", "recall", "F1"], rows))


if __name__ == "__main__":
    main()
