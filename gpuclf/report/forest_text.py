"""A forest in words: which inputs matter, and the top of its first tree."""

from __future__ import annotations

from gpuclf.features.categorical import CategoryEncoder
from gpuclf.models.forest.boosted_predictor import BoostedPredictor
from gpuclf.models.forest.predictor import ForestPredictor
from gpuclf.ops.forest_votes import MISSING_LEFT, MISSING_RIGHT
from gpuclf.train.forest_figures import input_names
from gpuclf.train.model_file import Model

_PRESENT = 2  # the code of a feature that a bag holds


def importances(model: Model) -> list[tuple[str, float]] | None:
    """Inputs with their shares of all that splits gained (bits, Gini mass or loss), highest first; None for others."""
    if not isinstance(model.predictor, ForestPredictor | BoostedPredictor):
        return None
    gain = model.predictor.gain[0].cpu()
    shares = (gain / gain.sum().clamp(min=1e-300)).tolist()
    names = input_names(model)
    return sorted(zip(names, shares, strict=True), key=lambda pair: (-pair[1], pair[0]))


def tree_lines(model: Model, levels: int = 3, values: int = 5) -> list[str] | None:
    """The first `levels` levels of the first tree, a line a node, indented; None for models without such trees.

    A node names the first `values` values that go to its first branch, and how many there are.
    """
    forest = model.predictor
    if not isinstance(forest, ForestPredictor) or not forest.input.shape[1]:
        return None
    names = input_names(model)
    input, left, first, size, rows = (
        part[0, 0].tolist() for part in (forest.input, forest.left, forest.first, forest.size, forest.rows)
    )
    listed = forest.values[0, 0].tolist()
    lines: list[str] = []
    waiting = [(0, 0, "")]
    while waiting:
        node, depth, said = waiting.pop()
        head = "  " * depth + (f"{said}: " if said else "")
        if input[node] < 0:
            lines.append(f"{head}{model.classes[left[node]]} ({rows[node]:,} rows)")
            continue
        name = names[input[node]]
        if depth == levels:
            lines.append(f"{head}… ({rows[node]:,} rows, by {name})")
            continue
        lines.append(f"{head}{rows[node]:,} rows, by {name}")
        if size[node] < 0:
            branches = _sides(name, _value(model, name, first[node]), first[node], size[node])
        else:
            codes = listed[first[node] : first[node] + size[node]]
            shown = ", ".join(_value(model, name, code) for code in codes[:values])
            more = f", … {len(codes)} in all" if len(codes) > values else ""
            branches = (f"{name} in {{{shown}{more}}}", "otherwise")
        waiting += [(left[node] + 1, depth + 1, branches[1]), (left[node], depth + 1, branches[0])]
    return lines


def _sides(name: str, number: str, code: int, size: int) -> tuple[str, str]:
    """The two branches of a threshold; code 0 is that of missing numbers."""
    if code == 0:
        return f"{name} missing", f"{name} known"
    low = f"{name} <= {number}" + (" or missing" if size == MISSING_LEFT else "")
    high = f"{name} above" + (" or missing" if size == MISSING_RIGHT else "")
    return low, high


def _value(model: Model, name: str, code: int) -> str:
    if isinstance(model.encoder, CategoryEncoder):
        return model.encoder.value_name(name, code)
    return "present" if code == _PRESENT else "absent"
