"""Linear-chain conditional random fields beside CRFsuite on UD English EWT (needs the measuring data, python-crfsuite).

    python -m benchmarks.crf [DATA] [--sentences N] [--column upos|xpos] [--repeats N] [--threads N] [--only ROW …]

DATA holds pos/ewt_train.tsv.gz and pos/ewt_test.tsv.gz; $GPUCLF_DATA or ../shared/data where not given. Both get the
same features of every token, made before the clock runs (CRFsuite as strings appended to its trainer, and a feature for
the offset), and minimise the same function but for two things: CRFsuite penalises its offset, and has weights only for
features and tags that occurred together; with "all weights" it has them all. It stops when F falls by less than 1e-5 of
itself in ten iterations, ours by its tol. Five replicas are the five C of the list, beside five runs of ours and of
CRFsuite one by one.
"""

from __future__ import annotations

import argparse
import gzip
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.green import ROOT, require_green
from benchmarks.measure import Times, markdown_table, surroundings, timed
from gpuclf.data.class_order import class_order
from gpuclf.data.records import Chunk, Sentences
from gpuclf.data.splits import document_keys
from gpuclf.features.encoded import Encoded
from gpuclf.features.options import TokenContextOptions
from gpuclf.features.rows import SequenceRows
from gpuclf.features.token_context import TokenContext, fit_token_context
from gpuclf.features.views import fit_views
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.sequence.crf import CrfOptions
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.loop import BatchLoop

TESTS = ["tests/ops/test_chain_sums.py", "tests/models/test_crf.py"]
FEATURES = TokenContextOptions(min_df=2)
GRID = (0.1, 0.3, 1.0, 3.0, 10.0)
SINGLE = 1.0


def read(path: Path, column: int, limit: int | None) -> Chunk:
    """Sentences of word TAB xpos TAB upos lines, an empty line after each."""
    tokens: list[str] = []
    gold: list[str] = []
    offsets = [0]
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            cells = line.rstrip("\n").split("\t")
            if len(cells) > 1:
                tokens.append(cells[0])
                gold.append(cells[column])
            elif len(tokens) > offsets[-1]:
                offsets.append(len(tokens))
                if limit is not None and len(offsets) > limit:
                    break
    if len(tokens) > offsets[-1]:
        offsets.append(len(tokens))
    ids = [str(number) for number in range(1, len(offsets))]
    return Chunk(ids, [1] * len(ids), None, sentences=Sentences(np.array(offsets), tokens, gold))


@dataclass(frozen=True)
class Data:
    """Training and test tokens as rows and as CRFsuite takes them."""

    encoder: TokenContext
    train: Encoded
    test: Encoded
    classes: tuple[str, ...]
    col_scale: torch.Tensor

    @classmethod
    def of(cls, train: Chunk, test: Chunk) -> Data:
        encoder, encoded = fit_token_context([train], FEATURES)
        assert encoded.labels is not None
        classes = class_order(encoded.labels)
        whole = torch.ones((1, len(encoded.ids)), dtype=torch.bool)
        views = fit_views(encoded.rows, torch.zeros(len(encoded.ids), dtype=torch.int64), len(classes), whole, FEATURES)
        assert views.col_scale is not None
        return cls(encoder, encoded, encoder.encode([test]), classes, views.col_scale[0])

    def gold(self, encoded: Encoded) -> np.ndarray[Any, Any]:
        assert encoded.labels is not None
        return np.array(encoded.labels)

    def problem(self, grid: Sequence[float]) -> Problem:
        labels = torch.from_numpy(np.searchsorted(np.array(self.classes), self.gold(self.train)))
        whole = torch.ones((1, labels.numel()), dtype=torch.bool)
        views = fit_views(self.train.rows, labels, len(self.classes), whole, FEATURES)
        zeros = torch.zeros(len(grid), dtype=torch.int64)
        replicas = Replicas(zeros, zeros, {"model.C": torch.tensor(grid, dtype=torch.float64)})
        keys = torch.from_numpy(document_keys(self.train.ids))
        return Problem(self.train.rows, labels, keys, len(self.classes), views, replicas)

    def sentences(self, encoded: Encoded) -> list[tuple[list[list[str]], list[str]]]:
        """Of every sentence its tokens' features by name, those that min_df keeps, and its tags."""
        rows, names, kept = encoded.rows, self.encoder.names, (self.col_scale != 0).tolist()
        assert isinstance(rows, SequenceRows)
        assert encoded.labels is not None
        crow, col, starts = rows.crow.tolist(), rows.col.tolist(), rows.starts.tolist()
        tokens = [["offset", *(names[c - 1] for c in col[a:b] if kept[c])] for a, b in pairwise(crow)]
        return [(tokens[a:b], encoded.labels[a:b]) for a, b in pairwise(starts)]


def ours(data: Data, grid: Sequence[float]) -> Callable[[], list[float]]:
    """Trains one batch of all C, and gives their test accuracies."""
    options, train = CrfOptions(), TrainOptions(evaluate_every=CrfOptions.evaluate_every)

    def run() -> list[float]:
        made = data.problem(grid)
        learner = options.build(train, data.classes)
        predictor = BatchLoop(learner, made, train, options.max_iter).run(lambda report, running: None).predictor
        docs = torch.arange(len(data.test.ids))
        scores = predictor.scores(data.test.rows, docs, data.col_scale, None)
        predicted = np.array(data.classes)[scores.argmax(2).numpy()]
        return [float(np.mean(row == data.gold(data.test))) for row in predicted]

    return run


def crfsuite(data: Data, C: float, whole: bool = False) -> Callable[[], list[float]]:
    """The same by CRFsuite's L-BFGS: c2 · ‖W‖² beside Σ -log P is our F over C for c2 = 1 / (2 C).

    whole: weights for all features and tags, as ours has them, not only for those that occurred together.
    """
    import pycrfsuite

    train, test = data.sentences(data.train), data.sentences(data.test)

    def run() -> list[float]:
        trainer = pycrfsuite.Trainer(verbose=False)
        for tokens, tags in train:
            trainer.append(tokens, tags)
        trainer.select("lbfgs", "crf1d")
        trainer.set_params({"c1": 0.0, "c2": 1 / (2 * C), "max_iterations": 500})
        trainer.set_params({f"feature.possible_{part}": whole for part in ("states", "transitions")})
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "model")
            trainer.train(file)
            tagger = pycrfsuite.Tagger()
            tagger.open(file)
            predicted = [tag for tokens, _ in test for tag in tagger.tag(tokens)]
            tagger.close()
        return [float(np.mean(np.array(predicted) == data.gold(data.test)))]

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path)
    parser.add_argument("--sentences", type=int, help="of the training file (default: all)")
    parser.add_argument("--column", choices=("upos", "xpos"), default="upos")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", nargs="+", metavar="ROW", help="rows whose names begin so, e.g. 'ours, five'")
    parser.add_argument("--untested", action="store_true", help="the tests were run before")
    chosen = parser.parse_args()
    folder = chosen.data or Path(os.environ.get("GPUCLF_DATA", ROOT.parent / "shared" / "data"))
    torch.set_num_threads(chosen.threads)
    if not chosen.untested:
        require_green(TESTS)
    column = {"xpos": 1, "upos": 2}[chosen.column]
    train = read(folder / "pos" / "ewt_train.tsv.gz", column, chosen.sentences)
    data = Data.of(train, read(folder / "pos" / "ewt_test.tsv.gz", column, None))
    print(f"{surroundings(torch.device('cpu'))}; {len(data.train.ids):,} tokens, {len(data.classes)} tags", flush=True)
    small = Data.of(*(read(folder / "pos" / "ewt_test.tsv.gz", column, 50),) * 2)
    ours(small, GRID)()  # compiles the kernels
    rows = []
    for name, work in (
        (f"ours, C = {SINGLE:g}", [ours(data, [SINGLE])]),
        (f"CRFsuite, C = {SINGLE:g}", [crfsuite(data, SINGLE)]),
        (f"CRFsuite, all weights, C = {SINGLE:g}", [crfsuite(data, SINGLE, whole=True)]),
        ("ours, five C as one batch", [ours(data, GRID)]),
        ("ours, five runs", [ours(data, [C]) for C in GRID]),
        ("CRFsuite, five runs", [crfsuite(data, C) for C in GRID]),
    ):
        if chosen.only and not any(name.startswith(row) for row in chosen.only):
            continue
        rows.append([name, *_row(work, chosen.repeats)])
        print(f"{name}: {', '.join(rows[-1][1:])}", flush=True)
    print(markdown_table(["", "test accuracy", "s", "CPU s"], rows))


def _row(work: Sequence[Callable[[], list[float]]], repeats: int) -> list[str]:
    spent: list[tuple[float, float]] = []
    for _ in range(repeats):
        found, seconds = zip(*(timed(run) for run in work), strict=True)
        spent.append((sum(wall for wall, _ in seconds), sum(cpu for _, cpu in seconds)))
    times = Times(*zip(*spent, strict=True))
    accuracies = " ".join(f"{value:.4f}" for part in found for value in part)
    return [accuracies, f"{times.median_wall:.1f}", f"{times.median_cpu:.1f}"]


if __name__ == "__main__":
    main()
