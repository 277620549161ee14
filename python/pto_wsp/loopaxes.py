"""Which axis of the program each loop runs over, so that a key of the schedule can name it.

A key names loops by their variable or by the parameter of their axis. The program knows the index of the
innermost loop over an *axis*, so loops share an axis only where every name of the schedule means both or
neither.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ._raise import schedule_error
from ._seam import Span
from .axes import Dense, FixedSize, Ragged, Sparse
from .expr import Expr, constant
from .nodes import Loop, Node, RaggedDomain, RangeDomain, Select, SizeDomain, blocks_of
from .tracing import Trace


@dataclass(slots=True, eq=False)
class Axis:
    """An axis of the program; `kind` is `dense`, `dense_dyn`, `ragged` or `sparse`, `parts` what it needs."""

    kind: str
    parts: tuple[Any, ...]
    wish: str
    span: Span | None
    names: frozenset[str]
    outer: Axis | None = None
    loops: list[Loop | Select] = field(default_factory=list)


class LoopAxes:
    """The axes of a traced workload."""

    def __init__(self, trace: Trace, used: Iterable[str]) -> None:
        self.trace = trace
        self.used = frozenset(used)
        self.axes: list[Axis] = []
        self.of: dict[int, Axis] = {}
        self.around: dict[int, tuple[Loop | Select, ...]] = {}
        self._known: dict[Any, Axis] = {}
        self._loops: list[Loop | Select] = []
        for loop, around in _loops(trace.body, ()):
            self._loops.append(loop)
            self.around[id(loop)] = around
            axis = self._axis(loop)
            if axis is not None:
                axis.loops.append(loop)
                self.of[id(loop)] = axis

    def _axis(self, loop: Loop | Select) -> Axis | None:
        names = self._names(loop) & self.used
        if isinstance(loop, Select):
            return self._inner("sparse", loop.axis, names, loop.name or loop.var.name, loop.span)
        match loop.domain:
            case SizeDomain(name=name):
                return self._make("dense_dyn", (name,), names, name, loop.span)
            case RaggedDomain():
                axis = loop.domain.axis
                return self._inner("ragged", axis, names, loop.domain.name or loop.var.name, loop.span)
            case RangeDomain(lo=lo, hi=hi, step=step, name=name):
                fixed = step.key == ("const", 1) and _launch_time(lo) and _launch_time(hi)
                if fixed and (names or name is not None):
                    return self._make("dense", (lo, hi), names, name or loop.var.name, loop.span)
        return None

    def _make(
        self,
        kind: str,
        parts: tuple[Any, ...],
        names: frozenset[str],
        wish: str,
        span: Span | None,
        outer: Axis | None = None,
    ) -> Axis:
        shape = tuple(
            part.key if isinstance(part, Expr) else id(part) if not isinstance(part, str) else part
            for part in parts
        )
        key = (kind, shape, None if outer is None else id(outer), names)
        axis = self._known.get(key)
        if axis is None:
            axis = self._known[key] = Axis(kind, parts, wish, span, names, outer)
            self.axes.append(axis)
        return axis

    def _inner(
        self, kind: str, axis: Ragged | Sparse, names: frozenset[str], wish: str, span: Span | None
    ) -> Axis:
        tables = (axis.lengths,) if isinstance(axis, Ragged) else (axis.indptr, axis.indices)
        return self._make(kind, tables, names, wish, span, self._outer(axis.outer.axis, span))

    def _outer(self, outer: Any, span: Span | None) -> Axis:
        """The axis that an inner one lies under; one that exists where it has the same indices."""
        if isinstance(outer, str):
            end = self.trace.size(outer, span)
            kind, parts = ("dense_dyn", (outer,)) if end.op == "param" else ("dense", (constant(0), end))
            wish = outer
        elif isinstance(outer, FixedSize):
            kind, parts, wish = "dense", (constant(0), constant(int(outer))), outer.axis_name or "outer"
        else:
            assert isinstance(outer, Dense)
            kind, parts, wish = "dense", (outer.start, outer.end), outer.name or "outer"
        keys = [part.key if isinstance(part, Expr) else part for part in parts]
        for axis in self.axes:
            if axis.kind == kind and [p.key if isinstance(p, Expr) else p for p in axis.parts] == keys:
                return axis
        return self._make(kind, parts, frozenset(), wish, span)

    @staticmethod
    def _names(loop: Loop | Select) -> frozenset[str]:
        name = loop.name if isinstance(loop, Select) else loop.domain.name
        return frozenset({loop.var.name} if name is None else {loop.var.name, name})

    def resolve(self, name: str, directive: str, span: Span | None) -> list[Axis]:
        """The axes whose indices add up to the index of the innermost loop of a name."""
        meant = [loop for loop in self._loops if name in self._names(loop)]
        if not meant:
            raise self._unknown(name, directive, span)
        for loop in meant:
            if id(loop) not in self.of:
                raise schedule_error(
                    1205,
                    f"`{name}` in `{directive}` names a loop whose range is no axis",
                    span=span,
                    labels=[
                        (loop.span, "this loop: its range has a step, or depends on an outer loop or a slot")
                    ],
                    help="name an outer loop, or make the loop run over a size and `with P.when(…)` leave "
                    "out the rest",
                )
        axes = list(dict.fromkeys(self.of[id(loop)] for loop in meant))
        self._require_apart(name, directive, axes, meant, span)
        return axes

    def _require_apart(
        self, name: str, directive: str, axes: list[Axis], meant: list[Loop | Select], span: Span | None
    ) -> None:
        if len(axes) == 1:
            return
        for loop in meant:
            outside = next((other for other in self.around[id(loop)] if other in meant), None)
            if outside is not None and self.of[id(outside)] is not self.of[id(loop)]:
                raise schedule_error(
                    1204,
                    f"`{name}` in `{directive}` names two loops, one in the other",
                    span=span,
                    labels=[(outside.span, f"`{outside.var.name}`"), (loop.span, f"`{loop.var.name}`")],
                    help="give the variables different names, and name one of them",
                )

    def _unknown(self, name: str, directive: str, span: Span | None) -> Exception:
        names = list(dict.fromkeys(found for loop in self._loops for found in sorted(self._names(loop))))
        known = ", ".join(f"`{found}`" for found in names) or "none: the workload has no loops"
        return schedule_error(
            1203,
            f"`{name}` in `{directive}` is no loop of the workload",
            span=span,
            notes=f"loops, by variable and axis: {known}",
            help=f"name one of them: `lambda t: t.{names[0]}`" if names else "a key is the index of a loop",
        )


def _loops(
    body: list[Node], around: tuple[Loop | Select, ...]
) -> Iterator[tuple[Loop | Select, tuple[Loop | Select, ...]]]:
    for node in body:
        inner = around
        if isinstance(node, (Loop, Select)):
            yield node, around
            inner = (node, *around)
        for block in blocks_of(node):
            yield from _loops(block, inner)


def _launch_time(expr: Expr) -> bool:
    """Whether an expression is over sizes and tables only."""
    if expr.op in ("var", "slot", "key"):
        return False
    return all(_launch_time(arg) for arg in expr.args if isinstance(arg, Expr))
