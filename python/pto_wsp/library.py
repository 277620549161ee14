"""Kernels of `.pto` files in workloads of Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from . import _core
from ._raise import trace_error
from .expr import as_expr
from .files import path_of, refuse_other_kinds
from .hints import did_you_mean
from .nodes import KernelEntry, Task
from .program import Program, launch_file
from .spans import caller_span
from .tensors import Indexable
from .tracing import add_task, current

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import LaunchOptions


class Library:
    """The kernels of a `.pto` file, as attributes: `lib.rmsnorm_attn(first=i)` in a workload generates a
    task.
    """

    __slots__ = ("_kernels", "_path")

    def __init__(self, path: str) -> None:
        self._path = path
        self._kernels = {entry["name"]: tuple(entry["fields"]) for entry in _core.library(path)["kernels"]}

    @property
    def path(self) -> str:
        """The absolute path of the file."""
        return self._path

    def program(self, target: str = "cpu_sim", **options: Unpack[LaunchOptions]) -> Program:
        """The program of the file's host entry. Arrays of real numbers in row-major order are read where they
        lie, others are copied in, and what kernels wrote is copied back.

        Options are those of `Workload.compile`, and `schedule`, the name of one that the file has;
        `max_blocks`, the number of cores that generators see; `kv_layout`, `"NHD"` or `"HND"`, the order of
        tokens and heads in the pages of caches; `cache`, a folder that keeps machine code for other
        processes, of which `explain()` says hit, or miss and what differs.
        """
        return launch_file(self._path, target, options)

    def __getattr__(self, name: str) -> LibraryKernel:
        if name.startswith("__") or name in Library.__slots__:
            raise AttributeError(name)
        if name not in self._kernels:
            near = did_you_mean(name, self._kernels)
            if name in ("compile", "execute", "run", "plan"):
                near = "`load(path).program(…)` is the program of the file's host entry"
            raise trace_error(
                1045,
                f"`{os.path.basename(self._path)}` has no kernel `{name}`",
                notes=f"its kernels: {', '.join(f'`{known}`' for known in self._kernels) or 'none'}",
                help=near or "`repr` of the library lists them",
            )
        return LibraryKernel(self._path, name, self._kernels[name])

    def __reduce__(self) -> tuple[Any, ...]:
        return (Library, (self._path,))

    def __dir__(self) -> list[str]:
        return sorted([*self._kernels, "path", "program"])

    def __repr__(self) -> str:
        return f"<library {os.path.basename(self._path)}: {', '.join(self._kernels)}>"


class LibraryKernel:
    """A kernel of a `.pto` file. Calling it in a workload sets the fields of its descriptor, in order or by
    name.
    """

    __slots__ = ("fields", "name", "path")

    def __init__(self, path: str, name: str, fields: tuple[str, ...]) -> None:
        self.path = path
        self.name = name
        self.fields = fields

    def __call__(self, /, *args: Any, after: Any = (), **kwargs: Any) -> Task:
        """Adds a task."""
        span = caller_span()
        trace = current(f"a call of kernel `{self.name}`")
        notes = f"fields of its descriptor: {', '.join(f'`{field}`' for field in self.fields) or 'none'}"
        surplus = next((name for name in kwargs if name not in self.fields), None)
        if surplus is not None or len(args) > len(self.fields):
            what = (
                f"no field `{surplus}`"
                if surplus is not None
                else f"{len(self.fields)} fields, not {len(args)}"
            )
            raise trace_error(
                1021,
                f"`{self.name}` has {what}",
                span=span,
                notes=notes,
                help="give the fields in order or by name: `k(first=i)`",
            )
        given = [(None, value) for value in args] + list(kwargs.items())
        for name, value in given:
            if isinstance(value, Indexable):
                raise trace_error(
                    1022,
                    f"`{name or self.fields[0]}` of `{self.name}` takes an integer, not `{value.shown}`",
                    span=span,
                    notes="what a kernel of a `.pto` file reads and writes follows from its loads and stores",
                    help="give integers; arrays of the file are bound by name in a run",
                )
        values: list[Any] = [
            (name, trace.usable(as_expr(value, f"a field of `{self.name}`"), "a field", span))
            for name, value in given
        ]
        key = ("library", self.path, self.name)
        entry = trace.kernels.setdefault(key, KernelEntry(None, None, self.path, None, None, (self.name,)))
        handles = tuple(after) if isinstance(after, (list, tuple)) else (after,)
        return add_task(trace, entry, self.name, (), values, handles, span)

    def __reduce__(self) -> tuple[Any, ...]:
        return (LibraryKernel, (self.path, self.name, self.fields))

    def __getitem__(self, coords: Any) -> Any:
        raise trace_error(
            1021,
            f"kernel `{self.name}` of a `.pto` file has no coordinates",
            notes=f"fields of its descriptor: {', '.join(f'`{field}`' for field in self.fields) or 'none'}",
            help=f"call it without the subscript: `{self.name}({', '.join(f'{f}=…' for f in self.fields)})`",
        )

    def __repr__(self) -> str:
        return f"<kernel {self.name}({', '.join(self.fields)}) of {os.path.basename(self.path)}>"


def load(path: str | os.PathLike[str]) -> Library:
    """The kernels of a `.pto` file. Errors: `CompileError` at the line of the file."""
    name = path_of(path, 'load("decode.pto")')
    refuse_other_kinds(name, (".pto",))
    return Library(os.path.abspath(name))
