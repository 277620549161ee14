"""What a loop or branch of a workload may do in Python: found in the syntax tree, before its body is traced
once.

Python runs the body of a loop over `P(…)` once, with an index that stands for all of them. So a variable that
one iteration would leave to the next, or the loop to what follows, would silently have a wrong value; here it
is an error.
"""

from __future__ import annotations

import ast
import dis
from collections.abc import Iterator

from ._raise import trace_error
from ._seam import Span
from .effects import changes, own_nodes
from .liveness import Flow, inside, loads, stores
from .spans import HAS_COLUMNS, Function, Source, caller_frame, caller_span, span_of_node, tree_of
from .texts import is_changed, why_changed

_BEFORE_A_LOOP = ("GET_ITER", "LOAD_METHOD", "JUMP_FORWARD", "JUMP_ABSOLUTE", "EXTENDED_ARG")
"""Instructions behind a call that heads a loop: of the loop, `.enumerate()`, a conditional expression."""


def for_statement(what: str) -> ast.For:
    """The `for` whose iterable the caller is at; `what` is how the loop is written, for the error."""
    span, source = _here(what)
    for node in source.loops if _may_be_iterated(span) else ():
        if any(_is_at(head, span) for head in _iterables(node.iter)):
            return node
    raise trace_error(
        1001,
        f"`{what}` does not head a `for` loop",
        notes="the body of the loop is traced once, for all indices; a list, `zip` or a comprehension would "
        "have one element",
        help=f"write `for i in {what}:`",
    )


def with_statement(what: str) -> ast.With:
    """The `with` whose context the caller is at."""
    span, source = _here(what)
    for node in source.withs:
        if any(_heads(item.context_expr, span) for item in node.items):
            return node
    raise trace_error(1001, f"`{what}` does not head a `with` block", help=f"write `with {what}:`")


def _here(what: str) -> tuple[Span, Source]:
    span, frame = caller_span(), caller_frame()
    if frame is not None and is_changed(frame.f_code):
        why, help = why_changed(frame.f_code.co_filename, frame.f_globals)
        raise trace_error(
            1048,
            f"the text of `{frame.f_code.co_name}` is not what Python runs",
            notes=f"{why}; loops are checked in the text",
            help=help,
        )
    source = None if span is None or frame is None else tree_of(span[0], frame.f_code)
    if source is None or span is None:
        raise trace_error(
            1000,
            f"the text around `{what}` is not at hand",
            notes=[
                "loops are checked in the text, so that nothing that differs between iterations is lost",
                *(["functions made by `exec` or at the prompt have none"] if _is_made(span) else []),
            ],
            help="put the workload into a file or a notebook cell",
        )
    return span, source


def _is_made(span: Span | None) -> bool:
    """Whether a place is in text that is in no file."""
    return span is not None and span[0].startswith("<")


def _heads(expression: ast.expr, span: Span) -> bool:
    """Whether an expression begins at a place; without columns, whether it stands on the line."""
    _, line, col, end_line, end_col = span
    end = (expression.end_lineno or line, expression.end_col_offset or 0)
    if (expression.lineno, expression.col_offset) == (line, col):
        return (end_line, end_col) <= end
    return _is_line(span) and expression.lineno <= line <= end[0]


def _iterables(expression: ast.expr) -> Iterator[ast.expr]:
    """What the iterable of a loop may be: either side of a conditional expression, and `P.sel(…)` before
    `.enumerate()`.
    """
    if isinstance(expression, ast.IfExp):
        yield from _iterables(expression.body)
        yield from _iterables(expression.orelse)
        return
    yield expression
    if isinstance(expression, ast.Call) and isinstance(expression.func, ast.Attribute):
        yield from _iterables(expression.func.value)


def _is_at(expression: ast.expr, span: Span) -> bool:
    """Whether an expression is the one at a place; without columns, whether it is a call on the line."""
    _, line, col, end_line, end_col = span
    end = (expression.end_lineno or line, expression.end_col_offset or 0)
    if _is_line(span):
        return isinstance(expression, ast.Call) and expression.lineno <= line <= end[0]
    return (expression.lineno, expression.col_offset, *end) == (line, col, end_line, end_col)


def _may_be_iterated(span: Span) -> bool:
    """Whether a loop may go over what is made now: without columns, by the instruction that follows."""
    frame = caller_frame()
    if frame is None or not _is_line(span):
        return True
    code = frame.f_code.co_code[frame.f_lasti + 2 : frame.f_lasti + 3]
    return bool(code) and dis.opname[code[0]] in _BEFORE_A_LOOP


def _is_line(span: Span) -> bool:
    """Whether a place is a whole line, as where the interpreter knows no columns."""
    return not HAS_COLUMNS and span[1] == span[3]


def check_loop(node: ast.For, filename: str) -> None:
    """Refuses a loop over `P(…)` whose iterations or what follows would see what Python does not compute."""
    source = tree_of(filename)
    assert source is not None
    _check_jumps(node, filename, "a loop over `P(…)`")
    function = source.enclosing_function(node)
    flow = Flow.of(function)
    own = set(stores(node.body)) | set(_names(node.target))
    carried = flow.entering(node.body) - set(_names(node.target))
    for store in _stores_in_order(node.body):
        if {store.id, f"@{store.id}"} & carried:
            raise _carried(store, node, filename)
    _check_outside(node, own, function, source, filename, "loop")
    _check_after(node, own, flow, function, filename, "loop")


def check_branch(node: ast.With, filename: str) -> None:
    """Refuses a branch under `P.when`, `P.otherwise` whose variables are read behind it, or that jumps out of
    it.
    """
    source = tree_of(filename)
    assert source is not None
    _check_jumps(node, filename, "a branch of a workload")
    function = source.enclosing_function(node)
    own = set(stores(node.body))
    _check_outside(node, own, function, source, filename, "branch")
    _check_after(node, own, Flow.of(function), function, filename, "branch")


def _carried(store: ast.Name, loop: ast.For, filename: str) -> Exception:
    name = store.id
    return trace_error(
        1006,
        f"`{name}` changes from one iteration to the next",
        span=span_of_node(filename, store),
        label="assigned here, and read before that in the next iteration",
        labels=[(_head(loop, filename), "this loop is traced once, for all its iterations")],
        notes="iterations are tasks that run later, maybe at the same time; Python computes none of them",
        help=[
            f"compute `{name}` from the index: `base + i * step`",
            "for a value that tasks compute, use a `Buffer`, or a `Slot` and `P.loop`",
            "for a few iterations that Python itself should run, write `for i in range(4):`",
        ],
    )


def _check_after(
    node: ast.For | ast.With,
    own: set[str],
    flow: Flow,
    function: Function | ast.Module,
    filename: str,
    what: str,
) -> None:
    after = flow.after(node)
    inside = {id(name) for name in ast.walk(node)}
    for name in sorted(own):
        handle_only = f"@{name}" in after and name not in after
        elsewhere = any(
            isinstance(other, ast.Name) and other.id == name and isinstance(other.ctx, ast.Store)
            for other in ast.walk(function)
            if id(other) not in inside
        )
        if name in after or (handle_only and elsewhere):
            use = _first_use(name, node, function)
            raise trace_error(
                1007,
                f"`{name}` is read behind the {what} that assigns it",
                span=span_of_node(filename, use if use is not None else node),
                label="which value it has here depends on the run" if use is not None else "",
                labels=[(_head(node, filename), f"the {what}")],
                help=f"use it in the {what}; `P.select(c, a, b)` chooses between two values"
                if what == "branch"
                else "use it in the loop, or compute what the last iteration would leave from the size: `n "
                "- 1`",
            )


def _first_use(name: str, node: ast.AST, function: Function | ast.Module) -> ast.Name | None:
    end = (getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0))
    uses = [
        other
        for other in ast.walk(function)
        if isinstance(other, ast.Name) and other.id == name and isinstance(other.ctx, ast.Load)
    ]
    later = [use for use in uses if (use.lineno, use.col_offset) >= end]
    return min(later or uses, key=lambda use: (use.lineno, use.col_offset), default=None)


def _check_outside(
    node: ast.For | ast.With,
    own: set[str],
    function: Function | ast.Module,
    source: Source,
    filename: str,
    what: str,
) -> None:
    """Refuses changes of things that outlive the block: elements, attributes, methods of lists, captured
    variables.
    """
    frame = caller_frame()
    for change in () if frame is None else changes(node.body, frame):
        by = "".join(f"`{name}`, " for name in change.way)
        raise trace_error(
            1006,
            f"`{change.name}` is changed in a {what} that Python runs once",
            span=span_of_node(filename, change.at),
            label=f"by {by.rstrip(', ')}" if by else "",
            labels=[(_head(node, filename), f"the {what}")],
            notes="it would hold what one iteration leaves, whatever the run does",
            help="make it inside, or change it in Python loops such as `for i in range(4):` only; "
            "what tasks compute goes to tensors",
        )
    captured = _captured(function, node)
    for store in _stores_in_order(node.body):
        if store.id in captured:
            raise trace_error(
                1006,
                f"`{store.id}` is assigned in a {what} and read by a function that is defined outside of it",
                span=span_of_node(filename, store),
                labels=[
                    (span_of_node(filename, captured[store.id]), "read here"),
                    (_head(node, filename), f"the {what}"),
                ],
                help="give the value to the function as an argument",
            )


def _captured(function: Function | ast.Module, block: ast.AST) -> dict[str, ast.AST]:
    """Variables that functions defined in `function`, but outside the block, read from it."""
    inside = {id(node) for node in ast.walk(block)}
    found: dict[str, ast.AST] = {}
    if isinstance(function, ast.Module):
        return found
    for node in ast.walk(function):
        if isinstance(node, Function) and node is not function and id(node) not in inside:
            for name in loads(node):
                found.setdefault(name.lstrip("@"), node)
    return found


def _check_jumps(node: ast.For | ast.With, filename: str, what: str) -> None:
    for jump in _jumps(node.body, isinstance(node, ast.For)):
        name = type(jump).__name__.lower().replace("yieldfrom", "yield from")
        raise trace_error(
            1005,
            f"`{name}` in {what}",
            span=span_of_node(filename, jump),
            label="Python would leave the block while it is traced, whatever the condition of a task",
            labels=[(_head(node, filename), "the block")],
            help="put what is conditional under `with P.when(condition):`; rounds until a value is reached "
            "are "
            "`for _ in P.loop(condition, max_rounds):`",
        )
    if isinstance(node, ast.For) and node.orelse:
        raise trace_error(
            1005,
            f"`else` of {what}",
            span=span_of_node(filename, node.orelse[0]),
            help="put what follows the loop behind it",
        )


def _jumps(body: list[ast.stmt], loop: bool) -> Iterator[ast.AST]:
    """Statements of a block that leave it."""

    def walk(node: ast.AST, depth: int) -> Iterator[ast.AST]:
        if isinstance(node, (*Function.__args__, ast.ClassDef)):
            return
        if isinstance(node, (ast.Return, ast.Yield, ast.YieldFrom, ast.Await)):
            yield node
        if isinstance(node, (ast.Break, ast.Continue)) and depth == 0:
            yield node
        if isinstance(node, ast.BinOp):
            for operand in inside(node):
                yield from walk(operand, depth)
            return
        deeper = depth + 1 if isinstance(node, (ast.For, ast.While)) else depth
        for name, value in ast.iter_fields(node):
            children = value if isinstance(value, list) else [value]
            for child in children:
                if isinstance(child, ast.AST):
                    yield from walk(child, depth if name == "orelse" else deeper)

    for statement in body:
        yield from walk(statement, 0)


def _stores_in_order(body: list[ast.stmt]) -> list[ast.Name]:
    found = [
        n for n in own_nodes(body) if isinstance(n, ast.Name) and isinstance(n.ctx, (ast.Store, ast.Del))
    ]
    comprehensions = {
        id(name) for n in own_nodes(body) if isinstance(n, ast.comprehension) for name in ast.walk(n.target)
    }
    return [name for name in found if id(name) not in comprehensions]


def _names(target: ast.AST) -> list[str]:
    return [
        node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def target_names(node: ast.For) -> list[str] | None:
    """The names of a loop's variables, one per axis; None where the target is one name for all."""
    if isinstance(node.target, (ast.Tuple, ast.List)):
        return [
            entry.id if isinstance(entry, ast.Name) else f"i{at}" for at, entry in enumerate(node.target.elts)
        ]
    return None


def _head(node: ast.For | ast.With, filename: str) -> Span:
    """The place of what heads a loop or block."""
    return span_of_node(filename, node.iter if isinstance(node, ast.For) else node.items[0].context_expr)
