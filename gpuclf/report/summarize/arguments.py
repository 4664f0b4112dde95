"""The arguments of `gpuclf summarize`, and its start; what it does is imported when it runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

ABOUT = (
    "what people say about each business: labelled spans of reviews become snippets, alike snippets become clusters "
    "within an aspect, each with a polarity; writes summary.json, index.html and a page a business"
)
_USAGE = "gpuclf summarize RUN FILE [options]\n       gpuclf summarize --snippets FILE [options]"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.usage = _USAGE
    parser.add_argument("folder", type=Path, metavar="RUN", nargs="?", help="a run trained with data.format reviews")
    parser.add_argument(
        "file", type=Path, metavar="FILE", nargs="?", help="reviews as JSON lines, each with its business"
    )
    parser.add_argument(
        "--snippets", type=Path, metavar="FILE", help="ready snippets instead, a business a line (JSON): no RUN needed"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="a new folder (default: FILE's name with -summary)")
    parser.add_argument(
        "--sentiment",
        type=Path,
        metavar="RUN",
        help="a run that classifies texts as positive, negative (and neutral); default: a lexicon of English",
    )
    parser.add_argument("--method", choices=("linkage", "kmeans"), default="linkage", help="(default linkage)")
    parser.add_argument(
        "--clusters", default="auto", metavar="K", help="a business and aspect: a number, or auto (default)"
    )
    parser.add_argument(
        "--threshold", type=float, metavar="T", help="linkage, auto: the mean cosine that merges (default 0.1)"
    )
    parser.add_argument(
        "--learn-from",
        type=Path,
        metavar="FILE",
        help="snippets that are clustered already, from which it is learnt what makes snippets alike",
    )
    parser.add_argument("--seed", type=int, default=0, help="of kmeans (default 0)")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")


def run(arguments: argparse.Namespace, stop: Any) -> int:
    """Runs the command."""
    from gpuclf.report.summarize.command import summarize

    return summarize(arguments, stop)
