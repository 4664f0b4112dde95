"""The feedforward network (3.1–3.15) over a sparse bag of features: its first layer is a sum of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from gpuclf.models.neural.layers import ActivationName, ConnectionName, Head, NormName


@dataclass(frozen=True)
class FeedforwardShape:
    """What cannot differ within a batch. Without hidden layers the network is logistic regression."""

    hidden: tuple[int, ...]
    activation: ActivationName
    norm: NormName
    connection: ConnectionName

    gap = 0  # blank rows between documents, of which this network has none

    def table_width(self, classes: int) -> int:
        """Columns of the first layer's table."""
        return self.hidden[0] if self.hidden else classes

    def widths(self) -> tuple[int, ...]:
        """Units of each layer that dropout and the count of dead units concern."""
        return self.hidden

    def module(self, classes: int) -> nn.Module:
        return Feedforward(self, classes)


class Feedforward(nn.Module):
    """From the sums of the first layer to scores."""

    def __init__(self, shape: FeedforwardShape, classes: int):
        super().__init__()
        width = shape.table_width(classes)
        self.head = Head(width, shape.hidden, classes, shape.activation, shape.norm, shape.connection, with_sums=True)

    def forward(self, sums: Tensor, dropout: Sequence[Tensor | None]) -> tuple[Tensor, list[Tensor]]:
        """sums (B, H); see Head."""
        return self.head(sums, dropout)
