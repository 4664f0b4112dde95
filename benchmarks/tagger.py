"""The type-level tagger on tagged corpora, beside word-clustering programs (needs the measuring data).

    python -m benchmarks.tagger                              chains on conll2000, and the peers on PATH
    python -m benchmarks.tagger --only scale --corpus brown  cost of a sweep, and benchmarks/figures/tagger-brown.svg
    python -m benchmarks.tagger --only batches               batched sweeps beside exact ones

chains: every seed by itself on one thread: CPU seconds of all sweeps (reading and numbering not counted), log joint and
figures against gold tags; and CPU seconds until V is 0.65 or more, looked at after every sweep (looking not counted).
scale: CPU seconds of a sweep over an eighth, a quarter, half and all sentences, after five sweeps; a line through
the four points and how much of their variance it explains; drawn to --plot FILE.
batches: one chain each of exact and batched sweeps, plain and with the Metropolis-Hastings correction from the sixth
sweep on: CPU seconds, log joint and its distance from that of exact, accepted batches in the last sweep, figures.
peers: wcluster (Liang 2005), clustercat (Dehdari 2016) and Clark's cluster_neyessenmorph (2003), each where its program
is on PATH: CPU seconds and the same figures with as many clusters.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.green import ROOT, require_green
from benchmarks.measure import cpu_seconds, markdown_table, surroundings, timed
from gpuclf.data.open import open_reader
from gpuclf.data.options import DataOptions
from gpuclf.features.options import WordTypesOptions
from gpuclf.features.rows import Views
from gpuclf.features.tagged_types import TypeCorpus
from gpuclf.features.word_types import fit_word_types
from gpuclf.metrics.clustering import ClusteringFigures, clustering_confusion, clustering_figures
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.tagger.options import TypeTaggerOptions
from gpuclf.models.train_options import TrainOptions

TESTS = ["tests/ops/test_type_gibbs.py"]
TESTS_OF_BATCHES = ["tests/ops/test_type_gibbs_posterior.py"]
PARTS = ("chains", "scale", "peers", "batches")
FIGURES = ROOT / "benchmarks" / "figures"
GOAL = 0.65  # V


@dataclass(frozen=True)
class Corpus:
    """Sentences with gold tags; num_gold of them, and the words by type number."""

    types: TypeCorpus
    gold: Tensor
    num_gold: int
    words: list[str]

    def figures(self, tags: Tensor) -> ClusteringFigures:
        """Of tags (R, types), by token."""
        size = int(tags.max()) + 1
        by_token = tags[:, self.types.ids.long()]
        return clustering_figures(clustering_confusion(by_token, self.gold, size, self.num_gold))

    def problem(self, seed: int) -> Problem:
        none = torch.zeros(0, dtype=torch.int64)
        replicas = Replicas(torch.zeros(1, dtype=torch.int64), torch.tensor([seed]))
        return Problem(self.types, none, none, self.num_gold, Views(torch.zeros((1, 0), dtype=torch.bool)), replicas)


def load(name: str) -> Corpus:
    """A corpus of the measuring data, with the features that configs have by default."""
    folder = Path(os.environ.get("GPUCLF_DATA") or ROOT.parent / "shared" / "data") / "pos"
    file = folder / f"{name}.tsv.gz"
    if not file.is_file():
        raise SystemExit(f"{file} is not there; set GPUCLF_DATA to the folder that holds pos/{name}.tsv.gz")
    columns = ["token", "tag", "universal"] if name in ("brown", "ewt_train") else ["token", "tag"]
    data = DataOptions.model_validate(
        {"train": str(file), "format": "conll", "columns": columns, "tokens": "token", "gold": "tag"}
    )
    words, found = fit_word_types(open_reader(data.train, data).chunks(), WordTypesOptions())
    assert found.gold is not None
    return Corpus(found.corpus, found.gold, len(found.gold_classes), words.names)


def chains(corpus: Corpus, options: TypeTaggerOptions, seeds: int) -> str:
    """One chain after the other."""
    learner, rows = options.build(TrainOptions(), corpus.words), []
    warm = corpus.problem(0)
    learner.step(warm, learner.init(warm))  # compiles the kernel and finds the contexts
    for seed in range(seeds):
        problem, spent, reached = corpus.problem(seed), 0.0, ""
        state, times = timed(partial(learner.init, problem))
        spent += times[1]
        while not bool(learner.finished(problem, state).all()):
            state, times = timed(partial(learner.step, problem, state))
            spent += times[1]
            if not reached and float(corpus.figures(state.sample.tags).v_measure) >= GOAL:
                reached = f"{spent:.2f} s, {state.sweep} sweeps"
        figures = corpus.figures(state.sample.tags)
        row = [str(seed), f"{spent:.2f}", reached or "not reached", f"{float(state.sample.log_joint):.0f}"]
        rows.append([*row, *_shown(figures)])
    head = ["seed", "CPU s", f"to V ≥ {GOAL}", "log joint", "many-to-one", "one-to-one", "V"]
    return f"chains, {options.sweeps} sweeps, sampler {options.sampler}\n\n{markdown_table(head, rows)}"


def batches(corpus: Corpus, tags: int, sweeps: int) -> str:
    """Exact and batched chains of one seed."""
    kinds: list[tuple[str, dict[str, Any]]] = [("exact", {"sampler": "exact"})]
    kinds += [(f"batches of {size}", {"sampler": "batched", "batch": size}) for size in (512, 4096)]
    kinds += [
        (f"batches of {size}, corrected", {"sampler": "batched", "batch": size, "mh": True}) for size in (512, 64)
    ]
    rows, exact, problem = [], 0.0, corpus.problem(0)
    for name, chosen in kinds:
        options = TypeTaggerOptions.model_validate({"tags": tags, "sweeps": sweeps, **chosen})
        learner = options.build(TrainOptions(), corpus.words)
        learner.step(problem, learner.init(problem))  # compiles the kernels
        state, spent = learner.init(problem), 0.0
        while not bool(learner.finished(problem, state).all()):
            state, times = timed(partial(learner.step, problem, state))
            spent += times[1]
        joint = float(state.sample.log_joint)
        exact = exact or joint
        accepted = f"{100 * float(state.accepted):.0f} %" if options.mh else ""
        row = [name, f"{spent:.2f}", f"{joint:.0f}", f"{100 * (joint / exact - 1):.2f} %", accepted]
        rows.append([*row, *_shown(corpus.figures(state.sample.tags))])
    head = ["sweeps", "CPU s", "log joint", "below exact", "accepted", "many-to-one", "one-to-one", "V"]
    return f"batches, {sweeps} sweeps, seed 0\n\n{markdown_table(head, rows)}"


def scale(corpus: Corpus, options: TypeTaggerOptions, repeats: int, plot: Path) -> str:
    """Cost of a sweep against tokens."""
    points = []
    for part in (8, 4, 2, 1):
        some = _first_sentences(corpus, corpus.types.num_sentences // part)
        learner, problem = options.build(TrainOptions(), some.words), some.problem(0)
        state = learner.init(problem)
        for _ in range(5):
            state = learner.step(problem, state)
        spent = []
        for _ in range(repeats):
            state, times = timed(partial(learner.step, problem, state))
            spent.append(times[1])
        points.append((some.types.num_tokens, some.types.num_types, float(np.median(spent))))
    tokens, seconds = (np.array([point[i] for point in points], dtype=float) for i in (0, 2))
    slope, start = np.polyfit(tokens, seconds, 1)
    explained = 1 - ((seconds - slope * tokens - start) ** 2).sum() / ((seconds - seconds.mean()) ** 2).sum()
    _plot(plot, tokens, seconds, slope, start)
    rows = [[str(n), str(types), f"{s * 1e3:.0f}", f"{s / n * 1e9:.0f}"] for n, types, s in points]
    table = markdown_table(["tokens", "types", "CPU ms a sweep", "ns a token"], rows)
    line = f"{slope * 1e9:.0f} ns a token + {start * 1e3:.0f} ms, R² {explained:.4f}"
    return f"scale\n\n{table}\n\nline: {line}; drawn in {plot.name}"


def peers(corpus: Corpus, sentences: list[list[str]]) -> str:
    """The clustering programs that are installed."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text"
        text.write_text("".join(" ".join(sentence) + "\n" for sentence in sentences), encoding="utf-8")
        for program, run in _PROGRAMS.items():
            if shutil.which(program) is None:
                rows.append([program, "absent: not on PATH", "", "", ""])
                continue
            before = cpu_seconds()
            clusters = run(text, corpus.num_gold)
            spent = cpu_seconds() - before
            names = {name: number for number, name in enumerate(sorted(set(clusters.values())))}
            tags = [names[clusters[word]] if word in clusters else len(names) for word in corpus.words]
            rows.append([program, f"{spent:.2f}", *_shown(corpus.figures(torch.tensor([tags])))])
    return f"peers\n\n{markdown_table(['program', 'CPU s', 'many-to-one', 'one-to-one', 'V'], rows)}"


def _wcluster(text: Path, clusters: int) -> dict[str, str]:
    subprocess.run(["wcluster", "--text", str(text), "--c", str(clusters)], cwd=text.parent, check=True)
    lines = next(text.parent.glob("text-c*/paths")).read_text(encoding="utf-8").splitlines()
    return {word: path for path, word, _ in (line.split("\t") for line in lines)}


def _clustercat(text: Path, clusters: int) -> dict[str, str]:
    command = ["clustercat", "-j", "1", "-c", str(clusters), "--min-count", "1"]  # reads standard input
    with text.open(encoding="utf-8") as file:
        done = subprocess.run(command, check=True, stdin=file, capture_output=True, text=True, encoding="utf-8")
    return dict(line.split("\t")[:2] for line in done.stdout.splitlines())


def _clark(text: Path, clusters: int) -> dict[str, str]:
    words = text.with_suffix(".words")
    words.write_text(text.read_text(encoding="utf-8").replace(" ", "\n"), encoding="utf-8")
    command = ["cluster_neyessenmorph", "-s", "5", "-m", "0", "-i", "10", str(words), str(words), str(clusters)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    return {cells[0]: cells[1] for cells in map(str.split, done.stdout.splitlines()) if len(cells) >= 2}


_PROGRAMS: dict[str, Callable[[Path, int], dict[str, str]]] = {
    "wcluster": _wcluster,
    "clustercat": _clustercat,
    "cluster_neyessenmorph": _clark,
}


def _shown(figures: ClusteringFigures) -> list[str]:
    chosen = (figures.many_to_one, figures.one_to_one, figures.v_measure)
    return [f"{100 * float(figure[0]):.1f}" for figure in chosen]


def _first_sentences(corpus: Corpus, sentences: int) -> Corpus:
    """The first sentences, with only their types."""
    offsets = corpus.types.offsets[: sentences + 1]
    found, ids = torch.unique(corpus.types.ids[: int(offsets[-1])], return_inverse=True)
    codes = corpus.types.type_codes[found.long()]
    types = TypeCorpus(ids.to(torch.int32), offsets, codes, corpus.types.num_values)
    words = [corpus.words[int(i)] for i in found]
    return replace(corpus, types=types, gold=corpus.gold[: ids.numel()], words=words)


def _plot(file: Path, tokens: np.ndarray, seconds: np.ndarray, slope: float, start: float) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(tokens, seconds * 1e3, "o", label="measured")
    ends = np.array([0.0, tokens.max()])
    axes.plot(ends, (slope * ends + start) * 1e3, "-", linewidth=1, label=f"{slope * 1e9:.0f} ns a token")
    axes.set(xlabel="tokens", ylabel="CPU ms a sweep", xlim=(0, None), ylim=(0, None))
    axes.legend(frameon=False)
    file.parent.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(
        {"svg.hashsalt": "tagger", "svg.fonttype": "none"}
    ):  # the same file from the same points
        figure.savefig(file, dpi=100, metadata={"Date": None} if file.suffix == ".svg" else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=["chains", "peers"])
    parser.add_argument("--corpus", default="conll2000")
    parser.add_argument("--sampler", choices=["exact", "paper", "clojure", "batched"], default="exact")
    parser.add_argument("--sweeps", type=int, default=30)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--plot", type=Path, help="PNG or SVG; by default benchmarks/figures/tagger-CORPUS.svg")
    parser.add_argument("--untested", action="store_true", help="skip the tests that guard the times")
    given = parser.parse_args()
    if not given.untested:
        batched = "batches" in given.only or given.sampler == "batched"
        require_green(TESTS + (TESTS_OF_BATCHES if batched else []))
    torch.set_num_threads(1)
    corpus = load(given.corpus)
    options = TypeTaggerOptions(tags=corpus.num_gold, sampler=given.sampler, sweeps=given.sweeps)
    types = corpus.types
    print(f"{surroundings(torch.device('cpu'))}; {given.corpus}: {types.num_tokens} tokens, {types.num_types} types\n")
    for part in given.only:
        if part == "chains":
            print(chains(corpus, options, given.seeds))
        elif part == "scale":
            print(scale(corpus, options, given.repeats, given.plot or FIGURES / f"tagger-{given.corpus}.svg"))
        elif part == "batches":
            print(batches(corpus, corpus.num_gold, given.sweeps))
        else:
            ids, ends = types.ids.tolist(), types.offsets.tolist()
            sentences = [[corpus.words[i] for i in ids[a:b]] for a, b in pairwise(ends)]
            print(peers(corpus, sentences))
        print(flush=True)


if __name__ == "__main__":
    main()
