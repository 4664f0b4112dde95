"""Permutation importances: how much accuracy is lost when one input's values are dealt out anew (Breiman 2001, §10).

Every draw is a hash of (seed, name of the input, number of the repeat, row), so that the figures depend on neither
device nor order of inputs. All inputs and repeats are scored in large batches; a row whose value stays the same keeps
its class, so only the others go through the trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from gpuclf.features.rows import CodeRows, Rows
from gpuclf.models.forest.anatomy import AnyForest
from gpuclf.models.forest.coded import coded, layout
from gpuclf.ops.counter_hash import hash64

_AT_ONCE = 1 << 17  # changed rows scored in one batch
_ROUND = -3  # what is hashed between the seed and the rest: no draw of growth has it


@dataclass(frozen=True)
class PermutationImportances:
    """lost (M, repeats) float64: accuracy lost by input, in the order of `layout`; measured (M,) bool: inputs that were
    dealt out anew, the others being ones that no tree asks about, which lose exactly nothing. accuracy: untouched."""

    accuracy: float
    lost: Tensor
    measured: Tensor

    @property
    def mean(self) -> Tensor:
        """(M,) over the repeats."""
        return self.lost.mean(1)

    @property
    def std(self) -> Tensor:
        """(M,) sample standard deviation over the repeats; 0 of a single one."""
        return self.lost.std(1) if self.lost.shape[1] > 1 else torch.zeros_like(self.lost[:, 0])


def dealt(count: int, seed: int, key: int, repeat: int, device: torch.device) -> Tensor:
    """(count,) int64: a permutation of the rows, by their hashes under (seed, input, repeat)."""
    return torch.argsort(hash64(seed, _ROUND, key, repeat, torch.arange(count, device=device)), stable=True)


def permutation_importances(
    predictor: AnyForest,
    rows: Rows,
    keys: Tensor,
    labels: Tensor,
    docs: Tensor,
    col_scale: Tensor | None,
    seed: int,
    repeats: int,
    most: int,
) -> PermutationImportances:
    """Of one forest, on `docs` (n,) int64 of rows with labels (all docs,) int64 (see gpuclf.models.forest.margins).

    keys (M,) int64: hashes of the inputs' names, in the order of `layout`. most: so many inputs at most, those whose
    splits gained most; the `mean` of the others is 0 and they are not `measured` unless no tree asks about them.
    """
    inputs = layout(rows)
    codes, gold = coded(rows, inputs, docs, col_scale), labels[docs]
    told = predicted(predictor, codes, inputs.num_values, inputs.ordered)
    gain = predictor.gain[0].to(codes.device)
    chosen = torch.argsort(gain, descending=True, stable=True)[: min(most, int((gain > 0).sum()))].tolist()
    lost = torch.zeros(len(inputs.num_values), repeats, dtype=torch.float64)
    changes = torch.zeros(len(inputs.num_values), repeats, dtype=torch.int64)
    right = (told == gold).long()
    for cells, changed, place in _batches(codes, chosen, keys, seed, repeats):
        new = (predicted(predictor, changed, inputs.num_values, inputs.ordered) == gold[place]).long()
        for input, repeat, begin, end in cells:
            changes[input, repeat] += int((right[place[begin:end]] - new[begin:end]).sum())
    lost += changes.to(torch.float64) / max(1, docs.numel())
    measured = torch.zeros(len(inputs.num_values), dtype=torch.bool)
    measured[chosen] = True
    measured |= (gain <= 0).cpu()
    return PermutationImportances(int(right.sum()) / max(1, docs.numel()), lost, measured)


def predicted(predictor: AnyForest, codes: Tensor, num_values: tuple[int, ...], ordered: tuple[bool, ...]) -> Tensor:
    """(n,) int64: the classes of rows of codes that stand in the trees' order."""
    everyone = torch.arange(len(codes), device=codes.device)
    return predictor.scores(CodeRows(codes, num_values, ordered), everyone, None, None, slice(0, 1))[0].argmax(1)


Cell = tuple[int, int, int, int]  # input, repeat, and where its rows stand in a batch


def _batches(
    codes: Tensor, chosen: list[int], keys: Tensor, seed: int, repeats: int
) -> Iterator[tuple[list[Cell], Tensor, Tensor]]:
    """(cells, codes (n, M) of changed rows, which rows they are (n,)): portions that cover all inputs and repeats."""
    cells: list[Cell] = []
    parts: list[Tensor] = []
    places: list[Tensor] = []
    filled = 0
    for input in chosen:
        for repeat in range(repeats):
            values = codes[dealt(len(codes), seed, int(keys[input]), repeat, codes.device), input]
            for part in torch.nonzero(values != codes[:, input]).flatten().split(_AT_ONCE):
                changed = codes[part]
                changed[:, input] = values[part]
                cells.append((input, repeat, filled, filled + len(part)))
                parts, places, filled = [*parts, changed], [*places, part], filled + len(part)
                if filled >= _AT_ONCE:
                    yield cells, torch.cat(parts), torch.cat(places)
                    cells, parts, places, filled = [], [], [], 0
    if cells:
        yield cells, torch.cat(parts), torch.cat(places)
