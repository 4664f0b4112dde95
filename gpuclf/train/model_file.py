"""A trained classifier on disk: numbers, classes, vocabulary, options in the two files of gpuclf.train.model_store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter
from torch import Tensor

from gpuclf.data.options import DataOptions
from gpuclf.faults import UserFault
from gpuclf.features.encoded import DocumentEncoder, Encoded
from gpuclf.features.encoders import encoder_from_json
from gpuclf.features.options import FeatureOptions
from gpuclf.features.rows import rows_to
from gpuclf.features.views import row_scale_of
from gpuclf.models.learner import LearnerOptions, Predictor
from gpuclf.models.replica_axis import flatten
from gpuclf.optim.calibration import CALIBRATORS, Calibrator, calibrator_name
from gpuclf.train.model_store import data_of, incomplete, learner_of, read_files, task_of, write_files
from gpuclf.train.predictor_pack import pack_predictor, unpack_predictor

_CALIBRATOR = "calibrator."  # begins the names of its numbers
_FEATURES: TypeAdapter[Any] = TypeAdapter(FeatureOptions)


@dataclass(frozen=True)
class Model:
    """Everything that turns new documents into scores: encoder, feature scales, predictor, class names.

    col_scale (V+1,) is that of the view the model was trained on; None where rows are not sparse.
    """

    classes: tuple[str, ...]
    encoder: DocumentEncoder
    features: Any  # FeatureOptions
    col_scale: Tensor | None
    predictor: Predictor
    options: LearnerOptions
    data: DataOptions  # how further files are read; where the training file lay is not kept
    index_base: int | None
    device: torch.device
    calibrator: Calibrator | None = None

    @property
    def probabilities(self) -> bool:
        """Whether softmax of the scores is P(class | document): by the learner, or by calibration."""
        return self.options.probabilities or self.calibrator is not None

    def scores(self, encoded: Encoded, share: slice | None = None) -> tuple[Tensor, Tensor]:
        """Scores (R, docs, K) float32 of encoded documents (of a share of them), and flagged (docs,) bool: every class
        was impossible, so the scores are the prior's. On the CPU. Features unknown to the model are not used.
        With a calibrator, R is 1 and scores are log P(class | document); the class may be another than without."""
        rows = rows_to(encoded.rows, self.device)
        col_scale = None if self.col_scale is None else self.col_scale.to(self.device)
        row_scale = row_scale_of(rows, col_scale, self.features)
        docs = torch.arange(rows.num_docs, device=self.device)
        docs = docs if share is None else docs[share]
        scores = self.predictor.scores(rows, docs, col_scale, row_scale)
        flagged = self.predictor.flagged(rows, docs, col_scale, row_scale)
        scores = scores.cpu()
        if self.calibrator is not None:
            scores = self.calibrator.log_probabilities(scores[0]).to(scores.dtype)[None]
        return scores, flagged.any(dim=0).cpu()


def save_model(folder: Path, model: Model, training: Mapping[str, Any] | None = None) -> None:
    """Writes both files, each whole or not at all; the numbers first, so that model.json means a complete model.

    training: how it ended, for whoever reads the file; a loaded model does not need it.
    """
    tensors, predictor = pack_predictor(model.predictor)
    numbers = {f"predictor.{name}": tensor for name, tensor in tensors.items()}
    if model.col_scale is not None:
        numbers["col_scale"] = model.col_scale.cpu().contiguous()
    about: dict[str, Any] = {
        "classes": list(model.classes),
        "predictor": predictor,
        "features": model.features.model_dump(mode="json", exclude={"vectors", "word_classes"}),
        "encoder": model.encoder.to_json(),
        "index_base": model.index_base,
        "precision": "float32",  # of the parameters and of every product in scoring: reduced modes are off
        "training": dict(training or {}),
    }
    if model.calibrator is not None:
        tensors, values = flatten(model.calibrator)
        numbers |= {f"{_CALIBRATOR}{name}": tensor for name, tensor in tensors.items()}
        about["calibrator"] = {"kind": calibrator_name(model.calibrator), "values": values}
    write_files(folder, about, numbers, model.options, model.data)


def load_model(folder: Path, device: torch.device) -> Model:
    """The model of a run folder, on `device`, wherever it was trained. Raises UserFault for anything else."""
    about, numbers = read_files(folder)
    if task_of(folder) != "classify":
        kind = about["model"]["type"]
        raise UserFault(f"holds a {kind}: it tags words, and gives documents no classes", file=folder)
    try:
        options = learner_of(about)
        fields = {
            name.removeprefix("predictor."): tensor for name, tensor in numbers.items() if name.startswith("predictor.")
        }
        features = _FEATURES.validate_python(about["features"], strict=False)
        return Model(
            classes=tuple(about["classes"]),
            encoder=encoder_from_json(about["encoder"], features),
            features=features,
            col_scale=numbers["col_scale"].to(device) if "col_scale" in numbers else None,
            predictor=unpack_predictor(fields, about["predictor"], device),
            options=options,
            data=data_of(about, folder),
            index_base=about["index_base"],
            device=device,
            calibrator=_calibrator(about.get("calibrator"), numbers),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise incomplete(folder, error) from error


def _calibrator(about: dict[str, Any] | None, numbers: dict[str, Tensor]) -> Calibrator | None:
    """The calibrator of a model file; None for a model without one."""
    if about is None:
        return None
    fields = {name.removeprefix(_CALIBRATOR): t for name, t in numbers.items() if name.startswith(_CALIBRATOR)}
    return CALIBRATORS[about["kind"]](**fields, **about["values"])
