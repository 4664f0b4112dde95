"""The systems of the experiment on word senses, and the rules by which a model of a search is chosen, by options."""

from __future__ import annotations

from typing import Any

NB, SELECTED, STACK, LR, BEST = "NB", "AIC held-out", "stack", "LR", "best"
SYSTEMS: dict[str, dict[str, Any]] = {
    NB: {"direction": "fixed", "start": "naive_bayes"},
    "G² held-out": {"criterion": "g2", "select": "heldout"},
    "AIC": {},
    "BIC": {"criterion": "bic"},
    "p .0001": {"criterion": "p_value"},
    SELECTED: {"select": "heldout"},
    "mix": {"combine": "mix"},
    STACK: {"combine": "stack"},
    LR: {},
}
RULES: dict[str, dict[str, Any]] = {
    NB: SYSTEMS[NB],
    "AIC": {},
    SELECTED: SYSTEMS[SELECTED],
    "held-out, log loss": {"select": "heldout", "select_by": "log_loss"},
    "held-out, 1 SE": {"select": "heldout", "one_standard_error": True},
    "5 inner folds": {"select": "cv"},
    "5 inner folds, log loss": {"select": "cv", "select_by": "log_loss"},
    "5 inner folds, 1 SE": {"select": "cv", "one_standard_error": True},
    "stability .6": {"select": "stability"},
    "stability .8": {"select": "stability", "stable_share": 0.8},
    "stability 1": {"select": "stability", "stable_share": 1.0},
    "stability .6, p .0001": {"criterion": "p_value", "select": "stability"},
    "leave-one-out": {"select": "leave_one_out"},
    "leave-one-out, log loss": {"select": "leave_one_out", "select_by": "log_loss"},
    "leave-one-out, 1 SE": {"select": "leave_one_out", "one_standard_error": True},
    "G², leave-one-out": {"criterion": "g2", "select": "leave_one_out"},
    "mix": SYSTEMS["mix"],
    "switch": {"combine": "switch"},
    STACK: SYSTEMS[STACK],
    "stack, BIC": {"criterion": "bic", "combine": "stack"},
    "stack, from naive Bayes": {"start": "naive_bayes", "combine": "stack"},
    "stack, ess 5": {"combine": "stack", "ess": 5.0},
}
CHOICE = ("select_by", "one_standard_error", "stable_share")


def criterion_of(options: dict[str, Any]) -> str:
    return str(options.get("criterion", "aic"))


def batches(systems: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Systems that differ in nothing but the criterion, and in how a model of the same searches is chosen, which train
    together."""
    groups: dict[str, list[str]] = {}
    for name, options in systems.items():
        kept = {key: value for key, value in options.items() if key not in ("criterion", *CHOICE)}
        if options.get("select") == "stability":  # by the searches of cv
            kept["select"] = "cv"
        groups.setdefault(name if name == LR else repr(sorted(kept.items())), []).append(name)
    return list(groups.values())
