"""What a chain has learnt of labels that follow each other: as a table, in words, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gpuclf.models.sequence.chain_predictor import ChainPredictor
from gpuclf.models.sequence.content_predictor import ContentPredictor
from gpuclf.report.plots import plain_text
from gpuclf.report.visible_text import visible
from gpuclf.train.model_file import Model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WHOLE_UP_TO = 25  # labels of which the whole table is printed, and numbers stand in the cells of the picture
_COLUMNS = 9  # of the printed table beside each other
_NAME = 12


def model_transitions(model: Model) -> Tensor | None:
    """The weights (K, K) of a chain's transitions, from the row's label to the column's; None for other models."""
    chained = isinstance(model.predictor, ChainPredictor | ContentPredictor)
    return model.predictor.transition[0].cpu() if chained else None  # type: ignore[attr-defined]


def strongest(transitions: Tensor, count: int) -> list[tuple[list[tuple[int, float]], list[tuple[int, float]]]]:
    """Of every label those that it favours after it, the highest weight first, and those that it avoids, the lowest
    first: at most `count` each, of weights above and below 0; ties by class order."""
    result = []
    for row in transitions.double():
        ends = []
        for values in (row, -row):
            order = torch.sort(values, descending=True, stable=True).indices[:count].tolist()
            ends.append([(after, float(row[after])) for after in order if float(values[after]) > 0])
        result.append((ends[0], ends[1]))
    return result


def print_transitions(console: Any, transitions: Tensor, classes: Sequence[str], count: int = 4) -> None:
    """The whole table where it can be read, else of each label what it favours and avoids after it."""
    from rich.table import Table

    names = [visible(name, _NAME) for name in classes]
    console.print("Weights of transitions, from the row's label to the column's", style="bold")
    if len(names) <= _WHOLE_UP_TO:
        for start in range(0, len(names), _COLUMNS):
            table = Table("from \\ to", box=None, pad_edge=False)
            for name in names[start : start + _COLUMNS]:
                table.add_column(name, justify="right", no_wrap=True)
            for name, row in zip(names, transitions.tolist(), strict=True):
                table.add_row(name, *(f"{weight:z.2f}" for weight in row[start : start + _COLUMNS]))
            console.print(table, "")
        return
    table = Table("label", "favours after it", "avoids after it", box=None, pad_edge=False)
    for name, ends in zip(names, strongest(transitions, count), strict=True):
        table.add_row(name, *(", ".join(f"{names[after]} {weight:z.2f}" for after, weight in end) for end in ends))
    console.print(table, "")


def transition_figure(transitions: Tensor, classes: Sequence[str]) -> Figure:
    """A row a label, a column the label after it: blue is favoured, red avoided."""
    size = len(classes)
    most = max(float(transitions.abs().max()), 1e-9)
    names = [visible(name, _NAME) for name in classes]
    with plain_text():
        from matplotlib.figure import Figure

        side = min(max(3.0 + 0.32 * size, 5.0), 22.0)
        figure = Figure(figsize=(side + 1.5, side), dpi=100, layout="constrained")
        axes = figure.add_subplot()
        image = axes.imshow(transitions.numpy(), cmap="RdBu", vmin=-most, vmax=most)
        font = max(4.0, min(9.0, 200 / size))
        axes.set_xticks(range(size), names, rotation=90, fontsize=font)
        axes.set_yticks(range(size), names, fontsize=font)
        axes.set(xlabel="label after it", ylabel="label", title="Weights of transitions")
        if size <= _WHOLE_UP_TO:
            for row, column in torch.cartesian_prod(torch.arange(size), torch.arange(size)).tolist():
                weight = float(transitions[row, column])
                colour = "white" if abs(weight) > 0.6 * most else "black"
                axes.text(column, row, f"{weight:z.1f}", ha="center", va="center", fontsize=0.75 * font, color=colour)
        figure.colorbar(image, ax=axes, shrink=0.6, label="weight")
    return figure
