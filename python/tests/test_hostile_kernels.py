"""Python kernels that do what they should not: each ends as a failure of its task, or leaves memory and later
runs as they should be.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pto_wsp import DenseDyn, In, InOut, Out, P, bf16, errors, f32, python_kernel, tensor, workload

X = tensor(("n", 4), f32)
Y = tensor(("n", 4), f32)


def program(function: Callable[..., Any], threads: int = 1) -> Any:
    """A task of the function for each row."""
    k = python_kernel(function)

    @workload
    def w(n: DenseDyn) -> None:
        for i in P(n):
            k[i](X[i : i + 1], Y[i : i + 1])

    return w.compile(num_threads=threads)


def pair(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(n * 4, dtype=np.float32).reshape(n, 4), np.zeros((n, 4), np.float32)


@pytest.fixture(params=[1, 2])
def threads(request: pytest.FixtureRequest) -> int:
    return request.param


def test_views_live_when_the_arrays_of_the_caller_are_gone(threads: int) -> None:
    kept: list[np.ndarray] = []

    def keeps(x: In, y: Out) -> None:
        y[...] = x + 1
        kept.extend((x, y))

    made = program(keeps, threads)
    for _ in range(3):
        x, y = pair(8)
        seen = weakref.ref(x)
        made.execute(X=x, Y=y)
        del x, y
        gc.collect()
    # Views hold the memory: it is neither freed nor given to others.
    blocks = [np.full((8, 4), -1, np.float32) for _ in range(50)]
    assert seen() is not None and len(kept) == 48
    for read, written in zip(kept[::2], kept[1::2], strict=True):
        assert (written == read + 1).all() and (read >= 0).all()
    del read, written
    kept.clear()
    gc.collect()
    assert seen() is None and all((block == -1).all() for block in blocks)


def test_views_of_buffers_live_when_their_program_is_gone() -> None:
    from pto_wsp import Buffer

    kept: list[np.ndarray] = []

    @python_kernel
    def fills(z: Out) -> None:
        z[...] = 7
        kept.append(z)

    @workload
    def w() -> None:
        fills(Buffer((64, 64), f32))

    w.compile().execute()
    gc.collect()
    blocks = [np.zeros((64, 64), np.float32) for _ in range(20)]
    assert (kept[0] == 7).all() and not any(block.any() for block in blocks)


def test_an_input_cannot_be_made_writable(threads: int) -> None:
    def opens(x: In, y: Out) -> None:
        x.setflags(write=True)
        x[...] = 0

    x, y = pair(3)
    with pytest.raises(errors.KernelError, match="WRITEABLE"):
        program(opens, threads).execute(X=x, Y=y)
    assert x[2, 3] == 11


def test_memory_of_a_view_cannot_be_made_larger_or_other(threads: int) -> None:
    def grows(x: In, y: Out) -> None:
        y.resize((1000, 4))

    def refers(x: In, y: Out) -> None:
        y.shape = (400, 4)
        y[...] = 1

    x, y = pair(3)
    for function in (grows, refers):
        with pytest.raises(errors.KernelError) as caught:
            program(function, threads).execute(X=x, Y=y)
        assert caught.value.code == "WSP0856" and isinstance(caught.value.__cause__, ValueError)
    assert not y.any()


def test_form_and_type_that_a_kernel_gives_its_view_are_those_of_the_view(threads: int) -> None:
    def turns(x: In, y: Out) -> None:
        y[...] = x
        y.shape = (4, 1)
        y.dtype = np.int32

    x, y = pair(5)
    made = program(turns, threads)
    for _ in range(2):
        y[...] = 0
        made.execute(X=x, Y=y)
        assert np.array_equal(x, y) and y.dtype == np.float32 and y.shape == (5, 4)


@pytest.mark.parametrize("value", [0, False, "", (), np.zeros(3)])
def test_every_value_that_is_returned_is_refused(value: Any) -> None:
    def returns(x: In, y: Out) -> Any:
        y[...] = x
        return value

    x, y = pair(2)
    with pytest.raises(errors.KernelError, match="returns"):
        program(returns).execute(X=x, Y=y)


def test_a_shape_that_does_not_fit_fails_the_task_and_not_the_next_run(threads: int) -> None:
    wrong = [True]

    def stores(x: In, y: Out) -> None:
        y[...] = np.zeros((2, 3)) if wrong[0] else x

    x, y = pair(4)
    made = program(stores, threads)
    with pytest.raises(errors.KernelError, match="broadcast"):
        made.execute(X=x, Y=y)
    wrong[0] = False
    made.execute(X=x, Y=y)
    assert np.array_equal(x, y)


class Own(BaseException):
    pass


@pytest.mark.parametrize(
    "kind", [KeyboardInterrupt, SystemExit, GeneratorExit, Own, StopIteration, MemoryError]
)
def test_whatever_is_raised_ends_the_run_alone(kind: type[BaseException], threads: int) -> None:
    at: list[int] = []

    def raises(x: In, y: Out) -> None:
        at.append(1)
        if len(at) == 2:
            raise kind("enough")
        y[...] = x

    x, y = pair(6)
    made = program(raises, threads)
    with pytest.raises(BaseException) as caught:
        made.execute(X=x, Y=y)
    error = caught.value
    # What is no `Exception` is the caller's own.
    assert isinstance(error if not issubclass(kind, Exception) else error.__cause__, kind)
    made.execute(X=x, Y=y)
    assert np.array_equal(x, y)


def test_an_exception_keeps_no_array(threads: int) -> None:
    def raises(x: In, y: Out) -> None:
        raise ValueError

    x, y = pair(2)
    seen = weakref.ref(x)
    made = program(raises, threads)
    try:
        made.execute(X=x, Y=y)
    except errors.KernelError:
        pass
    del x, y
    gc.collect()
    assert seen() is None


def test_recursion_without_end_is_an_error(threads: int) -> None:
    def deeper(x: In, y: Out) -> None:
        deeper(x, y)

    x, y = pair(1)
    with pytest.raises(errors.KernelError) as caught:
        program(deeper, threads).execute(X=x, Y=y)
    assert isinstance(caught.value.__cause__, RecursionError)


def test_a_kernel_runs_its_own_program(threads: int) -> None:
    depth = [0]

    def again(x: In, y: Out) -> None:
        y[...] = x
        if depth[0] < 3:
            depth[0] += 1
            inner_x, inner_y = pair(2)
            made.execute(X=inner_x, Y=inner_y)
            assert np.array_equal(inner_x, inner_y)

    made = program(again, threads)
    x, y = pair(2)
    for _ in range(3):
        depth[0] = 0
        y[...] = 0
        made.execute(X=x, Y=y)
        assert np.array_equal(x, y)


def test_programs_are_made_and_bound_in_a_kernel(threads: int) -> None:
    def makes(x: In, y: Out) -> None:
        def copies(a: In, b: Out) -> None:
            b[...] = a

        inner = program(copies)
        bound = inner.bind(X=np.array(x), Y=y)
        bound()
        y += 1

    x, y = pair(3)
    program(makes, threads).execute(X=x, Y=y)
    assert np.array_equal(y, x + 1)


def test_runs_that_outlive_a_task_are_refused(threads: int) -> None:
    def starts(x: In, y: Out) -> None:
        y[...] = x
        made.execute_async(X=x, Y=y)

    made = program(starts, threads)
    x, y = pair(2)
    with pytest.raises(errors.KernelError) as caught:
        made.execute(X=x, Y=y)
    assert caught.value.code == "WSP1270"


def test_threads_of_a_kernel_have_its_arrays_and_no_task(threads: int) -> None:
    found: list[Any] = []

    def starts(x: In, y: Out) -> None:
        def other() -> None:
            y[...] = x
            try:
                made.execute(X=np.array(x), Y=y)
            except errors.WspError as error:
                found.append(error.code)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    made = program(starts, threads)
    x, y = pair(2)
    made.execute(X=x, Y=y)
    assert np.array_equal(x, y)
    # On a thread of its own a run is none of the task: the array is in use.
    assert found == ["WSP1268"] * 2


def test_a_thread_that_goes_on_sees_live_memory(threads: int) -> None:
    go, seen, running = threading.Event(), [], []

    def starts(x: In, y: Out) -> None:
        def later() -> None:
            go.wait(30)
            seen.append(float(x.sum()))

        y[...] = x
        running.append(threading.Thread(target=later))
        running[-1].start()

    x, y = pair(3)
    want = [float(row.sum()) for row in x]
    program(starts, threads).execute(X=x, Y=y)
    del x, y
    gc.collect()
    blocks = [np.full((3, 4), 9, np.float32) for _ in range(50)]
    go.set()
    for thread in running:
        thread.join()
    assert sorted(seen) == want and len(blocks) == 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_that_is_forked_in_a_task_ends_by_itself(threads: int) -> None:
    ended: list[int] = []

    def forks(x: In, y: Out) -> None:
        child = os.fork()
        if child == 0:
            # What the child writes stays there.
            y[...] = -1
            os._exit(5)
        ended.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        y[...] = x

    x, y = pair(3)
    made = program(forks, threads)
    for _ in range(2):
        made.execute(X=x, Y=y)
        assert np.array_equal(x, y)
    assert ended == [5] * 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_runs_programs_of_its_own() -> None:
    ended: list[int] = []

    def forks(x: In, y: Out) -> None:
        child = os.fork()
        if child == 0:
            inner_x, inner_y = pair(4)
            inner.execute(X=inner_x, Y=inner_y)
            os._exit(0 if np.array_equal(inner_x, inner_y) else 1)
        ended.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        y[...] = x

    def copies(x: In, y: Out) -> None:
        y[...] = x

    inner = program(copies)
    x, y = pair(2)
    program(forks).execute(X=x, Y=y)
    assert ended == [0, 0] and np.array_equal(x, y)


@pytest.mark.parametrize("rows", [0, 1])
def test_regions_without_elements_are_arrays_without_elements(rows: int) -> None:
    seen: list[tuple[int, ...]] = []

    @python_kernel
    def looks(x: In, y: InOut) -> None:
        seen.append(x.shape)
        y += 1

    @workload
    def w(n: DenseDyn) -> None:
        looks(X[0:n, 2:2], Y[0:n])

    x, y = pair(rows)
    w.compile().execute(X=x, Y=y)
    assert seen == [(rows, 0)] and (y == 1).all()


def test_elements_that_are_not_aligned_are_marked_so(threads: int) -> None:
    flags: list[bool] = []

    def copies(x: In, y: Out) -> None:
        flags.append(x.flags.aligned)
        y[...] = x

    memory = bytearray(4 * 4 * 3 + 1)
    x = np.frombuffer(memory, np.float32, 12, 1).reshape(3, 4)
    x[...] = pair(3)[0]
    y = np.zeros((3, 4), np.float32)
    program(copies, threads).execute(X=x, Y=y)
    assert np.array_equal(x, y) and flags == [False] * 3


def test_views_are_of_the_exact_type_and_hold_what_holds_memory() -> None:
    class Mine(np.ndarray):
        pass

    kinds: list[type] = []

    def copies(x: In, y: Out) -> None:
        kinds.append(type(x))
        y[...] = x
        assert x.base is not None and not isinstance(x.base, np.ndarray)

    x, y = pair(2)
    program(copies).execute(X=x.view(Mine), Y=y)
    assert kinds == [np.ndarray] * 2 and np.array_equal(x, y)


def test_references_are_given_back(threads: int) -> None:
    def copies(x: In, y: Out) -> None:
        y[...] = x

    made = program(copies, threads)
    x, y = pair(8)
    made.execute(X=x, Y=y)
    gc.collect()
    before = (sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(np.dtype("f4")), sys.getrefcount(None))
    for _ in range(200):
        made.execute(X=x, Y=y)
    after = (sys.getrefcount(x), sys.getrefcount(y), sys.getrefcount(np.dtype("f4")), sys.getrefcount(None))
    assert all(abs(b - a) < 50 for a, b in zip(before, after, strict=True)), (before, after)


def test_a_module_that_replaces_names_of_numpy_changes_no_array(monkeypatch: pytest.MonkeyPatch) -> None:
    def copies(x: In, y: Out) -> None:
        assert x.__class__ is KIND
        y[...] = x

    KIND = np.ndarray
    made = program(copies)
    x, y = pair(2)
    monkeypatch.setattr(np, "asarray", None)
    monkeypatch.setattr(np, "ndarray", list)
    made.execute(X=x, Y=y)
    monkeypatch.undo()
    assert np.array_equal(x, y)


def test_bf16_is_that_of_ml_dtypes_in_every_thread(threads: int) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    A = tensor(("n", 4), bf16, name="A")
    B = tensor(("n", 4), bf16, name="B")
    seen: list[Any] = []

    @python_kernel
    def copies(a: In, b: Out) -> None:
        seen.append(a.dtype)
        b[...] = a

    @workload
    def w(n: DenseDyn) -> None:
        for i in P(n):
            copies[i](A[i], B[i])

    a = pair(4)[0].astype(ml_dtypes.bfloat16)
    b = np.zeros_like(a)
    w.compile(num_threads=threads).execute(A=a, B=b)
    assert seen == [np.dtype(ml_dtypes.bfloat16)] * 4 and a.tobytes() == b.tobytes()
