"""What the parameters of a kernel are annotated with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .. import errors
from .._seam import caller_span
from ..dtypes import DTYPES, DType, dtype_of, u32
from ..expr import describe
from ..tensors import TensorSpec

__all__ = ["Constexpr", "In", "InOut", "Out", "ParamType", "Scalar", "Tile", "View", "param_type"]


_NAMES = {"in": "In", "out": "Out", "inout": "InOut", "scalar": "Scalar", "constexpr": "Constexpr"}


@dataclass(frozen=True, slots=True)
class ParamType:
    """An annotation, read: what the parameter takes, and what is required of it.

    `dims` has one entry per dimension of a view, None where any extent will do; `dims` of None is any number
    of dimensions.
    """

    kind: Literal["in", "out", "inout", "scalar", "constexpr"]
    dtype: DType | None = None
    dims: tuple[int | None, ...] | None = None

    def __repr__(self) -> str:
        name = _NAMES[self.kind]
        if self.dims is not None:
            return f"{name}[Tensor[{', '.join(map(repr, (self.dtype, *self.dims)))}]]"
        return name if self.dtype is None else f"{name}[{self.dtype!r}]"

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise _refused(
            f"`{self!r}` is the annotation of a parameter, and makes nothing",
            f"write it in a kernel: `def k(x: {self!r}) -> None:`",
        )


if TYPE_CHECKING:
    from .._static import Constexpr, In, InOut, Out, Scalar, Tile, View
else:

    class View:
        """A region of a tensor as a kernel sees it: index 0 is where it begins, indexed dimensions are gone.

        `x.shape[d]`, `x.dtype`, `x.ndim`; `x[i]`, `x[lo:hi]`, `x[i, :, lo:hi]` are smaller views; `x.T` is
        transposed; with an index for every dimension it is one number.
        """

        def __init__(self, *given: Any, **named: Any) -> None:
            raise _no_value(type(self))

        def __class_getitem__(cls, item: Any) -> ParamType:
            return _view_type(cls, item)

    class In(View):
        """A view that the kernel reads: `In`, `In[f32]`, or with extents `In[Tensor[f32, 64, None]]`."""

    class Out(View):
        """A view that the kernel writes and does not read."""

    class InOut(View):
        """A view that the kernel reads and writes."""

    class Scalar(int):
        """An integer that a task gives to its kernel, `u32` in the kernel's descriptor."""

        def __new__(cls, *given: Any, **named: Any) -> Any:
            raise _no_value(cls)

        def __class_getitem__(cls, item: Any) -> ParamType:
            if dtype_of(item) is not u32:
                raise _refused(
                    f"the type of a `Scalar` is {describe(item)}", "write `Scalar`, which is `u32`"
                )
            return ParamType("scalar", u32)

    class Constexpr:
        """A value that Python knows when the kernel is compiled; each is a specialisation of its own."""

        def __init__(self, *given: Any, **named: Any) -> None:
            raise _no_value(type(self))

        def __class_getitem__(cls, item: Any) -> ParamType:
            return ParamType("constexpr")

    class Tile:
        """What kernels compute on: the type of parameters and results of functions that kernels call."""

        def __init__(self, *given: Any, **named: Any) -> None:
            raise _no_value(type(self))

        def __class_getitem__(cls, item: Any) -> Any:
            raise _refused(
                "`Tile[…]` is no annotation: tiles have no parameters",
                "say extents of a view with its type first: `In[Tensor[f32, 64, 128]]`",
            )


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
    if isinstance(item, TensorSpec):
        return ParamType(_KINDS[cls], item.dtype, tuple(map(_extent, item.dims)))
    parts = item if isinstance(item, tuple) else (item,)
    dtype = dtype_of(parts[0]) if parts else None
    if dtype is None:
        raise _no_type(parts[0] if parts else ())
    if len(parts) > 1:
        said = ", ".join(map(str, parts))
        raise _refused(
            f"`{cls.__name__}[{said}]` says extents beside a type",
            f"write `{cls.__name__}[Tensor[{said}]]`, which type checkers read too",
        )
    return ParamType(_KINDS[cls], dtype)


def _extent(dim: Any) -> int | None:
    if dim is not None and not _is_extent(dim):
        raise _refused(f"an extent is {describe(dim)}", "write a number from 1 on, or None for any")
    return dim


def _is_extent(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _no_value(annotation: type) -> errors.WspError:
    """The error of a call of an annotation."""
    name = annotation.__name__
    return _refused(
        f"`{name}(…)` is no value: `{name}` is an annotation",
        f"annotate a parameter of a kernel or of a function that it calls: `x: {name}`",
    )


def _no_type(value: Any) -> errors.WspError:
    return _refused(f"{describe(value)} is no element type", f"write one of {', '.join(DTYPES)}: `In[f32]`")


def _refused(message: str, help: str) -> errors.WspError:
    """The error of an annotation."""
    return errors.make(errors.ArgumentError, 1262, message, span=caller_span(), help=help)
