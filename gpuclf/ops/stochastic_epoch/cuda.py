"""Stochastic gradient descent on CUDA: a Triton program per replica; the reference where Triton is not installed."""

from __future__ import annotations

from importlib.util import find_spec

from torch import Tensor

from gpuclf.ops.stochastic_epoch import Portion, StochasticModel, StochasticRule, reference


def stochastic_epoch(portion: Portion, rule: StochasticRule, model: StochasticModel) -> Tensor:
    """See `gpuclf.ops.stochastic_epoch`. A single class has no loss, and weights of 0 that nothing moves."""
    if find_spec("triton") is None or model.weights.shape[2] == 1 or not model.weights.shape[1]:
        return reference.stochastic_epoch(portion, rule, model)
    from gpuclf.ops.stochastic_epoch import triton_walk

    return triton_walk.stochastic_epoch(portion, rule, model)
