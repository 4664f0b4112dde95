"""First weights (3.3.3): hashes of the seed and of what they are for, so no order of drawing matters.

The rows of the first layer are drawn by the names of their features: a feature begins alike in every fold, whatever
other features there are.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from gpuclf.ops.counter_hash import hash64, hash64_numpy
from gpuclf.ops.keyed_uniform import keyed_uniform

InitName = Literal["xavier_uniform", "he_normal", "orthonormal"]
_GATE = -1.0  # a highway layer begins by passing its input on (Srivastava, Greff & Schmidhuber 2015)


def first_parameter(name: str, shape: torch.Size, kind: InitName, seed: int) -> Tensor:
    """One parameter of a network: offsets are 0, scales of norms 1, matrices are drawn; float64."""
    if name.endswith("norm.weight"):
        return torch.ones(shape, dtype=torch.float64)
    if len(shape) == 1:
        return torch.full(shape, _GATE if name.endswith("gate.bias") else 0.0, dtype=torch.float64)
    inputs, outputs = (shape[1], shape[0]) if len(shape) == 2 else (shape[0] * shape[1], shape[2])
    keys = hash64(seed, layer_key(name), torch.arange(math.prod(shape[:-1])))
    return drawn(keys, shape[-1], kind, inputs, outputs).view(shape)


def first_table(
    seed: int,
    keys: Tensor,
    used: Tensor,
    width: int,
    kind: InitName,
    lookup: bool,
    given: Tensor | None,
    within: float | None = None,
) -> Tensor:
    """The rows (V, width) of the first layer, float32: keys (V,) of the features, used (V,) bool; others are 0.

    A document sums as many of them as it has features (a matrix whose inputs are the features used), or looks single
    ones up: then there is one input a row. given (V, width): vectors to begin with, NaN where there is none. within:
    numbers are drawn evenly from ±within, whatever `kind` says.
    """
    rows = torch.nonzero(used).flatten()
    inputs = 1 if lookup else rows.numel()
    row_keys = hash64(seed, layer_key("table"), keys[rows])
    if within is None:
        values = drawn(row_keys, width, kind, inputs, width, lookup)
    else:
        values = (2 * keyed_uniform(row_keys, width) - 1) * within
    table = torch.zeros(keys.numel(), width, dtype=torch.float32, device=keys.device)
    table[rows] = values.to(torch.float32)
    if given is not None:
        there = used & ~given[:, 0].isnan()
        table[there] = given[there].to(torch.float32)
    return table


def drawn(keys: Tensor, width: int, kind: InitName, inputs: int, outputs: int, lookup: bool = False) -> Tensor:
    """A matrix (keys, width), float64. xavier_uniform: within ±√(6 / (inputs + outputs)) (3.36, Glorot & Bengio 2010);
    he_normal: of variance 2 / inputs (3.38, He et al. 2015), of vectors that are looked up 2 / width, so that they have
    length √2; orthonormal: the nearest matrix to a normal one with rows or columns that are orthonormal, U Vᵀ of
    its singular value decomposition (3.39–3.42, Saxe, McClelland & Ganguli 2014)."""
    if kind == "xavier_uniform":
        return (2 * keyed_uniform(keys, width) - 1) * math.sqrt(6 / (inputs + outputs))
    pairs = keyed_uniform(keys, 2 * width)
    radius = (-2 * torch.log1p(-pairs[:, :width])).sqrt()
    normal = radius * torch.cos(2 * math.pi * pairs[:, width:])  # Box & Muller 1958
    if kind == "he_normal":
        return normal * math.sqrt(2 / (width if lookup else inputs))
    left, _, right = torch.linalg.svd(normal, full_matrices=False)
    return left @ right


def layer_key(name: str) -> int:
    """The number of a layer in draws: of its name, not of its place."""
    return int(hash64_numpy(*name.encode()))
