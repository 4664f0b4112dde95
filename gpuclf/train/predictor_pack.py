"""Predictors as named tensors and plain values, and back without a template."""

from __future__ import annotations

from typing import Any, get_type_hints

import torch
from torch import Tensor

from gpuclf.models.learner import Predictor, settled
from gpuclf.models.registry import PREDICTORS
from gpuclf.models.replica_axis import flatten


def pack_predictor(predictor: Predictor) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Tensors by field name, and a JSON-able record of the kind and of the plain fields."""
    predictor = settled(predictor)
    tensors, values = flatten(predictor)
    kind = next(name for name, known in PREDICTORS.items() if type(predictor) is known)
    return tensors, {"kind": kind, "values": values}


def unpack_predictor(tensors: dict[str, Tensor], about: dict[str, Any], device: torch.device) -> Predictor:
    """The predictor that `pack_predictor` took apart, on `device`. KeyError or TypeError for anything else."""
    fields = {name: tensor.to(device) for name, tensor in tensors.items()}
    return _made(PREDICTORS[about["kind"]], {**about["values"], **fields})


def _made(kind: type[Any], fields: dict[str, Any]) -> Any:
    """A record from its fields by name, those of a record within it by dotted name."""
    own = {name: value for name, value in fields.items() if "." not in name}
    for outer in {name.partition(".")[0] for name in fields if "." in name}:
        inner = {name.removeprefix(f"{outer}."): v for name, v in fields.items() if name.startswith(f"{outer}.")}
        own[outer] = _made(get_type_hints(kind)[outer], inner)
    return kind(**own)
