"""Tables of smoothed log probabilities for many models at once, and exact-order sums over their features."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from torch import Tensor

_KERNELS = {"cpu": "cpu"}  # device type → module of this package; all others: reference

__all__ = ["feature_sums", "smoothed_logs"]


def _kernel(tensor: Tensor) -> ModuleType:
    return import_module(f"{__name__}.{_KERNELS.get(tensor.device.type, 'reference')}")


def smoothed_logs(
    start: Tensor,
    label: Tensor,
    counts: Tensor,
    features: Tensor,
    view: Tensor,
    shift: Tensor,
    log_norm: Tensor,
    absent: bool = False,
) -> Tensor:
    """log(shift[r, k] + count[view[r], features[u], k]) - log_norm[r, k] as (U, R, K) float32, computed in float64.

    Of what does not have a feature (`absent`), the count is subtracted from the shift: log(shift - count) - log_norm.
    start, label, counts (F, P) float64 ≥ 0: the cells of all features (gpuclf.ops.class_counts.ClassCounts); a class
    that is not listed has count 0. features (U,) int64; view (R,) int64; shift (R, K) float64 ≥ 0 (≥ count if absent);
    log_norm (R, K) float64, finite. A feature without a count in the replica's view has entries 0; -inf is log 0.
    """
    table: Tensor = _kernel(counts).smoothed_logs(start, label, counts, features, view, shift, log_norm, absent)
    return table


def feature_sums(table: Tensor) -> Tensor:
    """Sums (R, K) float64 of a table (V, R, K) over its features, added in feature order on a CPU: the bits of a
    replica's sums depend neither on threads nor on the other replicas."""
    sums: Tensor = _kernel(table).feature_sums(table)
    return sums
