"""The values that schedules are made of: `DispatchPolicy`, `Deps`, `ReadyPolicy`, `StartPolicy`, `TaskWindow`
and others.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._core import LIMITS
from ._raise import schedule_error
from ._seam import Span
from .expr import Expr, describe, in_order, is_word
from .keys import trace_key
from .spans import caller_span

if TYPE_CHECKING:
    from .keys import Key


def count_of(value: Any, what: str, least: int = 1, most: int = 2**32 - 1) -> int:
    """An int in a range."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, (bool, Expr)) or not least <= number <= most:
        shown = repr(value) if isinstance(value, int) else describe(value)
        raise schedule_error(
            1208,
            f"{what} is {shown}",
            notes=f"it is an int, {least} to {most}",
            help=f"give an int from {least} to {most}",
        )
    return number


def _known(policy: Any, mode: Any, modes: Iterable[str] = ()) -> None:
    """Refuses a policy whose mode is none; policies come from functions, which are named as modes mostly."""
    name = type(policy).__name__
    made = [key for key, value in vars(type(policy)).items() if isinstance(value, staticmethod)]
    if not is_word(mode, tuple(modes) or tuple(made)):
        how = ", ".join(f"`{name}.{key}(…)`" for key in made)
        raise schedule_error(1208, f"a `{name}` is made of {describe(mode)}", help=f"write {how}")


def _alone(policy: Any, mode: str, names: Iterable[str], instead: str = "") -> None:
    """Refuses values that a policy of this mode has no meaning for; `instead` is what to write."""
    for name in names:
        given, default = getattr(policy, name), type(policy).__dataclass_fields__[name].default
        if given is not default:
            made = f"{type(policy).__name__}.{mode}"
            raise schedule_error(
                1208,
                f"a `{made}` has no `{name}`, and is given {describe(given)}",
                help=f"write `{instead or f'{made}()'}`",
            )


def _ranges(ranges: Any) -> tuple[tuple[int, int], ...]:
    """The ranges of `static_partition`."""
    try:
        pairs = [tuple(entry) for entry in in_order(ranges)]
        parts = tuple((operator.index(lo), operator.index(hi)) for lo, hi in pairs)
    except (TypeError, ValueError):
        raise schedule_error(
            1208,
            f"the ranges of `static_partition` are {describe(ranges)}",
            help="write pairs of ints: `DispatchPolicy.static_partition([(0, 10), (10, 20)])`",
        ) from None
    if not parts or any(lo < 0 or hi < lo for lo, hi in parts):
        raise schedule_error(
            1208,
            f"the ranges of `static_partition` are {list(parts)}",
            notes="each is half-open and not negative, and the next begins where it ends",
            help="write `DispatchPolicy.static_partition([(0, 10), (10, 20)])`",
        )
    return parts


_EXAMPLES = {"affinity": "lambda t: t.batch", "hash": "lambda t: t.batch"}
"""Keys of the policies that take one."""


@dataclass(frozen=True, slots=True)
class DispatchPolicy:
    """Which worker a task goes to."""

    kind: str
    key: Expr | None = field(default=None, repr=False, compare=False)
    ranges: tuple[tuple[int, int], ...] = ()
    span: Span | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _known(self, self.kind)
        if self.kind in _EXAMPLES:
            made = f"DispatchPolicy.{self.kind}({_EXAMPLES[self.kind]})"
            if not isinstance(self.key, Expr):
                raise schedule_error(
                    1208, f"the key of `{self.kind}` is {describe(self.key)}", help=f"write `{made}`"
                )
            trace_key(self.key, f"the key of `{self.kind}`")
            _alone(self, self.kind, ["ranges"], made)
        elif self.kind == "static_partition":
            object.__setattr__(self, "ranges", _ranges(self.ranges))
            _alone(self, self.kind, ["key"], f"DispatchPolicy.static_partition({list(self.ranges)})")
        else:
            _alone(self, self.kind, ["key", "ranges"])
        object.__setattr__(self, "span", caller_span())

    def __repr__(self) -> str:
        given = "" if self.key is None else f"lambda t: {self.key!r}"
        return f"DispatchPolicy.{self.kind}({given or (list(self.ranges) if self.ranges else '')})"

    @staticmethod
    def round_robin() -> DispatchPolicy:
        """Workers in turn."""
        return DispatchPolicy("round_robin")

    @staticmethod
    def work_steal() -> DispatchPolicy:
        """Any worker that is idle."""
        return DispatchPolicy("work_steal")

    @staticmethod
    def affinity(key: Key) -> DispatchPolicy:
        """Worker `key % workers`: `affinity(lambda t: t.batch)` or `affinity("batch")`."""
        return DispatchPolicy("affinity", trace_key(key, "the key of `affinity`"))

    @staticmethod
    def hash(key: Key) -> DispatchPolicy:
        """A worker by a hash of the key."""
        return DispatchPolicy("hash", trace_key(key, "the key of `hash`"))

    @staticmethod
    def static_partition(ranges: Iterable[tuple[int, int]]) -> DispatchPolicy:
        """The first worker takes tasks `ranges[0]` in elaboration order, half-open, and so on."""
        return DispatchPolicy("static_partition", ranges=_ranges(ranges))


_DEPS = {
    "exact": "infer_tensor_map_exact",
    "overlap": "infer_bytes_overlap",
    "explicit": "explicit",
    "hybrid": "hybrid",
}


def _written(policy: Any, *given: Any) -> str:
    """A policy as it is written."""
    said = ", ".join(repr(each) for each in given if each is not None)
    return f"{type(policy).__name__}.{policy.mode}({said})"


@dataclass(frozen=True, slots=True)
class Deps:
    """How dependences between tasks are found."""

    mode: str

    def __post_init__(self) -> None:
        _known(self, self.mode, _DEPS)

    def __repr__(self) -> str:
        return f"Deps.{_DEPS[self.mode]}()"

    @staticmethod
    def infer_tensor_map_exact() -> Deps:
        """Between tasks with equal regions; regions that overlap and differ are an error."""
        return Deps("exact")

    @staticmethod
    def infer_bytes_overlap() -> Deps:
        """Between tasks whose regions share an element; what holds when nothing is said."""
        return Deps("overlap")

    @staticmethod
    def explicit() -> Deps:
        """By `after=[…]` only; data must be ordered by them."""
        return Deps("explicit")

    @staticmethod
    def hybrid() -> Deps:
        """By shared elements and by `after=[…]`."""
        return Deps("hybrid")


@dataclass(frozen=True, slots=True)
class ReadyPolicy:
    """Which ready task is next."""

    mode: str

    def __post_init__(self) -> None:
        _known(self, self.mode)

    def __repr__(self) -> str:
        return _written(self)

    @staticmethod
    def fifo() -> ReadyPolicy:
        """First ready, first run."""
        return ReadyPolicy("fifo")

    @staticmethod
    def work_steal() -> ReadyPolicy:
        """Workers keep what they release; idle ones steal."""
        return ReadyPolicy("work_steal")

    @staticmethod
    def priority() -> ReadyPolicy:
        """Largest `.priority(…)` first."""
        return ReadyPolicy("priority")

    @staticmethod
    def auto() -> ReadyPolicy:
        """First in first out with one worker, else work stealing."""
        return ReadyPolicy("auto")


@dataclass(frozen=True, slots=True)
class StartPolicy:
    """When the first task may start."""

    mode: str
    count: int | None = None

    def __post_init__(self) -> None:
        _known(self, self.mode)
        if self.mode == "threshold":
            object.__setattr__(self, "count", count_of(self.count, "the number of tasks of `threshold`"))
        else:
            _alone(self, self.mode, ["count"])

    def __repr__(self) -> str:
        return _written(self, self.count)

    @staticmethod
    def immediate() -> StartPolicy:
        """At once."""
        return StartPolicy("immediate")

    @staticmethod
    def after_orchestration() -> StartPolicy:
        """When all tasks are generated."""
        return StartPolicy("after_orchestration")

    @staticmethod
    def threshold(n: int) -> StartPolicy:
        """When `n` tasks are generated."""
        return StartPolicy("threshold", n)


@dataclass(frozen=True, slots=True)
class TracePolicy:
    """What is recorded."""

    mode: str
    function: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        _known(self, self.mode)
        if self.mode != "cycles":
            _alone(self, self.mode, ["function"])
        elif not callable(self.function):
            raise schedule_error(
                1208,
                f"`cycles` takes a function of a task, not {describe(self.function)}",
                help="write `TracePolicy.cycles(lambda t: 100)`",
            )

    def __repr__(self) -> str:
        return _written(self, self.function)

    @staticmethod
    def none() -> TracePolicy:
        """Nothing."""
        return TracePolicy("none")

    @staticmethod
    def measured() -> TracePolicy:
        """The times of every task."""
        return TracePolicy("measured")

    @staticmethod
    def cycles(fn: Callable[[Any], Any] | None = None) -> TracePolicy:
        """Virtual time: no kernel runs, a task takes `fn(task)` cycles; without `fn` the times of every task
        are measured.

        `fn` is called once per kernel with a task whose `t.kernel` is the kernel's name; it computes from
        scalar parameters, `t.coord(n)` and `t.cost`, the cost that the kernel declares: `cycles(lambda t:
        t.cost)`.
        """
        return TracePolicy("measured") if fn is None else TracePolicy("cycles", fn)


@dataclass(frozen=True, slots=True, init=False)
class TaskWindow:
    """The most tasks in flight, and what happens at a full window.

    Generation waits (`stall`), the run fails (`abort`), or generation waits and records it (`benchmark`).
    """

    capacity: int
    mode: str

    def __init__(self, capacity: int, mode: str = "stall") -> None:
        object.__setattr__(
            self, "capacity", count_of(capacity, "the capacity of a window", 1, LIMITS["MAX_TASK_WINDOW"])
        )
        object.__setattr__(self, "mode", mode)
        if not is_word(mode, ("stall", "abort", "benchmark")):
            raise schedule_error(
                1208, f"the mode of a window is {describe(mode)}", help="modes: `stall`, `abort`, `benchmark`"
            )


@dataclass(frozen=True, slots=True)
class Pools:
    """Workers by execution unit."""

    mode: str
    vector: int = 0
    cube: int = 0

    def __post_init__(self) -> None:
        _known(self, self.mode)
        if self.mode == "shared":
            _alone(self, self.mode, ["vector", "cube"])
            return
        for name in ("vector", "cube"):
            count = count_of(getattr(self, name), f"`{name}` of `by_unit`", 1, LIMITS["MAX_THREADS"])
            object.__setattr__(self, name, count)

    def __repr__(self) -> str:
        return _written(self, *((self.vector, self.cube) if self.mode == "by_unit" else ()))

    @staticmethod
    def shared() -> Pools:
        """Every worker takes every task."""
        return Pools("shared")

    @staticmethod
    def by_unit(vector: int, cube: int) -> Pools:
        """So many workers take vector tasks, so many cube tasks."""
        return Pools("by_unit", vector, cube)


@dataclass(frozen=True, slots=True)
class TimingPolicy:
    """When ready tasks are handed to workers."""

    mode: str
    count: int | None = None

    def __post_init__(self) -> None:
        _known(self, self.mode)
        if self.mode == "immediate":
            _alone(self, self.mode, ["count"])
            return
        most = LIMITS["MAX_TASK_WINDOW"] if self.mode == "batched" else 2**32 - 1
        object.__setattr__(self, "count", count_of(self.count, f"the number of `{self.mode}`", 1, most))

    def __repr__(self) -> str:
        return _written(self, self.count)

    @staticmethod
    def immediate() -> TimingPolicy:
        """As soon as they are ready."""
        return TimingPolicy("immediate")

    @staticmethod
    def batched(n: int) -> TimingPolicy:
        """`n` at a time."""
        return TimingPolicy("batched", n)

    @staticmethod
    def interleaved(n: int) -> TimingPolicy:
        """From `n` streams in turn."""
        return TimingPolicy("interleaved", n)

    @staticmethod
    def rate_limit(n: int) -> TimingPolicy:
        """At most `n` in a unit of time."""
        return TimingPolicy("rate_limit", n)
