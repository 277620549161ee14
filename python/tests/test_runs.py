"""Runs: failures, Ctrl-C, runs that go on while Python does other things, bound programs."""

from __future__ import annotations

import _thread
import gc
import json
import os
import pathlib
import subprocess
import sys
import threading
import warnings
from typing import Any

import numpy as np
import pto_wsp
import pytest
from copying import PARALLEL, SEQUENTIAL, copy, pair, program, trace
from pto_wsp import _core, errors
from pto_wsp._arrays import to_numpy


@pytest.mark.parametrize("options", [SEQUENTIAL, PARALLEL])
def test_an_exception_of_a_kernel_is_the_cause(options: dict[str, Any]) -> None:
    boom = ZeroDivisionError("boom")

    def kernel(views: Any, scalars: Any) -> None:
        if scalars[0] == 1:
            raise boom

    x, y = pair()
    compiled = program(kernel)
    with pytest.raises(errors.KernelError) as failed:
        compiled.execute({"x": x, "y": y}, options)
    assert failed.value.__cause__ is boom
    assert "test_runs.py" in failed.value.message and "ZeroDivisionError: boom" in failed.value.message
    assert "in the task with the indices [1]" in failed.value.notes
    boom.__traceback__ = None
    compiled.execute({"x": x[:1], "y": y[:1]}, options)


@pytest.mark.parametrize("options", [SEQUENTIAL, PARALLEL])
def test_an_interrupt_in_a_kernel_stays_one(options: dict[str, Any]) -> None:
    def kernel(views: Any, scalars: Any) -> None:
        raise KeyboardInterrupt

    x, y = pair()
    with pytest.raises(KeyboardInterrupt):
        program(kernel).execute({"x": x, "y": y}, options)


@pytest.mark.parametrize("options", [SEQUENTIAL, PARALLEL])
def test_ctrl_c_stops_a_long_run_and_the_program_stays_usable(options: dict[str, Any]) -> None:
    interrupted = threading.Event()

    def kernel(views: Any, scalars: Any) -> None:
        if not interrupted.is_set():
            interrupted.set()
            _thread.interrupt_main()

    x, y = pair(rows=1)
    compiled = program(kernel, tasks=10**9)
    with pytest.raises(KeyboardInterrupt):
        compiled.execute({"x": x, "y": y}, options)
    assert interrupted.is_set()
    run = compiled.start({"x": x, "y": y}, options)
    run.cancel()
    with pytest.raises(errors.ExecutionError, match="cancelled"):
        run.wait()


def test_ctrl_c_stops_a_prepared_run() -> None:
    calls = []

    def kernel(views: Any, scalars: Any) -> None:
        if not calls:
            calls.append(1)
            _thread.interrupt_main()

    x, y = pair(rows=1)
    for options in (SEQUENTIAL, PARALLEL):
        calls.clear()
        bound = program(kernel, tasks=10**9).prepare({"x": x, "y": y}, options)
        with pytest.raises(KeyboardInterrupt):
            bound()


def test_runs_of_one_program_on_several_threads_are_separate() -> None:
    compiled = program(copy)
    failures = []

    def work(seed: int) -> None:
        x, y = pair()
        x += seed
        for _ in range(20):
            y[...] = 0
            compiled.execute({"x": x, "y": y}, SEQUENTIAL if seed % 2 else PARALLEL)
            if not (x == y).all():
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_program_and_its_run_may_be_dropped_while_the_run_goes_on() -> None:
    go, over = threading.Event(), threading.Event()

    def kernel(views: Any, scalars: Any) -> None:
        go.wait()
        copy(views, scalars)
        if scalars[0] == 2:
            over.set()

    x, y = pair()
    compiled = program(kernel)
    run = compiled.start({"x": x, "y": y}, {"threads": 1})
    del compiled, run
    gc.collect()
    go.set()
    assert over.wait(30)


def test_a_failed_run_raises_at_every_wait() -> None:
    def kernel(views: Any, scalars: Any) -> None:
        raise LookupError

    x, y = pair()
    run = program(kernel).start({"x": x, "y": y})
    for _ in range(2):
        with pytest.raises(errors.KernelError):
            run.wait()
    assert run.done()


def test_waiting_ends_with_its_time() -> None:
    go = threading.Event()
    x, y = pair()
    run = program(lambda views, scalars: go.wait()).start({"x": x, "y": y}, PARALLEL)
    assert run.wait(0.0) is None
    assert run.wait(0.001) is None
    go.set()
    assert run.wait().tasks == 3


def test_bound_arguments_are_exchanged_in_place() -> None:
    x, y = pair()
    bound = program(copy).prepare({"x": x, "y": y}, SEQUENTIAL)
    bound()
    assert (x == y).all()
    x2, y2 = pair(rows=6)
    x2 += 1
    bound.rebind({"x": x2, "y": y2, "n": 6})
    bound()
    assert (x2 == y2).all() and bound.stats().tasks == 6
    x3 = x2 + 1
    bound.rebind({"x": x3})
    bound()
    assert (x3 == y2).all()
    with pytest.raises(errors.ArgumentError):
        bound.rebind({"x": x3.astype("f8")})
    bound()


def test_an_array_that_is_taken_back_is_no_longer_written() -> None:
    document = json.loads(trace())
    workload = document["workload"]
    workload["tensors"].append({"name": "s", "dtype": "i64", "dims": [1], "storage": "argument"})
    workload["slots"] = [{"tensor": 2, "init": 3}]
    workload["kernels"][0]["params"].append({"name": "s", "kind": "inout"})
    workload["workloads"][0]["body"][0]["body"][0]["args"].append({"tensor": 2})
    seen = []

    def kernel(views: Any, scalars: Any) -> None:
        slot = to_numpy(views[2])
        seen.append(int(slot[0]))
        slot += 1

    x, y = pair(rows=1)
    slot = np.full(1, 7)
    compiled = _core.compile(json.dumps(document).encode(), callables={"k": kernel})
    bound = compiled.prepare({"x": x, "y": y, "s": slot}, SEQUENTIAL)
    bound()
    bound.rebind({"s": None})
    bound()
    bound()
    assert seen == [7, 3, 3] and slot[0] == 8


def test_a_bound_program_is_used_by_one_thread_at_a_time() -> None:
    inside, go = threading.Event(), threading.Event()

    def kernel(views: Any, scalars: Any) -> None:
        inside.set()
        go.wait()

    x, y = pair()
    bound = program(kernel).prepare({"x": x, "y": y}, SEQUENTIAL)
    thread = threading.Thread(target=bound)
    thread.start()
    inside.wait()
    with pytest.raises(errors.ArgumentError, match="in use on another thread") as refused:
        bound()
    assert refused.value.code == "WSP1268"
    go.set()
    thread.join()
    bound()


def printed(script: str) -> str:
    """What a script prints that ends well."""
    folder = str(pathlib.Path(__file__).parent)
    path = os.pathsep.join([folder, *filter(None, sys.path)])
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]
    env = {**os.environ, "PYTHONPATH": path}
    ended = subprocess.run(command, check=False, env=env, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_interpreter_ends_while_runs_go_on() -> None:
    script = """
import sys, threading
from copying import pair, program
sys.setswitchinterval(1e-6)
begun = []
def begin(start):
    event = threading.Event()
    begun.append(event)
    start(program(lambda views, scalars: event.set(), tasks=10**9), dict(zip("xy", pair(rows=1))))
runs = []
begin(lambda long, arrays: runs.append(long.start(arrays, {"threads": 2})))
for options in ({"threads": 2}, {"sequential": True}) * 3:
    def execute(long, arrays):
        threading.Thread(target=long.execute, args=(arrays, options), daemon=True).start()
    begin(execute)
for event in begun:
    event.wait()
print("leaving")
"""
    assert printed(script) == "leaving\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_the_child_of_a_fork_ends_at_once_while_a_run_of_its_parent_goes_on() -> None:
    script = """
import os, sys, threading, time
from copying import pair, program
begun, end = threading.Event(), threading.Event()
def kernel(views, scalars):
    begun.set()
    end.wait()
run = program(kernel).start(dict(zip("xy", pair(rows=1))), {"threads": 1})
begun.wait()
child = os.fork()
if child == 0:
    sys.exit()
forked = time.monotonic()
status = os.waitpid(child, 0)[1]
took = time.monotonic() - forked
end.set()
run.wait()
print(status, "late" if took > 3 else "at once")
"""
    assert printed(script) == "0 at once\n"


def test_ctrl_c_in_a_wait_is_not_warned_of() -> None:
    @pto_wsp.python_kernel
    def interrupts(y: pto_wsp.Out):
        y[...] = 1
        if not interrupted.is_set():
            interrupted.set()
            _thread.interrupt_main()

    Y = pto_wsp.tensor((1,), pto_wsp.f32)

    @pto_wsp.workload
    def endless():
        for _ in pto_wsp.P(10**9):
            interrupts(Y)

    interrupted = threading.Event()
    run = endless.compile().execute_async(Y=np.zeros(1, np.float32))
    with pytest.raises(KeyboardInterrupt):
        run.synchronize()
    assert run.is_complete()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        del run
        gc.collect()
    assert not told
