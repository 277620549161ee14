"""Views: indices and slices, the numbers of their elements, and what moves between them and tiles."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

from .._seam import Span
from . import codes
from .context import Cx
from .linear import difference
from .scalars import binary, bounds, is_number, kind
from .values import (
    Const,
    Number,
    Scalar,
    TileVal,
    TupleVal,
    Value,
    ViewDim,
    ViewParam,
    ViewVal,
    describe,
)

U32_MAX = 2**32 - 1


def whole(param: ViewParam) -> ViewVal:
    """All of a parameter."""
    dims = tuple(
        ViewDim(axis, Const(0), None, extent, most if extent is None else extent)
        for axis, (extent, most) in enumerate(zip(param.extents, param.most, strict=False))
    )
    return ViewVal(param.index, dims)


def extent(cx: Cx, view: ViewVal, dim: ViewDim, span: Span) -> Number:
    """Elements along a dimension: from its start to its end or to that of the parameter, whichever comes
    first.
    """
    if dim.extent is not None:
        return Const(dim.extent)
    total = _parameter_extent(cx, view.view, dim.axis, span)
    if dim.length is None and _is_zero(dim.start):
        return total
    left = binary(cx, "sub", total, dim.start, span)
    if dim.length is not None:
        left = binary(cx, "min", left, dim.length, span)
    left = binary(cx, "max", left, Const(0), span)
    if isinstance(left, Const):
        return left
    most = dim.most if dim.most is not None else U32_MAX
    return replace(left, lo=0, hi=most)


def _parameter_extent(cx: Cx, view: int, axis: int, span: Span) -> Number:
    param = cx.views[view]
    known = param.extents[axis]
    if known is not None:
        return Const(known)
    entry = {"name": f"{param.name}_{axis}", "view": view, "dim": axis}
    x = {"k": "cast", "a": cx.field_word(entry, span), "ty": "i64", "s": span}
    most = param.most[axis] if param.most[axis] is not None else U32_MAX
    return Scalar(x, "i64", 0, most, invariant=True)


def _is_zero(value: Number) -> bool:
    return isinstance(value, Const) and value.value == 0


def shape(cx: Cx, view: ViewVal, span: Span) -> Value:
    """The extents of all dimensions."""
    dims = view.dims[::-1] if view.flipped else view.dims
    sizes = tuple(extent(cx, view, d, span) for d in dims)
    if all(isinstance(s, Const) for s in sizes):
        return Const(tuple(s.value for s in sizes))
    return TupleVal(sizes)


def transposed(cx: Cx, view: ViewVal, at: ast.AST) -> ViewVal:
    """`view.T`"""
    if len(view.dims) != 2:
        raise cx.fault(
            codes.INDEX_FORM,
            f"`.T` takes a view of two dimensions, not {describe(view)}",
            at,
            help="a one-dimensional view loads as a row; `pto.load(view).T` is a column",
        )
    return replace(view, flipped=not view.flipped)


def narrowed(cx: Cx, view: ViewVal, index: ast.expr, evaluate: Any) -> ViewVal:
    """`view[index]` as a view; one of no dimensions is an element."""
    parts = _parts(cx, view, index)
    dims: list[ViewDim] = []
    fixed = dict(view.fixed)
    for dim, part in zip(view.dims, parts, strict=False):
        if part is None:
            dims.append(dim)
        elif isinstance(part, ast.Slice):
            dims.append(_sliced(cx, view, dim, part, evaluate))
        else:
            number = _index(cx, view, dim, part, evaluate)
            fixed[dim.axis] = binary(cx, "add", dim.start, number, cx.span(part))
    return ViewVal(view.view, tuple(dims), tuple(sorted(fixed.items(), key=lambda item: item[0])))


def _parts(cx: Cx, view: ViewVal, index: ast.expr) -> list[ast.expr | ast.Slice | None]:
    """One entry per dimension, None for all of it."""
    if view.flipped:
        raise cx.fault(
            codes.INDEX_FORM,
            "a transposed view cannot be indexed",
            index,
            help="index first: `x[a:b, c:d].T`",
        )
    given: list[Any] = list(index.elts) if isinstance(index, ast.Tuple) else [index]
    rank = len(view.dims)
    ellipses = [i for i, p in enumerate(given) if isinstance(p, ast.Constant) and p.value is Ellipsis]
    if len(ellipses) > 1:
        raise cx.fault(
            codes.INDEX_FORM, "an index has one `...` at most", index, help="write `:` for the others"
        )
    if len(given) - len(ellipses) > rank:
        raise cx.fault(
            codes.INDEX_FORM,
            f"{len(given) - len(ellipses)} indices for {describe(view)}",
            index,
            help=f"`{cx.view_name(view)}` takes {rank} here; indices drop dimensions",
        )
    for part in given:
        if isinstance(part, ast.Constant) and part.value is None:
            raise cx.fault(
                codes.INDEX_FORM, "a view cannot be given another dimension", part, help="leave `None` out"
            )
        if isinstance(part, ast.Starred):
            raise cx.fault(
                codes.INDEX_FORM, "`*` cannot stand in an index", part, help="write the indices one by one"
            )
    at = ellipses[0] if ellipses else len(given)
    fill = [None] * (rank - len(given) + len(ellipses))
    return [*given[:at], *fill, *given[at + len(ellipses) :]]


def _number(cx: Cx, part: ast.expr, evaluate: Any) -> Number:
    value = evaluate(part)
    if is_number(value) and kind(value) == "i64":
        return value
    help = "round it: `int(…)`, or divide with `//`"
    if isinstance(value, TileVal):
        help = "read elements of an integer view: `indices[i]`"
    raise cx.fault(codes.INDEX_TYPE, f"an index must be an integer, not {describe(value)}", part, help=help)


def _index(cx: Cx, view: ViewVal, dim: ViewDim, part: ast.expr, evaluate: Any) -> Number:
    number = _number(cx, part, evaluate)
    return _from_end(cx, view, dim, number, part, limit=1)


def _from_end(cx: Cx, view: ViewVal, dim: ViewDim, number: Number, part: ast.AST, limit: int) -> Number:
    """A constant below 0 counts from the end; one that lies outside is an error."""
    if not isinstance(number, Const):
        return number
    value, known = number.value, dim.extent
    if known is not None:
        value = value + known if value < 0 else value
        if not 0 <= value <= known - limit:
            raise cx.fault(
                codes.RANGE,
                f"index {number.value} lies outside of a dimension of {known}",
                part,
                notes=[f"`{cx.view_name(view)}` has {known} here"],
                help=f"an index is from 0 to {known - 1}, or from -{known} to -1 counted from the end",
            )
        return Const(value)
    if value < 0:
        return binary(cx, "add", extent(cx, view, dim, cx.span(part)), number, cx.span(part))
    return number


def _sliced(cx: Cx, view: ViewVal, dim: ViewDim, part: ast.Slice, evaluate: Any) -> ViewDim:
    span = cx.span(part) if hasattr(part, "lineno") else None
    if part.step is not None:
        step = evaluate(part.step)
        if not isinstance(step, Const) or step.value not in (1, None):
            raise cx.fault(codes.INDEX_FORM, "a slice of a view has no step", part.step, help="write `lo:hi`")
    lo: Number = Const(0)
    if part.lower is not None:
        lo = _bound(cx, view, dim, part.lower, evaluate)
    if part.upper is None:
        return _tail(cx, dim, lo, span)
    hi = _bound(cx, view, dim, part.upper, evaluate)
    return _between(cx, dim, lo, hi, span)


def _bound(cx: Cx, view: ViewVal, dim: ViewDim, part: ast.expr, evaluate: Any) -> Number:
    number = _number(cx, part, evaluate)
    if isinstance(number, Const) and number.value < 0:
        number = _from_end(cx, view, dim, number, part, limit=0)
    return number


def _tail(cx: Cx, dim: ViewDim, lo: Number, span: Span) -> ViewDim:
    if _is_zero(lo):
        return dim
    start = binary(cx, "add", dim.start, lo, span)
    length = binary(cx, "sub", dim.length, lo, span) if dim.length is not None else None
    at_least = bounds(lo)[0] or 0
    most = max(dim.most - max(at_least, 0), 0) if dim.most is not None else None
    known = max(dim.extent - lo.value, 0) if dim.extent is not None and isinstance(lo, Const) else None
    return ViewDim(dim.axis, start, length, known, most)


def _between(cx: Cx, dim: ViewDim, lo: Number, hi: Number, span: Span) -> ViewDim:
    rest = _tail(cx, dim, lo, span)
    distance = difference(cx, hi, lo, span)
    length: Number = Const(max(distance, 0)) if distance is not None else binary(cx, "sub", hi, lo, span)
    if rest.length is not None:
        length = binary(cx, "min", rest.length, length, span)
    bound = distance if distance is not None else bounds(length)[1]
    most = [m for m in (rest.most, bound) if m is not None]
    known = None
    if distance is not None and rest.extent is not None:
        known = min(rest.extent, max(distance, 0))
    return ViewDim(dim.axis, rest.start, length, known, max(min(most), 0) if most else None)
