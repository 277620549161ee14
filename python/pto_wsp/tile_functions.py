"""The tile operations of `pto`: a function each, and what the compiler of kernels has to know of it.

Written from the table `TILE_OPS` of the crate `wsp-ir`: `cargo xtask bless` writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeVar

from .dtypes import f32

if TYPE_CHECKING:
    from ._static import DType, Tile, View

    Number = int | float
    Value = TypeVar("Value", Tile, int, float)


class Form(NamedTuple):
    """An operation as traces spell it."""

    word: str
    """Its form."""
    op: str | None
    """Which operation of the form, where it has several."""
    numbers: tuple[tuple[str, str], ...]
    """Fields that are numbers, and their types."""


def outside(name: str) -> NoReturn:
    """Raises what a function of kernels raises elsewhere."""
    from . import _seam
    from .kernels import codes

    raise codes.kernel_error(
        codes.OUTSIDE,
        f"`pto.{name}` stands in kernels only",
        _seam.caller_span(),
        help="call it in a function with `@kernel`; in a `@python_kernel` use NumPy",
    )


__all__ = [
    "abs",
    "atomic_add",
    "cast",
    "ceil",
    "clamp",
    "colargmax",
    "colargmin",
    "colmax",
    "colmean",
    "colmin",
    "colsum",
    "cos",
    "cumsum",
    "erf",
    "exp",
    "exp2",
    "extract",
    "floor",
    "full",
    "gather",
    "gelu",
    "gelu_tanh",
    "insert",
    "iota",
    "load",
    "log",
    "log2",
    "mask",
    "mask_band",
    "mask_causal",
    "matmul",
    "maximum",
    "minimum",
    "neg",
    "random",
    "recip",
    "relu",
    "reshape",
    "round",
    "rowargmax",
    "rowargmin",
    "rowmax",
    "rowmean",
    "rowmin",
    "rowsum",
    "rsqrt",
    "sigmoid",
    "silu",
    "sin",
    "sqrt",
    "store",
    "tanh",
    "topk",
    "transpose",
    "where",
    "zeros",
]

FORMS: dict[str, Form] = {
    "abs": Form("unary", "abs", ()),
    "atomic_add": Form("store", None, (("rows", "u32"), ("cols", "u32"))),
    "cast": Form("unary", "copy", ()),
    "ceil": Form("unary", "ceil", ()),
    "clamp": Form("clamp", None, (("low", "f32"), ("high", "f32"))),
    "colargmax": Form("col_reduce", "argmax", ()),
    "colargmin": Form("col_reduce", "argmin", ()),
    "colmax": Form("col_reduce", "max", ()),
    "colmean": Form("col_reduce", "mean", ()),
    "colmin": Form("col_reduce", "min", ()),
    "colsum": Form("col_reduce", "sum", ()),
    "cos": Form("unary", "cos", ()),
    "cumsum": Form("cumsum", None, ()),
    "erf": Form("unary", "erf", ()),
    "exp": Form("unary", "exp", ()),
    "exp2": Form("unary", "exp2", ()),
    "extract": Form("extract", None, (("row", "u32"), ("col", "u32"))),
    "floor": Form("unary", "floor", ()),
    "full": Form("fill", None, (("value", "f32"), ("rows", "u32"), ("cols", "u32"))),
    "gather": Form("gather", None, ()),
    "gelu": Form("unary", "gelu", ()),
    "gelu_tanh": Form("unary", "gelu_tanh", ()),
    "insert": Form("insert", None, (("row", "u32"), ("col", "u32"))),
    "iota": Form("iota", None, (("start", "i32"), ("cols", "u32"))),
    "load": Form("load", None, (("rows", "u32"), ("cols", "u32"))),
    "log": Form("unary", "log", ()),
    "log2": Form("unary", "log2", ()),
    "mask": Form("mask", None, (("rows", "u32"), ("cols", "u32"), ("value", "f32"))),
    "mask_band": Form(
        "mask_band", None, (("begin", "i32"), ("end", "i32"), ("group", "u32"), ("value", "f32"))
    ),
    "mask_causal": Form("mask_causal", None, (("cols", "i32"), ("value", "f32"))),
    "matmul": Form("matmul", None, ()),
    "maximum": Form("binary", "max", ()),
    "minimum": Form("binary", "min", ()),
    "neg": Form("unary", "neg", ()),
    "random": Form(
        "random",
        None,
        (("seed", "u32"), ("first", "u32"), ("pitch", "u32"), ("rows", "u32"), ("cols", "u32")),
    ),
    "recip": Form("unary", "recip", ()),
    "relu": Form("unary", "relu", ()),
    "reshape": Form("reshape", None, (("rows", "u32"), ("cols", "u32"))),
    "round": Form("unary", "round", ()),
    "rowargmax": Form("row_reduce", "argmax", ()),
    "rowargmin": Form("row_reduce", "argmin", ()),
    "rowmax": Form("row_reduce", "max", ()),
    "rowmean": Form("row_reduce", "mean", ()),
    "rowmin": Form("row_reduce", "min", ()),
    "rowsum": Form("row_reduce", "sum", ()),
    "rsqrt": Form("unary", "rsqrt", ()),
    "sigmoid": Form("unary", "sigmoid", ()),
    "silu": Form("unary", "silu", ()),
    "sin": Form("unary", "sin", ()),
    "sqrt": Form("unary", "sqrt", ()),
    "store": Form("store", None, (("rows", "u32"), ("cols", "u32"))),
    "tanh": Form("unary", "tanh", ()),
    "topk": Form("top_k", None, (("first", "u32"),)),
    "transpose": Form("transpose", None, ()),
    "where": Form("select", None, ()),
    "zeros": Form("fill", None, (("value", "f32"), ("rows", "u32"), ("cols", "u32"))),
}
"""What each function comes to."""

OPERATORS: dict[str, str] = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "==": "eq",
    "!=": "ne",
    "<": "lt",
    "<=": "le",
    ">": "gt",
    ">=": "ge",
}
"""Operations of the form `binary` that operators of Python stand for."""

MIRRORED: dict[str, str] = {
    "add": "add",
    "mul": "mul",
    "max": "max",
    "min": "min",
    "eq": "eq",
    "ne": "ne",
    "lt": "gt",
    "le": "ge",
    "gt": "lt",
    "ge": "le",
}
"""Operations of the form `binary`, and what gives the same of the operands in the other order."""


def cast(tile: Tile, dtype: DType) -> Tile:
    """The values in another element type, real numbers to nearest, ties to even.

    Integers wrap; real numbers that become integers lose their fraction, and one that does not fit then
    stops the run.
    """
    outside("cast")


def neg(x: Value) -> Value:
    """`-x`, of every element of a tile or of a number."""
    outside("neg")


def abs(x: Value) -> Value:
    """`|x|`, of every element of a tile or of a number."""
    outside("abs")


def exp(x: Value) -> Value:
    """`eˣ`, of every element of a tile or of a number."""
    outside("exp")


def exp2(x: Value) -> Value:
    """`2ˣ`, of every element of a tile or of a number."""
    outside("exp2")


def log(x: Value) -> Value:
    """The natural logarithm, of every element of a tile or of a number; -∞ of 0, NaN below."""
    outside("log")


def log2(x: Value) -> Value:
    """The logarithm to base 2, of every element of a tile or of a number; -∞ of 0, NaN below."""
    outside("log2")


def sqrt(x: Value) -> Value:
    """The square root, of every element of a tile or of a number; NaN below 0."""
    outside("sqrt")


def rsqrt(x: Value) -> Value:
    """`1 / √x`, of every element of a tile or of a number."""
    outside("rsqrt")


def recip(x: Value) -> Value:
    """`1 / x`, of every element of a tile or of a number."""
    outside("recip")


def relu(x: Value) -> Value:
    """`max(x, 0)`, of every element of a tile or of a number."""
    outside("relu")


def tanh(tile: Tile) -> Tile:
    """The hyperbolic tangent, of every element of a tile."""
    outside("tanh")


def round(tile: Tile) -> Tile:
    """The nearest whole number, of two the even one, of every element of a tile."""
    outside("round")


def floor(tile: Tile) -> Tile:
    """The largest whole number that is not above `x`, of every element of a tile."""
    outside("floor")


def ceil(tile: Tile) -> Tile:
    """The smallest whole number that is not below `x`, of every element of a tile."""
    outside("ceil")


def sin(x: Value) -> Value:
    """The sine of an angle in radians, of every element of a tile or of a number."""
    outside("sin")


def cos(x: Value) -> Value:
    """The cosine of an angle in radians, of every element of a tile or of a number."""
    outside("cos")


def sigmoid(tile: Tile) -> Tile:
    """`1 / (1 + e⁻ˣ)`, of every element of a tile."""
    outside("sigmoid")


def silu(tile: Tile) -> Tile:
    """`x · sigmoid(x)`, of every element of a tile; 0 of -∞."""
    outside("silu")


def gelu(tile: Tile) -> Tile:
    """`x / 2 · (1 + erf(x / √2))`, of every element of a tile; 0 of -∞."""
    outside("gelu")


def gelu_tanh(tile: Tile) -> Tile:
    """`x / 2 · (1 + tanh(√(2/π) (x + 0.044715 x³)))`, of every element of a tile; 0 of -∞."""
    outside("gelu_tanh")


def erf(tile: Tile) -> Tile:
    """The error function, `2/√π ∫₀ˣ e^(-t²) dt`, of every element of a tile."""
    outside("erf")


def maximum(a: Value | Number, b: Value | Number) -> Value:
    """The larger of two: of two tiles element by element, of a tile and a number, or of two numbers; NaN
    where one is NaN.
    """
    outside("maximum")


def minimum(a: Value | Number, b: Value | Number) -> Value:
    """The smaller of two: of two tiles element by element, of a tile and a number, or of two numbers; NaN
    where one is NaN.
    """
    outside("minimum")


def rowmax(tile: Tile) -> Tile:
    """One column: the largest element of every row; -∞ of none."""
    outside("rowmax")


def colmax(tile: Tile) -> Tile:
    """One row: the largest element of every column; -∞ of none."""
    outside("colmax")


def rowmin(tile: Tile) -> Tile:
    """One column: the smallest element of every row; ∞ of none."""
    outside("rowmin")


def colmin(tile: Tile) -> Tile:
    """One row: the smallest element of every column; ∞ of none."""
    outside("colmin")


def rowsum(tile: Tile) -> Tile:
    """One column: the sum of every row, `f32`, of `f64` tiles `f64`."""
    outside("rowsum")


def colsum(tile: Tile) -> Tile:
    """One row: the sum of every column, `f32`, of `f64` tiles `f64`."""
    outside("colsum")


def rowmean(tile: Tile) -> Tile:
    """One column: the mean of every row, `f32`, of `f64` tiles `f64`; NaN of none."""
    outside("rowmean")


def colmean(tile: Tile) -> Tile:
    """One row: the mean of every column, `f32`, of `f64` tiles `f64`; NaN of none."""
    outside("colmean")


def rowargmax(tile: Tile) -> Tile:
    """One column: where each row has its first NaN, or else its first largest element, `f32`; -1 of none."""
    outside("rowargmax")


def colargmax(tile: Tile) -> Tile:
    """One row: where each column has its first NaN, or else its first largest element, `f32`; -1 of none."""
    outside("colargmax")


def rowargmin(tile: Tile) -> Tile:
    """One column: where each row has its first NaN, or else its first smallest element, `f32`; -1 of none."""
    outside("rowargmin")


def colargmin(tile: Tile) -> Tile:
    """One row: where each column has its first NaN, or else its first smallest element, `f32`; -1 of none."""
    outside("colargmin")


def load(view: View, shape: tuple[int, int] | None = None, dtype: DType | None = None) -> Tile:
    """A tile with the elements of a view.

    The room of the tile is that of the view, where its extents are constants or bounded (`X[tile(i,
    64)]`), or what `shape = (rows, columns)` says: constants, or integers with a bound. What lies past the
    end of the view is not valid. A view of one dimension is one row, or one column with `shape=(n, 1)`;
    `view.T` loads transposed. `dtype` converts while loading; without it tiles have the type of the view.

    Errors: an unknown extent without `shape`, an `Out` view.
    """
    outside("load")


def store(view: View, tile: Tile) -> None:
    """Stores the valid part of a tile, rounded to the type of the view, from the first element of the view
    on.

    The same as `view[...] = tile`. A tile that reaches past the end of the view stops the run; one that is
    known to be larger or smaller than the view is refused.
    """
    outside("store")


def atomic_add(view: View, tile: Tile) -> None:
    """Adds the valid part of a tile to what is there, from the first element of the view on, which is an
    `InOut`.

    Each sum is computed in `f64` and rounded once to the type of the view; of integers it wraps. Tasks
    that add to the same elements do so one after the other, in the order in which the workload has them,
    so that a sum has the same bits with any schedule. Errors are those of `store`.
    """
    outside("atomic_add")


def full(shape: tuple[int, int], value: Number, dtype: DType = f32) -> Tile:
    """A tile of one value.

    `shape = (rows, columns)`: constants, or integers with a bound, such as extents of views and tiles
    (`x.shape[0]`, `t.rows`), which give the tile as many valid rows and columns as there are in the
    running task.
    """
    outside("full")


def zeros(shape: tuple[int, int], dtype: DType = f32) -> Tile:
    """`full(shape, 0.0, dtype)`."""
    outside("zeros")


def matmul(a: Tile, b: Tile, acc: Tile | None = None) -> Tile:
    """`a · b`, or `acc + a · b`: `(m, k)` and `(k, n)` give `(m, n)`, `f32`, or `f64` where an operand is. `a
    @ b` is the same without `acc`.

    `b.T` is read as it lies, without a copy. Where the valid inner sizes differ, the smaller counts. `acc
    = pto.matmul(a, b, acc)` adds in place.
    """
    outside("matmul")


def clamp(x: Value, low: Number, high: Number) -> Value:
    """`minimum(maximum(x, low), high)`, of every element of a tile or of a number."""
    outside("clamp")


def where(mask: Tile, a: Tile | Number, b: Tile | Number) -> Tile:
    """`a` where the mask is not 0, else `b`, element by element. NaN is not 0.

    `a` and `b` are numbers, or tiles with the shape of the mask, one column, one row or one element.
    Comparisons of tiles give masks: `pto.where(x < 0.0, 0.0, x)`.
    """
    outside("where")


def cumsum(tile: Tile) -> Tile:
    """The sum of every element and those before it in its row, added from the first on."""
    outside("cumsum")


def gather(tile: Tile, indices: Tile, axis: int = 1) -> Tile:
    """With `axis=1`, the element of the same row and of the column that `indices` says; with `axis=0`, of the
    same column and of that row.

    `indices` is a tile of integers, or an `f32` or `f64` tile of whole numbers, such as `rowargmax`,
    `topk` and `iota` give. It has the rows of `tile` (`axis=1`) or its columns (`axis=0`), and its shape
    is that of the result. An index that is no whole number, or past what is valid of `tile`, stops the
    run.
    """
    outside("gather")


def reshape(tile: Tile, shape: tuple[int, int]) -> Tile:
    """The elements of a tile, row by row, in another shape.

    `shape` is as in `full`, and has as many elements as the valid part of `tile`.
    """
    outside("reshape")


def random(
    shape: tuple[int, int], seed: int, first: int = 0, pitch: int | None = None, dtype: DType = f32
) -> Tile:
    """Random numbers from 0 up to 1, exclusive, evenly distributed: multiples of 2^-24, rounded to `dtype`,
    which may give 1 in types narrower than `f32`.

    Element `(r, c)` is number `first + r · pitch + c` of the sequence of `seed`; without `pitch` rows
    follow each other. A number depends on the seed and its place in the sequence alone, so tiles of any
    size give an array the same numbers: with `first = i · n + j` and `pitch = n` for the tile that begins
    in row `i` and column `j` of an array of `n` columns. `shape` is as in `full`. `seed`, `first` and
    `pitch` are below 2^32. The generator is Philox-4x32 with 10 rounds.
    """
    outside("random")


def transpose(tile: Tile) -> Tile:
    """Rows and columns exchanged; the same as `tile.T`."""
    outside("transpose")


def mask(tile: Tile, rows: int | None = None, cols: int | None = None, value: Number = 0.0) -> Tile:
    """The tile with every element from row `rows` on, and every element from column `cols` on, replaced by
    `value`.

    Both are counted from the first row and column of the tile. Errors: neither is given.
    """
    outside("mask")


def mask_causal(tile: Tile, col: int, value: Number) -> Tile:
    """The tile with the elements from column `col + r` on replaced by `value` in every row `r`. `col` may be
    below 0.

    With queries `q0 ..` in rows and keys `k0 ..` in columns, `col = q0 + 1 - k0` hides the keys after each
    query.
    """
    outside("mask_causal")


def mask_band(tile: Tile, begin: int, end: int, group: int, value: Number) -> Tile:
    """The tile with the elements outside of columns `begin + r // group` up to `end + r // group`, which is
    not kept, replaced by `value` in every row `r`. `begin` and `end` may be below 0.

    `group` rows in a row share a band, and the next ones have theirs a column further right; 0 counts as
    1. With queries `q0 ..` of `group` heads each in rows and keys `k0 ..` in columns, `end = q0 + 1 - k0`
    and `begin = end - window` keep the `window` keys up to each query.
    """
    outside("mask_band")


def iota(shape: tuple[int, int], start: int = 0, dtype: DType = f32) -> Tile:
    """A tile whose column `c` is `start + c` in every row; `start` may be below 0.

    `shape` is as in `full`. Whole numbers are exact up to 2^53 in `f64`, 2^24 in `f32`, 2^11 in `f16`, 2^8
    in `bf16`; beyond they are rounded.
    """
    outside("iota")


def insert(tile: Tile, part: Tile, row: int, col: int) -> Tile:
    """The tile with `part` in it, from row `row` and column `col` on.

    The valid part stays that of `tile`. A part that reaches past it stops the run; one that is known to be
    larger is refused.
    """
    outside("insert")


def extract(tile: Tile, shape: tuple[int, int], row: int, col: int) -> Tile:
    """What a tile has from row `row` and column `col` on.

    `shape = (rows, columns)` is the room of the result, in constants. What lies past the end of the tile
    is not valid.
    """
    outside("extract")


def topk(values: Tile, indices: Tile, src: Tile, first: int) -> tuple[Tile, Tile]:
    """The lists of largest values with the row of `src` taken in: `values, indices = pto.topk(values,
    indices, src, first)`.

    Column `c` of `src` has the index `first + c`. Each row of `values` and `indices`, `(rows, k)` and
    `f32`, runs from the largest value to the smallest, equal values from the lower index to the higher;
    NaN counts as -inf. Begin with `pto.full((rows, k), -math.inf)` and `pto.full((rows, k), -1.0)`.
    Indices are exact below 2^24.
    """
    outside("topk")
