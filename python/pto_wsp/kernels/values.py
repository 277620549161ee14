"""What an expression of a kernel is while the kernel is compiled.

A `Const` is known to Python, a `Scalar` is computed by the running kernel, a `TileVal` lies in a tile, a
`ViewVal` is a region of a parameter. Numbers are `Const` or `Scalar`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._seam import Span
from ..dtypes import DType
from .emit import Expr, TileTy


@dataclass(frozen=True, slots=True)
class Const:
    """A value that Python knows."""

    value: Any


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number that the running kernel computes: an `i64`, an `f32` or a `bool`.

    `lo` and `hi` bound an integer where something is known of it. `invariant` says that it is the same
    throughout a run of the kernel.
    """

    x: Expr
    ty: str
    lo: int | None = None
    hi: int | None = None
    invariant: bool = False


@dataclass(frozen=True, slots=True)
class TileVal:
    """A tile. `temp` says that only it reads the local; `flipped` that the value is the local transposed.

    `full_rows` and `full_cols` say that every row (column) of the local's capacity is valid whatever the
    data.
    """

    local: int
    ty: TileTy
    full_rows: bool
    full_cols: bool
    temp: bool = False
    flipped: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the value, where there is room."""
        rows, cols, _ = self.ty
        return (cols, rows) if self.flipped else (rows, cols)

    @property
    def full(self) -> tuple[bool, bool]:
        """Whether all rows and all columns of the value are valid."""
        return (self.full_cols, self.full_rows) if self.flipped else (self.full_rows, self.full_cols)

    @property
    def elem(self) -> str:
        """The element type."""
        return self.ty[2]


@dataclass(frozen=True, slots=True)
class ViewDim:
    """A dimension of a view: which of the parameter's, where it begins, and how many elements it has at most.

    `extent` is the number of elements where it is a constant, `most` a bound of it. `length` is None where
    the dimension ends with that of the parameter.
    """

    axis: int
    start: Const | Scalar
    length: Const | Scalar | None
    extent: int | None
    most: int | None


@dataclass(frozen=True, slots=True)
class ViewVal:
    """A region of the parameter `view`: its dimensions, and the indices on the others."""

    view: int
    dims: tuple[ViewDim, ...]
    fixed: tuple[tuple[int, Const | Scalar], ...] = ()
    flipped: bool = False


@dataclass(frozen=True, slots=True)
class TupleVal:
    """Several values; one of constants alone is a `Const` of a tuple."""

    items: tuple[Value, ...]


Number = Const | Scalar
Value = Const | Scalar | TileVal | ViewVal | TupleVal


@dataclass(frozen=True, slots=True)
class ViewParam:
    """A tensor parameter of the kernel: its number among them, and what is known of it."""

    name: str
    index: int
    kind: str
    dtype: DType
    extents: tuple[int | None, ...]
    most: tuple[int | None, ...]
    span: Span


def describe(value: Value) -> str:
    """A value as messages name it."""
    match value:
        case Const(v):
            return (
                f"the constant {v!r}" if isinstance(v, int | float | str | tuple | None) else f"`{_name(v)}`"
            )
        case Scalar(ty=ty):
            return {"i64": "an integer", "f32": "a float", "bool": "a truth value"}[ty]
        case TileVal():
            return tile_words(value.shape, value.elem)
        case ViewVal(dims=dims):
            return f"a view of {len(dims)} dimension{'s' if len(dims) != 1 else ''}"
        case TupleVal(items):
            return f"a tuple of {len(items)}"


def tile_words(shape: tuple[int, int], elem: str) -> str:
    """The type of a tile as messages name it."""
    return f"a tile of {shape[0]} x {shape[1]} {elem}"


def _name(value: Any) -> str:
    return getattr(value, "__name__", None) or repr(value)
