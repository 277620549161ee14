"""Schedules: methods of workloads, each of which gives a workload that says one thing more."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import wraps
from inspect import signature
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from ._core import LIMITS
from ._raise import schedule_error
from ._seam import Span
from .expr import Expr, describe, in_order, is_word
from .keys import trace_key
from .policies import (
    Deps,
    DispatchPolicy,
    Pools,
    ReadyPolicy,
    StartPolicy,
    TaskWindow,
    TimingPolicy,
    TracePolicy,
    count_of,
)
from .spans import caller_span

if TYPE_CHECKING:
    from .keys import Key

S = TypeVar("S", bound="Scheduled")
Method = TypeVar("Method", bound=Callable[..., Any])
_UNITS = ("vector", "cube", "any")
_AXES = ("x", "y")
_LAYOUTS = ("replicate", *_AXES)
_SCOPES = ("global", "per_stream", "per_pool")


@dataclass(frozen=True, slots=True)
class Directive:
    """One thing that a schedule says; `what` is said at most once."""

    what: str
    fields: dict[str, Any]
    """The directive of the document, with expressions in place of theirs; `policy` and `policies` hold
    policies.
    """
    span: Span | None = field(default=None, compare=False)
    function: Callable[[Any], Any] | None = field(default=None, compare=False)
    """The function of `TracePolicy.cycles`."""


def gives_another(method: Method) -> Method:
    """A method that changes nothing and gives another workload, of which something must be made."""

    takes = signature(method)

    @wraps(method)
    def said(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        self._use()
        try:
            takes.bind(self, *args, **kwargs)
        except TypeError as fault:
            names = ", ".join(name for name in takes.parameters if name != "self")
            raise schedule_error(
                1209, f"`{method.__name__}`: {fault}", help=f"write `.{method.__name__}({names})`"
            ) from None
        made = method(self, *args, **kwargs)
        if made is not self and isinstance(made, Scheduled):
            made._watch(method.__name__, caller_span())
        return made

    return said  # type: ignore[return-value]


class Scheduled:
    """The methods that say when and where tasks run. A schedule never changes a result."""

    __slots__ = ()

    @property
    def directives(self) -> tuple[Directive, ...]:
        """What the schedule says so far."""
        raise NotImplementedError

    def _with(self: S, directives: tuple[Directive, ...]) -> S:
        raise NotImplementedError

    def _use(self) -> None:
        """Something is made of it."""
        raise NotImplementedError

    def _watch(self, method: str, span: Span | None) -> None:
        """Warns when it goes without anything being made of it; `method` gave it, at `span`."""
        raise NotImplementedError

    def _say(self: S, *said: Directive) -> S:
        for directive in said:
            for earlier in self.directives:
                if earlier.what == directive.what:
                    raise schedule_error(
                        1200,
                        f"`{directive.what}` is said twice",
                        labels=[(earlier.span, "said first here")],
                        help="keep one; each call gives a workload of its own, so the unscheduled one can "
                        "take another",
                    )
        return self._with((*self.directives, *said))

    def _one(self: S, what: str, function: Callable[[Any], Any] | None = None, **fields: Any) -> S:
        return self._say(Directive(what, fields, caller_span(), function))

    @gives_another
    def dispatch(self: S, policy: DispatchPolicy) -> S:
        """Which worker a task goes to: `dispatch(DispatchPolicy.affinity(lambda t: t.batch))`."""
        _require(policy, DispatchPolicy, "dispatch", "DispatchPolicy.round_robin()")
        return self._one("dispatch", k="dispatch", policy=policy)

    @gives_another
    def dispatch_threshold(
        self: S,
        metric: Key,
        bounds: Iterable[int],
        policies: Iterable[DispatchPolicy | str],
    ) -> S:
        """Policy `n`, or unit (`"vector"`, `"cube"`, `"any"`), for a task whose metric `n` of the bounds do
        not exceed.

        Bounds increase, and there is one policy more than bounds.
        """
        key = trace_key(metric, "the metric of `dispatch_threshold`")
        given = _listed(bounds, "the bounds of `dispatch_threshold`", "[128, 512]")
        limits = [count_of(bound, "a bound of `dispatch_threshold`", -(2**63), 2**63 - 1) for bound in given]
        chosen = _listed(policies, "the policies of `dispatch_threshold`", '["vector", "cube"]')
        for policy in chosen:
            if not isinstance(policy, DispatchPolicy) and not is_word(policy, _UNITS):
                raise schedule_error(
                    1209,
                    f"a policy of `dispatch_threshold` is {describe(policy)}",
                    help='give `DispatchPolicy.…` or a unit: `"vector"`, `"cube"`, `"any"`',
                )
        falls = next(((a, b) for a, b in pairwise(limits) if a >= b), None)
        if falls is not None:
            raise schedule_error(
                1211,
                f"the bounds of `dispatch_threshold` do not increase: {falls[0]} stands before {falls[1]}",
                notes=f"bounds: {limits}",
                help=f"list each once, from the smallest: `{sorted(set(limits))}`",
            )
        if not limits or len(chosen) != len(limits) + 1:
            raise schedule_error(
                1211,
                f"`dispatch_threshold` has bounds {limits} and {len(chosen)} policies",
                notes="the first policy is for a metric up to the first bound, the last for larger ones",
                help=f"give one policy more than bounds: {len(limits) + 1} for these"
                if limits
                else "give a bound, or write `.dispatch(policy)`",
            )
        return self._one(
            "dispatch_threshold", k="dispatch_threshold", metric=key, bounds=limits, policies=chosen
        )

    @gives_another
    def streams(self: S, n: int) -> S:
        """Tasks go to `n` in-order streams, in turn unless `stream_by` says otherwise."""
        return self._one("streams", k="streams", n=count_of(n, "the number of streams", 1, 2**16))

    @gives_another
    def stream_by(self: S, key: Key) -> S:
        """Stream `key % streams`."""
        return self._one("stream_by", k="stream_by", key=trace_key(key, "the key of `stream_by`"))

    @gives_another
    def task_graph(
        self: S,
        *,
        deps: Deps | None = None,
        window: TaskWindow | int | None = None,
        pools: Pools | None = None,
        ready: ReadyPolicy | None = None,
        start: StartPolicy | None = None,
        trace: TracePolicy | None = None,
    ) -> S:
        """How the graph of tasks is built and run; what is left out stays open."""
        span = caller_span()
        said: list[Directive] = []
        if deps is not None:
            _require(deps, Deps, "deps", "Deps.infer_bytes_overlap()")
            said.append(Directive("deps", {"k": "deps", "mode": deps.mode}, span))
        if window is not None:
            full = TaskWindow(window) if isinstance(window, int) and not isinstance(window, bool) else window
            _require(full, TaskWindow, "window", "TaskWindow(8192)")
            assert isinstance(full, TaskWindow)
            said.append(
                Directive("window", {"k": "window", "capacity": full.capacity, "mode": full.mode}, span)
            )
        if pools is not None:
            _require(pools, Pools, "pools", "Pools.shared()")
            units = {"vector": pools.vector, "cube": pools.cube} if pools.mode == "by_unit" else {}
            said.append(Directive("pools", {"k": "pools", "mode": pools.mode, **units}, span))
        if ready is not None:
            _require(ready, ReadyPolicy, "ready", "ReadyPolicy.fifo()")
            said.append(Directive("ready", {"k": "ready", "mode": ready.mode}, span))
        if start is not None:
            _require(start, StartPolicy, "start", "StartPolicy.immediate()")
            said.append(Directive("start", _counted("start", start.mode, start.count), span))
        if trace is not None:
            _require(trace, TracePolicy, "trace", "TracePolicy.measured()")
            said.append(Directive("trace", {"k": "trace", "mode": trace.mode}, span, trace.function))
        return self._say(*said)

    @gives_another
    def pipeline_depth(self: S, n: int, scope: str = "global") -> S:
        """The most tasks that run at once: of all, or of one stream or pool (`per_stream`, `per_pool`); once
        per scope.
        """
        if not is_word(scope, _SCOPES):
            raise schedule_error(
                1208,
                f"the scope of `pipeline_depth` is {describe(scope)}",
                help=f"scopes: {', '.join(f'`{known}`' for known in _SCOPES)}",
            )
        capacity = count_of(n, "the depth of `pipeline_depth`")
        return self._one(f"pipeline_depth({scope})", k="gate", scope=scope, capacity=capacity)

    @gives_another
    def batch_deps(self: S, n: int) -> S:
        """A worker gathers `n` completions before it releases their successors."""
        return self._one(
            "batch_deps",
            k="batch_deps",
            n=count_of(n, "the number of `batch_deps`", 1, LIMITS["MAX_TASK_WINDOW"]),
        )

    @gives_another
    def core_groups(self: S, n: int) -> S:
        """With `ReadyPolicy.work_steal()`, each `n` workers form a group; an idle one takes from it first."""
        return self._one(
            "core_groups", k="core_groups", n=count_of(n, "the number of workers of a group", 1, 1024)
        )

    @gives_another
    def workers(self: S, n: int) -> S:
        """A run has `n` threads, and as many workers in virtual time, unless it asks for a number."""
        return self._one("workers", k="workers", n=count_of(n, "the number of workers", 1, 1024))

    @gives_another
    def priority(self: S, key: Key) -> S:
        """With `ReadyPolicy.priority()`, larger keys first."""
        return self._one("priority", k="priority", key=trace_key(key, "the key of `priority`"))

    @gives_another
    def timing(self: S, policy: TimingPolicy) -> S:
        """When ready tasks are handed to workers."""
        _require(policy, TimingPolicy, "timing", "TimingPolicy.immediate()")
        return self._one("timing", **_counted("timing", policy.mode, policy.count))

    @gives_another
    def spatial_map(self: S, grid: tuple[int, int]) -> S:
        """Tasks are placed on a grid of tiles, `(columns, rows)`."""
        if not isinstance(grid, (tuple, list)) or len(grid) != 2:
            raise schedule_error(
                1208, f"the grid of `spatial_map` is {describe(grid)}", help="write `grid=(4, 2)`"
            )
        most = LIMITS["MAX_THREADS"]
        sides = [count_of(side, "a side of the grid of `spatial_map`", 1, most) for side in grid]
        return self._one("spatial_map", k="spatial_map", grid=sides)

    @gives_another
    def layout(self: S, tensor: str, dims: Iterable[str], pending: Iterable[str] = ()) -> S:
        """How a tensor lies on the grid of `spatial_map`: for each dimension `"replicate"`, or the axis `"x"`
        or `"y"` over which it is sharded. Along the `pending` axes each tile has a part of the sums of its
        elements.
        """
        of = _tensor_name(tensor, "layout")
        lies = _dims(dims, "the dimensions of `layout`", _LAYOUTS)
        parts = _dims(pending, "the pending axes of `layout`", _AXES)
        return self._one(f"layout({of})", k="layout", tensor=of, dims=lies, pending=parts)

    @gives_another
    def relayout(self: S, tensor: str, dims: Iterable[str]) -> S:
        """How a tensor lies where tasks read it, with the parts of pending sums added up."""
        of = _tensor_name(tensor, "relayout")
        lies = _dims(dims, "the dimensions of `relayout`", _LAYOUTS)
        return self._one(f"relayout({of})", k="relayout", tensor=of, dims=lies)


def _tensor_name(tensor: Any, what: str) -> str:
    if not isinstance(tensor, str):
        raise schedule_error(
            1209,
            f"`{what}` takes the name of a tensor, not {describe(tensor)}",
            help=f'write `.{what}("q", ["replicate", "x"])`',
        )
    return tensor


def _dims(values: Any, what: str, words: tuple[str, ...]) -> list[str]:
    listed = _listed(values, what, '["replicate", "x"]')
    for word in listed:
        if not is_word(word, words):
            raise schedule_error(
                1208,
                f"one of {what} is {describe(word)}",
                help=f"there are {', '.join(f'`{known}`' for known in words)}",
            )
    return listed


def _listed(values: Any, what: str, example: str) -> list[Any]:
    try:
        return in_order(values)
    except TypeError:
        raise schedule_error(
            1209, f"{what} are {describe(values)}", help=f"write a list: `{example}`"
        ) from None


def _counted(kind: str, mode: str, count: int | None) -> dict[str, Any]:
    return {"k": kind, "mode": mode} if count is None else {"k": kind, "mode": mode, "n": count}


def _require(value: Any, cls: type, what: str, example: str) -> None:
    if not isinstance(value, cls):
        raise schedule_error(
            1209, f"`{what}` takes a `{cls.__name__}`, not {describe(value)}", help=f"write `{example}`"
        )


def keys_of(directive: Directive) -> list[Expr]:
    """The key expressions of a directive."""
    found: list[Expr] = []
    for value in directive.fields.values():
        for entry in value if isinstance(value, list) else [value]:
            if isinstance(entry, DispatchPolicy):
                entry = entry.key
            if isinstance(entry, Expr):
                found.append(entry)
    return found
