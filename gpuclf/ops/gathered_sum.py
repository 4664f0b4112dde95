"""Weighted sums of gathered rows, and their reverse, for numba kernels, with one operand in vector registers.

The compiler's own vectoriser leaves rows of a few classes to scalar instructions; here the vectors are spelt out. A
cell is still summed on its own, in the order of the entries, without contraction: the same bits as the plain loop.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from gpuclf.ops.kernel import kernel


def _lanes(count: int) -> Any:
    """The intrinsic for `count` neighbouring cells."""

    def typed(context: Any, source: Any, index: Any, step: Any, x: Any, entries: Any, start: Any, out: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rows, places, values, target = (
                context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 1, 3, 6)
            )
            step, entries, start = arguments[2], arguments[4], arguments[5]
            stored, number = (context.get_data_type(signature.args[i].dtype) for i in (0, 6))
            read, vector = ir.VectorType(stored, count), ir.VectorType(number, count)
            total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * count))
            with cgutils.for_range(builder, entries) as loop:
                row = builder.load(builder.gep(places, [loop.index]))
                at = builder.gep(rows, [builder.add(builder.mul(row, step), start)])
                width = stored.get_abi_size(context.target_data)
                cells = builder.load(builder.bitcast(at, read.as_pointer()), align=width)
                cells = cells if stored == number else builder.fpext(cells, vector)
                value = builder.load(builder.gep(values, [loop.index]))
                spread = _splat(builder, value, vector, count)
                builder.store(builder.fadd(builder.load(total), builder.fmul(spread, cells)), total)
            to = builder.bitcast(builder.gep(target, [start]), vector.as_pointer())
            builder.store(builder.load(total), to, align=number.get_abi_size(context.target_data))
            return context.get_dummy_value()

        return types.void(source, index, types.intp, x, types.intp, types.intp, out), generate

    return intrinsic(typed)


def _spread(count: int) -> Any:
    """The intrinsic that adds multiples of `count` neighbouring cells to gathered rows."""

    def typed(context: Any, target: Any, index: Any, step: Any, x: Any, entries: Any, start: Any, cells: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rows, places, values, source = (
                context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 1, 3, 6)
            )
            step, entries, start = arguments[2], arguments[4], arguments[5]
            number = context.get_data_type(signature.args[0].dtype)
            vector = ir.VectorType(number, count)
            size = number.get_abi_size(context.target_data)
            added = builder.load(builder.bitcast(builder.gep(source, [start]), vector.as_pointer()), align=size)
            with cgutils.for_range(builder, entries) as loop:
                row = builder.load(builder.gep(places, [loop.index]))
                at = builder.gep(rows, [builder.add(builder.mul(row, step), start)])
                at = builder.bitcast(at, vector.as_pointer())
                value = builder.load(builder.gep(values, [loop.index]))
                spread = _splat(builder, value, vector, count)
                changed = builder.fadd(builder.load(at, align=size), builder.fmul(spread, added))
                builder.store(changed, at, align=size)
            return context.get_dummy_value()

        return types.void(target, index, types.intp, x, types.intp, types.intp, cells), generate

    return intrinsic(typed)


def _splat(builder: Any, value: Any, vector: Any, count: int) -> Any:
    single = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.IntType(32)(0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), count), [0] * count)
    return builder.shuffle_vector(single, ir.Constant(vector, ir.Undefined), mask)


_sum_64, _sum_16, _sum_8, _sum_4, _sum_1 = (_lanes(count) for count in (64, 16, 8, 4, 1))
_add_64, _add_16, _add_8, _add_4, _add_1 = (_spread(count) for count in (64, 16, 8, 4, 1))


@kernel
def gathered_sum(source: Any, index: Any, step: Any, x: Any, entries: Any, start: Any, out: Any) -> None:
    """out[j] = sum over i < entries of x[i] · source[index[i]·step + start + j], in the order of i for every j.

    source, x and out are one-dimensional and contiguous; index is int64. x and out are of one float type, which may be
    wider than that of source: float32 rows are summed in float64 then, and each product is exact to float64.
    """
    width = out.size
    part = source[start:]
    j = 0
    while j + 64 <= width:
        _sum_64(part, index, step, x, entries, j, out)
        j += 64
    while j + 16 <= width:
        _sum_16(part, index, step, x, entries, j, out)
        j += 16
    if j + 8 <= width:
        _sum_8(part, index, step, x, entries, j, out)
        j += 8
    if j + 4 <= width:
        _sum_4(part, index, step, x, entries, j, out)
        j += 4
    while j < width:
        _sum_1(part, index, step, x, entries, j, out)
        j += 1


@kernel
def scattered_add(target: Any, index: Any, step: Any, x: Any, entries: Any, cells: Any) -> None:
    """target[index[i]·step + j] += x[i] · cells[j] for i < entries, in the order of i.

    All arrays one-dimensional and contiguous; target, x and cells of one float type, index int64.
    """
    width = cells.size
    j = 0
    while j + 64 <= width:
        _add_64(target, index, step, x, entries, j, cells)
        j += 64
    while j + 16 <= width:
        _add_16(target, index, step, x, entries, j, cells)
        j += 16
    if j + 8 <= width:
        _add_8(target, index, step, x, entries, j, cells)
        j += 8
    if j + 4 <= width:
        _add_4(target, index, step, x, entries, j, cells)
        j += 4
    while j < width:
        _add_1(target, index, step, x, entries, j, cells)
        j += 1
