"""Which tables, tensors and slots a traced workload names."""

from __future__ import annotations

from typing import Any

from .expr import Expr
from .loopaxes import LoopAxes
from .nodes import Cond, Consume, Loop, Node, Pass, RaggedDomain, RangeDomain, Select, Task, While, blocks_of
from .schedule import Directive, keys_of
from .tables import Cell, Table
from .tensors import Index, Part, Tensor, View
from .tracing import Trace


class Things:
    """The tables, tensors and slots that a trace and its schedule name, in order."""

    def __init__(self, trace: Trace, directives: tuple[Directive, ...], axes: LoopAxes) -> None:
        self.tables: list[Table] = []
        self.tensors: list[Tensor] = []
        self.slots: list[Cell] = []
        self._seen: set[int] = set()
        for table in trace.tables:
            self._add(self.tables, table)
        for tensor in trace.tensors:
            self._add(self.tensors, tensor)
        for axis in axes.axes:
            for part in axis.parts:
                self._part(part)
        self._nodes(trace.body)
        for directive in directives:
            for key in keys_of(directive):
                self._expr(key)
        for table in self.tables:
            if table.length is not None:
                trace.extent(table.length, "the length of a table", table.span)

    def _add(self, group: list[Any], thing: Any) -> None:
        if id(thing) not in self._seen:
            self._seen.add(id(thing))
            group.append(thing)

    def _part(self, part: Any) -> None:
        if isinstance(part, Expr):
            self._expr(part)
        elif isinstance(part, Table):
            self._add(self.tables, part)

    def _expr(self, expr: Expr) -> None:
        for arg in expr.args:
            if isinstance(arg, Expr):
                self._expr(arg)
            elif isinstance(arg, Table):
                self._add(self.tables, arg)
            elif isinstance(arg, Cell):
                self._add(self.slots, arg)

    def _nodes(self, nodes: list[Node]) -> None:
        for node in nodes:
            for value in _values(node):
                if isinstance(value, View):
                    self._view(value)
                else:
                    self._expr(value)
            for passed in node.arms if isinstance(node, Consume) else [node]:
                if isinstance(passed, Pass) and passed.ring is not None:
                    self._add(self.tensors, passed.ring)
            for block in blocks_of(node):
                self._nodes(block)

    def _view(self, view: View) -> None:
        if isinstance(view.base, Cell):
            self._add(self.slots, view.base)
        else:
            self._add(self.tensors, view.base)
        for entry in view.ranges:
            for expr in (
                [entry.at]
                if isinstance(entry, Index)
                else [entry.lo, entry.hi]
                if isinstance(entry, Part)
                else []
            ):
                self._expr(expr)


def _values(node: Node) -> list[Expr | View]:
    """The expressions and views of a node itself."""
    match node:
        case Task():
            return [value for _, value in node.args]
        case Loop(domain=RangeDomain(lo=lo, hi=hi, step=step)):
            return [lo, hi, step]
        case Loop(domain=RaggedDomain(outer=outer)):
            return [outer]
        case Select():
            return [node.row]
        case Cond():
            return [node.condition]
        case While():
            return [node.condition, node.most]
        case _:
            return []


def key_names(key: Expr) -> set[str]:
    """The names of loops in a key."""
    names: set[str] = {key.args[0]} if key.op == "key" and len(key.args) == 1 else set()
    return names.union(*(key_names(arg) for arg in key.args if isinstance(arg, Expr)))
