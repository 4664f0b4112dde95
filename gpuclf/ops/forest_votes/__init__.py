"""Votes of many forests for coded rows: every tree is walked from its root, without recursion."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

from gpuclf.ops.forest_votes.record import MISSING_LEFT, MISSING_RIGHT, MISSING_UNSEEN, Forests

_KERNELS = {"cpu": "cpu"}  # device type → module of this package; all others: reference

__all__ = ["MISSING_LEFT", "MISSING_RIGHT", "MISSING_UNSEEN", "Forests", "forest_votes"]


def forest_votes(
    forests: Forests, codes: Tensor, docs: Tensor, num_classes: int, soft: bool, unseen: str, seen: Tensor | None
) -> Tensor:
    """Votes (R, len(docs), K) float64: of every tree one for its leaf's class, or soft, its leaf's shares of classes.

    codes (all docs, M) int32; docs (n,) int64. seen (R, values of all inputs) bool: values that a forest's training
    rows had. A value that it had not goes with the rest (`rest`: what a node does not list goes right, whether seen or
    not), to the child with most training rows (`majority`), or to both in their proportion (`weighted`); so does a
    missing number at a threshold that is MISSING_UNSEEN.
    """
    kernel = import_module(f"{__name__}.{_KERNELS.get(codes.device.type, 'reference')}")
    votes: Tensor = kernel.forest_votes(forests, codes, docs, num_classes, soft, unseen, seen)
    return votes
