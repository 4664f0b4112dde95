"""Feature names as bytes: many strings in one UTF-8 buffer, so that kernels can work on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from gpuclf.ops.copy_spans import copy_spans
from gpuclf.ops.sort_spans import sort_spans


def encode_text(text: str) -> bytes:
    """UTF-8; a lone surrogate, which JSON can bring in, is kept as it is rather than refused here."""
    return text.encode("utf-8", "surrogatepass")


def bytes_tensor(data: bytes) -> Tensor:
    """(bytes,) uint8."""
    return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)


def lengths_to_ptr(lengths: Sequence[int] | Tensor) -> Tensor:
    """(n+1,) int64: where each piece begins, and the end."""
    ptr = torch.zeros(len(lengths) + 1, dtype=torch.int64)
    torch.cumsum(torch.as_tensor(lengths, dtype=torch.int64), 0, out=ptr[1:])
    return ptr


@dataclass(frozen=True)
class Names:
    """Strings as one buffer: data (bytes,) uint8 and ptr (names+1,) int64."""

    data: Tensor
    ptr: Tensor

    @classmethod
    def from_strings(cls, strings: Sequence[str]) -> Names:
        joined = "".join(strings)
        if joined.isascii():
            return cls(bytes_tensor(joined.encode()), lengths_to_ptr([len(s) for s in strings]))
        pieces = [encode_text(s) for s in strings]
        return cls(bytes_tensor(b"".join(pieces)), lengths_to_ptr([len(p) for p in pieces]))

    @classmethod
    def joined(cls, parts: Sequence[Names]) -> Names:
        """All names of all parts, in order."""
        lengths = [part.ptr.diff() for part in parts]
        data = torch.cat([part.data for part in parts]) if parts else bytes_tensor(b"")
        return cls(data, lengths_to_ptr(torch.cat(lengths) if lengths else []))

    def __len__(self) -> int:
        return self.ptr.numel() - 1

    def to_strings(self) -> list[str]:
        text = self.data.numpy().tobytes().decode("utf-8", "surrogatepass")
        ptr = self.ptr.numpy()
        if len(text) != self.data.numel():  # from byte to character positions
            heads = np.concatenate([[0], np.cumsum((self.data.numpy() & 0xC0) != 0x80)])
            ptr = heads[ptr]
        edges = ptr.tolist()
        return [text[a:b] for a, b in pairwise(edges)]

    def take(self, index: Tensor) -> Names:
        """The names `index` (n,) int64, in that order."""
        return gather_spans(self.data, self.ptr[:-1][index], self.ptr[1:][index])

    def sorted_order(self) -> Tensor:
        """(names,) int64: the order of code points, for distinct names."""
        return sort_spans(self.data, self.ptr)


def gather_spans(text: Tensor, starts: Tensor, ends: Tensor) -> Names:
    """The spans text[starts[i]:ends[i]] as names."""
    ptr = lengths_to_ptr(ends - starts)
    data = torch.empty(int(ptr[-1]), dtype=torch.uint8)
    copy_spans(text, starts, ends, data, ptr[:-1])
    return Names(data, ptr)


def interleave(parts: Sequence[Names]) -> Names:
    """Name i is the i-th names of all parts, one after the other without a gap."""
    lengths = torch.stack([part.ptr.diff() for part in parts], dim=1)
    places = lengths_to_ptr(lengths.flatten())
    data = torch.empty(int(places[-1]), dtype=torch.uint8)
    for column, part in enumerate(parts):
        copy_spans(part.data, part.ptr[:-1], part.ptr[1:], data, places[column :: len(parts)][: len(part)])
    return Names(data, places[:: len(parts)].clone())


def repeated(text: str, count: int) -> Names:
    """The same string `count` times."""
    piece = bytes_tensor(encode_text(text))
    return Names(piece.repeat(count), torch.arange(count + 1) * piece.numel())
