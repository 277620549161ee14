"""Workloads and kernels are pickled by the qualified name of their function, whose module is imported."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from ._raise import compile_error

if TYPE_CHECKING:
    from typing_extensions import Self

    from .errors import WspError
    from .workload import Workload


def named(module: str, qualname: str) -> Any:
    """What stands under a qualified name in a module. Errors: those of imports, `AttributeError`."""
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def name_of(made: Any, what: str) -> tuple[str, str]:
    """Module and qualified name of a function, by which it is found again. Errors: `CompileError` where it is
    not.
    """
    module, qualname = made.__module__, made.__qualname__
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    if found is None:
        raise compile_error(
            1223,
            f"{what} `{made.__name__}` is not found as `{module}.{qualname}`",
            notes="it is pickled by the name of its function, as functions are",
            help="define it at the top of a module, under the name of its function",
        )
    return module, qualname


class OfThisProcess:
    """What has memory or threads of this process: there cannot be two of it, so that its copy is itself."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self


def not_pickled(what: str, help: str) -> WspError:
    """The error of something that is of its process."""
    message = f"{what} can be neither pickled nor copied by `copy.deepcopy`"
    return compile_error(1223, message, notes="it has memory or threads of this process", help=help)


def workload_of(module: str, qualname: str, kept: dict[str, Any]) -> Workload:
    """The workload of a name, with what was bound and scheduled."""
    return named(module, qualname)._copy(**kept)
