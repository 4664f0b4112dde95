"""A whole tagging experiment: read, train every chain, choose one, tag the training text (and a test file) with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gpuclf.faults import UserFault
from gpuclf.features.word_types import EncodedSentences
from gpuclf.models.tagger.type_tagger import margins
from gpuclf.train.grid import Cell, expand, seeds_of
from gpuclf.train.input_files import require_inputs
from gpuclf.train.run_context import RunContext
from gpuclf.train.selection import CellRecord, cell_records, choose_cell
from gpuclf.train.tagging.chains import LOG_JOINT, Chain, ChainState, candidate_cells, run_chains
from gpuclf.train.tagging.gold_tags import tagging_figures
from gpuclf.train.tagging.tagged_text import TaggedText, TextSource, read_sentences
from gpuclf.train.tagging.tagger_file import Tagger, save_tagger


@dataclass(frozen=True)
class TaggingResult:
    """What a tagging experiment gives. `metrics` is metrics.json (DESIGN §8)."""

    metrics: dict[str, Any]
    tagger: Tagger
    text: TaggedText
    tags: Tensor  # (tokens,) int64: of the training text
    margins: Tensor  # (types,) float64: log-odds of each type's tag against the next best, given all other types' tags


def run_tagging(context: RunContext) -> TaggingResult | None:
    """Runs the experiment of `context`; under torchrun the first process gets the result, the others None."""
    options = context.options
    require_inputs(options)
    cells, seeds = expand(options), seeds_of(options)
    began_with = context.saved.values["fingerprint"] if context.saved is not None else None
    source = TextSource(context.observer, context.watch, began_with)
    first = source.text(cells[0].options)
    context.fingerprint = first.sha256
    if first.sentences.gold is None and options.select.metric != LOG_JOINT:
        raise UserFault(
            f"{options.select.metric} is measured against gold tags, and the text has none",
            key="select.metric",
            remedy="name their column in data.gold, or leave select out: the log joint needs none",
        )
    state = run_chains(context, source, cells, seeds)
    if state is None:
        return None
    records, best = _chosen(context, cells, state)
    cell, chain = cells[best.index], state.kept[best.index]
    text = source.text(cell.options)
    tagger = _tagger(text, cell, chain, context.device)
    save_tagger(context.folder, tagger)
    return _finished(context, text, tagger, records, best, chain)


def _chosen(context: RunContext, cells: Sequence[Cell], state: ChainState) -> tuple[list[CellRecord], CellRecord]:
    records = cell_records([cell.settings for cell in cells], state.records)
    metric = context.options.select.metric
    candidates = candidate_cells(cells, metric)
    if len(candidates) < len(cells):
        context.observer.note(
            f"log joints of different levels are not comparable: the cell is one of the {len(candidates)} richest"
        )
    best = choose_cell(
        [record for record in records if record.index in candidates], metric, cells[0].options.model.simplest
    )
    if best is None:
        raise UserFault(f"no chain has a finite {metric}; no model was saved", remedy="use larger concentrations")
    return records, best


def _tagger(text: TaggedText, cell: Cell, chain: Chain, device: torch.device) -> Tagger:
    corpus = text.sentences.corpus
    counts = torch.bincount(corpus.ids.to(torch.int64), minlength=corpus.num_types)
    return Tagger(text.words, chain.tagger, cell.options.model, cell.options.data, counts, device)


def _finished(
    context: RunContext,
    text: TaggedText,
    tagger: Tagger,
    records: Sequence[CellRecord],
    best: CellRecord,
    chain: Chain,
) -> TaggingResult:
    options, sentences = context.options, text.sentences
    metric = options.select.metric
    tags = tagger.predictor.tags[0].cpu()[sentences.corpus.ids.to(torch.int64)]
    metrics: dict[str, Any] = {
        "cells": [record.as_json() for record in records],
        "best": {
            "cell": best.index,
            "options": best.options,
            "metric": metric,
            "value": best.mean[metric],
            "seed": chain.seed,
            LOG_JOINT: chain.log_joint,
        },
        "text": {
            "sentences": sentences.corpus.num_sentences,
            "tokens": sentences.corpus.num_tokens,
            "types": sentences.corpus.num_types,
        },
        "tags_used": int(torch.unique(tags).numel()),
    }
    with context.watch.timed("evaluate"):
        sure = margins(sentences.corpus.to(context.device), tagger.predictor)[0].cpu()
        if sentences.gold is not None:
            metrics["gold"] = tagging_figures(tags, sentences, tagger.num_tags)
        if options.test is not None:
            test = read_sentences(text.words, options.data, options.test.file, "test", context.observer, context.watch)
            metrics["test"] = figures_of_text(tagger, test)
    metrics["seconds"] = {name: round(value, 6) for name, value in context.watch.seconds.items()}
    metrics["device"] = str(context.device)
    return TaggingResult(metrics, tagger, text, tags, sure)


def figures_of_text(tagger: Tagger, sentences: EncodedSentences) -> dict[str, Any]:
    """Figures of the tagger on a text with gold tags: of all tokens, and of those whose type training had not seen."""
    tags = tagger.tags(sentences)
    figures = tagging_figures(tags, sentences, tagger.num_tags)
    return figures | {"unseen_tokens": sentences.num_unknown_tokens, "tokens": sentences.corpus.num_tokens}
