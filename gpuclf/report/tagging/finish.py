"""What a finished tagging run leaves in its folder: tags, tagged text, figures, pictures, metrics.json, the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from gpuclf.data.atomic_write import atomic_write
from gpuclf.data.records import ReadReport
from gpuclf.report.html.mean_curves import mean_curves
from gpuclf.report.metrics_log import read_rows
from gpuclf.report.plots import png
from gpuclf.report.run_folder import RunFolder
from gpuclf.report.run_observer import RunObserver
from gpuclf.report.summary import FinalFigures
from gpuclf.report.tagging.console import print_chains, print_gold, print_settings
from gpuclf.report.tagging.page import PICTURES, TaggingFacts, tagging_page
from gpuclf.report.tagging.pictures import sizes_figure, transitions_figure
from gpuclf.report.tagging.projector import write_projector
from gpuclf.report.tagging.settings_table import settings_rows
from gpuclf.report.tagging.tag_facts import TagFacts, tag_facts
from gpuclf.report.tagging.tags_file import TAGGED, TAGS, write_tagged, write_tags
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.tagging.experiment import TaggingResult
from gpuclf.train.tagging.tagged_text import tagger_options


def finish_tagging(
    folder: RunFolder, options: ExperimentOptions, config_text: str, result: TaggingResult, observer: RunObserver
) -> None:
    """Writes the files, prints the tables, and writes metrics.json, the mark of the end; the page comes after it."""
    write_tags(folder.path / TAGS, result)
    write_tagged(folder.path / TAGGED, result)
    facts = tag_facts(result.tagger)
    if options.run.tensorboard:
        write_projector(folder.path, result)
        observer.final(_figures(options, config_text, result, facts))
    metrics = result.metrics
    print_chains(metrics["cells"], metrics["best"])
    print_settings(settings_rows(metrics["cells"], tagger_options(options).level))
    for key, title in (("gold", "against gold tags"), ("test", "test")):
        if key in metrics:
            print_gold(title, metrics[key])
    for log in folder.worker_logs():
        log.unlink()  # their rows are in metrics.jsonl
    folder.write_metrics(metrics)
    if options.run.report:
        atomic_write(folder.report, tagging_page(_page_facts(folder, options, config_text, result, observer.reads)))
    print(f"run folder: {folder.path}")


def _figures(options: ExperimentOptions, config_text: str, result: TaggingResult, facts: TagFacts) -> FinalFigures:
    metrics = result.metrics
    rows = ["| tag | tokens | types | words |", "|---|---|---|---|"]
    for tag in facts.tags:
        words = " ".join(word.replace("|", "&#124;").replace("`", "'") for word, _ in tag.words)
        rows.append(f"| {tag.name} | {tag.tokens} | {tag.types} | `{words}` |")
    return FinalFigures(
        name=options.name,
        classes=(),
        cells=metrics["cells"],
        best=metrics["best"],
        test=metrics.get("test", {}),
        config_text=config_text,
        seconds=metrics["seconds"],
        device=metrics["device"],
        pictures={"transitions": png(transitions_figure(facts)), "tag_sizes": png(sizes_figure(facts))},
        texts={"tags": "\n".join(rows)},
    )


def _page_facts(
    folder: RunFolder,
    options: ExperimentOptions,
    config_text: str,
    result: TaggingResult,
    reads: Sequence[tuple[str, ReadReport]],
) -> TaggingFacts:
    return TaggingFacts(
        name=options.name,
        learner=options.model.type,
        metrics=result.metrics,
        tags=tag_facts(result.tagger),
        settings=settings_rows(result.metrics["cells"], tagger_options(options).level),
        finished=datetime.now(),
        config_text=config_text,
        folder=folder.path.name,
        reads=reads,
        curves=mean_curves(read_rows(folder.metrics_log), frozenset(figure for _, figure, _ in PICTURES)),
        environment=json.loads(folder.env.read_bytes()) if folder.env.is_file() else {},
    )
