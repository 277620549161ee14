"""Expressions: from the syntax tree to values."""

from __future__ import annotations

import ast
import types
from collections.abc import Sequence
from typing import Any

from ..dtypes import DTYPES
from ..hints import did_you_mean
from ..spans import cause_of
from ..tile_functions import OPERATORS
from . import codes, elements, flow, logic, operators, scalars, tiles, transfer, views
from .context import Cx
from .emit import Stmt
from .source import MISSING
from .values import Const, Number, TileVal, TupleVal, Value, ViewVal, describe

_WORDS: dict[type[ast.expr], tuple[str, str]] = {
    ast.ListComp: ("a comprehension", "write a `for` loop"),
    ast.SetComp: ("a comprehension", "write a `for` loop"),
    ast.DictComp: ("a comprehension", "write a `for` loop"),
    ast.GeneratorExp: ("a comprehension", "write a `for` loop"),
    ast.Lambda: ("a lambda", "define a function outside of the kernel and call it: it is compiled in place"),
    ast.NamedExpr: ("`:=`", "assign in a statement of its own"),
    ast.JoinedStr: ("an f-string", "kernels compute numbers; take the text in as a Constexpr"),
    ast.Await: ("`await`", "kernels run to their end"),
    ast.Yield: ("`yield`", "store results through an `Out` parameter"),
    ast.YieldFrom: ("`yield`", "store results through an `Out` parameter"),
    ast.Dict: ("a dictionary", "use Constexpr parameters, or look it up outside of the kernel"),
    ast.Set: ("a set", "use a tuple"),
    ast.Starred: ("`*`", "write the values one by one"),
}


def evaluate(cx: Cx, node: ast.expr, dst: int | None = None) -> Value:
    """The value of an expression. A tile goes to `dst` where that is possible."""
    match node:
        case ast.Constant(value=value):
            return Const(value)
        case ast.Name(id=name):
            return _name(cx, name, node)
        case ast.Attribute():
            return _attribute(cx, node)
        case ast.Subscript():
            return _subscript(cx, node)
        case ast.BinOp():
            return _operations(cx, node, dst)
        case ast.UnaryOp():
            return _unary(cx, node, dst)
        case ast.BoolOp(op=op, values=operands):
            thunks = [logic.thunk(cx, operand) for operand in operands]
            return logic.joined(cx, isinstance(op, ast.And), thunks, cx.span(node))
        case ast.Compare():
            return logic.compare(cx, node)
        case ast.IfExp():
            return logic.choice(cx, node)
        case ast.Call():
            from .calls import call

            return call(cx, node, dst)
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            whole = group([flow.settle(cx, evaluate(cx, item), cx.span(item)) for item in elts])
            is_list = isinstance(node, ast.List) and isinstance(whole, Const)
            return Const(list(whole.value)) if is_list else whole
    what, help = _WORDS.get(type(node), (f"`{type(node).__name__}`", "kernels have numbers, tiles and views"))
    raise cx.fault(codes.EXPRESSION, f"{what} cannot stand in a kernel", node, help=help)


def group(items: list[Value]) -> Value:
    """A tuple; of constants alone, a constant."""
    if all(isinstance(item, Const) for item in items):
        return Const(tuple(item.value for item in items))
    return TupleVal(tuple(items))


def evaluate_all(cx: Cx, nodes: Sequence[ast.expr], dsts: Sequence[int | None] = ()) -> list[Value]:
    """The values of expressions, from left to right: what one stores does not change those before."""
    values: list[Value] = []
    for i, node in enumerate(nodes):
        block: list[Stmt] = []
        with cx.builder.into(block):
            value = evaluate(cx, node, dsts[i] if dsts else None)
        if block:
            values = [flow.settle(cx, v, cx.span(n)) for v, n in zip(values, nodes, strict=False)]
        cx.builder.block.extend(block)
        values.append(value)
    return values


def _operations(cx: Cx, node: ast.BinOp, dst: int | None) -> Value:
    """`a op b`; those on its left, of which there may be thousands, are evaluated before it."""
    run: list[ast.BinOp] = []
    first: ast.expr = node
    while isinstance(first, ast.BinOp):
        run.append(first)
        first = first.left
    left, value = first, evaluate(cx, first)
    for step in reversed(run):
        block: list[Stmt] = []
        with cx.builder.into(block):
            right = evaluate(cx, step.right)
        if block:
            value = flow.settle(cx, value, cx.span(left))
        cx.builder.block.extend(block)
        target = dst if step is node else None
        value = binary(cx, operators.ARITHMETIC[type(step.op)], value, right, step, target)
        left = step
    return value


def number(cx: Cx, node: ast.expr) -> Number:
    """An expression that must be a number."""
    value = evaluate(cx, node)
    if not scalars.is_number(value):
        raise cx.fault(
            codes.OPERAND,
            f"a number is needed here, not {describe(value)}",
            node,
            help="`pto.max(tile)` is a number",
        )
    return value


def _name(cx: Cx, name: str, node: ast.AST) -> Value:
    value = flow.read(cx, name, node)
    if value is not None:
        return value
    found = cx.frame.source.lookup(name)
    if found is MISSING:
        raise cx.fault(
            codes.UNKNOWN_NAME,
            f"`{name}` is not defined",
            node,
            help=did_you_mean(name, cx.frame.source.visible_names())
            or "define it in the file, or make it a parameter",
        )
    source = cx.frame.source
    cx.reads.name(lambda: source.lookup(name), found)
    return constant(found)


def constant(value: Any) -> Const:
    """A Python object as a kernel sees it: NumPy's numbers are numbers."""
    if not isinstance(value, int | float) and getattr(value, "shape", None) == () and hasattr(value, "item"):
        return Const(value.item())
    if isinstance(value, float) and type(value) is not float:
        return Const(float(value))
    return Const(value)


def _attribute(cx: Cx, node: ast.Attribute) -> Value:
    value, name, span = evaluate(cx, node.value), node.attr, cx.span(node)
    if isinstance(value, ViewVal):
        return _view_attribute(cx, value, name, node)
    if isinstance(value, TileVal):
        return _tile_attribute(cx, value, name, node)
    if isinstance(value, Const):
        return _constant_attribute(cx, value.value, name, node)
    help = "tiles and views have `shape`; numbers have no attributes"
    raise cx.fault(codes.UNKNOWN_ATTRIBUTE, f"{describe(value)} has no `{name}`", span, help=help)


def _view_attribute(cx: Cx, view: ViewVal, name: str, node: ast.AST) -> Value:
    match name:
        case "shape":
            return views.shape(cx, view, cx.span(node))
        case "dtype":
            return Const(cx.views[view.view].dtype)
        case "ndim":
            return Const(len(view.dims))
        case "T":
            return views.transposed(cx, view, node)
    raise _no_attribute(cx, "a view", name, ["shape", "dtype", "ndim", "T"], node)


def _tile_attribute(cx: Cx, tile: TileVal, name: str, node: ast.AST) -> Value:
    span = cx.span(node)
    match name:
        case "rows" | "cols":
            return tiles.valid(cx, tile, 0 if name == "rows" else 1, span)
        case "shape":
            if tile.temp:
                tile = _keep(cx, tile)
            return group([tiles.valid(cx, tile, dim, span) for dim in (0, 1)])
        case "dtype":
            cx.release(tile)
            return Const(DTYPES[tile.elem])
        case "T":
            rows, cols = tile.full_rows, tile.full_cols
            return TileVal(tile.local, tile.ty, rows, cols, tile.temp, not tile.flipped)
    raise _no_attribute(cx, "a tile", name, ["rows", "cols", "shape", "dtype", "T"], node)


def _keep(cx: Cx, tile: TileVal) -> TileVal:
    return TileVal(tile.local, tile.ty, tile.full_rows, tile.full_cols, False, tile.flipped)


def _no_attribute(cx: Cx, what: str, name: str, known: list[str], node: ast.AST) -> Exception:
    listed = ", ".join(f"`{k}`" for k in known)
    from .builtins import TABLE

    help = did_you_mean(name, known) or f"{what} has {listed}"
    if name in TABLE:
        help = f"write `pto.{name}(…)`"
    elif name in ("astype", "to", "type"):
        help = "write `pto.cast(tile, f16)` with the element type"
    return cx.fault(codes.UNKNOWN_ATTRIBUTE, f"{what} has no `{name}`", node, help=help)


def _constant_attribute(cx: Cx, value: Any, name: str, node: ast.AST) -> Value:
    from .. import pto
    from .builtins import TABLE

    if value is pto and name not in TABLE:
        help = NOT_OFFERED.get(name) or did_you_mean(name, TABLE) or did_you_mean(name.lower(), TABLE)
        raise cx.fault(
            codes.UNKNOWN_FUNCTION,
            f"`pto.{name}` does not exist",
            node,
            help=help or "functions of tiles: " + ", ".join(sorted(TABLE)),
        )
    try:
        found = getattr(value, name)
        cx.reads.attribute(value, name, found)
        return constant(found)
    except AttributeError:
        what = f"module `{value.__name__}`" if isinstance(value, types.ModuleType) else describe(Const(value))
        names = [n for n in dir(value) if not n.startswith("_")]
        raise cx.fault(
            codes.UNKNOWN_ATTRIBUTE,
            f"{what} has no `{name}`",
            node,
            help=did_you_mean(name, names) or "spell it as its module does",
        ) from None


NOT_OFFERED = {
    "where": "use `pto.mask` or `pto.mask_causal`, or `pto.maximum` and `pto.minimum`",
    "mean": "write `pto.rowsum(t) / t.cols`",
    "softmax": "write `p = pto.exp(t - pto.rowmax(t))` and `p / pto.rowsum(p)`",
    "dot": "write `pto.matmul(a, b)`",
    "ones": "write `pto.full(shape, 1.0)`",
    "sigmoid": "write `1.0 / (1.0 + pto.exp(-t))`",
    "silu": "write `t / (1.0 + pto.exp(-t))`",
    "pow": "write products, or `pto.exp2(pto.log2(t) * y)`",
}
"""What to write for functions that people look for."""


def _subscript(cx: Cx, node: ast.Subscript) -> Value:
    value = evaluate(cx, node.value)
    if isinstance(value, ViewVal):
        return transfer.subscript(cx, value, node.slice, lambda part: evaluate(cx, part))
    if isinstance(value, TileVal):
        raise cx.fault(
            codes.INDEX_FORM,
            "elements of a tile have no index",
            node,
            help="slice the view before it is loaded: `pto.load(x[lo:hi])`",
        )
    index = (
        evaluate(cx, node.slice) if not isinstance(node.slice, ast.Slice) else _constant_slice(cx, node.slice)
    )
    if isinstance(index, Const) and isinstance(value, Const | TupleVal):
        items = value.items if isinstance(value, TupleVal) else value.value
        try:
            found = items[index.value]
        except Exception as error:
            raise cx.fault(
                codes.COMPILE_TIME,
                f"{describe(value)} has no index {index.value!r}",
                node,
                notes=[str(error)],
                help="use an index that exists",
            ) from cause_of(error)
        if isinstance(value, Const):
            return constant(found)
        return group(list(found)) if isinstance(found, tuple) else found
    raise cx.fault(
        codes.INDEX_TYPE,
        f"{describe(value)} takes an index that is known when the kernel is compiled",
        node,
        help="bind the values to an integer tensor and read them from a view: `table[i]`",
    )


def _constant_slice(cx: Cx, node: ast.Slice) -> Value:
    parts = [evaluate(cx, p) if p is not None else Const(None) for p in (node.lower, node.upper, node.step)]
    whole = group(parts)
    return Const(slice(*whole.value)) if isinstance(whole, Const) else whole


def binary(cx: Cx, op: str, a: Value, b: Value, at: ast.AST, dst: int | None = None) -> Value:
    """`a op b`"""
    if isinstance(a, TileVal) or isinstance(b, TileVal):
        return _tile_binary(cx, op, a, b, at, dst)
    if scalars.is_number(a) and scalars.is_number(b):
        return scalars.binary(cx, op, a, b, cx.span(at))
    if isinstance(a, Const) and isinstance(b, Const):
        return constant(scalars.binary(cx, op, a, b, cx.span(at)).value)
    raise cx.fault(
        codes.OPERAND,
        f"`{operators.SIGNS[op]}` does not apply to {describe(a)} and {describe(b)}",
        at,
        help="load views first: `pto.load(view)`"
        if isinstance(a, ViewVal) or isinstance(b, ViewVal)
        else "both sides must be numbers or tiles",
    )


def _tile_binary(cx: Cx, op: str, a: Value, b: Value, at: ast.AST, dst: int | None) -> Value:
    whole = [v for v in (a, b) if isinstance(v, TileVal) and elements.is_integer(v.elem)]
    if whole and op in ("truediv", "floordiv"):
        return _integer_quotient(cx, op, a, b, at, dst)
    if op in _LOGIC and whole and all(tile.elem == "bool" for tile in whole):
        return tiles.binary(cx, _LOGIC[op], a, b, at, dst)
    if operators.SIGNS[op] in OPERATORS:
        return tiles.binary(cx, OPERATORS[operators.SIGNS[op]], a, b, at, dst)
    if op == "matmul" and isinstance(a, TileVal) and isinstance(b, TileVal):
        return tiles.matmul(cx, a, b, None, at, dst)
    if op == "pow" and isinstance(b, Const) and b.value == 2:
        a = tiles.upright(cx, a, cx.span(at))
        return tiles.binary(cx, "mul", a, a, at, dst)
    raise cx.fault(
        codes.OPERAND,
        f"`{operators.SIGNS[op]}` does not apply to tiles",
        at,
        label=f"{describe(a)} and {describe(b)}",
        help="tiles have `+`, `-`, `*`, `/`, `@`, `** 2`, and the functions of `pto`",
    )


_LOGIC = {"bitand": "min", "bitor": "max", "bitxor": "ne"}
"""What operators are on truth values."""


def _integer_quotient(cx: Cx, op: str, a: Value, b: Value, at: ast.AST, dst: int | None) -> Value:
    if op == "truediv":
        raise cx.fault(
            codes.ELEMENTS,
            "`/` does not apply to tiles of integers",
            at,
            label=f"{describe(a)} and {describe(b)}",
            help="`//` rounds down, as in Python; for real numbers convert first: `pto.cast(tile, f64)`",
        )
    return tiles.floor_divide(cx, a, b, at, dst)


def _unary(cx: Cx, node: ast.UnaryOp, dst: int | None) -> Value:
    span = cx.span(node)
    if isinstance(node.op, ast.Not):
        return scalars.logical_not(cx, logic.condition(cx, node.operand), span)
    value = evaluate(cx, node.operand)
    if isinstance(value, TileVal) and isinstance(node.op, ast.USub):
        return tiles.unary(cx, "neg", value, span, dst)
    if isinstance(value, TileVal) and isinstance(node.op, ast.Invert) and value.elem == "bool":
        return tiles.binary(cx, "eq", value, Const(0), node, dst)
    if isinstance(value, TileVal) and isinstance(node.op, ast.UAdd):
        return value
    if scalars.is_number(value) and not isinstance(node.op, ast.Invert):
        return scalars.negate(cx, value, span) if isinstance(node.op, ast.USub) else value
    if isinstance(value, Const) and isinstance(value.value, int):
        return Const(~value.value)
    sign = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}[type(node.op)]
    help = (
        "load views first: `pto.load(view)`" if isinstance(value, ViewVal) else "it takes numbers and tiles"
    )
    raise cx.fault(codes.OPERAND, f"`{sign}` does not apply to {describe(value)}", node, help=help)
