"""Runs of new words between known ones, and the likeliest tags of each run (Viterbi 1967)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_CELLS = 1 << 22  # float64 numbers that a step may hold at once: 32 MiB


@dataclass(frozen=True)
class Runs:
    """Neighbouring new words of one sentence: start and end (runs,) int64 positions, the longest first; at_start and
    at_end (runs,) bool: nothing stands before or after it in its sentence."""

    start: Tensor
    end: Tensor
    at_start: Tensor
    at_end: Tensor

    def take(self, some: slice) -> Runs:
        return Runs(self.start[some], self.end[some], self.at_start[some], self.at_end[some])


def runs_of(new: Tensor, offsets: Tensor) -> Runs:
    """The runs of new (tokens,) bool in sentences of offsets (sentences+1,)."""
    first = torch.zeros(new.numel() + 1, dtype=torch.bool, device=new.device)
    first[offsets] = True  # where a sentence begins; the last place: where the last one ends
    before = torch.cat([new.new_zeros(1), new[:-1]])[: new.numel()]
    after = torch.cat([new[1:], new.new_zeros(1)])[: new.numel()]
    start = (new & (first[:-1] | ~before)).nonzero()[:, 0]
    end = (new & (first[1:] | ~after)).nonzero()[:, 0] + 1
    order = torch.argsort(start - end, stable=True)
    start, end = start[order], end[order]
    return Runs(start, end, first[start], first[end])


def decode_runs(runs: Runs, tagged: Tensor, types: Tensor, heights: Tensor, transitions: Tensor) -> Tensor:
    """tagged (R, tokens) with the tags of all runs filled in.

    types (tokens,) numbers the new words; heights (R, new types, K): what a word says by itself; transitions
    (R, K+1, K+1): log-probabilities, row and column K for the edges of a sentence.
    """
    tagged = tagged.clone()
    k = heights.shape[2]
    portion = max(1, _CELLS // max(1, heights.shape[0] * k * k))
    for begin in range(0, len(runs.start), portion):
        _decode(runs.take(slice(begin, begin + portion)), tagged, types, heights, transitions)
    return tagged


def _decode(runs: Runs, tagged: Tensor, types: Tensor, heights: Tensor, transitions: Tensor) -> None:
    """Fills in some runs; their number falls from word to word as the shorter ones end."""
    k, chain = heights.shape[2], torch.arange(len(heights), device=tagged.device)[:, None]
    edge = torch.full_like(tagged[:, runs.start], k)
    before = torch.where(runs.at_start, edge, tagged[:, runs.start - 1])
    after = torch.where(runs.at_end, edge, tagged[:, runs.end.clamp(max=tagged.shape[1] - 1)])
    closing = transitions.transpose(1, 2)[chain, after][..., :k]
    lengths = runs.end - runs.start
    score = transitions[chain, before][..., :k] + heights[:, types[runs.start]]
    last = score + closing
    came_from = []
    for j in range(1, int(lengths[0])):
        active = int((lengths > j).sum())  # the longest come first
        step = score[:, :active, :, None] + transitions[:, None, :k, :k]
        best, origin = step.max(2)
        came_from.append(origin)
        score = best + heights[:, types[runs.start[:active] + j]]
        last[:, :active] = score + closing[:, :active]
    tag = last.argmax(2)
    for j in range(int(lengths[0]) - 1, -1, -1):
        active = int((lengths > j).sum())
        tagged[:, runs.start[:active] + j] = tag[:, :active]
        if j:
            earlier = came_from[j - 1].gather(2, tag[:, :active, None])[..., 0]
            tag = torch.cat([earlier, tag[:, active:]], 1)
