"""How far a cross-validated accuracy moves with the draw of the folds, and by which edges of the graph.

    python -m benchmarks.decomposable_draws serve                        α .0001, 10 draws of 10 stratified folds
    python -m benchmarks.decomposable_draws serve --select heldout       the same models, chosen on held-out rows
    python -m benchmarks.decomposable_draws serve --select heldout --shuffled-folds
                                         one draw of folds, scikit-learn's, and only the held-out rows drawn anew

Needs the measuring data ($GPUCLF_DATA or ../shared/data). All draws × folds are one batch. Beside the searched models
stand two fixed graphs with parameters of the same folds: the graph found most often, and naive Bayes. sd: of the
accuracy over draws. Two draws answer some contexts differently, one right and one wrong; were these independent, the
difference between draws would have the standard deviation √(their number) / contexts.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.decomposable import FOLDS, read, shuffled_folds
from benchmarks.green import ROOT
from benchmarks.measure import markdown_table, surroundings
from gpuclf.data.splits import fold_of
from gpuclf.features.options import WordSenseOptions
from gpuclf.features.views import fit_views
from gpuclf.models.decomposable.criteria import CRITERIA
from gpuclf.models.decomposable.graph import naive_bayes_graph
from gpuclf.models.decomposable.learner import Decomposable
from gpuclf.models.decomposable.options import DecomposableOptions
from gpuclf.models.decomposable.state import SearchState
from gpuclf.models.learner import Problem, Replicas
from gpuclf.models.train_options import TrainOptions

RARE = 0.05  # edges in fewer of the graphs, or missing in fewer, are not told


def problem_of(path: Path, draws: int, options: DecomposableOptions, shuffled: bool) -> Problem:
    """A set of contexts with draws × FOLDS training sets, one replica each."""
    word = read(path)
    keys, labels = word.keys.numpy(), word.labels.numpy()
    if shuffled:
        folds = [shuffled_folds(labels)] * draws
    else:
        folds = [fold_of(keys, labels, None, FOLDS, draw, True, True) for draw in range(draws)]
    train = torch.from_numpy(np.concatenate([np.stack([of != fold for fold in range(FOLDS)]) for of in folds]))
    views = fit_views(word.rows, word.labels, len(word.classes), train, WordSenseOptions())
    view = torch.arange(len(train))
    values = {"ess": options.ess, "alpha": options.alpha, "criterion": CRITERIA.index(options.criterion)}
    held = {f"model.{name}": torch.full((len(view),), float(value)).double() for name, value in values.items()}
    return Problem(word.rows, word.labels, word.keys, len(word.classes), views, Replicas(view, view // FOLDS, held))


def right_answers(learner: Decomposable, problem: Problem, state: SearchState, chosen: Tensor) -> NDArray[np.bool_]:
    """(draws, contexts): whether a context is answered rightly by the graphs (R, V, V), held out."""
    predictor = learner.result(problem, replace(state, chosen=chosen))
    right = np.zeros((len(problem.replicas) // FOLDS, len(problem.labels)), dtype=np.bool_)
    for replica in range(len(problem.replicas)):
        docs = torch.nonzero(~problem.views.train[replica]).flatten()
        assert problem.views.col_scale is not None, "contexts have word sets"
        columns, one = problem.views.col_scale[replica], slice(replica, replica + 1)
        said = predictor.scores(problem.rows, docs, columns, None, one)[0].argmax(1)
        right[replica // FOLDS, docs.numpy()] = (said == problem.labels[docs]).numpy()
    return right


def tell(problem: Problem, chosen: Tensor, right: dict[str, NDArray[np.bool_]]) -> None:
    """Accuracies by draw, how they differ, and what the edges that come and go have to do with it."""
    percent = {name: 100 * answers.mean(axis=1) for name, answers in right.items()}
    rows = [
        [name, f"{values.mean():.2f}", f"{values.std(ddof=1):.2f}", " ".join(f"{value:.1f}" for value in values)]
        for name, values in percent.items()
    ]
    print(markdown_table(["model", "mean", "sd", "by draw"], rows))
    searched, common = list(right.values())[:2]
    pairs = [(a, b) for a in range(len(searched)) for b in range(a)]
    differ = np.array([[np.sum(searched[a] > searched[b]), np.sum(searched[a] < searched[b])] for a, b in pairs])
    moved = 100 * np.sqrt(np.mean((differ[:, 0] - differ[:, 1]) ** 2)) / searched.shape[1]
    noise = 100 * np.sqrt(differ.sum(axis=1).mean()) / searched.shape[1]
    print(
        f"\nTwo draws: {differ.sum(axis=1).mean():.0f} of {searched.shape[1]:,} contexts right in one alone; the "
        f"difference is {moved:.2f} points (root mean square), {noise:.2f} if these were independent"
    )
    graphs = Counter(tuple(graph.flatten().tolist()) for graph in chosen)
    print(f"{len(graphs)} graphs among {len(chosen)}, the commonest {graphs.most_common(1)[0][1]} times")
    outside = ~problem.views.train.numpy()
    gain = np.array(
        [int(searched[r // FOLDS, o].sum()) - int(common[r // FOLDS, o].sum()) for r, o in enumerate(outside)]
    )
    size, rows = chosen.shape[-1], []
    for a, b in torch.combinations(torch.arange(size)).tolist():
        there = chosen[:, a, b].numpy()
        if RARE <= there.mean() <= 1 - RARE:
            means = [f"{100 * gain[part].sum() / outside[part].sum():+.2f}" for part in (there, ~there)]
            rows.append([f"{a}–{b}", f"{100 * there.mean():.0f} %", *means])
    print(f"\n{markdown_table(['edge', 'of the graphs', 'with it', 'without, against the commonest graph'], rows)}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("set", help="interest, hard, line or serve")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--criterion", default="p_value", choices=CRITERIA)
    parser.add_argument("--select", default="criterion", choices=["criterion", "heldout", "cv", "stability"])
    parser.add_argument(
        "--shuffled-folds", action="store_true", help="folds of scikit-learn's StratifiedKFold, state 0"
    )
    given = parser.parse_args(arguments)
    print(surroundings(torch.device("cpu")))
    began = time.process_time()
    options = DecomposableOptions(criterion=given.criterion, select=given.select)
    folder = Path(os.environ.get("GPUCLF_DATA", ROOT.parent / "shared" / "data")) / "wsd"
    problem = problem_of(folder / f"{given.set}.jsonl.gz", given.draws, options, given.shuffled_folds)
    learner = options.build(TrainOptions(evaluate_every=options.evaluate_every), ())
    state = learner.init(problem)
    while not bool(learner.finished(problem, state).all()):
        state = learner.step(problem, state)
    chosen = state.chosen
    often = Counter(tuple(graph.flatten().tolist()) for graph in chosen).most_common(1)[0][0]
    fixed = {
        "the commonest graph": torch.tensor(often).reshape(chosen.shape[1:]),
        "naive Bayes": naive_bayes_graph(chosen.shape[-1], chosen.device),
    }
    right = {f"{given.criterion}, {given.select}": right_answers(learner, problem, state, chosen)}
    for name, graph in fixed.items():
        right[name] = right_answers(learner, problem, state, graph.expand_as(chosen).clone())
    tell(problem, chosen, right)
    print(f"\nCPU seconds: {time.process_time() - began:.1f}")


if __name__ == "__main__":
    main()
