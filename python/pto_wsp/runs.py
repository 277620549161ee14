"""Runs that go on beside their caller, and programs that are bound to arrays."""

from __future__ import annotations

import atexit
import time
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from ._raise import PlacedAtCaller, argument_error, only_by_name
from .expr import describe
from .results import Stats
from .spans import caller_span
from .thrown import warn_thrown_away

if TYPE_CHECKING:
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


class Run:
    """A run that goes on while Python does other things."""

    __slots__ = ("__weakref__", "_core", "_program", "_raised", "_span", "_started", "_stats")

    def __init__(self, program: Program, core: Any) -> None:
        self._program = program
        self._core = core
        self._started = time.perf_counter()
        self._stats: Stats | None = None
        self._raised = False
        self._span = caller_span()
        _RUNS.add(self)

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
        try:
            timeout = None if timeout is None else float(timeout)
        except (TypeError, ValueError):
            raise argument_error(
                1262, f"`timeout` is {describe(timeout)}", "give seconds: `run.wait(0.5)`, or None for no end"
            ) from None
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
        return f"<run of {self._program.name}: {'ended' if self.is_complete() else 'goes on'}>"


class BoundProgram:
    """A program with its arrays, checked once: calling it runs it."""

    __slots__ = ("__call__", "_core", "_program")

    def __init__(self, program: Program, core: Any) -> None:
        self._program = program
        self._core = core
        self.__call__ = core.__call__

    def run(self) -> None:
        """Runs the program; the same as calling it."""
        self._core()

    def rebind(self, /, *unnamed: Any, **named: Any) -> None:
        """Exchanges arrays, tables and sizes for the runs to come; what is not named stays."""
        only_by_name("rebind", unnamed, self._program.arguments)
        with _AT_CALLER:
            self._core.rebind(named)

    @property
    def stats(self) -> Stats:
        """The figures of the last call; its `run_id` is 0."""
        return self._program._stats_of(self._core.stats(), 0)

    def __repr__(self) -> str:
        return f"<bound {self._program!r}>"
