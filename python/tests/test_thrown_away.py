"""What has no effect by itself and goes unused is warned of, at its line."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings
from functools import partial

import numpy as np
import pytest
from declared import counted_methods
from pto_wsp import (
    Deps,
    DispatchPolicy,
    InOut,
    P,
    Tensor,
    TimingPolicy,
    combine,
    errors,
    f32,
    kernel,
    pto,
    python_kernel,
    sequential,
    tensor,
    workload,
)

X = tensor(("n", 4), f32)


@kernel
def inc(x: InOut):
    pto.store(x, pto.load(x) + 1.0)


@workload
def w(n):
    for i in P(n):
        inc[i](X[i])


METHODS = {
    **{method: partial(lambda of: getattr(w, of)(2), method) for method in counted_methods()},
    "dispatch": lambda: w.dispatch(DispatchPolicy.affinity(lambda t: t.i)),
    "dispatch_threshold": lambda: w.dispatch_threshold("i", [1], ["vector", "cube"]),
    "stream_by": lambda: w.stream_by("i"),
    "task_graph": lambda: w.task_graph(deps=Deps.hybrid()),
    "priority": lambda: w.priority("i"),
    "timing": lambda: w.timing(TimingPolicy.immediate()),
    "spatial_map": lambda: w.spatial_map(grid=(2, 2)),
    "layout": lambda: w.layout("a", ["x"]),
    "relayout": lambda: w.relayout("a", ["x"]),
    "combine": lambda: combine(w, w),
    "sequential": lambda: sequential(w, w),
    "call": lambda: w(4),
}


@pytest.mark.parametrize("method", METHODS)
def test_a_workload_that_is_thrown_away_is_warned_of(method):
    with pytest.warns(errors.ThrownAwayWarning) as found:
        METHODS[method]()
    assert method in str(found[0].message) and "WSP1212" in str(found[0].message)
    assert found[0].filename == __file__


def test_the_line_is_that_of_the_method():
    with pytest.warns(errors.ThrownAwayWarning) as found:
        line = sys._getframe().f_lineno + 1
        w.streams(2)
    assert (found[0].lineno, len(found)) == (line, 1)


def test_a_schedule_that_is_kept_in_a_variable_and_never_used():
    def scheduled():
        kept = w.streams(3)
        return w.compile() if kept is not None else None

    with pytest.warns(errors.ThrownAwayWarning):
        scheduled()


def test_what_is_used_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        w.streams(2).stream_by("i").compile()
        repr(w.streams(2))
        w.streams(2).directives  # noqa: B018
        w(3).ir()
        combine(w(2), w(2)).compile()
        for name in METHODS.keys() - {"combine", "sequential", "call"}:
            METHODS[name]().directives  # noqa: B018
        with pytest.raises(errors.ScheduleError):
            w.streams(2).streams(3)

        @workload
        def outer():
            w(4)

        outer.compile()
        gc.collect()


def failing_argument(n):
    for i in P(n):
        inc[i](X[i], i / 2)


def failing_in_a_variable(n):
    for i in P(n):
        task = inc[i]
        task(X[1 // 0])


@pytest.mark.parametrize(
    "fails",
    [
        workload(failing_argument).compile,
        workload(failing_in_a_variable).compile,
        lambda: inc[0](X[1 // 0]),
        lambda: w.streams(2).dispatch("in turn"),
        lambda: [w.streams(2), 1 // 0],
        lambda: combine(w.streams(2), undefined),  # noqa: F821
    ],
)
def test_what_an_exception_takes_along_is_not_warned_of(fails):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        with pytest.raises((errors.WspError, ArithmeticError, NameError)):
            fails()
        gc.collect()
    assert not found


def test_a_kernel_with_coordinates_that_is_not_called():
    @workload
    def nothing(n):
        for i in P(n):
            inc[i]

    with pytest.warns(errors.ThrownAwayWarning, match="inc"):
        nothing.compile()


def test_a_run_that_failed_and_that_nothing_waited_for():
    @python_kernel
    def fails(x: InOut):
        raise ValueError("bad input")

    @workload
    def failing(x: Tensor[f32, 4]):
        fails(x)

    program = failing.compile()
    run = program.execute_async(x=np.zeros(4, np.float32))
    while not run.is_complete():
        pass
    with pytest.warns(errors.ThrownAwayWarning, match="bad input"):
        del run, program
        gc.collect()


def test_a_failure_that_was_raised_is_not_warned_of():
    @python_kernel
    def fails(x: InOut):
        raise ValueError("bad input")

    @workload
    def failing(x: Tensor[f32, 4]):
        fails(x)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program = failing.compile()
        program.execute_async(x=np.zeros(4, np.float32))
        with pytest.raises(errors.KernelError):
            program.synchronize()
        del program
        gc.collect()


ENDING = """
import threading
import numpy as np
from pto_wsp import Out, P, Tensor, python_kernel, workload
begun = threading.Event()

@python_kernel
def one(y: Out):
    y[...] = 1
    begun.set()

@workload
def long(y: Tensor["f32", 1000000]):
    for i in P.seq(1000000):
        one(y[i])

@workload
def failing(y: Tensor["f32", 4]):
    bad(y)

@python_kernel
def bad(y: Out):
    raise ValueError("no")

y = np.zeros(1000000, np.float32)
"""


def ended(script: str, tmp_path) -> tuple[int, str]:
    """How a script ends, and what it says on the standard error."""
    file = tmp_path / "script.py"
    file.write_text(ENDING.replace('"f32"', "f32").replace("Tensor,", "Tensor, f32,") + script)
    ran = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    return ran.returncode, ran.stderr


def test_a_run_that_the_end_of_the_script_stops_is_warned_of(tmp_path):
    script = "run = long.compile(num_threads=1).execute_async(y=y)\nbegun.wait()\n"
    code, said = ended(script, tmp_path)
    assert code == 0 and said.count("WSP1212") == 1 and "`long` goes on as the interpreter ends" in said
    assert f"script.py:{len(ENDING.splitlines()) + 1}" in said
    assert ended(script + "run.cancel()\nwhile not run.is_complete(): pass\n", tmp_path)[1].count("1212") == 1


def test_a_failure_that_the_end_of_the_script_hides_is_warned_of(tmp_path):
    script = "run = failing.compile().execute_async(y=y[:4])\nwhile not run.is_complete(): pass\n"
    code, said = ended(script, tmp_path)
    assert code == 0 and said.count("WSP1212: a run of program `failing` failed") == 1
    assert ended(script + "try: run.wait()\nexcept Exception: pass\n", tmp_path) == (0, "")
