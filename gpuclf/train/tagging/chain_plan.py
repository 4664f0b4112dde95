"""What `gpuclf check` reports of a tagging experiment: sizes of the text, and the batches of chains."""

from __future__ import annotations

import torch

from gpuclf.train.grid import expand, seeds_of, split_structural
from gpuclf.train.observer import Observer
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.plan import MemoryPlan, plan_batches
from gpuclf.train.stopwatch import Stopwatch
from gpuclf.train.tagging.chains import bytes_per_chain, chain_limit
from gpuclf.train.tagging.tagged_text import TextSource, tagger_options
from gpuclf.train.training_batch import batch_bytes


def plan_chains(options: ExperimentOptions, device: torch.device, observer: Observer) -> MemoryPlan:
    """Reads the text and plans the batches of chains; trains nothing."""
    cells, seeds = expand(options), seeds_of(options)
    source, budget = TextSource(observer, Stopwatch()), batch_bytes(options.train, device)
    first = source.text(cells[0].options)
    corpus = first.sentences.corpus
    each, batches = bytes_per_chain(first, cells[0].options), []
    for group in split_structural(cells, options.model.per_replica):
        text = source.text(group[0].options)
        limit = chain_limit(text, group[0].options, budget, len(group) * len(seeds))
        batches += [len(batch.replicas) for batch in plan_batches([group], seeds, [0], [limit])]
    gold = first.sentences.gold_classes
    return MemoryPlan(
        sizes={
            "sentences": f"{corpus.num_sentences:,}",
            "tokens": f"{corpus.num_tokens:,}",
            "types": f"{corpus.num_types:,} ({len(corpus.num_values)} templates, {corpus.num_features:,} values)",
            "tags": f"{tagger_options(options).tags:,} to induce, {len(gold) or 'no'} gold ones",
        },
        cells=len(cells),
        models=sum(batches),
        batches=tuple(batches),
        bytes_per_model=each,
        bytes_budget=budget,
        device=str(device),
    )
