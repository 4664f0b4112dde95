"""Weights as lines: feature TAB class TAB weight, below a header; escaped as in predictions.tsv.

The first K lines after the header are the offset's, one a class, under the name `(offset)`; they are told by place, for
a feature may bear that name, too. Then come the features in the order of their names, and of each feature the classes
whose weight is not 0. Weights have nine digits, the exact float32, and apply to values as the config weights them.
"""

from __future__ import annotations

from pathlib import Path

from gpuclf.data.atomic_write import atomic_path
from gpuclf.report.export.linear_parts import LinearParts
from gpuclf.report.predictions import escape

HEADER = "feature\tclass\tweight"
OFFSET = "(offset)"


def write_text(parts: LinearParts, path: Path) -> None:
    """Writes the file, whole or not at all."""
    classes = [escape(name) for name in parts.classes]
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        file.write(f"{HEADER}\n".encode())
        for name, weight in zip(classes, parts.offset.tolist(), strict=True):
            file.write(_line(OFFSET, name, weight))
        for feature, weights in zip(parts.features, parts.weights, strict=True):
            field = escape(feature)
            pairs = zip(classes, weights.tolist(), strict=True)
            file.write(b"".join(_line(field, name, weight) for name, weight in pairs if weight != 0))


def _line(feature: str, name: str, weight: float) -> bytes:
    return f"{feature}\t{name}\t{weight:.9g}\n".encode("utf-8", errors="surrogatepass")
