"""Numba kernel: spans are short, so bytes are copied one by one."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from gpuclf.ops.kernel import kernel


@kernel
def _copy(text: Any, starts: Any, ends: Any, target: Any, places: Any) -> None:
    for i in range(starts.size):
        shift = places[i] - starts[i]
        for j in range(starts[i], ends[i]):
            target[j + shift] = text[j]


def copy_spans(text: Tensor, starts: Tensor, ends: Tensor, target: Tensor, places: Tensor) -> None:
    _copy(text.numpy(), starts.numpy(), ends.numpy(), target.numpy(), places.numpy())
