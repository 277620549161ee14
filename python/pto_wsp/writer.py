"""Expressions of a traced workload and its schedule as the document has them."""

from __future__ import annotations

from typing import Any

from ._raise import schedule_error, trace_error
from ._seam import Span
from .expr import Expr, Var, constant, substitute
from .linear import known_number, lower_bound, quotient_plain
from .loopaxes import Axis, LoopAxes
from .schedule import Directive
from .spans import SpanTable
from .tables import Table
from .tracing import Trace

Json = dict[str, Any]
_OPS = {"mod": "rem", "floordiv": "div"}
_MOST_WRITTEN = 50_000
"""The largest expression of a document."""


def _has_more(node: Json, most: int) -> bool:
    """Whether a written expression has more operations."""
    left, count = [node], 0
    while left and count <= most:
        count += 1
        parts = left.pop()
        left.extend(part for part in parts.values() if isinstance(part, dict))
        left.extend(part for part in parts.get("of", ()) if isinstance(part, dict))
    return count > most


class Writer:
    """Numbers of parameters, tables, slots, axes and variables, and expressions that name them."""

    def __init__(self, trace: Trace, axes: LoopAxes) -> None:
        self.trace = trace
        self.axes = axes
        self.spans = SpanTable()
        self._tables: dict[int, int] = {}
        self._slots: dict[int, int] = {}
        self._params: dict[str, int] = {}
        self._vars: dict[Var, int] = {}
        self._axis_ids: dict[int, int] = {}
        self._axis_of: dict[Var, Axis] = {}
        self._kept: list[Any] = []

    def _mark(self, node: Json, span: Span | None) -> Json:
        return self.spans.mark(node, span)

    def _expr(self, expr: Expr) -> Json | int:
        number = known_number(expr)
        if number is not None:
            return number
        op, args = expr.op, expr.args
        if op == "param":
            if args[0] in self.trace.fixed:
                return self.trace.fixed[args[0]]
            node: Json = {"k": "param", "id": self._params[args[0]]}
        elif op == "var":
            axis = self._axis_of.get(args[0])
            node = {"k": "var", "id": self._vars[args[0]]} if axis is None else self._axis_node(axis)
        elif op == "slot":
            node = {"k": "slot", "id": self._slots[id(args[0])]}
        elif op == "table":
            node = {"k": "table", "id": self._tables[id(args[0])], "index": self._expr(args[1])}
        elif op == "len":
            node = {"k": "len", "id": self._tables[id(args[0])]}
        elif op in ("neg", "not"):
            node = {"k": op, "a": self._expr(args[0])}
        elif op == "choose":
            c, a, b = (self._expr(arg) for arg in args)
            node = {"k": "choose", "c": c, "a": a, "b": b}
        elif op == "chain":
            steps, operands = args[1::2], args[::2]
            node = {"k": "chain", "ops": list(steps), "of": [self._expr(arg) for arg in operands]}
        elif op in ("floordiv", "mod"):
            node = self._quotient(expr)
        else:
            node = {"k": op, "a": self._expr(args[0]), "b": self._expr(args[1])}
        return self._mark(node, expr.span)

    def _axis_node(self, axis: Axis) -> Json:
        return {"k": "axis", "id": self._axis_ids[id(axis)]}

    def _quotient(self, expr: Expr) -> Json:
        """`//` and `%`, which round down; the operations of the program round towards zero, or up.

        No step overflows where the result does not.
        """
        a, b = (self._expr(arg) for arg in expr.args)
        if quotient_plain(expr):
            return {"k": _OPS[expr.op], "a": a, "b": b}
        rest = {"k": "rem", "a": a, "b": b}
        lifted = {"k": "rem", "a": {"k": "add", "a": rest, "b": b}, "b": b}
        up = {"k": "ceildiv", "a": a, "b": b}
        if expr.op == "floordiv":
            if isinstance(b, int) and b not in (1, -(2**63)):
                return {"k": "neg", "a": {"k": "ceildiv", "a": a, "b": -b}}
            node: Json = {"k": "sub", "a": up, "b": {"k": "ne", "a": rest, "b": 0}}
        elif isinstance(b, int) and abs(b) <= 2**62:
            return lifted
        else:
            negative = ({"k": "lt", "a": side, "b": 0} for side in (rest, b))
            alike = dict(zip("ab", negative, strict=True), k="eq")
            node = {"k": "choose", "c": alike, "a": rest, "b": lifted}
        # Operands stand in it several times, and again in what is computed from it.
        if _has_more(node, _MOST_WRITTEN):
            raise trace_error(
                1034,
                f"an expression is written with more than {_MOST_WRITTEN} operations",
                span=expr.span,
                notes="`//` and `%` by what is no number are written with several copies of their operands",
                help="compute it in a kernel, in a table, or from fewer quotients",
            )
        return node

    def _key(self, key: Expr, directive: Directive) -> Json | int:
        """A key with the axes and tables that its names stand for."""
        return self._expr(substitute(key, lambda leaf: self._key_leaf(leaf, directive)))

    def _key_leaf(self, key: Expr, directive: Directive) -> Expr | None:
        span = key.span or directive.span
        if key.op == "param" and key.args[0] not in self._params and key.args[0] not in self.trace.fixed:
            known = ", ".join(f"`{name}`" for name in [*self._params, *self.trace.fixed]) or "none"
            raise schedule_error(
                1203,
                f"`{key.args[0]}` in `{directive.what}` is no size of the workload",
                span=span,
                notes=f"its sizes: {known}",
                help="name a size: a parameter of the workload, or a name in a shape",
            )
        if key.op != "key":
            return None
        if len(key.args) == 2:
            index = substitute(key.args[1], lambda leaf: self._key_leaf(leaf, directive))
            return Expr("table", (self._table_named(key.args[0], directive, span), index), span)
        total: Expr | None = None
        for axis in self.axes.resolve(key.args[0], directive.what, span):
            least = [lower_bound(loop.var.lo) for loop in axis.loops if loop.var.lo is not None]
            counts = len(least) == len(axis.loops) and all(
                value is not None and value >= 0 for value in least
            )
            var = Var(axis.wish, self.trace, 0, constant(0) if counts else None, None, span)
            self._axis_of[var] = axis
            index = Expr("var", (var,), span)
            total = index if total is None else total + index
        return total

    def _table_named(self, name: str, directive: Directive, span: Span | None) -> Table:
        for table in self._kept:
            if isinstance(table, Table) and table.name == name:
                return table
        raise schedule_error(
            1203,
            f"`{name}` in `{directive.what}` is no table of the workload",
            span=span,
            help="a table that is a variable of Python is used directly: `lambda t: lens[t.batch]`",
        )
