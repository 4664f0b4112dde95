"""Tensors in, numbers out: what a model's answers are worth. Nothing here knows a model or a file."""

from __future__ import annotations

from gpuclf.metrics.aspects import any_aspect_f1, aspect_f1, aspect_figures, top_token_figures
from gpuclf.metrics.calibration import (
    Reliability,
    expected_calibration_error,
    reliability_curve,
    top_class_reliability,
)
from gpuclf.metrics.classification import (
    Average,
    ClassificationReport,
    PerClass,
    accuracy,
    batch_metrics,
    classification_report,
    macro_f1,
    micro_f1,
    per_class,
    weighted_f1,
)
from gpuclf.metrics.confusion import confusion
from gpuclf.metrics.ranking import (
    LogLoss,
    MacroFigure,
    PrecisionRecallCurve,
    average_precision,
    average_precision_one_vs_rest,
    brier_score,
    log_loss,
    log_probabilities,
    precision_at_k,
    precision_recall_curve,
    recall_at_k,
    roc_auc,
    roc_auc_one_vs_rest,
)

__all__ = [
    "Average",
    "ClassificationReport",
    "LogLoss",
    "MacroFigure",
    "PerClass",
    "PrecisionRecallCurve",
    "Reliability",
    "accuracy",
    "any_aspect_f1",
    "aspect_f1",
    "aspect_figures",
    "average_precision",
    "average_precision_one_vs_rest",
    "batch_metrics",
    "brier_score",
    "classification_report",
    "confusion",
    "expected_calibration_error",
    "log_loss",
    "log_probabilities",
    "macro_f1",
    "micro_f1",
    "per_class",
    "precision_at_k",
    "precision_recall_curve",
    "recall_at_k",
    "reliability_curve",
    "roc_auc",
    "roc_auc_one_vs_rest",
    "top_class_reliability",
    "top_token_figures",
    "weighted_f1",
]
