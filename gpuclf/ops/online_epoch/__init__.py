"""One epoch of an exact online learner, for many replicas at once."""

from __future__ import annotations

from importlib import import_module

from gpuclf.ops.online_epoch.records import Counts, Model, Rule, ScaledRows, Streams

__all__ = ["Counts", "Model", "Rule", "ScaledRows", "Streams", "online_epoch"]

KERNELS = {"cpu": "cpu", "cuda": "cuda"}  # device type -> module here; other devices run the reference


def online_epoch(
    rows: ScaledRows, streams: Streams, rule: Rule, model: Model, batch: int = 1, mean: bool = False
) -> Counts:
    """Every stream's rows once, in its order, through `rule`; `model` is changed in place, its steps too.

    batch 1 is the textbook algorithm: one instance at a time, each with the weights that the one before it left, on
    every device. batch B scores B rows (the last batch of an epoch may be shorter) with the same weights and applies
    the sum of their updates, or with `mean` their mean. For averaging, every instance of a batch counts as if it had
    the weights that its batch left: a batch that begins after t instances adds t · D to the sums for its update D,
    so that weights - sums/T = (1/T) sum over batches of (rows of the batch) · (weights after the batch).

    A replica's result does not depend on the other replicas of the call: bit for bit on the CPU, for any number of
    threads; up to the rounding of matrix products on CUDA. Prediction ties go to the lowest class index.
    """
    assert batch >= 1, "batch must be positive"
    kernel = import_module(f"{__name__}.{KERNELS.get(model.weights.device.type, 'reference')}")
    counts: Counts = kernel.online_epoch(rows, streams, rule, model, batch, mean)
    seen = (streams.order >= 0).sum(1)
    sizes = streams.start[1:] - streams.start[:-1]
    model.steps.add_(seen.repeat_interleave(sizes, output_size=model.steps.numel()))
    return counts
