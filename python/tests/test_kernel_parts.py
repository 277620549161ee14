"""Bands, numbers of columns, parts of tiles, and the functions of one tile, against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from kernel_machine import Trap, run
from pto_wsp import pto
from pto_wsp.dtypes import bf16, f16, f32
from pto_wsp.kernels import Constexpr, In, Out, Scalar, kernel
from pto_wsp.tile_functions import FORMS

RNG = np.random.default_rng(3)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def zeros(*shape):
    return np.zeros(shape, np.float32)


@kernel
def banded(x: In, y: Out, begin: Constexpr, end: Constexpr, group: Scalar):
    t = pto.load(x)
    pto.store(y, pto.mask_band(t, begin, end, group, -7.0) + t)


@pytest.mark.parametrize("begin, end, group", [(-3, 2, 1), (0, 4, 3), (5, 1, 2), (-9, 99, 0), (3, 9, 4)])
def test_a_band_keeps_its_columns_and_the_tile_stays(begin, end, group):
    x, y = normal(7, 9), zeros(7, 9)
    run(banded, x=x, y=y, begin=begin, end=end, group=group)
    shift = np.arange(7)[:, None] // max(group, 1)
    columns = np.arange(9)[None, :]
    kept = (columns >= begin + shift) & (columns < end + shift)
    assert (y == np.where(kept, x, np.float32(-7)) + x).all()


@kernel
def attended(q: In, k: In, o: Out, first: Scalar, window: Constexpr):
    """Two heads of each query in a row: what each may look at are the `window` keys up to its own."""
    s = pto.load(q) @ pto.load(k).T
    pto.store(o, pto.mask_band(s, first + 1 - window, first + 1, 2, 0.0))


def test_a_window_of_keys_per_query():
    q, k, o = normal(8, 4), normal(6, 4), zeros(8, 6)
    run(attended, q=q, k=k, o=o, first=1, window=2)
    query = 1 + np.arange(8)[:, None] // 2
    key = np.arange(6)[None, :]
    np.testing.assert_allclose(o, np.where((key <= query) & (key > query - 2), q @ k.T, 0), rtol=1e-5)


@kernel
def numbered(y: Out, start: Constexpr, dtype: Constexpr):
    pto.store(y, pto.iota((5, 9), start, dtype) + 0.25)


@pytest.mark.parametrize("start", [0, -4, 2**24 - 3, 2050])
@pytest.mark.parametrize("dtype, elem", [(f32, np.float32), (f16, np.float16), (bf16, ml_dtypes.bfloat16)])
def test_columns_are_numbered_and_rounded(start, dtype, elem):
    y = zeros(5, 9)
    run(numbered, y=y, start=start, dtype=dtype)
    with np.errstate(over="ignore"):
        row = (start + np.arange(9)).astype(np.float32).astype(elem)
    assert (y == (row.astype(np.float32) + np.float32(0.25)).astype(elem).astype(np.float32)).all()


@kernel
def numbered_as(x: In, y: Out):
    t = pto.load(x)
    pto.store(y, pto.iota(x.shape, 1) * t)
    u = pto.iota((1, x.shape[1]))
    assert u.rows == 1


@pytest.mark.parametrize("rows, cols", [(3, 5), (8, 9), (1, 1)])
def test_numbers_have_the_rows_and_columns_of_the_running_task(rows, cols):
    x, y = normal(rows, cols), zeros(rows, cols)
    run(numbered_as, x=x, y=y, most={"x": (8, 9), "y": (8, 9)})
    assert (y == (1 + np.arange(cols)).astype(np.float32) * x).all()


@kernel
def inserted(x: In, part: In, y: Out, whole: Out, row: Scalar, col: Scalar):
    t = pto.load(x)
    p = pto.load(part)
    u = pto.insert(t, p, row, col)
    pto.store(whole, t)
    t = pto.insert(t, pto.abs(p), row, col)
    pto.store(y, t - u + pto.insert(u, p, 0, 0))


def test_a_part_is_inserted_and_other_tiles_stay():
    x, part, y, whole = normal(6, 8), normal(2, 3), zeros(6, 8), zeros(6, 8)
    run(inserted, x=x, part=part, y=y, whole=whole, row=4, col=5)
    assert (whole == x).all()
    u, t, first = x.copy(), x.copy(), x.copy()
    u[4:6, 5:8], t[4:6, 5:8] = part, np.abs(part)
    first = u.copy()
    first[:2, :3] = part
    assert (y == t - u + first).all()


def test_a_part_that_reaches_past_the_end_stops_the_run():
    x, part, y, whole = normal(6, 8), normal(2, 3), zeros(6, 8), zeros(6, 8)
    with pytest.raises(Trap):
        run(inserted, x=x, part=part, y=y, whole=whole, row=5, col=5)


@kernel
def inserted_in_itself(x: In, y: Out, z: Out):
    t = pto.load(x)
    t = pto.insert(t, t, 0, 0)
    pto.store(y, t)
    u = pto.load(x)
    u = pto.insert(t, pto.extract(u, (1, 4), 0, 0), 1, 0)
    pto.store(z, u)


def test_a_tile_may_be_a_part_of_itself():
    x, y, z = normal(3, 4), zeros(3, 4), zeros(3, 4)
    run(inserted_in_itself, x=x, y=y, z=z)
    assert (y == x).all()
    assert (z == x[[0, 0, 2]]).all()


@kernel
def inserted_transposed(x: In, y: Out):
    t = pto.load(x)
    pto.store(y, pto.insert(t.T, t, 1, 0))


def test_transposed_tiles_take_parts():
    x, y = normal(3, 4), zeros(4, 3)
    with pytest.raises(Exception, match="4 columns does not fit"):
        run(inserted_transposed, x=x, y=y)


@kernel
def extracted(x: In, y: Out, row: Scalar, col: Scalar):
    t = pto.load(x)
    u = pto.extract(t, (2, 3), row, col)
    t = pto.extract(t, (6, 8), 4, 5)
    pto.store(y[0:2], u)
    pto.store(y[2:4], t)


def test_a_part_is_extracted():
    x, y = normal(6, 8), zeros(4, 3)
    run(extracted, x=x, y=y, row=4, col=5)
    assert (y[:2] == x[4:6, 5:8]).all()
    assert (y[2:] == x[4:6, 5:8]).all()


@kernel
def cut(x: In, y: Out, row: Scalar):
    u = pto.extract(pto.load(x), (4, 8), row, 6)
    y[0, 0] = float(u.rows)
    y[0, 1] = float(u.cols)
    y[0, 2] = pto.sum(u)


def test_a_part_ends_where_the_tile_does():
    x, y = normal(6, 8), zeros(1, 3)
    run(cut, x=x, y=y, row=4)
    assert y[0, :2].tolist() == [2.0, 2.0]
    assert abs(y[0, 2] - x[4:, 6:].sum()) < 1e-5


@kernel
def of_two_capacities(x: In, y: Out):
    t = pto.load(x)
    u = t + pto.full((5, 7), 1.0)
    y[0, 0] = float(u.rows)
    y[0, 1] = float(u.cols)
    v = t + pto.full((5, 1), 1.0)
    y[0, 2] = float(v.rows)
    w = t + pto.full((1, 7), 1.0)
    y[0, 3] = float(w.cols)


def test_a_result_with_more_capacity_than_an_operand_has_the_rows_of_the_operand():
    """The operand that is full says how many rows there are, and not that the larger tile is full."""
    x, y = normal(5, 7), zeros(1, 4)
    run(of_two_capacities, x=x, y=y, most={"x": (8, 9)})
    assert y.tolist() == [[5.0, 7.0, 5.0, 7.0]]


UNARY = sorted(name for name, form in FORMS.items() if form.word == "unary" and name != "cast")


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_tile(name):
    """On the interpreter, which takes NumPy's, and on the CPU backend."""
    of = getattr(pto, name)

    @kernel
    def k(x: In, y: Out):
        pto.store(y, of(pto.load(x)))

    x, y = np.abs(normal(5, 33)) + np.float32(0.01), zeros(5, 33)
    run(k, x=x, y=y)
    assert np.isfinite(y).all() and len(set(y.ravel().tolist())) > 1
