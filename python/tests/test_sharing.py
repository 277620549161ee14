"""Arrays that change, are shared or used twice: tables of bound programs, runs at once, lost failures."""

from __future__ import annotations

import array
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from pto_wsp import (
    In,
    InOut,
    Out,
    P,
    Ragged,
    Table,
    TaskGraph,
    Tensor,
    errors,
    f32,
    i64,
    kernel,
    load,
    pto,
    python_kernel,
    workload,
)


@kernel
def copy(x: In, y: Out):
    pto.store(y, pto.load(x))


@workload
def gathered(n, ids: Table[i64, "n"], x: Tensor[f32, "m", 4], y: Tensor[f32, "n", 4]):
    for i in P(n):
        copy[i](x[ids[i]], y[i])


def rows(count: int) -> np.ndarray:
    return np.arange(4 * count, dtype=np.float32).reshape(count, 4)


# Tables.


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "make",
    [
        list,
        np.array,
        lambda v: np.array(v, np.int8),
        lambda v: np.array(v, np.uint16),
        lambda v: np.array(v, np.int16),
        lambda v: np.array([v, v]).T[:, 1],
        lambda v: array.array("i", v),
    ],
)
def test_a_bound_program_reads_its_tables_at_each_call(make, threads):
    ids, x, y = make([0, 1, 2]), rows(5), np.zeros((3, 4), np.float32)
    again = gathered.compile(num_threads=threads).bind(ids=ids, x=x, y=y)
    for wanted in ([0, 1, 2], [4, 3, 2], [4, 4, 4], [0, 1, 2]):
        for at, value in enumerate(wanted):
            ids[at] = value
        again()
        assert (y == x[wanted]).all()


def test_lengths_of_a_ragged_axis_are_read_at_each_call():
    @kernel
    def inc(y: InOut):
        pto.store(y, pto.load(y) + 1.0)

    @workload
    def w(b, tok: Ragged[i64, "b"], y: Tensor[f32, "b", 8]):
        for i in P(b):
            for t in P(tok[i]):
                inc[i, t](y[i, t : t + 1])

    tok = np.array([1, 2, 3])
    y = np.zeros((3, 8), np.float32)
    again = w.compile().bind(tok=tok, y=y)
    again()
    tok[:] = [8, 0, 1]
    again()
    want = [np.r_[np.ones(n), np.zeros(8 - n)] for n in (1, 2, 3)]
    want = np.array(want) + [np.r_[np.ones(n), np.zeros(8 - n)] for n in (8, 0, 1)]
    assert (y == want).all()
    before = y.copy()
    tok[0] = -1
    with pytest.raises(errors.WspError):
        again()
    assert (y == before).all()
    tok[:] = 0
    again()
    assert (y == before).all()


def test_a_list_that_grows_is_checked_again():
    ids, x, y = [0, 1], rows(5), np.zeros((2, 4), np.float32)
    again = gathered.compile().bind(ids=ids, x=x, y=y)
    ids.append(2)
    with pytest.raises(errors.WspError):
        again()
    ids.pop(0)
    again()
    assert (y == x[[1, 2]]).all()


def test_a_size_that_is_an_array_is_read_at_each_call():
    @workload
    def first(k, x: Tensor[f32, "m", 4], y: Tensor[f32, "m", 4]):
        for i in P(k):
            copy[i](x[i], y[i])

    k, x, y = np.array(1), rows(3), np.zeros((3, 4), np.float32)
    again = first.compile().bind(k=k, x=x, y=y)
    again()
    assert (y[1:] == 0).all()
    k[...] = 3
    again()
    assert (y == x).all()
    other = np.array(int(k))
    again.rebind(k=other)
    other[...] = 1
    y[...] = 0
    again()
    assert (y[0] == x[0]).all() and (y[1:] == 0).all()


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
)
def test_tables_of_all_integers(dtype):
    ids, x, y = np.array([1, 0, 1]).astype(dtype), rows(2), np.zeros((3, 4), np.float32)
    gathered.compile().execute(ids=ids, x=x, y=y)
    assert (y == x[[1, 0, 1]]).all()


def test_negative_values_of_small_integers_keep_their_sign():
    @workload
    def shifted(n, ids: Table[i64, "n"], x: Tensor[f32, "m", 4], y: Tensor[f32, "n", 4]):
        for i in P(n):
            copy[i](x[ids[i] + 200], y[i])

    x = rows(400)
    for dtype in (np.int8, np.int16):
        y = np.zeros((3, 4), np.float32)
        shifted.compile().execute(ids=np.array([-128, 127, -1], dtype), x=x, y=y)
        assert (y == x[[72, 327, 199]]).all()


@pytest.mark.parametrize(
    ("ids", "code"),
    [
        (np.array([0.0, 1.0], np.float32), "WSP1263"),
        (np.array([0, 1j]), "WSP1263"),
        (np.array([[0, 1]]), "WSP1263"),
        (np.array([0, 2**64 - 1], np.uint64), "WSP1263"),
        (np.array([0, 1], ">i2"), "WSP1256"),
        (np.array([0, 1], ">i8"), "WSP1256"),
        ([0, 1.5], "WSP1263"),
        ("01", "WSP1250"),
    ],
)
def test_what_is_no_table_says_what_is(ids, code):
    with pytest.raises(errors.ArgumentError) as refused:
        gathered.compile().execute(ids=ids, x=rows(2), y=np.zeros((2, 4), np.float32))
    assert refused.value.code == code
    assert code != "WSP1263" or any("int64" in help for help in refused.value.help)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.bool_])
def test_arrays_of_small_integers_are_refused_for_tensors_of_another_type(dtype):
    with pytest.raises(errors.ArgumentError) as refused:
        gathered.compile().execute(ids=[0], x=np.zeros((1, 4), dtype), y=np.zeros((1, 4), np.float32))
    assert "np.float32" in refused.value.help[0]


# Failures.


@python_kernel
def checked(x: InOut):
    if x[0] < 0:
        raise ValueError(f"bad input {x[0]}")
    x += 1


@workload
def checking(x: Tensor[f32, 4]):
    checked(x)


def ended(run):
    while not run.is_complete():
        pass
    return run


def filled(value):
    return np.full(4, value, np.float32)


def test_synchronize_raises_what_failed_first_whatever_came_after():
    program = checking.compile()
    first = filled(0)
    ended(program.execute_async(x=first))
    ended(program.execute_async(x=filled(-1)))
    ended(program.execute_async(x=filled(-2)))
    last = filled(0)
    for _ in range(3):
        ended(program.execute_async(x=last))
    with pytest.raises(errors.KernelError, match="bad input -1"):
        program.synchronize()
    assert (first == 1).all() and (last == 3).all()
    program.synchronize()


def test_synchronize_waits_for_runs_behind_one_that_failed():
    gate, release = threading.Event(), threading.Event()

    @python_kernel
    def waits(x: InOut):
        if x[0] < 0:
            raise ValueError("bad input")
        gate.set()
        release.wait(60)
        x += 1

    @workload
    def w(x: Tensor[f32, 4]):
        waits(x)

    program, x = w.compile(), filled(0)
    ended(program.execute_async(x=filled(-1)))
    program.execute_async(x=x)
    gate.wait(60)
    threading.Timer(0.05, release.set).start()
    with pytest.raises(errors.KernelError):
        program.synchronize()
    assert (x == 1).all()


def test_a_failure_that_its_run_has_raised_is_not_raised_again():
    program = checking.compile()
    run = program.execute_async(x=filled(-1))
    with pytest.raises(errors.KernelError):
        run.synchronize()
    program.execute_async(x=filled(1))
    program.synchronize()


# Runs at the same time.


@pytest.fixture
def held():
    """A program that reads `a` and writes `b`; a call starts a run, which then waits."""
    started, release = threading.Semaphore(0), threading.Event()

    @python_kernel
    def waits(a: In, b: InOut):
        started.release()
        release.wait(60)
        b += a

    @workload
    def w(a: Tensor[f32, "n", "m"], b: Tensor[f32, "n", "m"]):
        waits(a, b)

    program, runs = w.compile(), []

    def start(a, b):
        runs.append(program.execute_async(a=a, b=b))
        started.acquire(timeout=60)
        return runs[-1]

    start.program = program
    start.release = release.set
    yield start
    release.set()
    for run in runs:
        run.synchronize()


def refused(call):
    with pytest.raises(errors.ArgumentError) as error:
        call()
    assert error.value.code == "WSP1268"
    return error.value


def ones(*shape):
    return np.ones(shape, np.float32)


def test_of_two_runs_at_once_neither_writes_what_the_other_uses(held):
    a, b, other = ones(2, 4), ones(2, 4), ones(2, 4)
    held(a, b)
    p = held.program
    assert "`b`" in refused(lambda: p.execute_async(a=a, b=b)).message
    assert "`a`" in refused(lambda: p.execute_async(a=b, b=other)).message
    assert "`b`" in refused(lambda: p.execute(a=other, b=a)).message
    bound = p.bind(a=other, b=b)
    refused(bound)
    # What both only read may be read by both.
    held(a, other)
    held.release()
    p.synchronize()
    assert (b == 2).all() and (other == 2).all()
    bound()
    assert (b == 4).all()


def test_parts_of_one_buffer(held):
    whole, a = np.zeros((8, 8), np.float32), ones(4, 4)
    held(a, whole[:4, :4])
    for part in (
        whole[3:7, 3:7],
        whole[:4, 1:5],
        whole[::2, ::2],
        whole.T[:4, :4],
        whole.reshape(-1)[:16].reshape(4, 4),
    ):
        refused(lambda part=part: held.program.execute_async(a=a, b=part))
    for part in (whole[:4, 4:], whole[4:, :4], whole[4:, 4:].T):
        held(a, part)
    held.release()
    held.program.synchronize()
    assert (whole == 1).all()


def test_arrays_of_a_run_are_free_when_it_has_ended_or_failed():
    program, x = checking.compile(), filled(-1)
    for _ in range(3):
        with pytest.raises(errors.KernelError):
            program.execute(x=x)
        with pytest.raises(errors.KernelError):
            program.execute_async(x=x).synchronize()
    x[:] = 0
    for _ in range(10):
        program.execute_async(x=x).synchronize()
    assert (x == 10).all()


def test_a_program_of_a_file_does_not_write_what_another_run_reads(held):
    x, y = ones(40, 64), ones(40, 64)
    held(y, np.zeros_like(y))
    program = load(Path(__file__).parents[2] / "examples/row_softmax.pto").program()
    error = refused(lambda: program.execute(x=x, y=y))
    assert "`y`" in error.message and "reads it, as `a`, and this one writes it" in error.notes[0]
    assert (y == 1).all()
    held.release()
    held.program.synchronize()
    program.execute(x=x, y=y)
    assert np.allclose(y, 1 / 64)


def test_task_graphs_do_not_copy_what_a_run_writes(held):
    graph = TaskGraph.from_text(
        "extern X: f32[8]\nextern Y: f32[8]\n"
        "TG_BEGIN(G)\nTG_KERNEL(K, k, 1, AIV, 0)\nMC_BIND(K, 0, X)\nMC_BIND(K, 1, Y)\nTG_END(G)\n"
    )

    @graph.kernel("k", In[f32], Out[f32])
    def k(block, x, y):
        y[...] = x

    a, b = ones(1, 8), ones(1, 8)
    held(a, b)
    assert "`X`" in refused(lambda: graph.run({"X": b[0]})).message
    assert (graph.run({"X": a[0]})["Y"] == 1).all()
    held.release()
    held.program.synchronize()
    assert (graph.run({"X": b[0]})["Y"] == 2).all()


def test_a_table_that_a_run_writes_is_not_read_meanwhile(held):
    started, release = threading.Event(), threading.Event()

    @python_kernel
    def counts(t: InOut):
        started.set()
        release.wait(60)
        t[...] = 1

    @workload
    def counting(t: Tensor[i64, "n"]):
        counts(t)

    ids = np.zeros(2, np.int64)
    run = counting.compile().execute_async(t=ids)
    started.wait(60)
    x, y = rows(2), np.zeros((2, 4), np.float32)
    refused(lambda: gathered.compile().execute(ids=ids, x=x, y=y))
    release.set()
    run.synchronize()
    gathered.compile().execute(ids=ids, x=x, y=y)
    assert (y == x[[1, 1]]).all()


def test_a_python_kernel_may_run_a_program_on_its_own_region():
    @kernel
    def double(x: InOut):
        pto.store(x, pto.load(x) * 2.0)

    @workload
    def inner(x: Tensor[f32, 1, 4]):
        double(x)

    program = inner.compile(num_threads=1)

    @python_kernel
    def outer(x: InOut):
        program.execute(x=x.reshape(1, 4))

    @workload
    def w(n, x: Tensor[f32, "n", 4]):
        for i in P(n):
            outer[i](x[i])

    x = ones(5, 4)
    w.compile(num_threads=1).execute(x=x)
    assert (x == 2).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_child_of_a_fork_has_none_of_the_runs(held):
    a, b = ones(2, 4), ones(2, 4)
    run = held(a, b)
    child = os.fork()
    if child == 0:
        try:
            try:
                run.wait(0.0)
                os._exit(1)
            except errors.ExecutionError:
                pass
            program = checking.compile(num_threads=1)
            x = b.reshape(-1)[:4]
            program.execute(x=x)
            os._exit(0 if (x == 2).all() else 2)
        finally:
            os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# Runs inside of tasks.


@pytest.mark.parametrize("wait", [lambda run: run.wait(0.01), lambda run: next(iter(run.__await__()))])
def test_a_kernel_does_not_wait_for_its_own_run(wait):
    begun, made = threading.Event(), []

    @python_kernel
    def waits(a: InOut):
        begun.wait(60)
        wait(*made)

    @workload
    def w(a: Tensor[f32, 4]):
        waits(a)

    made.append(w.compile(num_threads=2).execute_async(a=np.zeros(4, np.float32)))
    begun.set()
    with pytest.raises(errors.KernelError) as failed:
        made[0].synchronize()
    assert failed.value.code == "WSP1270" and "`run.is_complete()`" in str(failed.value)


def test_a_kernel_asks_a_run_that_has_ended():
    ended = checking.compile(num_threads=1).execute_async(x=ones(4))
    ended.synchronize()

    @python_kernel
    def asks(a: InOut):
        a += ended.synchronize().num_tasks

    @workload
    def w(a: Tensor[f32, 4]):
        asks(a)

    a = np.zeros(4, np.float32)
    w.compile(num_threads=2).execute(a=a)
    assert (a == 1).all()


def test_a_run_that_may_outlive_its_task_is_refused():
    x, y, inner, runs = rows(4), np.zeros((4, 4), np.float32), gathered.compile(), []
    given = {"ids": [3, 2, 1, 0], "x": x, "y": y}

    @python_kernel
    def starts(a: InOut):
        runs.append(inner.execute_async(**given))

    @python_kernel
    def executes(a: InOut):
        inner.execute(**given)
        a += 1

    def over(k):
        @workload
        def w(a: Tensor[f32, 4]):
            k(a)

        return w.compile()

    with pytest.raises(errors.KernelError) as failed:
        over(starts).execute(a=np.zeros(4, np.float32))
    cause = failed.value.__context__
    assert cause.code == "WSP1270" and "`execute(…)`" in str(cause)
    assert not runs and not y.any()
    over(executes).execute(a=np.zeros(4, np.float32))
    assert (y == x[::-1]).all()
    graph = TaskGraph.from_text(
        "extern Y: f32[4]\nTG_BEGIN(G)\n  TG_KERNEL(K, starts, 1, AIV, 0)\n  MC_BIND(K, 0, Y)\nTG_END(G)\n"
        "TG_LAUNCH(G, default)\n"
    )
    graph.kernel("starts", InOut[f32])(lambda block, y: runs.append(inner.execute_async(**given)))
    with pytest.raises(errors.WspError) as failed:
        graph.run({"Y": np.zeros(4, np.float32)})
    assert failed.value.__context__.code == "WSP1270" and not runs
