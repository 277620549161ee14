"""Runs that go on beside their caller, and programs that are bound to arrays."""

from __future__ import annotations

import atexit
import math
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

from . import _core
from ._pickled import OfThisProcess, not_pickled
from ._raise import PlacedAtCaller, argument_error, only_by_name
from .errors import WspError
from .expr import describe
from .hints import lacks
from .results import Stats, stats_of
from .spans import caller_span
from .thrown import warn_thrown_away

if TYPE_CHECKING:
    from typing_extensions import Never

    from .program import Program

_AT_CALLER = PlacedAtCaller()

_ELSEWHERE = "WSP1269"
"""The code of a run that goes on in the process from which this one was forked."""

_RUNS: WeakSet[Run] = WeakSet()


def _tell_all() -> None:
    """Says of runs what nobody would learn any more."""
    for run in list(_RUNS):
        run._stopped()


# What is registered later is called earlier: the compiled core, which stops all runs, is imported above.
atexit.register(_tell_all)


_STUCK = 5.0
"""Seconds without a task that ends after which a run says what it waits for."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: tasks that are `done` of `total`, None where that is not known before they are
    generated; those that are `running`, with the seconds that they have; the seconds for which no task has
    ended or started, `idle_s`; and whether the run `stops` when these have ended: it is cancelled, or its
    time is over.
    """

    done: int
    total: int | None
    running: tuple[tuple[str, float], ...]
    idle_s: float
    stops: bool = False

    @property
    def waits_for(self) -> str:
        """What a run waits for that has not moved for 5 seconds; empty before."""
        if self.idle_s < _STUCK:
            return ""
        if not self.running:
            return "nothing that runs"
        names = ", ".join(name for name, _ in self.running[:3])
        more = len(self.running) - 3
        return f"{names} and {more} more" if more > 0 else names

    def __str__(self) -> str:
        total = "" if self.total is None else f" of {self.total}"
        stuck = f"; nothing has moved for {self.idle_s:.0f} s: waits for {self.waits_for}"
        stops = "; stops when what runs has ended" if self.stops else ""
        return f"{self.done}{total} tasks{stops}{stuck if self.waits_for else ''}"


@contextmanager
def shown(first: Progress, name: str) -> Iterator[Callable[[Progress], None]]:
    """What shows progress on the standard error."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield lambda progress: print(f"\r{name}: {progress}", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)
        return
    with tqdm(total=first.total, desc=name, unit="task", file=sys.stderr) as bar:

        def show(progress: Progress) -> None:
            bar.total = progress.total
            bar.set_postfix_str(
                f"waits for {progress.waits_for}" if progress.waits_for else "", refresh=False
            )
            bar.update(progress.done - bar.n)
            bar.refresh()

        yield show


def seconds_of(value: Any, example: str) -> float:
    """Seconds that a call is given."""
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = math.nan
    if isinstance(value, (str, bool)) or not seconds >= 0:
        name, rest = ("every", "") if "watch" in example else ("timeout", ", or None for no end")
        help = f"give seconds, 0 or more: `{example}`{rest}"
        raise argument_error(1262, f"`{name}` is {describe(value)}", help)
    return seconds


class Run(OfThisProcess):
    """A run that goes on while Python does other things."""

    __slots__ = ("__weakref__", "_core", "_program", "_raised", "_seen", "_span", "_started", "_stats")

    _program: Program

    def __init__(self, program: Any = None, core: Any = None) -> None:
        if not isinstance(core, _core.Run):
            help = "`program.execute_async(X=x)` starts one"
            raise argument_error(1262, "a `Run` is not made by its name", help)
        self._program = program
        self._core = core
        self._started = time.perf_counter()
        self._stats: Stats | None = None
        self._raised = False
        self._seen: tuple[Any, float] = (None, self._started)
        self._span = caller_span()
        _RUNS.add(self)

    def __reduce__(self) -> tuple[Any, ...]:
        raise not_pickled("a `Run`", "pickle its figures, `run.synchronize()`, or the program")

    def is_complete(self) -> bool:
        """Whether it has ended, well or not."""
        return self._core.done()

    def synchronize(self) -> Stats:
        """Waits for its end and gives its figures; raises what failed it."""
        stats = self.wait()
        assert stats is not None
        return stats

    def wait(self, timeout: float | None = None) -> Stats | None:
        """As `synchronize`, at most for `timeout` seconds; None when it goes on."""
        timeout = None if timeout is None else seconds_of(timeout, "run.wait(0.5)")
        if self._stats is None:
            try:
                figures = self._core.wait(timeout)
            except BaseException:
                # Ctrl-C stops the run: its caller has seen that, too.
                self._raised = True
                raise
            self._stats = None if figures is None else self._program._ended(figures)
        return self._stats

    def _is_owed(self) -> bool:
        """Whether it goes on, or has failed and its caller has not seen that."""
        if not self._core.done():
            return True
        try:
            self._core.wait(0.0)
        except Exception:
            return not self._raised
        return False

    def __del__(self) -> None:
        if getattr(self, "_core", None) is not None:
            self._tell()

    def _tell(self) -> None:
        """Warns of a failure that nobody has waited for."""
        if self._raised or not self._core.done():
            return
        try:
            self._core.wait(0.0)
        except Exception as failure:
            self._raised = True
            name = self._program.name
            first = str(failure).partition("\n")[0]
            if getattr(failure, "code", None) != _ELSEWHERE:
                warn_thrown_away(
                    f"a run of program `{name}` failed, and nothing waited for it: {first}", self._span
                )

    def _stopped(self) -> None:
        """Warns, when the interpreter is about to go, of a run that goes on or has failed."""
        if self._core.done():
            self._tell()
            return
        self._raised = True
        warn_thrown_away(
            f"a run of program `{self._program.name}` goes on as the interpreter ends, and is stopped: what "
            "it writes is not complete; wait for it, `run.synchronize()`",
            self._span,
        )

    def __await__(self) -> Generator[Any, None, Stats]:
        """Waits for its end in a coroutine: `stats = await run`. The run of a task that is cancelled is
        stopped, and its arrays are free when the cancellation is raised.
        """
        return cast("Generator[Any, None, Stats]", _Awaited(self))

    async def _awaited(self) -> Stats:
        import asyncio

        stats = self.wait(0.0)
        if stats is not None:
            return stats
        ended = asyncio.get_running_loop().run_in_executor(None, self._core.ends)
        try:
            await asyncio.shield(ended)
        except asyncio.CancelledError:
            self.cancel()
            # Its caller knows that it was stopped.
            self._raised = True
            await ended
            raise
        return self.synchronize()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise lacks(self, name, "")

    @property
    def progress(self) -> Progress:
        """How far it is, by its own counters."""
        done, total, running, stops = self._core.progress()
        now = time.perf_counter()
        if (done, running and running[0][0]) != self._seen[0]:
            self._seen = ((done, running and running[0][0]), now)
        # A task that has run for long was there before the first look.
        idle = max(now - self._seen[1], min((seconds for _, seconds in running), default=0.0))
        ended = self._core.done()
        if ended:
            return Progress(done, total, (), 0.0)
        return Progress(done, total, tuple(map(tuple, running)), idle, stops)

    def watch(self, every: float = 0.1) -> Stats:
        """Waits as `synchronize` does, and shows meanwhile on the standard error how far it is: with `tqdm`
        where that is installed, else in a line that is written again every `every` seconds.
        """
        pause = seconds_of(every, "run.watch(0.1)")
        with shown(self.progress, self._program.name) as show:
            while self.wait(pause) is None:
                show(self.progress)
            show(self.progress)
        return self.synchronize()

    def cancel(self) -> None:
        """Stops it when the tasks that have started are over; waiting raises an `ExecutionError` then."""
        self._core.cancel()

    @property
    def elapsed_ms(self) -> float:
        """Milliseconds that it took, or has taken so far."""
        if self._stats is None:
            return (time.perf_counter() - self._started) * 1e3
        return self._stats.execute_time_ms

    @property
    def stats(self) -> Stats | None:
        """Its figures, None while it goes on."""
        return self.wait(0.0) if self._core.done() else None

    def __repr__(self) -> str:
        return f"<run of {self._program.name}: {'ended' if self.is_complete() else self.progress}>"


class _Awaited:
    """The steps of a coroutine that awaits a run, each a call of its own: errors carry the frames of callers
    alone.
    """

    __slots__ = ("_steps",)

    def __init__(self, run: Run) -> None:
        self._steps = run._awaited().__await__()

    def __iter__(self) -> _Awaited:
        return self

    def __next__(self) -> Any:
        return next(self._steps)

    def send(self, value: Any) -> Any:
        """Goes on with a value."""
        return self._steps.send(value)

    def throw(self, *error: Any) -> Any:
        """Goes on with an exception."""
        return self._steps.throw(*error)

    def close(self) -> None:
        """Ends it."""
        self._steps.close()


class BoundProgram(OfThisProcess):
    """A program with its arrays, checked once: calling it runs it."""

    __slots__ = ("__call__", "_core", "_program", "_told")

    _program: Program

    def __init__(self, program: Any = None, core: Any = None) -> None:
        if not isinstance(core, _core.Prepared):
            raise argument_error(
                1262, "a `BoundProgram` is not made by its name", "write `program.bind(X=x)`"
            )
        self._program = program
        self._core = core
        self._told: Stats | None = None
        self.__call__ = core.__call__

    def run(self) -> None:
        """Runs the program; the same as calling it."""
        self._core()

    def rebind(self, /, *unnamed: Never, **named: Any) -> None:
        """Exchanges arrays, tables and sizes for the runs to come; what is not named stays."""
        only_by_name("rebind", unnamed, self._program.arguments)
        with _AT_CALLER:
            self._core.rebind(named)

    @property
    def stats(self) -> Stats:
        """The figures of the last call; its `run_id` is 0."""
        try:
            self._told = stats_of(0, self._core.stats())
        except WspError as error:
            # Of the host entry of a file the core tells them once.
            if error.code != "WSP1607" or self._told is None:
                raise
        return self._told

    def __reduce__(self) -> tuple[Any, ...]:
        raise not_pickled("a `BoundProgram`", "pickle the program, and bind it there: `program.bind(X=x)`")

    def __repr__(self) -> str:
        return f"<bound {self._program!r}>"
