"""The reliability curve as a picture for TensorBoard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from gpuclf.metrics.calibration import top_class_reliability
from gpuclf.report.plots import plain_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 15


def reliability_figure(gold: Tensor, log_probabilities: Tensor, *, title: str = "") -> Figure:
    """Accuracy by confidence of the predicted class, above the share of documents in each bin of confidence.

    gold (n,) int64, log P(class | document) (n, K).
    """
    found = top_class_reliability(log_probabilities.exp(), gold, BINS)
    filled = found.documents > 0
    with plain_text():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.0, 6.0), dpi=100, layout="constrained")
        axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
        axes.plot([0, 1], [0, 1], color="0.6", linestyle="--")
        axes.plot(found.confidence[filled].numpy(), found.accuracy[filled].numpy(), marker="o", color="C0")
        axes.set(ylabel="share that is right", xlim=(-0.01, 1.01), ylim=(-0.01, 1.02))
        axes.grid(alpha=0.3)
        error = found.expected_calibration_error
        axes.set_title(f"{title + ': ' if title else ''}expected calibration error {error:.4f}")
        share = found.documents.double() / found.documents.sum()
        below.bar(found.edges[:-1].numpy(), share.numpy(), width=1 / BINS, align="edge", color="0.6", edgecolor="white")
        below.set(xlabel="confidence", ylabel="documents")
    return figure
