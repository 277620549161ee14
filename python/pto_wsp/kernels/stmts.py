"""Statements: from the syntax tree to the body of a function."""

from __future__ import annotations

import ast

from . import codes, exprs, flow, logic, loops, operators, tiles, transfer, views
from .context import Cx, End
from .emit import Stmt
from .values import Const, TileVal, TupleVal, Value, ViewVal, describe

_WORDS: dict[type[ast.stmt], tuple[str, str]] = {
    ast.Try: ("`try`", "a kernel that fails stops the run, with the line"),
    ast.With: ("`with`", "kernels hold no resources"),
    ast.AsyncWith: ("`with`", "kernels hold no resources"),
    ast.AsyncFor: ("`async for`", "write `for i in range(…)`"),
    ast.Raise: ("`raise`", "`assert` of a constant condition stops the compilation"),
    ast.FunctionDef: ("a nested function", "define it outside of the kernel: calls are compiled in place"),
    ast.AsyncFunctionDef: (
        "a nested function",
        "define it outside of the kernel: calls are compiled in place",
    ),
    ast.ClassDef: ("a class", "use variables and tuples"),
    ast.Import: ("`import`", "import at the top of the file"),
    ast.ImportFrom: ("`import`", "import at the top of the file"),
    ast.Global: (
        "`global`",
        "pass values as parameters; kernels change nothing but their `Out` and `InOut` views",
    ),
    ast.Nonlocal: ("`nonlocal`", "pass values as parameters"),
    ast.Delete: ("`del`", "leave it out; tiles are given back by themselves"),
    ast.Match: ("`match`", "write `if`, `elif`, `else`"),
}


def block(cx: Cx, stmts: list[ast.stmt]) -> End:
    """Compiles statements in order; what cannot be reached is left out."""
    for i, stmt in enumerate(stmts):
        if isinstance(stmt, ast.If) and len(cx.frames) > 1 and _returns(stmt):
            # A helper that returns early: what follows belongs to the ways that do not.
            return _if(cx, stmt, stmts[i + 1 :])
        try:
            end = _statement(cx, stmt)
        except RecursionError:
            raise cx.fault(
                codes.TOO_LARGE,
                "the operations of this statement nest deeper than Python can follow",
                cx.head(stmt),
                notes=[
                    "sums have as many terms as Python reads; operands on the right, calls, signs and "
                    "each `elif` of a chain nest"
                ],
                help="give a part of it to a variable of its own, or write several `if` in place of `elif`",
            ) from None
        if end is not End.FALLS:
            return end
    return End.FALLS


def _returns(stmt: ast.stmt) -> bool:
    return any(isinstance(n, ast.Return) for n in ast.walk(stmt))


def _statement(cx: Cx, node: ast.stmt) -> End:
    match node:
        case ast.Expr(value=value):
            _expression(cx, value)
        case ast.Assign():
            _assign(cx, node)
        case ast.AnnAssign(target=target, value=value):
            if value is not None:
                _assign_one(cx, target, value)
        case ast.AugAssign():
            _augmented(cx, node)
        case ast.If():
            return _if(cx, node, None)
        case ast.For():
            return loops.counted(cx, node)
        case ast.While():
            return loops.conditional(cx, node)
        case ast.Break() | ast.Continue():
            return _jump(cx, node)
        case ast.Return():
            return _return(cx, node)
        case ast.Assert():
            _assert(cx, node)
        case ast.Pass():
            pass
        case _:
            what, help = _WORDS.get(
                type(node), (f"`{type(node).__name__}`", "write assignments, `if`, `for`, `while`")
            )
            raise cx.fault(codes.STATEMENT, f"{what} cannot stand in a kernel", cx.head(node), help=help)
    return End.FALLS


def _expression(cx: Cx, node: ast.expr) -> None:
    if isinstance(node, ast.Constant):
        return
    value = exprs.evaluate(cx, node)
    if isinstance(value, Const) and value.value is None:
        return
    target = (
        node.args[0].id
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Name)
        else "t"
    )
    if isinstance(value, TupleVal):
        target = ", ".join(a.id for a in node.args[: len(value.items)] if isinstance(a, ast.Name)) or "a, b"
    raise cx.fault(
        codes.UNUSED,
        "the result is not used",
        node,
        label=describe(value),
        notes=["operations make values and change none"],
        help=f"assign it: `{target} = …`, or store it: `pto.store(view, …)`",
    )


def _assign(cx: Cx, node: ast.Assign) -> None:
    if len(node.targets) == 1:
        _assign_one(cx, node.targets[0], node.value)
        return
    value = flow.settle(cx, exprs.evaluate(cx, node.value), cx.span(node.value))
    for target in node.targets:
        # The second target copies what the first one took.
        _bind(cx, target, value)
        if isinstance(value, TileVal) and isinstance(target, ast.Name):
            value = cx.frame.env[target.id].value


def _assign_one(cx: Cx, target: ast.expr, value_node: ast.expr) -> None:
    if isinstance(target, ast.Name):
        value = exprs.evaluate(cx, value_node, flow.tile_home(cx, target.id))
        flow.assign(cx, target.id, value, cx.span(target))
    elif isinstance(target, ast.Tuple | ast.List):
        if not _select_in_place(cx, target, value_node):
            _bind(cx, target, _apart(cx, exprs.evaluate(cx, value_node), target, value_node))
    else:
        _bind(cx, target, exprs.evaluate(cx, value_node))


def _select_in_place(cx: Cx, target: ast.Tuple | ast.List, node: ast.expr) -> bool:
    """`values, indices = pto.topk(values, indices, …)` changes the two tiles where they lie."""
    from .builtins import select_in_place

    names = [t.id for t in target.elts if isinstance(t, ast.Name)]
    return (
        len(names) == len(target.elts) == 2
        and isinstance(node, ast.Call)
        and select_in_place(cx, names, node)
    )


def _apart(cx: Cx, value: Value, target: ast.Tuple | ast.List, at: ast.expr) -> Value:
    """Values of a tuple, none of which an assignment to another of the names can change."""
    if not isinstance(value, TupleVal):
        return value
    stored = {flow.tile_home(cx, name) for name in flow.assigned_names([target])}
    span = cx.span(at)

    def apart(item: Value) -> Value:
        if isinstance(item, TupleVal):
            return TupleVal(tuple(map(apart, item.items)))
        if not isinstance(item, TileVal) or item.temp or item.local not in stored:
            return item
        copy = tiles.make(cx, "copy", (*item.shape, item.elem), item.full, span, None)
        tiles.copy_into(cx, item, copy.local, span)
        return copy

    return apart(value)


def _bind(cx: Cx, target: ast.expr, value: Value) -> None:
    match target:
        case ast.Name(id=name):
            flow.assign(cx, name, value, cx.span(target))
        case ast.Tuple(elts=elts) | ast.List(elts=elts):
            for part, item in zip(elts, _items(cx, value, len(elts), target), strict=False):
                _bind(cx, part, item)
        case ast.Subscript():
            _store(cx, target, value)
        case _:
            raise cx.fault(
                codes.STATEMENT,
                f"`{ast.unparse(target)}` cannot be assigned in a kernel",
                target,
                help="assign variables, or elements and slices of `Out` views",
            )


def _items(cx: Cx, value: Value, count: int, at: ast.expr) -> list[Value]:
    for each in at.elts:
        if isinstance(each, ast.Starred):
            raise cx.fault(
                codes.STATEMENT,
                f"`{ast.unparse(each)}` cannot be assigned in a kernel",
                each,
                help="write one name per value",
            )
    if isinstance(value, Const) and isinstance(value.value, tuple | list):
        items: list[Value] = [exprs.constant(v) for v in value.value]
    elif isinstance(value, TupleVal):
        items = list(value.items)
    else:
        raise cx.fault(
            codes.OPERAND, f"{describe(value)} cannot be taken apart", at, help=f"{count} values are needed"
        )
    if len(items) != count:
        raise cx.fault(
            codes.OPERAND, f"{count} names for {len(items)} values", at, help="write one name per value"
        )
    return items


def _store(cx: Cx, target: ast.Subscript, value: Value) -> None:
    view = exprs.evaluate(cx, target.value)
    if not isinstance(view, ViewVal):
        raise cx.fault(
            codes.STATEMENT,
            f"elements of {describe(view)} cannot be assigned",
            target,
            help="tiles are values: use `pto.mask`, or store to an `Out` view",
        )
    place = subview(cx, view, target.slice)
    if place.dims:
        transfer.store(cx, place, value, target)
    else:
        transfer.store_element(cx, place, value, target)


def subview(cx: Cx, view: ViewVal, index: ast.expr) -> ViewVal:
    """The part of a view that an index names, also where it is one element."""
    return views.narrowed(cx, view, index, lambda part: exprs.evaluate(cx, part))


def _augmented(cx: Cx, node: ast.AugAssign) -> None:
    op = operators.ARITHMETIC[type(node.op)]
    if isinstance(node.target, ast.Name):
        load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        whole = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
        _assign_one(cx, node.target, whole)
        return
    if not isinstance(node.target, ast.Subscript):
        _bind(cx, node.target, Const(None))
    target = node.target
    view = exprs.evaluate(cx, target.value)
    if not isinstance(view, ViewVal):
        _store(cx, target, Const(None))
    span = cx.span(target)
    place = flow.settle(cx, subview(cx, view, target.slice), span)
    if place.dims:
        old: Value = transfer.load(cx, place, None, None, target, None)
    else:
        old = cx.pin(transfer.load_element(cx, place, span), "element", span)
    value = exprs.binary(cx, op, old, exprs.evaluate(cx, node.value), node)
    if place.dims:
        transfer.store(cx, place, value, target)
    else:
        transfer.store_element(cx, place, value, target)


def _if(cx: Cx, node: ast.If, rest: list[ast.stmt] | None) -> End:
    """`rest` are the statements up to the end of the helper, where they are compiled as part of both
    branches.
    """
    test = logic.condition(cx, node.test)
    after = rest or []
    if isinstance(test, Const):
        return block(cx, [*(node.body if test.value else node.orelse), *after])
    flow.materialise(cx, flow.assigned_names([*node.body, *node.orelse, *after]), cx.head(node))
    entry = cx.frame.env
    blocks: list[list[Stmt]] = [[], []]
    ends, envs = [], []
    for out, body in zip(blocks, (node.body, node.orelse), strict=False):
        cx.frame.env = dict(entry)
        with cx.region(out):
            end = block(cx, [*body, *after])
            if rest is not None and end is End.FALLS:
                flow.assign(cx, flow.RESULT, Const(None), cx.head(node))
                end = End.RETURNS
        ends.append(end)
        if end is not End.LEAVES:
            envs.append(cx.frame.env)
    cx.builder.stmt("if", cx.head(node), cond=test.x, then=blocks[0], otherwise=blocks[1])
    cx.frame.env = flow.join(envs, f"the `if` of line {node.lineno}") if envs else entry
    return ends[0] if ends[0] is ends[1] else End.FALLS


def _return(cx: Cx, node: ast.Return) -> End:
    if len(cx.frames) == 1:
        if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
            raise cx.fault(
                codes.RETURN,
                "a kernel returns nothing",
                node,
                help="store the result: `pto.store(y, …)` with a parameter `y: Out`",
            )
        cx.builder.stmt("return", cx.span(node))
        return End.LEAVES
    if cx.frame.loops:
        raise cx.fault(
            codes.RETURN,
            "`return` in a loop of a helper",
            node,
            notes=["helpers are compiled in place of their calls"],
            help="leave the loop with `break`, and return after it",
        )
    value: Value = Const(None) if node.value is None else exprs.evaluate(cx, node.value)
    flow.assign(cx, flow.RESULT, value, cx.span(node))
    return End.RETURNS


def _jump(cx: Cx, node: ast.Break | ast.Continue) -> End:
    loop = cx.frame.loops[-1]
    leaving = isinstance(node, ast.Break)
    (loop.breaks if leaving else loop.continues).append(cx.frame.env)
    cx.builder.stmt("break" if leaving else "continue", cx.span(node))
    return End.LEAVES


def _assert(cx: Cx, node: ast.Assert) -> None:
    test = logic.condition(cx, node.test)
    if not isinstance(test, Const):
        raise cx.fault(
            codes.STATEMENT,
            "`assert` takes a condition that is known when the kernel is compiled",
            node,
            help="extents and Constexpr values may be known; accesses outside of views stop the run anyway",
        )
    if not test.value:
        text = exprs.evaluate(cx, node.msg) if node.msg is not None else None
        message = str(text.value) if isinstance(text, Const) else ast.unparse(node.test)
        raise cx.fault(
            codes.ASSERTION,
            f"assertion failed: {message}",
            node,
            help="call the kernel with other views and Constexpr values, or change the condition",
        )
