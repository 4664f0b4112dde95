"""Average-linkage clustering of many groups at once, from the similarities of their rows."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import torch
from torch import Tensor

IMPLEMENTATIONS = {"cpu": "cpu"}  # device type → module; any other device takes the reference


class Merges(NamedTuple):
    """pairs (B, n-1, 2) int64: the clusters that merge at each step, by their first rows, the lower one staying; -1
    where a group has no step left. likeness (B, n-1) float64: the mean similarity of their rows, which never rises;
    -inf there."""

    pairs: Tensor
    likeness: Tensor


def average_linkage(grams: Tensor, sizes: Tensor) -> Merges:
    """Each step merges the two clusters whose rows are alike most on average (UPGMA, Sokal & Michener 1958); of equals
    the pair with the lowest first row, then the lowest second. Sums over pairs of rows are exact, so that all devices
    merge alike.

    grams (B, n, n) float64 as `gpuclf.ops.group_grams` gives them, n from 1; sizes (B,) int64.
    """
    module = import_module(f"{__name__}.{IMPLEMENTATIONS.get(grams.device.type, 'reference')}")
    return Merges(*module.average_linkage(grams, sizes))


def cut(merges: Merges, sizes: Tensor, clusters: Tensor) -> Tensor:
    """(B, J, n) int64: the labels where clusters[b, j] clusters are left (a group's size where it is smaller; from 1),
    numbered in the order of their first rows; -1 beyond a group's size. clusters (B, J) int64."""
    groups, rows = sizes.numel(), merges.pairs.shape[1] + 1
    number = torch.arange(rows, device=sizes.device)
    labels = number.expand(groups, clusters.shape[1], rows).clone()
    steps = sizes[:, None] - clusters  # that are taken
    for step, pair in enumerate(merges.pairs.unbind(1)):
        kept, absorbed = pair[:, :1, None], pair[:, 1:, None]
        labels = torch.where((labels == absorbed) & (step < steps)[:, :, None], kept, labels)
    heads = labels == number  # the first row of each cluster
    rank = heads.to(torch.int64).cumsum(dim=2) - 1
    return torch.where(number < sizes[:, None, None], rank.gather(2, labels), -1)


def clusters_above(merges: Merges, sizes: Tensor, threshold: float) -> Tensor:
    """(B,) int64: how many clusters are left when none merge that are less alike than `threshold`."""
    return sizes - (merges.likeness >= threshold).sum(dim=1)
