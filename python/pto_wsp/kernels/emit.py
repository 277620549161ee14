"""Builds the body of a function as the trace spells it.

Expressions and statements are dicts in the form of the trace, except that `"s"` holds a place and not yet its
index.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._seam import Span, SpanTable

Expr = dict[str, Any]
Stmt = dict[str, Any]

TileTy = tuple[int, int, str]
"""Rows and columns that a tile has room for, and its element type."""


def int_literal(value: int, ty: str, span: Span | None = None) -> Expr:
    """An integer constant that is known to fit its type."""
    return {"k": "int", "v": value, "ty": ty, "s": span}


def f32_literal(value: float, span: Span | None = None) -> Expr:
    """The `f32` nearest to a number. `OverflowError` when it is finite and none is."""
    if math.isnan(value):
        word: float | str = "nan"
    elif math.isinf(value):
        word = "inf" if value > 0 else "-inf"
    else:
        word = struct.unpack("<f", struct.pack("<f", value))[0]
    return {"k": "float", "v": word, "ty": "f32", "s": span}


class Builder:
    """The locals of a function and the block that is being written."""

    def __init__(self) -> None:
        self.locals: list[dict[str, Any]] = [{"name": "desc", "ty": "descriptor"}]
        self.block: list[Stmt] = []
        self._free: dict[TileTy, list[int]] = {}

    def stmt(self, kind: str, span: Span | None, **fields: Any) -> None:
        """Appends a statement; fields of None are left out."""
        stmt: Stmt = {"k": kind}
        stmt.update((name, value) for name, value in fields.items() if value is not None)
        stmt["s"] = span
        self.block.append(stmt)

    @contextmanager
    def into(self, block: list[Stmt]) -> Iterator[list[Stmt]]:
        """Statements go to `block` meanwhile."""
        outer, self.block = self.block, block
        try:
            yield block
        finally:
            self.block = outer

    def scalar(self, name: str, ty: str, span: Span | None) -> int:
        """A scalar variable."""
        self.locals.append({"name": name, "s": span, "ty": ty})
        return len(self.locals) - 1

    def tile(self, name: str, ty: TileTy, span: Span | None) -> int:
        """A tile: one that was given back, else another local."""
        free = self._free.get(ty)
        if free:
            local = free.pop()
            self.locals[local].update(name=name, s=span)
            return local
        rows, cols, elem = ty
        self.locals.append(
            {"name": name, "s": span, "ty": "tile", "rows": rows, "cols": cols, "elem": elem, "role": "vec"}
        )
        return len(self.locals) - 1

    def give_back(self, local: int) -> None:
        """Nobody reads this tile again before it is written."""
        self._free.setdefault(self.tile_ty(local), []).append(local)

    def rename(self, local: int, name: str) -> None:
        """A value becomes a variable."""
        self.locals[local]["name"] = name

    def tile_ty(self, local: int) -> TileTy:
        """The type of a tile."""
        entry = self.locals[local]
        return (entry["rows"], entry["cols"], entry["elem"])


def resolve(value: Any, spans: SpanTable) -> Any:
    """A copy with the index of each place in the place's stead."""
    if isinstance(value, dict):
        copy = {}
        for name, part in value.items():
            if name != "s":
                copy[name] = resolve(part, spans)
            elif part is not None:
                copy[name] = spans.add(*part)
        return copy
    if isinstance(value, list):
        return [resolve(part, spans) for part in value]
    return value
