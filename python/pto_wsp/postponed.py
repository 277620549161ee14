"""Annotations that are text: under `from __future__ import annotations`, or in quotes."""

from __future__ import annotations

import ast
import importlib
from types import FrameType, FunctionType
from typing import Any

from .spans import tree_of

_MOST_QUOTES = 3
"""How often the value of an annotation may be text again: quotes, under the import, in an alias."""


def scope_at(frame: FrameType | None) -> dict[str, Any]:
    """The variables that are in scope where a function is decorated: those of the frame, and of the functions
    around it that still run.
    """
    found: dict[str, Any] = {}
    inner = frame
    while frame is not None and inner is not None:
        if frame is inner or inner.f_code in frame.f_code.co_consts:
            found = {**frame.f_locals, **found}
            inner = frame
        frame = frame.f_back
    return found


def evaluated(annotation: Any, function: FunctionType, scope: dict[str, Any]) -> Any:
    """The value of an annotation where the function stands. Errors: what its evaluation raises."""
    cells: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            cells[name] = cell.cell_contents
        except ValueError:
            continue  # a variable that has no value yet
    names = _Names({**cells, **scope}, function)
    for _ in range(_MOST_QUOTES):
        if isinstance(annotation, str):
            annotation = eval(annotation, names.around(), names)
    return annotation


class _Names(dict[str, Any]):
    """Names of a scope; those that it lacks are looked for in the module, then among what it imports for type
    checkers only.
    """

    def __init__(self, names: dict[str, Any], function: FunctionType) -> None:
        super().__init__(names)
        self._function = function

    def around(self) -> dict[str, Any]:
        """The names of the module."""
        return dict(self._function.__globals__)

    def __missing__(self, name: str) -> Any:
        module = self._function.__globals__
        builtins = module.get("__builtins__", {})
        if name in module or name in (builtins if isinstance(builtins, dict) else vars(builtins)):
            raise KeyError(name)
        code = self._function.__code__
        source = tree_of(code.co_filename, code)
        for node in ast.walk(source.tree) if source else ():
            if isinstance(node, ast.If) and _is_type_checking(node.test):
                for statement in node.body:
                    found = _imported(statement, name, module)
                    if found:
                        return found[0]
        raise KeyError(name)


def _is_type_checking(test: ast.expr) -> bool:
    return getattr(test, "id", None) == "TYPE_CHECKING" or getattr(test, "attr", None) == "TYPE_CHECKING"


def _imported(statement: ast.stmt, name: str, module: dict[str, Any]) -> list[Any]:
    """What an import statement calls a name, if it does."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            top = alias.name.split(".")[0]
            if name == (alias.asname or top):
                importlib.import_module(alias.name)
                return [importlib.import_module(alias.name if alias.asname else top)]
    if isinstance(statement, ast.ImportFrom):
        wanted = [alias.name for alias in statement.names if name == (alias.asname or alias.name)]
        if wanted or any(alias.name == "*" for alias in statement.names):
            path = "." * statement.level + (statement.module or "")
            source = importlib.import_module(path, module.get("__package__"))
            attribute = wanted[0] if wanted else name
            return [getattr(source, attribute)] if hasattr(source, attribute) else []
    return []


def method_of(function: Any) -> str | None:
    """The class whose method a function is, by its first parameter and the place of its `def`; else None."""
    code = getattr(function, "__code__", None)
    around = getattr(function, "__qualname__", "").rpartition(".")[0]
    if code is None or code.co_argcount == 0 or not around or around.endswith("<locals>"):
        return None
    return around.rpartition(".")[2] if code.co_varnames[0] in ("self", "cls") else None
