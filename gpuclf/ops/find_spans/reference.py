"""Names and spans interned together: a span is known when it first appears among the names. Uses no table."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.intern_spans.reference import intern_spans


def name_slots(names: Tensor, name_ptr: Tensor) -> Tensor:
    return name_ptr.new_zeros(1)


def find_spans(names: Tensor, name_ptr: Tensor, slots: Tensor, text: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    both = torch.cat([names, text])
    all_starts = torch.cat([name_ptr[:-1], starts + names.numel()])
    ids, _ = intern_spans(both, all_starts, torch.cat([name_ptr[1:], ends + names.numel()]))
    found = ids[name_ptr.numel() - 1 :]
    return torch.where(found < name_ptr.numel() - 1, found, -1)
