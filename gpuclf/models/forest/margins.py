"""How well a forest's trees vote, and how alike they are: strength, mean correlation and the bound on the error.

Breiman 2001, "Random Forests", §2.2 and appendix II. The margin of a document is the share of the votes for its class
minus the highest share of another one. Strength s is its mean; the raw margin of one tree is its own vote for the
class minus its vote for that other one, and the mean correlation of these over pairs of trees is
ρ̄ = var(margin) / (mean over trees of sd(raw margin))² (eq. 8). The error is at most ρ̄ (1 - s²) / s² (theorem 2.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.rows import Rows
from gpuclf.models.forest.coded import coded, layout
from gpuclf.models.forest.predictor import TIE_MASS, ForestPredictor
from gpuclf.models.forest.samples import bootstrap_weights
from gpuclf.ops.forest_votes import Forests, forest_votes
from gpuclf.ops.grow_forest import tree_keys

_DOCS = 1 << 14  # documents whose votes are held at once
_TIE = 1e-9  # of a vote, spread by the frequency of classes: chooses among equal rivals and no other ones


@dataclass(frozen=True)
class Margins:
    """Figures of a forest on documents. accuracy of all trees, and accuracies of the first `trees` of them; documents
    that no tree may vote on (out of bag) are not counted. None for what cannot be told: trees that are all alike have
    no correlation, and a strength of 0 or less bounds nothing."""

    documents: int
    accuracy: float
    strength: float
    correlation: float | None
    bound: float | None
    trees: tuple[int, ...]
    accuracies: tuple[float, ...]


class LoneForest:
    """A predictor of one replica, a tree at a time."""

    def __init__(self, predictor: ForestPredictor, rows: Rows):
        assert len(predictor.trees) == 1, "figures are of one forest"
        self.predictor, self.inputs = predictor, layout(rows)
        self.trees, self.classes = int(predictor.trees[0]), predictor.tie.shape[1]
        self._base = self.inputs.base.to(predictor.input.device)
        self._mapped = predictor.reduced or predictor.unseen != "rest"
        known = torch.ones(1, predictor.mapping.shape[1], dtype=torch.bool, device=predictor.input.device)
        known[0, self._base[:-1]] = False
        self._known = known if self._mapped else None

    def codes(self, rows: Rows, docs: Tensor, col_scale: Tensor | None) -> Tensor:
        """(n, M) int32: documents as the trees see them."""
        codes = coded(rows, self.inputs, docs, col_scale)
        return self.predictor.mapping[0][self._base[:-1] + codes] if self._mapped else codes

    def votes(self, codes: Tensor, docs: Tensor, tree: int) -> Tensor:
        """(len(docs), K) float64: what one tree votes for the rows `docs` of `codes`; a row adds up to 1."""
        forest = self.predictor
        names = ("input", "left", "first", "size", "rows", "values")
        parts = {name: getattr(forest, name)[:1, tree : tree + 1] for name in names}
        one = Forests(**parts, base=self._base)
        return forest_votes(one, codes, docs, self.classes, forest.soft, forest.unseen, self._known)[0]


def margins(
    predictor: ForestPredictor,
    rows: Rows,
    labels: Tensor,
    docs: Tensor,
    col_scale: Tensor | None = None,
    left_out: Tensor | None = None,
    marks: Sequence[int] = (),
) -> Margins:
    """The figures of a forest of one replica on `docs` (n,) int64 of rows with labels (all docs,) int64.

    A label outside 0..K-1 is a class that the forest does not know: no vote is for it. left_out (T, all docs) bool: the
    documents that each tree may vote on (out of bag); all without it. marks: numbers of trees whose accuracy is asked
    for. Memory is of a portion of the documents; every tree is walked twice, since the second walk needs the class that
    the first one found to be the strongest rival.
    """
    forest = LoneForest(predictor, rows)
    sums, right = _Sums(forest.trees), dict.fromkeys(sorted({m for m in marks if m <= forest.trees}), (0, 0))
    for portion in docs.split(_DOCS):
        codes, gold = forest.codes(rows, portion, col_scale), labels[portion]
        may = None if left_out is None else left_out[:, portion]
        votes = torch.zeros(portion.numel(), forest.classes, dtype=torch.float64, device=codes.device)
        for tree in range(forest.trees):
            places = _places(may, tree, portion)
            _add(votes, places, forest.votes(codes, places, tree))
            if tree + 1 in right:
                before, found = right[tree + 1], _right(forest, votes, gold)
                right[tree + 1] = (before[0] + found[0], before[1] + found[1])
        sums.documents(forest, votes, gold)
        for tree in range(forest.trees):
            places = _places(may, tree, portion)
            sums.tree(tree, forest.votes(codes, places, tree), gold, places)
    return sums.margins(right)


def _places(may: Tensor | None, tree: int, portion: Tensor) -> Tensor:
    """(n,) int64: which documents of a portion a tree votes on."""
    if may is None:
        return torch.arange(portion.numel(), device=portion.device)
    return torch.nonzero(may[tree]).flatten()


def _add(votes: Tensor, places: Tensor, more: Tensor) -> None:
    """Adds to the rows `places` (all different) of votes. On the CPU one thread is enough for a single tree's votes."""
    if votes.device.type == "cpu":
        votes.numpy()[places.numpy()] += more.numpy()
    else:
        votes.index_add_(0, places, more)


def _right(forest: LoneForest, votes: Tensor, gold: Tensor) -> tuple[int, int]:
    """How many documents the votes are right about, and how many have any."""
    judged = votes.sum(1) > 0
    said = (votes + TIE_MASS * forest.predictor.tie[0].to(votes.dtype)).argmax(1)
    return int(((said == gold) & judged).sum()), int(judged.sum())


class _Sums:
    """Sums over documents seen so far, float64."""

    def __init__(self, trees: int):
        self.count, self.right = 0, 0
        self.margin = torch.zeros(2, dtype=torch.float64)  # of margins, and of their squares
        self.raw = torch.zeros(3, trees, dtype=torch.float64)  # votes, raw margins, squares of these: of each tree
        self._rival = torch.zeros(0, dtype=torch.int64)

    def documents(self, forest: LoneForest, votes: Tensor, gold: Tensor) -> None:
        """A portion of documents (n, K) with all votes; what it finds of their rivals is for `tree`."""
        found = _right(forest, votes, gold)
        others = votes + _TIE * forest.predictor.tie[0].to(votes.dtype)
        known = torch.nonzero(_known(gold, votes)).flatten()
        others[known, gold[known]] = -1.0
        self._rival = others.argmax(1)
        judged = votes.sum(1) > 0
        share = votes / votes.sum(1, keepdim=True).clamp(min=1e-300)
        margin = _difference(share, gold, self._rival)[judged]
        self.right, self.count = self.right + found[0], self.count + found[1]
        self.margin += torch.stack([margin.sum(), margin.square().sum()]).cpu()

    def tree(self, tree: int, votes: Tensor, gold: Tensor, places: Tensor) -> None:
        """One tree's votes (n, K) for the documents at `places` (n,) of the portion."""
        raw = _difference(votes, gold[places], self._rival[places])
        self.raw[:, tree] += torch.stack([torch.tensor(raw.numel()).to(raw), raw.sum(), raw.square().sum()]).cpu()

    def margins(self, right: dict[int, tuple[int, int]]) -> Margins:
        count = max(1, self.count)
        strength = float(self.margin[0] / count)
        variance = max(0.0, float(self.margin[1] / count) - strength**2)
        voted = self.raw[:, self.raw[0] > 0]
        spread = (voted[2] / voted[0] - (voted[1] / voted[0]).square()).clamp(min=0.0).sqrt()
        deviation = float(spread.mean()) if spread.numel() else 0.0
        correlation = variance / deviation**2 if deviation > 0 else None
        bound = None
        if correlation is not None and strength > 0:
            bound = correlation * (1 - strength**2) / strength**2
        told = {trees: found for trees, found in right.items() if found[1]}
        return Margins(
            documents=self.count,
            accuracy=self.right / count,
            strength=strength,
            correlation=correlation,
            bound=bound,
            trees=tuple(told),
            accuracies=tuple(found[0] / found[1] for found in told.values()),
        )


def _known(gold: Tensor, votes: Tensor) -> Tensor:
    return (gold >= 0) & (gold < votes.shape[1])


def _difference(votes: Tensor, gold: Tensor, rival: Tensor) -> Tensor:
    """(n,) what is for the document's class minus what is for the rival; nothing is for a class that is not known."""
    own = votes.gather(1, torch.where(_known(gold, votes), gold, 0)[:, None])[:, 0]
    own = torch.where(_known(gold, votes), own, 0.0)
    return own - votes.gather(1, rival[:, None])[:, 0]


def left_out_of_bags(member: Tensor, seed: int, trees: int) -> Tensor:
    """(T, docs) bool: the training rows `member` (docs,) bool that the bootstrap sample of each tree has not."""
    keys = tree_keys(torch.tensor(seed, device=member.device), torch.arange(trees, device=member.device))
    out = torch.zeros(trees, member.numel(), dtype=torch.bool, device=member.device)
    for tree in range(trees):
        out[tree] = member & (bootstrap_weights(member, keys[tree : tree + 1])[0] == 0)
    return out
