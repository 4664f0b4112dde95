"""Chunking by a conditional random field: base noun phrases of UD English EWT, with and without parts of speech.

    python -m benchmarks.chunks [--sentences N] [--max-iter N]

The bundled sentences have trees, of which base noun phrases are made by a rule: a noun, proper noun or pronoun with the
determiners, adjectives, numbers, compounds and possessives to its left that hang on it, one after the other. Tags are
B-NP, I-NP and O. Folds of the training sentences choose C by chunk_f1; figures are of the other bundled sentences.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path

from benchmarks.green import require_green
from benchmarks.measure import markdown_table
from gpuclf.cli import main as gpuclf

TESTS = ["tests/metrics/test_chunks.py", "tests/models/test_crf.py"]
HEADS = {"NOUN", "PROPN", "PRON"}
WITHIN = {"det", "amod", "nummod", "compound", "nmod:poss", "case:poss", "flat"}
INPUTS = {"words alone": [], "words and UPOS": ["upos"], "words, UPOS and XPOS": ["upos", "xpos"]}


def sentences(name: str, limit: int | None) -> Iterator[list[list[str]]]:
    """The words of each sentence as their ten cells."""
    content = gzip.decompress(resources.files("gpuclf.data.bundled").joinpath("ewt", name).read_bytes()).decode()
    for number, block in enumerate(content.strip().split("\n\n")):
        if number == limit:
            return
        rows = [line.split("\t") for line in block.split("\n") if not line.startswith("#")]
        yield [cells for cells in rows if cells[0].isdecimal()]


def base_phrases(words: Sequence[Sequence[str]]) -> list[str]:
    """The tag of each word; the phrase of a word further right takes precedence."""
    tags = ["O"] * len(words)
    for head in range(len(words) - 1, -1, -1):
        if words[head][3] not in HEADS or tags[head] != "O":
            continue
        first = head
        while first > 0 and _hangs_on(words[first - 1], first, head):
            first -= 1
        tags[first : head + 1] = ["B-NP"] + ["I-NP"] * (head - first)
    return tags


def _hangs_on(word: Sequence[str], after: int, head: int) -> bool:
    """Whether a word before place `after` is a part of the phrase of `head`: its head lies in what is there of it."""
    return word[7] in WITHIN and after <= int(word[6]) - 1 <= head


def write(name: str, path: Path, limit: int | None) -> None:
    """The sentences as lines word TAB upos TAB xpos TAB tag."""
    blocks = []
    for words in sentences(name, limit):
        tags = base_phrases(words)
        blocks.append("".join(f"{w[1]}\t{w[3]}\t{w[4]}\t{t}\n" for w, t in zip(words, tags, strict=True)))
    path.write_text("\n".join(blocks), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, help="of the training part (default: all)")
    parser.add_argument("--max-iter", type=int, default=100)
    chosen = parser.parse_args()
    require_green(TESTS)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write("train.conllu.gz", home / "train.conll", chosen.sentences)
        write("dev.conllu.gz", home / "test.conll", None)
        for number, (name, inputs) in enumerate(INPUTS.items()):
            config = {
                "data": {"train": "train.conll", "format": "conll", "columns": ["word", "upos", "xpos", "chunk"],
                         "tokens": "word", "gold": "chunk", "inputs": inputs},
                "features": {"type": "token_context", "min_df": 2},
                "model": {"type": "crf", "max_iter": chosen.max_iter},
                "grid": {"model.C": [0.3, 1.0, 3.0]}, "folds": {"k": 3}, "select": {"metric": "chunk_f1"},
                "test": {"file": "test.conll"}, "device": "cpu", "run": {"dir": f"run{number}"},
            }  # fmt: skip
            (home / "chunks.yaml").write_text(json.dumps(config))
            if gpuclf(["train", str(home / "chunks.yaml")]):
                raise SystemExit("training failed")
            metrics = json.loads((home / f"run{number}" / "metrics.json").read_text())
            cell = metrics["cells"][metrics["best"]["cell"]]
            figures = (*(metrics["test"][f"chunk_{part}"] for part in ("precision", "recall", "f1")),)
            rows.append([name, f"{cell['options']['model.C']:g}", f"{metrics['best']['value']:.4f}",
                         *(f"{value:.4f}" for value in figures), f"{metrics['test']['accuracy']:.4f}"])  # fmt: skip
    print(markdown_table(["features of", "C", "chunk F1 of folds", "precision", "recall", "F1", "accuracy"], rows))


if __name__ == "__main__":
    main()
