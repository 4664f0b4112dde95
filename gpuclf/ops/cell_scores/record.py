"""One marginal table of a decomposable model."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

# In place of log 0: a finite power of two, far below any sum of logarithms, so that a clique's zero and its separator's
# cancel exactly. In a junction tree zero separators lie between zero cliques, so a sum holds as many LOG_ZERO as there
# are groups of zero cliques: none iff the probability is above 0.
LOG_ZERO = -float(1 << 20)


@dataclass(frozen=True)
class Marginal:
    """members (V,) bool: its variables; size: cells of its product space; documents: N; see `add_marginal`."""

    members: Tensor
    sign: int
    size: float
    documents: int
    ess: float
    leave_out: bool = False
