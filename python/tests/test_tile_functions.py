"""Functions of tiles over their domains, against Python's `math` in double precision and NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from kernel_machine import run
from pto_wsp import pto
from pto_wsp.dtypes import bf16
from pto_wsp.kernels import In, Out, kernel

SPECIAL = [0.0, -0.0, 1e-45, -1e-39, 1e-30, 0.5, 1.5, 2.5, -2.5, math.inf, -math.inf, math.nan]
"""Zeros, subnormal numbers, halves, infinities and NaN."""


def numbers(most: float) -> np.ndarray:
    """Odd numbers of rows and columns, over a domain and with special values."""
    spread = np.linspace(-most, most, 29 * 37 - len(SPECIAL))
    return np.concatenate([spread, SPECIAL]).astype(np.float32).reshape(29, 37)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def limited(function):
    """A function whose limit at -∞ is 0."""
    return lambda x: 0.0 if x == -math.inf else function(x)


def gelu_tanh(x: float) -> float:
    if math.isinf(x):
        return x
    return x * sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))


def of_infinity(function):
    """A function that has no value of infinities."""
    return lambda x: math.nan if math.isinf(x) else function(x)


def whole(function):
    """A function to whole numbers, which leaves infinities and NaN."""
    return lambda x: function(x) if math.isfinite(x) else x


FUNCTIONS = {
    "sigmoid": (sigmoid, 90.0, 3),
    "silu": (limited(lambda x: x * sigmoid(x)), 90.0, 4),
    "gelu": (limited(lambda x: x / 2 * math.erfc(-x / math.sqrt(2))), 14.0, 8),
    "gelu_tanh": (limited(gelu_tanh), 11.0, 4),
    "erf": (math.erf, 5.0, 3),
    "tanh": (math.tanh, 10.0, 4),
    "sin": (of_infinity(math.sin), 1e5, 1),
    "cos": (of_infinity(math.cos), 1e5, 1),
    "floor": (whole(math.floor), 40.0, 0),
    "ceil": (whole(math.ceil), 40.0, 0),
    "round": (whole(round), 40.0, 0),
}
"""The function, where it is looked at, and how many units in the last place it may be off."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_those_of_python(name):
    reference, most, ulps = FUNCTIONS[name]
    function = getattr(pto, name)

    @kernel
    def apply(x: In, y: Out):
        pto.store(y, function(pto.load(x)))

    x = numbers(most)
    want = np.array([reference(float(v)) for v in x.flat]).reshape(x.shape)
    have = on_the_cpu(apply, x)
    exact = np.isnan(want) == np.isnan(have)
    steps = np.maximum(np.spacing(np.abs(want).astype(np.float32)).astype(np.float64), 2.0**-149)
    with np.errstate(invalid="ignore"):
        off = np.where(np.isfinite(want), np.abs(have - want) / steps, 0.0)
    normal = np.abs(want) >= 2.0**-126
    assert exact.all() and (off[normal & np.isfinite(want)] <= ulps + 0.5).all(), name
    assert (np.abs(have[~normal & np.isfinite(want)]) <= 2.0**-126).all(), name
    infinite = np.isinf(want)
    assert (have[infinite] == want[infinite]).all(), name


def on_the_cpu(function, x: np.ndarray) -> np.ndarray:
    """What the CPU backend stores."""
    return run(function, x=x, y=np.zeros_like(x))["y"].astype(np.float64)


@kernel
def compare(a: In, b: In, y: Out):
    s, t = pto.load(a), pto.load(b)
    y[0] = s == t
    y[1] = s != t
    y[2] = s < t
    y[3] = s <= t
    y[4] = s > t
    y[5] = s >= t


@pytest.mark.parametrize("shape", [(13, 17), (13, 1), (1, 17)])
def test_comparisons_of_tiles_are_masks(shape):
    a = np.resize(numbers(3.0), (13, 17)).round()
    b = np.resize(numbers(3.0).T, shape).round()
    y = np.zeros((6, 13, 17), np.float32)
    run(compare, a=a, b=b, y=y)
    want = [a == b, a != b, a < b, a <= b, a > b, a >= b]
    assert (y == np.array(want)).all()


@kernel
def turned(a: In, row: In, y: Out):
    t, r = pto.load(a), pto.load(row)
    y[0] = 1.0 < t
    y[1] = r >= t
    y[2] = 1.0 == t
    y[3] = pto.where(t > r, t, r)
    y[4] = pto.where(t != t, 0.0, t)
    y[5] = pto.where(t, 2.0, -1.0)


def test_masks_choose_numbers_rows_and_tiles():
    a, row = np.resize(numbers(3.0), (7, 19)), np.resize(numbers(2.0), (1, 19))
    y = np.zeros((6, 7, 19), np.float32)
    run(turned, a=a, row=row, y=y)
    want = [
        1 < a,
        row >= a,
        a == 1,
        np.where(a > row, a, row),
        np.where(np.isnan(a), 0, a),
        np.where(a, 2, -1),
    ]
    np.testing.assert_array_equal(y, np.array(want, np.float32))


@kernel
def limits(x: In, y: Out):
    t = pto.load(x)
    y[0] = pto.clamp(t, -1.0, 2.5)
    y[1] = pto.clamp(t, 3.0, 1.0)
    y[2] = t + pto.clamp(7.0, 0.0, 1.0)


def test_clamped_elements_are_those_of_numpy():
    x = numbers(4.0)
    y = np.zeros((3, *x.shape), np.float32)
    run(limits, x=x, y=y)
    np.testing.assert_array_equal(y, [np.clip(x, -1.0, 2.5), np.minimum(np.maximum(x, 3.0), 1.0), x + 1])


@kernel
def reduced(x: In, rows: Out, cols: Out, sums: Out):
    t = pto.load(x)
    rows[0] = pto.rowmean(t)
    rows[1] = pto.rowargmax(t)
    rows[2] = pto.rowargmin(t)
    cols[0] = pto.colmean(t)
    cols[1] = pto.colargmax(t)
    cols[2] = pto.colargmin(t)
    sums[...] = pto.cumsum(t)


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (16, 33), (31, 127)])
@pytest.mark.parametrize("nan", [False, True])
def test_reductions_and_sums_are_those_of_numpy(shape, nan):
    x = np.random.default_rng(3).integers(-4, 5, shape).astype(np.float32)
    if nan:
        x[0, shape[1] // 2] = x[-1, shape[1] // 2] = math.nan
    rows, cols = np.zeros((3, shape[0], 1), np.float32), np.zeros((3, 1, shape[1]), np.float32)
    sums = np.zeros(shape, np.float32)
    run(reduced, x=x, rows=rows, cols=cols, sums=sums)
    for have, axis in ((rows, 1), (cols, 0)):
        np.testing.assert_allclose(have[0], x.mean(axis, keepdims=True), rtol=1e-6, atol=1e-6)
        np.testing.assert_array_equal(have[1], np.argmax(x, axis, keepdims=True))
        np.testing.assert_array_equal(have[2], np.argmin(x, axis, keepdims=True))
    np.testing.assert_array_equal(sums, np.cumsum(x, axis=1, dtype=np.float32))


@kernel
def places(x: In, y: Out):
    y[...] = pto.rowargmax(pto.cast(pto.load(x), bf16))


def test_places_of_narrow_elements_are_exact():
    x = np.zeros((1, 1000), np.float32)
    x[0, 777] = 1
    y = np.zeros((1, 1), np.float32)
    run(places, x=x, y=y)
    assert y[0, 0] == 777
