"""One index of sources and one of targets for every byte."""

from __future__ import annotations

import torch
from torch import Tensor


def copy_spans(text: Tensor, starts: Tensor, ends: Tensor, target: Tensor, places: Tensor) -> None:
    lengths = ends - starts
    within = torch.arange(int(lengths.sum()), device=text.device)
    within -= torch.repeat_interleave(lengths.cumsum(0) - lengths, lengths)
    source = torch.repeat_interleave(starts, lengths) + within
    target[torch.repeat_interleave(places, lengths) + within] = text[source]
