"""`gpuclf predict`: what is printed by the kind of the model and of what it reads."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any, BinaryIO

from gpuclf.faults import UserFault
from gpuclf.report.prediction_lines import prediction_lines
from gpuclf.train.evaluation import predict_documents
from gpuclf.train.model_file import Model


def predict(
    model: Any, file: Path | None, input_format: str | None, proba: bool, as_json: bool, stdin: BinaryIO, out: IO[str]
) -> None:
    """Prints the answers of a Model or a Tagger for a file, or for standard input where none is given."""
    if model.options.task == "tag":
        from gpuclf.report.tagging.commands import predict_tags

        _refuse_probabilities(proba, model)
        predict_tags(model, file, input_format, as_json, stdin, out)
        return
    assert isinstance(model, Model)
    if model.encoder.source == "reviews":
        from gpuclf.report.review_lines import predict_spans

        predict_spans(model, file, input_format, stdin, out)  # JSON in any case, with probabilities where there are any
        return
    if model.encoder.source == "sentences":
        from gpuclf.report.tagging.commands import predict_labels

        predict_labels(model, file, input_format, proba, as_json, stdin, out)
        return
    if proba and not model.probabilities:
        raise UserFault(
            f"{model.options.type} gives scores, not probabilities",
            remedy="train it with calibrate: platt (or isotonic, temperature), which learns probabilities from the "
            "documents of folds or validation; or leave --proba out: --format jsonl prints the scores",
        )
    for part in predict_documents(model, file, input_format, stdin):
        lines = prediction_lines(model.classes, *part, probabilities=proba, as_json=as_json)
        out.write("".join(f"{line}\n" for line in lines))
        out.flush()


def _refuse_probabilities(proba: bool, model: Any) -> None:
    if proba:
        raise UserFault(f"--proba has no meaning for {model.options.type}", remedy="leave --proba out")
