"""The picture of the experiment on word senses: a line a word, as figure 2 of Bruce & Wiebe 1999 is a table of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpuclf.metrics.paired_t import PairedT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _GREY, _FIRST, _SECOND = "#222222", "#bbbbbb", "#1f6fb4", "#c4501b"
_LEFT, _RIGHT = "left", "right"
_COLUMNS = ((-0.62, "word", _LEFT), (-0.34, "senses", _RIGHT), (-0.17, "contexts", _RIGHT), (-0.02, "entropy", _RIGHT))


@dataclass(frozen=True)
class WordRow:
    """A word: figures of its contexts, mean accuracy in per cent by system, and the paired t of each against NB."""

    name: str
    senses: int
    contexts: int
    entropy: float
    accuracy: dict[str, float]
    tests: dict[str, PairedT]


def draw_words(rows: Sequence[WordRow], selected: str, stacked: str, path: Path) -> None:
    """Writes an SVG: per word senses, contexts, entropy; NB, the selected model, the stacked ones and the best model
    of the searches as marks; differences to NB with the p of the paired t, those below .05 in full colour."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    rows = sorted(rows, key=lambda row: row.accuracy[stacked] - row.accuracy["NB"])
    figure = Figure(figsize=(10, 0.24 * len(rows) + 1.6))
    axes = figure.add_axes((0.31, 0.07, 0.42, 0.85))
    places = range(len(rows))
    marks: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("NB", "NB", {"marker": "o", "mfc": "white", "mec": _INK}),
        (selected, f"selected ({selected})", {"marker": "D", "color": _FIRST}),
        (stacked, f"all models of the search, weighted ({stacked})", {"marker": "s", "color": _SECOND}),
        ("best", "best model of the searches (by the judged rows)", {"marker": "|", "color": _INK, "ms": 9}),
    )
    axes.hlines(places, [r.accuracy["NB"] for r in rows], [r.accuracy["best"] for r in rows], color=_GREY, lw=1)
    for system, label, style in marks:
        axes.plot([row.accuracy[system] for row in rows], places, ls="", label=label, **{"ms": 4.5, **style})
    for place, row in zip(places, rows, strict=True):
        said = (row.name, str(row.senses), str(row.contexts), f"{row.entropy:.2f}")
        for (x, _, side), text in zip(_COLUMNS, said, strict=True):
            _write(axes, x, place, text, side)
        for x, system, colour in ((1.2, selected, _FIRST), (1.5, stacked, _SECOND)):
            test = row.tests[system]
            text = f"{100 * test.mean:+.1f} (p {test.p:.3f})"
            _write(axes, x, place, text, "right", colour if test.p < 0.05 else "#888888")
    for x, text, side in (*_COLUMNS, (1.2, "selected − NB", "right"), (1.5, "stack − NB", "right")):
        _write(axes, x, len(rows), text, side, weight="bold")
    axes.set(xlabel="accuracy, 10 folds, per cent", ylim=(-0.8, len(rows) + 0.6), yticks=[])
    axes.grid(axis="x", color="#eeeeee")
    axes.spines[["left", "right", "top"]].set_visible(False)
    figure.legend(loc="upper center", ncols=2, frameon=False, fontsize=8)
    path.parent.mkdir(exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "senses", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


def _write(
    axes: Axes, x: float, place: float, text: str, side: str, colour: str = _INK, weight: str = "normal"
) -> None:
    """Text beside the axes, at a share of their width and the height of a word."""
    style: dict[str, Any] = {"color": colour, "weight": weight, "ha": side, "va": "center", "fontsize": 8}
    axes.text(x, place, text, transform=axes.get_yaxis_transform(), **style)
