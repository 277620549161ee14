"""Compiled workloads: run, bound, listed, simulated, saved."""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _core, errors
from ._raise import PlacedAtCaller, argument_error, compile_error, only_by_name
from .axes import compressed_rows
from .expr import describe
from .files import path_of, read, read_text, trace_extension, write_bytes
from .hints import lacks
from .htmltables import of_program
from .options import checked_options, compile_part, launch_options, run_part
from .plans import Capacity, Plan, PlanNeed, by_name, described, make_plan
from .results import Graph, Simulation, Stats, framed, graph_of, simulation_of, stats_of
from .runs import BoundProgram, Run, seconds_of
from .saved import files_of, no_program, pack, unpack
from .spans import caller_span

if TYPE_CHECKING:
    from typing_extensions import Never

    from .workload import Workload

_AT_CALLER = PlacedAtCaller()


def compile_workload(workload: Workload, target: Any, given: dict[str, Any]) -> Program:
    """A program of a workload."""
    options = checked_options(target, given)
    document = workload._document()
    program = Program._compiled(
        document.to_json(), options, document.callables, document.arrays, workload.name
    )
    program._notes = document.notes
    return program


def launch_file(path: str, target: Any, given: dict[str, Any]) -> Program:
    """A program of the host entry of a `.pto` file."""
    options = launch_options(target, given)
    core = _core.load_program(path, options=compile_part(options))
    return Program._made(core, b"", options, {}, {}, os.path.basename(path))


class Program:
    """A compiled workload. Arrays are used in place; what is not given keeps the value of `rebind`.

    It may be used from several threads at once; each run is separate. `stats` and `elapsed_ms` are those of
    the last run that ended here.
    """

    __slots__ = (
        "_arrays",
        "_callables",
        "_core",
        "_last",
        "_lock",
        "_name",
        "_notes",
        "_options",
        "_fast_path",
        "_run_ids",
        "_run_options",
        "_runs",
        "_sparse",
        "_trace",
    )

    _arrays: dict[str, Any]
    _callables: dict[str, Callable[..., Any]]
    _core: Any
    _last: Stats | None
    _lock: threading.Lock
    _name: str
    _notes: list[str]
    _options: dict[str, Any]
    _fast_path: _core.FastPath | None
    _run_ids: Iterator[int]
    _run_options: dict[str, Any]
    _runs: list[Run]
    _sparse: list[str]
    _trace: bytes

    def __init__(self) -> None:
        help = "compile a workload, `w.compile()`, or read one: `Program.from_bytes(data)`"
        raise argument_error(1262, "a `Program` is not made by its name", help)

    @classmethod
    def _compiled(
        cls,
        trace: bytes,
        options: dict[str, Any],
        callables: dict[str, Callable[..., Any]],
        arrays: dict[str, Any],
        name: str,
    ) -> Program:
        if options["enable_debug"]:
            partial, named = functools.partial, functools.update_wrapper
            callables = {name: named(partial(each, debug=True), each) for name, each in callables.items()}
            for each in callables.values():
                # What looks for such elements is between runtime and function.
                each.direct = None  # type: ignore[attr-defined]
        with _AT_CALLER:
            core = _core.compile(trace, options=compile_part(options), callables=callables)
        return cls._made(core, trace, options, callables, arrays, name)

    @classmethod
    def _made(
        cls,
        core: Any,
        trace: bytes,
        options: dict[str, Any],
        callables: dict[str, Callable[..., Any]],
        arrays: dict[str, Any],
        name: str,
    ) -> Program:
        self = object.__new__(cls)
        self._core = core
        self._trace = trace
        self._options = options
        self._callables = callables
        self._arrays = dict(arrays)
        self._name = name
        self._notes = []
        self._run_options = run_part(options)
        self._runs = []
        self._lock = threading.Lock()
        self._last = None
        self._run_ids = itertools.count(1)
        tables = {table["name"] for table in self._core.tables}
        rows = [name.removesuffix("_indptr") for name in tables if name.endswith("_indptr")]
        self._sparse = [name for name in rows if f"{name}_indices" in tables]
        # What it keeps for runs, and matrices, are looked at by `execute` itself.
        is_plain = not self._arrays and not self._sparse
        self._fast_path = core.fast_path(self._run_options, Program._ended) if is_plain else None
        return self

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            hint = (
                "`program.execute(X=x, …)` runs it" if name in ("run", "launch", "call", "__call__") else ""
            )
            raise lacks(self, name, hint)

        def __call__(self, *_: Any, **__: Any) -> Any:
            help = "write `program.execute(X=x, …)`, or `program.bind(X=x, …)()`"
            raise argument_error(1262, "a `Program` is called, and takes what it runs on by a method", help)

    # Running.

    def execute(self, /, *unnamed: Never, timeout: float | Any | None = None, **named: Any) -> Stats:
        """Runs the program on arrays, tables and sizes by name, and waits for its end.

        Sizes that are not given follow from the shapes of arrays. A run that takes more than `timeout`
        seconds is stopped and fails; an argument of the program that has this name is meant before. Errors:
        `ArgumentError` for what is missing or does not fit, `KernelError`, `ExecutionError`, `DeadlockError`.
        Ctrl-C stops the run and raises `KeyboardInterrupt`.
        """
        with _AT_CALLER:
            given = self._given("execute", unnamed, named)
            seconds = None if timeout is None else self._limit(timeout, given)
            figures = self._core.execute(given, self._run_options, seconds)
        return self._ended(figures)

    def execute_async(self, /, *unnamed: Never, timeout: float | Any | None = None, **named: Any) -> Run:
        """Starts a run on a thread of its own; arrays must not be touched until it has ended. `timeout` is
        that of `execute`.
        """
        with _AT_CALLER:
            given = self._given("execute_async", unnamed, named)
            seconds = None if timeout is None else self._limit(timeout, given)
            run = Run(self, self._core.start(given, self._run_options, seconds))
        with self._lock:
            self._runs = [*(other for other in self._runs if other._is_owed()), run]
        return run

    def synchronize(self) -> None:
        """Waits for all runs of `execute_async`; raises what failed the first one that failed and whose
        failure was not raised before.
        """
        with self._lock:
            runs, self._runs = self._runs, []
        failures: list[Exception] = []
        for at, run in enumerate(runs):
            raised = run._raised
            try:
                run.synchronize()
            except Exception as failure:
                if not raised:
                    failures.append(failure)
            except BaseException:
                # Ctrl-C: the runs that were not waited for are there to be waited for again.
                with self._lock:
                    self._runs = [*runs[at:], *self._runs]
                raise
        if failures:
            raise failures[0]

    def is_complete(self) -> bool:
        """Whether no run of `execute_async` goes on."""
        return all(run.is_complete() for run in self._runs)

    def bind(self, /, *unnamed: Never, **named: Any) -> BoundProgram:
        """Checks and binds arrays, tables and sizes once, for any number of calls: `step = program.bind(X=x);
        step()`.
        """
        with _AT_CALLER:
            given = self._given("bind", unnamed, named)
            return BoundProgram(self, self._core.prepare(given, self._run_options))

    def rebind(self, /, *unnamed: Never, **named: Any) -> None:
        """Keeps arrays, tables and sizes for the runs to come, of any shape that fits; nothing is compiled
        again.
        """
        known = [*self._names(), *self._sparse]
        only_by_name("rebind", unnamed, self.arguments)
        for name in named:
            if name not in known:
                raise errors.make(
                    errors.ArgumentError,
                    1260,
                    f"`{name}` is no argument of program `{self._name}`",
                    span=caller_span(),
                    help=f"its arguments: {', '.join(f'`{one}`' for one in known) or 'none'}",
                )
        self._fast_path = None
        self._arrays = {**self._arrays, **named}

    def _given(self, call: str, unnamed: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """What a call is given by name, with what `rebind` keeps."""
        if unnamed:
            only_by_name(call, unnamed, self.arguments)
        given = {**self._arrays, **named}
        for axis in self._sparse:
            if axis not in given or axis in self._names():
                continue
            parts = (f"{axis}_indptr", f"{axis}_indices")
            twice = next((part for part in parts if part in named), None)
            if twice is not None and axis in named:
                message = f"`{axis}` and `{twice}` are given, of one axis"
                raise argument_error(1260, message, f"leave `{twice}` out, or `{axis}`")
            matrix = given.pop(axis)
            if matrix is None or twice is not None:
                continue
            rows = compressed_rows(matrix)
            if rows is None:
                raise argument_error(
                    1263,
                    f"`{axis}` is {describe(matrix)}, no sparse matrix",
                    f"give `scipy.sparse.csr_matrix({axis})`, or `{parts[0]}=…, {parts[1]}=…`",
                )
            given.update(zip(parts, rows, strict=True))
        return given

    def _limit(self, timeout: Any, given: dict[str, Any]) -> float | None:
        """The seconds of a limit; none where an argument of the program has its name."""
        if "timeout" in self._names():
            given["timeout"] = timeout
            return None
        return seconds_of(timeout, "program.execute(timeout=2.5)")

    def _names(self) -> list[str]:
        tensors = [tensor["name"] for tensor in self._core.tensors if tensor["role"] != "temporary"]
        return [
            *tensors,
            *(table["name"] for table in self._core.tables),
            *(size["name"] for size in self._core.params),
            *(name for name, _ in self._core.library),
        ]

    def _ended(self, figures: _core.Figures) -> Stats:
        self._last = stats = stats_of(next(self._run_ids), figures)
        return stats

    @property
    def stats(self) -> Stats | None:
        """The figures of the last run, None before."""
        return self._last

    @property
    def elapsed_ms(self) -> float:
        """Milliseconds that the last run took, 0 before."""
        return 0.0 if self._last is None else self._last.execute_time_ms

    # Planning, of the host entry of a file.

    def plan(
        self, arrays: Mapping[str, Any] | None = None, /, *, capacity: Capacity | None = None, **named: Any
    ) -> Plan:
        """Of the host entry of a file a plan for arrays, by name.

        Of arrays that are no integers only element type and shape are looked at, so a `Tensor` will do before
        there is memory. Errors: `ArgumentError` for what is missing or does not fit, `PlanError` for too
        little room.
        """
        if arrays is None and not named:
            raise errors.make(
                errors.ArgumentError,
                1259,
                "no arrays are given to `plan`",
                span=caller_span(),
                help=[
                    "give them by name, `program.plan(arrays)` or `program.plan(q=q, …)`",
                    "`program.explain()` says what the target does with the schedule",
                ],
            )
        return make_plan(self, described(self, arrays, named), capacity)

    def workspace_query(self, arrays: Mapping[str, Any] | None = None, /, **named: Any) -> PlanNeed:
        """What a plan for these arrays needs, exactly, without keeping one."""
        with _AT_CALLER:
            given = described(self, arrays, named)
            return PlanNeed(*self._core.workspace_query(given, self._run_options))

    def execute_plan(self, plan: Plan, arrays: Mapping[str, Any] | None = None, /, **named: Any) -> Stats:
        """Runs a plan: the bits of `execute`, without the generators, where it has the pieces of a plan made
        anew, and the same up to rounding where it kept those of balanced ones.

        The arrays may be others than those that it was made for, as long as lengths, shapes and parameters
        are the same. Errors: `PlanError` for a stale plan, and those of `execute`.
        """
        if not isinstance(plan, Plan):
            raise errors.make(
                errors.ArgumentError,
                1262,
                f"`plan` is {describe(plan)}",
                span=caller_span(),
                help=["make one with `program.plan(arrays)`"],
            )
        with _AT_CALLER:
            given = by_name(self, arrays, named)
            figures = self._core.execute_plan(plan._core, given, self._run_options)
        return self._ended(figures)

    # Looking.

    @property
    def name(self) -> str:
        """The name of the workload."""
        return self._name

    @property
    def target(self) -> str:
        """What it is compiled for."""
        return self._options["target"]

    @property
    def options(self) -> dict[str, Any]:
        """The options of `compile`, with their values."""
        return dict(self._options)

    @property
    def arguments(self) -> dict[str, str]:
        """What a run takes, by name: `f32[seq, 512]` for a tensor, `table`, `size`; of a file also `pages`,
        `parameter`.
        """
        found = {}
        for tensor in self._core.tensors:
            if tensor["role"] == "argument":
                found[tensor["name"]] = f"{tensor['dtype']}[{', '.join(tensor['dims'])}]"
        found.update((table["name"], "table") for table in self._core.tables)
        found.update((size["name"], "size") for size in self._core.params if not size["derived"])
        found.update((name, what) for name, what in self._core.library if name not in found)
        return found

    @property
    def notes(self) -> list[str]:
        """What the compiler warns of."""
        return [*self._core.notes, *self._notes]

    @property
    def ir(self) -> str:
        """The workload as `.wsp` text, with its schedule; empty for the host entry of a file."""
        return _core.check(self._trace) if self._trace else ""

    def explain(self) -> str:
        """What the target does with each part of the schedule, the kernels and what runs for them, what a run
        takes, and what its policies come to, as text.
        """
        about = self._core.explain()
        lines = [f"program {self._name} for {self.target}"]
        lines += _table("schedule", [(e["primitive"], e["support"], e["meaning"]) for e in about["schedule"]])
        lines += _table("kernels", [(k["name"], k["unit"], k["body"]) for k in about["kernels"]])
        lines += _table("arguments", list(self.arguments.items()))
        lines += _table("notes", [(note,) for note in about["notes"]])
        threads = str(self._options["num_threads"] or "one per core")
        parts = [("backend", about["backend"]), *self._core.implementation(self._run_options)]
        parts.append(("threads", threads))
        if about["cache"] is not None:
            parts.append(("cache", about["cache"]))
        lines += _table("implementation", parts)
        return "\n".join(lines) + "\n"

    def graph(self, /, *unnamed: Never, **named: Any) -> Graph:
        """The tasks and their edges for these sizes and tables, without running anything."""
        with _AT_CALLER:
            return graph_of(self._core.graph(self._given("graph", unnamed, named)))

    def simulate(self, /, *unnamed: Never, **named: Any) -> Simulation:
        """A run in virtual time: no kernel runs, every task takes the cycles that its kernel costs."""
        with _AT_CALLER:
            given = self._given("simulate", unnamed, named)
            return self._simulated(self._core.simulate(given, self._run_options))

    def simulate_on(
        self, model: str | os.PathLike[str], /, *unnamed: Never, aicpus: int | None = None, **named: Any
    ) -> Simulation:
        """A run in virtual time on the units of a machine model: its name, or its file.

        `aicpus` of the machine issue the tasks, or as many as `num_aicpus` says; 0 leaves that to the host.

        The path of a file has a `.` or a separator in it. A task takes the cycles that its kernel costs or,
        where that is not said, what the model has for the kernel's operations.
        """
        with _AT_CALLER:
            given = self._given("simulate_on", unnamed, named)
            name = path_of(model, 'program.simulate_on("ascend_910b")')
            is_file = any(mark in name for mark in (".", "/", os.sep))
            machine = (name, read_text(name) if is_file else None)
            issued = {} if aicpus is None else {"num_aicpus": aicpus}
            return self._simulated(self._core.simulate(given, {**self._run_options, **issued}, machine))

    def _simulated(self, found: dict[str, Any]) -> Simulation:
        return simulation_of(found, self._core.recorded(), f"program {self._name}")

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Writes when and where tasks of the last profiled run or simulation ran, and what they waited for.

        The end of the name says the form: `.pftrace` for ui.perfetto.dev, `.json` for chrome://tracing too.

        A run is profiled with `enable_profiling=True`, `TracePolicy.measured()` or `TracePolicy.cycles(…)`.
        """
        name = path_of(path, 'program.trace("trace.json")')
        write_bytes(name, self._recorded().file(trace_extension(name)) or b"")

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        against: str | os.PathLike[str] | None = None,
        force: bool = False,
    ) -> None:
        """Writes a page that shows the last profiled run or simulation: when tasks ran, and why not earlier.

        `against` is the file of another trace of this program, with which it is compared. A file that
        exists is replaced with `force=True` only.
        """
        example = 'program.report("report.html")'
        name, other = path_of(path, example), None
        recorded = self._recorded()
        if os.path.exists(name) and not force:
            raise argument_error(1757, f"`{name}` exists", "give another path, or `force=True` to replace it")
        if against is not None:
            file = path_of(against, 'program.report("report.html", against="trace.pftrace")')
            other = (file, read(file))
        with _AT_CALLER:
            write_bytes(name, recorded.page(f"program {self._name}", other))

    def _recorded(self) -> _core.Recorded:
        found = self._core.recorded()
        if found is None:
            raise compile_error(
                1224,
                f"program `{self._name}` has no profiled run",
                help="compile with `enable_profiling=True` and run it, or `simulate` it",
            )
        return found

    def _repr_html_(self) -> str:
        found = self._core.recorded()
        return of_program(self) if found is None else framed(found, f"program {self._name}")

    # Saving.

    def to_bytes(self) -> bytes:
        """The program as bytes for `from_bytes`, without arrays. One with Python kernels is refused."""
        if self._callables:
            names = ", ".join(f"`{name}`" for name in self._callables)
            raise compile_error(
                1223,
                f"program `{self._name}` has kernels that are Python functions",
                notes=f"they are {names}",
                help="write them with `@kernel`, or save the source and compile it again",
            )
        # A folder of this machine is nothing for another one.
        options = {name: value for name, value in self._options.items() if name != "cache"}
        about = {"options": options, "name": self._name}
        if not self._trace or files_of(self._trace):
            raise compile_error(
                1223,
                f"program `{self._name}` takes its kernels from a file",
                help="save the file, and compile the workload again",
            )
        return pack(about, self._trace)

    @classmethod
    def from_bytes(cls, data: bytes) -> Program:
        """The program that `to_bytes` wrote, checked and compiled again. Errors: `FormatError`, and those of
        compiling.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            try:
                data = memoryview(data)
            except (TypeError, ValueError):
                raise no_program("a program is bytes", f"it is given `{type(data).__name__}`") from None
        about, trace = unpack(bytes(data))
        if files_of(trace):
            raise no_program("a saved program uses a file", "bytes of a program name no files")
        options = dict(about["options"])
        target = options.pop("target")
        return cls._compiled(trace, checked_options(target, options), {}, {}, about["name"])

    def __reduce__(self) -> tuple[Any, ...]:
        return (Program.from_bytes, (self.to_bytes(),))

    def __repr__(self) -> str:
        given = ", ".join(f"{name}: {what}" for name, what in self.arguments.items())
        return f"<program {self._name}({given}) for {self.target}>"


def _table(title: str, rows: list[tuple[str, ...]]) -> list[str]:
    if not rows:
        return []
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
    lines = [title]
    for row in rows:
        first, *rest = row[-1].splitlines() or [""]
        cells = "".join(f"{cell:<{width}}  " for cell, width in zip(row[:-1], widths, strict=True))
        lines.append(f"  {cells}{first}".rstrip())
        lines += [f"  {line}" for line in rest]
    return lines
