"""Forests on the semantic role tables beside tree libraries (needs the measuring data; $GPUCLF_DATA or ../shared/data).

    python -m benchmarks.forest                           EWT, 128 trees
    python -m benchmarks.forest --table wsj_delex --trees 32 --rows 50000

Ours: composed splits (√f and 12·√f candidates), sorted splits with two inputs a node, boosting. Peers: scikit-learn's
random forest and extra trees on one-hot inputs, XGBoost where it is installed. LightGBM and CatBoost are not run yet,
nor are peak memory and cost against cardinality measured. Every program gets the training table ready-made in the form
that it takes; nothing is compiled while the clock runs. CPU seconds count all threads.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from benchmarks.green import ROOT, require_green
from benchmarks.measure import markdown_table, surroundings
from gpuclf.data.records import Chunk
from gpuclf.features.categorical import fit_categories
from gpuclf.features.options import CategoricalOptions
from gpuclf.features.rows import Rows, Views
from gpuclf.models.forest.options import ForestOptions
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.loop import BatchLoop

TESTS = [
    "tests/ops/test_grow_forest.py",
    "tests/ops/test_forest_votes.py",
    "tests/ops/test_boost_round.py",
    "tests/ops/test_class_slopes.py",
]
INPUTS = ("pred", "pt", "hw", "path", "position", "voice", "subcat")
OURS: dict[str, dict[str, Any]] = {
    "composed": {},
    "composed 12*sqrt": {"candidates": "12*sqrt"},
    "sorted": {"splits": "sorted", "max_features": 2},
    "boosting": {"boosting": True},
    "boosting on samples": {  # chosen on the development rows of EWT
        "boosting": True,
        "n_estimators": 96,
        "gradient_sampling": 0.2,
        "max_depth": 10,
        "l2": 2.0,
        "learning_rate": 0.12,
    },
}
XGBOOST: dict[str, dict[str, Any]] = {
    "XGBoost, its defaults": {"rounds": 40},
    "XGBoost, depth 10, eta 0.2": {"rounds": 40, "max_depth": 10, "eta": 0.2},
}


def read(path: Path, limit: int | None) -> Chunk:
    """The rows of a table, as one chunk."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        head = next(lines).rstrip("\n").split("\t")
        rows = [line.rstrip("\n").split("\t") for line in lines][:limit]
    columns = {name: [row[head.index(name)] for row in rows] for name in INPUTS}
    labels = [row[head.index("label")] for row in rows]
    numbers = [str(n) for n in range(len(rows))]
    return Chunk(numbers, list(range(len(rows))), labels, named=None, columns=columns)


class Tables:
    """Codes of training and test rows, and their labels (-1 for a class that training has not)."""

    def __init__(self, folder: Path, limit: int | None):
        train, test = read(folder / "train.tsv.gz", limit), read(folder / "test.tsv.gz", None)
        encoder, encoded = fit_categories([train], CategoricalOptions())
        self.train, self.test = encoded.rows, encoder.encode([test]).rows
        assert train.labels is not None
        assert test.labels is not None
        self.classes = sorted(set(train.labels))
        place = {name: k for k, name in enumerate(self.classes)}
        self.y = np.array([place[label] for label in train.labels])
        self.gold = np.array([place.get(label, -1) for label in test.labels])


def ours(tables: Tables, options: dict[str, Any], trees: int) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """Training, and the predicted classes of the test rows."""
    chosen, train = ForestOptions.model_validate({"n_estimators": trees, **options}), TrainOptions()
    labels = torch.from_numpy(tables.y)
    everything = torch.ones(1, len(labels), dtype=torch.bool)
    replicas = Replicas(torch.tensor([0]), torch.tensor([0]))
    keys = torch.arange(len(labels))
    problem = Problem(tables.train, labels, keys, len(tables.classes), Views(everything), replicas)

    def fit() -> Any:
        loop = BatchLoop(chosen.build(train, tables.classes), problem, train, chosen.max_steps(train))
        return loop.run(lambda report, running: None).predictor

    def predict(model: Any) -> NDArray[np.int64]:
        docs = torch.arange(tables.test.num_docs)
        said: NDArray[np.int64] = model.scores(tables.test, docs, None, None)[0].argmax(1).numpy()
        return said

    return fit, predict


def codes_of(rows: Rows) -> NDArray[np.int32]:
    """The codes of a table."""
    codes: NDArray[np.int32] = rows.codes.numpy()  # type: ignore[union-attr]
    return codes


def scikit(tables: Tables, name: str, trees: int) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """A forest of scikit-learn on one-hot inputs."""
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(handle_unknown="ignore")
    train, test = encoder.fit_transform(codes_of(tables.train)), encoder.transform(codes_of(tables.test))
    kind = RandomForestClassifier if name == "random forest" else ExtraTreesClassifier
    model = kind(n_estimators=trees, n_jobs=torch.get_num_threads(), random_state=0)
    return lambda: model.fit(train, tables.y), lambda fitted: fitted.predict(test)


def xgboost(tables: Tables, options: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
    """Boosted trees of XGBoost, on its own categorical splits."""
    import xgboost as peer

    kinds = ["c"] * len(INPUTS)
    train, test = (
        peer.DMatrix(codes_of(rows).astype(np.float32), label, feature_types=kinds, enable_categorical=True)
        for rows, label in ((tables.train, tables.y), (tables.test, None))
    )
    settings = {key: value for key, value in options.items() if key != "rounds"}
    settings |= {"objective": "multi:softprob", "num_class": len(tables.classes), "tree_method": "hist"}
    settings["nthread"] = torch.get_num_threads()
    return (
        lambda: peer.train(settings, train, options["rounds"]),
        lambda fitted: np.asarray(fitted.predict(test)).argmax(1),
    )


def measured(name: str, programs: tuple[Callable[[], Any], Callable[[Any], Any]], gold: NDArray[np.int64]) -> list[str]:
    """A row of the table: accuracy, seconds of training, rows a second of prediction."""
    fit, predict = programs
    wall, cpu = time.perf_counter(), time.process_time()
    model = fit()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    began = time.perf_counter()
    said = np.asarray(predict(model))
    speed = len(gold) / (time.perf_counter() - began)
    print(f"{name}: done", flush=True)
    return [name, f"{float((said == gold).mean()):.4f}", f"{cpu:.1f}", f"{wall:.1f}", f"{speed:,.0f}"]


def main() -> None:
    """Prints one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", choices=("ewt", "wsj_delex"), default="ewt")
    parser.add_argument("--trees", type=int, default=128)
    parser.add_argument("--rows", type=int, help="training rows, the first ones; all by default")
    parser.add_argument("--no-peers", action="store_true")
    chosen = parser.parse_args()
    require_green(TESTS)
    data = Path(os.environ.get("GPUCLF_DATA", ROOT.parent / "shared" / "data"))
    tables = Tables(data / "srl" / chosen.table, chosen.rows)
    for options in OURS.values():  # compiled before the clock runs
        ours(tables, options | {"max_depth": 1}, 1)[0]()
    rows = [measured(name, ours(tables, options, chosen.trees), tables.gold) for name, options in OURS.items()]
    if not chosen.no_peers:
        for name in ("random forest", "extra trees"):
            rows.append(measured(f"scikit-learn {name}", scikit(tables, name, chosen.trees), tables.gold))
        if importlib.util.find_spec("xgboost") is None:
            rows.append(["XGBoost", "not installed", "", "", ""])
        else:
            rows += [measured(name, xgboost(tables, options), tables.gold) for name, options in XGBOOST.items()]
    print(surroundings(torch.device("cpu")))
    print(markdown_table(["program", "accuracy", "CPU s", "wall s", "rows/s predicted"], rows))


if __name__ == "__main__":
    main()
