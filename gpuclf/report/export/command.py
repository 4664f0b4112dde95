"""`gpuclf export`: which files a target has, and that none of them is written over."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from gpuclf.data.atomic_write import atomic_write, named_faults
from gpuclf.faults import UserFault
from gpuclf.models.neural.predictor import NeuralPredictor
from gpuclf.models.sequence.chain_predictor import ChainPredictor
from gpuclf.optim.calibration import calibrator_name
from gpuclf.report.export.arrays import write_arrays
from gpuclf.report.export.chain import chain_files, write_chain
from gpuclf.report.export.linear_parts import linear_parts
from gpuclf.report.export.onnx_graph import write_onnx
from gpuclf.report.export.onnx_network import BAG_FILES, network_files, write_network
from gpuclf.report.export.text_weights import write_text
from gpuclf.report.export.vectoriser import vectoriser
from gpuclf.train.model_file import Model

FILES = {
    "text": ("weights.tsv",),
    "sklearn": ("sklearn.npz", "sklearn.json"),
    "onnx": BAG_FILES,  # of a network that reads words in their order: see network_files
}


def left_out(model: Model, target: str) -> str | None:
    """What of the model the files of a target do not hold, in words; None where they hold all of it."""
    if target == "text" and model.calibrator is not None:
        method = calibrator_name(model.calibrator)
        return f"weights.tsv gives scores: the calibration ({method}) is in the files of --to sklearn and --to onnx"
    return None


def export(model: Model, target: str, folder: Path) -> Sequence[Path]:
    """Writes the files of a target into the folder, which is made where there is none; returns their paths.

    UserFault where one is there already, or the model cannot be said in the target's terms.
    """
    if isinstance(model.predictor, ChainPredictor):
        paths = _free(folder, chain_files(target))
        write_chain(model, model.predictor, target, paths)
        return paths
    if target not in FILES:
        raise UserFault(f"--to {target} is for conditional random fields", remedy=f"export --to {' or '.join(FILES)}")
    network = model.predictor if target == "onnx" and isinstance(model.predictor, NeuralPredictor) else None
    parts = linear_parts(model) if network is None else None
    paths = _free(folder, FILES[target] if network is None else network_files(network))
    if parts is None:
        assert network is not None
        write_network(model, network, paths)
        return paths
    if target == "text":
        write_text(parts, paths[0])
    elif target == "sklearn":
        write_arrays(parts, paths[0])
    else:
        write_onnx(parts, *paths[:2])
    if target != "text":
        atomic_write(paths[-1], json.dumps(vectoriser(model, parts), indent=1) + "\n")
    return paths


def _free(folder: Path, names: Sequence[str]) -> list[Path]:
    """The paths of files to be written into the folder, none of which is there; makes the folder."""
    paths = [folder / name for name in names]
    for path in paths:
        if path.exists():
            raise UserFault("is there already", file=path, remedy="move it away, or give another folder with --out")
    with named_faults(folder):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise UserFault("is a file, not a folder", file=folder, remedy="give another --out") from error
    return paths
