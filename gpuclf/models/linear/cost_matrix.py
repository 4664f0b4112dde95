"""Cost matrices: what each confusion of two named classes costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from gpuclf.data.paths import require_file
from gpuclf.faults import UserFault

_KEY = "model.cost"


def read_cost_matrix(path: Path, class_names: Sequence[str]) -> Tensor:
    """cost[y, r] (K, K) float64 of predicting r where y is right, in the order of `class_names`.

    A TSV: the first line names the predicted classes (its first cell is free), every further line a gold class and
    its costs. Every class once in each direction, in any order; zeros on the diagonal, no negative cost.
    """
    require_file(path, key=_KEY)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise UserFault(f"cannot read the cost matrix: {error.strerror}", file=path, key=_KEY) from error
    except UnicodeDecodeError as error:
        raise UserFault("the cost matrix is not UTF-8 text", file=path, key=_KEY, remedy="save it as UTF-8") from error
    table = [(number, line.split("\t")) for number, line in enumerate(lines, 1) if line.strip()]
    if not table:
        raise UserFault("the cost matrix is empty", file=path, key=_KEY, remedy="name every class in the first line")
    number, header = table[0]
    across = _positions(header[1:], class_names, path, number)
    if len(across) < len(class_names):
        raise _missing("predicted", across, class_names, path)
    cost = torch.zeros((len(class_names), len(class_names)), dtype=torch.float64)
    seen: dict[str, int] = {}
    for number, cells in table[1:]:
        name = cells[0].strip()
        if name in seen:
            raise UserFault(f"class {name!r} has two lines, this and line {seen[name]}", path, number, _KEY)
        gold = _positions([name], class_names, path, number)[name]
        seen[name] = number
        if len(cells) != len(header):
            raise UserFault(f"{len(cells) - 1} costs for {len(header) - 1} classes", path, number, _KEY)
        for (other, column), cell in zip(across.items(), cells[1:], strict=True):
            cost[gold, column] = _cost(cell, name, other, path, number)
    if len(seen) < len(class_names):
        raise _missing("gold", seen, class_names, path)
    return cost


def _positions(cells: Sequence[str], class_names: Sequence[str], path: Path, line: int) -> dict[str, int]:
    index = {name: i for i, name in enumerate(class_names)}
    found: dict[str, int] = {}
    for name in (cell.strip() for cell in cells):
        if name not in index:
            raise UserFault(
                f"{name!r} is no class of the training data", path, line, _KEY, "use the labels of the data"
            )
        if name in found:
            raise UserFault(f"class {name!r} is named twice", path, line, _KEY)
        found[name] = index[name]
    return found


def _missing(side: str, found: dict[str, int], class_names: Sequence[str], path: Path) -> UserFault:
    absent = [name for name in class_names if name not in found]
    shown = ", ".join(repr(name) for name in absent[:5]) + (" …" if len(absent) > 5 else "")
    return UserFault(f"no costs for {len(absent)} {side} class(es): {shown}", path, key=_KEY, remedy="name every class")


def _cost(cell: str, gold: str, other: str, path: Path, line: int) -> float:
    pair = f"of predicting {other!r} for {gold!r}"
    try:
        value = float(cell)
    except ValueError:
        raise UserFault(f"the cost {pair} is no number: {cell!r}", path, line, _KEY) from None
    if not math.isfinite(value) or value < 0:
        raise UserFault(f"the cost {pair} is {cell.strip()}", path, line, _KEY, "costs are finite and not negative")
    if gold == other and value != 0:
        raise UserFault(f"the cost {pair} is {cell.strip()}", path, line, _KEY, "being right costs 0")
    return value
