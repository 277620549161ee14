"""Size does not matter: what is compiled is as large for ten million tasks as for a hundred, and memory stays
flat.

Sizes are counted in bytes of programs, nodes of loops and pages of memory; nothing here is timed.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from pto_wsp import In, InOut, Out, P, TaskWindow, f32, kernel, pto, python_kernel, tensor, tile, workload

X = tensor((64, 16), f32)


@kernel
def add_one(x: InOut):
    pto.store(x, pto.load(x) + 1.0)


@python_kernel
def add_one_in_python(x: InOut):
    x += 1.0


@workload
def tasks(n):
    for i in P(n):
        add_one[i](X[i % 64])


@workload
def python_tasks(n):
    for i in P(n):
        add_one_in_python[i](X[i % 64])


def resident_bytes() -> int:
    """Memory of this process that is in use now."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096


@pytest.mark.parametrize("fewer, more", [(100, 10_000_000)])
def test_a_program_for_ten_million_tasks_has_the_bytes_of_one_for_a_hundred(fewer: int, more: int) -> None:
    assert tasks.compile().to_bytes() == tasks.compile().to_bytes()
    small, large = tasks(fewer).compile(), tasks(more).compile()
    # A bound size stands in the program as text: ten million has five digits more than a hundred.
    assert abs(len(large.to_bytes()) - len(small.to_bytes())) <= 64
    assert repr(tasks(more)).count("\n") == repr(tasks(fewer)).count("\n")


def test_what_compiling_allocates_does_not_grow_with_the_number_of_tasks() -> None:
    def peak(n: int) -> int:
        gc.collect()
        tracemalloc.start()
        tasks(n).compile()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(100)
    assert peak(10_000_000) <= 1.25 * peak(100)


@pytest.mark.parametrize("options", [{}, {"num_threads": 4}, {"enable_debug": True}], ids=str)
def test_a_hundred_thousand_tasks_run(options: dict[str, object]) -> None:
    x = np.zeros((64, 16), np.float32)
    stats = tasks.compile(**options).execute(n=100_000, X=x)
    assert stats.num_tasks == 100_000
    expected = 100_000 // 64 + (np.arange(64) < 100_000 % 64)
    assert np.array_equal(x, np.broadcast_to(expected[:, None], x.shape).astype(np.float32))


def test_a_python_kernel_runs_ten_thousand_tasks_and_counts_them_alike() -> None:
    x, y = np.zeros((64, 16), np.float32), np.zeros((64, 16), np.float32)
    assert python_tasks.compile(num_threads=2).execute(n=10_000, X=x).num_tasks == 10_000
    tasks.compile().execute(n=10_000, X=y)
    assert np.array_equal(x, y)


def after_each(rounds: int, action: Callable[[], object]) -> list[int]:
    """Memory after each round."""
    found = []
    for _ in range(rounds):
        action()
        gc.collect()
        found.append(resident_bytes())
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("options", [{"enable_debug": True}, {"num_threads": 2}], ids=str)
def test_repeated_runs_leave_memory_as_it_was(options: dict[str, object]) -> None:
    program = tasks.compile(**options)
    x = np.zeros((64, 16), np.float32)
    used = after_each(30, lambda: program.execute(n=20_000, X=x))
    # Threads come and go with some megabytes of the allocator; a word kept per task would add 2.4 MB to the
    # later half.
    assert min(used[15:]) <= max(used[:15]) + (1 << 20)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_window_keeps_the_memory_of_a_million_tasks_flat() -> None:
    program = tasks.task_graph(window=TaskWindow(1024, mode="stall")).compile(num_threads=2)
    x = np.zeros((64, 16), np.float32)
    program.execute(n=50_000, X=x)
    gc.collect()
    before = resident_bytes()
    assert program.execute(n=1_000_000, X=x).num_tasks == 1_000_000
    gc.collect()
    assert resident_bytes() - before < 8 << 20


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_compiling_again_and_again_leaves_memory_as_it_was() -> None:
    used = after_each(60, tasks.compile)
    assert min(used[30:]) <= max(used[:30]) + (1 << 20)


def test_new_shapes_need_no_new_program() -> None:
    rows = tensor(("m", 32), f32)
    out = tensor(("m", 32), f32)

    @kernel
    def double(x: In, y: Out):
        pto.store(y, pto.load(x) * 2.0)

    @workload
    def doubled(m):
        for i in P(P.ceildiv(m, 16)):
            double[i](rows[tile(i, 16)], out[tile(i, 16)])

    program = doubled.compile()
    before = program.to_bytes()
    for m in (0, 1, 15, 16, 17, 1000):
        x, y = np.ones((m, 32), np.float32), np.zeros((m, 32), np.float32)
        assert program.execute(rows=x, out=y).num_tasks == -(-m // 16)
        assert (y == 2).all()
    assert program.to_bytes() == before
