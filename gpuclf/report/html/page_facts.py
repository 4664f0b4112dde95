"""What the page is made of: plain records, gathered before anything is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from torch import Tensor

from gpuclf.data.records import ReadReport
from gpuclf.report.html.mean_curves import MeanCurves
from gpuclf.report.summary import FinalFigures
from gpuclf.train.mistakes import Mistake


@dataclass(frozen=True)
class PageFacts:
    """A finished run.

    metrics: metrics.json. reads: (role, what was read) of each file. gold_classes: the model's classes, then those that
    only gold labels have; confusion: counts over them, gold in rows; both empty and None where nothing was judged.
    probabilities: softmax of the scores is P(class | document).
    """

    figures: FinalFigures
    metrics: Mapping[str, Any]
    learner: str
    finished: datetime
    folder: str = ""
    reads: Sequence[tuple[str, ReadReport]] = ()
    curves: MeanCurves = field(default_factory=MeanCurves)
    environment: Mapping[str, Any] = field(default_factory=dict)
    gold_classes: Sequence[str] = ()
    confusion: Tensor | None = None
    mistakes: Sequence[Mistake] = ()
    probabilities: bool = False

    @property
    def rows_are(self) -> str:
        """Which documents the figures are about, for a person."""
        return "test" if self.figures.rows_are == "test" else "held-out"

    @property
    def judged(self) -> Mapping[str, Any]:
        """The figures of those documents (metrics.json "test", else "out_of_fold")."""
        return self.metrics.get(self.figures.rows_are) or {}
