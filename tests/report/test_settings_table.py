"""The table over settings of chains: sorted by median one-to-one accuracy, every figure from the median run."""

from __future__ import annotations

from typing import Any

from gpuclf.report.tagging.settings_table import settings_rows


def cell(options: dict[str, Any], *runs: tuple[float, float, float] | None) -> dict[str, Any]:
    names = ("one_to_one", "many_to_one", "v_measure")
    figures = [{} if run is None else dict(zip(names, run, strict=True)) for run in runs]
    return {"options": options, "runs": [{"seed": seed, "fold": None, **run} for seed, run in enumerate(figures)]}


def test_best_and_median_settings_by_their_median_runs() -> None:
    cells = [
        cell({"model.level": "prior", "model.alpha_token": 1}, (0.1, 0.9, 0.9), (0.5, 0.6, 0.3), (0.7, 0.5, 0.4)),
        cell({"model.level": "prior", "model.alpha_token": 2}, (0.9, 0.1, 0.1), (0.4, 0.8, 0.8), (0.3, 0.7, 0.2)),
        cell({"model.level": "prior", "model.alpha_token": 3}, (0.2, 0.3, 0.3), None, (0.6, 0.2, 0.2)),
        cell({"model.level": "feats", "model.alpha_token": 1}, (0.8, 0.7, 0.6)),
        cell({"model.level": "feats", "model.alpha_token": 2}, (0.6, 0.9, 0.9)),
    ]
    prior, feats = settings_rows(cells, "feats")
    assert (prior.level, prior.settings, prior.chains) == ("prior", 3, 9)
    # medians .5, .4 and (of two runs the lower) .2: the best is the first, the median one the second
    assert prior.figures == {"one_to_one": (0.5, 0.4), "many_to_one": (0.6, 0.8), "v_measure": (0.3, 0.8)}
    # of two settings the lower is the median one; its many-to-one may be the higher
    assert feats.figures == {"one_to_one": (0.8, 0.6), "many_to_one": (0.7, 0.9), "v_measure": (0.6, 0.9)}


def test_no_table_of_one_setting_or_without_gold_tags() -> None:
    assert settings_rows([cell({}, (0.1, 0.2, 0.3), (0.2, 0.2, 0.2))], "feats") == []
    assert settings_rows([cell({"model.alpha_token": 1}, None), cell({"model.alpha_token": 2}, None)], "feats") == []
