"""Sums over several vectors at once, for numba kernels, with running sums in vector registers.

Vectors come as addresses, so that one compiled loop takes any number of them; whoever calls keeps them alive. Products
and sums are not contracted: the same bits as the plain loop, and the same on every processor.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _read(builder: Any, address: Any, number: Any, at: Any, count: int, size: int) -> Any:
    """`count` neighbouring numbers from the place `at` of the vector at an address."""
    vector = ir.VectorType(number, count)
    cells = builder.gep(builder.inttoptr(address, number.as_pointer()), [at])
    return builder.load(builder.bitcast(cells, vector.as_pointer()), align=size)


def products(count: int, scaled: bool) -> Any:
    """The intrinsic out[at + j] += Σ over rows m of u[m, at + j] · v[m, at + j], `scaled` · w[m, at + j], in float64
    for j < count."""

    def typed(
        context: Any, like: Any, u: Any, v: Any, w: Any, first: Any, last: Any, width: Any, at: Any, out: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            addresses, (first, last, width, at) = arguments[1:4], arguments[4:8]
            target = context.make_array(signature.args[8])(context, builder, arguments[8]).data
            number = context.get_data_type(signature.args[0].dtype)
            size = number.get_abi_size(context.target_data)
            wide = ir.VectorType(ir.DoubleType(), count)
            to = builder.bitcast(builder.gep(target, [at]), wide.as_pointer())
            total = cgutils.alloca_once_value(builder, builder.load(to, align=8))
            with cgutils.for_range_slice(builder, first, last, first.type(1)) as (row, _):
                place = builder.add(builder.mul(row, width), at)
                product = None
                for address in addresses if scaled else addresses[:2]:
                    cells = _read(builder, address, number, place, count, size)
                    cells = cells if number == ir.DoubleType() else builder.fpext(cells, wide)
                    product = cells if product is None else builder.fmul(product, cells)
                builder.store(builder.fadd(builder.load(total), product), total)
            builder.store(builder.load(total), to, align=8)
            return context.get_dummy_value()

        integer = types.intp
        return types.void(like, *[integer] * 7, out), generate

    return intrinsic(typed)


def combination(count: int) -> Any:
    """The intrinsic out[at + j] = (Σ over p < scaled of f[p, spot + j] · v_p[at + j]) · scale[at + j] + Σ over the
    other p, for j < count; factors f as rows of `period` numbers one after the other; without a scale `scaled` is 0."""

    def typed(
        context: Any, addresses: Any, number: Any, scale: Any, scaled: Any, factors: Any, period: Any, spot: Any,
        at: Any, out: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            known, values, target = (
                context.make_array(signature.args[i])(context, builder, arguments[i]).data for i in (0, 4, 8)
            )
            end, scale, scaled = arguments[1:4]
            period, spot, at = arguments[5:8]
            number = context.get_data_type(signature.args[8].dtype)
            size = number.get_abi_size(context.target_data)
            vector = ir.VectorType(number, count)
            total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * count))

            def add(start: Any, stop: Any) -> None:
                with cgutils.for_range_slice(builder, start, stop, start.type(1)) as (p, _):
                    cells = _read(builder, builder.load(builder.gep(known, [p])), number, at, count, size)
                    place = builder.gep(values, [builder.add(builder.mul(p, period), spot)])
                    factor = builder.load(builder.bitcast(place, vector.as_pointer()), align=size)
                    builder.store(builder.fadd(builder.load(total), builder.fmul(factor, cells)), total)

            add(scaled.type(0), scaled)
            with builder.if_then(builder.icmp_signed("!=", scaled, scaled.type(0))):
                cells = _read(builder, scale, number, at, count, size)
                builder.store(builder.fmul(builder.load(total), cells), total)
            add(scaled, end)
            to = builder.bitcast(builder.gep(target, [at]), vector.as_pointer())
            builder.store(builder.load(total), to, align=size)
            return context.get_dummy_value()

        integer = types.intp
        return types.void(addresses, integer, integer, integer, factors, *[integer] * 3, out), generate

    return intrinsic(typed)
