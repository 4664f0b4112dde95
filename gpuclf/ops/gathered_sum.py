"""Weighted sums of gathered rows for numba kernels, with the running sums in vector registers.

The compiler's own vectoriser leaves rows of a few classes to scalar instructions; here the vectors are spelt out. A
cell is still summed on its own, in the order of the entries, without contraction: the same bits as the plain loop.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic


def _lanes(count: int) -> Any:
    """The intrinsic for `count` neighbouring cells."""

    def typed(context: Any, source: Any, index: Any, step: Any, x: Any, entries: Any, start: Any, out: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rows, places, values, target = (
                context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 1, 3, 6)
            )
            step, entries, start = arguments[2], arguments[4], arguments[5]
            number = context.get_data_type(signature.args[0].dtype)
            vector = ir.VectorType(number, count)
            size = number.get_abi_size(context.target_data)
            total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * count))
            with cgutils.for_range(builder, entries) as loop:
                row = builder.load(builder.gep(places, [loop.index]))
                at = builder.gep(rows, [builder.add(builder.mul(row, step), start)])
                cells = builder.load(builder.bitcast(at, vector.as_pointer()), align=size)
                value = builder.load(builder.gep(values, [loop.index]))
                single = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.IntType(32)(0))
                mask = ir.Constant(ir.VectorType(ir.IntType(32), count), [0] * count)
                spread = builder.shuffle_vector(single, ir.Constant(vector, ir.Undefined), mask)
                builder.store(builder.fadd(builder.load(total), builder.fmul(spread, cells)), total)
            to = builder.bitcast(builder.gep(target, [start]), vector.as_pointer())
            builder.store(builder.load(total), to, align=size)
            return context.get_dummy_value()

        return types.void(source, index, types.intp, x, types.intp, types.intp, out), generate

    return intrinsic(typed)


_sum_64, _sum_16, _sum_8, _sum_4, _sum_1 = (_lanes(count) for count in (64, 16, 8, 4, 1))


@njit(nogil=True, cache=True)
def gathered_sum(source: Any, index: Any, step: Any, x: Any, entries: Any, start: Any, out: Any) -> None:
    """out[j] = sum over i < entries of x[i] · source[index[i]·step + start + j], in the order of i for every j.

    source, x and out are one-dimensional and contiguous, of one float type; index is int64.
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
