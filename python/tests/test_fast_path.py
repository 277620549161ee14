"""`execute` takes its fast path where there is one: what it gives and refuses is the same without it."""

from __future__ import annotations

import copy as copies_of
import gc
import pickle
import traceback
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pto_wsp
import pytest
from misuse import X, Y, copies, copy, rows, run_rows
from pto_wsp import (
    DenseDyn,
    In,
    Out,
    P,
    Table,
    errors,
    i64,
    kernel,
    pto,
    python_kernel,
    tensor,
    tile,
    workload,
)

PACKAGE = str(Path(pto_wsp.__file__).parent)


def files_of(error: BaseException) -> set[str]:
    """Files of the frames of an error."""
    return {frame.filename for frame in traceback.extract_tb(error.__traceback__)}


def same(file: str | None) -> bool:
    """Whether it is this file."""
    return file is not None and Path(file).samefile(__file__)


def programs() -> int:
    """How many programs there are."""
    gc.collect()
    return sum(type(each) is pto_wsp.Program for each in gc.get_objects())


def test_each_run_sees_the_arrays_that_it_is_given():
    program = copies.compile()
    for n in (1, 20, 3, 20, 0, 7):
        x, y = rows(n) * n, np.zeros((n, 64), np.float32)
        stats = program.execute(X=x, Y=y)
        assert np.array_equal(x, y) and stats.num_tasks == -(-n // 16)


def test_what_rebind_keeps_is_used_by_the_runs_after_it():
    program = copies.compile()
    x, y, z = rows(5), np.zeros((5, 64), np.float32), np.zeros((5, 64), np.float32)
    program.execute(X=x, Y=y)
    program.rebind(X=x * 3)
    program.execute(Y=z)
    assert (z == 3).all() and (y == 1).all()
    program.rebind(X=x * 5)
    program.execute(Y=z)
    assert (z == 5).all()
    program.execute(X=x * 7, Y=z)
    assert (z == 7).all()


def test_a_size_that_is_called_timeout_is_an_argument():
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.load(x))

    @workload
    def w(timeout: DenseDyn):
        for i in P(timeout):
            k[i](X[tile(i, 1)], Y[tile(i, 1)])

    y = np.zeros((4, 64), np.float32)
    program = w.compile()
    assert program.execute(X=rows(4), Y=y, timeout=3, n=4).num_tasks == 3
    assert y[:3].all() and not y[3].any()


def test_a_limit_is_kept():
    @python_kernel
    def k(x: In, y: Out):
        y[...] = x

    @workload
    def w(times: DenseDyn):
        for _ in P.seq(times):
            k(X[tile(0, 1)], Y[tile(0, 1)])

    with pytest.raises(errors.ExecutionError) as caught:
        w.compile(num_threads=1).execute(X=rows(2), Y=rows(2), times=2**31, timeout=0.01)
    assert caught.value.code == "WSP1272"


class Raises:
    """An array that raises an exception when it is read, the first times."""

    def __init__(self, exception: BaseException, times: int = 1):
        self.exception, self.times, self.reads, self.array = exception, times, 0, rows(3)

    @property
    def __array_interface__(self) -> Any:
        self.reads += 1
        if self.reads <= self.times:
            raise self.exception
        return self.array.__array_interface__


class Size:
    """A number that raises an exception when it is asked for, the first times."""

    def __init__(self, exception: BaseException, times: int = 1):
        self.exception, self.times, self.reads = exception, times, 0

    def __index__(self) -> int:
        self.reads += 1
        if self.reads <= self.times:
            raise self.exception
        return 3


CALLS = ["execute", "execute_async", "bind"]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(("name", "of"), [("X", Raises), ("n", Size)], ids=["array", "size"])
def test_what_stops_a_program_while_arguments_are_read_is_passed_on(call: str, name: str, of: type):
    program = copies.compile()
    for exception in (KeyboardInterrupt(), SystemExit(3), GeneratorExit()):
        given = of(exception)
        with pytest.raises(BaseException) as caught:
            getattr(program, call)(**{"X": rows(3), "Y": rows(3), name: given})
        assert caught.value is exception and given.reads == 1
    assert program.execute(X=rows(3), Y=rows(3)).num_tasks == 1


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("name", "of", "code"), [("X", Raises, "WSP1258"), ("n", Size, "WSP1262")], ids=["array", "size"]
)
def test_an_error_of_an_argument_is_the_cause_of_its_refusal(call: str, name: str, of: type, code: str):
    given = of(RuntimeError("not now"), times=2)
    with pytest.raises(errors.ArgumentError) as caught:
        getattr(copies.compile(), call)(**{"X": rows(3), "Y": rows(3), name: given})
    error = caught.value
    assert error.code == code and error.__cause__ is given.exception
    assert "not now" in str(error) and same(error.file)


def test_a_table_whose_elements_stop_the_program_is_passed_on():
    @workload
    def w(n: DenseDyn, lens: Table[i64, ...]):
        for i in P(n):
            copy[i](X[tile(lens[i], 1)], Y[tile(i, 1)])

    given = [Size(KeyboardInterrupt()), 1, 0]
    with pytest.raises(KeyboardInterrupt):
        w.compile().execute(X=rows(3), Y=rows(3), lens=given)
    bound = w.compile().bind(X=rows(3), Y=rows(3), lens=given)
    given[0] = Size(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        bound()
    bound()


@pytest.mark.parametrize("options", [{}, {"timeout": 60.0}], ids=["one thread", "threads"])
def test_runs_within_each_other_are_counted(options: dict[str, Any]):
    left = [100]

    @python_kernel
    def k(x: In, y: Out):
        left[0] -= 1
        if left[0] > 0:
            program.execute(X=np.array(x), Y=np.zeros_like(y), **options)
        y[...] = x

    @workload
    def w():
        k(X[tile(0, 1)], Y[tile(0, 1)])

    program = w.compile(num_threads=1)
    with pytest.raises(errors.KernelError) as caught:
        program.execute(X=rows(1), Y=rows(1), **options)
    error: BaseException | None = caught.value
    while error is not None and error.__context__ is not None:
        error = error.__context__
    assert isinstance(error, errors.ExecutionError) and error.code == "WSP1274" and error.help
    assert left == [84]
    left = [16]
    y = np.zeros((1, 64), np.float32)
    program.execute(X=rows(1), Y=y, **options)
    assert (y == 1).all()


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({}, "WSP1259"),
        ({"X": None, "Y": None}, "WSP1259"),
        ({"X": rows(3)}, "WSP1259"),
        ({"X": rows(3), "Y": rows(4)}, "WSP1261"),
        ({"X": rows(3), "Y": rows(3), "Z": rows(3)}, "WSP1260"),
        ({"X": rows(3).astype("f8"), "Y": rows(3)}, "WSP1252"),
        ({"X": [1], "Y": rows(3)}, "WSP1250"),
        ({"X": rows(3), "Y": rows(3), "timeout": "soon"}, "WSP1262"),
    ],
    ids=lambda each: each if isinstance(each, str) else ", ".join(each),
)
def test_what_is_refused_is_refused_at_the_line_of_the_call(given: dict[str, Any], code: str):
    program = copies.compile()
    program.execute(X=rows(3), Y=rows(3))
    with pytest.raises(errors.ArgumentError) as caught:
        program.execute(**given)
    error = caught.value
    assert error.code == code and error.help, str(error)
    assert same(error.file) and "program.execute(**given)" in str(error), str(error)
    assert not [name for name in files_of(error) if name.startswith(PACKAGE)]
    # The program is as it was.
    program.execute(X=rows(3), Y=rows(3))


def test_the_failure_of_a_run_has_the_line_of_its_kernel_or_that_of_the_call():
    @python_kernel
    def k(x: In, y: Out):
        y[...] = x / [1, 2]

    with pytest.raises(errors.KernelError) as caught:
        run_rows(k)
    error = caught.value
    assert isinstance(error.__cause__, ValueError) and same(error.file) and error.line, str(error)
    assert not [name for name in files_of(error) | files_of(error.__cause__) if name.startswith(PACKAGE)]


def test_an_exception_that_is_no_error_passes_through():
    class Leaves(BaseException):
        pass

    @python_kernel
    def k(x: In, y: Out):
        y[...] = x
        raise Leaves

    with pytest.raises(Leaves) as caught:
        run_rows(k)
    assert not [name for name in files_of(caught.value) if name.startswith(PACKAGE)]


def test_a_kernel_that_is_only_declared_is_refused():
    @kernel
    def declared(x: In, y: Out): ...

    with pytest.raises(errors.KernelError) as caught:
        run_rows(declared)
    assert same(caught.value.file)


def test_runs_of_a_program_are_numbered_whatever_way_they_go():
    program = copies.compile()
    given = {"X": rows(3), "Y": rows(3)}
    first = program.execute(**given)
    second = program.execute_async(**given).synchronize()
    program.rebind(X=given["X"])
    third = program.execute(Y=given["Y"])
    assert [stats.run_id for stats in (first, second, third)] == [1, 2, 3]
    assert program.stats is third and program.elapsed_ms == third.execute_time_ms


def test_a_program_and_its_arrays_go_when_nothing_holds_them():
    before = programs()
    x, y = rows(3), rows(3)
    seen = weakref.ref(x)
    program = copies.compile()
    program.execute(X=x, Y=y)
    del x
    assert seen() is None and programs() == before + 1
    gc.disable()
    try:
        del program
        assert sum(type(each) is pto_wsp.Program for each in gc.get_objects()) == before
    finally:
        gc.enable()


def test_figures_are_read_only_and_are_copied_and_pickled():
    stats = copies.compile().execute(X=rows(40), Y=rows(40))
    for made in (copies_of.copy(stats), copies_of.deepcopy(stats), pickle.loads(pickle.dumps(stats))):
        assert made == stats and hash(made) == hash(stats) and repr(made) == repr(stats)
        assert made.kernels == stats.kernels and made.details["tasks"] == 3
    assert stats != 3
    with pytest.raises(AttributeError):
        stats.num_tasks = 4
    with pytest.raises(errors.ArgumentError, match="WSP1262"):
        pto_wsp.Stats()


def test_what_has_memory_or_threads_is_its_own_copy_and_is_neither_pickled_nor_deeply_copied():
    program, given = copies.compile(), {"X": rows(40), "Y": rows(40)}
    run = program.execute_async(**given)
    run.synchronize()
    graph = pto_wsp.TaskGraph.from_text("extern Z: f32[4]\n")
    for made in (run, program.bind(**given), program.simulate(X=rows(40), Y=rows(40)), graph):
        assert copies_of.copy(made) is made
        for refused in (copies_of.deepcopy, pickle.dumps):
            with pytest.raises(errors.CompileError, match="neither pickled nor copied") as caught:
                refused(made)
            assert caught.value.code == "WSP1223" and caught.value.help


def test_python_kernels_that_run_programs_themselves_go_the_same_way():
    inner = copies.compile()
    Z = tensor(("m", 64), name="Z")
    W = tensor(("m", 64), name="W")

    @python_kernel
    def outer(x: In, y: Out):
        y[...] = 0
        inner.execute(X=np.array(x), Y=y)

    @workload
    def w(m: DenseDyn):
        for i in P(P.ceildiv(m, 2)):
            outer[i](Z[tile(i, 2)], W[tile(i, 2)])

    z, out = np.arange(4 * 64, dtype=np.float32).reshape(4, 64), np.zeros((4, 64), np.float32)
    program = w.compile()
    for _ in range(3):
        program.execute(Z=z, W=out)
        assert np.array_equal(z, out)
        out[...] = 0
