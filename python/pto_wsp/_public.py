"""What people call: its errors carry their frames, and none of the package."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable
from itertools import zip_longest
from types import FunctionType, TracebackType
from typing import Any

from ._calls import misfit, of_another
from ._core import Public
from ._raise import placed_at_caller
from .errors import WspError
from .spans import is_ours

_UNTOUCHED = frozenset({"__new__", "__init_subclass__", "__setattr__", "__repr__", "__str__"})
"""Methods that refuse nothing that a user has written."""


def told(error: BaseException, function: Any, args: Any, named: Any) -> BaseException:
    """The error that a public function raises, as its caller sees it: one of Python's own about the
    arguments of the call is reported in words of the package.
    """
    if type(error) is TypeError and error.__traceback__ is None:
        return misfit(function, args, named or {}) or error
    if type(error) is AttributeError and _raised_here(error):
        return of_another(function, args) or error
    trim(error)
    return error


def told_of_run(error: BaseException, function: Any, args: Any, named: Any) -> BaseException:
    """The error of a run that took the fast path, of which no frame of the package has seen it."""
    placed = placed_at_caller(error) or error
    trim(placed)
    return placed


_FAST_PATHS = {"Program.execute": ("_fast_path", told_of_run)}
"""Methods with a fast path: the attribute that has it, and what tells its errors."""


def trim(error: BaseException) -> None:
    """Takes the frames of the package out of the traceback of an error, and of what caused it.

    An error that the package did not mean to raise keeps them: they say where its fault is.
    """
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        cause, context = following.__cause__, following.__context__
        if not isinstance(following, (WspError, KeyboardInterrupt)) and _raised_here(following):
            return
        if cause is None and isinstance(following, WspError) and context is not None:
            following.__suppress_context__ |= _raised_here(context)
        following.__traceback__ = _of_users(following.__traceback__)
        following = cause if cause is not None else None if following.__suppress_context__ else context


def _raised_here(error: BaseException) -> bool:
    """Whether the innermost frame is one of the package."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and is_ours(traceback.tb_frame)


def _of_users(traceback: TracebackType | None) -> TracebackType | None:
    """A traceback without the frames of the package."""
    kept = []
    while traceback is not None:
        if not is_ours(traceback.tb_frame):
            kept.append(traceback)
        traceback = traceback.tb_next
    for outer, inner in zip_longest(kept, kept[1:]):
        outer.tb_next = inner
    return kept[0] if kept else None


def public(function: Any) -> Any:
    """A function as people call it."""
    return functools.update_wrapper(Public(function, told, _FAST_PATHS.get(function.__qualname__)), function)


def expose_functions(names: dict[str, Any], which: Iterable[str]) -> None:
    """Makes functions of a module those that people call."""
    for name in which:
        if isinstance(names[name], FunctionType):
            names[name] = public(names[name])
            # By which it is pickled.
            names[name].__module__ = names["__name__"]


def expose(cls: type) -> None:
    """Makes the methods of a class those that people call."""
    for name, value in list(vars(cls).items()):
        found = _exposed(name, value)
        if found is not value:
            setattr(cls, name, found)


def expose_init(cls: Any) -> None:
    """Makes a class public as what makes objects."""
    cls.__init__ = public(cls.__init__)


def _exposed(name: str, value: Any) -> Any:
    if name in _UNTOUCHED or (name.startswith("_") and not name.endswith("__")):
        return value
    if isinstance(value, (staticmethod, classmethod)):
        return type(value)(public(value.__func__)) if _is_written(value.__func__) else value
    if isinstance(value, property):
        parts = [value.fget, value.fset, value.fdel]
        return property(*(part and public(part) for part in parts), doc=value.__doc__)
    if not isinstance(value, FunctionType) or not _is_written(value):
        return value
    return public(_stepwise(value) if inspect.isgeneratorfunction(value) else value)


def _is_written(function: Any) -> bool:
    """Whether its text stands in the package; methods of data classes are made by Python."""
    return inspect.unwrap(function).__code__.co_filename[:1] != "<"


class _End:
    """What no step of a generator gives."""

    def __eq__(self, other: object) -> bool:
        return False


_END = _End()


def _stepwise(function: Any) -> Any:
    """A generator function each of whose steps is a call of its own."""

    @functools.wraps(function)
    def iterated(*args: Any) -> Any:
        return iter(Public(function(*args).__next__, told), _END)

    return iterated
