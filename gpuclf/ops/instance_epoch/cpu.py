"""The epoch on the CPU: walks the sparse rows, one task per stream or part of a stream's replicas."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

from gpuclf.ops.instance_epoch.cpu_decay import walk_decaying
from gpuclf.ops.instance_epoch.cpu_walk import walk_confident
from gpuclf.ops.instance_epoch.records import InstanceModel, InstanceRule
from gpuclf.ops.online_epoch.records import Counts, ScaledRows, Streams, no_counts
from gpuclf.ops.online_epoch.tasks import tasks
from gpuclf.ops.sparse_rows import flat_weights
from gpuclf.ops.threads import run_on_threads

_KINDS = {"variance": 0, "scw1": 1, "scw2": 2, "arow": 3}


def instance_epoch(
    rows: ScaledRows, streams: Streams, rule: InstanceRule, model: InstanceModel, batch: int = 1, mean: bool = False
) -> Counts:
    """See `gpuclf.ops.instance_epoch`."""
    columns, _, classes = model.weights.shape
    docs = rows.labels.numel()
    flat, stride = flat_weights(model.weights)
    sums, sums_stride = (flat[:0], 0) if model.sums is None else flat_weights(model.sums)
    sigma, sigma_stride = (flat[:0], 0) if model.covariance is None else flat_weights(model.covariance)
    counts = no_counts(model.steps)
    mistakes, updates, loss = (part.numpy() for part in counts)
    col_scale = np.ones((1, columns), np.float32) if rows.col_scale is None else rows.col_scale.numpy()
    row_scale = np.ones((1, docs), np.float32) if rows.row_scale is None else rows.row_scale.numpy()
    first, second = (number.contiguous().numpy() for number in rule.numbers())
    cost = 1.0 - np.eye(classes) if rule.cost is None else rule.cost.contiguous().numpy()
    steps, labels = model.steps.numpy(), rows.labels.numpy()
    csr = (rows.crow.numpy(), rows.col.numpy(), rows.val.numpy())
    view, start, lengths = streams.view.tolist(), streams.start.tolist(), (streams.order >= 0).sum(1).tolist()

    def work(g: int, begin: int, end: int) -> None:
        part, cells = slice(begin, end), slice(begin * classes, None)
        seen = (
            *csr, labels, col_scale[view[g] % len(col_scale)], row_scale[view[g] % len(row_scale)],
            streams.order[g, : lengths[g]].numpy(), flat[cells], stride, sums[cells], sums_stride, classes,
            first[part], second[part], steps[part], mistakes[part], updates[part], loss[part],
        )  # fmt: skip
        if rule.kind == "svm":
            walk_decaying(*seen, cost, rule.eta is None)
        else:
            about = (_KINDS[rule.kind], rule.diagonal == "precision", batch, mean)
            walk_confident(*seen, sigma[cells], sigma_stride, *about)

    pieces = tasks(start, start[1:], lengths, classes, torch.get_num_threads())
    run_on_threads([partial(work, *piece) for piece in pieces])
    return counts
