"""Keys of schedules: functions of a task such as `lambda t: t.batch`, traced to expressions over loop
indices.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from . import errors
from ._raise import MADE, schedule_error
from ._seam import Span
from .axes import Size
from .effects import changes_of
from .expr import Expr, as_expr, constant, describe
from .spans import caller_span, cause_of, is_ours, span_of_frame, span_of_function

ACCEPTED = (
    "a key is integer arithmetic on loop indices, by the name of the axis or of the loop's variable: "
    "`lambda t: t.batch`, "
    '`lambda t: t.get("batch") * 8 + t.h`, `lambda t: lens[t.batch]`'
)

Key: TypeAlias = "Callable[[KeyTask], int | Expr] | Expr | str | int"
"""What a schedule takes for a key."""


class KeyName(Expr):
    """`t.batch` in a key: the index of the innermost loop of this name, 0 for tasks outside of any."""

    __slots__ = ()

    def __init__(self, name: str, span: Span | None) -> None:
        super().__init__("key", (name,), span)

    def __getitem__(self, index: Any) -> Expr:
        """`t.lens[t.batch]`: an element of a table that is a parameter of the workload."""
        return Expr("key", (self.args[0], as_expr(index, "the index of a table")), caller_span())


class KeyTask:
    """What the function of a key is given: the indices of the loops around a task, by name."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)

    def __getitem__(self, name: str) -> Expr:
        return self.get(name)

    def get(self, name: str) -> Expr:
        """The index of the innermost loop of this name, `t.get("batch")`; the same as `t.batch`."""
        if not isinstance(name, str):
            raise schedule_error(1201, f"`t[{name!r}]` is no loop", help='name an axis: `t["batch"]`')
        if name == "kernel":
            raise schedule_error(
                1206,
                "`t.kernel` in a key",
                notes="one key holds for the tasks of all kernels; loops tell them apart",
                help="`TracePolicy.cycles(lambda t: …)` and `@kernel(unit=…, cost=…)` are per kernel",
            )
        return KeyName(name, caller_span())

    def size(self, name: str) -> Expr:
        """The value of a launch-time size: `t.size("batch")`."""
        if not isinstance(name, str):
            raise schedule_error(
                1201, f"`t.size({name!r})` is no size", help='name a size: `t.size("batch")`'
            )
        return Size(name, caller_span())

    def __repr__(self) -> str:
        return "task"


class CostTask:
    """What the function of `TracePolicy.cycles` is given: a task of one kernel.

    `t.kernel` is the kernel's name as a Python string, `t.cost` what the kernel declares, and others are its
    integers: scalar parameters by name, coordinates by `t.coord(n)`.
    """

    __slots__ = ("_coords", "_cost", "_kernel", "_scalars")

    def __init__(self, kernel: str, cost: Expr, scalars: dict[str, Expr], coords: tuple[Expr, ...]) -> None:
        self._kernel = kernel
        self._cost = cost
        self._scalars = scalars
        self._coords = coords

    @property
    def kernel(self) -> str:
        """The name of the kernel."""
        return self._kernel

    @property
    def cost(self) -> Expr:
        """The cost that the kernel declares, 1 if it does not."""
        return self._cost

    def coord(self, number: int) -> Expr:
        """A coordinate of the task."""
        if not isinstance(number, int) or not 0 <= number < len(self._coords):
            raise schedule_error(
                1210,
                f"task of `{self._kernel}` has no coordinate {number!r}",
                notes=f"it has {len(self._coords)}",
                help="coordinates count from 0: `t.coord(0)`",
            )
        return self._coords[number]

    def __getattr__(self, name: str) -> Expr:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)

    def __getitem__(self, name: str) -> Expr:
        return self.get(name)

    def get(self, name: str) -> Expr:
        """A scalar parameter of the kernel."""
        if name not in self._scalars:
            has = ", ".join(f"`{known}`" for known in self._scalars) or "none"
            raise schedule_error(
                1210,
                f"kernel `{self._kernel}` has no integer parameter `{name}`",
                notes=f"its integer parameters: {has}; it has {len(self._coords)} coordinates",
                help="cycles are computed from the integers that a task is given: `t.coord(0)`, scalar "
                "parameters, "
                "`t.cost`; `t.kernel` is the kernel's name",
            )
        return self._scalars[name]


def trace_key(function: Any, what: str, accepted: str = ACCEPTED) -> Expr:
    """A key as an expression; `function` is a function of a task, the name of an axis, or an int."""
    if isinstance(function, str):
        return KeyName(function, caller_span())
    if isinstance(function, Expr):
        if function.vars or function.op == "slot":
            raise schedule_error(1201, f"{what} is `{function!r}` of a workload", help=accepted)
        return function
    if not callable(function):
        try:
            return as_expr(function, what)
        except errors.WspError:
            raise schedule_error(1202, f"{what} is {describe(function)}", help=accepted) from None
    return call_key(function, KeyTask(), what, accepted)


def call_key(function: Callable[..., Any], task: Any, what: str, accepted: str) -> Expr:
    """What the function gives for a task."""
    for name in changes_of(function):
        raise schedule_error(
            1201,
            f"{what} changes `{name}`, and is called once for all tasks",
            span=span_of_function(function),
            notes="numbers of a generator, counters and the like would be the same for every task",
            help=accepted,
        )
    made = MADE.set([])
    try:
        result = function(task)
        for caught in MADE.get() or ():
            raise caught
    except errors.ScheduleError:
        raise
    except errors.TraceError as error:
        raise schedule_error(
            1201,
            f"{what} is opaque: {error.message}",
            span=place_raised(error) or span_of_function(function),
            help=[accepted, *error.help],
        ) from None
    except Exception as error:
        raise schedule_error(
            1202,
            f"{what} cannot be traced: {type(error).__name__}: {error}",
            span=place_raised(error) or span_of_function(function),
            help=accepted,
        ) from cause_of(error)
    finally:
        MADE.reset(made)
    if isinstance(result, Expr):
        return result
    if isinstance(result, bool):
        return constant(int(result))
    try:
        return as_expr(result, what)
    except errors.WspError:
        raise schedule_error(
            1202,
            f"{what} gives {describe(result)}, not an integer",
            span=span_of_function(function),
            help=accepted,
        ) from None


def place_raised(error: BaseException) -> Span | None:
    """The innermost place outside this package that an exception passed."""
    found: Span | None = None
    traceback = error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        if not is_ours(frame):
            found = span_of_frame(frame) if frame.f_lasti == traceback.tb_lasti else None
            found = found or (frame.f_code.co_filename, traceback.tb_lineno, 0, traceback.tb_lineno, 1)
        traceback = traceback.tb_next
    return found
