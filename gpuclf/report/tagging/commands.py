"""`gpuclf predict`, `eval` and `show` for a tagging run; `predict` for a model that labels the tokens of sentences."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, BinaryIO

import torch

from gpuclf.report.predictions import escape
from gpuclf.report.run_folder import RunFolder
from gpuclf.report.strict_json import dump
from gpuclf.report.tagging.console import print_chains, print_gold, print_settings, print_tags
from gpuclf.report.tagging.settings_table import settings_rows
from gpuclf.report.tagging.tag_facts import tag_facts
from gpuclf.report.tagging.tags_file import tagged_lines
from gpuclf.train.model_file import Model
from gpuclf.train.tagging.new_text import TaggedSentences, evaluate_text, input_format, label_text, tag_text
from gpuclf.train.tagging.tagger_file import Tagger, load_tagger


def predict_tags(
    tagger: Tagger, file: Path | None, given_format: str | None, as_json: bool, stdin: BinaryIO, out: IO[str]
) -> None:
    """Prints the tags of new text: for raw text a line a sentence, word/TAG word/TAG …; for column formats a line a
    word, word TAB tag, and an empty line after each sentence; as JSON a line a sentence, {"tokens", "tags", "known"}.
    """
    format = input_format(tagger.data, file, given_format)
    _print_tagged(tag_text(tagger, file, format, stdin), tagger.tag_names, format, as_json, out)


def predict_labels(
    model: Model,
    file: Path | None,
    given_format: str | None,
    probabilities: bool,
    as_json: bool,
    stdin: BinaryIO,
    out: IO[str],
) -> None:
    """Prints the labels of the tokens of new sentences by a model of classes, in the forms of `predict_tags`.

    With `probabilities` each word has its line whatever the format: word TAB label TAB label=probability …, in class
    order; in JSON "probabilities" has an object a token.
    """
    format = input_format(model.data, file, given_format)
    parts = label_text(model, file, format, stdin, probabilities)
    _print_tagged(parts, model.classes, "conll" if probabilities else format, as_json, out)


def _print_tagged(
    parts: Iterable[TaggedSentences], names: Sequence[str], format: str, as_json: bool, out: IO[str]
) -> None:
    for part in parts:
        if as_json:
            lines = _json_lines(part, names)
        elif format in ("conll", "conllu"):
            lines = _column_lines(part, names)
        else:
            lines = tagged_lines(part.tokens, part.tags, part.offsets, names)
        out.write("".join(f"{line}\n" for line in lines))
        out.flush()


def _column_lines(part: TaggedSentences, names: Sequence[str]) -> Iterator[str]:
    tags, shown = part.tags.tolist(), [escape(name) for name in names]
    shares = [] if part.probabilities is None else part.probabilities.tolist()
    for start, end in pairwise(part.offsets.tolist()):
        for place in range(start, end):
            fields = [part.tokens[place], names[tags[place]]]
            if shares:
                fields += [f"{name}={share:.9g}" for name, share in zip(shown, shares[place], strict=True)]
            yield "\t".join(fields)
        yield ""


def _json_lines(part: TaggedSentences, names: Sequence[str]) -> Iterator[str]:
    tags, known = part.tags.tolist(), part.known.tolist()
    for start, end in pairwise(part.offsets.tolist()):
        record = {
            "tokens": part.tokens[start:end],
            "tags": [names[tag] for tag in tags[start:end]],
            "known": known[start:end],
        }
        if part.probabilities is not None:
            rows = part.probabilities[start:end].tolist()
            record["probabilities"] = [dict(zip(names, row, strict=True)) for row in rows]
        yield json.dumps(record, ensure_ascii=False)


def print_evaluation(tagger: Tagger, file: Path, as_json: bool) -> None:
    """Figures on a text with gold tags."""
    figures = evaluate_text(tagger, file)
    if as_json:
        sys.stdout.write(dump(figures, indent=1).decode() + "\n")
    else:
        print_gold(str(file), figures)


def show_tagger(folder: RunFolder, words: int, stream: IO[str] | None = None) -> None:
    """The tags with their words, what follows what, the chains, and the table over settings where there is a grid."""
    tagger = load_tagger(folder.path, torch.device("cpu"))
    print_tags(tag_facts(tagger, words), stream)
    if folder.finished:
        metrics = folder.read_metrics()
        print_chains(metrics["cells"], metrics["best"], stream)
        print_settings(settings_rows(metrics["cells"], str(getattr(tagger.options, "level", ""))), stream)
        if "gold" in metrics:
            print_gold("training text against gold tags", metrics["gold"], stream)
