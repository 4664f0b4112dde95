"""The layers of both networks as torch modules, and what stands on them: hidden layers and the output (3.1–3.15).

Where parameters are stacked, with R leading (torch.func.functional_call), all layers take inputs (R, B, units): torch's
own linear layer and norms do not. A replica's figures are then the same bits whatever is stacked beside it.
Dropout is given as tensors: its draws are hashes of what they are for, not those of a generator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import batch_norm, layer_norm

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


def _each(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """A function of single numbers, replica by replica where they are stacked: torch's code for whole vectors and for
    what is left behind them may give an exponential another last bit, and so its place would count."""
    return function(x) if x.dim() == 2 else torch.stack([function(part) for part in x])


class Offset(nn.Module):
    """Adds an offset a unit: what is left of a linear layer whose sums were taken elsewhere."""

    def __init__(self, width: int):
        super().__init__()
        self.bias = nn.Parameter(torch.empty(width))

    def forward(self, sums: Tensor) -> Tensor:
        return sums + self.bias.unsqueeze(-2)


class Linear(nn.Linear):
    """torch's, also stacked."""

    def forward(self, x: Tensor) -> Tensor:
        if self.weight.dim() == 2:
            return super().forward(x)
        return torch.baddbmm(self.bias.unsqueeze(1), x, self.weight.transpose(1, 2))


class LayerNorm(nn.LayerNorm):
    """torch's, also stacked."""

    def forward(self, x: Tensor) -> Tensor:
        if self.weight.dim() == 1:
            return super().forward(x)
        return layer_norm(x, self.normalized_shape, eps=self.eps) * self.weight.unsqueeze(1) + self.bias.unsqueeze(1)


class BatchNorm(nn.BatchNorm1d):
    """torch's, also stacked: replica by replica, since sums over documents round by what lies beside them."""

    def forward(self, x: Tensor) -> Tensor:
        if self.weight.dim() == 1:
            return super().forward(x)
        assert self.running_mean is not None
        assert self.running_var is not None
        mean, var = self.running_mean.clone(), self.running_var.clone()  # torch remembers what it is given
        of_replicas = zip(x, mean, var, self.weight, self.bias, strict=True)
        out = [batch_norm(*part, self.training, self.momentum or 0.0, self.eps) for part in of_replicas]
        self.running_mean.copy_(mean)
        self.running_var.copy_(var)
        return torch.stack(out)


class Hidden(nn.Module):
    """A hidden layer: f(norm(linear(x))), by itself, added to x (3.13), or mixed with x by a gate (3.14, 3.15)."""

    def __init__(self, linear: nn.Module, width: int, name: ActivationName, norm: NormName, connection: ConnectionName):
        super().__init__()
        self.linear = linear
        norms = {"none": nn.Identity, "batch": BatchNorm, "layer": LayerNorm}
        self.norm = norms[norm](width)
        self.activation = activation(name)
        self.connection = connection
        if connection == "highway":
            self.gate = Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        y = _each(self.activation, self.norm(self.linear(x)))
        if self.connection == "residual":
            return x + y
        if self.connection == "highway":
            through = _each(torch.sigmoid, self.gate(x))
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
            linear = Offset(units) if first_sums else Linear(width, units)
            fits = not first_sums and width == units
            layers.append(Hidden(linear, units, name, norm, connection if fits else "none"))
            width = units
        self.hidden = nn.ModuleList(layers)
        self.output = Offset(classes) if with_sums and not layers else Linear(width, classes)

    def forward(self, x: Tensor, dropout: Sequence[Tensor | None]) -> tuple[Tensor, list[Tensor]]:
        """Scores (…, B, K), and the activations of each hidden layer (…, B, units) before dropout, by which dead units
        are counted. dropout: a factor for each of these, None without."""
        seen = []
        for layer, factor in zip(self.hidden, dropout, strict=True):
            x = layer(x)
            seen.append(x)
            x = x if factor is None else x * factor
        return self.output(x), seen
