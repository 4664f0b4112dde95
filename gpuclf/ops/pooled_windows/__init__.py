"""Filters over windows of a sequence, and of each filter the largest values in each document, in their order."""

from __future__ import annotations

from importlib import import_module

from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference


def pooled_windows(
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    dilation: int,
    start: Tensor,
    length: Tensor,
    longest: int,
    k: int,
    alone: bool = False,
) -> Tensor:
    """k-max pooling (Kalchbrenner, Grefenstette & Blunsom 2014; k = 1 is max pooling) of a convolution, differentiable.

    x (N, E): rows of all documents, one after the other; weight (w, E, F) and bias (F,): the filters; window t holds
    the rows t, t + dilation, …, t + (w - 1) · dilation, and its value is bias + Σ_k x[t + k · dilation] · weight[k].
    start, length (B,) int64: the windows of a document are start … start + length - 1, at most `longest` of them.

    Returns (B, k, F): of each filter the k largest values in the order of their windows (equal ones: the first
    windows). Where there are fewer than k windows, zeros follow; without any window all are zero. alone: the values of
    a document are the same bits whatever other rows there are, at some cost.
    """
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(x.device.type, 'reference')}")
    return module.pooled_windows(x, weight, bias, dilation, start, length, longest, k, alone)
