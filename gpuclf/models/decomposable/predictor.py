"""Decomposable models as an immutable predictor: marginal tables, and how the models of a sequence are combined."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from gpuclf.features.rows import Rows
from gpuclf.models.decomposable.graph import CLASS
from gpuclf.models.decomposable.selection import posterior
from gpuclf.models.decomposable.tables import (
    BAYES,
    FALLBACK,
    SEQUENCE,
    TREE,
    Factor,
    cell_keys,
    count_tables,
    with_class,
)
from gpuclf.models.decomposable.variables import input_codes, known_codes, variables_of
from gpuclf.models.replica_axis import padded_like, replica_field, take_replicas
from gpuclf.ops.cell_scores import LOG_ZERO

_DOCS = 1 << 13  # documents scored at once
_COVERED = LOG_ZERO / 2


@dataclass(frozen=True)
class DecomposablePredictor:
    """R models of T tables at most; vars (R, T, W), power, joins, family, size (R, T), begin (R, T + 1), keys, counts
    (R, X): see Tables. documents (R,) int64; ess (R,) float64; seen (R, values of all inputs) bool: codes that training
    had; prior (R, K) float64: log shares of the classes; edges (R, E, 2) int32, the class being 0, −1 for none.
    models (R,) int32: how many the sequence has; precision (R, S) float64 of each of them, without the row itself;
    weights (R, 2 + S) float64, of a stack: of naive Bayes, of the tree-augmented one, and of each of the sequence.

    combine none: the last model. mix: the mean of P(class, inputs) over all (Pedersen & Bruce 1997, the naive mix).
    switch: of the models that cover a document, the most precise (Kayaalp, Pedersen & Bruce 1997). stack: the weighted
    mean of P(class | inputs) (Wolpert 1992); a model says the classes' shares of a document that it does not cover.
    backoff: what decides on a document that no class has a probability for, which happens without ess only.
    """

    vars: Tensor = replica_field(fill=-1)
    power: Tensor = replica_field(fill=0)
    joins: Tensor = replica_field(fill=0)
    family: Tensor = replica_field(fill=0)
    size: Tensor = replica_field(fill=1)
    begin: Tensor = replica_field(fill=0)
    keys: Tensor = replica_field(fill=0)
    counts: Tensor = replica_field(fill=0)
    documents: Tensor = replica_field()
    ess: Tensor = replica_field()
    seen: Tensor = replica_field(fill=0)
    prior: Tensor = replica_field(fill=-math.inf)
    edges: Tensor = replica_field(fill=-1)
    models: Tensor = replica_field()
    precision: Tensor = replica_field(fill=-1)
    weights: Tensor | None = replica_field(optional=True, fill=0)
    combine: str = "none"
    backoff: str = "majority"

    def scores(
        self,
        rows: Rows,
        docs: Tensor,
        col_scale: Tensor | None,
        row_scale: Tensor | None,
        replicas: slice | None = None,
    ) -> Tensor:
        """log P(class | document) (R, len(docs), K) float32."""
        found, _ = self._judged(rows, docs, col_scale, replicas)
        return torch.log_softmax(found, dim=-1).to(torch.float32)

    def flagged(self, rows: Rows, docs: Tensor, col_scale: Tensor | None, row_scale: Tensor | None) -> Tensor:
        """(R, len(docs)) bool: documents that the model does not cover: no class has a probability above 0."""
        if bool((self.ess > 0).all()):
            return torch.zeros(len(self.ess), docs.numel(), dtype=torch.bool, device=docs.device)
        return ~self._judged(rows, docs, col_scale, None)[1]

    @classmethod
    def joined(cls, parts: Sequence[DecomposablePredictor]) -> DecomposablePredictor:
        """Predictors of one replica each as one, the smaller padded."""
        changes: dict[str, Any] = {}
        for item in fields(cls):
            held = [getattr(part, item.name) for part in parts]
            if isinstance(held[0], Tensor):
                fill = item.metadata.get("fill")
                changes[item.name] = torch.cat(held if fill is None else padded_like(held, fill, from_axis=1))
        return replace(parts[0], **changes)

    def refitted(self, rows: Rows, labels: Tensor, col_scale: Tensor | None) -> DecomposablePredictor:
        """The first replica's tables counted on other documents (see gpuclf.models.refit)."""
        classes = self.prior.shape[1]
        everyone = torch.ones_like(labels, dtype=torch.bool)
        variables = variables_of(rows, labels, classes, everyone, col_scale)
        columns = zip(*(part[0].tolist() for part in (self.vars, self.power, self.joins, self.family)), strict=True)
        factors = [
            Factor(frozenset(v for v in members if v >= 0), power, joins, family)
            for members, power, joins, family in columns
            if power
        ]
        tables = count_tables(variables, factors)
        counts = torch.bincount(labels[labels >= 0], minlength=classes).double()
        changes = {item.name: getattr(tables, item.name)[None] for item in fields(tables)}
        return replace(
            take_replicas(self, torch.zeros(1, dtype=torch.int64)),
            **changes,
            documents=torch.tensor([variables.documents], device=labels.device),
            seen=variables.seen[None],
            prior=torch.log(counts / max(variables.documents, 1))[None],
        )

    def settled(self) -> DecomposablePredictor:
        """The same models without padding that none of them needs."""
        tables = _longest(self.power != 0)
        width = _longest((self.vars >= 0).any(dim=1))
        cells, edges = int(self.begin[:, : tables + 1].max()), _longest(self.edges[..., 0] >= 0)
        cut = {name: getattr(self, name)[:, :tables].contiguous() for name in ("power", "joins", "family", "size")}
        return replace(
            self,
            **cut,
            vars=self.vars[:, :tables, :width].contiguous(),
            begin=self.begin[:, : tables + 1].contiguous(),
            keys=self.keys[:, :cells].contiguous(),
            counts=self.counts[:, :cells].contiguous(),
            edges=self.edges[:, :edges].contiguous(),
            precision=self.precision[:, : int(self.models.max())].contiguous(),
            weights=None if self.weights is None else self.weights[:, : 2 + int(self.models.max())].contiguous(),
        )

    def _judged(
        self, rows: Rows, docs: Tensor, col_scale: Tensor | None, replicas: slice | None
    ) -> tuple[Tensor, Tensor]:
        """log P(class, inputs) (R, n, K) float64 up to a constant a document, and whether it is covered (R, n)."""
        coded = input_codes(rows, col_scale)
        values = (self.prior.shape[1], *coded.num_values)
        span = range(len(self.ess))[replicas or slice(None)]
        scores = torch.zeros(len(span), docs.numel(), values[CLASS], dtype=torch.float64, device=docs.device)
        covered = torch.ones(len(span), docs.numel(), dtype=torch.bool, device=docs.device)
        for start in range(0, docs.numel(), _DOCS):
            inputs = coded.codes[docs[start : start + _DOCS]].T
            for place, replica in enumerate(span):
                codes = known_codes(inputs, coded.num_values, self.seen[replica])
                part = slice(start, start + inputs.shape[1])
                codes = torch.cat([torch.zeros_like(codes[:1]), codes])
                scores[place, part], covered[place, part] = self._of_replica(replica, codes, values)
        return scores, covered

    def _of_replica(self, replica: int, codes: Tensor, values: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        """Combined log P(class, inputs) (n, K) of one replica; codes (V, n), and which documents are covered (n,)."""
        if self.combine == "stack":
            combined, covered = self._stacked(replica, codes, values)
        else:
            combined = self._of_sequence(replica, codes, values)
            covered = combined.max(dim=1).values > _COVERED
        if bool(covered.all()):
            return _finished(combined), covered
        other: Tensor = self.prior[replica]
        if self.backoff == "naive_bayes":
            fallback = next(self._running(replica, FALLBACK, codes, values))
            other = torch.where(fallback.max(dim=1, keepdim=True).values > _COVERED, fallback, other)
        return _finished(torch.where(covered[:, None], combined, other)), covered

    def _of_sequence(self, replica: int, codes: Tensor, values: tuple[int, ...]) -> Tensor:
        """What is said by the sequence: by its last model, the mean, or the one that is chosen for a document."""
        combined, precise = None, torch.full_like(codes[0], -1.0, dtype=torch.float64)
        for model, running in enumerate(self._running(replica, SEQUENCE, codes, values)):
            combined, precise = self._combined(replica, model, int(self.models[replica]), running, combined, precise)
        assert combined is not None, "there is a model"
        return combined

    def _stacked(self, replica: int, codes: Tensor, values: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        """log of the weighted mean of P(class | inputs) (n, K), and which documents any of the models covers (n,)."""
        assert self.weights is not None, "a stack has weights"
        total = torch.full((codes.shape[1], values[CLASS]), -torch.inf, dtype=torch.float64, device=codes.device)
        covered = torch.zeros_like(codes[0], dtype=torch.bool)
        weights = self.weights[replica].tolist()
        models = chain(*(self._running(replica, family, codes, values) for family in (BAYES, TREE, SEQUENCE)))
        for weight, running in zip(weights, models, strict=False):  # weights are padded to the longest sequence
            if weight > 0:
                total = torch.logaddexp(total, posterior(running, self.prior[replica]) + math.log(weight))
                covered |= running.max(dim=1).values > _COVERED
        return total, covered

    def _running(self, replica: int, family: int, codes: Tensor, values: tuple[int, ...]) -> Iterator[Tensor]:
        """log P(class, inputs) (n, K) by each model of a family in turn, always in the same tensor."""
        power, joins, families = (part[replica].tolist() for part in (self.power, self.joins, self.family))
        running = torch.zeros(codes.shape[1], values[CLASS], dtype=torch.float64, device=codes.device)
        tables = [t for t in range(len(power)) if power[t] and families[t] == family]
        for model in range(int(self.models[replica]) if family == SEQUENCE else 1):
            while tables and joins[tables[0]] <= model:
                table = tables.pop(0)
                running += power[table] * self._logs(replica, table, codes, values)
            yield running

    def _combined(
        self, replica: int, model: int, models: int, running: Tensor, so_far: Tensor | None, precise: Tensor
    ) -> tuple[Tensor | None, Tensor]:
        """What is said after one more model of the sequence, and the precision of the model that a switch chose."""
        if self.combine == "mix":
            part = running - math.log(models)
            return (part if so_far is None else torch.logaddexp(so_far, part)), precise
        if so_far is None:
            so_far = running.clone()
            return so_far, torch.where(running.max(dim=1).values > _COVERED, self._precision(replica, model), precise)
        covers = running.max(dim=1).values > _COVERED
        if self.combine == "switch":
            taken = covers & (self._precision(replica, model) > precise)
            return torch.where(taken[:, None], running, so_far), torch.where(
                taken, self._precision(replica, model), precise
            )
        taken = covers | (torch.full_like(covers, self.backoff != "next_simpler"))
        return torch.where(taken[:, None], running, so_far), precise

    def _precision(self, replica: int, model: int) -> float:
        return float(self.precision[replica, model]) if self.combine == "switch" else 0.0

    def _logs(self, replica: int, table: int, codes: Tensor, values: tuple[int, ...]) -> Tensor:
        """(n, K) or (n, 1) float64: log of a table's smoothed shares, in the cells of documents with each class."""
        members = [v for v in self.vars[replica, table].tolist() if v >= 0]
        inputs = [v for v in members if v != CLASS]
        keys = cell_keys(codes, values, inputs)[:, None]
        if CLASS in members:
            keys = with_class(keys, torch.arange(values[CLASS], device=codes.device), values, inputs)
        first, end = self.begin[replica, table : table + 2].tolist()
        held = torch.zeros(keys.shape, dtype=torch.float64, device=keys.device)
        if end > first:  # a word may have no training row
            known, counts = self.keys[replica, first:end], self.counts[replica, first:end]
            place = torch.searchsorted(known, keys).clamp(max=len(known) - 1)
            held = torch.where(known[place] == keys, counts[place], 0).double()
        ess = float(self.ess[replica])
        mass = (held + ess / self.size[replica, table]) / (self.documents[replica] + ess)
        return torch.where(mass > 0, torch.log(mass.clamp(min=1e-300)), LOG_ZERO)


def _longest(used: Tensor) -> int:
    """How many leading entries of the last axis any replica uses."""
    return int(used.sum(-1).max()) if used.numel() else 0


def _finished(scores: Tensor) -> Tensor:
    """Classes without a probability at −inf, where another one has any."""
    possible = scores > _COVERED
    return torch.where(possible | ~possible.any(dim=1, keepdim=True), scores, -torch.inf)
