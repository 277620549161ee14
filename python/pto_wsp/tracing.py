"""The context in which a workload function runs once: its blocks, its variables in scope, its kernels and
tensors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from ._raise import MADE, trace_error
from ._seam import REQUIRED, ConstexprArg, KernelLike, ParamSpec, ScalarArg, Span, ViewSpec
from .axes import Size
from .errors import WspError
from .expr import Expr, Var, as_expr, constant, describe, reads_slot
from .linear import known_number, linear, simplified
from .names import check_name
from .nodes import (
    Cond,
    Consume,
    KernelEntry,
    Loop,
    Node,
    Pipeline,
    Process,
    RaggedDomain,
    Select,
    Task,
    While,
)
from .slotuses import SlotUses
from .spans import caller_span
from .tables import Cell, Slot, Table
from .tensors import Indexable, Part, Tensor, View, Whole, said
from .views import most

__all__ = ["Task", "Trace", "current", "current_or_none", "record"]

_CURRENT: ContextVar[Trace | None] = ContextVar("pto_wsp_trace", default=None)
_MOST_STATEMENTS = 100_000
MOST_CALLS = 64
"""The deepest nesting of calls of workloads."""
MOST_NESTED = 120
"""The deepest nesting of statements; the compiled core takes 128."""


def current_or_none() -> Trace | None:
    """The trace that is running on this thread."""
    return _CURRENT.get()


def current(what: str, span: Span | None = None) -> Trace:
    """The trace that is running; `what` is refused outside of one."""
    trace = _CURRENT.get()
    if trace is None:
        raise trace_error(
            1020,
            f"{what} outside of a workload",
            span=span or caller_span(),
            help="put it into a function under `@workload`, which is traced when it is compiled or printed",
        )
    return trace


@dataclass(slots=True)
class Open:
    """A block that is being traced, and what it belongs to."""

    block: list[Node]
    owner: Any
    serial: int


@dataclass(slots=True)
class Trace:
    """One run of a workload function."""

    functions: list[Any] = field(default_factory=list)
    fixed: dict[str, int] = field(default_factory=dict)
    """Values of launch-time sizes that the workload binds."""
    sizes: dict[str, Span | None] = field(default_factory=dict)
    """Launch-time sizes, in the order in which they are named first."""
    body: list[Node] = field(default_factory=list)
    open: list[Open] = field(default_factory=list)
    kernels: dict[Any, KernelEntry] = field(default_factory=dict)
    checked: set[Any] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)
    tables: list[Any] = field(default_factory=list)
    tensors: list[Any] = field(default_factory=list)
    _dims: dict[int, tuple[Any, tuple[Expr, ...]]] = field(default_factory=dict)
    _serial: int = 0
    statements: int = 0
    """How many statements there are so far."""
    failed: bool = False
    """Whether an exception has ended it."""
    _broken: tuple[str, Span | None] | None = None
    _slots: SlotUses = field(default_factory=SlotUses)

    # Running.

    @contextmanager
    def running(self) -> Iterator[None]:
        """Makes this the trace of the thread."""
        token, made = _CURRENT.set(self), MADE.set([])
        self.open.append(Open(self.body, None, 0))
        try:
            yield
            self._finish()
        except BaseException as failure:
            self.failed = True
            caught = MADE.get()
            if caught and isinstance(failure, Exception) and not isinstance(failure, WspError):
                # NumPy catches what an index raises, and raises its own.
                raise caught[0] from failure
            raise
        finally:
            self.open.clear()
            MADE.reset(made)
            _CURRENT.reset(token)

    def _finish(self) -> None:
        caught = MADE.get()
        if caught and self._broken is None:
            # Python went another way than a run would: `try: if i > 2: … except: …` has one way for all `i`.
            raise caught[0]
        if self._broken is not None:
            what, span = self._broken
            raise trace_error(
                1010,
                f"{what} was left before its end",
                span=span,
                notes="an exception left the block and was caught outside of it; its tasks would be missing",
                help="let the exception pass, or catch it inside the block",
            )
        self._slots.check()

    def broken(self, what: str, span: Span | None) -> None:
        """Notes a block that an exception left; the trace fails, unless the exception itself ends it."""
        if self._broken is None:
            self._broken = (what, span)

    def add(self, node: Node) -> None:
        """Adds a statement to the block that is open."""
        self.statements += 1
        if self.statements > _MOST_STATEMENTS:
            raise trace_error(
                1033,
                f"a workload of more than {_MOST_STATEMENTS} statements",
                span=node.span,
                notes="a Python loop such as `for i in range(n)` writes its statements n times",
                help="write `for i in P(n):`, which is one statement for any n",
            )
        at = self.open[-1]
        if isinstance(at.owner, Pipeline):
            raise trace_error(
                1036,
                "a statement of a pipeline outside of its processes",
                span=node.span,
                labels=[(at.owner.span, "the pipeline")],
                help='put it under `with P.process("name"):`',
            )
        if isinstance(at.owner, Consume):
            raise trace_error(
                1036,
                "a statement of a selection outside of its arms",
                span=node.span,
                labels=[(at.owner.span, "the selection")],
                help="put it under `with channel.consume() as tile:`",
            )
        at.block.append(node)

    @contextmanager
    def block(self, block: list[Node], owner: Any) -> Iterator[None]:
        """Makes a block the open one."""
        if len(self.open) > MOST_NESTED:
            raise trace_error(
                1032,
                f"statements are nested more than {MOST_NESTED} deep",
                help="move inner loops into the kernel",
            )
        self.open.append(Open(block, owner, self._serial))
        first = self.statements
        try:
            yield
        finally:
            self.open.pop()
            if isinstance(owner, (Loop, Select, While)):
                self._slots.loops.append((first, self.statements))

    def written(self, task: Task) -> None:
        """Notes the slots that a task writes, before it is added."""
        params = task.entry.specialisation.params if task.entry.specialisation is not None else ()
        for (_, kind), (_, value) in zip(params, task.args, strict=False):
            if kind in ("out", "inout") and isinstance(value, View) and isinstance(value.base, Cell):
                self._slots.writes.append((value.base, self.statements, task.span))

    # Variables.

    def variable(self, name: str, lo: Expr | None, hi: Expr | None, span: Span | None) -> Var:
        """A variable that is in scope until it is closed.

        Bounds that read a slot hold at the head of the loop only: they are left out.
        """
        self._serial += 1
        lo = None if lo is None or reads_slot(lo) else lo
        hi = None if hi is None or reads_slot(hi) else hi
        return Var(name, self, self._serial, lo, hi, span)

    def unconditional_since(self, var: Var) -> bool:
        """Whether each iteration of the variable's loop comes here, unless a size is 0."""
        inner = [at.owner for at in self.open if at.serial >= var.serial]
        return not any(
            isinstance(owner, (Cond, While, Select))
            or (isinstance(owner, Consume) and (owner.all or len(owner.arms) > 1))
            or (isinstance(owner, Loop) and owner.var is not var and isinstance(owner.domain, RaggedDomain))
            for owner in inner
        )

    def idle(self) -> bool:
        """Whether what is traced now lies in a loop that surely has no iterations."""
        bounds = ((at.owner.var.lo, at.owner.var.hi) for at in self.open if isinstance(at.owner, Loop))
        counts = (
            linear(hi).plus(linear(lo), -1).value for lo, hi in bounds if lo is not None and hi is not None
        )
        return any(count is not None and count < 0 for count in counts)

    def usable(self, expr: Expr, what: str, span: Span | None = None) -> Expr:
        """The expression, all of whose variables are in scope."""
        for read in expr.read:
            if read.trace is self:
                self._slots.uses.append((read, expr, self.statements, span or caller_span()))
        for var in sorted(expr.vars, key=lambda var: var.serial):
            if var.trace is not self or var.closed:
                where = "another workload" if var.trace is not self else "its loop"
                raise trace_error(
                    1008,
                    f"`{var.name}` is used outside of {where}",
                    span=span or caller_span(),
                    label=f"in {what}: `{expr!r}`",
                    labels=[(var.span, f"the loop over `{var.name}`")],
                    help="use it inside, or compute what the last iteration would leave from the size: `n - "
                    "1`",
                )
        return simplified(expr)

    def loops(self) -> list[Loop | Select]:
        """The loops around what is traced now, innermost first."""
        return [at.owner for at in reversed(self.open) if isinstance(at.owner, (Loop, Select))]

    def process(self) -> Process | None:
        """The process of a pipeline that is traced now."""
        return next((at.owner for at in reversed(self.open) if isinstance(at.owner, Process)), None)

    # Sizes and tensors.

    def size(self, name: str, span: Span | None = None) -> Expr:
        """The size of a name: a number where the workload binds it, else a launch-time size."""
        if name in self.fixed:
            return constant(self.fixed[name])
        if name not in self.sizes:
            check_name(name, "a size", span)
            self.sizes[name] = span
        return Size(name, span)

    def extent(self, dim: Any, what: str, span: Span | None = None) -> Expr:
        """An extent as an expression over sizes."""
        if isinstance(dim, str):
            return self.size(dim, span)
        expr = as_expr(dim, what)
        stack = [expr]
        while stack:
            at = stack.pop()
            if at.op in ("var", "slot", "table", "len"):
                raise trace_error(
                    1046,
                    f"{what} depends on `{at!r}`",
                    span=span or caller_span(),
                    notes="tensors and tables are made once per run, before any task",
                    help="compute it from sizes and numbers only",
                )
            if at.op == "param":
                self.size(at.args[0], span)
            stack.extend(arg for arg in at.args if isinstance(arg, Expr))
        return simplified(expr)

    def dims(self, tensor: Tensor) -> tuple[Expr, ...]:
        """The extents of a tensor in this trace."""
        entry = self._dims.get(id(tensor))
        if entry is None:
            dims = tuple(self.extent(dim, "an extent of a tensor", tensor.span) for dim in tensor.dims)
            entry = self._dims[id(tensor)] = (tensor, dims)
        return entry[1]


def record(
    kernel: KernelLike,
    coords: tuple[Any, ...],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    after: tuple[Any, ...],
    span: Span | None,
) -> Task:
    """Adds a task of a kernel to the trace; see `_seam.record_task`."""
    span = span or caller_span()
    trace = current(f"a call of kernel `{kernel.name}`", span)
    indices = tuple(_coordinate(trace, kernel, value, span) for value in coords)
    values = bind_arguments(kernel, args, kwargs, span)
    specs: list[ViewSpec | ScalarArg | ConstexprArg] = []
    given: list[tuple[str | None, Expr | View]] = [(None, index) for index in indices]
    for param, value in zip(kernel.signature, values, strict=True):
        spec, argument = _argument(trace, kernel, param, value, span)
        specs.append(spec)
        if argument is not None:
            given.append((None, argument))
    specialisation = kernel.specialise(len(indices), specs, span)
    key = (id(kernel), specialisation.key)
    entry = trace.kernels.get(key)
    if entry is None:
        scalars = tuple(name for name, kind in specialisation.params if kind == "scalar")
        entry = KernelEntry(kernel, specialisation, None, specialisation.unit, specialisation.cost, scalars)
        trace.kernels[key] = entry
    return add_task(trace, entry, kernel.name, indices, given, after, span)


def add_task(
    trace: Trace,
    entry: KernelEntry,
    name: str,
    coords: tuple[Expr, ...],
    given: list[tuple[str | None, Expr | View]],
    after: tuple[Any, ...],
    span: Span | None,
) -> Task:
    """Adds a task whose arguments are checked."""
    for handle in after:
        if not isinstance(handle, Task) or handle.trace is not trace:
            what = "a task of another workload" if isinstance(handle, Task) else describe(handle)
            raise trace_error(
                1035,
                f"`after` of `{name}` names {what}",
                span=span,
                help="keep what the call of a kernel returns: `t = k(…)`, then `k2(…, after=[t])`",
            )
        handle.labelled = True
    task = Task(entry, name, coords, given, tuple(after), span, trace)
    trace.written(task)
    trace.add(task)
    return task


def _coordinate(trace: Trace, kernel: KernelLike, value: Any, span: Span | None) -> Expr:
    if isinstance(value, (slice, float, str, Indexable)) or value is Ellipsis or value is None:
        raise trace_error(
            1041,
            f"a coordinate of `{kernel.name}` is {describe(value)}",
            span=span,
            notes="the subscript of a kernel gives the task its coordinates",
            help=f"write integers: `{kernel.name}[i, j](…)`",
        )
    return trace.usable(as_expr(value, f"a coordinate of `{kernel.name}`"), "a coordinate", span)


def bind_arguments(
    kernel: KernelLike, args: tuple[Any, ...], kwargs: dict[str, Any], span: Span | None
) -> list[Any]:
    """One value per parameter, as Python binds them."""
    params = list(kernel.signature)
    shown = f"its parameters: `{kernel.name}({', '.join(_param_text(p) for p in params)})`"
    every = f"give one argument per parameter: `{kernel.name}({', '.join(p.name for p in params)})`"
    if len(args) > len(params):
        message = f"`{kernel.name}` takes {len(params)} arguments, not {len(args)}"
        raise trace_error(1021, message, span=span, notes=shown, help=every)
    bound = dict(zip((p.name for p in params), args, strict=False))
    for name, value in kwargs.items():
        if name in bound or all(p.name != name for p in params):
            what = "is given twice" if name in bound else "is no parameter of it"
            message = f"`{name}=…` of `{kernel.name}` {what}"
            raise trace_error(1021, message, span=span, notes=shown, help=every)
        bound[name] = value
    missing = [p.name for p in params if p.name not in bound and p.default is REQUIRED]
    if missing:
        message = f"`{kernel.name}` is called without {', '.join(f'`{name}`' for name in missing)}"
        raise trace_error(
            1021, message, span=span, notes=shown, help=f"give it a value: `{kernel.name}(…, {missing[0]}=…)`"
        )
    return [bound.get(p.name, p.default) for p in params]


def _param_text(param: ParamSpec) -> str:
    kind = {"in": "In", "out": "Out", "inout": "InOut", "scalar": "Scalar", "constexpr": "Constexpr"}[
        param.kind
    ]
    return f"{param.name}: {kind}" + ("" if param.default is REQUIRED else f" = {param.default!r}")


def _argument(
    trace: Trace, kernel: KernelLike, param: ParamSpec, value: Any, span: Span | None
) -> tuple[ViewSpec | ScalarArg | ConstexprArg, Expr | View | None]:
    what = f"`{param.name}` of `{kernel.name}`"
    if param.kind == "constexpr":
        if isinstance(value, (Expr, Indexable)):
            raise trace_error(
                1022,
                f"{what} takes a constant, not {said(value)}",
                span=span,
                notes="a kernel is compiled for the value of a `Constexpr`",
                help=f"annotate it as `{param.name}: Scalar` in the kernel",
            )
        return ConstexprArg(value), None
    if param.kind == "scalar":
        if isinstance(value, (Indexable, float, str)) or value is None:
            raise _wrong_kind(what, "an integer", value, span)
        return ScalarArg(), trace.usable(as_expr(value, what), what, span)
    if isinstance(value, Slot):
        whole = View(value.cell, (Whole(constant(1)),))
        return ViewSpec("i64", (0,), (1,), (1,)), whole
    if not isinstance(value, Indexable):
        raise _wrong_kind(what, "a tensor", value, span)
    view = value.whole()
    for entry in view.ranges:
        for expr in (
            ()
            if isinstance(entry, Whole)
            else (entry.lo, entry.hi)
            if isinstance(entry, Part)
            else (entry.at,)
        ):
            trace.usable(expr, f"`{view.shown}`", span)
    return view_spec(view), view


def _wrong_kind(what: str, wanted: str, value: Any, span: Span | None) -> Exception:
    if isinstance(value, Table):
        help = f"a table is read by the workload: `{value.shown}[i]`; for a kernel declare a `Tensor`"
    elif wanted == "an integer" and isinstance(value, Indexable):
        help = "annotate the parameter `In` and read elements in the kernel, or give an element of a `Table`"
    elif hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        help = "declare `X = tensor(shape, dtype)` and bind it in a run, or use `X = tensor(array)`"
    elif wanted == "a tensor":
        help = "give a tensor, a view of one such as `X[i]`, or a slot"
    else:
        help = "give a size, a loop index, or an int; other values go to parameters annotated `Constexpr`"
    shown = said(value)
    return trace_error(1022, f"{what} takes {wanted}, not {shown}", span=span, help=help)


def view_spec(view: View) -> ViewSpec:
    """What is known about a region."""
    keep = view.kept
    dtype = view.base.dtype.name
    if not keep:
        return ViewSpec(dtype, (len(view.ranges) - 1,), (1,), (1,))
    extents = [view.ranges[dim].extent for dim in keep]  # type: ignore[union-attr]
    return ViewSpec(dtype, tuple(keep), tuple(map(known_number, extents)), tuple(map(most, extents)))
