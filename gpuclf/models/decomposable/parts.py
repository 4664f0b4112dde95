"""What the models of a replica are trained on: the whole table, or, of contexts of several words, each word's part."""

from __future__ import annotations

from dataclasses import replace

from gpuclf.features.rows import Views
from gpuclf.features.word_rows import WordRows
from gpuclf.models.learner import Problem


def parts_of(problem: Problem) -> list[Problem]:
    """The problem itself; of contexts of several words one for each word, which is what the problem would be were there
    no other words. Replicas and views are the same in all of them."""
    rows, views = problem.rows, problem.views
    if not isinstance(rows, WordRows):
        return [problem]
    assert views.col_scale is not None, "contexts have word sets"
    parts = []
    for place, (part, classes) in enumerate(zip(rows.parts, rows.classes, strict=True)):
        docs = rows.docs(place)
        parts.append(
            replace(
                problem,
                rows=part,
                labels=rows.local_labels(place, problem.labels),
                keys=problem.keys[docs],
                num_classes=len(classes),
                views=Views(views.train[:, docs], rows.scale(place, views.col_scale)),
            )
        )
    return parts
