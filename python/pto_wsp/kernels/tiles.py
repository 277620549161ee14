"""Tile operations: shapes, broadcasting, and where results go.

Arithmetic is `f32`, and `f64` where an operand is `f64`; a result is rounded to its element type, which is
that of the operands where all have the same, else the type of the arithmetic. That of integers is in their
type. Every value of a tile
expression lies in a local of its own. An operation writes the tile that is being assigned where it may
(`dst`), else a temporary operand of the same type, else another tile.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._seam import Span
from ..dtypes import DTYPES
from ..tile_functions import FORMS, MIRRORED, Form
from . import codes, elements
from .context import Cx
from .elements import number_type, result_elem, word
from .emit import Expr, TileTy
from .scalars import binary as binary_number
from .scalars import expr, is_number
from .values import Const, Number, Scalar, TileVal, Value, describe, tile_words

MAX_TILE_BYTES = 16 << 20
"""What a tile takes while a kernel runs, at most: 8 bytes per element of `f64` or an integer, 4 per other."""

U32_MAX = 2**32 - 1

Shape = tuple[int, int]


def make(
    cx: Cx,
    name: str,
    ty: TileTy,
    full: tuple[bool, bool],
    span: Span,
    dst: int | None,
    reuse: Sequence[TileVal] = (),
) -> TileVal:
    """Where a result goes. Temporary operands in `reuse` are given back, except one that becomes the
    result.
    """
    rows, cols, elem = ty
    size = rows * cols * elements.cell_bytes(elem)
    if size > MAX_TILE_BYTES:
        raise cx.fault(
            codes.TOO_LARGE,
            f"{tile_words((rows, cols), elem)} is too large",
            span,
            notes=[f"{size} bytes are needed, a tile has {MAX_TILE_BYTES} at most"],
            help="go over the data in smaller tiles, in a loop",
        )
    local = dst if dst is not None and cx.builder.tile_ty(dst) == ty else None
    taken = None
    if local is None:
        taken = next((t for t in reuse if t.temp and cx.builder.tile_ty(t.local) == ty), None)
        local = taken.local if taken else cx.builder.tile(name, ty, span)
    cx.release(*(t for t in reuse if taken is None or t.local != taken.local))
    return TileVal(local, ty, *full, temp=local != dst)


def copy_into(cx: Cx, src: TileVal, dst: int, span: Span) -> None:
    """The tile `dst` becomes the value."""
    if src.flipped:
        cx.builder.stmt("transpose", span, dst=dst, src=src.local)
    elif src.local != dst:
        cx.builder.stmt("unary", span, op="copy", dst=dst, src=src.local)


def upright(cx: Cx, tile: TileVal, span: Span, dst: int | None = None) -> TileVal:
    """The value in a tile of its own shape: a transposed one is written down."""
    if not tile.flipped:
        return tile
    out = make(cx, "transposed", (*tile.shape, tile.elem), tile.full, span, dst)
    cx.builder.stmt("transpose", span, dst=out.local, src=tile.local)
    cx.release(tile)
    return out


def unary(cx: Cx, op: str, tile: TileVal, span: Span, dst: int | None = None) -> TileVal:
    """An element-wise function; the element type stays."""
    if op not in elements.FOR_INTEGERS:
        elements.require_real(cx, f"`pto.{op}`", span, tile)
    elements.require_numbers(cx, f"`pto.{op}`", span, tile)
    tile = upright(cx, tile, span)
    out = make(cx, op, tile.ty, tile.full, span, dst, [tile])
    cx.builder.stmt("unary", span, op=op, dst=out.local, src=tile.local)
    return out


def cumsum(cx: Cx, tile: TileVal, span: Span, dst: int | None = None) -> TileVal:
    """The sums of every row so far; the element type stays."""
    elements.require_numbers(cx, "`pto.cumsum`", span, tile)
    tile = upright(cx, tile, span)
    out = make(cx, "sums", tile.ty, tile.full, span, dst, [tile])
    cx.builder.stmt("cumsum", span, dst=out.local, src=tile.local)
    return out


def cast(cx: Cx, tile: TileVal, elem: str, span: Span, dst: int | None = None) -> TileVal:
    """The values rounded to another element type."""
    tile = upright(cx, tile, span)
    if elem == tile.elem:
        return tile
    out = make(cx, "cast", (*tile.shape, elem), tile.full, span, dst, [tile])
    cx.builder.stmt("unary", span, op="copy", dst=out.local, src=tile.local)
    return out


def reduce(cx: Cx, form: Form, tile: TileVal, span: Span, dst: int | None = None) -> TileVal:
    """`row_reduce`: one column with a value per row; `col_reduce`: one row with a value per column. The
    largest and smallest elements keep their type, sums and means of `f64` and sums of integers too; what
    else there is is `f32`.
    """
    name = f"`pto.{'row' if form.word == 'row_reduce' else 'col'}{form.op}`"
    if form.op == "mean":
        elements.require_real(cx, name, span, tile)
    if form.op == "sum":
        elements.require_numbers(cx, name, span, tile)
    tile = upright(cx, tile, span)
    (rows, cols), (full_rows, full_cols) = tile.shape, tile.full
    elem = tile.elem if form.op in ("max", "min") else "f32"
    if form.op in ("sum", "mean"):
        elem = tile.elem if elements.is_integer(tile.elem) else number_type(tile.elem)
    by_row = form.word == "row_reduce"
    ty, full = ((rows, 1, elem), (full_rows, True)) if by_row else ((1, cols, elem), (True, full_cols))
    out = make(cx, f"{'row' if by_row else 'col'}{form.op}", ty, full, span, dst)
    cx.builder.stmt(form.word, span, op=form.op, dst=out.local, src=tile.local)
    cx.release(tile)
    return out


def single(cx: Cx, tile: TileVal, op: str, span: Span) -> Scalar:
    """The largest (`max`), smallest (`min`) element or the sum (`sum`) of a tile, as a number."""
    if tile.elem == "f64" or elements.is_integer(tile.elem):
        raise cx.fault(
            codes.ELEMENTS,
            f"`pto.{op}` of {tile_words(tile.shape, tile.elem)} would be an f32 number",
            span,
            help=f"keep it in a tile, `pto.col{op}(pto.row{op}(tile))`, or round it: `pto.cast(tile, f32)`",
        )
    tile = upright(cx, tile, span)
    if op == "min":
        tile = unary(cx, "neg", tile, span)
    if tile.shape[0] > 1:
        tile = reduce(cx, FORMS["colsum" if op == "sum" else "colmax"], tile, span)
    x = _of_row(cx, tile, op, span)
    cx.release(tile)
    return Scalar(x, "f32")


def _of_row(cx: Cx, tile: TileVal, op: str, span: Span) -> Expr:
    """The largest element (`max`), the sum (`sum`) or minus the largest (`min`) of a tile of one row."""
    ty = number_type(tile.elem)
    x: Expr = {"k": "tile_sum" if op == "sum" else "tile_max", "tile": tile.local, "s": span}
    if ty != "f32":
        x["ty"] = ty
    if op == "min":
        x = {"k": "neg", "a": x, "ty": ty, "s": span}
    local = cx.builder.scalar(op, ty, span)
    cx.builder.stmt("assign", span, local=local, value=x)
    return {"k": "local", "id": local, "ty": ty, "s": span}


def valid(cx: Cx, tile: TileVal, dim: int, span: Span) -> Number:
    """Valid rows (0) or columns (1) of a tile: a constant where all are valid."""
    most = tile.shape[dim]
    if tile.full[dim]:
        cx.release(tile)
        return Const(most)
    rows = (dim == 0) != tile.flipped
    word = {"k": "tile_rows" if rows else "tile_cols", "tile": tile.local, "s": span}
    x = {"k": "cast", "a": word, "ty": "i64", "s": span}
    if not tile.temp:
        return Scalar(x, "i64", 0, most)
    local = cx.builder.scalar("rows" if rows else "cols", "i64", span)
    cx.builder.stmt("assign", span, local=local, value=x)
    cx.release(tile)
    return Scalar({"k": "local", "id": local, "ty": "i64", "s": span}, "i64", 0, most)


def binary(cx: Cx, op: str, a: Value, b: Value, at: ast.AST, dst: int | None = None) -> TileVal:
    """An operation of the form `binary` on two operands of which one at least is a tile."""
    span = cx.span(at)
    for operand in (a, b):
        if not isinstance(operand, TileVal) and not is_number(operand):
            raise cx.fault(
                codes.OPERAND,
                f"a tile does not go with {describe(operand)}",
                at,
                help="load a view first: `pto.load(view)`"
                if "view" in describe(operand)
                else "use a number or a tile",
            )
    if isinstance(a, TileVal) and isinstance(b, TileVal):
        return _two_tiles(cx, op, upright(cx, a, span), upright(cx, b, span), at, dst)
    if isinstance(a, TileVal):
        return _with_scalar(cx, op, upright(cx, a, span), b, span, dst)
    return _scalar_first(cx, op, a, upright(cx, b, span), span, dst)


def floor_divide(cx: Cx, a: Value, b: Value, at: ast.AST, dst: int | None = None) -> TileVal:
    """`a // b` of integers: the quotient without its fraction, less 1 where there was one and the signs
    differ.
    """
    span = cx.span(at)
    like = a if isinstance(a, TileVal) else b
    assert isinstance(like, TileVal)
    elements.require_numbers(cx, "`//`", at, like)
    if DTYPES[like.elem].kind == "uint":
        return binary(cx, "div", a, b, at, dst)
    given = [upright(cx, v, span) if isinstance(v, TileVal) else v for v in (a, b)]
    if is_number(b) and isinstance(given[0], TileVal):
        given[1] = _filled_like(cx, given[0], b, like.elem, span)
    a, b = (replace(v, temp=False) if isinstance(v, TileVal) else v for v in given)
    quotient = binary(cx, "div", a, b, at)
    kept = replace(quotient, temp=False)
    rest = binary(cx, "sub", a, binary(cx, "mul", kept, b, at), at)
    left = replace(rest, temp=False)
    zero = Const(0)
    apart = binary(cx, "ne", binary(cx, "lt", left, zero, at), binary(cx, "lt", b, zero, at), at)
    lower = binary(cx, "min", binary(cx, "ne", rest, zero, at), apart, at)
    cx.release(*(v for v in given if isinstance(v, TileVal)))
    return where(cx, lower, binary(cx, "sub", kept, Const(1), at), quotient, at, dst)


def _emit(
    cx: Cx,
    op: str,
    a: TileVal,
    operand: dict[str, Any],
    extra: Sequence[TileVal],
    full: tuple[bool, bool],
    span: Span,
    dst: int | None,
) -> TileVal:
    elem = result_elem(cx, span, a, *extra)
    if op not in elements.ORDERING:
        elements.require_numbers(cx, "arithmetic", span, a)
    if elements.is_integer(elem) and op in elements.COMPARISONS:
        elem = "bool"
    out = make(cx, op, (*a.shape, elem), full, span, dst, [a, *extra])
    cx.builder.stmt("binary", span, op=op, dst=out.local, a=a.local, b=operand)
    return out


def _with_scalar(cx: Cx, op: str, a: TileVal, b: Number, span: Span, dst: int | None) -> TileVal:
    return _emit(cx, op, a, {"scalar": word(cx, b, a.elem, span)}, [], a.full, span, dst)


def _scalar_first(cx: Cx, op: str, a: Number, b: TileVal, span: Span, dst: int | None) -> TileVal:
    if op in MIRRORED:
        return _with_scalar(cx, MIRRORED[op], b, a, span, dst)
    if op == "sub":
        # a - b = -b + a, in every bit; the step between goes to a tile that `a` cannot be read from.
        return _with_scalar(cx, "add", unary(cx, "neg", b, span), a, span, dst)
    if isinstance(a, Const) and a.value == 1 and not elements.is_integer(b.elem):
        return unary(cx, "recip", b, span, dst)
    spread = _filled_like(cx, b, a, b.elem, span)
    return _emit(cx, "div", spread, {"tile": b.local}, [b], b.full, span, dst)


def _filled_like(cx: Cx, like: TileVal, value: Number, elem: str, span: Span) -> TileVal:
    """A tile with the valid part of another, every element the value."""
    out = make(cx, "spread", (*like.shape, elem), like.full, span, None)
    rows, cols = (
        None if full else {"k": word, "tile": like.local, "s": span}
        for full, word in zip(like.full, ("tile_rows", "tile_cols"), strict=False)
    )
    number = word(cx, value, elem, span)
    cx.builder.stmt("fill", span, dst=out.local, value=number, rows=rows, cols=cols)
    return out


def _two_tiles(cx: Cx, op: str, a: TileVal, b: TileVal, at: ast.AST, dst: int | None) -> TileVal:
    span = cx.span(at)
    how = _fit(a, b)
    if how is not None:
        a = _as_wide(cx, how, a, b, span)
        return _emit(cx, op, a, _operand(cx, how, a, b, span), [b], _kept_full(how, a, b), span, dst)
    other = _fit(b, a)
    if other is None:
        raise _shapes(cx, op, a, b, at)
    full = _kept_full(other, b, a)
    b = _as_wide(cx, other, b, a, span)
    if op in MIRRORED:
        return _emit(cx, MIRRORED[op], b, _operand(cx, other, b, a, span), [a], full, span, dst)
    if op == "sub":
        minus = unary(cx, "neg", b, span)
        return _emit(cx, "add", minus, _operand(cx, other, minus, a, span), [a], full, span, dst)
    return _emit(cx, "div", _spread(cx, other, a, b, span), {"tile": b.local}, [b], full, span, dst)


def _spread(cx: Cx, how: str, a: TileVal, like: TileVal, span: Span) -> TileVal:
    """A column, a row or one value in every column, row or element of the valid part of another tile: -0.0 +
    a is a, in every bit; of truth values, the larger of 0 and a is.
    """
    whole = elements.is_integer(a.elem)
    elem = a.elem if whole else result_elem(cx, span, a, like)
    spread = _filled_like(cx, like, Const(0) if whole else Const(-0.0), elem, span)
    operand = _operand(cx, how, spread, a, span)
    op = "max" if elem == "bool" else "add"
    return _emit(cx, op, spread, operand, [a], _kept_full(how, like, a), span, None)


def where(cx: Cx, mask: TileVal, a: Value, b: Value, at: ast.AST, dst: int | None = None) -> TileVal:
    """`a` where the mask is not 0, else `b`."""
    span = cx.span(at)
    mask = upright(cx, mask, span)
    a, b = (upright(cx, v, span) if isinstance(v, TileVal) else v for v in (a, b))
    chosen = [v for v in (a, b) if isinstance(v, TileVal)]
    elem = result_elem(cx, at, *chosen) if chosen else "f32"
    left = _whole(cx, mask, a, elem, at)
    operand, right, full = _beside(cx, mask, left, b, at)
    out = make(cx, "chosen", (*mask.shape, elem), full, span, dst, [mask, left, *right])
    cx.builder.stmt("select", span, dst=out.local, mask=mask.local, a=left.local, b=operand)
    return out


def _whole(cx: Cx, mask: TileVal, a: Value, elem: str, at: ast.AST) -> TileVal:
    """A value with an element for each of a mask."""
    span = cx.span(at)
    if is_number(a):
        return _filled_like(cx, mask, a, elem, span)
    assert isinstance(a, TileVal)
    how = _fit(mask, a)
    if how is None:
        raise _shapes(cx, "where", mask, a, at)
    return a if how == "tile" else _spread(cx, how, a, mask, span)


def _beside(
    cx: Cx, mask: TileVal, left: TileVal, b: Value, at: ast.AST
) -> tuple[dict[str, Any], list[TileVal], tuple[bool, bool]]:
    """The right operand of a choice by a mask, its tiles, and whether all rows and columns are valid."""
    span = cx.span(at)
    if is_number(b):
        return {"scalar": _beside_number(cx, b, mask, left, span)}, [], mask.full
    assert isinstance(b, TileVal)
    how = _fit(mask, b)
    if how is None:
        raise _shapes(cx, "where", mask, b, at)
    full = _kept_full(how, mask, b)
    if how == "single" and "f64" in (mask.elem, left.elem, b.elem):
        # As a number it would have another type than `b` or what it meets.
        b = _spread(cx, how, b, mask, span)
        how = "tile"
    return _operand(cx, how, left, b, span), [b], full


def _beside_number(cx: Cx, b: Number, mask: TileVal, left: TileVal, span: Span) -> Expr:
    if elements.is_integer(left.elem):
        return word(cx, b, left.elem, span)
    return expr(cx, b, "f64" if "f64" in (mask.elem, left.elem) else "f32", span)


def clamp(cx: Cx, tile: TileVal, low: Number, high: Number, span: Span, dst: int | None = None) -> TileVal:
    """The elements within two numbers."""
    tile = upright(cx, tile, span)
    words = [word(cx, number, tile.elem, span) for number in (low, high)]
    out = make(cx, "clamped", tile.ty, tile.full, span, dst, [tile])
    cx.builder.stmt("clamp", span, dst=out.local, src=tile.local, low=words[0], high=words[1])
    return out


def _fit(a: TileVal, b: TileVal) -> str | None:
    """How `b` meets every element of `a`: as a tile, a column, a row or one value; None when it does not."""
    b_rows, b_cols = b.shape
    same = [_same_extent(a, b, dim) for dim in (0, 1)]
    if all(same):
        return "tile"
    if b_rows == 1 and b_cols == 1:
        return "single"
    if b_cols == 1 and same[0]:
        return "column"
    if b_rows == 1 and same[1]:
        return "row"
    return None


def _same_extent(a: TileVal, b: TileVal, dim: int) -> bool:
    """Whether both may have the same number of rows (columns); where that depends on the data, the run
    checks it.
    """
    x, y = a.shape[dim], b.shape[dim]
    if x == y:
        return True
    if 1 in (x, y):
        return False
    return (x < y and not b.full[dim]) or (y < x and not a.full[dim])


def _kept_full(how: str, a: TileVal, b: TileVal) -> tuple[bool, bool]:
    """Whether all rows and columns of `a` are valid: `b`, where it has as many, tells as well."""
    told = [b.full[dim] and a.shape[dim] == b.shape[dim] for dim in (0, 1)]
    rows = a.full[0] or (how in ("tile", "column") and told[0])
    cols = a.full[1] or (how in ("tile", "row") and told[1])
    return rows, cols


def _operand(cx: Cx, how: str, a: TileVal, b: TileVal, span: Span) -> dict[str, Any]:
    """What meets every element of `a`, which holds whatever the one element of a single `b` is."""
    if how != "single":
        return {how: b.local}
    x = _of_row(cx, b, "max", span)
    ty = number_type(a.elem)
    return {"scalar": x if x["ty"] == ty else {"k": "cast", "a": x, "ty": ty, "s": span}}


def _as_wide(cx: Cx, how: str, a: TileVal, b: TileVal, span: Span) -> TileVal:
    """The tile that a single element of `f64` meets, as `f64`."""
    return cast(cx, a, "f64", span) if how == "single" and b.elem == "f64" else a


def _shapes(cx: Cx, op: str, a: TileVal, b: TileVal, at: ast.AST) -> Exception:
    (ar, ac), (br, bc) = a.shape, b.shape
    help = "one operand must have the shape of the result; the other one column, one row, or one element"
    if (ac, ar) == (br, bc):
        help = "transpose one: `tile.T`"
    elif (ar == 1 or bc == 1) and (ac == 1 or br == 1):
        help = "spread one first: `pto.full((rows, columns), 0.0) + row`"
    return cx.fault(
        codes.SHAPES,
        f"tiles of {ar} x {ac} and {br} x {bc} do not go together",
        at,
        label=f"`{op}` of {ar} x {ac} and {br} x {bc}",
        help=help,
    )


def matmul(cx: Cx, a: TileVal, b: TileVal, acc: TileVal | None, at: ast.AST, dst: int | None) -> TileVal:
    """`a · b`, plus `acc`; sums are `f64` where an operand is, else `f32`. A transposed right operand is read
    as it lies.
    """
    span = cx.span(at)
    elements.require_real(cx, "`pto.matmul`", at, a, b)
    a = upright(cx, a, span)
    (m, k), (k2, n) = a.shape, b.shape
    if k != k2 and not ((k < k2 and not b.full[0]) or (k2 < k and not a.full[1])):
        raise cx.fault(
            codes.SHAPES,
            f"a product of {m} x {k} and {k2} x {n}",
            at,
            label=f"{k} columns meet {k2} rows",
            help="the right operand may be transposed: `pto.matmul(a, b.T)`"
            if k == n
            else "as many columns on the left as rows on the right",
        )
    full = (a.full[0], b.full[1])
    if acc is None:
        elem = number_type(result_elem(cx, at, a, b))
        out = make(cx, "product", (m, n, elem), full, span, dst if dst not in (a.local, b.local) else None)
    else:
        out = _accumulator(cx, acc, a, b, (m, n), at, dst)
    cx.builder.stmt(
        "matmul", span, dst=out.local, a=a.local, b=b.local, transpose_b=b.flipped, accumulate=acc is not None
    )
    cx.release(a, b)
    return out


def _accumulator(
    cx: Cx, acc: TileVal, a: TileVal, b: TileVal, shape: Shape, at: ast.AST, dst: int | None
) -> TileVal:
    span = cx.span(at)
    acc = upright(cx, acc, span)
    fits = all(
        p == q or (p < q and not full) or (q < p and not own)
        for p, q, full, own in zip(acc.shape, shape, (a.full[0], b.full[1]), acc.full, strict=False)
    )
    if not fits:
        raise cx.fault(
            codes.SHAPES,
            f"a product of {shape[0]} x {shape[1]} is added to {tile_words(acc.shape, acc.elem)}",
            at,
            help=f"start with `pto.zeros(({shape[0]}, {shape[1]}))`",
        )
    elem = number_type(result_elem(cx, at, a, b))
    if acc.elem not in (elem, "f64"):
        raise cx.fault(
            codes.SHAPES,
            f"products are added up in {elem}, and `acc` is {tile_words(acc.shape, acc.elem)}",
            at,
            help=f"keep the accumulator in {elem} and convert the result: `pto.cast(acc, dtype)`",
        )
    if acc.temp or acc.local == dst:
        return acc
    target = dst if dst not in (a.local, b.local) else None
    out = make(cx, "product", acc.ty, acc.full, span, target)
    copy_into(cx, acc, out.local, span)
    return out


def in_place(
    cx: Cx, tile: TileVal, name: str, scalars: Sequence[Number | None], span: Span, dst: int | None
) -> TileVal:
    """A copy that an operation may change: the tile itself where nothing else reads it."""
    tile = upright(cx, tile, span)
    if tile.temp or tile.local == dst:
        return tile
    steady = all(s is None or isinstance(s, Const) or s.invariant for s in scalars)
    out = make(cx, name, tile.ty, tile.full, span, dst if steady else None)
    copy_into(cx, tile, out.local, span)
    return out


def filled(
    cx: Cx, shape: tuple[Number, Number], value: Number, elem: str, at: ast.AST, dst: int | None
) -> TileVal:
    """A tile of one value. A dimension that only the running task knows needs a bound, which is its room."""
    span = cx.span(at)
    sizes = (room(cx, shape[0], at), room(cx, shape[1], at))
    full = (isinstance(shape[0], Const), isinstance(shape[1], Const))
    limits = [None if known else expr(cx, n, "u32", span) for n, known in zip(shape, full, strict=False)]
    number = word(cx, elements.default(value, elem), elem, span)
    out = make(cx, "full", (*sizes, elem), full, span, dst)
    cx.builder.stmt("fill", span, dst=out.local, value=number, rows=limits[0], cols=limits[1])
    return out


def iota(
    cx: Cx,
    shape: tuple[Number, Number],
    start: Number,
    elem: str,
    at: ast.AST,
    span: Span,
    dst: int | None,
) -> TileVal:
    """A tile of a constant number of rows, whose column `c` is `start + c`."""
    sizes = (room(cx, shape[0], at), room(cx, shape[1], at))
    known = isinstance(shape[1], Const)
    cols = None if known else expr(cx, shape[1], "u32", span)
    first = expr(cx, start, "i32", span)
    if elem == "bool":
        raise cx.fault(
            codes.ELEMENTS, "numbers of columns are no truth values", at, help="take `i32`, or `u8`"
        )
    out = make(cx, "iota", (*sizes, elem), (True, known), span, dst)
    cx.builder.stmt("iota", span, dst=out.local, start=first, cols=cols)
    return out


def insert(
    cx: Cx, tile: TileVal, part: TileVal, at: tuple[Number, Number], node: ast.AST, dst: int | None
) -> TileVal:
    """The tile with a part in it, from a row and column on."""
    span = cx.span(node)
    part = upright(cx, part, span)
    if elements.is_integer(tile.elem) or elements.is_integer(part.elem):
        result_elem(cx, node, tile, part)
    words = [expr(cx, number, "u32", span) for number in at]
    for dim, first in enumerate(at):
        lo = first.value if isinstance(first, Const) else 0
        if part.full[dim] and lo + part.shape[dim] > tile.shape[dim]:
            what = ("row", "column")[dim]
            raise cx.fault(
                codes.SHAPES,
                f"a part of {part.shape[dim]} {what}s does not fit from {what} {lo} on",
                node,
                label=f"into {tile_words(tile.shape, tile.elem)}",
                help="give a smaller part, or begin further to the front",
            )
    # A part is read while the tile changes, so that it is another one.
    target = None if dst == part.local else dst
    out = in_place(cx, tile, "whole", at, span, target)
    cx.builder.stmt("insert", span, dst=out.local, src=part.local, row=words[0], col=words[1])
    cx.release(part)
    return out


def extract(
    cx: Cx,
    tile: TileVal,
    shape: tuple[Number, Number],
    at: tuple[Number, Number],
    node: ast.AST,
    dst: int | None,
) -> TileVal:
    """What a tile has from a row and column on, in a tile with room for a constant shape."""
    span = cx.span(node)
    tile = upright(cx, tile, span)
    words = [expr(cx, number, "u32", span) for number in at]
    sizes = (room(cx, shape[0], node), room(cx, shape[1], node))
    full = []
    for dim, (size, first) in enumerate(zip(shape, at, strict=True)):
        what = ("row", "column")[dim]
        if not isinstance(size, Const):
            raise cx.fault(
                codes.SHAPE_CONSTANT,
                "the shape of a part of a tile must be constant",
                node,
                label=describe(size),
                help="give constants; `pto.mask` hides the elements that are not wanted",
            )
        known = isinstance(first, Const)
        if known and first.value >= tile.shape[dim]:
            raise cx.fault(
                codes.SHAPES,
                f"there is no {what} {first.value} in {tile_words(tile.shape, tile.elem)}",
                node,
                help=f"{what}s are numbered from 0 to {tile.shape[dim] - 1}",
            )
        full.append(tile.full[dim] and known and first.value + size.value <= tile.shape[dim])
    out = make(cx, "part", (*sizes, tile.elem), (full[0], full[1]), span, None if dst == tile.local else dst)
    cx.builder.stmt("extract", span, dst=out.local, src=tile.local, row=words[0], col=words[1])
    cx.release(tile)
    return out


def gather(cx: Cx, tile: TileVal, indices: TileVal, axis: int, node: ast.AST, dst: int | None) -> TileVal:
    """Elements of a tile by rows (`axis` 0) or columns (1) that another tile says."""
    span = cx.span(node)
    tile, indices = upright(cx, tile, span), upright(cx, indices, span)
    if indices.elem not in ("f32", "f64") and (
        indices.elem == "bool" or not elements.is_integer(indices.elem)
    ):
        raise cx.fault(
            codes.ELEMENTS,
            f"the indices of `pto.gather` are {tile_words(indices.shape, indices.elem)}",
            node,
            help="indices are integers or `f32`, which holds numbers up to 2^24: `pto.cast(indices, f32)`",
        )
    other = 1 - axis
    if not _same_extent(tile, indices, other):
        what = ("row", "column")[other]
        raise cx.fault(
            codes.SHAPES,
            f"{tile_words(indices.shape, indices.elem)} of indices do not go with "
            f"{tile_words(tile.shape, tile.elem)}",
            node,
            help=f"with `axis={axis}` both have the same {what}s",
        )
    taken = {tile.local, indices.local}
    target = None if dst in taken else dst
    out = make(cx, "gathered", (*indices.shape, tile.elem), indices.full, span, target)
    cx.builder.stmt("gather", span, dst=out.local, src=tile.local, indices=indices.local, by_row=axis == 0)
    cx.release(tile, indices)
    return out


def reshape(cx: Cx, tile: TileVal, shape: tuple[Number, Number], node: ast.AST, dst: int | None) -> TileVal:
    """The elements of a tile, row by row, in another shape."""
    span = cx.span(node)
    tile = upright(cx, tile, span)
    sizes = (room(cx, shape[0], node), room(cx, shape[1], node))
    full = (isinstance(shape[0], Const), isinstance(shape[1], Const))
    if all(full) and all(tile.full) and sizes[0] * sizes[1] != tile.shape[0] * tile.shape[1]:
        raise cx.fault(
            codes.SHAPES,
            f"{tile_words(tile.shape, tile.elem)} has {tile.shape[0] * tile.shape[1]} elements, "
            f"{sizes[0]} x {sizes[1]} are {sizes[0] * sizes[1]}",
            node,
            help="the number of elements stays",
        )
    words = [expr(cx, number, "u32", span) for number in shape]
    out = make(cx, "reshaped", (*sizes, tile.elem), full, span, None if dst == tile.local else dst)
    cx.builder.stmt("reshape", span, dst=out.local, src=tile.local, rows=words[0], cols=words[1])
    cx.release(tile)
    return out


def random(
    cx: Cx,
    shape: tuple[Number, Number],
    numbers: Sequence[Expr],
    elem: str,
    at: ast.AST,
    dst: int | None,
) -> TileVal:
    """Random numbers of a sequence: its seed, the place of the first, and the distance of rows."""
    span = cx.span(at)
    if elements.is_integer(elem):
        raise cx.fault(
            codes.ELEMENTS,
            f"random numbers are from 0 up to 1, and `{elem}` holds whole numbers",
            at,
            help="multiply and convert: `pto.cast(pto.random(shape, seed) * 100, i32)`",
        )
    sizes = (room(cx, shape[0], at), room(cx, shape[1], at))
    full = (isinstance(shape[0], Const), isinstance(shape[1], Const))
    limits = [None if known else expr(cx, n, "u32", span) for n, known in zip(shape, full, strict=True)]
    seed, first, pitch = numbers
    out = make(cx, "random", (*sizes, elem), full, span, dst)
    cx.builder.stmt(
        "random", span, dst=out.local, seed=seed, first=first, pitch=pitch, rows=limits[0], cols=limits[1]
    )
    return out


def concat(cx: Cx, a: TileVal, b: TileVal, axis: int, node: ast.AST, dst: int | None) -> TileVal:
    """Two tiles, one below the other (`axis` 0) or beside it (1)."""
    span = cx.span(node)
    a, b = upright(cx, a, span), upright(cx, b, span)
    other = 1 - axis
    what = ("row", "column")[other]
    if not _same_extent(a, b, other):
        raise cx.fault(
            codes.SHAPES,
            f"{tile_words(a.shape, a.elem)} and {tile_words(b.shape, b.elem)} do not go together",
            node,
            help=f"with `axis={axis}` both have the same {what}s",
        )
    ends = [replace(tile, temp=False) for tile in (a, b)]
    counts = [valid(cx, tile, axis, span) for tile in ends]
    total = binary_number(cx, "add", counts[0], counts[1], span)
    across = [valid(cx, tile, other, span) for tile in ends]
    shape = (total, across[0]) if axis == 0 else (across[0], total)
    if not (a.full[other] and b.full[other]):
        _at_most(cx, a, across[1], other, node)
    target = None if dst in (a.local, b.local) else dst
    out = filled(cx, shape, Const(0.0), result_elem(cx, node, a, b), node, target)
    zero = Const(0)
    for part, at in ((a, (zero, zero)), (b, (counts[0], zero) if axis == 0 else (zero, counts[0]))):
        words = [expr(cx, number, "u32", span) for number in at]
        cx.builder.stmt("insert", span, dst=out.local, src=part.local, row=words[0], col=words[1])
    cx.release(a, b)
    return out


def _at_most(cx: Cx, tile: TileVal, most: Number, dim: int, node: ast.AST) -> None:
    """Stops the run when more rows (columns) of a tile are valid than a number: its first column (row) goes
    into a tile of so many. That fewer are of the other tile of a concatenation, `insert` finds.
    """
    span, one = cx.span(node), Const(1)
    edge_shape = (tile.shape[0], 1) if dim == 0 else (1, tile.shape[1])
    edge = make(cx, "edge", (*edge_shape, tile.elem), (False, False), span, None)
    zero = expr(cx, Const(0), "u32", span)
    cx.builder.stmt("extract", span, dst=edge.local, src=tile.local, row=zero, col=zero)
    frame = filled(cx, (most, one) if dim == 0 else (one, most), Const(0.0), tile.elem, node, None)
    cx.builder.stmt("insert", span, dst=frame.local, src=edge.local, row=zero, col=zero)
    cx.release(edge, frame)


def broadcast(cx: Cx, tile: TileVal, shape: tuple[Number, Number], node: ast.AST, dst: int | None) -> TileVal:
    """One column, one row or one element, repeated to a shape."""
    tile = upright(cx, tile, cx.span(node))
    # A product with 1 has the bits of the other factor, and so has the larger of 0 and a truth value.
    op, one = ("max", Const(0)) if tile.elem == "bool" else ("mul", Const(1))
    ones = filled(cx, shape, one, tile.elem, node, None)
    if _fit(ones, tile) is None:
        raise cx.fault(
            codes.SHAPES,
            f"{tile_words(tile.shape, tile.elem)} cannot be repeated to {ones.shape[0]} x {ones.shape[1]}",
            node,
            help="what is repeated is a column of as many rows, a row of as many columns, or one element",
        )
    return binary(cx, op, ones, tile, node, dst)


def room(cx: Cx, size: Number, at: ast.AST) -> int:
    """The most that a number of rows or columns can be."""
    if isinstance(size, Const):
        if isinstance(size.value, int) and not isinstance(size.value, bool) and 1 <= size.value < U32_MAX:
            return size.value
        raise cx.fault(
            codes.SHAPE_CONSTANT,
            f"a tile cannot have {size.value!r} rows or columns",
            at,
            help="give whole numbers from 1 on",
        )
    if size.ty != "i64" or size.hi is None or size.hi >= U32_MAX:
        raise cx.fault(
            codes.SHAPE_CONSTANT,
            "the room of a tile must be known when the kernel is compiled",
            at,
            label=f"{describe(size)} without a bound" if size.ty == "i64" else describe(size),
            help="give constants, or bounded numbers: `x.shape[0]` of `X[tile(i, 64)]`, `pto.min(n, 64)`",
        )
    return max(size.hi, 1)


def refuse_tile(cx: Cx, value: Any, at: ast.AST, what: str) -> None:
    """Tiles have no truth."""
    if isinstance(value, TileVal):
        raise cx.fault(
            codes.OPERAND,
            f"{what} does not apply to {tile_words(value.shape, value.elem)}",
            at,
            help="choose by elements: `pto.where(x > 0.0, x, y)`; or compare a number: `pto.max(tile) > 0`",
        )
