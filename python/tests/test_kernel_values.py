"""Compiled kernels compute what NumPy computes in double precision."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from kernel_machine import Trap, run
from pto_wsp import pto
from pto_wsp.dtypes import bf16, f16, f32
from pto_wsp.kernels import Constexpr, In, InOut, Out, Scalar, kernel

RNG = np.random.default_rng(7)


def normal(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def check(have, want, rtol=2e-6, atol=None):
    have = have.astype(np.float64)
    np.testing.assert_allclose(
        have, want, rtol=rtol, atol=atol if atol is not None else rtol * np.abs(want).max()
    )


@kernel(unit="vector", cost=120)
def rmsnorm(x: In, gain: In, y: Out, eps: Constexpr = 1e-6):
    t = pto.load(x)
    scale = pto.rsqrt(pto.rowsum(t * t) / x.shape[1] + eps)
    pto.store(y, t * scale * pto.load(gain))


@pytest.mark.parametrize("rows", [1, 5, 64])
def test_rmsnorm(rows):
    x, gain, y = normal(rows, 96), normal(96), zeros(rows, 96)
    run(rmsnorm, x=x, gain=gain, y=y, most={"x": (64, 96), "y": (64, 96)})
    x64 = x.astype(np.float64)
    check(y, x64 / np.sqrt((x64**2).mean(1, keepdims=True) + 1e-6) * gain)


@kernel
def softmax(x: In, y: Out):
    t = pto.load(x)
    p = pto.exp(t - pto.rowmax(t))
    y[...] = p / pto.rowsum(p)


def test_softmax():
    x, y = normal(17, 33) * 8, zeros(17, 33)
    run(softmax, x=x, y=y)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    check(y, e / e.sum(1, keepdims=True))


@kernel
def online(q: In, k: In, v: In, out: Out, step: Constexpr, causal: Constexpr, first: Scalar = 0):
    rows, dim = q.shape
    end = k.shape[0]
    if causal:
        end = pto.min(end, first + rows)
    queries = pto.load(q) * (1.0 / math.sqrt(dim))
    m = pto.full((rows, 1), -math.inf)
    total = pto.zeros((rows, 1))
    acc = pto.zeros((rows, dim))
    for pos in range(0, end, step):
        scores = pto.matmul(queries, pto.load(k[pos:end], shape=(step, dim)).T)
        if causal:
            scores = pto.mask_causal(scores, first + 1 - pos, -math.inf)
        bound = pto.maximum(m, pto.rowmax(scores))
        p = pto.exp(scores - bound)
        fade = pto.exp(m - bound)
        total = total * fade + pto.rowsum(p)
        acc = pto.matmul(p, pto.load(v[pos:end], shape=(step, dim)), acc=acc * fade)
        m = bound
    pto.store(out, acc / total)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("known", [None, 32])
@pytest.mark.parametrize(("rows", "keys"), [(16, 40), (13, 41), (1, 1)])
def test_online_softmax_carries_three_tiles(rows, keys, known, causal):
    q, k, v, out = normal(rows, 32), normal(keys, 32), normal(keys, 32), zeros(rows, 32)
    first = keys - rows
    most = {"q": (16, 32), "k": (None, 32), "v": (None, 32), "out": (16, 32)}
    dims = {name: (None, known) for name in most}
    run(online, q=q, k=k, v=v, out=out, step=8, causal=causal, first=first, most=most, known=dims)
    s = q.astype(np.float64) @ k.T.astype(np.float64) / math.sqrt(32)
    if causal:
        s[np.arange(keys)[None, :] > first + np.arange(rows)[:, None]] = -np.inf
    p = np.exp(s - s.max(1, keepdims=True))
    check(out, p / p.sum(1, keepdims=True) @ v, rtol=5e-6)


def product(a: In, b: In):
    total = pto.zeros((a.shape[0], b.shape[0]))
    for c in range(0, a.shape[1], 16):
        total = pto.matmul(
            pto.load(a[:, c:], shape=(32, 16)), pto.load(b[:, c:], shape=(32, 16)).T, acc=total
        )
    return total


@kernel
def linear(a: In, b: In, y: Out):
    pto.store(y, product(a, b))


@pytest.mark.parametrize(("m", "n", "k"), [(32, 32, 64), (7, 30, 50), (1, 1, 1)])
def test_matmul_blocked_over_k_in_a_helper(m, n, k):
    a, b, y = normal(m, k), normal(n, k), zeros(m, n)
    run(linear, a=a, b=b, y=y, most={"a": (32, None), "b": (32, None), "y": (32, 32)})
    check(y, a.astype(np.float64) @ b.T.astype(np.float64))


@kernel
def silu_gate(a: In, b: In, y: Out):
    g = product(a, b)
    pto.store(y, g / (1.0 + pto.exp(-g)) * product(a, b))


def test_a_helper_twice_in_one_expression():
    a, b, y = normal(6, 20), normal(9, 20), zeros(6, 9)
    run(silu_gate, a=a, b=b, y=y)
    g = a.astype(np.float64) @ b.T.astype(np.float64)
    check(y, g / (1 + np.exp(-g)) * g, rtol=5e-6)


@kernel
def best(x: In, values: Out, indices: Out, k: Constexpr):
    v = pto.full((x.shape[0], k), -math.inf)
    i = pto.full((x.shape[0], k), -1.0)
    for pos in range(0, x.shape[1], 16):
        v, i = pto.topk(v, i, pto.load(x[:, pos:], shape=(8, 16)), pos)
    pto.store(values, v)
    pto.store(indices, i)


def test_topk_over_pieces():
    x, values, indices = normal(5, 70), zeros(5, 8), zeros(5, 8)
    run(
        best,
        x=x,
        values=values,
        indices=indices,
        k=8,
        most={"x": (8, None), "values": (8, 8), "indices": (8, 8)},
    )
    order = np.argsort(-x, axis=1, kind="stable")[:, :8]
    assert (indices == order).all()
    assert (values == np.take_along_axis(x, order, axis=1)).all()


@kernel
def best_copies(x: In, y: Out):
    v = pto.full((1, 4), -math.inf)
    i = pto.full((1, 4), -1.0)
    w, j = pto.topk(v, i, pto.load(x), 0)
    pto.store(y[0], v)
    pto.store(y[1], w)
    pto.store(y[2], j)


def test_topk_changes_no_other_tile():
    x, y = np.array([3.0, 1.0, 5.0], np.float32), zeros(3, 4)
    run(best_copies, x=x, y=y)
    assert (y[0] == -np.inf).all()
    assert y[1].tolist() == [5.0, 3.0, 1.0, -np.inf]
    assert y[2].tolist() == [2.0, 0.0, 1.0, -1.0]


@kernel
def merge(part: In, lse: In, out: Out):
    heads, dim = out.shape
    largest = pto.full((heads, 1), -math.inf)
    total = pto.zeros((heads, 1))
    mixed = pto.zeros((heads, dim))
    for c in range(part.shape[0]):
        weight = pto.load(lse[c]).T
        bound = pto.maximum(largest, weight)
        fade = pto.exp2(largest - bound)
        share = pto.exp2(weight - bound)
        total = total * fade + share
        mixed = mixed * fade + pto.load(part[c]) * share
        largest = bound
    pto.store(out, mixed / total)


def test_merge_of_partial_results():
    part, lse, out = normal(5, 4, 16), normal(5, 4) * 4, zeros(4, 16)
    run(merge, part=part, lse=lse, out=out, most={"part": (None, 4, 16), "lse": (None, 4)})
    w = np.exp2(lse.astype(np.float64))[:, :, None]
    check(out, (part * w).sum(0) / w.sum(0))


@kernel
def broadcasts(x: In, y: Out):
    t = pto.load(x)
    row, col = pto.colmax(t), pto.rowmax(t)
    one = pto.rowmax(row)
    pto.store(y[0], row - t)
    pto.store(y[1], t - row)
    pto.store(y[2], row / t)
    pto.store(y[3], col - t)
    pto.store(y[4], col / t)
    pto.store(y[5], 2.0 / t)
    pto.store(y[6], 2.0 - t)
    pto.store(y[7], 1 / t)
    pto.store(y[8], one - t)
    pto.store(y[9], t / one)
    pto.store(y[10], one / t)
    pto.store(y[11], pto.maximum(row, t) + pto.minimum(0.5, t) * col)


@pytest.mark.parametrize("bounded", [False, True])
def test_rows_columns_and_numbers_on_either_side_round_once(bounded):
    x, y = normal(6, 10), zeros(12, 6, 10)
    run(broadcasts, x=x, y=y, most={"x": (8, 16), "y": (12, 8, 16)} if bounded else {})
    row, col, one, two = x.max(0, keepdims=True), x.max(1, keepdims=True), x.max(), np.float32(2)
    last = np.maximum(row, x) + np.minimum(np.float32(0.5), x) * col
    want = [
        row - x,
        x - row,
        row / x,
        col - x,
        col / x,
        two / x,
        two - x,
        1 / x,
        one - x,
        x / one,
        one / x,
        last,
    ]
    for i, w in enumerate(want):
        assert (y[i] == w).all(), i


@kernel
def elements(x: In, y: Out, n: Scalar):
    total = 0.0
    for i in range(x.shape[0]):
        for j in range(n):
            if x[i, j] > 0:
                total += x[i, j]
            elif x[i, j] < -1.0:
                continue
            else:
                y[i, j] = total
    y[x.shape[0] - 1, -1] = total


def test_loops_over_elements():
    x, y = normal(4, 6), zeros(4, 6)
    run(elements, x=x, y=y, n=5, most={"x": (None, None), "y": (None, None)})
    want, total = np.zeros((4, 6), np.float32), np.float32(0)
    for i in range(4):
        for j in range(5):
            if x[i, j] > 0:
                total += x[i, j]
            elif x[i, j] >= -1.0:
                want[i, j] = total
    want[-1, -1] = total
    check(y, want)


@kernel
def gather(table: In, x: In, y: Out):
    for i in range(table.shape[0]):
        pto.store(y[i], pto.load(x[table[i]]))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_integer_views_are_indices(dtype):
    table, x, y = np.array([3, 0, 2], dtype), normal(4, 8), zeros(3, 8)
    run(gather, table=table, x=x, y=y, most={"table": (None,)})
    assert (y == x[table.astype(int)]).all()


@kernel
def transposes(x: In, y: Out, z: Out, w: Out):
    pto.store(y, pto.load(x.T))
    pto.store(z, pto.load(x).T)
    pto.store(w.T, pto.load(x))


def test_transposed_loads_and_stores():
    x, y, z, w = normal(5, 9), zeros(9, 5), zeros(9, 5), zeros(9, 5)
    run(transposes, x=x, y=y, z=z, w=w)
    assert (y == x.T).all() and (z == x.T).all() and (w == x.T).all()


@kernel
def half_steps(x: In, y: Out, z: Out, w: Out):
    t = pto.load(x)
    wide = pto.load(x, dtype=f32)
    pto.store(y, t * t + 1.0)
    pto.store(z, wide * wide + 1.0)
    pto.store(w, pto.cast(pto.rowsum(t * wide), bf16))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_types_round_every_step_and_wide_ones_once(dtype):
    x, y, z, w = normal(8, 16, dtype=dtype), zeros(8, 16, dtype=dtype), zeros(8, 16, dtype=dtype), zeros(8, 1)
    run(half_steps, x=x, y=y, z=z, w=w)
    f = x.astype(np.float32)
    assert (y == ((f * f).astype(dtype).astype(np.float32) + np.float32(1)).astype(dtype)).all()
    assert (z == (f * f + np.float32(1)).astype(dtype)).all()
    assert (w == w.astype(ml_dtypes.bfloat16).astype(np.float32)).all()


@kernel
def slices(x: In, y: InOut, half: Scalar):
    y[:, 0:4] = pto.load(x[:, half : half + 4])
    y[1:3, 4:] += pto.load(x[1:3, :4])
    y[-1, 0] -= 1.0
    pto.store(y[4:, 4:8], pto.load(x[4:][:, 2:6]))


def test_slices_of_slices():
    x, y = normal(6, 8), normal(6, 8)
    want = y.copy()
    run(slices, x=x, y=y, half=3)
    want[:, 0:4] = x[:, 3:7]
    want[1:3, 4:] += x[1:3, :4]
    want[-1, 0] -= 1
    want[4:, 4:8] = x[4:, 2:6]
    assert (y == want).all()


@kernel
def ragged(x: In, y: Out, lo: Scalar, hi: Scalar):
    t = pto.load(x[lo:hi], shape=(8, 4))
    y[0] = float(t.rows)
    y[1] = pto.sum(t)
    y[2] = pto.max(t)
    y[3] = pto.min(t)
    y[4] = float(x[lo:hi].shape[0])


@pytest.mark.parametrize(("lo", "hi"), [(0, 3), (2, 20), (4, 6), (5, 5), (5, 2)])
def test_loads_end_with_the_slice_and_with_the_view(lo, hi):
    x, y = normal(6, 4), zeros(5)
    run(ragged, x=x, y=y, lo=lo, hi=hi)
    part = x[lo : min(hi, lo + 8)]
    want = [len(part), part.sum(), part.max(initial=-np.inf), part.min(initial=np.inf), len(part)]
    np.testing.assert_allclose(y, want, rtol=1e-6)


@kernel
def spills(x: In, y: Out, n: Scalar):
    y[:, 0:n] = pto.load(x)


def test_a_store_past_the_end_of_a_slice_stops_the_run():
    x, y = normal(2, 8), zeros(2, 8)
    run(spills, x=x[:, :4].copy(), y=y, n=4, most={"x": (2, 8)})
    with pytest.raises(Trap):
        run(spills, x=x, y=y, n=4, most={"x": (2, 8)})


@kernel
def coordinates(y: Out, n: Scalar, c: Constexpr):
    y[pto.coord(0), pto.coord(1)] = pto.coord(0) * 10 + pto.coord(1) + n + c


def test_coordinates_scalars_and_constants():
    y = zeros(3, 4)
    run(coordinates, y=y, n=100, c=0.5, coords=(2, 3))
    assert y[2, 3] == 123.5 and (y != 0).sum() == 1


def rope(t, c, s, sign):
    if sign > 0:
        return t * c + s
    return t * c - s


@kernel
def bf16_tiles(x: In, y: Out):
    half = pto.zeros((4, 4), dtype=f16)
    mixed = pto.load(x) + half
    assert mixed.dtype == f32
    pto.store(y, rope(mixed, 2.0, pto.full((4, 1), 1.0), -1))


def test_mixed_types_are_f32_and_constant_conditions_choose():
    x, y = normal(4, 4), zeros(4, 4)
    run(bf16_tiles, x=x, y=y)
    assert (y == x * np.float32(2) - np.float32(1)).all()


def count(t):
    return t.rows * 100 + t.cols


@kernel
def valid_parts(x: In, w: In, y: Out):
    t, v = pto.load(x), pto.load(w)
    col, row = pto.rowmax(t), pto.colmax(t)
    fixed = pto.zeros((8, 8))
    y[0] = count(t)
    y[1] = count(1.0 - t)
    y[2] = count(t * col)
    y[3] = count(row - t)
    y[4] = count(col / t)
    y[5] = count(col) * 10000 + count(row)
    y[6] = count(pto.matmul(t, v))
    y[7] = count(pto.matmul(t, t.T))
    y[8] = count(t.T)
    y[9] = count(pto.mask(t, rows=1, value=2.0))
    y[10] = count(pto.full((x.shape[0], w.shape[1]), 1.0))
    y[11] = count(pto.full((t.cols, 3), 1.0))
    y[12] = count(fixed)
    y[13] = count(pto.cast(t, f16) + 1.0)
    y[14] = len(x) + w.shape[1] + t.shape[0]
    n = pto.min(t.rows, 3)
    y[15] = count(pto.load(x, shape=(n, 2)))


@pytest.mark.parametrize(("rows", "cols"), [(8, 8), (5, 8), (8, 3), (2, 6), (1, 1)])
def test_valid_parts_are_those_of_the_data(rows, cols):
    x, w, y = normal(rows, cols), normal(cols, 4), zeros(16)
    run(valid_parts, x=x, w=w, y=y, most={"x": (8, 8), "w": (8, 8)})
    t, pair = rows * 100 + cols, rows * 100 + 1
    want = [t, t, t, t, t, pair * 10000 + 100 + cols, rows * 100 + 4, rows * 101, cols * 100 + rows]
    want += [t, rows * 100 + 4, cols * 100 + 3, 808, t, 2 * rows + 4, min(rows, 3) * 100 + min(cols, 2)]
    assert y.tolist() == want


@kernel
def carried_parts(x: In, y: Out, n: Scalar):
    t = pto.zeros((8, 8))
    for _ in range(n):
        y[0] = count(t)
        t = pto.load(x)
    y[1] = count(t)
    s = pto.zeros((8, 8))
    if n > 1:
        s = pto.load(x)
    y[2] = count(s)
    y[3] = count(pto.load(x) if n > 1 else s)
    s = pto.zeros((8, 8))
    if n > 1:
        pass
    else:
        s = pto.load(x)
    y[4] = count(s)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_valid_parts_change_on_the_way(n):
    x, y = normal(5, 3), zeros(5)
    run(carried_parts, x=x, y=y, n=n, most={"x": (8, 8)})
    last = 503 if n == 2 else 808
    assert y.tolist() == [[0, 808, 503][n], 808 if n == 0 else 503, last, last, 808 if n == 2 else 503]


@kernel
def reads_before_writes(x: In, y: InOut):
    t = pto.load(x)
    s = pto.max(pto.exp(t * 0.0)) + pto.sum(t * 2.0) - pto.max(-t)
    y[0, 0] = s
    y[0, 1] = y[0, 0] + bump(y) + y[0, 0]
    y[2, 0] = max(y[0, 0], bump(y) - 10.0) * 1000.0 + (1.0 if y[0, 0] < bump(y) else 0.0)
    t, m = pto.exp(t * 0.0), pto.max(t)
    y[0, 2] = m
    t = pto.max(t) - t * 2.0
    y[0, 3] = pto.min(pto.min(t * 1.0), pto.min(t * 1.0 + 9.0))
    t = pto.mask(t, cols=2, value=pto.max(t) + 5.0)
    y[1, :] = pto.colmax(t)


def bump(y):
    y[0, 0] = y[0, 0] + 1.0
    return y[0, 0]


def test_operands_are_read_in_pythons_order():
    x, y = np.array([[1, 2, 3, 4]], np.float32), zeros(3, 4)
    run(reads_before_writes, x=x, y=y)
    s = 1 + 20 + 1
    assert y[0].tolist() == [s + 3, s + (s + 1) + (s + 1), 4, -1]
    assert y[1].tolist() == [-1, -1, 4, 4]
    assert y[2, 0] == (s + 1) * 1000 + 1
