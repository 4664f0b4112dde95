"""A conditional random field's weights: as lines, and as arrays for numpy.

weights.tsv is that of a linear model (gpuclf.report.export.text_weights): the scores of a token's labels are the sums
of its features' weights. transitions.tsv: before TAB after TAB weight, below a header, all K² of them in class order.
chain.npz: coef_ (K, F), intercept_ (K,), transition_ (K, K) from the row's label to the column's, feature_scale (F,)
float32, classes_ (K,) and features_ (F,) strings.

The score of labels y of a sentence is Σ over tokens of coef_[y_i] · x_i + intercept_[y_i], and Σ over neighbours of
transition_[y_i-1, y_i]; P(y | sentence) is its exponential over the sum of all sequences' ones.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gpuclf.data.atomic_write import atomic_path, atomic_write
from gpuclf.faults import UserFault
from gpuclf.models.sequence.chain_predictor import ChainPredictor
from gpuclf.report.export.linear_parts import LinearParts, table_parts
from gpuclf.report.export.text_weights import write_text
from gpuclf.report.predictions import escape
from gpuclf.train.model_file import Model

FILES = {"text": ("weights.tsv", "transitions.tsv"), "arrays": ("chain.npz", "chain.json")}
FORMAT = 1


def chain_files(target: str) -> Sequence[str]:
    """The names of a target's files. UserFault for a target that a chain has no form for."""
    if target not in FILES:
        raise UserFault(
            f"a conditional random field scores whole sentences, which --to {target} cannot say",
            remedy=f"export --to {' or '.join(FILES)}",
        )
    return FILES[target]


def write_chain(model: Model, predictor: ChainPredictor, target: str, paths: Sequence[Path]) -> None:
    """Writes the files, named as `chain_files` says."""
    table = predictor.weights[:, 0].cpu().numpy()
    parts = table_parts(model, table, table[0].copy(), presence=False)
    transition = predictor.transition[0].cpu().numpy()
    if target == "text":
        write_text(parts, paths[0])
        atomic_write(paths[1], "".join(_transition_lines(parts.classes, transition)))
        return
    _write_arrays(parts, transition, paths[0])
    about = {
        "format": FORMAT,
        "classes": list(parts.classes),
        "features": parts.features,
        "options": model.features.model_dump(mode="json"),
        "decode": predictor.decode,
        "norm": None if parts.norm == "none" else parts.norm,
    }
    atomic_write(paths[1], json.dumps(about, indent=1) + "\n")


def _transition_lines(classes: Sequence[str], transition: NDArray[np.float32]) -> list[str]:
    names = [escape(name) for name in classes]
    return ["before\tafter\tweight\n"] + [
        f"{before}\t{after}\t{weight:.9g}\n"
        for before, row in zip(names, transition.tolist(), strict=True)
        for after, weight in zip(names, row, strict=True)
    ]


def _write_arrays(parts: LinearParts, transition: NDArray[np.float32], path: Path) -> None:
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        np.savez(
            file,
            coef_=parts.weights.T,
            intercept_=parts.offset,
            transition_=transition,
            feature_scale=parts.scale,
            classes_=np.asarray(parts.classes),
            features_=np.asarray(parts.features),
        )
