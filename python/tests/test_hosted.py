"""Programs of Python as packages that the host runs: arrays are handed to another process."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
from pto_wsp import errors, load

FILE = """
PTO_SHAPE(x, rows, 16)
PTO_SHAPE(y, rows, 16)
PTO_SPACE(Rows) { PTO_AXIS(row, 0, rows) }
struct A { uint32_t row; };
PTO_DESCRIPTOR_GEN(Rows) { PTO_SCHEDULED_FOR(row) { PTO_EMIT_DESCRIPTOR(A{ .row = row }); } }
PTO_KERNEL_IMPL(copy) {
    auto d = PTO_GET_DESCRIPTOR<A>();
    VecTile<float, 1, 16> t;
    TLOAD(t, x, {d.row, 0});
    TSTORE(y, t, {d.row, 0});
}
void go(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(Rows, { .x = x, .y = y }); }
"""


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """`y = x`, compiled into a cache of its own."""
    file = tmp_path / "copy.pto"
    file.write_text(FILE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return load(file).program(target="ascend_host")


def arrays():
    x = np.arange(64, dtype=np.float32).reshape(4, 16)
    return x, np.zeros((4, 16), np.float32)


def test_arrays_are_handed_to_a_package(copied, monkeypatch):
    monkeypatch.setenv("CXX", "false")
    x, y = arrays()
    # All is taken: what is missing is a compiler that compiles.
    with pytest.raises(errors.WspError, match="`false` does not compile the package"):
        copied.execute(x=x, y=y)


def test_a_package_is_not_bound(copied):
    x, y = arrays()
    with pytest.raises(errors.WspError, match="takes copies of its arrays cannot be bound"):
        copied.bind(x=x, y=y)


@pytest.mark.skipif(not (os.environ.get("CXX") or shutil.which("c++")), reason="no C++ compiler")
def test_outputs_of_a_package_are_copied_back(copied):
    x, y = arrays()
    copied.execute(x=x, y=y)
    assert (y == x).all()
    other = np.zeros((16, 4), np.float32).T
    copied.execute(x=x[::-1], y=other)
    assert (other == x[::-1]).all()
