"""Calls: of functions of `pto`, of Python's own, and of helper functions, which are compiled in place."""

from __future__ import annotations

import ast
import builtins
import inspect
import types
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .._seam import Span
from ..dtypes import DType
from ..spans import cause_of
from . import codes, flow, scalars, tiles
from .context import Cx, Frame
from .exprs import constant, evaluate, evaluate_all
from .source import Source, source_of
from .values import Const, TileVal, TupleVal, Value, ViewVal, describe

MAX_HELPER_DEPTH = 32
"""Helpers that call helpers, at most."""

Args = tuple[list[tuple[Value, ast.expr]], dict[str, tuple[Value, ast.expr]]]


def call(cx: Cx, node: ast.Call, dst: int | None) -> Value:
    """The result of a call."""
    target = evaluate(cx, node.func)
    if not isinstance(target, Const):
        raise cx.fault(
            codes.NOT_CALLABLE,
            f"{describe(target)} cannot be called",
            node.func,
            help="call a function of `pto`",
        )
    function = target.value
    from .builtins import lookup

    handler = lookup(function)
    if handler is not None:
        return handler(cx, node, dst)
    if isinstance(function, types.FunctionType) and not _is_foreign_module(function):
        return _inline(cx, function, node)
    return _python(cx, function, node)


def arguments(cx: Cx, node: ast.Call, dst_of: Callable[[str | int], int | None] = lambda _: None) -> Args:
    """The arguments in the order in which they stand. `dst_of` says where the tile of an argument should
    go.
    """
    for keyword in node.keywords:
        if keyword.arg is None:
            raise cx.fault(
                codes.EXPRESSION,
                "`**` cannot stand in a call in a kernel",
                keyword.value,
                help="write `name=value`",
            )
    nodes = [*node.args, *(keyword.value for keyword in node.keywords)]
    places = [*range(len(node.args)), *(keyword.arg for keyword in node.keywords)]
    values = list(zip(evaluate_all(cx, nodes, [dst_of(p) for p in places]), nodes, strict=False))
    names = [keyword.arg for keyword in node.keywords]
    return values[: len(node.args)], dict(zip(names, values[len(node.args) :], strict=False))


def bind(
    cx: Cx, signature: inspect.Signature, name: str, args: Args, node: ast.Call
) -> dict[str, tuple[Value, ast.AST]]:
    """Arguments by parameter, with defaults."""
    positional, keywords = args
    try:
        bound = signature.bind(*positional, **keywords)
    except TypeError as error:
        raise cx.fault(
            codes.ARGUMENTS,
            f"`{name}`: {error}",
            node,
            help=f"its parameters are `{name}{_plain(signature)}`",
        ) from None
    result: dict[str, tuple[Value, ast.AST]] = dict(bound.arguments)
    for parameter in signature.parameters.values():
        if (
            parameter.kind is inspect.Parameter.VAR_POSITIONAL
            or parameter.kind is inspect.Parameter.VAR_KEYWORD
        ):
            raise cx.fault(
                codes.ARGUMENTS,
                f"`{name}` takes `*{parameter.name}`, which a kernel cannot give",
                node,
                help="call a function with a fixed list of parameters",
            )
        if parameter.name not in result:
            cx.reads.value(parameter.default)
            result[parameter.name] = (constant(parameter.default), node)
    return result


def _plain(signature: inspect.Signature) -> str:
    parameters = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))


def _is_foreign_module(function: Any) -> bool:
    module = (getattr(function, "__module__", "") or "").split(".")[0]
    return module in ("numpy", "torch", "jax", "math", "scipy")


def _inline(cx: Cx, function: types.FunctionType, node: ast.Call) -> Value:
    """Compiles the body of a helper in place of its call."""
    name, span = function.__name__, cx.span(node)
    chain = [frame.source.name for frame in cx.frames]
    if any(frame.source.function.__code__ is function.__code__ for frame in cx.frames):
        raise cx.fault(
            codes.RECURSION,
            f"`{name}` calls itself",
            node,
            notes=["helpers are compiled in place of their calls: " + " -> ".join([*chain, name])],
            help="write a loop",
        )
    if len(cx.frames) > MAX_HELPER_DEPTH:
        raise cx.fault(
            codes.RECURSION,
            f"calls of helpers are nested more than {MAX_HELPER_DEPTH} deep",
            node,
            help="write loops",
        )
    cx.reads.function(function)
    source = source_of(function, "helper", span)
    if source.is_declaration and not any(isinstance(s, ast.Pass) for s in source.body):
        raise cx.fault(
            codes.NOT_CALLABLE, f"`{name}` has no body to compile", node, help="give it statements"
        )
    bound = bind(cx, inspect.signature(function), name, arguments(cx, node), node)
    cx.frames.append(Frame(source, cx.regions, span))
    try:
        _bind_parameters(cx, source, bound, span)
        result = _run(cx, source)
        return _leave(cx, result, span)
    finally:
        cx.frames.pop()


def _bind_parameters(cx: Cx, source: Source, bound: dict[str, tuple[Value, ast.AST]], span: Span) -> None:
    from .context import Var

    for name, (value, _) in bound.items():
        if (
            isinstance(value, TileVal)
            and not value.temp
            and not value.flipped
            and name not in source.assigned
        ):
            # Nobody writes the caller's tile while the helper runs.
            cx.frame.env[name] = Var(value, None, span)
        else:
            flow.assign(cx, name, value, span)


def _run(cx: Cx, source: Source) -> Value:
    from .stmts import block

    block(cx, source.body)
    var = cx.frame.env.get(flow.RESULT)
    if var is None:
        return Const(None)
    if var.missing is not None:
        raise cx.fault(
            codes.RETURN,
            f"`{source.name}` returns different kinds of values",
            source.span,
            notes=[var.missing.format(name="the result")],
            help="return values of one type on every way through the function",
        )
    return var.value if var.value is not None else Const(None)


def _leave(cx: Cx, result: Value, span: Span) -> Value:
    """The result outlives the helper's variables; its tiles are free for others."""
    own = {local for (_, ty), local in cx.frame.slots.items() if isinstance(ty, tuple)}
    result = _outlive(flow.settle(cx, result, span), own)
    kept = _locals_of(result)
    for local in sorted(own - kept):
        cx.builder.give_back(local)
    return result


def _outlive(value: Value, own: set[int]) -> Value:
    """The value with each tile of the helper free to be taken by one who reads it first."""
    left = set(own)

    def outlive(item: Value) -> Value:
        match item:
            case TileVal(local=local):
                temp = local in left
                left.discard(local)
                return replace(item, temp=temp)
            case TupleVal(items):
                return TupleVal(tuple(map(outlive, items)))
        return item

    return outlive(value)


def _locals_of(value: Value) -> set[int]:
    match value:
        case TileVal(local=local):
            return {local}
        case TupleVal(items):
            return set().union(*(_locals_of(item) for item in items))
    return set()


_FOLDED = (
    round,
    pow,
    divmod,
    sum,
    all,
    any,
    str,
    repr,
    bool,
    isinstance,
    tuple,
    sorted,
    hasattr,
    getattr,
    slice,
    complex,
)


_OF_NUMBERS = {name: name for name in ("sqrt", "exp", "exp2", "log", "log2", "sin", "cos")} | {"fabs": "abs"}
"""Functions of `math` that a running kernel has for one number, in `f32`."""


def _python(cx: Cx, function: Any, node: ast.Call) -> Value:
    """Python's own functions: of constants they are computed now, a few have a meaning for numbers of the
    kernel.
    """
    handler = _NUMBERS.get(function) if isinstance(function, types.BuiltinFunctionType | type) else None
    if handler is not None:
        return handler(cx, node)
    if function is range:
        raise cx.fault(
            codes.NOT_CALLABLE,
            "`range` stands in `for i in range(…)` only",
            node,
            help="loop over it directly",
        )
    if getattr(function, "__module__", None) == "math" or function in _folded(function):
        args, kwargs = arguments(cx, node)
        values = [value for value, _ in [*args, *kwargs.values()]]
        if all(isinstance(v, Const) for v in values):
            return _fold(cx, function, args, kwargs, node)
        name = _OF_NUMBERS.get(getattr(function, "__name__", ""))
        if name is not None and len(values) == 1 and scalars.is_number(values[0]):
            return scalars.function(cx, name, values[0], cx.span(node))
    raise _refusal(cx, function, node)


def _folded(function: Any) -> tuple[Any, ...]:
    return tuple(f for f in _FOLDED if f is function)


def _fold(cx: Cx, function: Callable[..., Any], args: Any, kwargs: Any, node: ast.Call) -> Value:
    for value, _ in (*args, *kwargs.values()):
        cx.reads.whole(value.value)
    try:
        return constant(function(*(v.value for v, _ in args), **{k: v.value for k, (v, _) in kwargs.items()}))
    except Exception as error:
        name = getattr(function, "__name__", repr(function))
        raise cx.fault(
            codes.COMPILE_TIME, f"`{name}` of constants: {error}", node, help="change the constants"
        ) from cause_of(error)


def _refusal(cx: Cx, function: Any, node: ast.Call) -> Exception:
    from .builtins import TABLE

    name = getattr(function, "__name__", None) or type(function).__name__
    module = (getattr(function, "__module__", None) or type(function).__module__ or "").split(".")[0]
    synonym = {"matmul": "matmul", "dot": "matmul", "fabs": "abs", "power": "exp2"}.get(name, name)
    suggestion = f"`pto.{synonym}(…)`" if synonym in TABLE else None
    if hasattr(function, "specialise") and hasattr(function, "signature"):
        message, help = (
            f"`{function.name}` is a kernel",
            "kernels are called from workloads; share a plain function instead",
        )
    elif module in ("numpy", "torch", "jax", "scipy"):
        message = f"a function of {module} cannot run in a kernel"
        help = (
            f"write {suggestion}"
            if suggestion
            else "compute constants outside of the kernel and use the functions of `pto`"
        )
    elif module == "math":
        message = f"`math.{name}` does not apply to what the kernel computes"
        help = f"write {suggestion}" if suggestion else "use the functions of `pto`"
    elif isinstance(function, DType):
        message, help = (
            f"`{function.name}` is a type and no function",
            f"convert tiles with `pto.cast(tile, {function.name})`",
        )
    elif function is print:
        message, help = (
            "`print` cannot run in a kernel",
            "store what is to be seen, or try the function as `@python_kernel`",
        )
    else:
        message = f"`{name}` cannot be called in a kernel"
        help = (
            f"write {suggestion}"
            if suggestion
            else "call functions of `pto`, or plain Python functions of numbers, tiles and views"
        )
    return cx.fault(codes.NOT_CALLABLE, message, node, help=help)


def _one(cx: Cx, node: ast.Call, name: str) -> tuple[Value, ast.expr]:
    args, kwargs = arguments(cx, node)
    if len(args) != 1 or kwargs:
        raise cx.fault(
            codes.ARGUMENTS,
            f"`{name}` takes one argument, not {len(args) + len(kwargs)}",
            node,
            help=f"write `{name}(x)`",
        )
    return args[0]


def _conversion(name: str, convert: Callable[..., Value]) -> Callable[[Cx, ast.Call], Value]:
    def handler(cx: Cx, node: ast.Call) -> Value:
        value, at = _one(cx, node, name)
        if isinstance(value, Const) and not scalars.is_number(value):
            return _fold(cx, getattr(builtins, name), [(value, at)], {}, node)
        if not scalars.is_number(value):
            help = "`pto.max(tile)` is a number; one element of a view is too: `x[i, j]`"
            raise cx.fault(codes.ARGUMENTS, f"`{name}` takes a number, not {describe(value)}", at, help=help)
        if isinstance(value, Const):
            return _fold(cx, getattr(builtins, name), [(value, at)], {}, node)
        return convert(cx, value, cx.span(node))

    return handler


def _absolute(cx: Cx, node: ast.Call) -> Value:
    value, at = _one(cx, node, "abs")
    if isinstance(value, TileVal):
        return tiles.unary(cx, "abs", value, cx.span(node))
    if not scalars.is_number(value):
        raise cx.fault(
            codes.ARGUMENTS, f"`abs` takes a number, not {describe(value)}", at, help="load views first"
        )
    return scalars.function(cx, "abs", value, cx.span(node))


def _length(cx: Cx, node: ast.Call) -> Value:
    value, at = _one(cx, node, "len")
    match value:
        case TupleVal(items):
            return Const(len(items))
        case ViewVal():
            from .views import shape

            sizes = shape(cx, value, cx.span(node))
            return Const(sizes.value[0]) if isinstance(sizes, Const) else sizes.items[0]
        case Const():
            return _fold(cx, len, [(value, at)], {}, node)
    raise cx.fault(
        codes.ARGUMENTS,
        f"`len` takes a tuple or a view, not {describe(value)}",
        at,
        help="tiles have `rows` and `cols`",
    )


def _extreme(op: str) -> Callable[[Cx, ast.Call], Value]:
    def handler(cx: Cx, node: ast.Call) -> Value:
        args, kwargs = arguments(cx, node)
        items = [value for value, _ in args]
        if len(items) == 1 and isinstance(items[0], TupleVal):
            items = list(items[0].items)
        elif len(items) == 1 and isinstance(items[0], Const) and isinstance(items[0].value, tuple | list):
            items = [constant(v) for v in items[0].value]
        if kwargs or not items or not all(scalars.is_number(v) for v in items):
            shown = ", ".join(map(describe, items))
            raise cx.fault(
                codes.ARGUMENTS,
                f"`{op}` takes numbers, not {shown or 'nothing'}",
                node,
                help=f"of tiles, `pto.{op}imum(a, b)` is element by element and `pto.{op}(tile)` one number",
            )
        result = items[0]
        for item in items[1:]:
            result = scalars.binary(cx, op, result, item, cx.span(node))
        return result

    return handler


_NUMBERS: dict[Any, Callable[[Cx, ast.Call], Value]] = {
    int: _conversion("int", scalars.to_int),
    float: _conversion("float", scalars.to_float),
    bool: _conversion("bool", scalars.truth),
    abs: _absolute,
    len: _length,
    min: _extreme("min"),
    max: _extreme("max"),
}
