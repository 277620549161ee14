"""Runs that one can watch: how far they are, what they wait for, time limits, coroutines."""

from __future__ import annotations

import asyncio
import gc
import inspect
import io
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pto_wsp import (
    DenseDyn,
    In,
    InOut,
    Out,
    P,
    Progress,
    Run,
    errors,
    f32,
    kernel,
    pto,
    python_kernel,
    tensor,
    workload,
)
from pto_wsp import runs as module
from pto_wsp.spans import PACKAGE

X = tensor(("n", 4), f32)
Y = tensor(("n", 4), f32)


class Gate:
    """Where tasks wait until a test lets them go on."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()

    def wait(self) -> None:
        """Called by a task."""
        self.entered.set()
        assert self.open.wait(60)


GATE = Gate()


@pytest.fixture(autouse=True)
def gate() -> Any:
    """A closed gate, which the end of the test opens."""
    GATE.__init__()  # type: ignore[misc]
    yield GATE
    GATE.open.set()


@python_kernel
def held(x: In, y: Out) -> None:
    y[...] = x
    GATE.wait()


@kernel
def copied(x: In, y: Out) -> None:
    pto.store(y, pto.load(x))


@workload
def one_waits(n: DenseDyn) -> None:
    for i in P(n - 1):
        copied[i](X[i], Y[i])
    held[7, n - 1](X[n - 1], Y[n - 1])


@workload
def first_waits(n: DenseDyn) -> None:
    for i in P.seq(n):
        held[i](X[i], Y[i])


def rows(n: int) -> dict[str, np.ndarray]:
    """Arrays for so many tasks."""
    return {"X": np.ones((n, 4), np.float32), "Y": np.zeros((n, 4), np.float32)}


def until(seen: Callable[[], bool]) -> None:
    """Looks until something has come true."""
    for _ in range(60_000):
        if seen():
            return
        threading.Event().wait(0.001)
    raise AssertionError("it does not come true")


def waiting(n: int = 5, **given: Any) -> Run:
    """A run of which one task waits."""
    run = one_waits.compile(num_threads=2).execute_async(**rows(n), **given)
    assert GATE.entered.wait(60)
    return run


def test_progress_counts_tasks_and_names_what_runs() -> None:
    run = waiting()
    until(lambda: run.progress.done == 4)
    seen = run.progress
    assert (seen.done, seen.total, [name for name, _ in seen.running]) == (4, 5, ["held[7, 4]"])
    assert str(seen) == "4 of 5 tasks" and repr(run) == "<run of one_waits: 4 of 5 tasks>"
    GATE.open.set()
    assert run.synchronize().num_tasks == 5
    assert run.progress == Progress(5, 5, (), 0.0)
    assert repr(run) == "<run of one_waits: ended>"


def test_a_run_that_does_not_move_says_for_whom_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    run = waiting()
    until(lambda: run.progress.done == 4)
    assert run.progress.waits_for == ""
    now = module.time.perf_counter
    monkeypatch.setattr(module, "_STUCK", 0.0)
    monkeypatch.setattr(module.time, "perf_counter", lambda: now() + 6.0)
    assert run.progress.waits_for == "held[7, 4]"
    assert "waits for held[7, 4]" in repr(run)


def test_what_progress_says() -> None:
    assert str(Progress(3, None, (), 0.0)) == "3 tasks"
    names = tuple((name, 9.0) for name in "abcde")
    assert Progress(3, 9, names, 8.0).waits_for == "a, b, c and 2 more"
    assert str(Progress(3, 9, names[:1], 8.0)) == "3 of 9 tasks; nothing has moved for 8 s: waits for a"
    assert Progress(3, 9, (), 8.0).waits_for == "nothing that runs"


def test_a_time_limit_is_a_failure_like_any_other() -> None:
    program = one_waits.compile(num_threads=2)
    run = program.execute_async(**rows(1), timeout=0.1)
    until(lambda: run.progress.stops)
    assert repr(run) == "<run of one_waits: 0 of 1 tasks; stops when what runs has ended>"
    GATE.open.set()
    with pytest.raises(errors.ExecutionError) as late:
        run.synchronize()
    error = late.value
    assert not run.progress.stops
    assert (error.code, error.message) == ("WSP1272", "the run took longer than its `timeout` of 0.1 s")
    assert "all of its tasks have ended by now, so that what it writes is complete" in error.notes
    assert "it waited for `held[7, 0]`" in error.notes
    assert any("`timeout=…`" in help for help in error.help)
    assert error.file is not None and error.file.endswith("test_watching.py")
    # The program can be used again, and a run that is over in time is none that fails.
    again = rows(5)
    assert program.execute(**again, timeout=600).num_tasks == 5
    assert np.array_equal(again["X"], again["Y"])


def test_what_a_run_over_its_time_has_written_is_said_not_to_be_complete() -> None:
    run = first_waits.compile(num_threads=2).execute_async(**rows(1000), timeout=0.1)
    until(lambda: run.progress.stops)
    GATE.open.set()
    with pytest.raises(errors.ExecutionError) as late:
        run.synchronize()
    assert "what it writes is not complete: `Y`" in late.value.notes
    assert "it waited for `held[0]`" in late.value.notes and "1 of 1000 tasks were done" in late.value.notes


def test_execute_stops_when_its_time_is_over() -> None:
    @workload
    def goes_on(times: DenseDyn) -> None:
        for _ in P.seq(times):
            copied(X[0], Y[0])

    program = goes_on.compile(num_threads=2)
    with pytest.raises(errors.ExecutionError) as late:
        program.execute(**rows(1), times=2**31, timeout=0.05)
    assert (late.value.code, late.value.message) == (
        "WSP1272",
        "the run took longer than its `timeout` of 0.05 s",
    )
    assert any(" of 2147483648 tasks were done" in note for note in late.value.notes), late.value.notes


def test_an_argument_with_the_name_of_the_limit_is_meant_first() -> None:
    @workload
    def named(timeout: DenseDyn) -> None:
        for i in P(timeout):
            copied[i](X[i], Y[i])

    arrays = rows(3)
    assert named.compile().execute(**arrays, timeout=2).num_tasks == 2  # type: ignore[call-arg]


@pytest.mark.parametrize("value", ["1", True, float("nan"), [1], 1j])
def test_a_limit_is_seconds(value: Any) -> None:
    program = one_waits.compile()
    for call in (program.execute, program.execute_async):
        with pytest.raises(errors.ArgumentError) as wrong:
            call(**rows(2), timeout=value)
        assert (wrong.value.code, wrong.value.help) == (
            "WSP1262",
            ["give seconds, 0 or more: `program.execute(timeout=2.5)`, or None for no end"],
        )


def test_a_run_is_awaited() -> None:
    async def both() -> tuple[int, int]:
        first = waiting()
        asyncio.get_running_loop().call_soon(GATE.open.set)
        stats = await first
        return stats.num_tasks, (await first).num_tasks

    assert asyncio.run(both()) == (5, 5)


def test_the_failure_of_an_awaited_run_is_raised() -> None:
    @python_kernel
    def fails(x: InOut) -> None:
        raise ValueError("no")

    @workload
    def failing(n: DenseDyn) -> None:
        for i in P(n):
            fails[i](X[i])

    async def waits() -> None:
        await failing.compile(num_threads=2).execute_async(X=rows(2)["X"])

    with pytest.raises(errors.KernelError, match="no") as failed:
        asyncio.run(waits())
    frames = traceback.extract_tb(failed.value.__traceback__)
    assert not [frame for frame in frames if frame.filename.startswith(PACKAGE)]
    assert frames[-1].name == "waits"


def test_an_awaited_run_that_is_stopped_fails_at_the_line_that_awaits() -> None:
    async def waits() -> None:
        run = first_waits.compile(num_threads=2).execute_async(**rows(5))
        assert GATE.entered.wait(60)
        run.cancel()
        asyncio.get_running_loop().call_soon(GATE.open.set)
        await run  # here

    with pytest.raises(errors.ExecutionError) as stopped:
        asyncio.run(waits())
    error = stopped.value
    lines, first = inspect.getsourcelines(waits)
    line = first + next(at for at, text in enumerate(lines) if "# here" in text)
    assert (error.code, error.file, error.line) == ("WSP0574", __file__, line)
    assert any(" of 5 tasks were done" in note for note in error.notes), error.notes
    assert "what it writes is not complete: `Y`" in error.notes and "again" in error.help[0]


def test_the_arrays_of_a_cancelled_coroutine_are_free_at_once() -> None:
    program = first_waits.compile(num_threads=2)
    arrays = rows(1000)

    async def gives_up() -> int:
        async def waits() -> None:
            await program.execute_async(**arrays)

        task = asyncio.ensure_future(waits())
        await asyncio.to_thread(GATE.entered.wait, 60)
        task.cancel()
        asyncio.get_running_loop().call_soon(GATE.open.set)
        with pytest.raises(asyncio.CancelledError):
            await task
        return program.execute(**arrays).num_tasks

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert asyncio.run(gives_up()) == 1000
        program.is_complete()
        gc.collect()
    assert not [each for each in told if each.category is errors.ThrownAwayWarning]


def test_the_run_of_a_cancelled_coroutine_is_stopped() -> None:
    async def gives_up() -> Run:
        run = first_waits.compile(num_threads=2).execute_async(**rows(1000))
        assert GATE.entered.wait(60)

        async def waits() -> None:
            await run

        task = asyncio.ensure_future(waits())
        await asyncio.sleep(0)
        task.cancel()
        # Behind the step in which the task learns of it.
        asyncio.get_running_loop().call_soon(GATE.open.set)
        with pytest.raises(asyncio.CancelledError):
            await task
        return run

    run = asyncio.run(gives_up())
    with pytest.raises(errors.ExecutionError) as stopped:
        run.synchronize()
    assert stopped.value.code == "WSP0574"


@pytest.mark.parametrize("has_tqdm", [False, True])
def test_a_run_is_watched(has_tqdm: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if has_tqdm:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setitem(sys.modules, "tqdm", None)
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)

    class Opens(io.StringIO):
        """Lets the run go on as soon as something is shown."""

        def write(self, text: str) -> int:
            GATE.open.set()
            return super().write(text)

    shown = Opens()
    run = waiting()
    monkeypatch.setattr(sys, "stderr", shown)
    assert run.watch(0.01).num_tasks == 5
    assert "one_waits" in shown.getvalue() and "5/5" in shown.getvalue() or "5 of 5 tasks" in shown.getvalue()


def test_runs_make_no_threads_once_they_have_them() -> None:
    program = one_waits.compile(num_threads=2)
    GATE.open.set()
    arrays = rows(9)
    for _ in range(3):
        program.execute(**arrays)

    def threads() -> int:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("Threads:"))

    before = threads()
    for _ in range(50):
        program.execute(**arrays)
    assert threads() == before
