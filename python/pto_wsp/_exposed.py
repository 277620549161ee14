"""Makes public what people call: the methods of the classes that they meet."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from ._public import expose

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


def expose_methods() -> None:
    """Makes the methods of all these classes public."""
    for name in _MODULES:
        for cls in _classes(import_module(f".{name}", __package__)):
            expose(cls)


def _classes(module: ModuleType) -> list[type]:
    own: list[Any] = [each for each in vars(module).values() if isinstance(each, type)]
    return [each for each in own if each.__module__ == module.__name__]
