"""The state of one compilation: the function being written, the call stack of inlined helpers, and faults
at places.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from .. import errors
from .._seam import Span
from ..spans import span_of_node
from ..texts import line_of
from . import codes
from .coverage import Coverage
from .emit import Builder, Expr, Stmt, TileTy
from .reads import Reads
from .source import Source
from .values import Const, Number, Scalar, TileVal, Value, ViewParam, ViewVal


@dataclass(frozen=True, slots=True)
class Var:
    """What a name stands for at one point of the function.

    `value` is what reading it yields. `local` holds a number that is not (only) known to Python. A name that
    has no value on some way to this point has `missing`, the reason.
    """

    value: Value | None
    local: int | None
    span: Span
    missing: str | None = None
    code: int = codes.UNASSIGNED


Env = dict[str, Var]


class End(Enum):
    """How a block ends: it goes on with what follows, leaves its loop or the kernel, or returns."""

    FALLS = 0
    LEAVES = 1
    RETURNS = 2


@dataclass(slots=True)
class Loop:
    """The names at every `break` and `continue` of a loop."""

    breaks: list[Env] = field(default_factory=list)
    continues: list[Env] = field(default_factory=list)


@dataclass(slots=True)
class Frame:
    """A function that is being compiled: the kernel, or a helper that it calls."""

    source: Source
    regions: int
    call: Span | None
    env: Env = field(default_factory=dict)
    slots: dict[tuple[str, str | TileTy], int] = field(default_factory=dict)
    loops: list[Loop] = field(default_factory=list)
    result: Value | None = None


class Cx:
    """One compilation."""

    def __init__(self, source: Source, views: tuple[ViewParam, ...], ncoords: int) -> None:
        self.builder = Builder()
        self.views = views
        self.ncoords = ncoords
        self.reads = Reads()
        self.stored = Coverage()
        self.fields: list[dict[str, Any]] = []
        self.frames = [Frame(source, 0, None)]
        self.regions = 0

    @property
    def frame(self) -> Frame:
        """The function whose statements are being compiled."""
        return self.frames[-1]

    @property
    def in_region(self) -> bool:
        """Whether the point lies in a branch or loop of its function."""
        return self.regions > self.frame.regions

    def span(self, node: ast.AST) -> Span:
        """The place of a node of the current function."""
        return span_of_node(self.frame.source.filename, node)

    def head(self, node: ast.stmt) -> Span:
        """The first line of a statement."""
        name, line, col, end_line, end_col = self.span(node)
        if line != end_line:
            end_col = len(line_of(name, line).rstrip().encode())
        return (name, line, col, line, max(end_col, col + 1))

    def fault(
        self,
        code: int,
        message: str,
        at: ast.AST | Span,
        *,
        label: str = "",
        labels: Iterable[tuple[Span, str]] = (),
        notes: Iterable[str] = (),
        help: Iterable[str] | str = (),
    ) -> errors.WspError:
        """An error at a place; in a helper it shows the calls that lead there."""
        span = self.span(at) if isinstance(at, ast.AST) else at
        calls = [(f.call, f"in this call of `{f.source.name}`") for f in self.frames if f.call]
        return codes.kernel_error(
            code, message, span, label=label, labels=[*labels, *calls], notes=notes, help=help
        )

    @contextmanager
    def region(self, block: list[Stmt]) -> Iterator[None]:
        """Statements go to the block of a branch or loop meanwhile."""
        self.regions += 1
        try:
            with self.builder.into(block):
                yield
        finally:
            self.regions -= 1

    def pin(self, value: Number, name: str, span: Span) -> Number:
        """The value as it is now, to be used more than once: what may change, or is long, gets a variable
        of its own.
        """
        if isinstance(value, Const) or (value.invariant and is_short(value.x)):
            return value
        local = self.builder.scalar(name, value.ty, span)
        self.builder.stmt("assign", span, local=local, value=value.x)
        return Scalar(local_expr(local, value.ty, span), value.ty, value.lo, value.hi, value.invariant)

    def field_word(self, entry: dict[str, Any], span: Span) -> Expr:
        """A word of the descriptor, as `u32`."""
        if entry not in self.fields:
            self.fields.append(entry)
        return {"k": "field", "id": self.fields.index(entry), "s": span}

    def task_scalar(self, number: int, name: str, span: Span) -> Scalar:
        """Scalar `number` of the task, coordinates first, as `i64`."""
        word = self.field_word({"name": name, "scalar": number}, span)
        return Scalar({"k": "cast", "a": word, "ty": "i64", "s": span}, "i64", 0, 2**32 - 1, invariant=True)

    def release(self, *tiles: TileVal) -> None:
        """Temporary tiles that nothing reads again."""
        for local in {t.local for t in tiles if t.temp}:
            self.builder.give_back(local)

    def view_name(self, view: ViewVal) -> str:
        """The name of the parameter that a view lies in."""
        return self.views[view.view].name


def is_short(x: Expr) -> bool:
    """Whether an expression may be repeated: a number, a word of the descriptor, or one operation on
    those.
    """
    open_nodes, left = [x], 6
    while open_nodes and left > 0:
        node, left = open_nodes.pop(), left - 1
        open_nodes += [part for part in node.values() if isinstance(part, dict)]
        if "of" in node:
            return False
    return not open_nodes


def local_expr(local: int, ty: str, span: Span | None) -> Expr:
    """A scalar variable."""
    return {"k": "local", "id": local, "ty": ty, "s": span}
