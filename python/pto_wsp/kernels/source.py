"""The source text of a function: its syntax tree with places in the user's file, and the names it sees."""

from __future__ import annotations

import ast
import builtins
import inspect
import types
from dataclasses import dataclass
from typing import Any

from .._seam import Span
from ..spans import node_of_function
from ..texts import is_changed, keep, text_of, why_changed
from . import codes

MISSING = object()
"""What `Source.lookup` finds for a name that is nowhere."""


@dataclass(frozen=True, slots=True)
class Source:
    """A function's syntax tree. Lines and columns are those of its file."""

    function: types.FunctionType
    code: types.CodeType
    filename: str
    name: str
    tree: ast.FunctionDef
    assigned: frozenset[str]

    @property
    def span(self) -> Span:
        """The line of the `def`."""
        tree = self.tree
        end = tree.body[0]
        last = min(tree.lineno, end.lineno)
        col = tree.col_offset + len("def ") + len(tree.name.encode())
        return (self.filename, tree.lineno, tree.col_offset, last, col)

    @property
    def body(self) -> list[ast.stmt]:
        """The statements without the docstring."""
        body = self.tree.body
        first = body[0]
        if (
            isinstance(first, ast.Expr)
            and isinstance(first.value, ast.Constant)
            and isinstance(first.value.value, str)
        ):
            return body[1:]
        return body

    @property
    def is_declaration(self) -> bool:
        """Whether there is nothing but a docstring, `...` or `pass`."""
        return all(
            isinstance(s, ast.Pass) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
            for s in self.body
        )

    def lookup(self, name: str) -> Any:
        """What a name that is no variable of the function stands for now: a variable around it, a global,
        or a builtin.
        """
        function = self.function
        if name in function.__code__.co_freevars:
            cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
            try:
                return cell.cell_contents
            except ValueError:
                return MISSING
        if name in function.__globals__:
            return function.__globals__[name]
        return getattr(builtins, name, MISSING)

    def visible_names(self) -> list[str]:
        """All names that the function can see, for suggestions."""
        code = self.function.__code__
        return [*code.co_varnames, *code.co_freevars, *self.function.__globals__, *dir(builtins)]


_CACHE_ATTRIBUTE = "__pto_wsp_source__"


def source_of(function: Any, what: str = "kernel", call: Span | None = None) -> Source:
    """The source of a plain Python function. `KernelError` when it is none or its text cannot be read."""
    if not isinstance(function, types.FunctionType):
        raise _not_a_function(function, what, call)
    function = _without_hooks(function)
    code = function.__code__
    here = call or (code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 1)
    if function.__name__ == "<lambda>":
        raise codes.kernel_error(
            codes.NOT_A_FUNCTION,
            f"a lambda cannot be a {what}",
            here,
            help="write a `def`, whose text can be found",
        )
    if hasattr(function, "__wrapped__"):
        raise codes.kernel_error(
            codes.NOT_A_FUNCTION,
            f"`{function.__name__}` is wrapped by another decorator, which a {what} would leave out",
            here,
            help="let `@kernel` stand directly above the `def`, and drop the other decorator",
        )
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise codes.kernel_error(
            codes.NOT_A_FUNCTION,
            f"`{function.__name__}` is a generator or `async`, which a {what} cannot be",
            here,
            help="write a plain `def` without `yield` and `await`",
        )
    cached = function.__dict__.get(_CACHE_ATTRIBUTE)
    if cached is None or cached.function is not function or cached.code is not code:
        tree = _parse(function, what, here)
        names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        cached = Source(function, code, code.co_filename, function.__name__, tree, frozenset(names))
        function.__dict__[_CACHE_ATTRIBUTE] = cached
    return cached


def _without_hooks(function: types.FunctionType) -> types.FunctionType:
    """The function inside of wrappers that are not in its text: an import hook has put them around it."""
    inner: Any = function
    while hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    if inner is function or not isinstance(inner, types.FunctionType):
        return function
    keep(inner.__code__.co_filename, inner.__globals__)
    node = node_of_function(inner)
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else None
    return function if decorators is None or not all(_is_ours(d, inner) for d in decorators) else inner


def _is_ours(decorator: ast.expr, function: types.FunctionType) -> bool:
    """Whether a decorator in the text of a function is one of this package."""
    names = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator).split(".")
    found = function.__globals__.get(names[0])
    for name in names[1:]:
        found = getattr(found, name, None)
    # Objects of extension modules may have `None` there.
    return (getattr(found, "__module__", None) or "").startswith(_PACKAGE)


_PACKAGE = __name__.partition(".")[0]


def _not_a_function(function: Any, what: str, call: Span | None) -> Exception:
    kind = "class" if isinstance(function, type) else type(function).__name__
    help = f"decorate a function: `@{what}` above a `def`"
    message = f"a {what} is made of a function, not of a {kind}"
    if hasattr(function, "signature") and hasattr(function, "specialise"):
        message = f"`{function.name}` is a kernel already"
        help = "let one `@kernel` or `@python_kernel` stand above the `def`"
    return codes.kernel_error(codes.NOT_A_FUNCTION, message, call, help=help)


def _parse(function: types.FunctionType, what: str, here: Span) -> ast.FunctionDef:
    code = function.__code__
    if what != "helper":
        keep(code.co_filename, function.__globals__)
    if not text_of(code.co_filename, code):
        raise codes.kernel_error(
            codes.NO_SOURCE,
            f"the source of `{function.__name__}` cannot be read",
            here,
            notes=[f"a {what} is compiled from its text, and there is none of {code.co_filename}"],
            help="put the function into a file or a notebook cell",
        )
    if what == "helper" and is_changed(code):
        why, help = why_changed(code.co_filename, function.__globals__)
        raise codes.kernel_error(
            codes.CHANGED,
            f"the text of `{function.__name__}` is not what Python has imported",
            here,
            notes=[f"{why}; a helper is compiled from its text"],
            help=help,
        )
    node = node_of_function(function)
    if isinstance(node, ast.FunctionDef):
        return node
    raise codes.kernel_error(
        codes.NO_SOURCE,
        f"the text of `{function.__name__}` is not where Python says it is",
        here,
        help="the file may have changed since it was imported: start again",
    )
