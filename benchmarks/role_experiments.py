"""The experiments of Nielsen & Pradhan (2004) on the EWT role table: configs/srl/paper, several seeds, McNemar's test.

    python -m benchmarks.role_experiments                      128 trees, seed 0
    python -m benchmarks.role_experiments --trees 32 --seeds 0 1 2 --only baseline lazy

Needs the measuring data ($GPUCLF_DATA or ../shared/data). Runs are kept under runs/role-experiments and not repeated.
p is McNemar's, against the baseline of the same seed and number of trees, one a seed; CPU seconds are those of the
whole command, reading and testing included.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from safetensors import safe_open

from benchmarks.green import ROOT, require_green
from benchmarks.measure import markdown_table, surroundings
from gpuclf.metrics.mcnemar import mcnemar
from gpuclf.report.comparison_files import read_systems

TESTS = ["tests/ops/test_grow_forest.py", "tests/models/test_forest.py"]
EXPERIMENTS: dict[str, tuple[str, list[str]]] = {
    "baseline": ("baseline", []),
    "extended": ("extended", []),
    "new": ("new", []),
    "first_tree": ("first_tree", []),
    "bagging": ("bagging", []),
    "lazy": ("lazy", []),
    "merged_values": ("merged_values", []),
    "frequent_values": ("frequent_values", []),
    "frequent5": ("frequent_values", ["model.min_value_count=5"]),
    "both": ("frequent_values", ["model.merge_pure_values=true"]),
}


@dataclass(frozen=True)
class Finished:
    """A run folder and what it took."""

    folder: Path
    cpu: float

    @property
    def test(self) -> dict[str, Any]:
        """Its test figures."""
        figures: dict[str, Any] = json.loads((self.folder / "metrics.json").read_text(encoding="utf-8"))["test"]
        return figures

    @property
    def last(self) -> dict[str, Any]:
        """The figures of its last step."""
        line: dict[str, Any] = json.loads(
            (self.folder / "metrics.jsonl").read_text("utf-8").strip().rpartition("\n")[2]
        )
        return line

    def kept(self) -> torch.Tensor:
        """(values of all inputs,): what stands for each value."""
        with safe_open(self.folder / "model.safetensors", "pt") as tensors:
            found: torch.Tensor = tensors.get_tensor("predictor.mapping")[0]
            return found


def run(name: str, seed: int, trees: int, data: Path, root: Path) -> Finished:
    """Trains, unless the run is there."""
    config, overrides = EXPERIMENTS[name]
    folder = root / f"{name}-{trees}-{seed}"
    spent = folder / "cpu_seconds.txt"
    if not spent.is_file():
        settings = [f"data.train='{data / 'train.tsv.gz'}'", f"test.file='{data / 'test.tsv.gz'}'", "device=cpu"]
        settings += [f"seed={seed}", f"run.dir='{folder}'", *overrides]
        if name != "first_tree":
            settings.append(f"model.n_estimators={trees}")
        path = ROOT / "configs" / "srl" / "paper" / f"{config}.yaml"
        before = _children()
        command = [sys.executable, "-m", "gpuclf", "train", str(path), *settings]
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        spent.write_text(f"{_children() - before:.1f}\n", encoding="utf-8")
        print(f"{folder.name}: done", flush=True)
    return Finished(folder, float(spent.read_text(encoding="utf-8")))


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def row(name: str, runs: Sequence[Finished], baselines: Sequence[Finished]) -> list[str]:
    """A row of the table."""
    accuracies = [finished.test["accuracy"] for finished in runs]
    spread = f" ({min(accuracies):.4f} to {max(accuracies):.4f})" if len(runs) > 1 else ""
    removed = "–"
    if EXPERIMENTS[name][0] in ("merged_values", "frequent_values"):
        whole, left = baselines[0].kept(), runs[0].kept()
        removed = f"{100 * (1 - float(((left == whole) & (left > 0)).sum() / (whole > 0).sum())):.1f} %"
    chances = [] if name == "baseline" else [_chance(a, b) for a, b in zip(runs, baselines, strict=True)]
    return [
        name,
        f"{fmean(accuracies):.4f}{spread}",
        f"{fmean(finished.test['macro_f1'] for finished in runs):.3f}",
        f"{fmean(finished.last['nodes'] for finished in runs):,.0f}",
        removed,
        f"{fmean(finished.cpu for finished in runs):.0f}",
        ", ".join(chances) or "–",
    ]


def _chance(one: Finished, other: Finished) -> str:
    """McNemar's p of two runs' test answers."""
    first, second = read_systems([one.folder, other.folder])
    rows = zip(first.gold, first.predicted, second.predicted, strict=True)
    right = [(a == gold, b == gold) for gold, a, b in rows]
    chance = mcnemar(sum(a and not b for a, b in right), sum(b and not a for a, b in right)).p
    return f"{chance:.2g}" if chance >= 1e-4 else "< 1e-4"


def main() -> None:
    """Prints one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=128)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    parser.add_argument("--runs", type=Path, default=ROOT / "runs" / "role-experiments", help="folder of run folders")
    chosen = parser.parse_args()
    require_green(TESTS)
    data = Path(os.environ.get("GPUCLF_DATA", ROOT.parent / "shared" / "data")) / "srl" / "ewt"
    chosen.runs.mkdir(parents=True, exist_ok=True)
    found = {
        name: [run(name, seed, chosen.trees, data, chosen.runs.absolute()) for seed in chosen.seeds]
        for name in dict.fromkeys(["baseline", *chosen.only])
    }
    print(surroundings(torch.device("cpu")))
    heads = ["experiment", "accuracy", "macro F1", "nodes a tree", "values removed", "CPU s", "p against the baseline"]
    print(markdown_table(heads, [row(name, runs, found["baseline"]) for name, runs in found.items()]))


if __name__ == "__main__":
    main()
