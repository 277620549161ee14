"""Loops: `for … in range(…)` and `while`."""

from __future__ import annotations

import ast
from typing import Any

from .._seam import Span
from . import codes, exprs, flow, logic, scalars
from .context import Cx, End, Env, Loop, Var, local_expr
from .emit import Stmt, int_literal
from .values import Const, Number, Scalar, describe


def _no_else(cx: Cx, node: ast.For | ast.While) -> None:
    if node.orelse:
        raise cx.fault(
            codes.STATEMENT,
            "`else` of a loop cannot stand in a kernel",
            node.orelse[0],
            help="set a variable before `break` and test it after the loop",
        )


def conditional(cx: Cx, node: ast.While) -> End:
    """`while`"""
    _no_else(cx, node)
    head = cx.head(node)
    names = flow.assigned_names(node.body)
    flow.materialise(cx, names, head)
    flow.forget(cx, names, node.lineno)
    before: list[Stmt] = []
    with cx.region(before):
        test = logic.condition(cx, node.test)
    if isinstance(test, Const) and not test.value:
        return End.FALLS
    entry = cx.frame.env
    forever = isinstance(test, Const)
    body, loop = _body(cx, node)
    cond = scalars.expr(cx, test, "bool", head)
    if before:
        # What the condition computes is computed anew before each pass.
        stop = {
            "k": "if",
            "cond": {"k": "not", "a": cond, "ty": "bool", "s": head},
            "otherwise": [],
            "s": head,
        }
        body = [*before, {**stop, "then": [{"k": "break", "s": head}]}, *body]
        cond = {"k": "bool", "v": True, "s": head}
    cx.builder.stmt("while", head, cond=cond, body=body)
    ways = [*([] if forever else [entry]), *loop.breaks]
    if not ways:
        cx.frame.env = entry
        return End.LEAVES
    _after(cx, ways, names, node)
    return End.FALLS


def _after(cx: Cx, ways: list[Env], names: set[str], node: ast.For | ast.While) -> None:
    """The names after a loop; those that only its body assigns may be unassigned."""
    env = flow.join(ways, f"the loop of line {node.lineno}")
    reason = f"`{{name}}` may be unassigned here: the loop of line {node.lineno} may have no pass"
    for name in sorted(names - env.keys()):
        env[name] = Var(None, None, cx.head(node), reason)
    cx.frame.env = env


def _body(cx: Cx, node: ast.For | ast.While, first: Any = None) -> tuple[list[Stmt], Loop]:
    """The statements of a loop. Where a pass reaches its end, the names there count as a `continue`."""
    from .stmts import block

    out: list[Stmt] = []
    loop = Loop()
    cx.frame.loops.append(loop)
    cx.frame.env = dict(cx.frame.env)
    with cx.region(out):
        if first is not None:
            first()
        end = block(cx, node.body)
    cx.frame.loops.pop()
    if end is End.FALLS:
        loop.continues.append(cx.frame.env)
    return out, loop


def counted(cx: Cx, node: ast.For) -> End:
    """`for … in range(…)`"""
    _no_else(cx, node)
    head = cx.head(node)
    if not isinstance(node.target, ast.Name):
        raise cx.fault(
            codes.LOOP,
            "the variable of a loop must be one name",
            node.target,
            help="write `for i in range(n):`",
        )
    start, end, step = _range(cx, node.iter)
    name = node.target.id
    direct = _counts_alone(cx, node, name)
    names = flow.assigned_names([node]) - ({name} if direct else set())
    flow.materialise(cx, names, head)
    flow.forget(cx, names, node.lineno)
    entry = cx.frame.env
    counter = cx.builder.scalar(name, "i64", cx.span(node.target))
    value = Scalar(
        local_expr(counter, "i64", cx.span(node.target)), "i64", *_counter_bounds(start, end, step)
    )
    at_least_once = False
    if isinstance(start, Const) and isinstance(end, Const):
        at_least_once = start.value < end.value if step > 0 else start.value > end.value
    if step < 0:
        bounds, value = _downwards(cx, start, end, step, value, head)
    else:
        bounds = [scalars.expr(cx, n, "i64", head) for n in (start, end, Const(step))]

    def bind_variable() -> None:
        if direct:
            cx.frame.env[name] = Var(value, None, cx.span(node.target))
        else:
            flow.assign(cx, name, value, cx.span(node.target))

    body, loop = _body(cx, node, bind_variable)
    cx.builder.stmt("for", head, var=counter, start=bounds[0], end=bounds[1], step=bounds[2], body=body)
    ways = [*(loop.continues if at_least_once else [entry]), *loop.breaks]
    if ways:
        _after(cx, ways, names, node)
    else:
        cx.frame.env = entry
    if direct:
        cx.frame.env.pop(name, None)
    return End.FALLS if ways else End.LEAVES


def _range(cx: Cx, node: ast.expr) -> tuple[Number, Number, int]:
    """Start, end and step of `range(…)`."""
    callee = exprs.evaluate(cx, node.func) if isinstance(node, ast.Call) else None
    if not isinstance(node, ast.Call) or not (isinstance(callee, Const) and callee.value is range):
        raise cx.fault(
            codes.LOOP,
            "a loop of a kernel goes over `range(…)`",
            node,
            help="write `for i in range(n):` and index with `i`",
        )
    if node.keywords or not 1 <= len(node.args) <= 3:
        raise cx.fault(
            codes.LOOP,
            f"`range` takes 1 to 3 numbers, not {len(node.args) + len(node.keywords)}",
            node,
            help="write `range(start, end, step)`",
        )
    numbers: list[Number] = []
    for arg in node.args:
        value = exprs.evaluate(cx, arg)
        if not scalars.is_number(value) or scalars.kind(value) != "i64":
            raise cx.fault(
                codes.LOOP,
                f"`range` takes integers, not {describe(value)}",
                arg,
                help="write `int(…)` or `//`",
            )
        numbers.append(cx.pin(value, "bound", cx.span(arg)) if len(node.args) > 1 else value)
    if len(numbers) == 1:
        numbers.insert(0, Const(0))
    step = numbers[2] if len(numbers) == 3 else Const(1)
    if not isinstance(step, Const) or step.value == 0:
        raise cx.fault(
            codes.LOOP,
            "the step of `range` must be a constant other than 0",
            node.args[2],
            help="loop over `range(n)` and multiply: `pos = start + i * step`",
        )
    return numbers[0], numbers[1], step.value


def _counter_bounds(start: Number, end: Number, step: int) -> tuple[int | None, int | None]:
    (start_lo, start_hi), (end_lo, end_hi) = scalars.bounds(start), scalars.bounds(end)
    if step > 0:
        return start_lo, end_hi - 1 if end_hi is not None else None
    return end_lo + 1 if end_lo is not None else None, start_hi


def _downwards(
    cx: Cx, start: Number, end: Number, step: int, value: Scalar, span: Span
) -> tuple[list[Any], Scalar]:
    """A loop that counts down, as one that counts its passes up."""
    start, end = cx.pin(start, "start", span), cx.pin(end, "end", span)
    passes = scalars.binary(cx, "sub", start, end, span)
    passes = scalars.binary(cx, "max", passes, Const(0), span)
    passes = scalars.binary(cx, "ceildiv", passes, Const(-step), span)
    down = scalars.binary(cx, "mul", Scalar(value.x, "i64", 0), Const(-step), span)
    current = scalars.binary(cx, "sub", start, down, span)
    bounds = [int_literal(0, "i64", span), scalars.expr(cx, passes, "i64", span), int_literal(1, "i64", span)]
    return bounds, Scalar(current.x, "i64", value.lo, value.hi)


def _counts_alone(cx: Cx, node: ast.For, name: str) -> bool:
    """Whether the name is the variable of this loop and nothing else, and is not used outside of it."""
    inside = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))
    everywhere = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(cx.frame.source.tree))
    stored = sum(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(node)
    )
    in_bounds = any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.iter))
    return inside == everywhere and stored == 1 and not in_bounds and name not in cx.frame.env
