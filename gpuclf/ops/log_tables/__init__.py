"""Tables of smoothed log probabilities for many models at once, and exact-order sums over their features."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from torch import Tensor

_KERNELS = {"cpu": "cpu"}  # device type → module of this package; all others: reference

__all__ = ["feature_sums", "occurring", "smoothed_logs"]


def _kernel(tensor: Tensor) -> ModuleType:
    return import_module(f"{__name__}.{_KERNELS.get(tensor.device.type, 'reference')}")


def smoothed_logs(counts: Tensor, exists: Tensor, view: Tensor, alpha: Tensor, log_norm: Tensor) -> Tensor:
    """log(counts[view[r], v, k] + alpha[r]) - log_norm[r, k] as (V, R, K) float32, computed in float64.

    counts (F, V, K) float64 ≥ 0, preferably feature-major in memory; exists (F, V) bool; view (R,) int64;
    alpha (R,) float64 ≥ 0; log_norm (R, K) float64, finite. A feature that does not exist for the replica's view has
    entries 0; -inf where count and alpha are both 0.
    """
    table: Tensor = _kernel(counts).smoothed_logs(counts, exists, view, alpha, log_norm)
    return table


def feature_sums(table: Tensor) -> Tensor:
    """Sums (R, K) float64 of a table (V, R, K) over its features, added in feature order on a CPU: the bits of a
    replica's sums depend neither on threads nor on the other replicas."""
    sums: Tensor = _kernel(table).feature_sums(table)
    return sums


def occurring(table: Tensor) -> Tensor:
    """(V, F) bool: features with any non-zero entry in a table (V, F, K) of float64, contiguous."""
    found: Tensor = _kernel(table).occurring(table)
    return found
