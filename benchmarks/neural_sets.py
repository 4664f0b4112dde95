"""Networks beside MIRA on three sets, each with one setting: `python -m benchmarks.neural_sets --out FOLDER`.

The settings were fixed before (see RESULTS.md); what they do not name is a default. Networks stop early by a tenth of
the training documents and are then trained on all of them. Runs lie in --out as SET-LEARNER, and
`gpuclf compare OUT/SET-*/predictions.tsv` tests the differences of those of one set.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.measure import markdown_table, timed
from benchmarks.set_experiments import WEIGHTS, run
from gpuclf.train.options import ExperimentOptions

STOPPED: dict[str, Any] = {"max_epochs": 20, "early_stopping": {"patience": 3}}
# By set: the largest n-gram of the bags, C of MIRA, dropout of the feedforward network, filters and their widths.
SETS: dict[str, tuple[int, float, float, int, list[int]]] = {
    "trec6": (2, 0.3, 0.1, 64, [1, 2, 3]),
    "movie_reviews": (1, 0.1, 0.1, 48, [1, 2]),
    "r52": (1, 1.0, 0.3, 48, [1, 2]),
}


def experiments(name: str, data: Path) -> dict[str, ExperimentOptions]:
    """By learner."""
    ngrams, c, dropout, filters, widths = SETS[name]
    words = {"token_pattern": r"\b\w+\b"}
    bags = {"type": "bag_of_words", **words, "ngrams": [1, ngrams], **WEIGHTS["tfidf"]}
    tokens = {"type": "token_ids", **words, "min_df": 2}
    cnn = {"type": "text_cnn", "embedding_dim": filters, "filters": filters, "widths": widths, "dropout": 0.5}
    chosen: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
        "mira": (bags, {"type": "mira", "C": c}, {"max_epochs": 10}),
        "feedforward": (bags, {"type": "feedforward", "hidden": [128], "dropout": dropout}, STOPPED),
        "text_cnn": (tokens, cnn, STOPPED),
    }
    files = {"format": "tsv", "header": False, "columns": ["label", "text"]}
    return {
        learner: ExperimentOptions.model_validate(
            {
                "name": f"{name}-{learner}",
                "data": {"train": str(data / name / "train.tsv.gz"), **files},
                "features": features,
                "model": model,
                "train": train,
                "validation": None if learner == "mira" else {"fraction": 0.1},
                "test": {"file": str(data / name / "test.tsv.gz")},
                "device": "cpu",
                "run": {"tensorboard": False, "report": False},
            },
            strict=False,
        )
        for learner, (features, model, train) in chosen.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", action="append", choices=list(SETS), dest="sets")
    parser.add_argument("--data", type=Path, default=Path("../shared/data/text"))
    parser.add_argument("--out", type=Path, required=True)
    chosen = parser.parse_args()
    rows = []
    for name in chosen.sets or list(SETS):
        for learner, options in experiments(name, chosen.data).items():
            metrics, (_, cpu) = timed(partial(run, options, chosen.out / f"{name}-{learner}"))
            best, test = metrics.get("best"), metrics["test"]
            held_out = "–" if best is None or best.get("value") is None else f"{best['value']:.4f}"
            figures = [f"{test['accuracy']:.4f}", f"{test['macro_f1']:.4f}", f"{cpu:.1f}"]
            rows.append([name, learner, held_out, *figures, str(metrics["final"][0]["steps"])])
            print(rows[-1], flush=True)
    head = ["set", "learner", "held-out", "test accuracy", "macro-F1", "CPU s", "epochs"]
    print(markdown_table(head, rows))


if __name__ == "__main__":
    main()
