"""What has no effect by itself and goes unused is warned of, at its line."""

from __future__ import annotations

import gc
import sys
import warnings

import numpy as np
import pytest
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
    workload,
)

X = Tensor(("n", 4), f32)


@kernel
def inc(x: InOut):
    pto.store(x, pto.load(x) + 1.0)


@workload
def w(n):
    for i in P(n):
        inc[i](X[i])


METHODS = {
    "dispatch": lambda: w.dispatch(DispatchPolicy.affinity(lambda t: t.i)),
    "dispatch_threshold": lambda: w.dispatch_threshold("i", [1], ["vector", "cube"]),
    "streams": lambda: w.streams(2),
    "stream_by": lambda: w.stream_by("i"),
    "task_graph": lambda: w.task_graph(deps=Deps.hybrid()),
    "pipeline_depth": lambda: w.pipeline_depth(2),
    "batch_deps": lambda: w.batch_deps(2),
    "priority": lambda: w.priority("i"),
    "timing": lambda: w.timing(TimingPolicy.immediate()),
    "spatial_map": lambda: w.spatial_map(grid=(2, 2)),
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
        for name in [*METHODS][:10]:
            METHODS[name]().directives  # noqa: B018
        with pytest.raises(errors.ScheduleError):
            w.streams(2).streams(3)

        @workload
        def outer():
            w(4)

        outer.compile()
        gc.collect()


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
