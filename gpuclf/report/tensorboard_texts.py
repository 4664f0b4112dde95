"""What stands in TensorBoard's text tab when training is over."""

from __future__ import annotations

import re

from gpuclf.report.explain import top_features
from gpuclf.report.strict_json import number
from gpuclf.report.summary import NOT_EVALUATED, FinalFigures, cell_failure, cell_label


def texts_of(figures: FinalFigures) -> dict[str, str]:
    """Markdown for the text tab."""
    lines = [f"**{figures.name}** on {figures.device}", ""]
    if figures.best is not None and (value := number(figures.best["value"])) is not None:
        options = figures.cells[figures.best["cell"]]["options"]
        lines += [f"best cell: {markdown(cell_label(options))}, {figures.best['metric']} {value:.4f}", ""]
    lines += [
        f"failed: {markdown(cell_label(c['options']))}: {markdown(why)}\n"
        for c in figures.cells
        if (why := cell_failure(c)) not in (None, NOT_EVALUATED)
    ]
    lines += [f"{markdown(line)}\n" for line in figures.ending]
    lines += ["| part | seconds |", "|---|---|", *(f"| {k} | {v:.2f} |" for k, v in figures.seconds.items())]
    texts = {"summary": "\n".join(lines)}
    if figures.config_text:
        texts["config"] = "\n".join(f"    {line}" for line in figures.config_text.splitlines())
    if figures.weights is not None and figures.feature_names is not None:
        rows = ["| class | features with the highest weights |", "|---|---|"]
        for name, top in zip(figures.classes, top_features(figures.weights, figures.feature_names, 10), strict=True):
            rows.append(
                f"| {markdown(name)} | {', '.join(f'{markdown(feature)} {weight:.3g}' for feature, weight in top)} |"
            )
        texts["top_features"] = "\n".join(rows)
    if figures.tree is not None:
        texts["first_tree"] = "\n".join(f"    {line}" for line in figures.tree)
    return texts | dict(figures.texts)


def markdown(text: str) -> str:
    """Text that means itself in a Markdown table."""
    return re.sub(r"([\\`*_{}\[\]<>#|!~])", r"\\\1", " ".join(text.split()))
