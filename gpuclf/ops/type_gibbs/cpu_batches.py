"""The batches of a batched sweep on a CPU: a thread walks one chain at a time.

Costs what an exact sweep costs, and the moves on top; with a correction about twice that.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.kernel import kernel
from gpuclf.ops.threads import run_on_threads
from gpuclf.ops.type_gibbs.contexts import TypeContexts
from gpuclf.ops.type_gibbs.cpu_chains import as_corpus, as_settings, chain_of, portions, setting_of
from gpuclf.ops.type_gibbs.cpu_desk import desk_of, move_batch, score_batch
from gpuclf.ops.type_gibbs.cpu_tables import Chain
from gpuclf.ops.type_gibbs.cpu_visit import draw
from gpuclf.ops.type_gibbs.records import Counts, Hyper, TypeFeatures, Visits


def sweep_batches(
    contexts: TypeContexts,
    features: TypeFeatures,
    tags: Tensor,
    counts: Counts,
    hyper: Hyper,
    visits: Visits,
    size: int,
    acceptance: Tensor | None,
) -> tuple[Tensor, Tensor]:
    """See `batched.sweep_batches`."""
    assert all(part.is_contiguous() for part in (tags, *counts)), "tags and counts change in place"
    changes, accepted = (torch.zeros(len(tags), dtype=torch.int64) for _ in range(2))
    corpus, chains = as_corpus(contexts, features), Chain(*(part.numpy() for part in (tags, *counts)))
    settings = as_settings(hyper, contexts.num_types, visits.temperature, 1)
    limits = torch.zeros((len(tags), 0)).double() if acceptance is None else acceptance.log()
    drawn = (visits.order.contiguous(), visits.draws.contiguous(), limits.contiguous())
    given = (corpus, chains, settings, *(part.numpy() for part in drawn), size, changes.numpy(), accepted.numpy())
    run_on_threads([partial(_all_batches, *given, a, b) for a, b in portions(len(tags))])
    return changes, accepted


@kernel
def _all_batches(
    corpus: Any, chains: Any, settings: Any, order: Any, draws: Any, limits: Any, size: Any,
    changes: Any, accepted: Any, first: Any, last: Any,
) -> None:  # fmt: skip
    for r in range(first, last):
        changes[r], accepted[r] = _walk_batches(
            corpus, chain_of(chains, r), setting_of(settings, r), order[r], draws[r], limits[r], size
        )


@kernel
def _walk_batches(
    corpus: Any, chain: Any, setting: Any, order: Any, draws: Any, limits: Any, size: Any
) -> Any:  # fmt: skip
    """One chain through its batches: types with another tag, and batches accepted. No limits: no correction."""
    desk, weight = desk_of(corpus, chain, setting), np.empty(chain.types.shape[0])
    corrected, temperature, changes, accepted = limits.shape[0] > 0, setting.temperature, 0, 0
    most = min(size, order.shape[0])
    scores = np.empty((most, weight.shape[0]))
    before, after = np.empty(most, np.int64), np.empty(most, np.int64)
    for number in range((order.shape[0] + size - 1) // size):
        batch = order[number * size : (number + 1) * size]
        score_batch(corpus, chain, setting, desk, batch, scores)
        ratio, moved = 0.0, 0
        for place in range(batch.shape[0]):
            before[place] = desk.extended[batch[place]]
            after[place] = draw(scores[place], weight, draws[batch[place]], temperature)
            moved += before[place] != after[place]
            if corrected:
                ratio -= _log_share(scores[place], after[place], temperature)
        gain = move_batch(corpus, chain, setting, desk, batch, after, corrected)
        if corrected:
            score_batch(corpus, chain, setting, desk, batch, scores)
            for place in range(batch.shape[0]):
                ratio += _log_share(scores[place], before[place], temperature)
            if limits[number] >= ratio + gain / temperature:
                move_batch(corpus, chain, setting, desk, batch, before, False)
                continue
        changes += moved
        accepted += 1
    return changes, accepted


@kernel
def _log_share(score: Any, chosen: Any, temperature: Any) -> Any:
    """log of the probability with which a tag is drawn."""
    best, total = score.max(), 0.0
    for t in range(score.shape[0]):
        total += math.exp((score[t] - best) / temperature)
    return (score[chosen] - best) / temperature - math.log(total)
