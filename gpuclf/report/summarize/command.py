"""`gpuclf summarize`: from reviews, or ready snippets, to a folder of pages."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gpuclf.data.paths import as_written, resolve_path
from gpuclf.faults import UserFault
from gpuclf.report.html.markup import name_text
from gpuclf.report.summarize.business_page import business_page
from gpuclf.report.summarize.index_page import index_page
from gpuclf.report.summarize.output_folder import require_free, write_folder
from gpuclf.report.summarize.page_names import page_names
from gpuclf.report.summarize.records import summary_json
from gpuclf.train.devices import choose_device, prepare_process
from gpuclf.train.distribution import rank
from gpuclf.train.model_file import Model, load_model
from gpuclf.train.summaries.clusters import ClusterOptions
from gpuclf.train.summaries.extraction import extract_snippets
from gpuclf.train.summaries.polarity import class_signs, strengths
from gpuclf.train.summaries.snippet_file import read_clusters, read_snippets
from gpuclf.train.summaries.summary import BusinessSummary, summarise

INDEX = "index.html"
RECORD = "summary.json"
_NEITHER = "give RUN FILE, or --snippets FILE"


def summarize(arguments: argparse.Namespace, stop: Any) -> int:
    """Runs the command; under torchrun the first process answers alone."""
    if rank() != 0:
        return 0
    prepare_process(None)
    file = _file(arguments)
    options, out = _cluster_options(arguments), _out(arguments, file)
    require_free(out)
    device = choose_device(arguments.device)
    sentiment: Model | None = None
    if arguments.sentiment is not None:
        sentiment = load_model(arguments.sentiment.absolute(), device)
        class_signs(sentiment, arguments.sentiment)
    taught = None if arguments.learn_from is None else read_clusters(resolve_path(arguments.learn_from))
    if arguments.snippets is not None:
        snippets = read_snippets(file)
    else:
        run = arguments.folder.absolute()
        snippets = extract_snippets(load_model(run, device), arguments.folder, file)
    stop.raise_if_requested()
    found = strengths(snippets, sentiment, arguments.sentiment)
    summaries = summarise(snippets, found, options, device, taught)
    stop.raise_if_requested()
    write_folder(out, _files(summaries, file, _made_from(arguments, file, options), stop))
    print(f"wrote {out / RECORD}")
    print(f"wrote {out / INDEX} and a page for each of {len(summaries):,} businesses, from {len(snippets):,} snippets")
    return 0


def _files(
    summaries: Sequence[BusinessSummary], file: Path, made_from: dict[str, Any], stop: Any
) -> Iterator[tuple[str, bytes]]:
    pages = page_names(summary.business for summary in summaries)
    yield RECORD, summary_json(summaries, pages, made_from)
    yield INDEX, index_page(summaries, pages, name_text(file.name)).encode()
    for summary in summaries:
        stop.raise_if_requested()
        yield pages[summary.business], business_page(summary).encode()


def _file(arguments: argparse.Namespace) -> Path:
    """The file to read, one of the bundled ones perhaps. Raises UserFault where the arguments name none, or two."""
    given = [path for path in (arguments.folder, arguments.file) if path is not None]
    if arguments.snippets is not None:
        if given:
            raise UserFault(f"--snippets needs no RUN and no other FILE, such as {given[0]}", remedy=_NEITHER)
        return resolve_path(arguments.snippets)
    if len(given) < 2:
        raise UserFault("no file to summarise" if given else "nothing to summarise", remedy=_NEITHER)
    return resolve_path(arguments.file)


def _cluster_options(arguments: argparse.Namespace) -> ClusterOptions:
    clusters = None
    if arguments.clusters != "auto":
        clusters = int(arguments.clusters) if arguments.clusters.isdecimal() else 0
        if clusters < 1:
            raise UserFault(f"--clusters {arguments.clusters} is neither a whole number from 1 nor auto")
    options = ClusterOptions(method=arguments.method, clusters=clusters, seed=arguments.seed)
    if arguments.threshold is None:
        return options
    if arguments.method != "linkage" or clusters is not None:
        raise UserFault("--threshold has no meaning here", remedy="it belongs to --method linkage with --clusters auto")
    if not 0 <= arguments.threshold <= 1:
        raise UserFault(f"--threshold {arguments.threshold} is no cosine from 0 to 1")
    return ClusterOptions(method="linkage", threshold=arguments.threshold, seed=arguments.seed)


def _out(arguments: argparse.Namespace, file: Path) -> Path:
    if arguments.out is not None:
        return Path(arguments.out)
    stem = file.name
    for ending in (".gz", ".zst", ".jsonl", ".json"):
        stem = stem.removesuffix(ending)
    return Path(f"{stem}-summary")


def _made_from(arguments: argparse.Namespace, file: Path, options: ClusterOptions) -> dict[str, Any]:
    """What a reader of summary.json needs to make it again."""
    clustering: dict[str, Any] = {"method": options.method, "clusters": options.clusters or "auto"}
    if options.method == "linkage" and options.clusters is None:
        clustering["threshold"] = options.threshold
    if options.method == "kmeans":
        clustering["seed"] = options.seed
    return {
        "file": as_written(file),
        "run": None if arguments.folder is None else str(arguments.folder),
        "sentiment": "lexicon" if arguments.sentiment is None else str(arguments.sentiment),
        "learnt_from": None if arguments.learn_from is None else str(arguments.learn_from),
        "clustering": clustering,
    }
