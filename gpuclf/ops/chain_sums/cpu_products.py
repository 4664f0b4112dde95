"""Products of a row of labels with a table, for numba kernels: tables lie in vector registers, a few columns at a time.

The compiler's own vectoriser leaves tables of a few columns to scalar instructions; here the vectors are spelt out. All
arrays are flat, contiguous float64; tables have rows of W cells, a multiple of LANES. Products and sums are not
contracted: the same bits on every processor.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from gpuclf.ops.kernel import inner_kernel

LANES = 4
_NUMBER = ir.DoubleType()


def _pointers(context: Any, builder: Any, signature: Any, arguments: Any, places: tuple[int, ...]) -> list[Any]:
    return [context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in places]


def _cells(builder: Any, pointer: Any, at: Any, count: int) -> Any:
    """Where `count` neighbouring cells begin, as a vector's address."""
    return builder.bitcast(builder.gep(pointer, [at]), ir.VectorType(_NUMBER, count).as_pointer())


def _spread(builder: Any, pointer: Any, at: Any, count: int) -> Any:
    """The number at a place, `count` times."""
    vector = ir.VectorType(_NUMBER, count)
    undefined = ir.Constant(vector, ir.Undefined)
    single = builder.insert_element(undefined, builder.load(builder.gep(pointer, [at])), ir.IntType(32)(0))
    return builder.shuffle_vector(single, undefined, ir.Constant(ir.VectorType(ir.IntType(32), count), [0] * count))


def _product(count: int) -> Any:
    """The intrinsic out[to + j] = Σ over i < rows of x[at + i] · table[i · width + j] for j from `column`, `count` of
    them; even and odd i are summed apart, so that additions wait less for each other."""

    def typed(
        context: Any, x: Any, at: Any, table: Any, rows: Any, width: Any, column: Any, out: Any, to: Any
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            source, cells, target = _pointers(context, builder, signature, arguments, (0, 2, 6))
            at, rows, width, column, to = (arguments[i] for i in (1, 3, 4, 5, 7))
            zero = ir.Constant(ir.VectorType(_NUMBER, count), [0.0] * count)
            even, odd = (cgutils.alloca_once_value(builder, zero) for _ in range(2))

            def add(total: Any, row: Any) -> None:
                read = builder.load(
                    _cells(builder, cells, builder.add(builder.mul(row, width), column), count), align=8
                )
                term = builder.fmul(_spread(builder, source, builder.add(at, row), count), read)
                builder.store(builder.fadd(builder.load(total), term), total)

            one = rows.type(1)
            with cgutils.for_range(builder, builder.lshr(rows, one)) as loop:
                row = builder.shl(loop.index, one)
                add(even, row)
                add(odd, builder.add(row, one))
            with builder.if_then(builder.trunc(rows, ir.IntType(1))):
                add(even, builder.sub(rows, one))
            total = builder.fadd(builder.load(even), builder.load(odd))
            builder.store(total, _cells(builder, target, builder.add(to, column), count), align=8)
            return context.get_dummy_value()

        integer = types.intp
        return types.void(x, integer, table, integer, integer, integer, out, integer), generate

    return intrinsic(typed)


def _outer(count: int) -> Any:
    """The intrinsic table[i · width + j] += x[at + i] · row[j] for i < rows and j from `column`, `count` of them."""

    def typed(context: Any, x: Any, at: Any, row: Any, rows: Any, width: Any, column: Any, table: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            source, factors, target = _pointers(context, builder, signature, arguments, (0, 2, 6))
            at, rows, width, column = (arguments[i] for i in (1, 3, 4, 5))
            factor = builder.load(_cells(builder, factors, column, count), align=8)
            with cgutils.for_range(builder, rows) as loop:
                place = _cells(builder, target, builder.add(builder.mul(loop.index, width), column), count)
                term = builder.fmul(_spread(builder, source, builder.add(at, loop.index), count), factor)
                builder.store(builder.fadd(builder.load(place, align=8), term), place, align=8)
            return context.get_dummy_value()

        integer = types.intp
        return types.void(x, integer, row, integer, integer, integer, table), generate

    return intrinsic(typed)


_product_16, _product_8, _product_4 = (_product(count) for count in (16, 8, 4))
_outer_16, _outer_8, _outer_4 = (_outer(count) for count in (16, 8, 4))


@inner_kernel
def row_times_table(x: Any, at: Any, table: Any, rows: Any, width: Any, out: Any, to: Any) -> None:
    """out[to + j] = Σ over i < rows of x[at + i] · table[i, j], for j < width."""
    column = 0
    while column + 16 <= width:
        _product_16(x, at, table, rows, width, column, out, to)
        column += 16
    if column + 8 <= width:
        _product_8(x, at, table, rows, width, column, out, to)
        column += 8
    if column + 4 <= width:
        _product_4(x, at, table, rows, width, column, out, to)


@inner_kernel
def add_outer(x: Any, at: Any, row: Any, rows: Any, width: Any, table: Any) -> None:
    """table[i, j] += x[at + i] · row[j], for i < rows and j < width."""
    column = 0
    while column + 16 <= width:
        _outer_16(x, at, row, rows, width, column, table)
        column += 16
    if column + 8 <= width:
        _outer_8(x, at, row, rows, width, column, table)
        column += 8
    if column + 4 <= width:
        _outer_4(x, at, row, rows, width, column, table)
