"""What trees look like, counted: nodes, depths, which inputs they split on; and how good the first few of them are."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from gpuclf.features.rows import Rows
from gpuclf.models.forest.boosted_predictor import BoostedPredictor
from gpuclf.models.forest.coded import coded, layout
from gpuclf.models.forest.predictor import ForestPredictor
from gpuclf.ops.forest_votes import Forests
from gpuclf.ops.grow_forest import PADDING
from gpuclf.ops.leaf_sums import leaf_sums

_DOCS = 1 << 14  # documents whose sums are held at once

AnyForest = ForestPredictor | BoostedPredictor


def node_counts(predictor: AnyForest) -> Tensor:
    """(T,) int64: nodes of each tree of the first replica, leaves among them."""
    return (predictor.input[0, : int(predictor.trees[0])] != PADDING).sum(1)


def depths(predictor: AnyForest) -> Tensor:
    """(T,) int64: levels of splits of each tree of the first replica, 0 of a lone leaf. Goes a level at a time."""
    trees = int(predictor.trees[0])
    input, left = predictor.input[0, :trees], predictor.left[0, :trees].long()
    deepest = torch.zeros(trees, dtype=torch.int64, device=input.device)
    tree = torch.arange(trees, device=input.device)
    node, level = torch.zeros_like(tree), 0
    while True:
        split = input[tree, node] >= 0
        tree, node = tree[split], node[split]
        if not tree.numel():
            return deepest
        level += 1
        deepest[tree] = level
        child = left[tree, node]
        tree, node = torch.cat([tree, tree]), torch.cat([child, child + 1])


def splits_by_input(predictor: AnyForest) -> Tensor:
    """(M,) int64: nodes of all trees of the first replica that split on each input."""
    asked = predictor.input[0, : int(predictor.trees[0])].flatten()
    return torch.bincount(asked[asked >= 0].long(), minlength=predictor.gain.shape[1])


def accuracy_by_rounds(
    predictor: BoostedPredictor,
    rows: Rows,
    labels: Tensor,
    docs: Tensor,
    col_scale: Tensor | None,
    marks: Sequence[int],
) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Numbers of rounds (those of `marks` that there are) and the accuracy of so many, of one boosted replica.

    labels (all docs,) int64, outside 0..K-1 for classes that the model does not know; docs (n,) int64.
    """
    inputs, classes = layout(rows), predictor.start.shape[1]
    rounds = int(predictor.trees[0]) // classes
    wanted = sorted({mark for mark in marks if mark <= rounds})
    right = dict.fromkeys(wanted, 0)
    names = ("input", "left", "first", "size")
    for portion in docs.split(_DOCS):
        codes, gold = coded(rows, inputs, portion, col_scale), labels[portion]
        everyone = torch.arange(portion.numel(), device=codes.device)
        scores = torch.zeros(portion.numel(), classes, dtype=torch.float64, device=codes.device)
        done = 0
        for mark in wanted:
            trees = slice(done * classes, mark * classes)
            parts = {name: getattr(predictor, name)[:1, trees] for name in names}
            some = Forests(**parts, rows=parts["size"], values=predictor.values[:1, trees], base=inputs.base)
            scores += leaf_sums(some, predictor.leaf[:1, trees], codes, everyone, classes)[0]
            right[mark] += int(((scores + predictor.start[0]).to(torch.float32).argmax(1) == gold).sum())
            done = mark
    return tuple(wanted), tuple(found / max(1, docs.numel()) for found in right.values())


def reduced_values(
    predictor: ForestPredictor, rows: Rows, docs: Tensor, col_scale: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """(M,) int64 each: values of categorical inputs in the training documents `docs`; how many of them were merged with
    another one, and how many dropped as too rare, in the first replica."""
    inputs = layout(rows)
    base = inputs.base.to(predictor.input.device)
    stands = predictor.mapping[0].long()
    met = torch.zeros(stands.numel(), dtype=torch.bool, device=base.device)
    for portion in docs.split(_DOCS):
        met[(base[:-1] + coded(rows, inputs, portion, col_scale)).flatten()] = True
    owner = torch.arange(base.numel() - 1, device=base.device).repeat_interleave(base.diff())
    own = torch.arange(met.numel(), device=base.device) - base[:-1][owner]
    met &= (own > 0) & ~inputs.of_numbers(base.device)
    merged, dropped = met & (stands > 0) & (stands != own), met & (stands == 0)
    values, pooled, lost = (torch.bincount(owner[part], minlength=base.numel() - 1) for part in (met, merged, dropped))
    return values, pooled, lost


def unseen_cells(predictor: AnyForest, rows: Rows, docs: Tensor, col_scale: Tensor | None) -> tuple[Tensor, int]:
    """(M,) int64: documents whose value of an input training had not, or that was dropped as too rare; and how many
    documents have any such value. Numbers are never new: a missing one is none of these values."""
    inputs = layout(rows)
    base = inputs.base.to(predictor.input.device)
    found = torch.zeros(len(inputs.num_values), dtype=torch.int64, device=base.device)
    numbers = torch.tensor(inputs.ordered, dtype=torch.bool, device=base.device)
    documents = 0
    for portion in docs.split(_DOCS):
        codes = coded(rows, inputs, portion, col_scale)
        if isinstance(predictor, ForestPredictor):
            codes = predictor.mapping[0][base[:-1] + codes]
        strange = (codes == 0) & ~numbers
        found += strange.sum(0)
        documents += int(strange.any(1).sum())
    return found, documents
