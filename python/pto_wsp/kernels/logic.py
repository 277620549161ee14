"""Conditions: `and`, `or`, comparisons and conditional expressions, which evaluate only what they need."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .._seam import Span
from ..spans import cause_of
from . import codes, exprs, flow, operators, scalars, tiles
from .context import Cx, local_expr
from .emit import Stmt
from .values import Const, Number, Scalar, TileVal, Value, describe, tile_words


def thunk(cx: Cx, node: ast.expr) -> Callable[[], Value]:
    """An expression to be evaluated later."""
    return lambda: exprs.evaluate(cx, node)


def condition(cx: Cx, node: ast.expr) -> Number:
    """An expression as a truth value."""
    span = cx.span(node)
    if isinstance(node, ast.BoolOp):
        thunks = [partial(condition, cx, part) for part in node.values]
        return scalars.truth(cx, joined(cx, isinstance(node.op, ast.And), thunks, span), span)
    return scalars.truth(cx, exprs.evaluate(cx, node), span)


def joined(cx: Cx, conjunction: bool, thunks: Sequence[Callable[[], Value]], span: Span) -> Value:
    """`and` and `or`: what stands on the right is evaluated only where the left does not decide."""
    value = thunks[0]()
    if len(thunks) == 1:
        return value
    if isinstance(value, Const):
        decided = bool(value.value) != conjunction
        return value if decided else joined(cx, conjunction, thunks[1:], span)
    left = _truth_value(cx, value, span)
    block: list[Stmt] = []
    with cx.region(block):
        right = _truth_value(cx, joined(cx, conjunction, thunks[1:], span), span)
    if isinstance(right, Const):
        return left if right.value == conjunction else right
    if not block:
        x = {"k": "and" if conjunction else "or", "a": left.x, "b": right.x, "ty": "bool", "s": span}
        return Scalar(x, "bool", invariant=left.invariant and right.invariant)
    local = cx.builder.scalar("condition", "bool", span)
    cx.builder.stmt("assign", span, local=local, value=left.x)
    with cx.builder.into(block):
        cx.builder.stmt("assign", span, local=local, value=right.x)
    test = local_expr(local, "bool", span)
    if not conjunction:
        test = {"k": "not", "a": test, "ty": "bool", "s": span}
    cx.builder.stmt("if", span, cond=test, then=block, otherwise=[])
    return Scalar(local_expr(local, "bool", span), "bool")


def _truth_value(cx: Cx, value: Value, span: Span) -> Number:
    """An operand of `and` or `or`. Python gives one of the operands, whichever it is; so other numbers are
    refused.
    """
    tiles.refuse_tile(cx, value, span, "`and` and `or`")
    if isinstance(value, Const | Scalar) and scalars.is_number(value) and scalars.kind(value) == "bool":
        return value
    raise cx.fault(
        codes.OPERAND,
        f"`and` and `or` give a truth value here, and one side is {describe(value)}",
        span,
        help=["compare it: `n != 0`", "for one of two numbers write `a if c else b`"],
    )


def compare(cx: Cx, node: ast.Compare) -> Value:
    """Comparisons in a chain: each operand is evaluated once, and only while the chain holds."""
    span = cx.span(node)
    first = exprs.evaluate(cx, node.left)

    def chain(left: Value, rest: list[tuple[ast.cmpop, ast.expr]]) -> list[Callable[[], Value]]:
        (op, right_node), later = rest[0], rest[1:]
        following: list[Callable[[], Value]] = []

        def link() -> Value:
            right = exprs.evaluate(cx, right_node)
            if later:
                right = flow.settle(cx, right, span)
                following.append(lambda: joined(cx, True, chain(right, later), span))
            return _compare_two(cx, op, left, right, node)

        return [link, lambda: following[0]()] if later else [link]

    if len(node.ops) > 1 or not _is_plain(node.comparators[0]):
        first = flow.settle(cx, first, span)
    return joined(cx, True, chain(first, list(zip(node.ops, node.comparators, strict=False))), span)


def _is_plain(node: ast.expr) -> bool:
    """Whether evaluating it runs no statements."""
    return isinstance(node, ast.Constant | ast.Name | ast.Attribute)


def _compare_two(cx: Cx, op: ast.cmpop, a: Value, b: Value, at: ast.AST) -> Value:
    if isinstance(op, ast.Is | ast.IsNot) and isinstance(b, Const):
        same = isinstance(a, Const) and a.value is b.value
        return Const(same == isinstance(op, ast.Is))
    if isinstance(a, TileVal) or isinstance(b, TileVal):
        if type(op) in operators.COMPARISONS:
            return tiles.binary(cx, operators.COMPARISONS[type(op)], a, b, at)
        tiles.refuse_tile(cx, a if isinstance(a, TileVal) else b, at, "this comparison")
    if isinstance(a, Const) and isinstance(b, Const):
        try:
            return Const(_python_compare(op, a.value, b.value))
        except Exception as error:
            raise cx.fault(
                codes.COMPILE_TIME,
                f"the comparison of constants fails: {error}",
                at,
                help="compare values of one kind",
            ) from cause_of(error)
    if type(op) in operators.COMPARISONS and scalars.is_number(a) and scalars.is_number(b):
        return scalars.compare(cx, operators.COMPARISONS[type(op)], a, b, cx.span(at))
    words = f"{describe(a)} and {describe(b)}"
    raise cx.fault(
        codes.OPERAND,
        f"{words} cannot be compared like this",
        at,
        help="numbers have `<`, `<=`, `>`, `>=`, `==`, `!=`",
    )


def _python_compare(op: ast.cmpop, a: Any, b: Any) -> bool:
    match op:
        case ast.In():
            return a in b
        case ast.NotIn():
            return a not in b
    return bool(getattr(operator, operators.COMPARISONS[type(op)])(a, b))


def choice(cx: Cx, node: ast.IfExp) -> Value:
    """`a if c else b`: one side is evaluated."""
    span = cx.span(node)
    test = condition(cx, node.test)
    if isinstance(test, Const):
        return exprs.evaluate(cx, node.body if test.value else node.orelse)
    blocks: list[list[Stmt]] = [[], []]
    values: list[Value] = []
    for block, side in zip(blocks, (node.body, node.orelse), strict=False):
        with cx.region(block):
            values.append(exprs.evaluate(cx, side))
    a, b = values
    if scalars.is_number(a) and scalars.is_number(b):
        return _choose_number(cx, test, (a, b), blocks, span)
    if isinstance(a, TileVal) and isinstance(b, TileVal):
        return _choose_tile(cx, test, (a, b), blocks, node)
    raise cx.fault(
        codes.DIFFERS,
        f"one side is {describe(a)} and the other {describe(b)}",
        node,
        help="both sides must be numbers, or tiles of one type",
    )


def _choose_number(
    cx: Cx, test: Scalar, values: tuple[Number, Number], blocks: list[list[Stmt]], span: Span
) -> Number:
    chosen = scalars.select(test, *values, cx, span)
    if not any(blocks):
        return chosen
    local = cx.builder.scalar("choice", chosen.ty, span)
    for value, block in zip(values, blocks, strict=False):
        with cx.builder.into(block):
            cx.builder.stmt("assign", span, local=local, value=scalars.expr(cx, value, chosen.ty, span))
    cx.builder.stmt("if", span, cond=test.x, then=blocks[0], otherwise=blocks[1])
    return Scalar(local_expr(local, chosen.ty, span), chosen.ty, chosen.lo, chosen.hi)


def _choose_tile(
    cx: Cx, test: Scalar, values: tuple[TileVal, TileVal], blocks: list[list[Stmt]], node: ast.AST
) -> TileVal:
    a, b = values
    if (a.shape, a.elem) != (b.shape, b.elem):
        words = f"{tile_words(a.shape, a.elem)} on one side and {tile_words(b.shape, b.elem)} on the other"
        raise cx.fault(codes.DIFFERS, words, node, help="both sides must be tiles of one type")
    span = cx.span(node)
    full = (a.full[0] and b.full[0], a.full[1] and b.full[1])
    out = tiles.make(cx, "choice", (*a.shape, a.elem), full, span, None)
    for value, block in zip(values, blocks, strict=False):
        with cx.builder.into(block):
            tiles.copy_into(cx, value, out.local, span)
    cx.release(a, b)
    cx.builder.stmt("if", span, cond=test.x, then=blocks[0], otherwise=blocks[1])
    return out
