"""Names of the program: which are allowed, and which variable a tensor, table or slot is called after."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

from ._raise import trace_error
from ._seam import Span
from .expr import Expr
from .spans import caller_span, span_of_node, tree_of

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z", re.ASCII)
KEYWORDS = frozenset(
    [
        "axis",
        "call",
        "channel",
        "combine",
        "consume",
        "else",
        "for",
        "if",
        "in",
        "kernel",
        "let",
        "parallel",
        "param",
        "pipeline",
        "process",
        "schedule",
        "select",
        "send",
        "sequential",
        "slot",
        "table",
        "tensor",
        "use",
        "while",
        "workload",
    ]
)
"""Words of the `.wsp` language, which name nothing in a program."""


def is_name(text: str) -> bool:
    """Whether the `.wsp` language can call something so."""
    return bool(_NAME.match(text)) and text not in KEYWORDS


def check_name(text: str, what: str, span: Span | None = None) -> None:
    """Requires a name that a call of Python can give a value to."""
    if text.isidentifier():
        return
    help = f"names are identifiers: `{_repaired(text)}`"
    if what == "a size" and re.search(r"[-+*/%]", text):
        help = (
            f"compute it in the workload, `X = tensor(({text}, 64), f32)`, or leave the length of a table "
            "open: `Table[i64, ...]`"
        )
    raise trace_error(1018, f"{what} cannot be called `{text}`", span=span or caller_span(), help=help)


def _repaired(text: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]", "_", text) or "n"
    plain = f"_{plain}" if plain[0].isdigit() else plain
    return plain + "_" if plain in KEYWORDS else plain


def usable(text: str) -> str:
    """The name itself where a program can use it, else one like it; for names that users do not type."""
    return text if is_name(text) else _repaired(text)


class Names:
    """Names that are taken, and free ones like those that are wished for."""

    def __init__(self) -> None:
        self._taken: dict[str, tuple[str, Span | None]] = {}

    def take(self, name: str, what: str = "", span: Span | None = None) -> None:
        """Makes a name taken by something."""
        self._taken[name] = (what, span)

    def taken(self, name: str) -> tuple[str, Span | None] | None:
        """What a name is taken by and where, or None."""
        return self._taken.get(name)

    def free(self, wish: str) -> str:
        """The name that is wished for, else with a number behind it the first that is free; it is taken."""
        name = usable(wish)
        number = 2
        while name in self._taken:
            name, number = f"{usable(wish)}_{number}", number + 1
        self.take(name)
        return name


def scope_of(function: Any) -> Iterator[tuple[str, Any]]:
    """The variables that a function sees from outside: those of enclosing functions, then the module's."""
    if not isinstance(function, FunctionType):
        return
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:
            continue  # a variable that has no value yet
    yield from list(function.__globals__.items())


_OF_SHELLS = re.compile(r"_+\Z|_[0-9]+\Z|_oh\Z|Out\Z")
"""Names that IPython gives to what a cell has shown."""


def variable_of(thing: Any, functions: tuple[Any, ...] = ()) -> str | None:
    """The variable that holds a tensor, table or slot: that of the line that made it where the functions see
    it there, else the first that they see, else as that line says.
    """
    target = _target_of(thing.span)
    seen: list[str] = []
    held: list[tuple[str, Any]] = []
    for function in functions:
        for name, value in scope_of(function):
            if _is(value, thing):
                seen.append(name)
            elif isinstance(value, (list, tuple, Mapping)) and not name.startswith("__"):
                held.append((name, value))
    if target is not None and (target in seen or not seen):
        return target
    named = [name for name in seen if not _OF_SHELLS.match(name)]
    if named or target is not None:
        return named[0] if named else target
    held = [entry for entry in held if not _OF_SHELLS.match(entry[0])]
    for name, value in held:
        entries = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, entry in list(entries)[:1000]:
            if _is(entry, thing):
                return usable(f"{name}_{key}")
    return None


def _is(value: Any, thing: Any) -> bool:
    return value is thing or (isinstance(value, Expr) and value.op == "slot" and value.args[0] is thing)


def _target_of(span: Span | None) -> str | None:
    """The variable of an assignment whose value is the call at a place."""
    source = None if span is None else tree_of(span[0])
    if source is None or span is None:
        return None
    for node in source.assigned.get(span[1], ()):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if isinstance(node.value, ast.Tuple) and isinstance(targets[0], ast.Tuple):
            for target, value in _pairs(targets[0].elts, node.value.elts):
                if span_of_node("", value)[1:] == tuple(span[1:]) and isinstance(target, ast.Name):
                    return target.id
        if not isinstance(node.value, ast.Call):
            continue
        _, line, col, end_line, end_col = span_of_node("", node.value)
        same = (line, col, end_line, end_col) == tuple(span[1:]) or (
            span[2] <= col
            and (end_col <= span[4] or end_line > span[3])
            and len(targets) == 1
            and _makes_it(node.value)
        )
        if same and isinstance(targets[0], ast.Name):
            return targets[0].id
    return None


def _pairs(targets: list[ast.expr], values: list[ast.expr]) -> list[tuple[ast.expr, ast.expr]]:
    """The targets that take one value each, with that: those before a starred one, and those behind it."""
    starred = [at for at, target in enumerate(targets) if isinstance(target, ast.Starred)]
    if not starred:
        return list(zip(targets, values, strict=False))
    before, behind = starred[0], len(targets) - starred[0] - 1
    if any(isinstance(value, ast.Starred) for value in values):
        return []
    last = len(values) - behind
    pairs = [*zip(targets[:before], values[:before], strict=True)]
    return [*pairs, *zip(targets[before + 1 :], values[last:], strict=True)]


def _makes_it(value: ast.expr) -> bool:
    """Whether a call makes what its line made, where only the line is known: it is the only call, or that of
    a class of this package, whose arguments then are extents and values.
    """
    if not isinstance(value, ast.Call):
        return False
    called = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    if called in ("Buffer", "Channel", "Slot", "table", "tensor"):
        return True
    return not any(isinstance(node, ast.Call) for node in ast.walk(value) if node is not value)
