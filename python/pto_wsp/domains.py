"""What loops of a workload run over."""

from __future__ import annotations

import operator
from typing import Any

from ._raise import trace_error
from ._seam import Span
from .axes import Dense, DenseDyn, FixedSize, Ragged, Row, Size, Sparse
from .expr import Expr, as_expr, constant, describe
from .nodes import Domain, Loop, RaggedDomain, RangeDomain, SizeDomain
from .tables import Table
from .tensors import Indexable
from .tracing import Trace


def domain_of(trace: Trace, axis: Any, span: Span | None) -> Domain:
    """What a loop over an axis, size, number or expression runs over."""
    if isinstance(axis, Size):
        trace.size(axis.name, span)
        fixed = trace.fixed.get(axis.name)
        return SizeDomain(axis.name) if fixed is None else _plain(constant(fixed), axis.name)
    if isinstance(axis, FixedSize):
        return _plain(constant(int(axis)), axis.axis_name)
    if isinstance(axis, range):
        return _range(trace, Dense(axis.start, axis.stop, axis.step), span)
    if isinstance(axis, Dense):
        return _range(trace, axis, span)
    if isinstance(axis, (Ragged, Row)):
        ragged, outer = row_of(trace, axis, Ragged, "P")
        return RaggedDomain(ragged, trace.usable(outer, "the index of the outer axis", span), ragged.name)
    if isinstance(axis, Sparse):
        raise trace_error(
            1012,
            f"a loop over the sparse axis {axis!r}",
            span=span,
            help="its columns are `P.sel(axis[row])`",
        )
    if isinstance(axis, (Indexable, Table, str, float, list, tuple, type, DenseDyn)) or axis is None:
        raise trace_error(
            1011,
            f"a loop over {describe(axis) if not isinstance(axis, (Indexable, Table)) else axis.shown}",
            span=span,
            help="`P` takes sizes, axes, ints, expressions and ranges; for elements write `for i in P(n): … "
            "x[i] …`",
        )
    if not isinstance(axis, Expr):
        try:
            axis = operator.index(axis)
        except TypeError:
            raise trace_error(
                1011,
                f"a loop over {describe(axis)}",
                span=span,
                help="`P` takes sizes, axes, ints, expressions and ranges",
            ) from None
    return _plain(trace.usable(as_expr(axis), "the end of a loop", span), None)


def _plain(end: Expr, name: str | None) -> RangeDomain:
    return RangeDomain(constant(0), end, constant(1), name)


def _range(trace: Trace, axis: Dense, span: Span | None) -> RangeDomain:
    lo, hi, step = (
        trace.usable(end, "the range of a loop", span) for end in (axis.start, axis.end, axis.step)
    )
    return RangeDomain(lo, hi, step, axis.name)


def bounds_of(domain: Domain) -> tuple[Expr, Expr]:
    """The least and greatest index."""
    if isinstance(domain, SizeDomain):
        return constant(0), Size(domain.name) - 1
    if isinstance(domain, RangeDomain):
        return domain.lo, domain.hi - 1
    return constant(0), domain.axis.lengths[domain.outer] - 1


def row_of(trace: Trace, axis: Any, kind: type[Ragged] | type[Sparse], what: str) -> tuple[Any, Expr]:
    """A ragged or sparse axis with the index of its outer axis: as said, else that of the loop around."""
    inner = axis.axis if isinstance(axis, Row) else axis
    if not isinstance(inner, kind):
        wanted = "a row of a sparse axis" if kind is Sparse else "an axis"
        other = "P.sel(route[b])" if isinstance(inner, Sparse) or kind is Sparse else "P(tok[b])"
        raise trace_error(1011, f"`{what}` takes {wanted}, not {inner!r}", help=f"write `{other}`")
    if isinstance(axis, Row):
        return inner, axis.index
    found = [
        loop
        for loop in trace.loops()
        if isinstance(loop, Loop) and _is_outer(trace, loop.domain, inner.outer.axis)
    ]
    if len(found) == 1:
        return inner, Expr("var", (found[0].var,), None)
    shown = inner.name or "axis"
    problem = (
        "no enclosing loop runs over its outer axis"
        if not found
        else "several enclosing loops run over its outer axis"
    )
    raise trace_error(
        1012,
        f"`{shown}` needs an index of its outer axis `{inner.outer.axis}`: {problem}",
        help=f"say the index: `{what}({shown}[b])`",
    )


def _is_outer(trace: Trace, domain: Domain, outer: Any) -> bool:
    if isinstance(outer, str):
        return getattr(domain, "name", None) == outer
    if isinstance(outer, FixedSize):
        if outer.axis_name is not None:
            return getattr(domain, "name", None) == outer.axis_name
        return (
            isinstance(domain, RangeDomain)
            and domain.lo.key == ("const", 0)
            and domain.hi.key == ("const", int(outer))
        )
    if isinstance(domain, RangeDomain) and isinstance(outer, Dense):
        if outer.name is not None:
            return domain.name == outer.name
        return (domain.lo.key, domain.hi.key) == (outer.start.key, outer.end.key)
    return False
