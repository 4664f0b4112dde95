"""What `gpuclf check` prints: what was read, the sizes, and the memory plan."""

from __future__ import annotations

import sys
from collections import Counter
from typing import IO

from gpuclf.data.records import ReadReport
from gpuclf.report.console import print_read_reports
from gpuclf.report.visible_text import visible
from gpuclf.train.observer import SilentObserver
from gpuclf.train.plan import MemoryPlan


class ReadingObserver(SilentObserver):
    """Prints what was read, each file once, and notes, to stderr."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def read(self, role: str, report: ReadReport) -> None:
        del role
        found = str(report.path), report.sha256
        if found not in self._told:  # else read once more, for other features
            print_read_reports([report])
            self._told.add(found)

    def note(self, message: str) -> None:
        print(f"note: {visible(message)}", file=sys.stderr)


def print_plan(plan: MemoryPlan, stream: IO[str] | None = None) -> None:
    """Sizes and batches, one fact a line."""
    sizes = Counter(plan.batches)
    batches = ", ".join(f"{count} batch{'es' if count > 1 else ''} of {size}" for size, count in sizes.items())
    facts = {
        **plan.sizes,
        "cells": f"{plan.cells:,}",
        "models": f"{plan.models:,} to choose among, in {batches}",
        "memory": f"{_size(plan.bytes_per_model)} a model, {_size(plan.bytes_budget)} for a batch",
        "device": plan.device,
    }
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:<{width}}  {value}", file=stream or sys.stdout)


def _size(count: int) -> str:
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.3g} {unit}"
        amount /= 1024
    return f"{amount:,.3g} GiB"
