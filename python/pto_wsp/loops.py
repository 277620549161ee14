"""`P`: the loops, branches, selections and pipelines of workloads, and functions of expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, overload

from . import checks
from ._raise import trace_error
from ._seam import Span
from .axes import Dense, Sparse
from .domains import bounds_of, domain_of, row_of
from .expr import Expr, as_expr, binary, choose, condition_of, constant, describe
from .hints import lacks
from .nodes import Cond, Loop, Select, While
from .pipes import PipeBlock, ProcessBlock, SelectBlock
from .spans import caller_span
from .tensors import Indexable
from .tracing import Trace, current

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._static import Element, Integer, i64
    from .axes import Row

    Axis: TypeAlias = Integer | Dense | Row | range | Element
    Indices2 = tuple[Expr, Expr]
    Indices3 = tuple[Expr, Expr, Expr]
    Indices4 = tuple[Expr, Expr, Expr, Expr]

Index = TypeVar("Index")


class _P:
    """Loops and branches of workloads; the name `P` of the package is the one object of this class.

    `for b, h in P(batch, heads):` has iterations in any order, `P.seq(n)` one after the other,
    `P.sel(route[b])` the columns of a row. `P.when(c)`, `P.otherwise()` and `P.loop(c, max_rounds)` read what
    tasks have computed.
    """

    __slots__ = ()

    @overload
    def __call__(self, axis: Axis, /) -> Iterable[Expr]: ...
    @overload
    def __call__(self, a: Axis, b: Axis, /) -> Iterable[Indices2]: ...
    @overload
    def __call__(self, a: Axis, b: Axis, c: Axis, /) -> Iterable[Indices3]: ...
    @overload
    def __call__(self, a: Axis, b: Axis, c: Axis, d: Axis, /) -> Iterable[Indices4]: ...
    @overload
    def __call__(self, a: Axis, b: Axis, c: Axis, d: Axis, /, *more: Axis) -> Iterable[tuple[Expr, ...]]: ...
    def __call__(self, *axes: Any, **named: Any) -> Any:
        """`for i, j in P(n, m):` all index pairs, ordered by their data only.

        Takes axes, sizes, ints, expressions and Python's `range`. A ragged axis is taken under the index of
        the enclosing loop over its outer axis, or say it: `P(tok[b])`.
        """
        return LoopHead("P", axes, named, ordered=False)

    @overload
    def seq(self, axis: Axis, /) -> Iterable[Expr]: ...
    @overload
    def seq(self, a: Axis, b: Axis, /) -> Iterable[Indices2]: ...
    @overload
    def seq(self, a: Axis, b: Axis, c: Axis, /) -> Iterable[Indices3]: ...
    @overload
    def seq(self, a: Axis, b: Axis, c: Axis, d: Axis, /) -> Iterable[Indices4]: ...
    @overload
    def seq(self, a: Axis, b: Axis, c: Axis, d: Axis, /, *more: Axis) -> Iterable[tuple[Expr, ...]]: ...
    def seq(self, *axes: Any, **named: Any) -> Any:
        """`for i in P.seq(n):` one iteration after the other: its tasks start when all tasks of the one
        before are complete.
        """
        return LoopHead("P.seq", axes, named, ordered=True)

    def sel(self, row: Row | i64) -> SelectHead[Expr]:
        """`for e in P.sel(route[b]):` the columns of a row of a sparse axis; `P.sel(…).enumerate()` with
        their positions.

        `P.sel(route)` takes the row of the enclosing loop over the outer axis.
        """
        return SelectHead(row)

    def when(self, condition: Integer) -> WhenBlock:
        """`with P.when(i > 0):` tasks of the iterations for which the condition holds."""
        return WhenBlock(condition)

    def otherwise(self) -> OtherwiseBlock:
        """`with P.otherwise():` directly behind `with P.when(…)`: tasks of the others."""
        return OtherwiseBlock()

    def loop(self, condition: Integer, max_rounds: Integer) -> WhileHead:
        """`for _ in P.loop(again > 0, 100):` rounds while the condition holds, at most `max_rounds`.

        The condition reads slots; each round's tasks start when those of the one before are complete. A
        condition that still holds after `max_rounds` is an error of the run.
        """
        return WhileHead(condition, max_rounds)

    def pipe(self, *args: Any, **kwargs: Any) -> PipeBlock:
        """`with P.pipe():` processes that work at the same time and pass tiles through channels."""
        if args or kwargs:
            raise trace_error(
                1037,
                "`P.pipe` takes no axis",
                notes="stages of one loop that overlap are processes, with a channel between each two",
                help=[
                    'write `with P.pipe():`, in it `with P.process("load"):`, and channels between them',
                    "to bound what runs at once, `.pipeline_depth(n)` on the workload",
                ],
            )
        return PipeBlock()

    def process(self, name: str) -> ProcessBlock:
        """`with P.process("load"):` a process of the pipeline around it."""
        return ProcessBlock(name)

    def select_channel(self, *, all: bool = False) -> SelectBlock:
        """`with P.select_channel():` arms `with channel.consume() as tile:`, of which the first whose channel
        has a tile runs. With `all=True` again and again, until every channel is closed and empty.
        """
        return SelectBlock(all)

    def range(self, start: Integer, end: Integer | None = None, step: Integer = 1) -> Dense:
        """`P(P.range(lo, hi, step))`: a range whose ends may be expressions."""
        return Dense(start, end, step)

    def min(self, *values: Integer) -> Expr:
        """The least of integers."""
        return _fold("min", values)

    def max(self, *values: Integer) -> Expr:
        """The greatest of integers."""
        return _fold("max", values)

    @overload
    def ceildiv(self, a: int, b: int) -> int: ...
    @overload
    def ceildiv(self, a: Integer, b: Integer) -> Expr: ...
    def ceildiv(self, a: Any, b: Any) -> Any:
        """`a / b` rounded up; an int for ints."""
        result = binary("ceildiv", a, b)
        return result.args[0] if result.op == "const" else result

    def select(self, condition: Integer, then: Integer, otherwise: Integer | None = None) -> Expr:
        """`then` where the condition holds, else `otherwise`; only the one taken is evaluated."""
        if otherwise is None:
            help = "give what holds elsewhere, too: `P.select(condition, a, b)`"
            raise trace_error(1004, "`P.select` of one value", help=help)
        return choose(condition, then, otherwise)

    def __iter__(self) -> Any:
        raise trace_error(1001, "`P` itself is no loop", help="write `for i in P(n):`")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise lacks(self, name, "", shown="`P`")

    def __repr__(self) -> str:
        return "P"


P = _P()
"""Loops, branches, selections and pipelines of workloads."""


def _fold(op: str, values: tuple[Any, ...]) -> Any:
    if not values:
        raise trace_error(1004, f"`P.{op}` of nothing", help=f"write `P.{op}(a, b)`")
    result: Any = as_expr(values[0], f"a value of `P.{op}`")
    for value in values[1:]:
        result = binary(op, result, value)
    return result.args[0] if result.op == "const" else result


class _Head:
    """What heads a `for` loop of a workload."""

    what = "P(…)"

    def __init__(self) -> None:
        self.trace = current(f"a loop over `{self.what}`")
        self.node: ast.For = checks.for_statement(self.what)
        self.span: Span | None = caller_span()
        filename = self.span[0] if self.span else ""
        if self.node not in self.trace.checked:
            checks.check_loop(self.node, filename)
            self.trace.checked.add(self.node)
        self.filename = filename

    def names(self, count: int) -> list[str]:
        """The names of the loop's variables."""
        names = checks.target_names(self.node)
        if names is None:
            only = self.node.target.id if isinstance(self.node.target, ast.Name) else "i"
            return [only] if count == 1 else [f"{only}_{at}" for at in range(count)]
        if len(names) != count:
            raise trace_error(
                1013,
                f"{len(names)} variables for {count} indices",
                span=self.span,
                help=f"write `for {', '.join('ijklmn'[:count]) if count <= 6 else '…'} in …:`",
            )
        return names

    def target_span(self, at: int) -> Span | None:
        """The place of a variable."""
        from .spans import span_of_node

        target = self.node.target
        if isinstance(target, (ast.Tuple, ast.List)) and at < len(target.elts):
            target = target.elts[at]
        return span_of_node(self.filename, target)

    def yields_tuple(self, count: int) -> bool:
        """Whether the loop's target takes a tuple."""
        return count > 1 or isinstance(self.node.target, (ast.Tuple, ast.List))


class LoopHead(_Head):
    """`P(…)` and `P.seq(…)`: iterate it with `for`."""

    def __init__(self, what: str, axes: tuple[Any, ...], named: dict[str, Any], *, ordered: bool) -> None:
        self.what = f"{what}(…)"
        super().__init__()
        if named:
            help = f"write `{what}(P.range(lo, hi, step))`" if "step" in named else f"write `{what}(a, b)`"
            raise trace_error(1011, f"`{what}` takes axes alone, and no `{next(iter(named))}=…`", help=help)
        if not axes:
            raise trace_error(1011, f"`{what}()` has no axis", help=f"write `for i in {what}(n):`")
        self.axes = axes
        self.ordered = ordered

    def __iter__(self) -> Iterator[Any]:
        trace = self.trace
        names = self.names(len(self.axes))
        loops: list[Loop] = []
        blocks = []
        for at, (name, axis) in enumerate(zip(names, self.axes, strict=True)):
            domain = domain_of(trace, axis, self.span)
            lo, hi = bounds_of(domain)
            loop = Loop(trace.variable(name, lo, hi, self.target_span(at)), domain, self.ordered, self.span)
            trace.add(loop)
            block = trace.block(loop.body, loop)
            block.__enter__()
            loops.append(loop)
            blocks.append(block)
        values = tuple(Expr("var", (loop.var,), loop.var.span) for loop in loops)
        yield from _once(trace, self, values if self.yields_tuple(len(values)) else values[0])
        for loop, block in reversed(list(zip(loops, blocks, strict=True))):
            loop.var.closed = True
            block.__exit__(None, None, None)


def _once(trace: Trace, head: _Head, value: Any) -> Iterator[Any]:
    """Yields the one iteration of a loop; notes a body that is left by an exception."""
    depth = len(trace.open)
    try:
        yield value
    except GeneratorExit:
        trace.broken("a loop", head.span)
        del trace.open[depth:]
        raise


class SelectHead(_Head, Generic[Index]):
    """`P.sel(…)`: iterate it with `for`."""

    what = "P.sel(…)"

    def __init__(self, row: Any, *, positions: bool = False) -> None:
        super().__init__()
        self.row = row
        self.positions = positions

    def enumerate(self) -> SelectHead[Indices2]:
        """`for e, p in P.sel(route[b]).enumerate():` columns with the positions of their entries in the table
        of columns.
        """
        return SelectHead(self.row, positions=True)

    def __iter__(self) -> Iterator[Index]:
        trace = self.trace
        axis, index = row_of(trace, self.row, Sparse, "P.sel")
        names = self.names(2 if self.positions else 1)
        column = trace.variable(
            names[0], constant(0) if axis.indices.counts else None, None, self.target_span(0)
        )
        position = None
        if self.positions:
            last = axis.indices.size - 1
            position = trace.variable(names[1], constant(0), last, self.target_span(1))
        node = Select(column, position, axis, trace.usable(index, "the row of `P.sel`"), axis.name, self.span)
        trace.add(node)
        found = [Expr("var", (var,), var.span) for var in (column, position) if var is not None]
        with trace.block(node.body, node):
            yield from _once(trace, self, tuple(found) if self.yields_tuple(len(found)) else found[0])
        for var in (column, position):
            if var is not None:
                var.closed = True


class WhileHead(_Head):
    """`P.loop(…)`: iterate it with `for`."""

    what = "P.loop(…)"

    def __init__(self, condition: Any, max_rounds: Any) -> None:
        super().__init__()
        self.condition = condition_of(condition, "the condition of `P.loop`")
        self.most = as_expr(max_rounds, "`max_rounds` of `P.loop`")

    def __iter__(self) -> Iterator[None]:
        trace = self.trace
        if isinstance(self.node.target, (ast.Tuple, ast.List)):
            raise trace_error(
                1013, "a round of `P.loop` has no index", span=self.span, help="write `for _ in P.loop(…):`"
            )
        condition = trace.usable(self.condition, "the condition of `P.loop`", self.span)
        node = While(condition, trace.usable(self.most, "`max_rounds`", self.span), self.span)
        trace.add(node)
        with trace.block(node.body, node):
            yield from _once(trace, self, None)


class _Branch:
    """A block under `with P.when(…)` or `with P.otherwise()`."""

    what = "P.when(…)"

    def __init__(self) -> None:
        self.trace = current(f"`{self.what}`")
        self.span = caller_span()
        node = checks.with_statement(self.what)
        if node not in self.trace.checked:
            checks.check_branch(node, self.span[0] if self.span else "")
            self.trace.checked.add(node)
        self._block: Any = None

    def enter(self, block: list[Any], owner: Cond) -> None:
        """Opens the branch."""
        self._block = self.trace.block(block, owner)
        self._block.__enter__()

    def __exit__(self, kind: Any, *rest: Any) -> None:
        if kind is not None:
            self.trace.broken("a branch", self.span)
        self._block.__exit__(None, None, None)


class WhenBlock(_Branch):
    """`with P.when(condition):`."""

    def __init__(self, condition: Any) -> None:
        super().__init__()
        if isinstance(condition, Indexable) or condition is None:
            raise trace_error(
                1004,
                f"the condition of `P.when` is {describe(condition)}",
                help="write a comparison: `with P.when(i > 0):`",
            )
        self.condition = condition_of(condition, "the condition of `P.when`")

    def __enter__(self) -> None:
        node = Cond(self.trace.usable(self.condition, "the condition of `P.when`", self.span), self.span)
        self.trace.add(node)
        self.enter(node.then, node)


class OtherwiseBlock(_Branch):
    """`with P.otherwise():`."""

    what = "P.otherwise()"

    def __enter__(self) -> None:
        block = self.trace.open[-1].block
        last = block[-1] if block else None
        if not isinstance(last, Cond) or last.has_otherwise:
            raise trace_error(
                1009,
                "`P.otherwise()` without `P.when(…)` before it",
                span=self.span,
                help="it stands directly behind the block of `with P.when(condition):`, on the same level",
            )
        last.has_otherwise = True
        self.enter(last.otherwise, last)
