"""What metrics.json tells of a forest beside its figures: its trees, its inputs, how strong and how alike it votes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from gpuclf.features.encoded import Encoded
from gpuclf.features.rows import CodeRows, Rows, rows_to
from gpuclf.models.forest.anatomy import (
    AnyForest,
    accuracy_by_rounds,
    depths,
    node_counts,
    reduced_values,
    splits_by_input,
    unseen_cells,
)
from gpuclf.models.forest.boosted_predictor import BoostedPredictor
from gpuclf.models.forest.coded import layout
from gpuclf.models.forest.margins import Margins, left_out_of_bags, margins
from gpuclf.models.forest.permutation import permutation_importances
from gpuclf.models.forest.predictor import ForestPredictor
from gpuclf.ops.counter_hash import hash64, hash64_numpy
from gpuclf.train.corpus import Corpus, as_tensor
from gpuclf.train.final_stage import SeedModel
from gpuclf.train.model_file import Model
from gpuclf.train.views import Split

INPUTS = 50  # measured by permutation, and listed, at most
PERMUTED = 2000  # documents that permutation importances are measured on, at most
_CHOSEN = -4  # what is hashed between the seed and a document: no other draw has it


@dataclass(frozen=True)
class JudgedRows:
    """Documents that the model was not trained on, on its device: gold (all docs,) int64, docs (n,) int64 of rows."""

    name: str  # test or held_out
    rows: Rows
    gold: Tensor
    docs: Tensor


def judged_rows(model: Model, corpus: Corpus, split: Split, test: tuple[Encoded, Tensor] | None) -> JudgedRows | None:
    """The test documents (encoded, and their gold classes), else those of the corpus that `split` holds out of the
    model's training; None where there are none."""
    if test is not None:
        rows, gold = rows_to(test[0].rows, model.device), test[1].to(model.device)
        return JudgedRows("test", rows, gold, torch.arange(gold.numel(), device=model.device))
    docs = torch.nonzero(~split.train[0]).flatten().to(model.device)
    if not docs.numel():
        return None
    return JudgedRows("held_out", rows_to(corpus.rows, model.device), as_tensor(corpus.labels, model.device), docs)


def forest_figures(
    trained: SeedModel, corpus: Corpus, split: Split, test: tuple[Encoded, Tensor] | None, repeats: int
) -> dict[str, Any] | None:
    """The record of a forest or of boosted trees, JSON-able; None for other models.

    split: its first view is what the model was trained on. test: the test documents, if any, with their gold classes.
    repeats: of permutation importances.
    """
    model, predictor = trained.model, trained.model.predictor
    if not isinstance(predictor, ForestPredictor | BoostedPredictor):
        return None
    judged = judged_rows(model, corpus, split, test)
    marks = _marks(_units(predictor))
    strengths: dict[str, Any] = {}
    curves: dict[str, Any] = {}
    if isinstance(predictor, ForestPredictor):
        if getattr(model.options, "bootstrap", False):
            found = _out_of_bag(predictor, model, corpus, split, trained.seed, marks)
            strengths["out_of_bag"], curves["out_of_bag"] = _strength(found), _curve(found.trees, found.accuracies)
        if judged is not None:
            found = margins(predictor, judged.rows, judged.gold, judged.docs, model.col_scale, None, marks)
            strengths[judged.name], curves[judged.name] = _strength(found), _curve(found.trees, found.accuracies)
    elif judged is not None:
        told = accuracy_by_rounds(predictor, judged.rows, judged.gold, judged.docs, model.col_scale, marks)
        curves[judged.name] = _curve(*told)
    record: dict[str, Any] = {
        "trees": int(predictor.trees[0]),
        "nodes": _spread(node_counts(predictor)),
        "depth": _spread(depths(predictor)),
        f"accuracy_by_{'trees' if isinstance(predictor, ForestPredictor) else 'rounds'}": curves,
    }
    if strengths:
        record["strength"] = strengths
    record |= _inputs(model, predictor, judged, trained.seed, repeats)
    if isinstance(predictor, ForestPredictor) and predictor.reduced:
        _add_reduction(record, predictor, model, corpus, split)
    return record


def _units(predictor: AnyForest) -> int:
    """Trees, or rounds of boosting."""
    trees = int(predictor.trees[0])
    return trees if isinstance(predictor, ForestPredictor) else trees // predictor.start.shape[1]


def _marks(count: int) -> list[int]:
    """Numbers of trees at which a curve has a point: all of few, then four a doubling, and the last."""
    marks = {count}
    at = 1.0
    while at < count:
        marks.add(int(at))
        at = max(at + 1, at * 2**0.25)
    return sorted(marks)


def _out_of_bag(
    predictor: ForestPredictor, model: Model, corpus: Corpus, split: Split, seed: int, marks: Sequence[int]
) -> Margins:
    rows, labels = rows_to(corpus.rows, model.device), as_tensor(corpus.labels, model.device)
    member = _member(model, corpus, split)
    left_out = left_out_of_bags(member, seed, int(predictor.trees[0]))
    docs = torch.nonzero(member).flatten()
    return margins(predictor, rows, labels, docs, model.col_scale, left_out, marks)


def _member(model: Model, corpus: Corpus, split: Split) -> Tensor:
    """(docs,) bool: what the model was trained on."""
    labels = as_tensor(corpus.labels, model.device)
    member = split.train[0].to(model.device) & (labels >= 0) & (labels < len(corpus.classes))
    if corpus.weights is not None:
        member &= torch.from_numpy(corpus.weights > 0).to(model.device)
    return member


def _add_reduction(
    record: dict[str, Any], predictor: ForestPredictor, model: Model, corpus: Corpus, split: Split
) -> None:
    """What value reduction did, in all and by input."""
    docs = torch.nonzero(_member(model, corpus, split)).flatten()
    found = reduced_values(predictor, rows_to(corpus.rows, model.device), docs, model.col_scale)
    values, merged, dropped = (part.tolist() for part in found)
    record["reduction"] = {"values": sum(values), "merged": sum(merged), "dropped": sum(dropped)}
    for i, name in enumerate(input_names(model)):
        if name in record["inputs"]:
            record["inputs"][name] |= {"values": values[i], "removed": merged[i] + dropped[i]}


def _strength(found: Margins) -> dict[str, Any]:
    return {
        "documents": found.documents,
        "accuracy": found.accuracy,
        "strength": found.strength,
        "correlation": found.correlation,
        "error_bound": found.bound,
    }


def _curve(trees: Sequence[int], accuracies: Sequence[float]) -> dict[str, Any]:
    return {"trees": list(trees), "accuracy": list(accuracies)}


def _spread(counts: Tensor) -> dict[str, Any]:
    """Mean, least and most of counts (T,)."""
    values = counts.tolist()
    return {"mean": fmean(values), "least": min(values), "most": max(values)} if values else {}


def _inputs(model: Model, predictor: AnyForest, judged: JudgedRows | None, seed: int, repeats: int) -> dict[str, Any]:
    """Shares of gain and of splits by input, accuracy lost by permutation, and values that training had not."""
    names, keys = input_names(model), _keys(model)
    gain = predictor.gain[0].cpu()
    gain = gain / gain.sum().clamp(min=1e-300)
    splits = splits_by_input(predictor).cpu().double()
    splits = splits / splits.sum().clamp(min=1)
    order = torch.argsort(gain, descending=True, stable=True)[:INPUTS].tolist()
    rows: dict[str, dict[str, Any]] = {names[i]: {"gain": float(gain[i]), "splits": float(splits[i])} for i in order}
    record: dict[str, Any] = {"inputs": rows, "inputs_in_all": len(names)}
    if judged is None:
        return record
    strange, documents = unseen_cells(predictor, judged.rows, judged.docs, model.col_scale)
    record["unseen"] = {"documents": documents, "values": int(strange.sum()), "rows_are": judged.name}
    for i in order:
        rows[names[i]]["unseen"] = int(strange[i])
    if repeats:
        docs, col_scale = _some(judged.docs, seed), model.col_scale
        found = permutation_importances(
            predictor, judged.rows, keys, judged.gold, docs, col_scale, seed, repeats, INPUTS
        )
        for i in order:
            rows[names[i]]["permutation"] = {"mean": float(found.mean[i]), "std": float(found.std[i])}
        record["permutation"] = {"rows_are": judged.name, "repeats": repeats, "documents": docs.numel()}
    return record


def _some(docs: Tensor, seed: int) -> Tensor:
    """PERMUTED of the documents at most, by hash: every input is dealt out anew several times, and scored each time."""
    order = torch.argsort(hash64(seed, _CHOSEN, torch.arange(docs.numel(), device=docs.device)), stable=True)
    return docs[order[:PERMUTED].sort().values]


def input_names(model: Model) -> list[str]:
    """The names of a forest's inputs, in the order of its trees."""
    names = model.encoder.names
    return [names[place] for place in layout(model.encoder.encode([]).rows).order.tolist()]


def _keys(model: Model) -> Tensor:
    """(M,) int64: hashes of the inputs' names, in the order of the trees."""
    rows = model.encoder.encode([]).rows
    if isinstance(rows, CodeRows) and rows.keys:
        return torch.tensor(rows.keys, dtype=torch.int64)[layout(rows).order]
    return torch.tensor([int(hash64_numpy(*name.encode())) for name in input_names(model)], dtype=torch.int64)
