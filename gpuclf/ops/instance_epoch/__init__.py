"""One epoch of an online rule that keeps a covariance, or lets all weights decay; exact, for many replicas at once.

Such a rule cannot be walked in blocks by Gram matrices as in gpuclf.ops.online_epoch: what a step changes depends on
the covariance that the steps before it left. So rows are walked one by one on every device.
"""

from __future__ import annotations

from importlib import import_module

from gpuclf.ops.instance_epoch.records import InstanceModel, InstanceRule
from gpuclf.ops.online_epoch.records import Counts, ScaledRows, Streams

__all__ = ["InstanceModel", "InstanceRule", "instance_epoch"]

KERNELS = {"cpu": "cpu", "cuda": "cuda"}  # device type -> module here; other devices run the reference


def instance_epoch(
    rows: ScaledRows, streams: Streams, rule: InstanceRule, model: InstanceModel, batch: int = 1, mean: bool = False
) -> Counts:
    """Every stream's rows once, in its order, through `rule`; `model` is changed in place, its steps too.

    m, v, α, ρ and the products they are made of are float64, also where the model is float32. The decay of all weights
    is lazy: W = a·V with one scalar a a replica. With A_t = a_1 + … + a_t and D_t added to W at instance t,
    V += D_t/a_t, and the sum of all weights so far is Σ_t a_t V_t = A_T V_T - Σ_t A_(t-1) D_t/a_t. Whenever a falls
    below `FOLD_BELOW`, and at the end, V becomes W and the sums what they are without decay, T·W - Σ_t W_t.

    batch 1 is the textbook algorithm. The rules with a covariance also know batches: B rows (the last batch of an epoch
    may be shorter) find their α, ρ and β with the weights and the covariance that the batch met. Then their steps α σ x
    are added, σ as the batch met it, and their ρ x² to 1/σ ("precision"); for "covariance" σ ← σ (1 - β σ x²) is done
    row by row, a sum of them could end below 0. With `mean`, α, ρ and β are divided by the number of rows. For averages
    every row of a batch counts as if it had the weights that the batch left.

    The loss counted is the violation before the update: max(0, φv - m), max(0, φ√v - m), max(0, 1 - m), or for svm
    max_k(s_k + c(y,k)) - s_y; NaN where an update took a weight out of its type's range. A replica's result does not
    depend on the other replicas of the call, nor on the number of threads, bit for bit.
    """
    assert (model.covariance is None) == (rule.kind == "svm"), "a covariance for all kinds but svm"
    assert batch == 1 or rule.kind != "svm", "all weights decay at every instance"
    kernel = import_module(f"{__name__}.{KERNELS.get(model.weights.device.type, 'reference')}")
    counts: Counts = kernel.instance_epoch(rows, streams, rule, model, batch, mean)
    seen = (streams.order >= 0).sum(1)
    sizes = streams.start[1:] - streams.start[:-1]
    model.steps.add_(seen.repeat_interleave(sizes, output_size=model.steps.numel()))
    return counts
