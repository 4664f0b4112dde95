"""Log probabilities of marginal tables for every document and class: what a decomposable model is a sum of."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

from gpuclf.ops.cell_scores.record import LOG_ZERO, Marginal

_KERNELS = {"cpu": "cpu"}  # device type → module of this package; all others: reference

__all__ = ["LOG_ZERO", "Marginal", "add_marginal"]


def add_marginal(out: Tensor, codes: Tensor, num_values: Tensor, labels: Tensor, marginal: Marginal) -> None:
    """Adds sign · log((n + ess / size) / (N + ess)) to out (docs, K) float64, for every document with every class.

    codes (V, docs) int32 below num_values (V,) int64; variable 0 is the class, whose codes are not looked at. labels
    (docs,) int64: classes of the rows that are counted, −1 for all others. n: the counted rows in the cell that a
    document would be in were it of class k; with `leave_out` a counted row is not counted in its own cells, and N is
    one less. n = 0 without ess adds sign · LOG_ZERO. The table is as large as the rows, not as its variables' product.
    """
    kernel = import_module(f"{__name__}.{_KERNELS.get(out.device.type, 'reference')}")
    kernel.add_marginal(out, codes, num_values, labels, marginal)
