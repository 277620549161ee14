"""The functions of kernels.

They have a meaning inside a function with `@kernel`, where they are compiled; called elsewhere they raise
`KernelError`. Tiles are values: a function makes a tile and changes none. A tile has room for a fixed number
of rows and columns, and a part of it is valid: what was loaded near the end of a view, say. Operations work
on valid parts.

Arithmetic is done in `f32`, and in `f64` where an operand is `f64`. A result is rounded to the element type
of the operands where all have the same, else it has the type of the arithmetic; products and sums always do.
Integers and truth values go with those of their own type, in which they compute; overflow wraps.

Where two tiles meet they have the same shape, or one of them has one column (a value per row), one row (a
value per column), or one element. Numbers stand on either side.
"""

# ruff: noqa: F403, F405
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .tile_functions import *
from .tile_functions import outside

if TYPE_CHECKING:
    from ._static import Tile

    Number = int | float

# Written out: checkers of types read no names of another module.
__all__ = [
    "abs",
    "atomic_add",
    "broadcast",
    "cast",
    "ceil",
    "ceildiv",
    "clamp",
    "colargmax",
    "colargmin",
    "colmax",
    "colmean",
    "colmin",
    "colsum",
    "concat",
    "coord",
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
    "max",
    "maximum",
    "min",
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
    "sum",
    "tanh",
    "topk",
    "transpose",
    "where",
    "zeros",
]


def max(a: Tile | Number, b: Number | None = None) -> Any:
    """The largest element of a tile as a number, -inf of none; or the larger of two numbers."""
    outside("max")


def min(a: Tile | Number, b: Number | None = None) -> Any:
    """The smallest element of a tile as a number, inf of none; or the smaller of two numbers."""
    outside("min")


def sum(tile: Tile) -> float:
    """The sum of all elements of a tile, as a number."""
    outside("sum")


def concat(a: Tile, b: Tile, axis: int = 1) -> Tile:
    """Two tiles side by side (`axis=1`) or one below the other (`axis=0`).

    What is valid of `b` follows what is valid of `a`. The other extents are equal: where
    that depends on the data, tiles that differ stop the run.
    """
    outside("concat")


def broadcast(tile: Tile, shape: tuple[int, int]) -> Tile:
    """A tile of one column, one row or one element, repeated to a shape; `shape` is as in `full`."""
    outside("broadcast")


def ceildiv(a: int, b: int) -> int:
    """`⌈a / b⌉`"""
    outside("ceildiv")


def coord(n: int) -> int:
    """Coordinate `n` of the task: `k[b, h](…)` has the coordinates `b` (0) and `h` (1). In a
    `@python_kernel` too.
    """
    from .kernels.foreign import current_coord

    return current_coord(n)
