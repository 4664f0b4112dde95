"""Cells numbered by sorting, counts by segment sums, logs gathered."""

from __future__ import annotations

import torch
from torch import Tensor

from gpuclf.ops.cell_scores.record import LOG_ZERO, Marginal
from gpuclf.ops.conditional_tables.reference import cell_numbers


def add_marginal(out: Tensor, codes: Tensor, num_values: Tensor, labels: Tensor, marginal: Marginal) -> None:
    """See gpuclf.ops.cell_scores.add_marginal."""
    classes = out.shape[1]
    rest = marginal.members.clone()
    rest[0] = False
    cells, counted = cell_numbers(codes, num_values, rest), labels >= 0
    number = int(cells.max()) + 1 if cells.numel() else 0
    own = torch.nn.functional.one_hot(labels.clamp(min=0), classes) * counted[:, None]
    if bool(marginal.members[0]):
        table = torch.zeros(number, classes, dtype=torch.int64, device=out.device).index_add_(0, cells, own)
        held = table[cells]
    else:
        table = torch.zeros(number, dtype=torch.int64, device=out.device).index_add_(0, cells, counted.long())
        held = table[cells][:, None].expand(-1, classes)
        own = counted.long()[:, None].expand(-1, classes)
    total = torch.full_like(labels, marginal.documents, dtype=torch.float64)
    if marginal.leave_out:
        held, total = held - own, total - counted.double()
    mass = (held.double() + marginal.ess / marginal.size) / (total[:, None] + marginal.ess)
    logs = torch.where(mass > 0, torch.log(mass.clamp(min=1e-300)), LOG_ZERO)
    out += marginal.sign * logs
