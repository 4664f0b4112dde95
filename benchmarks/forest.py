"""Forests on the semantic role tables beside tree libraries (needs the measuring data; $GPUCLF_DATA or ../shared/data).

    python -m benchmarks.forest                            EWT, 128 trees
    python -m benchmarks.forest --table wsj_delex --limit 300
    python -m benchmarks.forest --only sorted XGBoost      programs whose name holds one of these words
    python -m benchmarks.forest --costs                    ours against rows, trees, values; figures/forest-costs.svg

Every program runs in a process of its own, which reads the table in the form that the program takes; only training and
prediction are timed, CPU seconds of all threads. Nothing is compiled while the clock runs. Peak memory is that of the
process, libraries and table included. A peer that is not installed, or trains longer than the limit, is said to be so.
The settings of ours were chosen on the development rows of EWT; XGBoost's are those of a search that reached most on
the test rows themselves, in its favour; LightGBM's are regularised by hand, as at its defaults it diverges on classes
of a few rows. CatBoost tries neither pairs of inputs nor more than one prior: both made no difference in its first
rounds, and take 2.5 times as long. Where boosting of both ran, it is said below the table what each took to be as
accurate as the other.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
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
from gpuclf.features.rows import CodeRows, Rows, Views
from gpuclf.models.forest.options import ForestOptions
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.train_options import TrainOptions
from gpuclf.train.loop import BatchLoop

TESTS = [
    "tests/ops/test_grow_forest.py",
    "tests/ops/test_forest_votes.py",
    "tests/ops/test_boost_round.py",
    "tests/ops/test_class_slopes.py",
    "tests/ops/test_distinct_rows.py",
    "tests/ops/test_add_rows.py",
]
INPUTS = ("pred", "pt", "hw", "path", "position", "voice", "subcat")
SORTED = {"splits": "sorted", "max_features": 2}
OURS: dict[str, dict[str, Any]] = {
    "ours, composed": {},
    "ours, composed, 12*sqrt": {"candidates": "12*sqrt"},
    "ours, sorted": SORTED,
    "ours, boosting": {"boosting": True},
    "ours, boosting on samples": {
        "boosting": True,
        "n_estimators": 32,
        "gradient_sampling": 0.2,
        "max_features": 5,
        "max_depth": 12,
        "l2": 2.0,
        "learning_rate": 0.15,
    },
}
SEARCHED = {"max_depth": 10, "eta": 0.2, "colsample_bynode": 0.5}
PEERS: dict[str, tuple[str, dict[str, Any]]] = {  # the package that must be there, and the settings
    "scikit-learn random forest, codes": ("sklearn", {}),
    "scikit-learn random forest, one-hot, 16 trees": ("sklearn", {"n_estimators": 16}),
    "scikit-learn extra trees, one-hot, 16 trees": ("sklearn", {"n_estimators": 16}),
    "scikit-learn HistGradientBoosting, codes": ("sklearn", {}),
    "XGBoost, 40 rounds": ("xgboost", {"rounds": 40}),
    "XGBoost, 100 rounds": ("xgboost", {"rounds": 100}),
    "XGBoost, depth 10, eta 0.2, half of the inputs a node, 30 rounds": ("xgboost", {**SEARCHED, "rounds": 30}),
    "XGBoost, depth 10, eta 0.2, half of the inputs a node, 50 rounds": ("xgboost", {**SEARCHED, "rounds": 50}),
    "LightGBM, by hand, 100 rounds": ("lightgbm", {"n_estimators": 100}),
    "CatBoost, plain, depth 6, rate 0.3, 50 rounds": ("catboost", {"iterations": 50}),
    "CatBoost, plain, depth 6, rate 0.3, 100 rounds": ("catboost", {"iterations": 100}),
}
Programs = tuple[Callable[[], Any], Callable[[Any], Any]]


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


def ours(train_rows: Rows, y: NDArray[np.int64], classes: int, options: dict[str, Any]) -> Callable[[], Any]:
    """Training; gives the predictor."""
    names = [str(k) for k in range(classes)]
    chosen, train = ForestOptions.model_validate(options), TrainOptions()
    everything = torch.ones(1, len(y), dtype=torch.bool)
    replicas = Replicas(torch.tensor([0]), torch.tensor([0]))
    labels, keys = torch.from_numpy(y), torch.arange(len(y))
    problem = Problem(train_rows, labels, keys, classes, Views(everything), replicas)

    def fit() -> Any:
        loop = BatchLoop(chosen.build(train, names), problem, train, chosen.max_steps(train))
        return loop.run(lambda report, running: None).predictor

    return fit


def _ours(tables: Tables, options: dict[str, Any], trees: int) -> Programs:
    settings = {"n_estimators": trees, **options}
    ours(tables.train, tables.y, len(tables.classes), settings | {"max_depth": 1, "n_estimators": 1})()  # compiles
    fit = ours(tables.train, tables.y, len(tables.classes), settings)

    def predict(model: Any) -> NDArray[np.int64]:
        docs = torch.arange(tables.test.num_docs)
        said: NDArray[np.int64] = model.scores(tables.test, docs, None, None)[0].argmax(1).numpy()
        return said

    return fit, predict


def codes_of(rows: Rows) -> NDArray[np.int32]:
    """The codes of a table."""
    assert isinstance(rows, CodeRows)
    codes: NDArray[np.int32] = rows.codes.numpy()
    return codes


def _scikit(tables: Tables, name: str, settings: dict[str, Any], trees: int) -> Programs:
    """A forest of scikit-learn on one-hot inputs or codes as numbers, or its boosting on 255 codes an input at most."""
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.preprocessing import OneHotEncoder

    train, test = codes_of(tables.train), codes_of(tables.test)
    if "Hist" in name:
        model = HistGradientBoostingClassifier(random_state=0, early_stopping=False)  # its split needs two rows a class
        return lambda: model.fit(train, tables.y), lambda fitted: fitted.predict(test)
    if "one-hot" in name:
        encoder = OneHotEncoder(handle_unknown="ignore")
        train, test = encoder.fit_transform(train), encoder.transform(test)
    kind = RandomForestClassifier if "random" in name else ExtraTreesClassifier
    forest = kind(**({"n_estimators": trees} | settings), n_jobs=torch.get_num_threads(), random_state=0)
    return lambda: forest.fit(train, tables.y), lambda fitted: fitted.predict(test)


def _xgboost(tables: Tables, settings: dict[str, Any]) -> Programs:
    """Boosted trees of XGBoost, on its own categorical splits."""
    import xgboost

    kinds = ["c"] * len(INPUTS)
    train, test = (
        xgboost.DMatrix(codes_of(rows).astype(np.float32), label, feature_types=kinds, enable_categorical=True)
        for rows, label in ((tables.train, tables.y), (tables.test, None))
    )
    chosen = {key: value for key, value in settings.items() if key != "rounds"}
    chosen |= {"objective": "multi:softprob", "num_class": len(tables.classes), "tree_method": "hist"}
    chosen["nthread"] = torch.get_num_threads()
    return (
        lambda: xgboost.train(chosen, train, settings["rounds"]),
        lambda fitted: np.asarray(fitted.predict(test)).argmax(1),
    )


def _lightgbm(tables: Tables, settings: dict[str, Any]) -> Programs:
    """Boosted trees of LightGBM, on its own categorical splits."""
    import lightgbm

    train, test = codes_of(tables.train), codes_of(tables.test)
    model = lightgbm.LGBMClassifier(
        **settings,
        learning_rate=0.1,
        num_leaves=31,
        min_child_samples=20,
        min_child_weight=1.0,
        reg_lambda=10.0,
        cat_smooth=30.0,
        cat_l2=30.0,
        max_cat_threshold=64,
        n_jobs=torch.get_num_threads(),
        random_state=0,
        verbose=-1,
    )
    columns = list(range(len(INPUTS)))
    return lambda: model.fit(train, tables.y, categorical_feature=columns), lambda fitted: fitted.predict(test)


def _catboost(tables: Tables, settings: dict[str, Any]) -> Programs:
    """Boosted trees of CatBoost, on its own target statistics."""
    import catboost

    columns = list(range(len(INPUTS)))
    train = catboost.Pool(codes_of(tables.train), tables.y, cat_features=columns)
    test = catboost.Pool(codes_of(tables.test), cat_features=columns)
    model = catboost.CatBoostClassifier(
        **settings,
        loss_function="MultiClass",
        boosting_type="Plain",
        depth=6,
        learning_rate=0.3,
        max_ctr_complexity=1,
        simple_ctr=["Borders:Prior=0.5"],
        thread_count=torch.get_num_threads(),
        random_seed=0,
        verbose=False,
        allow_writing_files=False,
    )
    return lambda: model.fit(train), lambda fitted: np.asarray(fitted.predict(test)).ravel()


def run_one(name: str, folder: Path, trees: int, rows: int | None, limit: int) -> dict[str, Any]:
    """Trains and predicts with one program, in this process, which ends when training passes `limit` CPU seconds."""
    tables = Tables(folder, rows)
    if name in OURS:
        fit, predict = _ours(tables, OURS[name], trees)
    else:
        package, settings = PEERS[name]
        peers: dict[str, Callable[[], Programs]] = {
            "sklearn": lambda: _scikit(tables, name, settings, trees),
            "xgboost": lambda: _xgboost(tables, settings),
            "lightgbm": lambda: _lightgbm(tables, settings),
            "catboost": lambda: _catboost(tables, settings),
        }
        fit, predict = peers[package]()
    resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + limit, resource.RLIM_INFINITY))
    wall, cpu = time.perf_counter(), time.process_time()
    model = fit()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    began = time.process_time()
    said = np.asarray(predict(model))
    spent = time.process_time() - began
    return {
        "accuracy": float((said == tables.gold).mean()),
        "cpu": cpu,
        "wall": wall,
        "rows": len(tables.gold) / spent,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def measured(name: str, command: list[str], limit: int) -> dict[str, Any]:
    """What run_one finds in a process of its own; or `missing`, why there is nothing."""
    package = PEERS[name][0] if name in PEERS else None
    if package is not None and importlib.util.find_spec(package) is None:
        return {"missing": "not installed"}
    whole = [sys.executable, "-m", "benchmarks.forest", *command, "--program", name]
    done = subprocess.run(whole, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode == -signal.SIGXCPU:
        return {"missing": f"not done after {limit} CPU s"}
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        return {"missing": said[-1][:80]}
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def line(name: str, found: dict[str, Any]) -> list[str]:
    """A row of the table: accuracy, seconds of training, rows predicted a CPU second, peak memory."""
    if "missing" in found:
        return [name, found["missing"], "", "", "", ""]
    seconds = (f"{found['cpu']:.1f}", f"{found['wall']:.1f}")
    return [name, f"{found['accuracy']:.4f}", *seconds, f"{found['rows']:,.0f}", f"{found['memory']:,.0f}"]


def equal_accuracy(found: dict[str, dict[str, Any]]) -> list[str]:
    """Of ours and XGBoost's boosting: the least CPU seconds that reach the other's best accuracy, and their ratio."""
    ran = {name: figures for name, figures in found.items() if "missing" not in figures}
    sides = [{n: f for n, f in ran.items() if n.startswith(start)} for start in ("ours, boosting", "XGBoost")]
    if not all(sides):
        return []
    said = []
    for one, other in (sides, sides[::-1]):
        best = max(one.values(), key=lambda figures: (figures["accuracy"], -figures["cpu"]))
        enough = [f["cpu"] for f in other.values() if f["accuracy"] >= best["accuracy"]]
        names = [next(iter(side)).partition(",")[0] for side in (one, other)]
        reached = f"{names[0]} reaches {best['accuracy']:.4f} in {best['cpu']:.1f} CPU s"
        if enough:
            said.append(
                f"{reached}; {names[1]} that or more in {min(enough):.1f}: {best['cpu'] / min(enough):.1f} times"
            )
        else:
            said.append(f"{reached}; {names[1]} in no setting that ran")
    return said


def costs(folder: Path, figure: Path) -> list[list[str]]:
    """CPU seconds of sorted forests against rows, trees and values of an input; drawn into `figure`."""
    tables = Tables(folder, None)
    classes, draw = len(tables.classes), np.random.default_rng(0)
    ours(tables.train, tables.y, classes, {"n_estimators": 1, "max_depth": 1, **SORTED})()
    found: dict[str, list[tuple[int, float]]] = {"rows": [], "trees": [], "values": []}
    assert isinstance(tables.train, CodeRows)
    for share in (8, 4, 2, 1):
        rows = len(tables.y) // share
        part = CodeRows(tables.train.codes[:rows].contiguous(), tables.train.num_values)
        found["rows"].append((rows, _spent(ours(part, tables.y[:rows], classes, {"n_estimators": 32, **SORTED}))))
    for trees in (8, 16, 32, 64):
        work = ours(tables.train, tables.y, classes, {"n_estimators": trees, **SORTED})
        found["trees"].append((trees, _spent(work)))
    for values in (10, 100, 1_000, 10_000, 100_000):
        codes = torch.from_numpy(draw.integers(1, values + 1, size=(100_000, 2)).astype(np.int32))
        y = (codes[:, 0].long().numpy() * 2654435761 % 7 + draw.integers(0, 2, 100_000)) % 7
        work = ours(CodeRows(codes, (values + 1,) * 2), y, 7, {"n_estimators": 8, "max_depth": 12, **SORTED})
        found["values"].append((values, _spent(work)))
    _draw(found, figure)
    return [[name, f"{size:,}", f"{spent:.2f}"] for name, points in found.items() for size, spent in points]


def _spent(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def _draw(found: dict[str, list[tuple[int, float]]], path: Path) -> None:
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "gpuclf"
    figure, axes = pyplot.subplots(1, len(found), figsize=(10, 3.4), layout="constrained")
    labels = {
        "rows": "rows of EWT\n(32 trees)",
        "trees": "trees\n(65,496 rows)",
        "values": "values an input\n(100,000 rows, 2 inputs, 8 trees)",
    }
    for axis, (name, points) in zip(axes, found.items(), strict=True):
        axis.plot(*zip(*points, strict=True), marker="o")
        axis.set(xlabel=labels[name], ylabel="CPU s", ylim=(0, None))
        axis.set_xscale("log" if name == "values" else "linear")
        axis.set_xticks([size for size, _ in points], [f"{size:,}" for size, _ in points], rotation=30)
        axis.minorticks_off()
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Prints one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", choices=("ewt", "wsj_delex"), default="ewt")
    parser.add_argument("--trees", type=int, default=128)
    parser.add_argument("--rows", type=int, help="training rows, the first ones; all by default")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--limit", type=int, default=1200, help="CPU seconds that a program may train")
    parser.add_argument("--only", nargs="+", default=[""])
    parser.add_argument("--costs", action="store_true")
    parser.add_argument("--program", choices=[*OURS, *PEERS], help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    data = Path(os.environ.get("GPUCLF_DATA", ROOT.parent / "shared" / "data"))
    folder = data / "srl" / chosen.table
    if chosen.program is not None:
        print(json.dumps(run_one(chosen.program, folder, chosen.trees, chosen.rows, chosen.limit)))
        return
    require_green(TESTS)
    print(surroundings(torch.device("cpu")), flush=True)
    if chosen.costs:
        rows = costs(folder, Path(__file__).parent / "figures" / "forest-costs.svg")
        print(markdown_table(["against", "size", "CPU s"], rows))
        return
    command = ["--table", chosen.table, "--trees", str(chosen.trees), "--threads", str(chosen.threads)]
    command += ["--limit", str(chosen.limit)]
    command += [] if chosen.rows is None else ["--rows", str(chosen.rows)]
    found = {}
    for name in (*OURS, *PEERS):
        if any(word in name for word in chosen.only):
            found[name] = measured(name, command, chosen.limit)
            print(" · ".join(line(name, found[name])), flush=True)
    head = ["program", "accuracy", "CPU s", "s", "rows a CPU s", "peak MiB"]
    print(markdown_table(head, [line(*item) for item in found.items()]))
    print("\n".join(equal_accuracy(found)))


if __name__ == "__main__":
    main()
