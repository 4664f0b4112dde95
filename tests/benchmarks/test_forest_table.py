"""What the benchmark of forests says of two programs at equal accuracy."""

from __future__ import annotations

from typing import Any

from benchmarks.forest import equal_accuracy, line


def _found(accuracy: float, cpu: float) -> dict[str, Any]:
    return {"accuracy": accuracy, "cpu": cpu, "wall": cpu, "rows": 1e3, "memory": 9.0}


def test_the_least_time_that_reaches_the_other_s_best() -> None:
    found: dict[str, dict[str, Any]] = {
        "ours, sorted": _found(0.99, 1.0),  # no boosting: does not take part
        "ours, boosting": _found(0.881, 20.0),
        "ours, boosting on samples": _found(0.884, 5.0),
        "XGBoost, 40 rounds": _found(0.877, 20.0),
        "XGBoost, 100 rounds": _found(0.880, 45.0),
        "XGBoost, depth 20": {"missing": "over 9 s"},
    }
    assert equal_accuracy(found) == [
        "ours reaches 0.8840 in 5.0 CPU s; XGBoost in no setting that ran",
        "XGBoost reaches 0.8800 in 45.0 CPU s; ours that or more in 5.0: 9.0 times",
    ]
    assert equal_accuracy({name: f for name, f in found.items() if name.startswith("ours")}) == []
    assert line("XGBoost, depth 20", found["XGBoost, depth 20"])[1] == "over 9 s"
