"""`gpuclf compare`: reads, compares, prints."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from gpuclf.faults import UserFault
from gpuclf.metrics.mcnemar import mcnemar
from gpuclf.report.comparison import Settings, compare, counts_in_words
from gpuclf.report.comparison_files import read_systems
from gpuclf.report.comparison_table import print_comparison
from gpuclf.report.strict_json import dump


def compare_files(paths: Sequence[Path], settings: Settings, *, as_json: bool) -> None:
    """Compares the systems of run folders and files on standard output."""
    comparison = compare(read_systems(paths), settings)
    if as_json:
        _write_json(comparison.as_json())
    else:
        print_comparison(comparison)


def compare_counts(paths: Sequence[Path], only_first: int, only_second: int, *, as_json: bool) -> None:
    """McNemar's test of two counts, without any file."""
    if paths:
        raise UserFault("counts are compared without files", key="--counts", remedy="leave the runs out, or --counts")
    for count in (only_first, only_second):
        if count < 0:
            raise UserFault(f"{count} is no number of documents", key="--counts", remedy="give counts from 0")
    test = mcnemar(only_first, only_second)
    if as_json:
        _write_json(asdict(test))
    else:
        print(counts_in_words(test))


def _write_json(value: object) -> None:
    sys.stdout.write(dump(value, indent=1).decode() + "\n")
