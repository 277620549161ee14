"""Makes public what people call: the methods of the classes that they meet."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import is_dataclass
from importlib import import_module
from types import ModuleType
from typing import Any

from ._public import expose, expose_init
from .hints import lacks
from .nodes import Task

_MODULES = (
    "axes",
    "device",
    "expr",
    "graphs",
    "kernels.annotations",
    "kernels.kernel",
    "keys",
    "library",
    "loops",
    "pipes",
    "plans",
    "policies",
    "program",
    "results",
    "runs",
    "schedule",
    "serving",
    "tables",
    "tensors",
    "views",
    "workload",
)
"""Modules of classes that people meet."""


def expose_methods(named: Container[str]) -> None:
    """Makes the methods of all these classes public. Those that are named, which people may call, refuse
    names of attributes that they lack, and what Python writes to make one is public, too.
    """
    for name in _MODULES:
        for cls in _classes(import_module(f".{name}", __package__)):
            if cls.__name__ in named and not hasattr(cls, "__getattr__"):
                cls.__getattr__ = _lacked
            expose(cls)
            if cls.__name__ in named and is_dataclass(cls):
                expose_init(cls)
    expose_init(Task)


def _lacked(self: object, name: str) -> Any:
    """An attribute that an object does not have."""
    raise lacks(self, name, "")


def _classes(module: ModuleType) -> list[type]:
    own: list[Any] = [each for each in vars(module).values() if isinstance(each, type)]
    return [each for each in own if each.__module__ == module.__name__]
