"""A network by its shape: where its parameters lie in one vector a replica, its scores, and its gradients.

All parameters behind the first layer's table are one row of a matrix (R, P), so that an update is one operation; the
modules see views of it (torch.func.functional_call). Modules are made on the meta device: they hold no numbers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.func import functional_call, grad_and_value, vmap

from gpuclf.models.neural.feedforward import FeedforwardShape
from gpuclf.models.neural.losses import LossName, mean_loss
from gpuclf.models.neural.portions import Entries
from gpuclf.models.neural.text_cnn import Spans, TextCnnShape, spans_of

Shape = FeedforwardShape | TextCnnShape
_SHAPES: dict[str, type[Shape]] = {"feedforward": FeedforwardShape, "text_cnn": TextCnnShape}
_COUNTER = "num_batches_tracked"  # of torch's batch norm, which needs it for a cumulative mean only


@lru_cache(maxsize=256)
def network_of(shape: Shape, classes: int, place: int, compiled: bool) -> Network:
    """The network of one worker, made once: so a compiled one is compiled once."""
    del place
    network = Network(shape, classes)
    if compiled:
        network.compile()
    return network


def shape_text(shape: Shape) -> str:
    """The shape as a plain value, for files."""
    kind = next(name for name, known in _SHAPES.items() if type(shape) is known)
    return json.dumps({"kind": kind, **asdict(shape)}, separators=(",", ":"))


def shape_of(text: str) -> Shape:
    """The inverse of `shape_text`."""
    data = json.loads(text)
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    return _SHAPES[values.pop("kind")](**values)


class Gradients(NamedTuple):
    """Of one portion: loss (R,); of the sums (R, N, H), None where they are not wanted; of the parameters (R, P);
    alive (R, units) bool: units of the hidden layers that are not 0 for every document."""

    loss: Tensor
    sums: Tensor | None
    parameters: Tensor
    alive: Tensor


@dataclass(frozen=True)
class Portion:
    """What the modules see of a portion beside the sums: labels (R, B); dropout (R, B, units) of each layer, or None;
    input_dropout (R, N, H) or None; branches, longest: of a text_cnn, see `spans_of`; tensors begin with R."""

    labels: Tensor
    dropout: Sequence[Tensor | None]
    input_dropout: Tensor | None = None
    branches: Any = None
    longest: Sequence[int] = ()


class Network:
    """The modules of one shape. Not to be shared between threads: functional_call changes them for its duration."""

    def __init__(self, shape: Shape, classes: int):
        self.shape, self.classes = shape, classes
        with torch.device("meta"):
            self.module = shape.module(classes)
        self.shapes = {name: tensor.shape for name, tensor in self.module.named_parameters()}
        self.buffers = {name: t.shape for name, t in self.module.named_buffers() if not name.endswith(_COUNTER)}
        self._counters = [name for name, _ in self.module.named_buffers() if name.endswith(_COUNTER)]
        self._run: Any = self._loss
        self._plain = False

    @property
    def num_parameters(self) -> int:
        return sum(shape.numel() for shape in self.shapes.values())

    def decayed(self, dtype: torch.dtype, device: torch.device) -> Tensor:
        """(P,): 1 for weights, 0 for offsets and what norms scale by."""
        marks = [torch.full((s.numel(),), float(len(s) > 1)) for s in self.shapes.values()]
        return torch.cat([torch.zeros(0), *marks]).to(device, dtype)

    def first_buffers(self) -> Tensor:
        """(Q,): running means 0, running variances 1."""
        parts = [torch.full((s.numel(),), float(n.endswith("running_var"))) for n, s in self.buffers.items()]
        return torch.cat([torch.zeros(0), *parts])

    def named(self, parameters: Tensor, buffers: Tensor) -> dict[str, Tensor]:
        """Views of one replica's parameters (P,) and buffers (Q,) by the modules' names."""
        return {**_views(parameters, self.shapes), **_views(buffers, self.buffers)}

    def compile(self) -> None:
        """Loss and gradients by torch.compile from now on, of torch's operations alone; shapes may differ from portion
        to portion."""
        self._plain = True
        self._run = torch.compile(self._loss, dynamic=True)

    def scores(self, parameters: Tensor, buffers: Tensor, sums: Tensor, entries: Entries) -> Tensor:
        """(B, K) of one replica: parameters (P,), buffers (Q,), sums (N, H) of the documents' entries."""
        return self.activations(parameters, buffers, sums, entries)[0]

    def activations(
        self, parameters: Tensor, buffers: Tensor, sums: Tensor, entries: Entries
    ) -> tuple[Tensor, list[Tensor]]:
        """The scores, and the activations of each layer of `shape.widths()` (B, units)."""
        self.module.eval()
        named = self.named(parameters, buffers)
        none: list[Tensor | None] = [None] * len(self.shape.widths())
        with torch.no_grad():
            return functional_call(self.module, named, (sums, none, *self._extra(self.layout(entries.lengths))))

    def layout(self, lengths: Tensor) -> tuple[Any, Sequence[int]]:
        """Where a text_cnn finds the windows of documents of these lengths; (None, ()) of a feedforward network."""
        return spans_of(self.shape, lengths) if isinstance(self.shape, TextCnnShape) else (None, ())

    def gradients(
        self,
        parameters: Tensor,
        buffers: Tensor,
        sums: Tensor,
        portion: Portion,
        kind: LossName,
        wants_sums: bool,
        low: bool,
    ) -> Gradients:
        """Of all replicas: parameters (R, P), sums (R, N, H); buffers (R, Q) are brought forward.

        low: products in bfloat16, as torch.autocast does it. The modules of a feedforward network take stacked
        parameters as they are, at the cost in Python of one replica; those of a text_cnn are mapped over them.
        """
        if isinstance(self.shape, FeedforwardShape):
            run = self.gradients_stacked
        else:
            run = self.gradients_each if sums.shape[0] == 1 else self.gradients_mapped
        return run(parameters, buffers, sums, portion, kind, wants_sums, low)

    def gradients_stacked(
        self,
        parameters: Tensor,
        buffers: Tensor,
        sums: Tensor,
        portion: Portion,
        kind: LossName,
        wants_sums: bool,
        low: bool,
    ) -> Gradients:
        """`gradients` of a feedforward network, all replicas in one pass over its modules."""
        self._training()
        leaves = {n: view.detach().requires_grad_() for n, view in _views(parameters, self.shapes).items()}
        x = sums.detach().requires_grad_(wants_sums)
        with torch.autocast(sums.device.type, torch.bfloat16, enabled=low):
            losses, seen = self._run(leaves, _views(buffers, self.buffers), x, portion, kind, False)
        grads = torch.autograd.grad(losses.sum(), [*leaves.values(), *([x] if wants_sums else [])])
        flat = torch.cat([grad.flatten(1) for grad in grads[: len(leaves)]], dim=1)
        none = torch.zeros(len(sums), 0, dtype=torch.bool, device=sums.device)
        alive = torch.cat([none, *((units != 0).any(1) for units in seen)], dim=1)
        return Gradients(losses.detach(), grads[-1] if wants_sums else None, flat, alive)

    def gradients_each(
        self,
        parameters: Tensor,
        buffers: Tensor,
        sums: Tensor,
        portion: Portion,
        kind: LossName,
        wants_sums: bool,
        low: bool,
    ) -> Gradients:
        """`gradients`, one replica after the other."""
        self._training()
        made = []
        for r in range(sums.shape[0]):
            leaves = {n: view.detach().requires_grad_() for n, view in _views(parameters[r], self.shapes).items()}
            x = sums[r].detach().requires_grad_(wants_sums)
            item = _taken(portion, r)
            with torch.autocast(sums.device.type, torch.bfloat16, enabled=low):
                loss, seen = self._run(leaves, _views(buffers[r], self.buffers), x, item, kind, self._plain)
            wanted = [*leaves.values(), *([x] if wants_sums else [])]
            grads = torch.autograd.grad(loss, wanted)
            flat = [grad.reshape(-1) for grad in grads[: len(leaves)]]
            alive = torch.cat([parameters.new_zeros(0, dtype=torch.bool), *((s != 0).any(0) for s in seen)])
            made.append((loss.detach(), grads[-1] if wants_sums else None, torch.cat(flat), alive))
        loss, grad_sums, flat_grads, alive_units = zip(*made, strict=True)
        together = torch.stack(grad_sums) if wants_sums else None
        return Gradients(torch.stack(loss), together, torch.stack(flat_grads), torch.stack(alive_units))

    def gradients_mapped(
        self,
        parameters: Tensor,
        buffers: Tensor,
        sums: Tensor,
        portion: Portion,
        kind: LossName,
        wants_sums: bool,
        low: bool,
    ) -> Gradients:
        """`gradients` by torch.func.vmap over stacked parameters."""
        self._training()
        replicas = sums.shape[0]

        def loss(leaves: dict[str, Tensor], x: Tensor, held: dict[str, Tensor], item: Any) -> tuple[Tensor, Tensor]:
            labels, dropout, input_dropout, branches = item
            one = Portion(labels, dropout, input_dropout, branches or None, portion.longest)
            value, seen = self._loss(leaves, held, x, one, kind, True)
            return value, torch.cat([x.new_zeros(0), *((s != 0).any(0) for s in seen)])

        stacked = {n: view.clone() for n, view in _views(parameters, self.shapes).items()}
        held = _views(buffers, self.buffers)
        same = torch.ones(replicas, 1, 1, dtype=sums.dtype, device=sums.device)  # vmap takes no None
        dropout = [same if factor is None else factor for factor in portion.dropout]
        input_dropout = same if portion.input_dropout is None else portion.input_dropout
        item = (portion.labels, dropout, input_dropout, portion.branches or [])
        mapped = vmap(grad_and_value(loss, argnums=(0, 1), has_aux=True), in_dims=(0, 0, 0, 0))
        with torch.autocast(sums.device.type, torch.bfloat16, enabled=low):
            (grads, grad_sums), (values, alive) = mapped(stacked, sums, held, item)
        flat = torch.cat([grads[name].reshape(replicas, -1) for name in self.shapes], dim=1)
        return Gradients(values, grad_sums if wants_sums else None, flat, alive.bool())

    def _training(self) -> None:
        if not self.module.training:
            self.module.train()

    def _loss(
        self, leaves: dict[str, Tensor], held: dict[str, Tensor], x: Tensor, item: Portion, kind: LossName, plain: bool
    ) -> tuple[Tensor, list[Tensor]]:
        """The mean loss of a portion, () or (R,), and the activations of its hidden layers."""
        counters = {name: torch.zeros((), dtype=torch.int64, device=x.device) for name in self._counters}
        x = x if item.input_dropout is None else x * item.input_dropout
        extra = self._extra((item.branches, item.longest), plain)
        scores, seen = functional_call(self.module, {**leaves, **held, **counters}, (x, item.dropout, *extra))
        return mean_loss(kind, scores.to(x.dtype), item.labels), seen

    def _extra(self, layout: tuple[Any, Sequence[int]], plain: bool = False) -> tuple[Any, ...]:
        return (*layout, plain) if isinstance(self.shape, TextCnnShape) else ()


def _views(flat: Tensor, shapes: dict[str, torch.Size]) -> dict[str, Tensor]:
    """Parts of a vector (…, P) by name, each in its shape; no copies."""
    parts = flat.split([shape.numel() for shape in shapes.values()], dim=-1)
    return {
        name: part.view(*flat.shape[:-1], *shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)
    }


def _taken(portion: Portion, r: int) -> Portion:
    """One replica's part of a portion."""
    branches = portion.branches
    if branches is not None:
        branches = [[Spans(*(tensor[r] for tensor in spans)) for spans in layers] for layers in branches]
    return Portion(
        labels=portion.labels[r],
        dropout=[None if factor is None else factor[r] for factor in portion.dropout],
        input_dropout=None if portion.input_dropout is None else portion.input_dropout[r],
        branches=branches,
        longest=portion.longest,
    )
