"""Triton kernels compile for a GPU, which their interpreter does not show: it knows no types and runs plain Python."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(
    find_spec("triton") is None or os.environ.get("TRITON_INTERPRET") == "1",
    reason="no Triton, or its interpreter, which compiles nothing",
)


def compiled(function: Any, types: dict[str, str], constants: dict[str, Any]) -> None:
    """To machine code for a GPU that need not be there; raises where that is impossible."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    names = function.arg_names
    assert set(names) == set(types) | set(constants)
    source = ASTSource(
        fn=function,
        signature={name: types.get(name, "constexpr") for name in names},
        constexprs={(names.index(name),): value for name, value in constants.items()},
    )
    assert "cubin" in triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"enable_fp_fusion": False}).asm


@pytest.mark.parametrize("step", [0, 1, 2])
def test_the_walk_through_a_block(step: int) -> None:
    from gpuclf.ops.online_epoch import triton_walk

    types = dict.fromkeys(("C", "gamma", "cost", "alpha_out", "loss_out"), "*fp64")
    types |= {"scores": "*fp32", "gram": "*fp32", "label": "*i64", "rival_out": "*i64"}
    types |= dict.fromkeys(("valid", "mistake_out", "limited_out"), "*i32")
    types |= dict.fromkeys(("size", "replicas", "classes"), "i32")
    flags = {"ON_MARGIN": step > 0, "SCALED": step == 2, "COSTS": step == 1, "AUGMENTED": step == 1}
    compiled(triton_walk._walk_kernel, types, {"STEP": step, "ROWS": 64, "CLASSES": 8, **flags})


@pytest.mark.parametrize("kind", range(5))
def test_the_walk_row_by_row(kind: int) -> None:
    from gpuclf.ops.instance_epoch import triton_walk

    flag = kind % 2 == 0
    types = dict.fromkeys(("weights", "sums", "sigma"), "*fp32" if kind else "*fp64")
    types |= dict.fromkeys(("val", "col_scale", "row_scale"), "*fp32")
    types |= dict.fromkeys(("crow", "labels", "order", "lengths", "views", "streams", "steps"), "*i64")
    types |= {"col": "*i32", "mistakes": "*i64", "updates": "*i64"}
    types |= dict.fromkeys(("cost", "firsts", "seconds", "losses", "decided"), "*fp64")
    types |= dict.fromkeys(
        ("batch", "longest", "docs", "columns", "classes", "w0", "w1", "u0", "u1", "c0", "c1"), "i32"
    )
    flags = {"PRECISION": flag, "INVERSE": flag, "COSTS": flag, "AVERAGE": flag, "COL_SCALED": flag, "ROW_SCALED": flag}
    flags |= {"BATCHES": kind in (1, 2), "MEAN": kind == 2}
    sizes = {"FLOOR": 1 / 16, "LEAST": 1e-30, "CLASSES": 8 if flag else 64, "ENTRIES": 64}
    compiled(triton_walk._epoch_kernel, types, {"KIND": kind, **flags, **sizes})


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "adaptive"), [(0, True), (1, False), (2, False), (3, True)])
def test_the_walk_of_stochastic_descent(kind: int, adaptive: bool) -> None:
    from gpuclf.ops.stochastic_epoch import triton_walk

    flag = kind % 2 == 0
    types = dict.fromkeys(("weights", "squares"), "*fp32" if flag else "*fp64")
    types |= dict.fromkeys(("val", "col_scale", "row_scale"), "*fp32")
    types |= dict.fromkeys(("crow", "labels", "order", "end", "paid"), "*i64")
    types |= {"col": "*i32"}
    types |= dict.fromkeys(("counts", "rates", "ridges", "lassos", "cost", "product", "owed", "mass"), "*fp64")
    types |= dict.fromkeys(("moment", "by_score", "gathered", "sums", "losses"), "*fp64")
    types |= dict.fromkeys(("docs", "updates", "batch", "replicas", "columns", "classes"), "i32")
    types |= dict.fromkeys(("w0", "w1", "q0", "q1", "s0", "s1"), "i32")
    flags = {"COSTS": not flag, "OFFSET": flag, "AVERAGE": flag, "COL_SCALED": flag, "ROW_SCALED": flag}
    constants = {"KIND": kind, "ADAPTIVE": adaptive, **flags, "CLASSES": 16 if flag else 4, "ENTRIES": 32}
    compiled(triton_walk._epoch_kernel, types, constants)


@pytest.mark.parametrize("side", [2, 16])
def test_the_walk_over_word_types(side: int) -> None:
    from gpuclf.ops.type_gibbs import triton_walk

    types = dict.fromkeys(("left_start", "left_count", "right_start", "right_count", "owns", "frequency"), "*i64")
    types |= dict.fromkeys(("num_values", "all_cells", "all_types", "all_tokens"), "*i64")
    types |= dict.fromkeys(("levels", "orders", "changes"), "*i64")
    types |= dict.fromkeys(("left_type", "right_type", "values", "all_tags", "all_by_value"), "*i32")
    types |= dict.fromkeys(("alphas", "betas", "all_draws", "sharpness"), "*fp64")
    types |= dict.fromkeys(("visits", "types", "templates", "num_by_value", "k"), "i32")
    compiled(triton_walk._walk_kernel, types, {"SIDE": side, "ENTRIES": 32})


@pytest.mark.parametrize(("side", "kind"), [(2, "*fp64"), (32, "*fp32")])
def test_the_walk_over_sentences(side: int, kind: str) -> None:
    from gpuclf.ops.chain_sums import triton_walk

    types = dict.fromkeys(("nodes", "probability"), kind) | {"starts": "*i64"}
    types |= dict.fromkeys(("transition", "weights", "alphas", "log_norm", "pairs"), "*fp64")
    types |= dict.fromkeys(("sentences", "replicas", "classes"), "i32")
    compiled(triton_walk._sum_kernel, types, {"SIDE": side, "BLOCK": 16, "LOWEST": -float("inf")})


@pytest.mark.parametrize("running", [False, True])
def test_costs_of_splits(running: bool) -> None:
    from gpuclf.ops.grow_forest import triton_walk

    types = dict.fromkeys(("nodes", "first", "node_counts", "node_times", "terms", "costs"), "*i64")
    types |= {"counts": "*i32"} | dict.fromkeys(("places", "classes", "least"), "i32")
    flags = {"RUNNING": running, "GINI": running, "WORST": (1 << 63) - 1, "UNIT": 1 << 32}
    compiled(triton_walk._cost_kernel, types, {**flags, "CLASSES": 32 if running else 512, "TILE": 8})
    if not running:
        types = dict.fromkeys(("first", "run", "run_begin", "run_end", "entries", "labels"), "*i64")
        types |= {"weights": "*i32", "counts": "*i32", "classes": "i32"}
        compiled(triton_walk._count_kernel, types, {"CLASSES": 512, "ENTRIES": 8})


def test_subsets_of_ranks() -> None:
    from gpuclf.ops.grow_forest import triton_walk

    types = dict.fromkeys(("draws", "sizes", "amongs", "picks"), "*i64")
    types |= dict.fromkeys(("candidates", "most", "first"), "i32")
    compiled(triton_walk._floyd_kernel, types, {"MOST": 128, "TILE": 8})
