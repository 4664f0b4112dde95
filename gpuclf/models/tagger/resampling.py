"""New hyperparameters given the tags, by slice sampling of their logarithms, every chain for itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from gpuclf.features.tagged_types import TypeCorpus
from gpuclf.ops.type_gibbs import Counts, Hyper, parameter_draws, token_part, type_part

_WIDTH = 1.0  # of the first interval, in units of the logarithm
_STEPS_OUT = 8  # at most so many to either side together with the draw that shares them out
_TRIES = 64  # an interval that has shrunk so often is a point: the parameter stays

Density = Callable[[Tensor], Tensor]


def resample(name: str, corpus: TypeCorpus, counts: Counts, hyper: Hyper, seed: Tensor, step: int) -> Hyper:
    """The parameters after one update of alpha_token or beta_type: slice sampling, prior Exp(1); a chain's draws are
    those of (seed, step)."""
    if name == "alpha_token":

        def posterior(x: Tensor) -> Tensor:
            return token_part(corpus.contexts, counts, x.exp()) - x.exp() + x

        return replace(hyper, alpha=slice_sample(posterior, hyper.alpha.log(), seed, step, 0).exp())

    def posterior_of_beta(x: Tensor) -> Tensor:
        return type_part(corpus.features, counts, x.exp(), hyper.level) - x.exp() + x

    return replace(hyper, beta=slice_sample(posterior_of_beta, hyper.beta.log(), seed, step, 1).exp())


def slice_sample(density: Density, x: Tensor, seed: Tensor, step: int, parameter: int) -> Tensor:
    """One update of x (R,) float64 under log densities (R,) → (R,): stepping out, then shrinkage (Neal 2003, §4).

    Chains whose interval is settled wait for the others; what they are asked for meanwhile is thrown away.
    """

    def drawn(number: int) -> Tensor:
        return parameter_draws(seed, step, parameter, number)

    height = density(x) + (1.0 - drawn(0)).log()  # 1 - u is never 0
    low = x - _WIDTH * drawn(1)
    high = low + _WIDTH
    to_left = (drawn(2) * _STEPS_OUT).floor()
    to_right = _STEPS_OUT - 1 - to_left
    low = _stepped_out(density, height, low, -_WIDTH, to_left)
    high = _stepped_out(density, height, high, _WIDTH, to_right)
    done = torch.zeros_like(x, dtype=torch.bool)
    found = x
    for attempt in range(_TRIES):
        candidate = low + (high - low) * drawn(3 + attempt)
        inside = density(candidate) > height
        found = torch.where(inside & ~done, candidate, found)
        done = done | inside
        if bool(done.all()):
            break
        low = torch.where(~done & (candidate < x), candidate, low)
        high = torch.where(~done & (candidate >= x), candidate, high)
    return found


def _stepped_out(density: Density, height: Tensor, end: Tensor, by: float, allowed: Tensor) -> Tensor:
    """The end of the interval, moved outwards while it is in the slice and steps are left."""
    going = allowed > 0
    for taken in range(_STEPS_OUT):
        going = going & (taken < allowed) & (density(end) > height)
        if not bool(going.any()):
            break
        end = torch.where(going, end + by, end)
    return end
