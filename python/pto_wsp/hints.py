"""What to write instead where Python looks at a value that is known only when tasks are generated."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable

from ._raise import attribute_error, trace_error
from ._seam import Span
from .spans import caller_frame, span_of_frame, tree_of


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The known name that a name is most like, as help; empty where there is none."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f"did you mean `{near[0]}`?" if near else ""


def lacks(owner: object, name: str, hint: str, shown: str = "") -> AttributeError:
    """The error of an attribute that a public object does not have: what is meant, or what is near. `shown`
    is what the object is called, where it is not by its class.
    """
    kind = type(owner)
    message = f"{shown or f'a `{kind.__name__}`'} has no `{name}`"
    if name.startswith("_"):
        # Python and notebooks ask whether there is one.
        return AttributeError(message)
    public = [known for known in dir(kind) if not known.startswith("_")]
    help = hint or did_you_mean(name, public) or f"it has {', '.join(f'`{known}`' for known in public)}"
    return attribute_error(1271, message, help=help)


def operator_error(sign: str, help: str) -> Exception:
    """An operator that integers and conditions of workloads do not have."""
    return trace_error(
        1004,
        f"workloads have no operator `{sign}` for these operands",
        notes="integers have `+ - * // %`, comparisons, `P.min`, `P.max`, `P.ceildiv` and `P.select`; "
        "conditions `& | ~`",
        help=help,
    )


def number_help() -> str:
    """What to write at the caller's line, where Python needs the number itself."""
    frame = caller_frame()
    node = None
    if frame is not None:
        source = tree_of(frame.f_code.co_filename, frame.f_code)
        node = source.smallest(span_of_frame(frame)) if source else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range":
        return "write `for i in P(n):`, or `P(P.range(lo, hi, step))`"
    if isinstance(node, ast.Subscript):
        return "index a tensor, of an array `X = tensor(x)`, or a table of integers: `lens = table([3, 1])`"
    return "make it a Python int: bind the size before (`w(n=4)`), or annotate the parameter with `Constexpr`"


_TRUTH: dict[type[ast.AST], tuple[str, str]] = {
    ast.If: ("`if` of Python", "write `with P.when(condition):` and `with P.otherwise():`"),
    ast.IfExp: ("`a if c else b` of Python", "write `P.select(c, a, b)`"),
    ast.While: ("`while` of Python", "write `for _ in P.loop(condition, max_rounds):`"),
    ast.BoolOp: ("`and`/`or` of Python", "write `(a) & (b)` or `(a) | (b)`"),
    ast.Not: ("`not` of Python", "write `~(condition)`"),
    ast.Compare: ("a chain of comparisons, or `in`,", "write `(lo <= i) & (i < hi)`"),
    ast.Assert: ("`assert` of Python", "check it in a kernel, or before the workload is run"),
}


def truth_error(value: object) -> Exception:
    """Python asks for the truth of an expression: says by which statement, and what to write for it."""
    what, help = (
        "Python",
        "write `with P.when(condition):`, `P.select(c, a, b)`, and `&`, `|`, `~` for `and`, `or`, `not`",
    )
    frame = caller_frame()
    if frame is not None:
        what, help = _truth_context(span_of_frame(frame)) or (what, help)
    return trace_error(
        1002,
        f"{what} cannot look at `{value!r}`",
        label="its value is known when tasks are generated, not when Python runs",
        help=help,
    )


def _truth_context(span: Span) -> tuple[str, str] | None:
    """What in the syntax tree asks for the truth of the expression at a place."""
    source = tree_of(span[0])
    node = source.smallest(span) if source else None
    while node is not None and source is not None:
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("min", "max"):
            called = getattr(node.func, "id", "")
            return f"`{called}` of Python", f"write `P.{called}(a, b)`"
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return _TRUTH[ast.Not]
        if isinstance(node, ast.Compare) and (
            len(node.ops) > 1 or isinstance(node.ops[0], (ast.In, ast.NotIn))
        ):
            return _TRUTH[ast.Compare]
        if isinstance(node, (ast.If, ast.IfExp, ast.While, ast.BoolOp, ast.Assert)):
            return _TRUTH[type(node)]
        if isinstance(node, ast.stmt):
            return None
        node = source.parents.get(node)
    return None
