"""What is kept of a cell's trained replicas: out-of-fold scores, and the predictors where no refit follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from gpuclf.models.learner import Predictor, Problem
from gpuclf.models.replica_axis import take_replicas
from gpuclf.train.held_out import HeldOutRows
from gpuclf.train.loop import BatchOutcome
from gpuclf.train.plan import Batch
from gpuclf.train.predictor_pack import pack_predictor, unpack_predictor


@dataclass(frozen=True)
class Harvest:
    """Of one cell: scores (docs, K) of the held-out rows `docs`, each row once; predictors by seeds (or none)."""

    docs: Tensor
    scores: Tensor
    predictors: tuple[tuple[tuple[int, ...], Predictor], ...] = ()

    def joined(self, other: Harvest) -> Harvest:
        """Both parts of a cell whose replicas were trained in two batches."""
        return Harvest(
            torch.cat([self.docs, other.docs]),
            torch.cat([self.scores, other.scores]),
            self.predictors + other.predictors,
        )

    def pack(self, prefix: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = {f"{prefix}.docs": self.docs, f"{prefix}.scores": self.scores}
        about = []
        for place, (seeds, predictor) in enumerate(self.predictors):
            fields, record = pack_predictor(predictor)
            tensors |= {f"{prefix}.{place}.{name}": tensor for name, tensor in fields.items()}
            about.append({"seeds": list(seeds), **record})
        return tensors, {"predictors": about}

    @classmethod
    def unpack(cls, prefix: str, tensors: dict[str, Tensor], about: dict[str, Any], device: torch.device) -> Harvest:
        predictors = []
        for place, record in enumerate(about["predictors"]):
            start = f"{prefix}.{place}."
            fields = {name.removeprefix(start): t for name, t in tensors.items() if name.startswith(start)}
            predictors.append((tuple(record["seeds"]), unpack_predictor(fields, record, device)))
        return cls(tensors[f"{prefix}.docs"], tensors[f"{prefix}.scores"], tuple(predictors))


def gather(
    batch: Batch,
    cell: int,
    first_seed: int,
    first_views: frozenset[int],
    problem: Problem,
    held_out: HeldOutRows,
    outcome: BatchOutcome,
    keep_predictors: bool,
) -> Harvest:
    """The harvest of one cell of a trained batch; scores are those of the first seed under `first_views`."""
    places = [i for i, replica in enumerate(batch.replicas) if replica.cell.index == cell]
    scored = [i for i in places if batch.replicas[i].seed == first_seed and batch.replicas[i].view in first_views]
    docs, scores = [torch.empty(0, dtype=torch.int64)], [torch.empty(0, problem.num_classes)]
    if scored:
        index = torch.tensor(scored)
        chosen = take_replicas(outcome.predictor, index)
        for _, rows, portion in held_out.scored(chosen, problem.replicas.take(index)):
            docs.append(rows.cpu())
            scores.append(portion[0].cpu())
    predictors: Sequence[tuple[tuple[int, ...], Predictor]] = ()
    if keep_predictors:
        seeds = tuple(batch.replicas[i].seed for i in places)
        predictors = [(seeds, take_replicas(outcome.predictor, torch.tensor(places)))]
    return Harvest(torch.cat(docs), torch.cat(scores), tuple(predictors))
