"""What `gpuclf check` reports: sizes of the data, and how the models would be cut into batches. Trains nothing."""

from __future__ import annotations

from gpuclf.features.rows import stored_numbers
from gpuclf.features.word_rows import WordRows
from gpuclf.train.corpus import Corpus
from gpuclf.train.corpus_source import CorpusSource
from gpuclf.train.devices import choose_device
from gpuclf.train.grid import expand, seeds_of, split_structural
from gpuclf.train.input_files import require_inputs
from gpuclf.train.observer import Observer
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.plan import MemoryPlan, plan_batches
from gpuclf.train.stopwatch import Stopwatch
from gpuclf.train.training_batch import batch_bytes, bytes_per_model, replica_limit
from gpuclf.train.views import held_out_split


def plan_memory(options: ExperimentOptions, observer: Observer) -> MemoryPlan:
    """Reads and encodes the data of an experiment and plans its batches; folds are checked too."""
    require_inputs(options)
    device = choose_device(options.device)
    if options.model.task == "tag":
        from gpuclf.train.tagging.chain_plan import plan_chains

        return plan_chains(options, device, observer)
    cells, seeds = expand(options), seeds_of(options)
    source = CorpusSource(observer, Stopwatch())
    batches: list[int] = []
    first: Corpus | None = None
    budget: int | None = None
    for group in split_structural(cells, options.model.per_replica):
        corpus = source.corpus(group[0].options)
        first = corpus if first is None else first
        split = held_out_split(options, corpus)
        views = (0,) if split is None else split.view_numbers
        budget = batch_bytes(options.train, device) if budget is None else budget
        limit = replica_limit(corpus, group[0].options.model, budget, len(views))
        batches += [len(batch.replicas) for batch in plan_batches([group], seeds, views, [limit])]
    assert first is not None
    assert budget is not None
    return MemoryPlan(
        sizes=_sizes(first),
        cells=len(cells),
        models=sum(batches),
        batches=tuple(batches),
        bytes_per_model=bytes_per_model(first, options.model),
        bytes_budget=budget,
        device=str(device),
    )


def _sizes(corpus: Corpus) -> dict[str, str]:
    each = stored_numbers(corpus.rows) / max(corpus.num_docs, 1)
    sizes = {
        "documents": f"{corpus.num_docs:,}",
        "features": f"{corpus.rows.num_features:,} ({each:.1f} a document)",
        "classes": f"{len(corpus.classes):,}",
    }
    return sizes | _words(corpus.rows) if isinstance(corpus.rows, WordRows) else sizes


def _words(rows: WordRows) -> dict[str, str]:
    """How many ambiguous words, each with a model of its own, of how many documents and classes."""
    documents, classes = [part.num_docs for part in rows.parts], [len(own) for own in rows.classes]
    spans = [
        f"{min(counts):,} to {max(counts):,} {name}"
        for name, counts in (("documents", documents), ("classes", classes))
    ]
    return {"words": f"{len(rows.names):,}, each of {' and '.join(spans)}"}
