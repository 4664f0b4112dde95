"""Where a model's errors come from: features, model form, or parameter estimates (`gpuclf eval --diagnose`).

After Bruce & Wiebe 1999, "Decomposable modeling in natural language processing" (evaluating its determinants): a part
is what is left when everything that comes after it is learnt from the very documents that are judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpuclf.data.splits import document_keys
from gpuclf.faults import UserFault
from gpuclf.features.encoded import Encoded
from gpuclf.features.rows import CodeRows, Rows, SparseRows, Views, rows_to
from gpuclf.features.sense_rows import SenseRows
from gpuclf.features.views import row_scale_of
from gpuclf.features.word_rows import WordRows
from gpuclf.features.word_sets import held_out_codes
from gpuclf.models.learner import LearnerOptions, Problem
from gpuclf.models.refit import Refittable
from gpuclf.train.final_stage import refit_options
from gpuclf.train.grid import Cell, with_settings
from gpuclf.train.labelled_file import predict_labelled, read_labelled
from gpuclf.train.loop import CONVERGED, BatchLoop, BatchOutcome
from gpuclf.train.model_file import Model
from gpuclf.train.observer import SilentObserver
from gpuclf.train.options import ExperimentOptions
from gpuclf.train.plan import Replica, as_replicas
from gpuclf.train.stopwatch import Stopwatch

_LOW_BITS = 16  # of a float32's fraction: values that differ by less than about 2e-6 of themselves are one


@dataclass(frozen=True)
class Diagnosis:
    """Wrong documents, each count of all `documents`: unseen ≤ unseen + features ≤ …, as far as learning goes right.

    unseen: documents of classes that the training file does not have. features: wrong by the most frequent class among
    the documents that the model cannot tell apart, of which there are `distinct` kinds. fitted: wrong by the learner
    with parameters learnt from these documents, with its `status` (see gpuclf.train.loop). wrong: by the run's model.
    training: (documents, wrong by features alone) of the training file, None where it is not there any more.
    """

    documents: int
    unseen: int
    distinct: int
    features: int
    fitted: int
    status: str
    wrong: int
    training: tuple[int, int] | None

    @property
    def form(self) -> int:
        """Wrong because of the model's form: with the best parameters that its learner finds, beyond the features."""
        return self.fitted - self.features

    @property
    def estimates(self) -> int:
        """Wrong because parameters come from the training file; below 0 where those are better than the file's own."""
        return self.wrong - self.unseen - self.fitted

    def to_json(self) -> dict[str, Any]:
        """Counts, and each part as a share of the documents; the parts add up to the error."""
        parts = {
            "unseen_classes": self.unseen,
            "features": self.features,
            "model_form": self.form,
            "parameter_estimates": self.estimates,
        }
        training = None if self.training is None else {"documents": self.training[0], "wrong": self.training[1]}
        return {
            "documents": self.documents,
            "distinct": self.distinct,
            "wrong": parts | {"all": self.wrong},
            "error": {name: count / self.documents for name, count in (parts | {"all": self.wrong}).items()},
            "status": self.status,
            "training_features": training,
        }


def diagnose(
    model: Model,
    options: ExperimentOptions,
    settings: dict[str, Any],
    steps: int,
    file: Path,
    check: Callable[[], None],
) -> Diagnosis:
    """Takes the error on a labelled file apart.

    options, settings: of the run, and of its chosen cell; steps: those of its model, which bind the one that is learnt
    from the file where the run stopped early. Features (vocabulary, selection, idf) stay those of the run. `check` is
    called after every step. UserFault for models of other things than documents.
    """
    cell = Cell(0, settings, with_settings(options, settings))
    encoded = _encoded(model, file.absolute())
    said = predict_labelled(model, encoded)
    known = _known(model, encoded.rows, said.gold)
    kinds = _kinds(model, encoded.rows)[known.numpy()]
    fitted, status = _fitted(model, cell, options.seed, steps, encoded, said.gold, check)
    return Diagnosis(
        documents=len(said.ids),
        unseen=int((~known).sum()),
        distinct=len(np.unique(kinds)),
        features=saturated_errors(kinds, said.gold[known].numpy()),
        fitted=int((fitted[known] != said.gold[known]).sum()),
        status=status,
        wrong=int((said.predicted != said.gold).sum()),
        training=_training(model, options.data.train),
    )


def saturated_errors(kinds: NDArray[np.int64], gold: NDArray[np.int64]) -> int:
    """Documents that are not of the most frequent class (n,) among those of their kind (n,): what the joint
    distribution of kinds and classes gets wrong on the documents that it was counted from."""
    if not len(kinds):
        return 0
    pairs, counts = np.unique(np.stack([kinds, gold]), axis=1, return_counts=True)
    most = np.zeros(int(kinds.max()) + 1, dtype=np.int64)
    np.maximum.at(most, pairs[0], counts)
    return len(kinds) - int(most.sum())


def _encoded(model: Model, file: Path) -> Encoded:
    """The documents; contexts as the inputs that the model's own word sets make of them."""
    encoded = read_labelled(model, model.data, file, "diagnosis", SilentObserver(), Stopwatch())
    rows = encoded.rows
    if isinstance(rows, SenseRows):
        assert model.col_scale is not None
        return replace(encoded, rows=held_out_codes(rows, model.col_scale.cpu()))
    if isinstance(rows, WordRows):
        assert model.col_scale is not None
        scales = [rows.scale(word, model.col_scale.cpu()) for word in range(len(rows.parts))]
        parts = tuple(_settled(part, scale) for part, scale in zip(rows.parts, scales, strict=True))
        return replace(encoded, rows=replace(rows, parts=parts))
    return encoded


def _settled(part: SenseRows, scale: Tensor) -> SenseRows:
    """Contexts of a word with the inputs that its model makes of them as inputs that no training set changes."""
    made = held_out_codes(part, scale)
    none = replace(part, crow=torch.zeros_like(part.crow), word=part.word[:0], per_class=False, top_words=0)
    return replace(none, codes=made.codes, num_values=made.num_values)


def _known(model: Model, rows: Rows, gold: Tensor) -> Tensor:
    """(docs,) bool: whether the training file has the gold class; of several words: for the word."""
    known = gold < len(model.classes)
    if isinstance(rows, WordRows):
        for word in range(len(rows.parts)):
            known[rows.docs(word)] = rows.local_labels(word, gold) >= 0
    return known


def _scales(model: Model, rows: Rows, device: torch.device) -> tuple[Tensor | None, Tensor | None]:
    """col_scale and row_scale of the documents on `device`; None for rows that are not scaled."""
    if isinstance(rows, WordRows) and model.col_scale is not None:
        return model.col_scale.to(device), None
    if not isinstance(rows, SparseRows) or model.col_scale is None:
        return None, None
    row_scale = row_scale_of(rows, model.col_scale.cpu(), model.features)
    return model.col_scale.to(device), None if row_scale is None else row_scale.to(device)


def _kinds(model: Model, rows: Rows) -> NDArray[np.int64]:
    """(docs,) numbers of documents by what the model is given of them: equal where all values are."""
    if isinstance(rows, CodeRows):
        return _alike(rows.codes)
    if isinstance(rows, WordRows):
        kinds = np.zeros(rows.num_docs, dtype=np.int64)  # 0: contexts of words that training did not have
        for word, part in enumerate(rows.parts):
            kinds[rows.docs(word).numpy()] = _alike(part.codes) + kinds.max() + 1
        return kinds
    if not isinstance(rows, SparseRows):
        raise UserFault(
            f"{model.options.type} does not classify documents by features, so its error cannot be taken apart",
            remedy="leave --diagnose out",
        )
    col_scale, row_scale = _scales(model, rows, torch.device("cpu"))
    assert col_scale is not None
    assert row_scale is not None
    scale = col_scale[rows.col.long()]
    doc = torch.repeat_interleave(torch.arange(rows.num_docs), rows.crow.diff())
    value = (rows.val * scale * row_scale[doc]).numpy()
    kept = (scale != 0).numpy()
    bits = ((value.view(np.int32).astype(np.int64) + _LOW_BITS // 2) // _LOW_BITS)[kept]
    cols = rows.col.numpy()[kept]
    ends = np.concatenate([[0], kept.cumsum()])[rows.crow.numpy()]
    number: dict[bytes, int] = {}
    found = [
        number.setdefault(cols[start:end].tobytes() + bits[start:end].tobytes(), len(number))
        for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
    ]
    return np.array(found, dtype=np.int64)


def _alike(codes: Tensor) -> NDArray[np.int64]:
    """(docs,) numbers from 0, the same for documents with the same codes (docs, M)."""
    return np.unique(codes.numpy(), axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _fitted(
    model: Model, cell: Cell, seed: int, steps: int, encoded: Encoded, gold: Tensor, check: Callable[[], None]
) -> tuple[Tensor, str]:
    """Predicted classes (docs,) of the learner with parameters from these very documents, and how learning ended."""
    device, options = model.device, cell.options
    learner: LearnerOptions = options.model
    # config.yaml names every key; a learner may refuse some, were they not at their defaults
    train = type(options.train).model_validate(options.train.model_dump(exclude_defaults=True))
    ends = None if train.early_stopping is None else [steps]
    train = refit_options(train, ends)
    rows = rows_to(encoded.rows, device)
    col_scale, row_scale = _scales(model, encoded.rows, device)
    views = [None if scale is None else scale[None] for scale in (col_scale, row_scale)]
    labels = gold.masked_fill(gold >= len(model.classes), -1).to(device)
    if isinstance(model.predictor, Refittable):
        fitted = model.predictor.refitted(rows, labels, col_scale)
        docs = torch.arange(rows.num_docs, device=device)
        return fitted.scores(rows, docs, col_scale, row_scale)[0].argmax(dim=1).cpu(), CONVERGED
    problem = Problem(
        rows=rows,
        labels=labels,
        keys=torch.from_numpy(document_keys(encoded.ids)).to(device),
        num_classes=len(model.classes),
        views=Views((labels >= 0)[None], *views),
        replicas=as_replicas([Replica(cell, seed, 0)], learner.per_replica, device),
    )
    last = None if ends is None else torch.tensor(ends)
    loop = BatchLoop(learner.build(train, model.classes), problem, train, learner.max_steps(train), ends=last)
    outcome: BatchOutcome = loop.run(lambda report, running: check())
    docs = torch.arange(rows.num_docs, device=device)
    scores = outcome.predictor.scores(rows, docs, col_scale, row_scale)[0]
    return scores.argmax(dim=1).cpu(), outcome.status[0]


def _training(model: Model, file: Path) -> tuple[int, int] | None:
    """Documents of the training file, and how many the features alone get wrong; None where the file has gone."""
    if not file.exists():
        return None
    encoded = _encoded(model, file)
    assert encoded.labels is not None
    names = {name: place for place, name in enumerate(dict.fromkeys(encoded.labels))}
    gold = np.array([names[label] for label in encoded.labels], dtype=np.int64)
    kinds = _kinds(model, encoded.rows)
    return len(gold), saturated_errors(kinds, gold)
