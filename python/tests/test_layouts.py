"""Layouts through kernels in Python: what no tile has is refused at its line, what is not followed told."""

from __future__ import annotations

import linecache

import numpy as np
import pytest
from pto_wsp import (
    Buffer,
    In,
    InOut,
    Out,
    P,
    Slot,
    errors,
    f32,
    i32,
    kernel,
    pto,
    python_kernel,
    tensor,
    tile,
    workload,
)

N = 64
A, B, C, D = (tensor((N, N), f32) for _ in range(4))
INDEX = tensor((N,), i32)


@kernel
def product(a: In, b: In, c: Out):
    pto.store(c, pto.matmul(pto.load(a), pto.load(b)))  # split


@kernel
def softened(a: In, b: In, c: Out):
    pto.store(c, pto.exp(pto.matmul(pto.load(a), pto.load(b))))  # read


@kernel
def twice(x: In, y: Out):
    pto.store(y, pto.load(x) * 2)  # read


@kernel
def part_of(a: In, b: In, c: InOut):
    pto.atomic_add(c, pto.matmul(pto.load(a), pto.load(b)))  # split


@kernel
def back(a: In, b: In, c: Out, again: In, d: Out):
    pto.store(c, pto.matmul(pto.load(a), pto.load(b)))
    pto.store(d, pto.load(again))  # read


@kernel
def picked(index: In, x: In, y: Out):
    pto.store(y, pto.load(x[index[40] : index[40] + 1]))  # read


@python_kernel
def doubled(x: In, y: Out):
    y[:] = x * 2


@workload
def one():
    product(A, B, C)


@workload
def soft():
    softened(A, B, C)


@workload
def chained():
    middle = Buffer((N, N), f32)
    product(A, B, middle)
    twice(middle, C)


@workload
def to_native():
    middle = Buffer((N, N), f32)
    product(A, B, middle)
    doubled(middle, C)  # read


@workload
def split():
    for k in P(4):
        part_of[k](A[:, tile(k, 16)], B[tile(k, 16)], C)


@workload
def in_one_task():
    back(A, B, C, C, D)


@workload
def by_index():
    picked(INDEX, A, C[0:1])


@python_kernel
def one_less(left: InOut):
    left[0] -= 1


@workload
def by_tasks():
    left = Slot(2)
    for _ in P.loop(left > 0, 5):
        twice(A, C)
        one_less(left)


@workload
def native():
    for i in P(2):
        doubled[i](A[tile(i, 32)], C[tile(i, 32)])


def arrays(w) -> dict[str, np.ndarray]:
    """Small integers: sums are exact in any order."""
    rng = np.random.default_rng(1)
    given = {
        name: rng.integers(-4, 4, (N, N)).astype(np.float32) for name in "ABCD" if f"tensor {name}:" in w
    }
    if "tensor INDEX:" in w:
        given["INDEX"] = np.zeros(N, np.int32)
    return given


def inner(w):
    """The columns of `A` and the rows of `B` are sharded: every product is split."""
    return w.spatial_map(grid=(2, 2)).layout("A", ["replicate", "x"]).layout("B", ["x", "replicate"])


def run(w):
    """A run on two threads, with its results."""
    program = w.compile(num_threads=2)
    given = arrays("".join(f"tensor {name}:" for name in program.arguments))
    return program.execute(**given), given


REFUSED = {
    "a result of pending sums": (lambda: inner(one), "WSP0430", "split", '.relayout("C", '),
    "an operation that is not linear": (lambda: inner(soft), "WSP0430", "read", '.relayout("A", '),
    "a load of pending sums": (lambda: inner(chained), "WSP0430", "read", '.relayout("middle", '),
    "a kernel that is not followed": (lambda: inner(to_native), "WSP0430", "read", '.relayout("middle", '),
    "a sum that is cut into tasks": (lambda: inner(split), "WSP0430", "split", '.relayout("C", '),
    "a load of what the task has stored": (lambda: inner(in_one_task), "WSP0430", "read", '.relayout("A", '),
    "a number": (
        lambda: by_index.spatial_map(grid=(2, 1)).layout("INDEX", ["x"]),
        "WSP0431",
        "read",
        '.relayout("INDEX", ["replicate"])',
    ),
}


@pytest.mark.parametrize(("make", "code", "mark", "help"), REFUSED.values(), ids=REFUSED.keys())
def test_what_no_tile_has_is_refused_at_its_line(make, code, mark, help):
    w = make()
    program = w.compile(num_threads=2)
    given = arrays("".join(f"tensor {name}:" for name in program.arguments))
    for call in (program.execute, program.graph, program.simulate):
        values = given if call == program.execute else {}
        with pytest.raises(errors.ScheduleError) as refused:
            call(**values)
        error = refused.value
        assert error.code == code
        assert linecache.getline(error.file, error.line).rstrip().endswith(f"# {mark}"), str(error)
        assert any(help in each for each in error.help), error.help


def test_a_relayout_adds_the_parts_up():
    plain, given = run(one)
    stats, placed = run(inner(one).relayout("C", ["replicate", "replicate"]))
    np.testing.assert_array_equal(given["C"], given["A"] @ given["B"])
    np.testing.assert_array_equal(placed["C"], given["C"])
    assert "relayout(C): all-reduce over x" in stats.details["grid"]
    assert plain.details["grid"] == []
    assert stats.details["notes"] == []


def test_a_sum_that_is_cut_into_tasks_is_added_up():
    stats, given = run(inner(split).relayout("C", ["replicate", "replicate"]))
    assert "relayout(C): all-reduce over x" in stats.details["grid"]
    assert stats.num_tasks == 4


def test_what_lies_within_one_tile_is_followed_as_whole():
    rows = one.spatial_map(grid=(2, 2)).layout("B", ["replicate", "x"]).layout("C", ["replicate", "x"])
    stats, given = run(rows)
    np.testing.assert_array_equal(given["C"], given["A"] @ given["B"])
    assert stats.details["notes"] == []


def test_a_kernel_that_is_not_followed_is_told_of_once():
    w = native.spatial_map(grid=(2, 1)).layout("A", ["replicate", "x"]).layout("C", ["replicate", "x"])
    stats, given = run(w)
    np.testing.assert_array_equal(given["C"], given["A"] * 2)
    (note,) = stats.details["notes"]
    assert "layouts are not followed through kernel `doubled`" in note
    assert "doubled[i](A[" in note
    within = native.spatial_map(grid=(2, 1)).layout("A", ["x", "replicate"])
    assert run(within)[0].details["notes"] == []


def test_what_tasks_decide_on_is_told_of():
    w = by_tasks.spatial_map(grid=(2, 1)).layout("A", ["x", "replicate"]).layout("C", ["x", "replicate"])
    stats, given = run(w)
    np.testing.assert_array_equal(given["C"], given["A"] * 2)
    assert stats.num_tasks == 4
    (note,) = stats.details["notes"]
    assert "layouts are followed through the first 2 tasks only" in note
