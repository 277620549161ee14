"""The functions of `pto` as the compiler has them: one entry per function, with the signature of its
documentation.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

from .. import pto
from ..dtypes import DType
from ..tile_functions import FORMS, Form
from . import codes, elements, flow, scalars, tiles, transfer
from .calls import arguments, bind
from .context import Cx
from .exprs import evaluate
from .values import Const, Number, Scalar, TileVal, TupleVal, Value, ViewVal, describe, tile_words

Bound = dict[str, tuple[Value, ast.AST]]
Handler = Callable[[Cx, Bound, ast.Call, "int | None"], Value]

TABLE: dict[str, Handler] = {}
"""What each function of `pto` compiles to, by its name."""


def _builtin(name: str) -> Callable[[Handler], Handler]:
    def register(handler: Handler) -> Handler:
        TABLE[name] = handler
        return handler

    return register


def lookup(function: Any) -> Callable[[Cx, ast.Call, int | None], Value] | None:
    """The compiler of a call, when the function is one of `pto`."""
    name = getattr(function, "__name__", None)
    if not isinstance(name, str) or name not in TABLE or getattr(pto, name, None) is not function:
        return None

    def compile_call(cx: Cx, node: ast.Call, dst: int | None) -> Value:
        signature = inspect.signature(function)
        args = arguments(cx, node, lambda _: None) if name != "matmul" else _matmul_arguments(cx, node, dst)
        bound = bind(cx, signature, f"pto.{name}", args, node)
        return TABLE[name](cx, bound, node, dst)

    return compile_call


def _matmul_arguments(cx: Cx, node: ast.Call, dst: int | None) -> Any:
    """An accumulator that is computed for the product is computed where the result goes, once the factors
    are known.
    """
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    names = {n.id for arg in given[:-1] for n in ast.walk(arg) if isinstance(n, ast.Name)}
    homes = {flow.tile_home(cx, name) for name in names}
    last = node.keywords[-1].arg == "acc" if node.keywords else len(node.args) == 3
    in_place = dst is not None and dst not in homes and last
    return arguments(cx, node, lambda place: dst if in_place and place in (2, "acc") else None)


def _tile(cx: Cx, bound: Bound, name: str, function: str) -> TileVal:
    value, at = bound[name]
    if isinstance(value, TileVal):
        return value
    help = (
        "load it first: `pto.load(view)`"
        if isinstance(value, ViewVal)
        else "`pto.full` and `pto.load` make tiles"
    )
    raise cx.fault(codes.ARGUMENTS, f"`pto.{function}` takes a tile, not {describe(value)}", at, help=help)


def _number(cx: Cx, bound: Bound, name: str, function: str) -> Number:
    value, at = bound[name]
    if scalars.is_number(value):
        return value
    help = "`pto.max(tile)` is a number; one element of a view is too: `x[i, j]`"
    raise cx.fault(
        codes.ARGUMENTS,
        f"`{name}` of `pto.{function}` must be a number, not {describe(value)}",
        at,
        help=help,
    )


def _integer(cx: Cx, bound: Bound, name: str, function: str) -> Number:
    value = _number(cx, bound, name, function)
    if scalars.kind(value) != "i64":
        raise cx.fault(
            codes.INDEX_TYPE,
            f"`{name}` of `pto.{function}` must be an integer, not {describe(value)}",
            bound[name][1],
            help="round it: `int(…)`, or divide with `//`",
        )
    return value


def _view(cx: Cx, bound: Bound, function: str) -> ViewVal:
    value, at = bound["view"]
    if isinstance(value, ViewVal):
        return value
    help = "a parameter with `In`, `Out` or `InOut`, or a part of one"
    if isinstance(value, Scalar) and value.x["k"] in ("load_scalar", "load", "cast"):
        help = "an index for every dimension names one element: take it as it is, or slice: `x[i, j:j+1]`"
    raise cx.fault(codes.ARGUMENTS, f"`pto.{function}` takes a view, not {describe(value)}", at, help=help)


def _dtype(cx: Cx, bound: Bound, function: str) -> str | None:
    value, at = bound["dtype"]
    if isinstance(value, Const) and value.value is None:
        return None
    if isinstance(value, Const) and isinstance(value.value, DType):
        return value.value.name
    raise cx.fault(
        codes.ARGUMENTS,
        f"`dtype` of `pto.{function}` must be an element type, not {describe(value)}",
        at,
        help="write `f32`, `f64`, `f16`, `bf16`, an integer type such as `i32`, or `bool_`",
    )


@_builtin("load")
def _load(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    view = _view(cx, bound, "load")
    want, at = bound["shape"]
    sizes = None if isinstance(want, Const) and want.value is None else _shape(cx, want, at)
    return transfer.load(cx, view, sizes, _dtype(cx, bound, "load"), node, dst)


def _shape(cx: Cx, want: Value, at: ast.AST) -> tuple[Number, Number]:
    """`(rows, columns)`"""
    items: list[Value] = []
    if isinstance(want, Const) and isinstance(want.value, tuple | list):
        items = [Const(n) for n in want.value]
    elif isinstance(want, TupleVal):
        items = list(want.items)
    if len(items) != 2 or not all(scalars.is_number(i) for i in items):
        raise cx.fault(
            codes.ARGUMENTS,
            f"`shape` must be `(rows, columns)`, not {describe(want)}",
            at,
            help="write `(64, 128)`",
        )
    return items[0], items[1]


@_builtin("store")
def _store(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    transfer.store(cx, _view(cx, bound, "store"), bound["tile"][0], node)
    return Const(None)


@_builtin("atomic_add")
def _atomic_add(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    transfer.store(cx, _view(cx, bound, "atomic_add"), bound["tile"][0], node, add=True)
    return Const(None)


@_builtin("full")
def _full(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    return _filled(cx, bound, _number(cx, bound, "value", "full"), node, dst)


@_builtin("zeros")
def _zeros(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    return _filled(cx, bound, Const(0.0), node, dst)


def _filled(cx: Cx, bound: Bound, value: Number, node: ast.Call, dst: int | None) -> Value:
    want, at = bound["shape"]
    elem = _dtype(cx, bound, "full") or "f32"
    return tiles.filled(cx, _shape(cx, want, at), value, elem, at, dst)


@_builtin("cast")
def _cast(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    elem = _dtype(cx, bound, "cast")
    if elem is None:
        raise cx.fault(
            codes.ARGUMENTS, "`pto.cast` needs an element type", node, help="write `pto.cast(tile, f16)`"
        )
    return tiles.cast(cx, _tile(cx, bound, "tile", "cast"), elem, cx.span(node), dst)


def _elementwise(name: str, form: Form) -> Handler:
    def handler(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
        ((parameter, (value, _)),) = bound.items()
        if parameter == "tile" or isinstance(value, TileVal | ViewVal):
            return tiles.unary(cx, form.op, _tile(cx, bound, parameter, name), cx.span(node), dst)
        return scalars.function(cx, name, _number(cx, bound, "x", name), cx.span(node))

    return handler


def _of_two(name: str, form: Form) -> Handler:
    def handler(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
        a, b = bound["a"][0], bound["b"][0]
        if isinstance(a, TileVal) or isinstance(b, TileVal):
            return tiles.binary(cx, form.op, a, b, node, dst)
        numbers = _number(cx, bound, "a", name), _number(cx, bound, "b", name)
        return scalars.binary(cx, form.op, *numbers, cx.span(node))

    return handler


def _reduction(name: str, form: Form) -> Handler:
    def handler(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
        return tiles.reduce(cx, form, _tile(cx, bound, "tile", name), cx.span(node), dst)

    return handler


def _replaced(name: str, form: Form) -> Handler:
    """Of an operation that replaces elements of a tile by a value: its numbers are those of the form, in
    order.
    """

    def handler(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
        span = cx.span(node)
        numbers = [
            (_number if ty == "f32" else _integer)(cx, bound, parameter, name)
            for parameter, (_, ty) in zip(list(bound)[1:], form.numbers, strict=True)
        ]
        tile = tiles.in_place(cx, _tile(cx, bound, "tile", name), "masked", numbers, span, dst)
        fields = {
            field: elements.word(cx, number, tile.elem, span)
            if ty == "f32"
            else scalars.expr(cx, number, ty, span)
            for number, (field, ty) in zip(numbers, form.numbers, strict=True)
        }
        cx.builder.stmt(form.word, span, tile=tile.local, **fields)
        return tile

    return handler


@_builtin("matmul")
def _matmul(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    a, b = _tile(cx, bound, "a", "matmul"), _tile(cx, bound, "b", "matmul")
    acc = bound["acc"][0]
    if isinstance(acc, Const) and acc.value is None:
        return tiles.matmul(cx, a, b, None, node, dst)
    return tiles.matmul(cx, a, b, _tile(cx, bound, "acc", "matmul"), node, dst)


@_builtin("where")
def _where(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    mask = _tile(cx, bound, "mask", "where")
    for name in ("a", "b"):
        if not isinstance(bound[name][0], TileVal):
            _number(cx, bound, name, "where")
    return tiles.where(cx, mask, bound["a"][0], bound["b"][0], node, dst)


@_builtin("clamp")
def _clamp(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    span = cx.span(node)
    low, high = _number(cx, bound, "low", "clamp"), _number(cx, bound, "high", "clamp")
    if isinstance(bound["x"][0], TileVal | ViewVal):
        return tiles.clamp(cx, _tile(cx, bound, "x", "clamp"), low, high, span, dst)
    above = scalars.binary(cx, "max", _number(cx, bound, "x", "clamp"), low, span)
    return scalars.binary(cx, "min", above, high, span)


@_builtin("cumsum")
def _cumsum(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    return tiles.cumsum(cx, _tile(cx, bound, "tile", "cumsum"), cx.span(node), dst)


@_builtin("gather")
def _gather(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    axis = _axis(cx, bound, "gather")
    tile, indices = (_tile(cx, bound, name, "gather") for name in ("tile", "indices"))
    return tiles.gather(cx, tile, indices, axis, node, dst)


@_builtin("reshape")
def _reshape(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    shape = _shape(cx, *bound["shape"])
    return tiles.reshape(cx, _tile(cx, bound, "tile", "reshape"), shape, node, dst)


@_builtin("random")
def _random(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    seed, first = _integer(cx, bound, "seed", "random"), _integer(cx, bound, "first", "random")
    shape, elem = _shape(cx, *bound["shape"]), _dtype(cx, bound, "random") or "f32"
    given = bound["pitch"][0]
    is_left_out = isinstance(given, Const) and given.value is None
    pitch = shape[1] if is_left_out else _integer(cx, bound, "pitch", "random")
    at = [bound[name][1] for name in ("seed", "first", "shape" if is_left_out else "pitch")]
    words = [scalars.expr(cx, n, "u32", cx.span(a)) for n, a in zip((seed, first, pitch), at, strict=True)]
    return tiles.random(cx, shape, words, elem, bound["shape"][1], dst)


@_builtin("concat")
def _concat(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    axis = _axis(cx, bound, "concat")
    a, b = (_tile(cx, bound, name, "concat") for name in ("a", "b"))
    return tiles.concat(cx, a, b, axis, node, dst)


@_builtin("broadcast")
def _broadcast(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    shape, tile = _shape(cx, *bound["shape"]), _tile(cx, bound, "tile", "broadcast")
    return tiles.broadcast(cx, tile, shape, node, dst)


def _axis(cx: Cx, bound: Bound, function: str) -> int:
    """Rows (0) or columns (1)."""
    value, at = bound["axis"]
    if isinstance(value, Const) and type(value.value) is int and value.value in (0, 1):
        return value.value
    raise cx.fault(
        codes.ARGUMENTS,
        f"`axis` of `pto.{function}` must be 0 or 1, not {describe(value)}",
        at,
        help="0 is for rows, 1 for columns; the number is a constant",
    )


@_builtin("transpose")
def _transpose(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    tile = _tile(cx, bound, "tile", "transpose")
    return TileVal(tile.local, tile.ty, tile.full_rows, tile.full_cols, tile.temp, not tile.flipped)


@_builtin("mask")
def _mask(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    span = cx.span(node)
    limits: dict[str, Number] = {}
    for name in ("rows", "cols"):
        if not (isinstance(bound[name][0], Const) and bound[name][0].value is None):
            limits[name] = _integer(cx, bound, name, "mask")
    if not limits:
        raise cx.fault(
            codes.ARGUMENTS,
            "`pto.mask` needs `rows` or `cols`",
            node,
            help="write `pto.mask(t, cols=n, value=…)`",
        )
    value = _number(cx, bound, "value", "mask")
    tile = tiles.in_place(cx, _tile(cx, bound, "tile", "mask"), "mask", [*limits.values(), value], span, dst)
    words = {name: scalars.expr(cx, number, "u32", span) for name, number in limits.items()}
    word = elements.word(cx, elements.default(value, tile.elem), tile.elem, span)
    cx.builder.stmt("mask", span, tile=tile.local, **words, value=word)
    return tile


@_builtin("iota")
def _iota(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    start, elem = _integer(cx, bound, "start", "iota"), _dtype(cx, bound, "iota") or "f32"
    shape = _shape(cx, *bound["shape"])
    if isinstance(shape[0], Const):
        return tiles.iota(cx, shape, start, elem, bound["shape"][1], cx.span(node), dst)
    # The rows that there are in the running task: of a tile of zeros, to which one row of numbers is added.
    zeros = tiles.filled(cx, shape, Const(0.0), elem, bound["shape"][1], None)
    row = tiles.iota(cx, (Const(1), shape[1]), start, elem, bound["shape"][1], cx.span(node), None)
    return tiles.binary(cx, "add", zeros, row, node, dst)


@_builtin("insert")
def _insert(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    at = _corner(cx, bound, "insert")
    tile, part = (_tile(cx, bound, name, "insert") for name in ("tile", "part"))
    return tiles.insert(cx, tile, part, at, node, dst)


@_builtin("extract")
def _extract(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    at, shape = _corner(cx, bound, "extract"), _shape(cx, *bound["shape"])
    return tiles.extract(cx, _tile(cx, bound, "tile", "extract"), shape, at, node, dst)


def _corner(cx: Cx, bound: Bound, function: str) -> tuple[Number, Number]:
    """Where a part of a tile begins."""
    return _integer(cx, bound, "row", function), _integer(cx, bound, "col", function)


@_builtin("topk")
def _topk(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    first = _integer(cx, bound, "first", "topk")
    values, indices, src = (_tile(cx, bound, name, "topk") for name in ("values", "indices", "src"))
    src = tiles.upright(cx, src, cx.span(node))
    span = cx.span(node)
    _check_lists(cx, values, indices, src, node)
    lists = [tiles.in_place(cx, t, "list", [], span, None) for t in (values, indices)]
    _emit_topk(cx, lists[0], lists[1], src, first, node)
    return TupleVal(tuple(lists))


def select_in_place(cx: Cx, names: list[str], node: ast.Call) -> bool:
    """Compiles `a, b = pto.topk(a, b, …)` without copies; False when it is something else."""
    target = evaluate(cx, node.func)
    given = [arg.id for arg in node.args[:2] if isinstance(arg, ast.Name)]
    if (
        not isinstance(target, Const)
        or target.value is not pto.topk
        or given != names
        or names[0] == names[1]
    ):
        return False
    bound = bind(cx, inspect.signature(pto.topk), "pto.topk", arguments(cx, node), node)
    first = _integer(cx, bound, "first", "topk")
    values, indices, src = (_tile(cx, bound, name, "topk") for name in ("values", "indices", "src"))
    src = tiles.upright(cx, src, cx.span(node))
    _check_lists(cx, values, indices, src, node)
    for name, tile in zip(names, (values, indices), strict=False):
        if tile.local not in cx.frame.slots.values():
            return _assign_copies(cx, names, (values, indices), src, first, node)
        flow.assign(cx, name, tile, cx.span(node))
    _emit_topk(cx, values, indices, src, first, node)
    return True


def _assign_copies(
    cx: Cx, names: list[str], lists: tuple[TileVal, TileVal], src: TileVal, first: Number, node: ast.Call
) -> bool:
    """The lists are the caller's: the helper changes copies."""
    span = cx.span(node)
    own = [tiles.in_place(cx, t, "list", [], span, None) for t in lists]
    _emit_topk(cx, own[0], own[1], src, first, node)
    for name, tile in zip(names, own, strict=False):
        flow.assign(cx, name, tile, span)
    return True


def _check_lists(cx: Cx, values: TileVal, indices: TileVal, src: TileVal, node: ast.Call) -> None:
    if values.ty != indices.ty or values.elem != "f32" or values.flipped or indices.flipped:
        words = f"{tile_words(values.shape, values.elem)} and {tile_words(indices.shape, indices.elem)}"
        raise cx.fault(
            codes.SHAPES,
            f"the lists of `pto.topk` are {words}",
            node,
            help="both must be f32 tiles of `(rows, k)`",
        )
    elements.require_real(cx, "`pto.topk`", node, src)
    if src.elem == "f64":
        raise cx.fault(
            codes.ELEMENTS,
            f"`pto.topk` takes in {tile_words(src.shape, src.elem)}",
            node,
            help="its lists are f32; round first: `pto.cast(src, f32)`",
        )
    apart = {values.local, indices.local, src.local}
    if values.shape[0] != src.shape[0] or len(apart) < 3:
        raise cx.fault(
            codes.SHAPES,
            f"lists of {values.shape[0]} rows take in {tile_words(src.shape, src.elem)}",
            node,
            help="`values`, `indices` and `src` are three tiles with one list per row of `src`",
        )


def _emit_topk(
    cx: Cx, values: TileVal, indices: TileVal, src: TileVal, first: Number, node: ast.Call
) -> None:
    span = cx.span(node)
    cx.builder.stmt(
        "top_k",
        span,
        values=values.local,
        indices=indices.local,
        src=src.local,
        first=scalars.expr(cx, first, "u32", span),
    )
    cx.release(src)


def _number_or_tile(op: str) -> Handler:
    def handler(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
        (a, at), (b, _) = bound["a"], bound["b"]
        if isinstance(a, TileVal):
            if not (isinstance(b, Const) and b.value is None):
                raise cx.fault(
                    codes.ARGUMENTS,
                    f"`pto.{op}` takes one tile, or two numbers",
                    node,
                    help=f"element by element: `pto.{op}imum(a, b)`",
                )
            return tiles.single(cx, a, op, cx.span(node))
        if isinstance(a, ViewVal):
            _tile(cx, bound, "a", op)
        if isinstance(b, Const) and b.value is None:
            raise cx.fault(
                codes.ARGUMENTS,
                f"`pto.{op}` takes one tile, or two numbers",
                at,
                help=f"write `pto.{op}(a, b)`",
            )
        numbers = _number(cx, bound, "a", op), _number(cx, bound, "b", op)
        return scalars.binary(cx, op, *numbers, cx.span(node))

    return handler


TABLE["max"] = _number_or_tile("max")
TABLE["min"] = _number_or_tile("min")


@_builtin("sum")
def _sum(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    return tiles.single(cx, _tile(cx, bound, "tile", "sum"), "sum", cx.span(node))


@_builtin("ceildiv")
def _ceildiv(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    a, b = _integer(cx, bound, "a", "ceildiv"), _integer(cx, bound, "b", "ceildiv")
    if isinstance(b, Const) and b.value <= 0:
        raise cx.fault(codes.COMPILE_TIME, f"`pto.ceildiv` by {b.value}", node, help="the divisor is above 0")
    return scalars.binary(cx, "ceildiv", a, b, cx.span(node))


@_builtin("coord")
def _coord(cx: Cx, bound: Bound, node: ast.Call, dst: int | None) -> Value:
    n, at = bound["n"]
    if not isinstance(n, Const) or type(n.value) is not int or not 0 <= n.value < cx.ncoords:
        shown = repr(n.value) if isinstance(n, Const) else describe(n)
        count = f"{cx.ncoords} coordinate{'s' if cx.ncoords != 1 else ''}"
        raise cx.fault(
            codes.COORDINATE,
            f"there is no coordinate {shown}",
            at,
            notes=[f"the call of the kernel has {count}"],
            help="`k[b, h](…)` has coordinates 0 and 1; the number is a constant",
        )
    return cx.task_scalar(n.value, f"coord_{n.value}", cx.span(node))


_BY_FORM: dict[str, Callable[[str, Form], Handler]] = {
    "unary": _elementwise,
    "binary": _of_two,
    "row_reduce": _reduction,
    "col_reduce": _reduction,
    "mask_causal": _replaced,
    "mask_band": _replaced,
}
"""What the operations of a form compile to where all of them do in the same way."""

for _name, _form in FORMS.items():
    if _name not in TABLE:
        TABLE[_name] = _BY_FORM[_form.word](_name, _form)
