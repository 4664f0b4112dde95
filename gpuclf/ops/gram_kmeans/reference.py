"""All groups, k and restarts as one batch: memberships are 0/1 matrices, sums over clusters are products."""

from __future__ import annotations

import torch
from torch import Tensor

_STEPS = 2.0**20  # one over what similarities are multiples of (gpuclf.ops.group_grams)
_COHESION_STEPS = 2.0**30  # cohesions are rounded to these, so that their sums are exact
_NEVER = -torch.inf


def gram_kmeans(
    grams: Tensor, sizes: Tensor, ks: Tensor, draws: Tensor, max_iter: int, least_gain: float
) -> tuple[Tensor, Tensor]:
    """draws (B, J, S, k) float64: uniform, one a first row; the rest as for the package."""
    groups, rows = grams.shape[:2]
    tried, restarts, most = draws.shape[1:]
    present = (torch.arange(rows, device=grams.device) < sizes[:, None])[:, None]
    allowed = torch.minimum(ks[None], sizes[:, None]).repeat_interleave(restarts, dim=1)  # (B, J·S)
    usable = torch.arange(most, device=grams.device) < allowed[:, :, None]
    labels = _first_labels(grams, sizes, draws.flatten(1, 2), usable)
    for _ in range(max_iter):
        sums, squares = _sums(grams, labels, present, most)
        cosines = torch.where(squares[:, :, None] > 0, sums / squares[:, :, None].sqrt(), _NEVER)
        moved = cosines.argmax(dim=3)
        if torch.equal(moved.where(present, labels), labels):
            break
        labels = moved.where(present, labels)
    labels, squares = _moved_one_by_one(grams, labels, present, usable, least_gain)
    cohesion = (torch.round(squares.sqrt() * _COHESION_STEPS) / _COHESION_STEPS).sum(dim=2)
    best = cohesion.view(groups, tried, restarts).argmax(dim=2)
    chosen = labels.view(groups, tried, restarts, rows).gather(
        2, best[:, :, None, None].expand(groups, tried, 1, rows)
    )[:, :, 0]
    kept = cohesion.view(groups, tried, restarts).gather(2, best[:, :, None])[:, :, 0]
    return _by_first_row(chosen, present, most), kept


def _first_labels(grams: Tensor, sizes: Tensor, draws: Tensor, usable: Tensor) -> Tensor:
    """(B, R, n) int64: rows by the first row that is nearest to them; first rows by k-means++."""
    groups, rows = grams.shape[:2]
    replicas, most = draws.shape[1:]
    present = (torch.arange(rows, device=grams.device) < sizes[:, None])[:, None]
    nearest = grams.new_full((groups, replicas, rows), _NEVER)
    labels = torch.zeros(groups, replicas, rows, dtype=torch.int64, device=grams.device)
    for c in range(most):
        distance = torch.where(present, (1 - nearest).clamp(0, 1), 0.0)  # all are as far as can be from no row
        # as whole numbers: a GPU's running sums of floats have no fixed order
        reached = (distance * _STEPS).to(torch.int64).cumsum(dim=2).to(distance.dtype) / _STEPS
        total = reached[:, :, -1:]
        row = torch.minimum((reached <= draws[:, :, c, None] * total).sum(dim=2), (sizes[:, None] - 1).clamp(min=0))
        likeness = grams.gather(1, row[:, :, None].expand(groups, replicas, rows))
        closer = (likeness > nearest) & usable[:, :, c, None] & (total > 0)
        nearest, labels = torch.where(closer, likeness, nearest), torch.where(closer, c, labels)
    return labels


def _sums(grams: Tensor, labels: Tensor, present: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """x·s of every row and cluster (B, R, n, k), and |s|² (B, R, k)."""
    member = torch.nn.functional.one_hot(labels, most).to(grams.dtype) * present[:, :, :, None]
    sums = torch.matmul(grams[:, None], member)
    return sums, (sums * member).sum(dim=2)


def _moved_one_by_one(
    grams: Tensor, labels: Tensor, present: Tensor, usable: Tensor, least_gain: float
) -> tuple[Tensor, Tensor]:
    """Labels after single moves, the best first, as long as they raise Σ|s|; and |s|²."""
    most, rows = usable.shape[2], labels.shape[2]
    sums, squares = _sums(grams, labels, present, most)
    number = torch.arange(most, device=grams.device)
    while True:
        own = labels[:, :, :, None]
        left = squares.gather(2, labels) - 2 * sums.gather(3, own)[:, :, :, 0] + 1
        lost = squares.gather(2, labels).sqrt() - left.clamp(min=0).sqrt()
        grown = (squares[:, :, None] + 2 * sums + 1).sqrt() - squares[:, :, None].sqrt()
        gain = torch.where(
            usable[:, :, None] & (number != own) & present[:, :, :, None], grown - lost[..., None], _NEVER
        )
        best, cell = gain.flatten(2).max(dim=2)
        moves = best > least_gain
        if not moves.any():
            return labels, squares
        row, target = cell // most, cell % most
        source = labels.gather(2, row[:, :, None])[:, :, 0]
        change = torch.nn.functional.one_hot(target, most) - torch.nn.functional.one_hot(source, most)
        change = (change * moves[:, :, None]).to(grams.dtype)  # (B, R, k)
        at_row = sums.gather(2, row[:, :, None, None].expand(*row.shape, 1, most))[:, :, 0]
        squares = squares + change * 2 * at_row + change.abs()
        likeness = grams.gather(1, row[:, :, None].expand(*row.shape, rows))
        sums = sums + likeness[:, :, :, None] * change[:, :, None]
        labels = labels.scatter(2, row[:, :, None], torch.where(moves, target, source)[:, :, None])


def _by_first_row(labels: Tensor, present: Tensor, most: int) -> Tensor:
    """Clusters numbered in the order of their first rows; -1 for no row."""
    rows = labels.shape[2]
    member = torch.nn.functional.one_hot(labels, most) * present[:, :, :, None]
    first = torch.where(member > 0, torch.arange(rows, device=labels.device)[:, None], rows).amin(dim=2)
    rank = first.argsort(dim=2, stable=True).argsort(dim=2)
    return torch.where(present, rank.gather(2, labels), -1)
