"""Workloads: functions that say which tasks there are, as values that are bound, scheduled and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from ._core import WhenGone
from ._pickled import name_of, workload_of
from ._raise import schedule_error, trace_error
from ._seam import REQUIRED, Span
from .axes import DenseDyn, FixedSize, Ragged, Sparse
from .expr import describe
from .formals import (
    Formal,
    bind,
    checked,
    constant_extent,
    extents_of,
    formals_of,
    launch_value,
    signature_text,
)
from .hints import did_you_mean, lacks
from .keys import place_raised
from .nodes import Blocks
from .postponed import scope_at
from .schedule import Directive, Scheduled
from .spans import caller_frame, caller_span, span_of_function
from .texts import keep
from .thrown import warning_when_gone
from .tracing import MOST_CALLS, Trace, current_or_none

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import CompileOptions
    from .program import Program
    from .trace import Document


class Workload(Scheduled):
    """Which tasks there are, and, apart from that, when and where they run. Immutable: every method gives
    another one.

    Calling it binds sizes, axes, tensors, tables and constants: `attention(batch=Dense[4], heads=8)`. In the
    function of another workload a call generates its tasks. Parameters that stay unbound are bound by a run.
    """

    __slots__ = ("_bound", "_directives", "_formals", "_function", "_gone", "_name", "_parts", "_span")

    _bound: dict[str, Any]
    _directives: tuple[Directive, ...]
    _formals: tuple[Formal, ...]
    _function: Callable[..., Any] | None
    _gone: WhenGone | None
    _name: str
    _parts: tuple[str, tuple[Workload, ...]] | None
    _span: Span | None

    def __init__(
        self,
        name: str,
        function: Callable[..., Any] | None = None,
        *,
        parts: tuple[str, tuple[Workload, ...]] | None = None,
        formals: tuple[Formal, ...] = (),
        bound: dict[str, Any] | None = None,
        directives: tuple[Directive, ...] = (),
        span: Span | None = None,
    ) -> None:
        if not isinstance(name, str):
            raise trace_error(
                1016, f"a workload is made of {describe(name)}", help="write `@workload` above a `def`"
            )
        for key, value in {
            "_name": name,
            "_function": function,
            "_parts": parts,
            "_formals": formals,
            "_bound": dict(bound or {}),
            "_directives": directives,
            "_span": span,
            "_gone": None,
        }.items():
            object.__setattr__(self, key, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a workload does not change; its methods give another one (`{name}`)")

    __delattr__ = None  # type: ignore[assignment]

    def _use(self) -> None:
        if self._gone is not None:
            self._gone.forget()

    def _watch(self, method: str, span: Span | None) -> None:
        object.__setattr__(self, "_gone", warning_when_gone(_thrown_away(self._name, method), span))

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            hint = f"compile it first: `{self._name}.compile().{name}(…)`" if name in _OF_PROGRAMS else ""
            raise lacks(self, name, hint)

    def __copy__(self) -> Workload:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Workload:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        self._use()
        kept = {"name": self._name, "bound": self._bound, "directives": self._directives}
        if self._function is not None:
            return (workload_of, (*name_of(self._function, "workload"), kept))
        return (_of_parts, (self._name, self._parts, self._bound, self._directives))

    def _copy(self, **changes: Any) -> Workload:
        kept: dict[str, Any] = {
            "parts": self._parts,
            "formals": self._formals,
            "bound": self._bound,
            "directives": self._directives,
            "span": self._span,
        }
        name = changes.pop("name", self._name)
        function = changes.pop("function", self._function)
        return Workload(name, function, **{**kept, **changes})

    @property
    def name(self) -> str:
        """Its name: that of the function, unless `@workload(name=…)` says another."""
        self._use()
        return self._name

    @property
    def function(self) -> Callable[..., Any] | None:
        """The function that says its tasks; None for an empty workload, and for those that `combine` and
        `sequential` make.
        """
        return self._function

    @property
    def directives(self) -> tuple[Directive, ...]:
        """What its schedule says so far."""
        self._use()
        return self._directives

    def _with(self, directives: tuple[Directive, ...]) -> Workload:
        return self._copy(directives=directives)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Workload:
        """Binds parameters; in a workload generates the tasks; an empty workload decorates a function."""
        self._use()
        if (
            self._function is None
            and self._parts is None
            and len(args) == 1
            and callable(args[0])
            and not kwargs
        ):
            return _decorated(args[0], None if self._name == "workload" else self._name, self._directives)
        trace = current_or_none()
        if trace is not None:
            return self._inline(trace, args, kwargs)
        values = bind(self._name, self._formals, args, kwargs, self._bound)
        made = self._copy(bound={**self._bound, **values})
        made._watch("call", caller_span())
        return made

    def _inline(self, trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Generates the tasks in the trace that is running."""
        if self._directives:
            raise _part_with_schedule(self)
        if len(trace.calls) >= MOST_CALLS:
            raise trace_error(
                1032,
                f"calls of workloads are nested more than {MOST_CALLS} deep",
                notes=f"the innermost calls: {' → '.join(trace.calls[-3:])} → {self._name}",
                help="a recursion must end by values that Python knows: annotate its parameter with "
                "`Constexpr`",
            )
        values = {**self._bound, **bind(self._name, self._formals, args, kwargs, self._bound)}
        missing = [f.name for f in self._formals if f.name not in values and f.default is REQUIRED]
        if missing:
            names = ", ".join(f"`{name}`" for name in missing)
            raise trace_error(
                1015,
                f"workload `{self._name}` is called without {names}",
                notes=f"its signature: `{signature_text(self._name, self._formals)}`",
                help="in a workload a call generates tasks, so every parameter needs a value",
            )
        for formal in self._formals:
            if formal.name not in values:
                values[formal.name] = checked(self._name, formal, formal.default)
            if isinstance(values[formal.name], DenseDyn):
                values[formal.name] = launch_value(trace, formal)
        trace.calls.append(self._name)
        try:
            self._run(trace, values)
        finally:
            trace.calls.pop()

    def _run(self, trace: Trace, values: dict[str, Any]) -> None:
        """Runs the function or the parts with values for the parameters."""
        self._use()
        if self._parts is not None:
            kind, parts = self._parts
            node = Blocks(kind, self._span)
            trace.add(node)
            for part in parts:
                block: list[Any] = []
                node.blocks.append(block)
                with trace.block(block, node):
                    part._run(trace, part._values(trace))
        elif self._function is not None:
            if self._function not in trace.functions:
                trace.functions.append(self._function)
            try:
                result = self._function(**{name: _seen(name, value) for name, value in values.items()})
            except NameError as fault:
                raise self._unknown_name(fault) from None
            if result is not None:
                raise trace_error(
                    1043,
                    f"workload `{self._name}` returns {describe(result)}",
                    span=span_of_function(self._function),
                    notes="a workload says which tasks there are; values come out through tensors",
                    help="leave the `return` out",
                )

    def _unknown_name(self, fault: NameError) -> Exception:
        """The error of a name that the function, or what it calls, does not know."""
        place = place_raised(fault)
        if fault.name is None or place is None:
            return fault
        signature = ", ".join([*(formal.text() for formal in self._formals), f"{fault.name}: DenseDyn"])
        known = [formal.name for formal in self._formals]
        return trace_error(
            1050,
            f"`{fault.name}` is not defined",
            span=place,
            notes=f"in workload `{signature_text(self._name, self._formals)}`",
            help=[
                did_you_mean(fault.name, known)
                or f"a size that a run sets is a parameter: `def {self._name}({signature})`"
            ],
        )

    def _values(self, trace: Trace) -> dict[str, Any]:
        """A value for each parameter of the function: bound, by default, or launch-time."""
        values: dict[str, Any] = {}
        for formal in self._formals:
            value = self._bound.get(formal.name, REQUIRED)
            if value is REQUIRED and formal.default is not REQUIRED:
                value = checked(self._name, formal, formal.default)
            if isinstance(value, FixedSize) and formal.kind == "size":
                self._fix(trace, formal.name, int(value))
            if formal.is_constexpr and value is not REQUIRED and formal.name in extents_of(self._formals):
                self._fix(trace, formal.name, constant_extent(self._name, formal, value))
            if isinstance(value, DenseDyn) or value is REQUIRED:
                values[formal.name] = REQUIRED
            else:
                values[formal.name] = value
        for formal in self._formals:
            if values[formal.name] is REQUIRED:
                values[formal.name] = launch_value(trace, formal)
            if values[formal.name] is REQUIRED:
                raise trace_error(
                    1015,
                    f"`{formal.name}` of workload `{self._name}` has no value",
                    span=formal.span,
                    help=f"bind it before: `{self._name}({formal.name}=…)`",
                )
        return values

    def _fix(self, trace: Trace, name: str, value: int) -> None:
        """Gives a launch-time size the number that the workload binds."""
        before = trace.fixed.get(name)
        if (before is not None and before != value) or (before is None and name in trace.sizes):
            other = before if before is not None else "a launch-time size"
            raise trace_error(
                1029,
                f"size `{name}` is {other} in one workload and {value} in another",
                span=self._span,
                notes=f'tensors whose shapes say `"{name}"` would be of two sizes',
                help="give the parameters different names, or bind them to the same number",
            )
        trace.fixed[name] = value

    def _trace(self) -> Trace:
        """Runs the function once."""
        self._use()
        if current_or_none() is not None:
            raise trace_error(
                1020,
                f"workload `{self._name}` is compiled in a workload",
                help="call it to generate its tasks",
            )
        trace = Trace()
        with trace.running():
            self._run(trace, self._values(trace))
        return trace

    def _document(self) -> Document:
        from .trace import Document

        return Document(self._name, self._trace(), self._directives, self._span)

    def compile(self, target: str = "cpu_sim", **options: Unpack[CompileOptions]) -> Program:
        """A program for a target.

        `num_threads` (0: all), `num_aicpus`, `expand` (`"host"` or `"bytecode"`), `optimization_level` (0 to
        3), `enable_profiling`, `enable_debug`, `seed`, `cache` (a folder that keeps machine code of kernels
        for other processes). Errors: `TraceError`, `KernelError`, `ScheduleError`, `CompileError`.
        """
        from .program import compile_workload

        return compile_workload(self, target, options)

    def ir(self) -> str:
        """The workload as `.wsp` text, with its schedule. Errors as those of `compile`."""
        from . import _core

        return _core.check(self._document().to_json())

    def __repr__(self) -> str:
        from .errors import WspError

        self._use()
        if current_or_none() is not None:
            return f"<workload {signature_text(self._name, self._formals)}>"
        try:
            return self.ir()
        except WspError as error:
            return f"<workload {signature_text(self._name, self._formals)}: {error.message}>"


def _of_parts(name: str, parts: Any, bound: dict[str, Any], directives: tuple[Directive, ...]) -> Workload:
    """A workload without a function of its own."""
    return Workload(name, parts=parts, bound=bound, directives=directives)


def _seen(name: str, value: Any) -> Any:
    """A value as the function sees it: an axis without a name has that of the parameter."""
    if isinstance(value, Ragged) and value.name is None:
        return Ragged._made(value.outer.axis, value.lengths, name=name)
    if isinstance(value, Sparse) and value.name is None:
        return Sparse._made(value.outer.axis, value.indptr, value.indices, name=name)
    return value


_OF_PROGRAMS = ("execute", "execute_async", "bind", "rebind", "graph", "simulate", "explain", "to_bytes")
"""What programs can do, and workloads cannot."""


def _thrown_away(name: str, what: str) -> str:
    """What to say of a workload that was made and never used."""
    said, example = f"`{what}`", f"{name} = {name}.{what}(…)"
    if what in ("combine", "sequential"):
        example = f"both = {what}(…)"
    elif what == "call":
        said, example = "a call outside of a workload", f"bound = {name}(…)"
    return (
        f"the workload that {said} gave is thrown away: nothing was compiled, printed or made of it, and "
        f"what it was made of stays as it was; keep it: `{example}`"
    )


def _part_with_schedule(part: Workload) -> Exception:
    return schedule_error(
        1207,
        f"workload `{part.name}` has a schedule, and is a part of another one",
        labels=[(part.directives[0].span, "the schedule says this")],
        notes="one schedule holds for all tasks of a program",
        help="schedule the outermost workload: `combine(a, b).streams(4)`",
    )


@overload
def workload(function: Callable[..., None], *, name: str | None = None) -> Workload: ...
@overload
def workload(*, name: str | None = None) -> Workload: ...
def workload(function: Callable[..., Any] | None = None, *, name: str | None = None) -> Any:
    """Makes a workload of a function: `@workload`, `@workload()` or `@workload(name="attention")`.

    Its unannotated parameters are sizes. `workload()` alone has no tasks; it can be scheduled, compiled, and
    can decorate.
    """
    if name is not None and not isinstance(name, str):
        raise trace_error(1018, f"a name is a string, not {describe(name)}", help='write `name="attention"`')
    if function is not None:
        return _decorated(function, name, ())
    return Workload("workload" if name is None else name, span=caller_span())


def _decorated(function: Callable[..., Any], name: str | None, directives: tuple[Directive, ...]) -> Workload:
    code = getattr(function, "__code__", None)
    if code is not None:
        keep(code.co_filename, function.__globals__)
    formals = formals_of(function, scope_at(caller_frame()))
    span = span_of_function(function)
    return Workload(name or function.__name__, function, formals=formals, directives=directives, span=span)


def combine(*parts: Workload | Callable[[], Any]) -> Any:
    """The tasks of all parts, ordered by their data only.

    Of workloads anywhere; in a workload also of functions without arguments, `combine(lambda: first(i),
    second)`, whose tasks are generated at once.
    """
    return _join("combine", parts)


def sequential(*parts: Workload | Callable[[], Any]) -> Any:
    """The tasks of the parts one after the other: those of a part start when all of the part before are
    complete.

    Of workloads anywhere; in a workload also of functions without arguments.
    """
    return _join("sequential", parts)


def _join(kind: str, parts: tuple[Any, ...]) -> Any:
    trace = current_or_none()
    for part in parts:
        if isinstance(part, Workload):
            part._use()
            if part.directives:
                raise _part_with_schedule(part)
        elif trace is None or not callable(part):
            raise trace_error(
                1031,
                f"`{kind}` takes workloads{' and functions' if trace else ''}, not {describe(part)}",
                help=f"write `{kind}(first, second)`"
                if trace is None
                else f"a call generates tasks at once; write `{kind}(lambda: first(i), lambda: second(i))`",
            )
    if trace is None:
        made = Workload(kind, parts=(kind, tuple(parts)), span=caller_span())
        made._watch(kind, made._span)
        return made
    node = Blocks(kind, caller_span())
    trace.add(node)
    for part in parts:
        block: list[Any] = []
        node.blocks.append(block)
        with trace.block(block, node):
            if isinstance(part, Workload):
                part._inline(trace, (), {})
            else:
                part()
    return None
