"""Variables: assignment, the types they keep, and what is left of them where ways through a function meet."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .._seam import Span
from . import codes
from .context import Cx, Env, Var, is_short, local_expr
from .scalars import expr, is_number, kind
from .tiles import copy_into
from .values import Const, Number, Scalar, TileVal, TupleVal, Value, ViewDim, ViewVal, describe, tile_words

RESULT = "return"
"""The variable that holds the result of a helper; no name of Python's."""


def assigned_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that some statement among or inside `nodes` assigns."""
    return {
        n.id
        for root in nodes
        for n in ast.walk(root)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def read(cx: Cx, name: str, at: ast.AST) -> Value | None:
    """The value of a variable of the current function; None when there is none of this name."""
    var = cx.frame.env.get(name)
    if var is None:
        if name not in cx.frame.source.assigned:
            return None
        raise cx.fault(
            codes.UNASSIGNED,
            f"`{name}` is not assigned before this",
            at,
            help=f"a name that a function assigns is a variable of the function: assign `{name}` first",
        )
    if var.missing is not None:
        raise cx.fault(
            var.code,
            var.missing.format(name=name),
            at,
            labels=[(var.span, "assigned here")],
            help=f"give `{name}` its value before, on every way that leads here",
        )
    return var.value


def settle(cx: Cx, value: Value, span: Span) -> Value:
    """The value as it is now, whatever changes later; tiles excepted."""
    match value:
        case Scalar():
            return cx.pin(value, "value", span)
        case ViewVal(dims=dims, fixed=fixed):
            dims = tuple(_settle_dim(cx, d, span) for d in dims)
            return replace(
                value, dims=dims, fixed=tuple((axis, cx.pin(i, "index", span)) for axis, i in fixed)
            )
        case TupleVal(items):
            return TupleVal(tuple(settle(cx, item, span) for item in items))
    return value


def _settle_dim(cx: Cx, dim: ViewDim, span: Span) -> ViewDim:
    length = cx.pin(dim.length, "length", span) if dim.length is not None else None
    return replace(dim, start=cx.pin(dim.start, "start", span), length=length)


def assign(cx: Cx, name: str, value: Value, span: Span) -> None:
    """`name = value`."""
    env = cx.frame.env
    old = env.get(name)
    if old is not None and old.missing is None and old.value is not None:
        value = _keep_type(cx, name, old, value, span)
    if is_number(value):
        env[name] = _assign_number(cx, name, value, span)
    elif isinstance(value, TileVal):
        env[name] = Var(_assign_tile(cx, name, value, span), None, span)
    else:
        value = settle(cx, value, span)
        # The result of a helper is read before any of its tiles is written again.
        env[name] = Var(value if name == RESULT else _own(cx, name, value, span), None, span)


def _own(cx: Cx, name: str, value: Value, span: Span) -> Value:
    """The value of a tuple variable, whose tiles no assignment to another variable writes."""
    if isinstance(value, TupleVal):
        return TupleVal(tuple(_own(cx, name, item, span) for item in value.items))
    if not isinstance(value, TileVal):
        return value
    ty = (*value.shape, value.elem)
    local = value.local
    if not value.temp or value.flipped:
        local = cx.builder.tile(name, ty, span)
        copy_into(cx, value, local, span)
        cx.release(value)
    cx.frame.slots[f"{name}.{local}", ty] = local
    return TileVal(local, ty, *value.full)


def _assign_number(cx: Cx, name: str, value: Number, span: Span) -> Var:
    known = isinstance(value, Const) or (value.invariant and (is_short(value.x) or not cx.in_region))
    if known and not cx.in_region:
        return Var(cx.pin(value, name, span), None, span)
    ty = kind(value)
    local = _slot(cx, name, ty, span)
    cx.builder.stmt("assign", span, local=local, value=expr(cx, value, ty, span))
    if not known:
        lo, hi = (value.lo, value.hi) if ty == "i64" else (None, None)
        value = Scalar(local_expr(local, ty, span), ty, lo, hi)
    return Var(value, local, span)


def _slot(cx: Cx, name: str, ty: str, span: Span) -> int:
    slots = cx.frame.slots
    if (name, ty) not in slots:
        slots[name, ty] = cx.builder.scalar(name, ty, span)
    return slots[name, ty]


def _assign_tile(cx: Cx, name: str, value: TileVal, span: Span) -> TileVal:
    slots = cx.frame.slots
    rows, cols = value.shape
    ty = (rows, cols, value.elem)
    local = slots.get((name, ty))
    if local is None and value.temp and not value.flipped:
        cx.builder.rename(value.local, name)
        local = value.local
    elif local is None:
        local = cx.builder.tile(name, ty, span)
    if local != value.local or value.flipped:
        copy_into(cx, value, local, span)
        cx.release(value)
    slots[name, ty] = local
    full_rows, full_cols = value.full
    return TileVal(local, ty, full_rows, full_cols)


def tile_home(cx: Cx, name: str) -> int | None:
    """The tile that an assignment to `name` would write, where there is one already."""
    var = cx.frame.env.get(name)
    return var.value.local if var is not None and isinstance(var.value, TileVal) else None


def _keep_type(cx: Cx, name: str, old: Var, value: Value, span: Span) -> Value:
    was = old.value
    if isinstance(was, TileVal) and isinstance(value, TileVal):
        if (*value.shape, value.elem) == was.ty:
            return value
        raise _type_change(cx, name, old, value, span, _tile_help(name, was, value))
    if is_number(was) and is_number(value):
        was_kind, now = kind(was), kind(value)
        if was_kind == now:
            return value
        if was_kind == "f32" and now == "i64" and isinstance(value, Const):
            return Const(float(value.value))
        raise _type_change(cx, name, old, value, span, _number_help(name, was_kind, now))
    if isinstance(was, Const) and not is_number(was) and not isinstance(value, TileVal | Scalar):
        return value
    if (isinstance(was, Const) and was.value is None) or type(was) is type(value):
        return value
    help = ""
    if isinstance(was, ViewVal):
        help = f"store into `{name}`: `{name}[...] = value`; or use another name for the value"
    elif isinstance(value, TileVal):
        help = f"start with a tile: `{name} = pto.zeros((rows, columns))`"
    raise _type_change(
        cx, name, old, value, span, help or f"use another name for the second value of `{name}`"
    )


def _type_change(cx: Cx, name: str, old: Var, value: Value, span: Span, help: str) -> Exception:
    return cx.fault(
        codes.TYPE_CHANGE,
        f"`{name}` would change its type",
        span,
        label=f"becomes {describe(value)}",
        labels=[(old.span, f"is {describe(old.value)}")],
        notes=["a variable keeps one type: kind of number, or element type and capacity of a tile"],
        help=help,
    )


def _tile_help(name: str, was: TileVal, value: TileVal) -> str:
    if was.shape == value.shape:
        return f"convert the value: `pto.cast(…, {was.elem})`"
    return f"use another name for {tile_words(value.shape, value.elem)}"


def _number_help(name: str, was: str, now: str) -> str:
    if (was, now) == ("i64", "f32"):
        return f"start with a float: `{name} = 0.0`, or round with `int(…)`"
    if (was, now) == ("f32", "i64"):
        return "convert the value: `float(…)`"
    return f"use another name for the second value of `{name}`"


def materialise(cx: Cx, names: Iterable[str], span: Span) -> None:
    """Before a branch or loop that assigns them, numbers that only Python knows get a variable."""
    for name in sorted(names):
        var = cx.frame.env.get(name)
        if var is None or var.missing is not None or var.local is not None or not is_number(var.value):
            continue
        ty = kind(var.value)
        local = _slot(cx, name, ty, span)
        cx.builder.stmt("assign", span, local=local, value=expr(cx, var.value, ty, span))
        cx.frame.env[name] = replace(var, local=local)


def forget(cx: Cx, names: Iterable[str], line: int) -> None:
    """At the head of a loop, what is known of the names that the loop assigns holds for the first pass
    only.
    """
    env = cx.frame.env
    for name in sorted(names):
        var = env.get(name)
        if var is None or var.missing is not None:
            continue
        if is_number(var.value) and var.local is not None:
            ty = kind(var.value)
            env[name] = replace(var, value=Scalar(local_expr(var.local, ty, var.span), ty))
        elif isinstance(var.value, TileVal):
            env[name] = replace(var, value=replace(var.value, full_rows=False, full_cols=False))
        else:
            reason = f"`{{name}}` is not the same in every pass of the loop of line {line}"
            env[name] = replace(var, missing=reason, code=codes.DIFFERS)


def join(envs: Sequence[Env], where: str) -> Env:
    """The names after ways meet; `where` says at which statement, for messages."""
    first, rest = envs[0], envs[1:]
    for other in rest:
        names = [*first, *(n for n in other if n not in first)]
        first = {name: _meet(first.get(name), other.get(name), where) for name in names}
    return first


def _meet(a: Var | None, b: Var | None, where: str) -> Var:
    if a == b and a is not None:
        return a
    present = a if a is not None and (b is None or a.missing is None) else b
    for var in (a, b):
        if var is not None and var.missing is not None:
            return var
    if a is None or b is None:
        reason = f"`{{name}}` may be unassigned here: not every way through {where} assigns it"
        return replace(present, missing=reason)
    va, vb = a.value, b.value
    if is_number(va) and is_number(vb) and a.local is not None and a.local == b.local:
        if va == vb:
            return a
        ty = kind(va)
        return replace(a, value=Scalar(local_expr(a.local, ty, a.span), ty))
    if isinstance(va, TileVal) and isinstance(vb, TileVal) and va.local == vb.local:
        both = replace(va, full_rows=va.full_rows and vb.full_rows, full_cols=va.full_cols and vb.full_cols)
        return replace(a, value=both)
    if va == vb:
        return a
    words = describe(va), describe(vb)
    how = f"{words[0]} on one way through {where} and {words[1]} on another"
    if words[0] == words[1]:
        how = f"not the same on every way through {where}"
    how = how.replace("{", "{{").replace("}", "}}")
    return replace(a, missing=f"`{{name}}` is {how}", code=codes.DIFFERS)
