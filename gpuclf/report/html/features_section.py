"""The features that speak most for each class."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from gpuclf.report.explain import top_features
from gpuclf.report.html.markup import Markup, joined, name_text, table, tag

_FEATURES = 12
_CLASSES = 200


def features_section(weights: Tensor | None, names: Sequence[str] | None, classes: Sequence[str]) -> Markup:
    """weights (V+1, K) with the offset in row 0."""
    if weights is None or names is None:
        return tag("p", "This model has no weight for each feature and class.", class_="note")
    tops = top_features(weights, names, _FEATURES)[:_CLASSES]
    most = max((top[0][1] for top in tops if top), default=1.0)
    rows = [
        [
            tag("span", name_text(name), title=name),
            joined(*(_chip(feature, weight, most) for feature, weight in top), between=" ") if top else "(none)",
        ]
        for name, top in zip(classes, tops, strict=False)
    ]
    note = "Weight above the mean of the classes, the highest first; the stronger the colour, the higher the weight."
    more = f" The first {_CLASSES} of {len(classes):,} classes; gpuclf show has all." if len(classes) > _CLASSES else ""
    return joined(tag("p", note + more, class_="note"), table(["class", "features"], rows, class_="features"))


def _chip(feature: str, weight: float, most: float) -> Markup:
    strength = f"--w:{8 + 52 * max(weight, 0.0) / most:.0f}%"
    return tag("bdi", name_text(feature, 40), title=f"{feature}: {weight:.4g}", style=strength, class_="chip")
