"""What moves between views and tiles, and single elements."""

from __future__ import annotations

import ast
from typing import Any

from .._seam import Span
from ..dtypes import f64
from . import codes, elements, tiles, views
from .context import Cx
from .emit import Expr
from .scalars import binary, expr, is_number
from .tiles import U32_MAX
from .values import Const, Number, Scalar, TileVal, Value, ViewDim, ViewParam, ViewVal, describe, tile_words


def subscript(cx: Cx, view: ViewVal, index: ast.expr, evaluate: Any) -> Value:
    """`view[index]`: a view, or one element."""
    result = views.narrowed(cx, view, index, evaluate)
    return result if result.dims else load_element(cx, result, cx.span(index))


def load_element(cx: Cx, view: ViewVal, span: Span) -> Number:
    """One element: an `f32` of a float view, an integer of an integer view with one dimension."""
    param = cx.views[view.view]
    _readable(cx, param, span)
    index = [_word(cx, value, span) for _, value in view.fixed]
    if param.dtype.is_float:
        _not_f64(cx, param, span)
        return Scalar({"k": "load_scalar", "tensor": view.view, "index": index, "s": span}, "f32")
    if len(index) != 1:
        raise cx.fault(
            codes.ELEMENTS,
            f"elements of `{param.name}` are {param.dtype}s in {len(index)} dimensions",
            span,
            help=f"give the kernel a view of one dimension: `{param.name}=T[i]` in the workload",
        )
    ty = _NARROW.get(param.dtype.name, param.dtype.name)
    x: Expr = {"k": "load", "tensor": view.view, "index": index[0], "ty": ty, "s": span}
    lo, hi = _element_bounds(param.dtype.name)
    return Scalar(x if ty == "i64" else {"k": "cast", "a": x, "ty": "i64", "s": span}, "i64", lo, hi)


_NARROW = {"u8": "u32", "u16": "u32", "bool": "u32", "i8": "i32", "i16": "i32"}
"""The types that integers of less than 32 bits are read as."""


def _element_bounds(dtype: str) -> tuple[int | None, int | None]:
    return (None, None) if dtype in ("i32", "i64") else elements.limits(dtype)


def _word(cx: Cx, value: Number, span: Span) -> Expr:
    return expr(cx, value, "u32", span)


def _readable(cx: Cx, param: ViewParam, at: ast.AST | Span) -> None:
    if param.kind == "out":
        raise cx.fault(
            codes.LOAD_FROM_OUT,
            f"`{param.name}` is `Out` and cannot be read",
            at,
            labels=[(param.span, "declared here")],
            help=f"declare it `{param.name}: InOut`",
        )


def _writable(cx: Cx, param: ViewParam, at: ast.AST | Span) -> None:
    if param.kind == "in":
        raise cx.fault(
            codes.STORE_TO_IN,
            f"`{param.name}` is `In` and cannot be stored to",
            at,
            labels=[(param.span, "declared here")],
            help=f"declare it `{param.name}: Out`, or `InOut` when the kernel also reads it",
        )


def _not_f64(cx: Cx, param: ViewParam, at: ast.AST | Span) -> None:
    """Numbers of kernels are `f32`: what an `f64` holds beyond it would be lost."""
    if param.dtype is f64:
        raise cx.fault(
            codes.ELEMENTS,
            f"`{param.name}` holds f64 elements, and numbers are f32",
            at,
            labels=[(param.span, "declared here")],
            help=f"use a tile of one element: `{param.name}[i:i+1]`",
        )


def _place(cx: Cx, view: ViewVal, span: Span) -> list[Expr]:
    """The first element, an index per dimension of the parameter."""
    starts = {d.axis: d.start for d in view.dims} | dict(view.fixed)
    return [_word(cx, starts[axis], span) for axis in sorted(starts)]


def _follow(view: ViewVal, column: bool) -> tuple[ViewDim | None, ViewDim | None]:
    """The dimensions that rows and columns follow; `column` lays a one-dimensional view along the rows."""
    if len(view.dims) == 1:
        return (view.dims[0], None) if column else (None, view.dims[0])
    rows, cols = view.dims
    return (cols, rows) if view.flipped else (rows, cols)


def load(
    cx: Cx, view: ViewVal, want: tuple[Number, Number] | None, dtype: str | None, at: ast.AST, dst: int | None
) -> TileVal:
    """A tile with the elements of a view. `want` is the most that is asked for."""
    span = cx.span(at)
    param = cx.views[view.view]
    _readable(cx, param, at)
    if len(view.dims) > 2:
        raise cx.fault(
            codes.INDEX_FORM,
            f"a tile has two dimensions, and this is {describe(view)}",
            at,
            help=f"index the others: `{param.name}[i, …]`",
        )
    asked = [tiles.room(cx, n, at) for n in want] if want is not None else [None, None]
    rows, cols = _follow(view, column=asked[1] == 1 and asked[0] > 1)
    room = [_room(cx, view, d, asked[i], i, at) for i, d in enumerate((rows, cols))]
    steady = [want is None or isinstance(n, Const) for n in want or (None, None)]
    full = tuple(
        d is None or (d.extent is not None and d.extent == room[i] and steady[i])
        for i, d in enumerate((rows, cols))
    )
    own = param.dtype.name
    converted = (
        dtype is not None and dtype != own and (elements.is_integer(dtype) or elements.is_integer(own))
    )
    elem = own if converted else dtype or own
    limits = [_limit(cx, d, room[i], want[i] if want else None, span) for i, d in enumerate((rows, cols))]
    out = tiles.make(cx, param.name, (room[0], room[1], elem), full, span, None if converted else dst)
    cx.builder.stmt(
        "load",
        span,
        dst=out.local,
        tensor=view.view,
        index=_place(cx, view, span),
        row_dim=rows.axis if rows else None,
        col_dim=cols.axis if cols else None,
        rows=limits[0],
        cols=limits[1],
    )
    return tiles.cast(cx, out, dtype, span, dst) if converted and dtype is not None else out


def _room(cx: Cx, view: ViewVal, dim: ViewDim | None, want: int | None, which: int, at: ast.AST) -> int:
    """Room for a dimension: what was asked for, not more than there can be."""
    if dim is None:
        if want not in (None, 1):
            raise cx.fault(
                codes.SHAPES,
                f"{describe(view)} loads as one row",
                at,
                help=f"write `shape=(1, n)`, or `shape=({want}, 1)` for a column",
            )
        return 1
    most = dim.most if dim.most is not None and dim.most < U32_MAX else None
    if want is not None:
        return max(min(want, most), 1) if most is not None else want
    if most is None:
        what = "rows" if which == 0 else "columns"
        raise cx.fault(
            codes.SHAPE_MISSING,
            f"how many {what} `{cx.view_name(view)}` has is not known when the kernel is compiled",
            at,
            help=[
                "give the room of the tile: `pto.load(view, shape=(64, 128))`",
                "or take a view with a bound: `X[tile(i, 64)]`",
            ],
        )
    return max(most, 1)


def _limit(cx: Cx, dim: ViewDim | None, room: int, want: Number | None, span: Span) -> Expr | None:
    """The most elements to load or to store, where neither the room of the tile nor the end of the parameter
    sees to it.
    """
    if dim is None:
        return None
    ends = [n for n in (dim.length, want) if n is not None and not (isinstance(n, Const) and n.value >= room)]
    if not ends:
        return None
    least = ends[0] if len(ends) == 1 else binary(cx, "min", ends[0], ends[1], span)
    return _word(cx, binary(cx, "max", least, Const(0), span), span)


def store(cx: Cx, view: ViewVal, value: Value, at: ast.AST, *, add: bool = False) -> None:
    """Stores the valid part of a tile, or adds it to what is there."""
    span = cx.span(at)
    param = cx.views[view.view]
    _writable(cx, param, at)
    if add:
        _readable(cx, param, at)
    if not isinstance(value, TileVal):
        raise cx.fault(
            codes.ARGUMENTS,
            f"what is stored must be a tile, not {describe(value)}",
            at,
            help="store one element with an index for every dimension: `y[i, j] = value`",
        )
    _same_integers(cx, param, value, at)
    if add:
        elements.require_numbers(cx, "`pto.atomic_add`", at, value)
    if len(view.dims) > 2:
        raise cx.fault(
            codes.INDEX_FORM,
            f"a tile has two dimensions, and this is {describe(view)}",
            at,
            help=f"index the others: `{param.name}[i, …]`",
        )
    value = tiles.upright(cx, value, span)
    column = value.shape[1] == 1 and value.shape[0] > 1
    rows, cols = _follow(view, column)
    _fits(cx, view, (rows, cols), value, at)
    limits = [_limit(cx, d, value.shape[i], None, span) for i, d in enumerate((rows, cols))]
    cx.stored.add(view, (rows, cols), value)
    cx.builder.stmt(
        "store",
        span,
        tensor=view.view,
        src=value.local,
        index=_place(cx, view, span),
        row_dim=rows.axis if rows else None,
        col_dim=cols.axis if cols else None,
        rows=limits[0],
        cols=limits[1],
        **({"add": True} if add else {}),
    )
    cx.release(value)


def _same_integers(cx: Cx, param: ViewParam, value: TileVal, at: ast.AST) -> None:
    """Integers are stored as they are: real numbers are not rounded to them, and no type to another."""
    here, there = value.elem, param.dtype.name
    if here != there and (elements.is_integer(here) or elements.is_integer(there)):
        raise cx.fault(
            codes.ELEMENTS,
            f"`{param.name}` holds {there} elements, and what is stored is {tile_words(value.shape, here)}",
            at,
            labels=[(param.span, "declared here")],
            help=f"convert it: `pto.cast(tile, {'bool_' if there == 'bool' else there})`",
        )


def _fits(
    cx: Cx, view: ViewVal, dims: tuple[ViewDim | None, ViewDim | None], value: TileVal, at: ast.AST
) -> None:
    """What can be known of the shapes: a tile that is surely too large or too small for the view is
    refused.
    """
    shown = [_extent_text(d) for d in dims]
    for i, dim in enumerate(dims):
        have, full = value.shape[i], value.full[i]
        known = 1 if dim is None else dim.extent
        most = known if known is not None else dim.most
        too_large = (full or dim is None) and most is not None and have > most
        too_small = known is not None and have < known
        if too_large or too_small:
            raise cx.fault(
                codes.SHAPES,
                f"{tile_words(value.shape, value.elem)} is stored to a view of {shown[0]} x {shown[1]}",
                at,
                label=f"`{cx.view_name(view)}` has {shown[0]} x {shown[1]} here",
                help="slice the view to the shape of the tile: `y[lo:hi]`; a row is not repeated"
                if too_small
                else "slice the view elsewhere, or store a smaller tile",
            )


def _extent_text(dim: ViewDim | None) -> str:
    if dim is None:
        return "1"
    if dim.extent is not None:
        return str(dim.extent)
    return f"up to {dim.most}" if dim.most is not None and dim.most < U32_MAX else "any"


def store_element(cx: Cx, view: ViewVal, value: Value, at: ast.AST) -> None:
    """`y[i, j] = value`"""
    span = cx.span(at)
    param = cx.views[view.view]
    _writable(cx, param, at)
    if not is_number(value):
        raise cx.fault(
            codes.ARGUMENTS,
            f"an element must be a number, not {describe(value)}",
            at,
            help="slice the view for a tile: `y[i, j:j+1]`",
        )
    if not param.dtype.is_float:
        raise cx.fault(
            codes.ELEMENTS,
            f"`{param.name}` holds {param.dtype} elements, and kernels store floats",
            at,
            help="use a tensor of f32 for the results",
        )
    _not_f64(cx, param, at)
    index = [_word(cx, number, span) for _, number in view.fixed]
    cx.stored.add(view, (None, None), None)
    cx.builder.stmt("store_scalar", span, tensor=view.view, index=index, value=expr(cx, value, "f32", span))
