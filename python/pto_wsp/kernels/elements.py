"""Which elements the tiles of an operation may have, and the numbers that meet them.

Integers go with integers of their own type; `pto.cast` makes others of them. Their arithmetic wraps.
"""

from __future__ import annotations

import ast

from .._seam import Span
from ..dtypes import DTYPES
from . import codes
from .context import Cx
from .emit import Expr
from .scalars import expr, kind, to_int
from .values import Const, Number, TileVal, describe, tile_words

FOR_INTEGERS = ("copy", "neg", "abs", "relu")
"""The functions of one tile that take integers."""

COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
"""The operations of two operands whose result is a mask."""

ORDERING = (*COMPARISONS, "max", "min")
"""The operations of two operands that take truth values."""


def is_integer(elem: str) -> bool:
    """True for integers and truth values."""
    return not DTYPES[elem].is_float


def cell_bytes(elem: str) -> int:
    """What an element takes while a kernel runs."""
    return 8 if elem == "f64" or is_integer(elem) else 4


def number_type(elem: str) -> str:
    """The type of numbers that meet a tile of these elements: of real numbers that of the arithmetic."""
    if is_integer(elem):
        return "u64" if elem == "u64" else "i64"
    return "f64" if elem == "f64" else "f32"


def result_elem(cx: Cx, at: ast.AST | Span, *tiles: TileVal) -> str:
    """The element type of a result: that of all operands, else the type of the arithmetic of real numbers."""
    elems = {t.elem for t in tiles}
    if len(elems) == 1:
        return elems.pop()
    whole = next((t for t in tiles if is_integer(t.elem)), None)
    if whole is not None:
        other = next(t for t in tiles if t.elem != whole.elem)
        raise cx.fault(
            codes.ELEMENTS,
            f"{tile_words(whole.shape, whole.elem)} does not go with {tile_words(other.shape, other.elem)}",
            at,
            help="integers go with integers of the same type: convert one, `pto.cast(tile, dtype)`",
        )
    return "f64" if "f64" in elems else "f32"


def require_real(cx: Cx, what: str, at: ast.AST | Span, *tiles: TileVal) -> None:
    """Refuses integers."""
    for tile in tiles:
        if is_integer(tile.elem):
            raise cx.fault(
                codes.ELEMENTS,
                f"{what} takes tiles of `f32`, `f64`, `f16` and other real numbers, "
                f"not {tile_words(tile.shape, tile.elem)}",
                at,
                help="convert it first: `pto.cast(tile, f32)`, or `f64`",
            )


def require_numbers(cx: Cx, what: str, at: ast.AST | Span, tile: TileVal) -> None:
    """Refuses truth values."""
    if tile.elem == "bool":
        raise cx.fault(
            codes.ELEMENTS,
            f"{what} takes tiles of numbers, not {tile_words(tile.shape, tile.elem)}",
            at,
            help="truth values have `&`, `|`, `^`, `~` and `pto.where`; to count them: `pto.cast(mask, i32)`",
        )


def word(cx: Cx, number: Number, elem: str, span: Span) -> Expr:
    """A number that meets a tile of these elements, or fills it."""
    if not is_integer(elem):
        return expr(cx, number, number_type(elem), span)
    if kind(number) == "f32":
        raise cx.fault(
            codes.OPERAND,
            f"{describe(number)} does not go with elements of `{elem}`",
            span,
            help="write a whole number, convert it with `int(…)`, or the tile: `pto.cast(tile, f32)`",
        )
    number = to_int(cx, number, span)
    if isinstance(number, Const):
        lo, hi = limits(elem)
        if not lo <= number.value <= hi:
            raise cx.fault(
                codes.RANGE,
                f"{number.value} does not fit elements of `{elem}`",
                span,
                notes=[f"`{elem}` holds {lo} to {hi}"],
                help="use a number in that range, or convert the tile: `pto.cast(tile, i32)`",
            )
    return expr(cx, number, number_type(elem), span)


def zero(elem: str) -> Const:
    """What a tile of these elements is filled with where any number will do."""
    return Const(0) if is_integer(elem) else Const(0.0)


def default(number: Number, elem: str) -> Number:
    """A number that stands where a whole one is left out: `0.0` is 0 of integers."""
    is_zero = isinstance(number, Const) and type(number.value) is float and number.value == 0.0
    # A 0 of floats keeps its sign.
    return zero(elem) if is_zero and is_integer(elem) else number


def limits(elem: str) -> tuple[int, int]:
    """The least and the largest value of an integer type."""
    dtype = DTYPES[elem]
    if dtype.kind == "bool":
        return 0, 1
    bits = 8 * dtype.itemsize
    return (0, 2**bits - 1) if dtype.kind == "uint" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
