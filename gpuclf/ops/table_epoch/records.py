"""What the rows of a table are updated by, and what belongs to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from torch import Tensor

RuleKind = Literal["sgd", "momentum", "adagrad", "adadelta", "adam", "adamw"]
KINDS: dict[str, int] = {"sgd": 0, "momentum": 1, "adagrad": 2, "adadelta": 3, "adam": 4, "adamw": 5}
# How many further numbers a rule keeps for each weight.
MOMENTS: dict[str, int] = {"sgd": 0, "momentum": 1, "adagrad": 1, "adadelta": 2, "adam": 2, "adamw": 2}


@dataclass(frozen=True)
class UpdateRule:
    """A rule of stochastic descent; gpuclf.ops.table_epoch.reference.update says what each does.

    momentum: of momentum, and beta1 of adam; memory: beta2 of adam, rho of adadelta.
    """

    kind: RuleKind
    momentum: float = 0.9
    memory: float = 0.999
    eps: float = 1e-8


@dataclass(frozen=True)
class Weights:
    """Weights of R replicas with what their rule keeps of earlier gradients (None where it keeps less).

    value, first, second: all (R, V, H), or all (R, P) for parameters that every step changes.
    """

    value: Tensor
    first: Tensor | None = None
    second: Tensor | None = None


@dataclass(frozen=True)
class Steps:
    """The steps of one epoch: rates (n, R) float64, of each step; decay (R,) float64: of the weights, in every step;
    before (R,) int64: steps that were made before this epoch."""

    rates: Tensor
    decay: Tensor
    before: Tensor


class TableEpoch(Protocol):
    """A table in the course of an epoch. Between `sums` and `update` no step is made; `settle` ends the epoch, and
    may also be called after any step of it.

    Rows of entries: crow (R·B+1,) int64, col (n,) int64 in 0..V-1, val (n,): row r·B + b is one of replica r.
    """

    def sums(self, crow: Tensor, col: Tensor, val: Tensor) -> Tensor:
        """(R·B, H): of each row, Σ val · weights[col], as all steps so far have left them."""
        ...

    def gradients(self, crow: Tensor, col: Tensor, val: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
        """The gradient of the weights where that of the sums is grad (R·B, H): rows (n,) int64, numbered r·V + col,
        each once, and their gradients (n, H), whose memory is used again by the next call."""
        ...

    def update(self, rows: Tensor, gradient: Tensor) -> None:
        """The next step, with the gradient (n, H) of these rows and 0 for all others."""
        ...

    def settle(self) -> None:
        """Brings every row to where all steps so far leave it."""
        ...
