"""What the parameters of a kernel are annotated with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from .. import errors
from .._seam import caller_span
from ..dtypes import DTYPES, DType, dtype_of, u32
from ..expr import describe

__all__ = ["Constexpr", "In", "InOut", "Out", "ParamType", "Scalar", "Tile", "TileType", "View", "param_type"]


@dataclass(frozen=True, slots=True)
class TileType:
    """`Tile[rows, columns, dtype]`: the extents and the element type of a two-dimensional view."""

    rows: int
    cols: int
    dtype: DType | None


@dataclass(frozen=True, slots=True)
class ParamType:
    """An annotation, read: what the parameter takes, and what is required of it.

    `dims` has one entry per dimension of a view, None where any extent will do; `dims` of None is any number
    of dimensions.
    """

    kind: Literal["in", "out", "inout", "scalar", "constexpr"]
    dtype: DType | None = None
    dims: tuple[int | None, ...] | None = None


class View:
    """A region of a tensor as a kernel sees it: index 0 is where it begins, indexed dimensions are gone.

    `x.shape[d]`, `x.dtype`, `x.ndim`; `x[i]`, `x[lo:hi]`, `x[i, :, lo:hi]` are smaller views; `x.T` is
    transposed; with an index for every dimension it is one number.
    """

    shape: tuple[int, ...]
    dtype: DType
    ndim: int
    T: View

    def __init__(self) -> None:
        raise TypeError(
            "In, Out and InOut are annotations of kernel parameters and have no values outside a kernel"
        )

    def __getitem__(self, index: Any) -> Any:
        """A smaller view, or one element."""

    def __setitem__(self, index: Any, value: Any) -> None:
        """Stores a tile, or one element."""

    def __class_getitem__(cls, item: Any) -> ParamType:
        return _view_type(cls, item)


class In(View):
    """A view that the kernel reads. `In[f32]`, `In[f32, 64, None]` and `In[Tile[64, 128, f32]]` say more
    of it.
    """


class Out(View):
    """A view that the kernel writes and does not read."""


class InOut(View):
    """A view that the kernel reads and writes."""


if TYPE_CHECKING:
    # What a checker sees in the body of a kernel.
    Scalar: TypeAlias = int
    Constexpr: TypeAlias = Any
else:

    class Scalar(int):
        """An integer that a task gives to its kernel, `u32` in the kernel's descriptor."""

        def __class_getitem__(cls, item: Any) -> ParamType:
            if dtype_of(item) is not u32:
                raise _refused(
                    f"the type of a `Scalar` is {describe(item)}", "write `Scalar`, which is `u32`"
                )
            return ParamType("scalar", u32)

    class Constexpr:
        """A value that Python knows when the kernel is compiled; each is a specialisation of its own."""

        def __class_getitem__(cls, item: Any) -> ParamType:
            return ParamType("constexpr")


class Tile:
    """`Tile[rows, columns]` or `Tile[rows, columns, dtype]` inside `In[…]`, `Out[…]`, `InOut[…]`: a matrix
    of that shape.
    """

    def __class_getitem__(cls, item: Any) -> TileType:
        parts = item if isinstance(item, tuple) else (item,)
        if len(parts) not in (2, 3) or not all(_is_extent(p) for p in parts[:2]):
            raise _refused(
                f"a tile is said to be {describe(item)}",
                "write `Tile[rows, columns]` or `Tile[rows, columns, dtype]` with numbers from 1 on",
            )
        dtype = dtype_of(parts[2]) if len(parts) == 3 else None
        if len(parts) == 3 and dtype is None:
            raise _no_type(parts[2])
        return TileType(parts[0], parts[1], dtype)


_KINDS: dict[type, Literal["in", "out", "inout"]] = {In: "in", Out: "out", InOut: "inout"}


def param_type(annotation: Any) -> ParamType | None:
    """What an annotation says; None when it is none of this module's."""
    if isinstance(annotation, ParamType):
        return annotation
    if isinstance(annotation, type):
        if annotation in _KINDS:
            return ParamType(_KINDS[annotation])
        if annotation is Scalar:
            return ParamType("scalar", u32)
        if annotation is Constexpr:
            return ParamType("constexpr")
    return None


def _view_type(cls: type, item: Any) -> ParamType:
    parts = item if isinstance(item, tuple) else (item,)
    if len(parts) == 1 and isinstance(parts[0], TileType):
        tile = parts[0]
        return ParamType(_KINDS[cls], tile.dtype, (tile.rows, tile.cols))
    dtype = dtype_of(parts[0]) if parts else None
    if dtype is None:
        raise _no_type(parts[0] if parts else ())
    dims = parts[1:]
    for dim in dims:
        if dim is not None and not _is_extent(dim):
            raise _refused(f"an extent is {describe(dim)}", "write a number from 1 on, or None for any")
    return ParamType(_KINDS[cls], dtype, tuple(dims) if dims else None)


def _is_extent(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _no_type(value: Any) -> errors.WspError:
    return _refused(f"{describe(value)} is no element type", f"write one of {', '.join(DTYPES)}: `In[f32]`")


def _refused(message: str, help: str) -> errors.WspError:
    """The error of an annotation."""
    return errors.make(errors.ArgumentError, 1262, message, span=caller_span(), help=help)
