"""The layers of both networks as torch modules, and what stands on them: hidden layers and the output (3.1–3.15).

Dropout is given as tensors: its draws are hashes of what they are for, not those of a generator (`draws`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

ActivationName = Literal["sigmoid", "tanh", "relu", "leaky_relu", "identity"]
ConnectionName = Literal["none", "residual", "highway"]
NormName = Literal["none", "batch", "layer"]

_ACTIVATIONS: dict[str, type[nn.Module]] = {
    "sigmoid": nn.Sigmoid,
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "leaky_relu": nn.LeakyReLU,
    "identity": nn.Identity,
}


def activation(name: ActivationName) -> nn.Module:
    """The function between layers (3.1.2); all of them rise, none falls."""
    return _ACTIVATIONS[name]()


class Offset(nn.Module):
    """Adds an offset a unit: what is left of a linear layer whose sums were taken elsewhere."""

    def __init__(self, width: int):
        super().__init__()
        self.bias = nn.Parameter(torch.empty(width))

    def forward(self, sums: Tensor) -> Tensor:
        return sums + self.bias


class Hidden(nn.Module):
    """A hidden layer: f(norm(linear(x))), by itself, added to x (3.13), or mixed with x by a gate (3.14, 3.15)."""

    def __init__(self, linear: nn.Module, width: int, name: ActivationName, norm: NormName, connection: ConnectionName):
        super().__init__()
        self.linear = linear
        norms = {"none": nn.Identity, "batch": nn.BatchNorm1d, "layer": nn.LayerNorm}
        self.norm = norms[norm](width)
        self.activation = activation(name)
        self.connection = connection
        if connection == "highway":
            self.gate = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        y = self.activation(self.norm(self.linear(x)))
        if self.connection == "residual":
            return x + y
        if self.connection == "highway":
            through = torch.sigmoid(self.gate(x))
            return through * y + (1 - through) * x
        return y


class Head(nn.Module):
    """Hidden layers of these widths, and the scores of the classes: linear in the last layer.

    with_sums: the input is the sums of the first layer already (of a sparse bag), which then needs its offset only.
    """

    def __init__(
        self,
        width: int,
        hidden: Sequence[int],
        classes: int,
        name: ActivationName,
        norm: NormName,
        connection: ConnectionName,
        with_sums: bool,
    ):
        super().__init__()
        layers = []
        for place, units in enumerate(hidden):
            first_sums = with_sums and not place
            linear = Offset(units) if first_sums else nn.Linear(width, units)
            fits = not first_sums and width == units
            layers.append(Hidden(linear, units, name, norm, connection if fits else "none"))
            width = units
        self.hidden = nn.ModuleList(layers)
        self.output = Offset(classes) if with_sums and not layers else nn.Linear(width, classes)

    def forward(self, x: Tensor, dropout: Sequence[Tensor | None]) -> tuple[Tensor, list[Tensor]]:
        """Scores (B, K), and the activations of each hidden layer (B, units) before dropout, by which dead units are
        counted. dropout: a factor for each of these, None without."""
        seen = []
        for layer, factor in zip(self.hidden, dropout, strict=True):
            x = layer(x)
            seen.append(x)
            x = x if factor is None else x * factor
        return self.output(x), seen
