"""What batches are given: page tables, numbers, arrays, each refused where it cannot be."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from . import _core
from ._raise import argument_error
from .dtypes import DType, dtype_of, f32
from .expr import describe

TABLE = ("indptr", "indices", "last_page_len")
"""The parts of a page table."""
MOST = 2**32 - 1
"""The largest of 32 bits."""


def named_table(cache: str, indptr: Any, indices: Any, last: Any) -> dict[str, Any]:
    given = dict(zip(TABLE, (indptr, indices, last), strict=True))
    for name, values in given.items():
        numbers(name, values)
    return {f"{cache}.{name}": values for name, values in given.items()}


def numbers(name: str, values: Any) -> Any:
    """Integers in one dimension, as an array of NumPy."""
    try:
        found = np.asarray(values)
    except (TypeError, ValueError):
        found = np.asarray(None)
    if found.size == 0 and found.ndim == 1 and isinstance(values, (list, tuple)):
        found = found.astype(np.int64)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        listed = found.dtype.kind in "OUS" or isinstance(values, (list, tuple))
        what = describe(values) if listed else f"{found.dtype} with {found.ndim} dimensions"
        raise argument_error(
            1263, f"`{name}` is {what}", "give a list of integers, or an array of integers with one dimension"
        )
    return found


def write_in_place(name: str, values: Any, new: Any) -> None:
    """Gives the elements of a list, or of what shares its memory with NumPy, other values."""
    seen = np.asarray(values)
    if not isinstance(values, list) and int(new.max(initial=0)) > np.iinfo(seen.dtype).max:
        raise argument_error(
            1263,
            f"`{name}` is of {seen.dtype}, which does not hold {int(new.max())}",
            "plan with an array of `np.int32`",
        )
    if isinstance(values, list):
        values[:] = new.tolist()
    elif seen.flags.writeable:
        seen[...] = new
    # What is no array, a tuple for instance, has given a copy.
    if not np.array_equal(np.asarray(values), new):
        raise argument_error(
            1255,
            f"`{name}` is {describe(values)}, which cannot be changed in place",
            "plan with a list or an array that may be written",
        )


def refuse_more_queries(table: dict[str, Any], page_size: int) -> None:
    """Refuses requests that have fewer tokens than queries, of a page table that can be."""
    starts, indptr, last = (
        np.asarray(table[name], np.int64) for name in ("q_indptr", "kv.indptr", "kv.last_page_len")
    )
    asked = np.diff(starts)
    tokens = np.maximum(np.diff(indptr) - 1, 0) * page_size + last
    over = np.flatnonzero(asked > tokens)
    if over.size:
        at = int(over[0])
        raise argument_error(
            1263,
            f"request {at} asks {asked[at]} queries, and has as many tokens as {tokens[at]}",
            "queries are the last tokens of their request: give these pages and count them in "
            "`last_page_len` first",
        )


def most(indices: Any, used: int) -> int:
    """The largest page that is named by the first so many numbers; behind them there is room."""
    found = np.asarray(indices)[: max(used, 0)]
    return max(0, min(int(found.max()), 2**31)) if found.size else 0


def length(values: Any) -> int:
    try:
        return len(values)
    except TypeError:
        raise argument_error(
            1263, f"{describe(values)} has no elements", "give a list of integers, or an array of integers"
        ) from None


def short(values: Any) -> str:
    return f"[{', '.join(map(str, values[:4]))}{', …' if len(values) > 4 else ''}]"


def count(value: Any, name: str, least: int, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or not least <= number <= most:
        raise argument_error(
            1262, f"`{name}` is {describe(value)}", f"give an integer from {least} to {most}"
        )
    return number


def scale(sm_scale: Any) -> dict[str, float]:
    if sm_scale is None:
        return {}
    number = isinstance(sm_scale, (int, float, np.floating)) and not isinstance(sm_scale, bool)
    if not number or not abs(float(sm_scale)) <= float(np.finfo(np.float32).max):
        raise argument_error(
            1262, f"`sm_scale` is {describe(sm_scale)}", "give a finite number that f32 has, or None"
        )
    return {"sm_scale": float(sm_scale)}


def schedule_of(splits: Any) -> tuple[str, dict[str, Any]]:
    """The schedule of a way to cut, and its parameters."""
    named = {"balanced": "Balanced", "whole": "Whole"}
    if isinstance(splits, str) and splits in named:
        return named[splits], {}
    if isinstance(splits, bool) or not isinstance(splits, (int, np.integer)) or not 0 < splits <= MOST:
        raise argument_error(
            1262,
            f"`splits` is {describe(splits)}",
            'give `"balanced"`, `"whole"`, or the tokens of a piece, such as 512',
        )
    return "Fixed", {"split_size": int(splits)}


def shared(name: str, array: Any) -> Any:
    """An array with a shape and a type."""
    if hasattr(array, "shape") and hasattr(array, "dtype"):
        return array
    try:
        return np.from_dlpack(array) if hasattr(array, "__dlpack__") else np.asarray(memoryview(array))
    except (TypeError, ValueError, RuntimeError, BufferError, AttributeError):
        raise argument_error(
            1250, f"`{name}` is {describe(array)}, no array", "give an array of NumPy, or a tensor of PyTorch"
        ) from None


def of_type(name: str, array: Any, want: DType) -> None:
    have = str(array.dtype).rpartition(".")[2]
    if dtype_of(have) is not want:
        what = "results are" if want is f32 and name in ("out", "lse") else "the plan is for"
        raise argument_error(
            1252, f"`{name}` has elements of type {have}", f"{what} {want}: convert it, or plan for its type"
        )


def reshaped(name: str, array: Any, shape: tuple[int, ...]) -> Any:
    """The same memory with an extent of 1 more."""
    seen = array.reshape(shape)
    if name != "q" and isinstance(seen, np.ndarray) and seen.size and not np.may_share_memory(seen, array):
        raise argument_error(
            1254,
            f"`{name}` is no array without gaps",
            f"give one: `{name} = np.empty({array.shape}, np.float32)`",
        )
    return seen


def without_gaps(array: Any, copied: tuple[Any, Any] | None) -> tuple[Any, tuple[Any, Any] | None]:
    """An array of rows without gaps between its elements: itself, or room of its shape, with what is copied
    there. The room of the last one is taken again where it fits.
    """
    # What a masked array hides is not copied: it is refused as an argument, as each of them is.
    masked = np.ma.is_masked(array)
    if masked or not isinstance(array, np.ndarray) or array.flags.c_contiguous:
        return array, None
    room = None if copied is None else copied[0]
    if room is None or room.shape != array.shape or room.dtype != array.dtype:
        room = np.empty(array.shape, array.dtype)
    return room, (room, array)


def copy_rows(room: Any, rows: Any) -> None:
    """Copies rows that have gaps between their elements, which no run writes meanwhile."""
    reading = _core.Reading("q", rows)
    try:
        np.copyto(room, rows)
    finally:
        reading.end()
