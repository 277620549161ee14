"""Arrays that begin at pages of memory, for what is read in pieces of a few KiB: caches."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from . import _core, errors
from ._arrays import view
from .dtypes import DTYPES, DType, dtype_of
from .expr import describe, in_order
from .spans import caller_span

if TYPE_CHECKING:
    from ._static import Array

__all__ = ["empty", "zeros"]

_MOST_BYTES = 2**63 - 1
"""No shape of more can be addressed."""


def zeros(shape: Any, dtype: Any) -> Array:
    """A NumPy array of zeros that begins at a page of memory, in large pages where the system has them.

    `dtype` is an element type (`f16`, `bf16`), its name, or a type of NumPy or `ml_dtypes`. Without
    `ml_dtypes` elements of bf16 and the 8-bit floats are refused, as NumPy has no type for them. Errors:
    `ArgumentError` for a shape or type that no array has, `ExecutionError` when memory is refused.
    """
    return _made(shape, dtype)


def empty(shape: Any, dtype: Any) -> Array:
    """As `zeros`, for an array that is filled before it is read: its elements may have any value."""
    return _made(shape, dtype)


def _made(shape: Any, dtype: Any) -> Any:
    element = _element(dtype)
    extents = _extents(shape)
    if math.prod(extents) * element.itemsize > _MOST_BYTES:
        raise _refused(
            1265,
            f"the shape {list(extents)} of {element} needs more bytes than can be addressed",
            "give smaller sizes",
        )
    return view(_core.new_array(element.name, extents))


def _element(dtype: Any) -> DType:
    element = dtype_of(dtype)
    known = ", ".join(DTYPES)
    if element is None:
        raise _refused(
            1251, f"`dtype` is {describe(dtype)}, which no tensor can have", f"give one of {known}"
        )
    if not getattr(dtype, "isnative", True):
        raise _refused(1256, f"`dtype` is {dtype!r}, of the other byte order", f"give `{element}`")
    if element.name in ("bf16", "f8e4m3", "f8e5m2"):
        try:
            import ml_dtypes  # noqa: F401
        except ImportError:
            raise _refused(
                1265, f"NumPy has no elements of type {element}", "install them: `pip install ml_dtypes`"
            ) from None
    return element


def _extents(shape: Any) -> tuple[int, ...]:
    try:
        extents = (operator.index(shape),)
    except TypeError:
        try:
            extents = tuple(operator.index(extent) for extent in in_order(shape))
        except TypeError:
            raise _refused(
                1265,
                f"`shape` is {describe(shape)}",
                "give an integer or a tuple of integers: `(64, 16, 2, 64)`",
            ) from None
    negative = next((extent for extent in extents if extent < 0), None)
    if negative is not None:
        raise _refused(
            1265, f"an extent of the shape {list(extents)} is negative: {negative}", "give sizes from 0"
        )
    return extents


def _refused(code: int, message: str, help: str) -> errors.WspError:
    return errors.make(errors.ArgumentError, code, message, span=caller_span(), help=[help])
