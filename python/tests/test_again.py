"""Runs that take what the last one has bound give what each would give by itself."""

from __future__ import annotations

import gc
import os
import sys
import threading
import weakref

import numpy as np
import pytest
from pto_wsp import (
    Constexpr,
    DenseDyn,
    In,
    InOut,
    Out,
    P,
    errors,
    f32,
    kernel,
    pto,
    python_kernel,
    tensor,
    workload,
)

X = tensor(("rows", 4), f32, name="X")
Y = tensor(("rows", 4), f32, name="Y")


@kernel
def twice(x: In, y: Out, factor: Constexpr) -> None:
    """A task of its own."""
    pto.store(y, pto.load(x, shape=(64, 4)) * factor)


@workload
def doubled(rows: DenseDyn) -> None:
    """One task."""
    twice(X[0:rows], Y[0:rows], 2.0)


def pair(rows: int, value: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """What is read and what is written."""
    return np.full((rows, 4), value, np.float32), np.zeros((rows, 4), np.float32)


def test_arrays_that_change_contents_place_shape_and_strides_are_seen():
    program = doubled.compile()
    x, y = pair(3)
    for step in range(40):
        if step % 5 == 1:
            x, y = pair(3 + step % 4, step)
        if step % 7 == 2:
            y = np.zeros((x.shape[0], 8), np.float32)[:, ::2]
        if step % 3 == 0:
            x[...] = step
        stats = program.execute(X=x, Y=y)
        assert (y == 2 * x).all() and stats.num_tasks == 1 and stats.details["params"] == {"rows": len(x)}


def test_what_is_refused_is_refused_after_a_run_too_and_the_next_run_is_right():
    program = doubled.compile()
    x, y = pair(2)
    program.execute(X=x, Y=y)
    read_only = y.copy()
    read_only.flags.writeable = False
    for bad in (
        {"X": x, "Y": y[:1]},
        {"X": x.astype(np.float64), "Y": y},
        {"X": x, "Y": read_only},
        {"X": x, "Y": x},
        {"X": x},
        {"X": x, "Y": y, "rows": 1},
    ):
        with pytest.raises(errors.WspError):
            program.execute(**bad)
        x += 1
        program.execute(X=x, Y=y)
        assert (y == 2 * x).all()


def test_arrays_are_let_go_of_after_each_run():
    program = doubled.compile()
    for _ in range(3):
        x, y = pair(2)
        seen = weakref.ref(x), weakref.ref(y)
        program.execute(X=x, Y=y)
        del x, y
        gc.collect()
        assert [each() for each in seen] == [None, None]
    values = bytearray(32)
    program.execute(X=pair(2)[0], Y=memoryview(values).cast("f", (2, 4)))
    values.extend(b"1234")
    assert np.frombuffer(values, np.float32)[:8].tolist() == [2.0] * 8


def test_a_kernel_that_fails_or_runs_the_program_itself_leaves_the_next_run_right():
    calls: list[float] = []

    @python_kernel
    def added(x: InOut) -> None:
        calls.append(float(x[0, 0]))
        x += 1
        if x[0, 0] == 2:
            raise ValueError("two")
        if x[0, 0] == 5:
            inner = np.full((2, 4), 10, np.float32)
            program.execute(X=inner)
            assert (inner == 11).all()

    @workload
    def once(rows: DenseDyn) -> None:
        added(X[0:rows])

    program = once.compile()
    x = np.zeros((2, 4), np.float32)
    for step in range(6):
        if step == 1:
            with pytest.raises(errors.KernelError) as failed:
                program.execute(X=x)
            assert isinstance(failed.value.__cause__, ValueError)
        else:
            program.execute(X=x)
        assert (x == step + 1).all()
    assert calls == [0, 1, 2, 3, 4, 10, 5]


def test_threads_that_run_one_program_have_results_of_their_own():
    program = doubled.compile()
    wrong: list[int] = []

    def runs(number: int) -> None:
        x, y = pair(1 + number, number)
        for step in range(200):
            x += 1
            program.execute(X=x, Y=y)
            if not (y == 2 * (number + step + 1)).all():
                wrong.append(number)

    threads = [threading.Thread(target=runs, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_child_of_a_fork_runs_what_its_parent_has_run():
    program = doubled.compile()
    x, y = pair(2)
    program.execute(X=x, Y=y)
    child = os.fork()
    if child == 0:
        right = False
        try:
            x += 1
            program.execute(X=x, Y=y)
            right = bool((y == 2 * x).all())
        finally:
            os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    program.execute(X=x, Y=y)
    assert (y == 2 * x).all()


def test_sizes_that_change_the_number_of_tasks_are_seen():
    @workload
    def some(n: DenseDyn) -> None:
        for i in P(n):
            twice(X[i : i + 1], Y[i : i + 1], 3.0)

    program = some.compile(enable_debug=True)
    for n in [0, 1, 5, 1, 40, 0, 2, 2]:
        x, y = pair(64, n + 1)
        stats = program.execute(n=n, X=x, Y=y)
        assert stats.num_tasks == n and (y[:n] == 3 * (n + 1)).all() and (y[n:] == 0).all()


def test_runs_beside_their_caller_make_no_threads_of_their_own():
    def threads() -> int:
        return len(os.listdir("/proc/self/task"))

    if sys.platform != "linux":
        pytest.skip("the threads of a process are counted on Linux")

    @workload
    def many() -> None:
        for i in P(32):
            twice(X[i : i + 1], Y[i : i + 1], 2.0)

    program = many.compile(num_threads=3)
    x, y = pair(32)
    for _ in range(3):
        program.execute(X=x, Y=y)
    before = threads()
    for _ in range(50):
        program.execute(X=x, Y=y)
        program.execute_async(X=x, Y=y).synchronize()
    assert threads() <= before and (y == 2).all()
