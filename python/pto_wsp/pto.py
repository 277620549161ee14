"""The functions of kernels.

They have a meaning inside a function with `@kernel`, where they are compiled; called elsewhere they raise
`KernelError`. Tiles are values: a function makes a tile and changes none. A tile has room for a fixed number
of rows and columns, and a part of it is valid: what was loaded near the end of a view, say. Operations work
on valid parts.

Arithmetic is done in `f32`. A result is rounded to the element type of the operands where all have the same,
else it is `f32`; products and sums are always `f32`.

Where two tiles meet they have the same shape, or one of them has one column (a value per row), one row (a
value per column), or one element. Numbers stand on either side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from .dtypes import DType, f32

if TYPE_CHECKING:
    from .kernels.annotations import Tile, View

    Number = int | float
    Value = TypeVar("Value", Tile, int, float)

__all__ = [
    "abs",
    "cast",
    "ceildiv",
    "colmax",
    "colmin",
    "colsum",
    "coord",
    "cos",
    "exp",
    "exp2",
    "full",
    "load",
    "log",
    "log2",
    "mask",
    "mask_causal",
    "matmul",
    "max",
    "maximum",
    "min",
    "minimum",
    "neg",
    "recip",
    "relu",
    "rowmax",
    "rowmin",
    "rowsum",
    "rsqrt",
    "sin",
    "sqrt",
    "store",
    "sum",
    "topk",
    "transpose",
    "zeros",
]


def _outside(name: str) -> NoReturn:
    from . import _seam
    from .kernels import codes

    raise codes.kernel_error(
        codes.OUTSIDE,
        f"`pto.{name}` stands in kernels only",
        _seam.caller_span(),
        help="call it in a function with `@kernel`; in a `@python_kernel` use NumPy",
    )


def load(view: View, shape: tuple[int, int] | None = None, dtype: DType | None = None) -> Tile:
    """A tile with the elements of a view.

    The room of the tile is that of the view, where its extents are constants or bounded (`X[tile(i, 64)]`),
    or what `shape = (rows, columns)` says: constants, or integers with a bound. What lies past the end of the
    view is not valid. A view of one dimension is one row, or one column with `shape=(n, 1)`; `view.T` loads
    transposed. `dtype` converts while loading; without it tiles have the type of the view, `f32` for `f64`.

    Errors: an unknown extent without `shape`, a view of integers, an `Out` view.
    """
    _outside("load")


def store(view: View, tile: Tile) -> None:
    """Stores the valid part of a tile, rounded to the type of the view, from the first element of the view
    on.

    The same as `view[...] = tile`. A tile that reaches past the end of the view stops the run; one that is
    known to be larger or smaller than the view is refused.
    """
    _outside("store")


def full(shape: tuple[int, int], value: Number, dtype: DType = f32) -> Tile:
    """A tile of one value.

    `shape = (rows, columns)`: constants, or integers with a bound, such as extents of views and tiles
    (`x.shape[0]`, `t.rows`), which give the tile as many valid rows and columns as there are in the running
    task.
    """
    _outside("full")


def zeros(shape: tuple[int, int], dtype: DType = f32) -> Tile:
    """`full(shape, 0.0, dtype)`."""
    _outside("zeros")


def cast(tile: Tile, dtype: DType) -> Tile:
    """The values rounded to another element type, to nearest, ties to even."""
    _outside("cast")


def exp(x: Value) -> Value:
    """`eˣ`, of every element of a tile or of a number."""
    _outside("exp")


def exp2(x: Value) -> Value:
    """`2ˣ`, of every element of a tile or of a number."""
    _outside("exp2")


def log(x: Value) -> Value:
    """The natural logarithm, of every element of a tile or of a number; -inf of 0, NaN below."""
    _outside("log")


def log2(x: Value) -> Value:
    """The logarithm to base 2, of every element of a tile or of a number; -inf of 0, NaN below."""
    _outside("log2")


def sqrt(x: Value) -> Value:
    """The square root, of every element of a tile or of a number; NaN below 0."""
    _outside("sqrt")


def rsqrt(x: Value) -> Value:
    """`1 / √x`, of every element of a tile or of a number."""
    _outside("rsqrt")


def recip(x: Value) -> Value:
    """`1 / x`, of every element of a tile or of a number."""
    _outside("recip")


def relu(x: Value) -> Value:
    """`max(x, 0)`, of every element of a tile or of a number."""
    _outside("relu")


def abs(x: Value) -> Value:
    """`|x|`, of every element of a tile or of a number."""
    _outside("abs")


def neg(x: Value) -> Value:
    """`-x`, of every element of a tile or of a number."""
    _outside("neg")


def sin(x: Number) -> float:
    """The sine of a number in radians."""
    _outside("sin")


def cos(x: Number) -> float:
    """The cosine of a number in radians."""
    _outside("cos")


def maximum(a: Value | Number, b: Value | Number) -> Value:
    """The larger of two tiles element by element, of a tile and a number, or of two numbers; NaN where one
    is NaN.
    """
    _outside("maximum")


def minimum(a: Value | Number, b: Value | Number) -> Value:
    """The smaller of two tiles element by element, of a tile and a number, or of two numbers; NaN where
    one is NaN.
    """
    _outside("minimum")


def rowmax(tile: Tile) -> Tile:
    """The largest element of every row: one column, `(rows, 1)`; -inf of a row without elements."""
    _outside("rowmax")


def rowmin(tile: Tile) -> Tile:
    """The smallest element of every row: one column, `(rows, 1)`; inf of a row without elements."""
    _outside("rowmin")


def rowsum(tile: Tile) -> Tile:
    """The sum of every row: one column, `(rows, 1)`, `f32`."""
    _outside("rowsum")


def colmax(tile: Tile) -> Tile:
    """The largest element of every column: one row, `(1, columns)`; -inf of a column without elements."""
    _outside("colmax")


def colmin(tile: Tile) -> Tile:
    """The smallest element of every column: one row, `(1, columns)`; inf of a column without elements."""
    _outside("colmin")


def colsum(tile: Tile) -> Tile:
    """The sum of every column: one row, `(1, columns)`, `f32`."""
    _outside("colsum")


def matmul(a: Tile, b: Tile, acc: Tile | None = None) -> Tile:
    """`a · b`, or `acc + a · b`: `(m, k)` and `(k, n)` give `(m, n)`, `f32`. `a @ b` is the same without
    `acc`.

    `b.T` is read as it lies, without a copy. Where the valid inner sizes differ, the smaller counts. `acc =
    pto.matmul(a, b, acc)` adds in place.
    """
    _outside("matmul")


def transpose(tile: Tile) -> Tile:
    """Rows and columns exchanged; the same as `tile.T`."""
    _outside("transpose")


def mask(tile: Tile, rows: int | None = None, cols: int | None = None, value: Number = 0.0) -> Tile:
    """The tile with every element from row `rows` on, and every element from column `cols` on, replaced by
    `value`.

    Both are counted from the first row and column of the tile. Errors: neither is given.
    """
    _outside("mask")


def mask_causal(tile: Tile, col: int, value: Number) -> Tile:
    """The tile with the elements from column `col + r` on replaced by `value` in every row `r`. `col` may be
    below 0.

    With queries `q0 ..` in rows and keys `k0 ..` in columns, `col = q0 + 1 - k0` hides the keys after each
    query.
    """
    _outside("mask_causal")


def topk(values: Tile, indices: Tile, src: Tile, first: int) -> tuple[Tile, Tile]:
    """The lists of largest values with the row of `src` taken in: `values, indices = pto.topk(values,
    indices, src, first)`.

    Column `c` of `src` has the index `first + c`. Each row of `values` and `indices`, `(rows, k)` and `f32`,
    runs from the largest value to the smallest, equal values from the lower index to the higher; NaN counts
    as -inf. Begin with `pto.full((rows, k), -math.inf)` and `pto.full((rows, k), -1.0)`. Indices are exact
    below 2^24.
    """
    _outside("topk")


def max(a: Tile | Number, b: Number | None = None) -> Any:
    """The largest element of a tile as a number, -inf of none; or the larger of two numbers."""
    _outside("max")


def min(a: Tile | Number, b: Number | None = None) -> Any:
    """The smallest element of a tile as a number, inf of none; or the smaller of two numbers."""
    _outside("min")


def sum(tile: Tile) -> float:
    """The sum of all elements of a tile, as a number."""
    _outside("sum")


def ceildiv(a: int, b: int) -> int:
    """`⌈a / b⌉`"""
    _outside("ceildiv")


def coord(n: int) -> int:
    """Coordinate `n` of the task: `k[b, h](…)` has the coordinates `b` (0) and `h` (1). In a
    `@python_kernel` too.
    """
    from .kernels.foreign import current_coord

    return current_coord(n)
