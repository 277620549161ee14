"""Where kernels and workloads meet: what a kernel object is to the tracer of workloads, and how a call
becomes a task.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from .tracing import Task

Span = tuple[str, int, int, int, int]
"""A place in a Python file: file name, line, column, end line, end column; lines from 1, columns from 0 in
UTF-8 bytes.
"""

Kind = Literal["in", "out", "inout", "scalar", "constexpr"]
"""What a parameter of a kernel takes."""


class _Required:
    """The default of a parameter that has none."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED = _Required()


@dataclass(frozen=True, slots=True)
class ParamSpec:
    """A parameter of a kernel as its signature says it."""

    name: str
    kind: Kind
    default: Any = REQUIRED


@dataclass(frozen=True, slots=True)
class ViewSpec:
    """What is known about the region that a task gives to a tensor parameter.

    `dtype` is the name of the element type. `keep` are the dimensions of the tensor that the view keeps, in
    order; the others have one index. A view of which every dimension is indexed keeps the last one, with
    extent 1. `extents` and `most` have an entry per kept dimension: the extent where it is a constant, else
    None, and a bound that it never exceeds, else None.
    """

    dtype: str
    keep: tuple[int, ...]
    extents: tuple[int | None, ...]
    most: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class ScalarArg:
    """An integer argument; its value is not part of a specialisation."""


@dataclass(frozen=True, slots=True)
class ConstexprArg:
    """A value that Python knows when the workload is traced."""

    value: Any


class SpanTable(Protocol):
    """The places of a trace."""

    def add(self, filename: str, line: int, col: int, end_line: int, end_col: int) -> int:
        """The index of a place, for an `"s"` of the document; equal places have one index."""


class Specialisation(Protocol):
    """A kernel for one coordinate count, one set of constants and one shape of views."""

    @property
    def key(self) -> Any:
        """Hashable; equal keys of one kernel object are one entry of the program."""

    @property
    def name(self) -> str:
        """A name for people; the tracer makes it unique."""

    @property
    def params(self) -> Sequence[tuple[str, str]]:
        """Name and kind (`scalar`, `in`, `out`, `inout`): coordinates first, as scalars, then all but the
        constants, in order.
        """

    @property
    def unit(self) -> str:
        """`vector`, `cube` or `any`."""

    @property
    def cost(self) -> int | Callable[..., Any] | None:
        """Cycles of a task; a callable is given one integer expression per scalar parameter, coordinates left
        out.
        """

    @property
    def span(self) -> Span | None:
        """Where the kernel is defined."""

    @property
    def callable(self) -> Callable[..., Any] | None:
        """What runs a kernel whose body is `python`; none for others."""

    def body(self, spans: SpanTable) -> dict[str, Any]:
        """`kernels[i]` of the trace. For a body `python` the tracer sets `key`."""


class KernelLike(Protocol):
    """A kernel object as the tracer sees it. Its calls end in `record_task`."""

    @property
    def name(self) -> str:
        """The kernel's name."""

    @property
    def signature(self) -> Sequence[ParamSpec]:
        """Its parameters, in order."""

    def specialise(
        self, ncoords: int, args: Sequence[ViewSpec | ScalarArg | ConstexprArg], call: Span | None
    ) -> Specialisation:
        """The kernel for these arguments, one per entry of `signature`, defaults filled in. `call` is where
        the task is said.

        Compiling may wait until `body`, but what depends on the call (annotated types and extents) is refused
        here.
        """


def record_task(
    kernel: KernelLike,
    coords: Sequence[Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    after: Sequence[Any] = (),
    span: Span | None = None,
) -> Task:
    """Adds a task to the workload that is being traced and returns its handle.

    `args` and `kwargs` are as the user wrote them, without `after`; they are bound to `kernel.signature`
    here. `span` is the place of the call, else that of the nearest frame outside this package. Outside a
    workload: `TraceError`.
    """
    from .tracing import record

    return record(kernel, tuple(coords), tuple(args), dict(kwargs), tuple(after), span)


def is_tracing() -> bool:
    """True while a workload function is being traced on this thread."""
    from .tracing import current_or_none

    return current_or_none() is not None


def when_trace_failed() -> Callable[[], bool]:
    """What says, later, whether an exception has ended the trace that runs now on this thread."""
    from .tracing import current_or_none

    trace = current_or_none()
    return lambda: trace is not None and trace.failed


def caller_span() -> Span | None:
    """The place in the nearest frame outside this package, or None where there is none."""
    from .spans import caller_span as find

    return find()
