"""The nodes and constants of an ONNX graph in the making."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Graph:
    """Nodes and constants as they are added; names are given in turn."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def add(self, operator: str, inputs: Sequence[str], output: str | None = None, **attributes: Any) -> str:
        """A node with one output, whose name it returns."""
        from onnx import helper

        output = output or f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output

    def add_both(self, operator: str, inputs: Sequence[str], **attributes: Any) -> tuple[str, str]:
        """A node with two outputs, whose names it returns."""
        from onnx import helper

        outputs = [f"{operator.lower()}_{len(self.nodes)}_{part}" for part in range(2)]
        self.nodes.append(helper.make_node(operator, list(inputs), outputs, **attributes))
        return outputs[0], outputs[1]

    def constant(self, name: str, value: Any) -> str:
        """A constant tensor; returns its name."""
        from onnx import numpy_helper

        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name
