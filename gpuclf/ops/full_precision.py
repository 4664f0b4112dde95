"""Products of float32 numbers in float32, whatever the process allows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def full_precision() -> Iterator[None]:
    """Within it a product is not rounded to TF32 or bfloat16, by which scores would be off by a thousandth of the
    largest terms; what torch.autocast asks for is. The setting is one of the process: enter from one thread only."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
