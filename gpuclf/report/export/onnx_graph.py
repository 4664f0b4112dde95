"""A linear scorer as ONNX graphs: one for dense rows, one for the non-zero values of sparse rows. What stands behind a
linear first layer can be given; its sums are then products too.

Cutting texts stays outside: the operators for strings that ONNX has know neither our token pattern nor normal forms.
The inputs are values as the encoder gives them (counts, 1 for binary, 1 + ln count for sublinear), with features
numbered from 0 as in the JSON beside the model (gpuclf.report.export.vectoriser); idf and norm are in the graph.

dense:  values (documents, F) float32
sparse: row, feature (n,) int64 and value (n,) float32 for each value that is not 0, each feature once a row;
        documents (1,) int64, how many rows there are
both:   scores (documents, K) float32, class (documents,) int64 (ties: the first), and for probabilistic learners
        probabilities (documents, K) float32. With calibration these come from it, and the class is the likeliest
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpuclf import __version__
from gpuclf.data.atomic_write import atomic_write
from gpuclf.faults import UserFault
from gpuclf.optim.calibration import Calibrator
from gpuclf.report.export.linear_parts import LinearParts
from gpuclf.report.export.onnx_calibration import add_probabilities
from gpuclf.report.export.onnx_nodes import Graph

OPSET = 18  # the first in which ScatterND adds up and reductions take their axes as an input
IR_VERSION = 8  # what came with that opset: older runtimes read it
_LARGEST = 2**31 - 2**20  # bytes that protobuf lets a file have, less the graph


Behind = Callable[[Graph, str], None]  # adds the node "scores" (documents, K) behind the products of this name


def write_onnx(parts: LinearParts, dense: Path, sparse: Path) -> None:
    """Writes both models. UserFault: see `check_possible`."""
    check_possible(parts.weights.nbytes, "export --to sklearn, or train with fewer features")
    atomic_write(dense, dense_model(parts).SerializeToString())
    atomic_write(sparse, sparse_model(parts).SerializeToString())


def check_possible(size: int, remedy: str) -> None:
    """UserFault where onnx is not installed, or weights of `size` bytes are more than such a file may hold: remedy says
    what to do about that."""
    try:
        import onnx  # noqa: F401
    except ModuleNotFoundError as error:
        raise UserFault("export --to onnx needs onnx", remedy="pip install 'gpuclf[onnx]'") from error
    if size > _LARGEST:
        raise UserFault(f"the weights take {size:,} bytes, an ONNX file holds 2 GB", remedy=remedy)


def dense_model(parts: LinearParts, behind: Behind | None = None) -> Any:
    """The ModelProto for dense rows. behind: what makes scores of the products, if not the parts' offset."""
    from onnx import TensorProto, helper

    graph = Graph()
    one = graph.constant("one", np.float32(1))
    x = "values"
    if parts.binary:
        x = _presence(graph, x)
    x = graph.add("Mul", [x, graph.constant("feature_scale", parts.scale)])
    if parts.norm != "none":
        axis = graph.constant("last_axis", np.array([1], dtype=np.int64))
        norm = graph.add("ReduceL1" if parts.norm == "l1" else "ReduceL2", [x, axis], keepdims=1)
        x = graph.add("Div", [x, _one_for_zero(graph, norm, one)])
    products = graph.add("MatMul", [x, graph.constant("weights", parts.weights)])
    inputs = [helper.make_tensor_value_info("values", TensorProto.FLOAT, ["documents", len(parts.features)])]
    return _scored(graph, parts, products, behind, inputs)


def sparse_model(parts: LinearParts, behind: Behind | None = None) -> Any:
    """The ModelProto for the values of sparse rows; see `dense_model`."""
    from onnx import TensorProto, helper

    graph = Graph()
    one = graph.constant("one", np.float32(1))
    last = graph.constant("last", np.array([1], dtype=np.int64))
    place = graph.add("Unsqueeze", ["row", last])
    x = _presence(graph, "value") if parts.binary else "value"
    x = graph.add("Mul", [x, graph.add("Gather", [graph.constant("feature_scale", parts.scale), "feature"])])
    zero = helper.make_tensor("zero", TensorProto.FLOAT, [1], [0.0])
    if parts.norm != "none":
        sizes = graph.add("Abs", [x]) if parts.norm == "l1" else graph.add("Mul", [x, x])
        nothing = graph.add("ConstantOfShape", ["documents"], value=zero)
        norm = graph.add("ScatterND", [nothing, place, sizes], reduction="add")
        norm = norm if parts.norm == "l1" else graph.add("Sqrt", [norm])
        x = graph.add("Div", [x, graph.add("Gather", [_one_for_zero(graph, norm, one), "row"])])
    rows = graph.add("Gather", [graph.constant("weights", parts.weights), "feature"])
    products = graph.add("Mul", [rows, graph.add("Unsqueeze", [x, last])])
    width = graph.constant("width", np.array([parts.weights.shape[1]], dtype=np.int64))
    shape = graph.add("Concat", ["documents", width], axis=0)
    empty = graph.add("ConstantOfShape", [shape], value=zero)
    sums = graph.add("ScatterND", [empty, place, products], reduction="add")
    kinds = (("row", TensorProto.INT64), ("feature", TensorProto.INT64), ("value", TensorProto.FLOAT))
    inputs = [helper.make_tensor_value_info(name, kind, ["n"]) for name, kind in kinds]
    inputs.append(helper.make_tensor_value_info("documents", TensorProto.INT64, [1]))
    return _scored(graph, parts, sums, behind, inputs)


def _presence(graph: Graph, value: str) -> str:
    """1 where a value is not 0."""
    return graph.add("Abs", [graph.add("Sign", [value])])


def _one_for_zero(graph: Graph, norm: str, one: str) -> str:
    zero = graph.constant("no_length", np.float32(0))
    return graph.add("Where", [graph.add("Equal", [norm, zero]), one, norm])


def _scored(graph: Graph, parts: LinearParts, products: str, behind: Behind | None, inputs: Sequence[Any]) -> Any:
    """The model with scores and all else behind the products (documents, K or sums)."""
    if behind is None:
        graph.add("Add", [products, graph.constant("offset", parts.offset)], "scores")
    else:
        behind(graph, products)
    return finished(graph, len(parts.classes), parts.probabilities, parts.calibrator, inputs)


def finished(
    graph: Graph, classes: int, probabilities: bool, calibrator: Calibrator | None, inputs: Sequence[Any]
) -> Any:
    """The model with class and probabilities behind the node "scores" (documents, K); checked."""
    from onnx import TensorProto, checker, helper

    if probabilities:
        add_probabilities(graph, "scores", classes, calibrator, "probabilities")
    judged = "scores" if calibrator is None else "probabilities"
    graph.add("ArgMax", [judged], "class", axis=1, keepdims=0)
    outputs = [
        helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["documents", classes]),
        helper.make_tensor_value_info("class", TensorProto.INT64, ["documents"]),
    ]
    if probabilities:
        outputs.append(helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["documents", classes]))
    made = helper.make_graph(graph.nodes, "gpuclf", inputs, outputs, initializer=graph.constants)
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(
        made, producer_name="gpuclf", producer_version=__version__, ir_version=IR_VERSION, opset_imports=opsets
    )
    checker.check_model(model)
    return model
