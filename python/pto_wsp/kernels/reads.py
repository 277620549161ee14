"""What a compilation read of the Python around a kernel, and whether it is certain to be the same."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

from .._core import Public
from ..dtypes import DType

_SCALARS = frozenset([int, float, bool, complex, str, bytes, type(None), type(Ellipsis), DType])
"""Types whose values never change."""


class Reads:
    """Values that a kernel was compiled with.

    A body may be used again while every name and every attribute of a module is the object that it was, and
    no object that can change was read. Of such an object (a list, an array, an instance, a class) not even
    its own code says what its parts will be, so a kernel that reads one is compiled at each of its calls.
    """

    __slots__ = ("_changeable", "_looks")

    def __init__(self) -> None:
        self._looks: list[tuple[Callable[[], Any], Any]] = []
        self._changeable = False

    def hold(self) -> bool:
        """Whether compiling again would certainly read the same."""
        return not self._changeable and all(look() is value for look, value in self._looks)

    def name(self, look: Callable[[], Any], found: Any) -> None:
        """A global, a variable around the function, or a builtin; `look` finds what it is at present."""
        self._looks.append((look, found))
        self.value(found)

    def attribute(self, of: Any, name: str, found: Any) -> None:
        """An attribute of a constant."""
        if isinstance(of, ModuleType):
            self.name(lambda: getattr(of, name, None), found)
        else:
            self.whole(of)
            self.value(found)

    def function(self, function: FunctionType) -> None:
        """A helper, whose code and defaults can be exchanged."""
        for part in ("__code__", "__defaults__"):
            self._looks.append((lambda part=part: getattr(function, part), getattr(function, part)))
        # Defaults of parameters that have keywords only stand in a dictionary.
        self._changeable |= bool(function.__kwdefaults__)

    def value(self, value: Any) -> None:
        """A value that the kernel has, and of which nothing is read yet but what it is."""
        self._changeable |= not (is_constant(value) or _is_looked_into_apart(value))

    def whole(self, value: Any) -> None:
        """A value of which Python reads anything."""
        self._changeable |= not is_constant(value)


def is_constant(value: Any) -> bool:
    """Whether a value can never change, nor anything in it."""
    cls = type(value)
    if cls in (tuple, frozenset):
        return all(map(is_constant, value))
    if cls in (range, slice):
        return all(map(is_constant, (value.start, value.stop, value.step)))
    if cls in _SCALARS:
        return True
    if isinstance(value, (BuiltinFunctionType, type)):
        # Functions and types of Python itself; methods of objects are not among them.
        return getattr(builtins, getattr(value, "__name__", ""), None) is value
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, (numpy.number, numpy.bool_, numpy.dtype))


def _is_looked_into_apart(value: Any) -> bool:
    """Whether all that a kernel can take of a value is recorded where it does so: attributes of modules, and
    what functions read when they are compiled in place.
    """
    if isinstance(value, BuiltinFunctionType):
        return isinstance(value.__self__, ModuleType)
    return isinstance(value, (ModuleType, FunctionType, Public))
