"""Figures for people: confusion matrix and PR curves. Matplotlib is imported when one is drawn; no global state."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.metrics.confusion import confusion
from gpuclf.metrics.ranking import average_precision
from gpuclf.report.ranking_curve import PrCurve, pr_curve, thin

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COUNTS_UP_TO = 25  # classes whose counts are written into the cells
_CURVES_SHOWN = 8
_LABEL_CHARS = 32


def confusion_counts(gold: Tensor, predicted: Tensor, num_classes: int) -> NDArray[np.int64]:
    """(K, K) documents by gold class (row) and predicted class (column), of gold classes that the model knows."""
    known = (gold >= 0) & (gold < num_classes)
    return confusion(gold[known], predicted[known], num_classes).numpy()


def confusion_figure(gold: Tensor, predicted: Tensor, classes: Sequence[str], *, title: str = "") -> Figure:
    """Rows gold, columns predicted, coloured by the share of the row. Readable from 2 to about 100 classes.

    With few classes the counts stand in the cells; with many the diagonal is left out and errors alone are coloured.
    """
    counts = confusion_counts(gold, predicted, len(classes))
    size = len(classes)
    support = counts.sum(axis=1, keepdims=True)
    share = counts / np.maximum(support, 1)
    errors_only = size > _COUNTS_UP_TO
    if errors_only:
        np.fill_diagonal(share, 0.0)
    with plain_text():
        from matplotlib.figure import Figure

        side = min(max(3.0 + 0.3 * size, 5.0), 22.0)
        longest = max(len(_shown(name)) for name in classes)
        margin = 0.075 * longest
        figure = Figure(figsize=(side + margin, side + margin), dpi=100, layout="constrained")
        axes = figure.add_subplot()
        colours = "Reds" if errors_only else "Blues"
        image = axes.imshow(share, cmap=colours, vmin=0.0, vmax=max(float(share.max()), 1e-9))
        font = 9.0 if size <= _COUNTS_UP_TO else max(4.0, min(9.0, 550 / size))
        axes.set_xticks(range(size), [_shown(name) for name in classes], rotation=90, fontsize=font)
        axes.set_yticks(range(size), [_shown(name) for name in classes], fontsize=font)
        axes.set_xlabel("predicted")
        axes.set_ylabel("gold")
        share_label = "share of the gold class" + (" (errors)" if errors_only else "")
        figure.colorbar(image, ax=axes, shrink=0.6, label=share_label)
        correct = int(np.trace(counts))
        total = int(counts.sum())
        unknown = int(((gold < 0) | (gold >= size)).sum())
        note = f", {unknown} of classes unknown to the model left out" if unknown else ""
        axes.set_title(f"{title + ': ' if title else ''}{correct} of {total} correct{note}")
        _write_counts(axes, counts, share, font, errors_only=errors_only)
    return figure


def pr_figure(gold: Tensor, scores: Tensor, classes: Sequence[str], *, title: str = "") -> Figure:
    """PR curves of single classes: all of them up to eight, else the eight with the lowest average precision in colour
    and the others in grey behind them."""
    curves: list[tuple[float, str, PrCurve]] = []
    for index, name in enumerate(classes):
        positive, column = gold == index, scores[:, index]
        if bool(positive.any()):
            precision = float(average_precision(column, positive))
            curves.append((precision, name, pr_curve(positive.numpy(), column.numpy())))
    curves.sort(key=lambda item: item[0])
    with plain_text():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10.0, 6.5), dpi=100, layout="constrained")
        axes = figure.add_subplot()
        for _, _, curve in curves[_CURVES_SHOWN:]:
            _draw(axes, curve, color="0.85", linewidth=0.7)
        for place, (precision, name, curve) in enumerate(curves[:_CURVES_SHOWN]):
            _draw(axes, curve, color=f"C{place}", label=f" {_shown(name)}  {precision:.3f}")
        axes.set(xlabel="recall", ylabel="precision", xlim=(-0.01, 1.01), ylim=(-0.01, 1.02))
        axes.grid(alpha=0.3)
        mean = float(np.mean([precision for precision, _, _ in curves])) if curves else float("nan")
        axes.set_title(f"{title + ': ' if title else ''}mean average precision {mean:.3f} over {len(curves)} classes")
        if curves:
            heading = "lowest average precision" if len(curves) > _CURVES_SHOWN else "average precision"
            axes.legend(title=heading, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    return figure


def png(figure: Figure) -> bytes:
    """The figure as a PNG file."""
    with plain_text():
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()


def _draw(axes: Axes, curve: PrCurve, **style: object) -> None:
    points = thin(curve, 256)
    axes.plot(points.recall, points.precision, **style)  # type: ignore[arg-type]


def _write_counts(
    axes: Axes, counts: NDArray[np.int64], share: NDArray[np.float64], font: float, *, errors_only: bool
) -> None:
    """Numbers in the cells that have any; above the limit only those of notable errors, small."""
    limit = share.max() / 2
    for row, column in np.argwhere(counts > 0):
        if errors_only and (row == column or share[row, column] < 0.1):
            continue
        color = "white" if share[row, column] > limit else "black"
        axes.text(column, row, str(counts[row, column]), ha="center", va="center", color=color, fontsize=min(font, 8.0))


def _shown(name: str) -> str:
    flat = " ".join(name.split()) or repr(name)
    return flat if len(flat) <= _LABEL_CHARS else flat[: _LABEL_CHARS - 1] + "…"


@contextmanager
def plain_text() -> Iterator[None]:
    """Class names are no formulas ($ means $), and a script that the font lacks is shown as boxes without a warning."""
    import matplotlib

    with matplotlib.rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        yield
