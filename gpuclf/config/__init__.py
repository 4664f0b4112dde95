"""Configs: strict YAML, overrides, validation. The only place that knows YAML.

>>> loaded = load(Path("configs/linear/quickstart.yaml"), ["model.C=0.1", "~grid.model.C"])
>>> loaded.options.model.C
0.1
"""

from __future__ import annotations

from gpuclf.config.load import LoadedConfig, load
from gpuclf.config.overrides import Override, parse_override
from gpuclf.config.tree import Source

__all__ = ["LoadedConfig", "Override", "Source", "load", "parse_override"]
