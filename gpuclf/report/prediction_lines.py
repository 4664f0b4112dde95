"""What `gpuclf predict` prints: one line a document, every number with the name of its class."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from gpuclf.report.predictions import escape

NO_KNOWN_FEATURE = "no_known_feature"
IMPOSSIBLE = "every_class_impossible"
UNKNOWN_WORD = "unknown_word"


def prediction_lines(
    classes: Sequence[str],
    scores: Tensor,
    known: Tensor,
    flagged: Tensor,
    unknown_word: Tensor,
    probabilities: bool,
    as_json: bool,
) -> Iterator[str]:
    """Lines for scores (docs, K); known, flagged, unknown_word (docs,) bool.

    TSV: class, remark, and with `probabilities` a `class=probability` field per class in class order. The remark is
    empty, or says that no feature of the document is known, or that every class is impossible, or the ambiguous word
    not one that training had (then the prior decides).
    JSON: {"label", "known", "remark"?, "probabilities" | "scores"}; labels are strings.
    """
    values = torch.softmax(scores.double(), dim=1) if probabilities else scores
    columns = (values, scores.argmax(dim=1), known, flagged, unknown_word)
    for row, best, is_known, is_flagged, no_word in zip(*(column.tolist() for column in columns), strict=True):
        remark = UNKNOWN_WORD if no_word else IMPOSSIBLE if is_flagged else "" if is_known else NO_KNOWN_FEATURE
        if as_json:
            yield _json_line(classes, row, best, is_known, remark, probabilities)
        else:
            fields = [escape(classes[best]), remark]
            if probabilities:
                fields += [f"{escape(name)}={value:.9g}" for name, value in zip(classes, row, strict=True)]
            yield "\t".join(fields)


def _json_line(
    classes: Sequence[str], row: Sequence[float], best: int, known: bool, remark: str, probabilities: bool
) -> str:
    record: dict[str, object] = {"label": classes[best], "known": known}
    if remark:
        record["remark"] = remark
    finite = {name: value if abs(value) != float("inf") else "-inf" for name, value in zip(classes, row, strict=True)}
    record["probabilities" if probabilities else "scores"] = finite
    return json.dumps(record, ensure_ascii=False)
