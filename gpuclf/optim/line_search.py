"""A step length along a descent direction, for many replicas in lockstep, each by its own function alone."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

_DECREASE = 1e-4  # of the decrease that the slope at 0 promises: Armijo's condition
_FLATTER = 0.9  # the slope must be less steep than this share of the one at 0: Wolfe's condition
_MOST = 30  # evaluations


def wolfe_step(
    function: Callable[[Tensor], tuple[Tensor, Tensor]],
    value: Tensor,
    slope: Tensor,
    start: Tensor,
    rounding: float,
    flatter: float = _FLATTER,
) -> Tensor:
    """Steps (R,) float64 that satisfy the strong Wolfe conditions; 0 where none was found.

    function(step (R,)) gives value and slope (R,) there; value and slope are those at step 0 (slope < 0, else the step
    is 0); start: the first guess; flatter: the share of the slope at 0 that a step may leave. Secant steps on the slope
    within a bracket. `rounding`: relative error of values; a change below it is judged by the slopes (Hager & Zhang
    2005, eq. 4.1), as the values cannot tell any more.
    """
    step = torch.where(slope < 0, start, 0.0)
    low, low_slope = torch.zeros_like(step), slope
    high, high_slope = torch.full_like(step, torch.inf), torch.zeros_like(step)
    taken = torch.zeros_like(step)
    nearer = torch.zeros_like(step)  # how often in a row the far end has come nearer
    searching = step > 0
    slack = rounding * value.abs()
    for _ in range(_MOST):
        if not bool(searching.any()):
            break
        here, steep = function(torch.where(searching, step, 0.0))
        finite = torch.isfinite(here) & torch.isfinite(steep)
        decreased = here <= value + _DECREASE * step * slope
        about_equal = (here <= value + slack) & (steep <= (2 * _DECREASE - 1) * slope)
        low_enough = finite & (decreased | about_equal)
        good = low_enough & (steep.abs() <= flatter * slope.abs())
        taken = torch.where(searching & good, step, taken)
        beyond = ~low_enough | (steep > 0)
        nearer = torch.where(beyond, nearer + 1, 0.0)
        high = torch.where(searching & beyond, step, high)
        high_slope = torch.where(searching & beyond, torch.where(finite, steep, 0.0), high_slope)
        short = searching & ~beyond
        low, low_slope = torch.where(short, step, low), torch.where(short, steep, low_slope)
        # The best that is known to go down, should the search end without a step that satisfies both.
        taken = torch.where(searching & ~good & low_enough, step, taken)
        searching = searching & ~good
        step = torch.where(searching, _next(step, low, low_slope, high, high_slope, nearer), step)
    return taken


def _next(step: Tensor, low: Tensor, low_slope: Tensor, high: Tensor, high_slope: Tensor, nearer: Tensor) -> Tensor:
    """Where the slope, taken as linear between the ends of the bracket, is 0; four times as far without an end.

    Where it bends sharply near the low end, such points creep up to it: once the high end has moved twice in a row,
    they lie at a half of the bracket at most, then at a quarter, a sixteenth, and so on.
    """
    width = high - low
    share = low_slope / (low_slope - high_slope)
    share = torch.where((high_slope > 0) & torch.isfinite(share), share.clamp(0.05, 0.95), 0.3)
    most = torch.where(nearer > 1, 0.5 ** (2.0 ** (nearer - 2).clamp(0, 3)), 1.0)
    share = torch.minimum(share, most)
    return torch.where(torch.isinf(high), 4.0 * step, low + share * width)
