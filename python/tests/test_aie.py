"""Programs of Python on AIE arrays: designs that are interpreted."""

from __future__ import annotations

import numpy as np
import pytest
from pto_wsp import DenseDyn, In, Out, P, Tensor, errors, f32, kernel, load, pto, workload

FILE = """
PTO_SHAPE(x, rows, 32)
PTO_SHAPE(total, rows, 32)
PTO_SHAPE(y, rows, 32)
struct Row { uint32_t first; };
PTO_KERNEL_IMPL(add) {
    auto desc = PTO_GET_DESCRIPTOR<Row>();
    VecTile<float, 8, 32> t;
    VecTile<float, 8, 32> u;
    TLOAD(t, x, {desc.first});
    TLOAD(u, total, {desc.first});
    TADD(t, t, u);
    TSTORE(y, t, {desc.first});
}
"""


@pytest.fixture
def added(tmp_path):
    """`y = x + total`, eight rows a task, for an array."""
    file = tmp_path / "add.pto"
    file.write_text(FILE)
    add = load(file).add

    @workload
    def w(n: DenseDyn) -> None:
        for i in P(P.ceildiv(n, 8)):
            add(first=8 * i)

    return w.compile(target="xdna2")


def arrays(rows=64):
    x = np.arange(rows * 32, dtype=np.float32).reshape(rows, 32)
    return x, x[::-1].copy(), np.zeros((rows, 32), np.float32)


def test_kernels_of_a_file_run_on_an_array(added):
    for rows in (64, 128):
        x, total, y = arrays(rows)
        added.execute(x=x, total=total, y=y, n=len(x))
        assert (y == x + total).all()


def test_arrays_may_lie_anywhere(added):
    x, total, _ = arrays()
    y = np.zeros((32, 64), np.float32).T
    added.execute(x=x[::-1], total=total, y=y, n=len(x))
    assert (y == x[::-1] + total).all()


def test_a_run_is_waited_for(added):
    x, total, y = arrays()
    run = added.execute_async(x=x, total=total, y=y, n=len(x))
    run.synchronize()
    assert (y == x + total).all()


def test_arrays_that_share_memory_are_refused(added):
    x, total, _ = arrays()
    with pytest.raises(errors.WspError, match="share memory"):
        added.execute(x=x, total=total, y=x, n=len(x))


def test_an_array_that_may_only_be_read_is_not_written(added):
    x, total, y = arrays()
    y.flags.writeable = False
    with pytest.raises(errors.WspError):
        added.execute(x=x, total=total, y=y, n=len(x))


def test_what_is_not_whole_tiles_is_refused_and_nothing_is_written(added):
    x, total, y = arrays(60)
    with pytest.raises(errors.WspError, match="tiles of 8 do not divide the 60"):
        added.execute(x=x, total=total, y=y, n=len(x))
    assert not y.any()


def test_a_kernel_of_python_is_answered_with_what_to_write():
    @kernel
    def twice(x: In, y: Out):
        t = pto.load(x)
        pto.store(y, t + t)

    @workload
    def w(x: Tensor[f32, 64, 32], y: Tensor[f32, 64, 32]):
        twice(x, y)

    with pytest.raises(errors.WspError, match="an array needs kernels of a `.pto` file") as told:
        w.compile(target="xdna2")
    assert 'kernel = load("FILE.pto").NAME' in str(told.value)


def test_a_program_for_an_array_is_not_bound(added):
    x, total, y = arrays()
    with pytest.raises(errors.WspError, match="cannot be bound"):
        added.bind(x=x, total=total, y=y, n=len(x))
