"""Helpers for tests of configs: write a config into a folder of its own, load it, or take its faults apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gpuclf.config import LoadedConfig, load
from gpuclf.faults import UserFault, UserFaults

Load = Callable[..., LoadedConfig]
Faults = Callable[..., list[UserFault]]


@pytest.fixture
def load_text(tmp_path: Path) -> Load:
    """load_text("model: {type: mira}", "model.C=2") → LoadedConfig of tmp_path/config.yaml."""

    def run(text: str, *overrides: str) -> LoadedConfig:
        path = tmp_path / "config.yaml"
        path.write_bytes(text.encode("utf-8"))
        return load(path, overrides)

    return run


@pytest.fixture
def faults_in(load_text: Load) -> Faults:
    """faults_in(text, *overrides) → the faults, of which there must be one at least."""

    def run(text: str, *overrides: str) -> list[UserFault]:
        with pytest.raises(UserFault) as caught:
            load_text(text, *overrides)
        fault = caught.value
        return list(fault.faults) if isinstance(fault, UserFaults) else [fault]

    return run
