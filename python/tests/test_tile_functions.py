"""Functions of tiles over their domains, against Python's `math` in double precision and NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from kernel_machine import Trap, run
from pto_wsp import pto
from pto_wsp.dtypes import bf16
from pto_wsp.kernels import In, Out, Scalar, kernel

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


@kernel
def gathered(x: In, columns: In, rows: In, y: Out, z: Out):
    t = pto.load(x)
    y[...] = pto.gather(t, pto.load(columns))
    z[...] = pto.gather(t, pto.load(rows), axis=0)


def test_gathered_elements_are_those_of_numpy():
    draw = np.random.default_rng(5)
    x = draw.standard_normal((13, 29)).astype(np.float32)
    columns, rows = draw.integers(0, 29, (13, 40)), draw.integers(0, 13, (7, 29))
    y, z = np.zeros((13, 40), np.float32), np.zeros((7, 29), np.float32)
    run(gathered, x=x, columns=columns.astype(np.float32), rows=rows.astype(np.float32), y=y, z=z)
    np.testing.assert_array_equal(y, np.take_along_axis(x, columns, 1))
    np.testing.assert_array_equal(z, np.take_along_axis(x, rows, 0))


@kernel
def largest(x: In, y: Out):
    t = pto.load(x)
    y[...] = pto.gather(t, pto.rowargmax(t))


def test_the_element_at_the_place_of_the_largest_is_the_largest():
    x = np.random.default_rng(6).standard_normal((9, 33)).astype(np.float32)
    y = np.zeros((9, 1), np.float32)
    run(largest, x=x, y=y)
    np.testing.assert_array_equal(y, x.max(1, keepdims=True))


@kernel
def reshaped(x: In, y: Out, z: Out):
    t = pto.load(x)
    y[...] = pto.reshape(t, (6, 20))
    z[...] = pto.reshape(t.T, (1, 120))


def test_a_reshaped_tile_has_the_same_elements():
    x = np.arange(120, dtype=np.float32).reshape(8, 15)
    y, z = np.zeros((6, 20), np.float32), np.zeros((1, 120), np.float32)
    run(reshaped, x=x, y=y, z=z)
    np.testing.assert_array_equal(y, x.reshape(6, 20))
    np.testing.assert_array_equal(z, x.T.reshape(1, 120))


@kernel
def dropped(x: In, y: Out, whole: Out, seed: Scalar):
    pto.store(whole, pto.random((8, 12), seed))
    for i in range(0, 8, 3):
        part = pto.load(x[i : i + 3, 5:12], shape=(3, 7))
        keep = pto.random((part.rows, 7), seed, first=i * 12 + 5, pitch=12) < 0.5
        y[i : i + 3, 5:12] = pto.where(keep, part, 0.0)


def test_tiles_of_any_size_give_an_array_the_same_random_numbers():
    x = np.random.default_rng(7).standard_normal((8, 12)).astype(np.float32)
    y, whole = np.zeros((8, 12), np.float32), np.zeros((8, 12), np.float32)
    run(dropped, x=x, y=y, whole=whole, seed=41)
    want = np.where(whole < 0.5, x, 0)
    want[:, :5] = 0
    np.testing.assert_array_equal(y, want)
    assert ((whole >= 0) & (whole < 1)).all() and len(np.unique(whole)) == whole.size


@kernel
def far(y: Out):
    y[...] = pto.random((6, 5), 3, first=2**32 - 1, pitch=2**32 - 1)


def test_places_of_random_numbers_go_beyond_32_bits():
    y = np.zeros((6, 5), np.float32)
    run(far, y=y)
    assert len(np.unique(y)) == y.size


@kernel
def joined(a: In, b: In, below: Out, beside: Out):
    s, t = pto.load(a), pto.load(b)
    below[...] = pto.concat(s, t, axis=0)
    beside[...] = pto.concat(s.T, t.T)


def test_joined_tiles_are_those_of_numpy():
    a, b = np.arange(12, dtype=np.float32).reshape(3, 4), -np.arange(8, dtype=np.float32).reshape(2, 4)
    below, beside = np.zeros((5, 4), np.float32), np.zeros((4, 5), np.float32)
    run(joined, a=a, b=b, below=below, beside=beside)
    np.testing.assert_array_equal(below, np.concatenate([a, b]))
    np.testing.assert_array_equal(beside, np.concatenate([a.T, b.T], axis=1))


@kernel
def repeated(column: In, row: In, one: In, y: Out):
    y[0] = pto.broadcast(pto.load(column), (5, 6))
    y[1] = pto.broadcast(pto.load(row), (5, 6))
    y[2] = pto.broadcast(pto.load(one), (5, 6))


def test_repeated_tiles_are_those_of_numpy():
    column = np.array([[-0.0], [1.0], [math.inf], [math.nan], [-3.0]], np.float32)
    row, one = np.arange(6, dtype=np.float32).reshape(1, 6), np.full((1, 1), 1e-42, np.float32)
    y = np.zeros((3, 5, 6), np.float32)
    run(repeated, column=column, row=row, one=one, y=y)
    want = np.array([np.broadcast_to(t, (5, 6)) for t in (column, row, one)])
    np.testing.assert_array_equal(y, want)
    assert (np.signbit(y[0, 0])).all()


@kernel
def ragged(x: In, at: In, beside: Out, below: Out, taken: Out, flat: Out):
    part = pto.load(x[3:, :], shape=(8, 4))
    below[...] = pto.concat(part, pto.load(x), axis=0)
    beside[...] = pto.concat(pto.load(x[:, 1:], shape=(5, 8)), pto.load(x))
    taken[...] = pto.gather(part, pto.load(at[3:, :], shape=(8, 3)))
    flat[...] = pto.reshape(part, (4, part.rows))


def test_tiles_that_are_partly_valid_are_joined_taken_from_and_reshaped():
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    at = np.random.default_rng(8).integers(0, 4, (5, 3))
    out = {name: np.zeros(shape, np.float32) for name, shape in OUTS.items()}
    run(ragged, x=x, at=at.astype(np.float32), **out)
    np.testing.assert_array_equal(out["below"], np.concatenate([x[3:], x]))
    np.testing.assert_array_equal(out["beside"], np.concatenate([x[:, 1:], x], axis=1))
    np.testing.assert_array_equal(out["taken"], np.take_along_axis(x[3:], at[3:], 1))
    np.testing.assert_array_equal(out["flat"], x[3:].reshape(4, 2))


OUTS = {"beside": (5, 7), "below": (7, 4), "taken": (2, 3), "flat": (4, 2)}
"""Shapes of what `ragged` stores."""


@kernel
def grown(x: In, y: Out):
    t = pto.load(x)
    for _ in range(2):
        t = t * 2.0
    y[...] = pto.concat(t, pto.load(x))


def test_a_tile_that_a_loop_assigns_is_joined():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    y = np.zeros((3, 8), np.float32)
    run(grown, x=x, y=y)
    np.testing.assert_array_equal(y, np.concatenate([4 * x, x], axis=1))


@kernel
def uneven(x: In, y: Out, first: Scalar, second: Scalar):
    y[:, 0:8] = pto.concat(pto.load(x[first:, :], shape=(8, 4)), pto.load(x[second:, :], shape=(8, 4)))


@pytest.mark.parametrize("rows", [(1, 1), (1, 2), (2, 1), (0, 4)])
def test_tiles_with_other_numbers_of_valid_rows_are_not_joined(rows):
    x = np.arange(20, dtype=np.float32).reshape(5, 4)
    y = np.zeros((5 - rows[0], 8), np.float32)
    arguments = {"x": x, "y": y, "first": rows[0], "second": rows[1]}
    if rows[0] == rows[1]:
        run(uneven, **arguments)
        np.testing.assert_array_equal(y, np.concatenate([x[1:], x[1:]], axis=1))
    else:
        with pytest.raises(Trap):
            run(uneven, **arguments)


@kernel
def over_itself(x: In, y: Out):
    t = pto.load(x)
    t = pto.gather(t.T, t)
    t = pto.reshape(t, (9, 9))
    for _ in range(2):
        t = pto.gather(t, t, axis=0)
    y[...] = pto.gather(t, t)


def test_results_over_operands_are_those_of_numpy():
    x = np.random.default_rng(9).integers(0, 9, (9, 9))
    t = np.take_along_axis(x.T, x, 1)
    for axis in (0, 0, 1):
        t = np.take_along_axis(t, t, axis)
    y = np.zeros((9, 9), np.float32)
    run(over_itself, x=x.astype(np.float32), y=y)
    np.testing.assert_array_equal(y, t)


def refused(function, **arguments) -> str:
    """What a kernel is refused with."""
    with pytest.raises(Exception) as found:
        run(function, **arguments)
    return str(found.value)


@kernel
def wider(x: In, y: Out):
    y[...] = pto.broadcast(pto.load(x), (1, 6))


@kernel
def other_count(x: In, y: Out):
    y[...] = pto.reshape(pto.load(x), (4, 4))


@kernel
def other_rows(x: In, y: Out):
    y[...] = pto.gather(pto.load(x), pto.full((3, 6), 0.0))


@kernel
def other_axis(x: In, y: Out):
    y[...] = pto.gather(pto.load(x), pto.load(x), axis=2)


@kernel
def other_columns(x: In, y: Out):
    y[...] = pto.concat(pto.load(x), pto.full((5, 5), 0.0), axis=0)


@kernel
def below_zero(x: In, y: Out):
    y[...] = pto.random((5, 6), -1) + pto.load(x)


def test_shapes_axes_and_seeds_that_do_not_fit_are_refused_with_what_does():
    x, y = np.zeros((5, 6), np.float32), np.zeros((5, 6), np.float32)
    for function, words in {
        wider: "a tile of 5 x 6 f32 cannot be repeated to 1 x 6",
        other_count: "has 30 elements, 4 x 4 are 16",
        other_rows: "with `axis=1` both have the same rows",
        other_axis: "`axis` of `pto.gather` must be 0 or 1, not the constant 2",
        other_columns: "with `axis=0` both have the same columns",
        below_zero: "-1 does not fit `u32`",
    }.items():
        assert words in refused(function, x=x, y=y), function
