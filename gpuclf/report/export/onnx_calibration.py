"""Calibration as nodes of an ONNX graph: from scores (documents, K) to probabilities (documents, K), in float32."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuclf.optim.calibration import Calibrator, IsotonicCalibrator, PlattCalibrator, TemperatureCalibrator
from gpuclf.report.export.onnx_nodes import Graph

_FAR = -1e30  # stands for -inf, whose differences have no value


def add_probabilities(graph: Graph, scores: str, classes: int, calibrator: Calibrator | None, output: str) -> None:
    """Adds the node `output`: softmax of the scores, or what the calibrator makes of them."""
    if calibrator is None:
        graph.add("Softmax", [scores], output, axis=1)
    elif isinstance(calibrator, TemperatureCalibrator):
        scaled = graph.add("Mul", [scores, graph.constant("inverse_temperature", _single(calibrator.inverse))])
        graph.add("Softmax", [scaled], output, axis=1)
    else:
        assert isinstance(calibrator, PlattCalibrator | IsotonicCalibrator)
        signal = _signal(graph, scores, classes, calibrator.log_odds)
        curve = _sigmoid if isinstance(calibrator, PlattCalibrator) else _steps
        _joined(graph, curve(graph, signal, calibrator), classes, output)


def _single(value: Any) -> Any:
    return value.numpy().astype(np.float32)


def _signal(graph: Graph, scores: str, classes: int, log_odds: bool) -> str:
    """gpuclf.optim.calibration.one_vs_rest."""
    last = graph.constant("class_axis", np.array([1], dtype=np.int64))
    if classes == 2:
        both = graph.constant("second_less_first", np.array([[-1.0], [1.0]], dtype=np.float32))
        return graph.add("MatMul", [scores, both])
    numbers = graph.constant("class_numbers", np.arange(classes, dtype=np.int64)[None])
    top = graph.add("Equal", [graph.add("ArgMax", [scores], axis=1, keepdims=1), numbers])
    far = graph.constant("far", np.float32(_FAR))
    if not log_odds:
        first = graph.add("ReduceMax", [scores, last], keepdims=1)
        second = graph.add("ReduceMax", [graph.add("Where", [top, far, scores]), last], keepdims=1)
        return graph.add("Sub", [scores, graph.add("Where", [top, second, first])])
    log_p = graph.add("LogSoftmax", [scores], axis=1)
    rest = graph.add("Where", [top, far, log_p])
    one = graph.constant("certain", np.float32(1))
    others = graph.add("Log", [graph.add("Sub", [one, graph.add("Exp", [rest])])])
    beside = graph.add("ReduceLogSumExp", [rest, last], keepdims=1)
    return graph.add("Sub", [log_p, graph.add("Where", [top, beside, others])])


def _sigmoid(graph: Graph, signal: str, calibrator: Any) -> str:
    scaled = graph.add("Mul", [signal, graph.constant("slope", _single(calibrator.slope)[None])])
    return graph.add(
        "Sigmoid", [graph.add("Add", [scaled, graph.constant("intercept", _single(calibrator.intercept)[None])])]
    )


def _steps(graph: Graph, signal: str, calibrator: Any) -> str:
    """The curve as its lowest value and what each piece between two knots adds, (documents, C, pieces) summed."""
    place, value = calibrator.place.numpy(), calibrator.value.numpy()
    width = np.diff(place, axis=1)
    slope = np.divide(np.diff(value, axis=1), width, out=np.zeros_like(width), where=width > 0)
    axis = graph.constant("piece_axis", np.array([2], dtype=np.int64))
    starts = graph.constant("piece_start", place[None, :, :-1].astype(np.float32))
    beyond = graph.add("Sub", [graph.add("Unsqueeze", [signal, axis]), starts])
    inside = graph.add("Max", [beyond, graph.constant("piece_none", np.float32(0))])
    inside = graph.add("Min", [inside, graph.constant("piece_width", width[None].astype(np.float32))])
    gained = graph.add("Mul", [inside, graph.constant("piece_slope", slope[None].astype(np.float32))])
    total = graph.add("ReduceSum", [gained, axis], keepdims=0)
    return graph.add("Add", [total, graph.constant("lowest", value[None, :, 0].astype(np.float32))])


def _joined(graph: Graph, p: str, classes: int, output: str) -> None:
    """Each class's own probability, (documents, C), divided by their sum; for two classes the other is the rest."""
    if classes == 2:
        rest = graph.add("Sub", [graph.constant("whole", np.float32(1)), p])
        graph.add("Concat", [rest, p], output, axis=1)
        return
    total = graph.add("ReduceSum", [p, graph.constant("sum_axis", np.array([1], dtype=np.int64))], keepdims=1)
    graph.add("Div", [p, total], output)
