"""Differences of index expressions that do not depend on what the kernel computes."""

from __future__ import annotations

from typing import Any

from .._seam import Span
from .context import Cx
from .emit import Expr
from .scalars import expr
from .values import Number


def linear(x: Expr) -> tuple[dict[str, int], int]:
    """An integer expression as a sum: factors by term, and the constant. Terms are told apart by their
    text.
    """
    match x:
        case {"k": "int", "v": v}:
            return {}, v
        case {"k": "add", "a": a, "b": b}:
            return _sum(linear(a), linear(b), 1)
        case {"k": "sub", "a": a, "b": b}:
            return _sum(linear(a), linear(b), -1)
        case {"k": "chain", "ops": ["add" | "sub", *_] as ops, "of": [first, *rest]}:
            whole = linear(first)
            for op, operand in zip(ops, rest, strict=True):
                whole = _sum(whole, linear(operand), 1 if op == "add" else -1)
            return whole
        case {"k": "neg", "a": a}:
            return _sum(({}, 0), linear(a), -1)
        case {"k": "mul", "a": a, "b": b}:
            for factor, other in ((a, b), (b, a)):
                terms, constant = linear(factor)
                if not terms:
                    return _sum(({}, 0), linear(other), constant)
    return {_text(x): 1}, 0


def difference(cx: Cx, a: Number, b: Number, span: Span) -> int | None:
    """`a - b` where it does not depend on what the kernel computes."""
    terms, constant = _sum(linear(expr(cx, a, "i64", span)), linear(expr(cx, b, "i64", span)), -1)
    return constant if not any(terms.values()) else None


def _sum(
    a: tuple[dict[str, int], int], b: tuple[dict[str, int], int], sign: int
) -> tuple[dict[str, int], int]:
    terms = dict(a[0])
    for term, factor in b[0].items():
        terms[term] = terms.get(term, 0) + sign * factor
    return terms, a[1] + sign * b[1]


def _text(x: Any) -> str:
    if isinstance(x, dict):
        return "{" + ",".join(f"{k}:{_text(v)}" for k, v in sorted(x.items()) if k != "s") + "}"
    if isinstance(x, list):
        return "[" + ",".join(map(_text, x)) + "]"
    return repr(x)
