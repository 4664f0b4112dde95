"""Calibration of the chosen cell's models on scores of held-out rows, never on those of their own training rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gpuclf.metrics.calibration import expected_calibration_error
from gpuclf.metrics.ranking import brier_score, log_loss, log_probabilities
from gpuclf.optim.calibration import CalibrationMethod, Calibrator, TemperatureCalibrator, fit_calibrator
from gpuclf.train.corpus import Corpus
from gpuclf.train.final_stage import SeedModel
from gpuclf.train.labelled_file import Predictions
from gpuclf.train.views import Split

_PARTS = 5  # of the held-out rows, for figures of calibrated probabilities


@dataclass(frozen=True)
class Calibration:
    """What held-out rows taught: the calibrator of all of them, those rows calibrated, and metrics.json "calibration".

    held_out: scores are log probabilities by calibrators that did not see the row they speak of.
    """

    calibrator: Calibrator
    held_out: Predictions
    record: dict[str, Any]


def calibrate(
    method: CalibrationMethod, corpus: Corpus, split: Split, docs: Tensor, held_out: Predictions, log_odds: bool
) -> Calibration:
    """Fits a calibrator to the held-out scores of the documents `docs` (n,) int64, in the order of `held_out`.

    A document of a class that the model does not know teaches nothing. For the figures, the rows are cut into parts, by
    folds where there are several, and each is calibrated by what the others taught. log_odds: the learner's scores are
    log probabilities.
    """
    scores, gold = held_out.scores, held_out.gold
    known = gold < len(corpus.classes)
    calibrator = fit_calibrator(method, scores[known], gold[known], log_odds)
    parts = _parts(corpus, split, docs)
    judged = torch.empty_like(scores, dtype=torch.float64)
    for part in torch.unique(parts).tolist():
        own, others = parts == part, (parts != part) & known
        # a single part has no others: its figures are then those of the rows that taught
        taught = fit_calibrator(method, scores[others], gold[others], log_odds) if bool(others.any()) else calibrator
        judged[own] = taught.log_probabilities(scores[own])
    seen = torch.bincount(gold[known], minlength=len(corpus.classes))
    record: dict[str, Any] = {
        "method": method,
        "rows": "out_of_fold" if split.folded else "validation",
        "documents": int(known.sum()),
        "classes_without_documents": [corpus.classes[k] for k in torch.nonzero(seen == 0).flatten().tolist()],
    }
    if isinstance(calibrator, TemperatureCalibrator):
        record["temperature"] = 1 / float(calibrator.inverse)
    if log_odds:
        record["before"] = _figures(log_probabilities(scores), gold)
    record["after"] = _figures(judged, gold)
    return Calibration(calibrator, replace(held_out, scores=judged.to(scores.dtype)), record)


def calibrated(models: list[SeedModel], calibrator: Calibrator) -> list[SeedModel]:
    """The models with the calibrator; other weights of theirs (the last beside averaged ones) have another scale."""
    return [replace(seed, model=replace(seed.model, calibrator=calibrator)) for seed in models]


def _parts(corpus: Corpus, split: Split, docs: Tensor) -> Tensor:
    """(n,) int64: the part that each row belongs to. By folds, else by hashes of the ids, whatever their order."""
    if split.folded:
        place = torch.unique(split.held_by[split.first][docs], return_inverse=True)[1]
        if int(place.max()) > 0:
            return place % _PARTS
    keys = corpus.keys[docs.numpy()]
    place = np.empty(len(keys), dtype=np.int64)
    place[np.argsort(keys, kind="stable")] = np.arange(len(keys))
    return torch.from_numpy(place % _PARTS)


def _figures(log_prob: Tensor, gold: Tensor) -> dict[str, float]:
    return {
        "log_loss": log_loss(log_prob, gold).mean,
        "brier": brier_score(log_prob.exp(), gold),
        "expected_calibration_error": expected_calibration_error(log_prob.exp(), gold),
    }
