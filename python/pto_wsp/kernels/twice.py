"""Functions that may read an `Out` of integers or 8-bit floats first: called twice to debug them.

An `Out` holds a pattern then: NaN for real numbers of 16 bits or more. What is computed from a pattern of
others looks like any other number. So a second call begins with the complement of each bit, and what
differs comes from what was there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from . import codes
from .source import Source

FAULT_OF_A_TASK, FAULT_OF_A_BLOCK = 856, 1542
"""The codes of what fails a task of a workload, and a block of a task graph."""

_SEES_ALL = {"locals", "vars", "eval", "exec"}
"""Functions that see variables without their names."""

_FACTS = frozenset("dtype fill flags itemsize nbytes ndim shape size strides".split())
"""Attributes of an array that tell nothing of its elements."""


def may_read(source: Source | None, outs: Sequence[str]) -> set[str]:
    """The parameters whose elements the text of a function may read; all of them without a text."""
    if source is None:
        return set(outs)
    nodes = list(ast.walk(source.tree))
    parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
    names = [node for node in nodes if isinstance(node, ast.Name)]
    if any(node.id in _SEES_ALL for node in names):
        return set(outs)
    return {node.id for node in names if node.id in outs and not _only_writes(node, parents)}


def _only_writes(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a use of an array stores to it, or looks at its shape."""
    while True:
        at = parents[node]
        match at:
            case ast.Subscript(value=value, ctx=ast.Store()) if value is node:
                return not isinstance(parents[at], ast.AugAssign)
            case ast.Subscript(value=value, ctx=ast.Load()) if value is node:
                node = at
            case ast.Attribute(attr="T"):
                node = at
            case ast.Attribute(attr=name):
                return name in _FACTS
            case ast.Call(func=ast.Name(id="len")):
                return True
            case ast.keyword(arg="out"):
                return True
            case _:
                return False


def call_twice(
    call: Callable[[], None], arrays: Sequence[tuple[str, Any, bool]], code: int, what: str
) -> None:
    """Calls a function over arrays by name, of which those that are marked are `Out` and may be read.

    Other arrays that it writes are as they were when the second call begins. Raises `KernelError` if the
    calls write different elements; these are then as they were before.
    """
    import numpy

    written = [(name, array, array.copy(), marked) for name, array, marked in arrays if array.flags.writeable]
    looked_at = [
        array
        for _, array, _, marked in written
        if marked
        and (array.dtype.kind in "iu" or array.itemsize == 1)
        and not any(other is not array and numpy.may_share_memory(other, array) for _, other, _ in arrays)
    ]
    if not looked_at:
        call()
        return
    call()
    first = [array.copy() for _, array, _, _ in written]
    for _, array, before, _ in written:
        array[...] = before
    for array in looked_at:
        array[...] = _complement(array)
    call()
    read = ", ".join(f"`{name}`" for name, array, _, _ in written if any(array is each for each in looked_at))
    for (name, array, before, _), result in zip(written, first, strict=True):
        differ = (_bits(result) != _bits(array)).any(axis=1).reshape(array.shape)
        begun = _complement(before) if any(array is each for each in looked_at) else before
        left = (_bits(result) == _bits(before)).all(axis=1) & (_bits(array) == _bits(begun)).all(axis=1)
        array[differ] = before[differ]
        differ &= ~left.reshape(array.shape)
        count = int(differ.sum())
        if count:
            place = [int(at) for at in numpy.argwhere(differ)[0]]
            raise codes.kernel_error(
                code,
                f"{what} failed: of the elements of `{name}`, {array.size} in all, {count} "
                f"{'is' if count == 1 else 'are'} computed from what {read} held before, "
                f"the first at {place}",
                None,
                notes=["two calls of it, over other elements of an `Out`, differ"],
                help=f"declare {read} as `InOut`, or write all of it before it is read",
            )


def _complement(array: Any) -> Any:
    """The array with every bit turned."""
    import numpy

    bits = array.view(numpy.uint8) if array.itemsize == 1 else array
    return numpy.invert(bits).view(array.dtype)


def _bits(array: Any) -> Any:
    """The bytes of each element, in rows."""
    import numpy

    return numpy.frombuffer(array.tobytes(), numpy.uint8).reshape(array.size, array.itemsize)
