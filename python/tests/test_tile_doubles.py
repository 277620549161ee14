"""Kernels over `f64` compute what NumPy computes in double precision, and sums into a tensor."""

from __future__ import annotations

import math

import numpy as np
import pytest
from pto_wsp import In, InOut, Out, P, kernel, pto, tensor, tile, workload
from pto_wsp.dtypes import bf16, f16, f32, f64

RNG = np.random.default_rng(11)
ROWS, COLS = 37, 29


def normal(*shape: int) -> np.ndarray:
    """Numbers that `f32` does not hold."""
    return RNG.standard_normal(shape) + RNG.standard_normal(shape) * 1e-11


def run_on(function, x: np.ndarray, want: np.ndarray, **tensors: np.ndarray) -> np.ndarray:
    """What a kernel of `x`, other tensors and `y` stores, of the shape and type of `want`: the same bits at
    every level of optimisation.
    """
    types = {"float64": f64, "float32": f32, "float16": f16}
    given = {"x": x, **tensors}
    made = {name: tensor(a.shape, types[a.dtype.name], name=name) for name, a in given.items()}
    y = tensor(want.shape, types[want.dtype.name], name="y")

    @workload
    def main():
        function(**made, y=y)

    found = []
    for level in (0, 3):
        found.append(np.full_like(want, 7))
        main.compile(optimization_level=level).execute(**given, y=found[-1])
    np.testing.assert_array_equal(found[0], found[1])
    return found[0]


UNARY = {
    "neg": np.negative,
    "abs": np.abs,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "recip": np.reciprocal,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "round": np.round,
    "floor": np.floor,
    "ceil": np.ceil,
    "sin": np.sin,
    "cos": np.cos,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": np.vectorize(math.erf),
    "gelu": np.vectorize(lambda x: x / 2 * math.erfc(-x / math.sqrt(2))),
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_are_those_of_numpy(name):
    function = getattr(pto, name)

    @kernel
    def apply(x: In, y: Out):
        pto.store(y, function(pto.load(x)))

    x = normal(ROWS, COLS) * 3
    with np.errstate(all="ignore"):
        want = UNARY[name](x)
    # A few roundings; the functions that the C library lacks are within 1e-12.
    rtol = 2e-12 if name in ("erf", "gelu") else 4e-15
    np.testing.assert_allclose(run_on(apply, x, want), want, rtol=rtol, atol=0)


BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "lt": np.less,
    "ge": np.greater_equal,
    "eq": np.equal,
}


def combine(name, a, b):
    if name == "add":
        return a + b
    elif name == "sub":
        return a - b
    elif name == "mul":
        return a * b
    elif name == "div":
        return a / b
    elif name == "maximum":
        return pto.maximum(a, b)
    elif name == "minimum":
        return pto.minimum(a, b)
    elif name == "lt":
        return a < b
    elif name == "ge":
        return a >= b
    else:
        return a == b


@pytest.mark.parametrize("name", BINARY)
def test_operators_round_once(name):
    numpy = BINARY[name]
    a, b = normal(ROWS, COLS), normal(ROWS, COLS)
    b[::3] = a[::3]

    @kernel
    def tiles(x: In, z: In, y: Out):
        y[...] = combine(name, pto.load(x), pto.load(z))

    want = numpy(a, b).astype(np.float64)
    np.testing.assert_array_equal(run_on(tiles, a, want, z=b), want)

    @kernel
    def columns(x: In, z: In, y: Out):
        y[...] = combine(name, pto.load(x), pto.load(z[:, 3:4]))

    want = numpy(a, b[:, 3:4]).astype(np.float64)
    np.testing.assert_array_equal(run_on(columns, a, want, z=b), want)

    @kernel
    def single(x: In, z: In, y: Out):
        y[...] = combine(name, pto.load(z[2:3, 5:6]), pto.load(x))

    want = numpy(b[2, 5], a).astype(np.float64)
    np.testing.assert_array_equal(run_on(single, a, want, z=b), want)

    @kernel
    def number(x: In, y: Out):
        y[...] = combine(name, pto.load(x), 0.1)

    want = numpy(a, 0.1).astype(np.float64)
    np.testing.assert_array_equal(run_on(number, a, want), want)


def test_numbers_of_f64_have_all_their_digits():
    @kernel
    def fill(x: In, y: Out):
        t = pto.full((ROWS, COLS), 1 / 3, f64)
        t = pto.mask(t, cols=5, value=0.1)
        t = pto.clamp(t, -1e300, 0.3)
        y[...] = pto.where(pto.load(x) > 0.7, t, 1e-200)

    x = normal(ROWS, COLS)
    filled = np.where(np.arange(COLS) < 5, 0.3, 0.1)
    want = np.where(x > 0.7, filled, 1e-200)
    np.testing.assert_array_equal(run_on(fill, x, want), want)


def test_a_mask_of_f64_chooses_among_values_of_f32():
    @kernel
    def choose(x: In, z: In, y: Out):
        mask = pto.load(x) > 0.7
        narrow = pto.where(mask, pto.cast(pto.load(x), f32), 0.1)
        y[...] = pto.where(mask, narrow, pto.load(z)) + pto.where(mask, 0.2, 0.1)

    x, z = normal(ROWS, COLS), np.full((1, 1), 0.3, np.float32)
    values = np.float32([0.2, 0.1])
    want = np.where(x > 0.7, x.astype(np.float32), z) + np.where(x > 0.7, values[0], values[1])
    np.testing.assert_array_equal(run_on(choose, x, want, z=z), want)


def test_reductions_and_products_are_in_f64():
    @kernel
    def rows(x: In, y: Out):
        t = pto.load(x)
        y[...] = pto.rowsum(t) + pto.rowmean(t) + pto.rowmax(t)

    x = normal(ROWS, COLS)
    want = x.sum(1, keepdims=True) + x.mean(1, keepdims=True) + x.max(1, keepdims=True)
    np.testing.assert_allclose(run_on(rows, x, want), want, rtol=0, atol=29 * 2**-52 * np.abs(x).sum(1).max())

    @kernel
    def product(x: In, z: In, y: Out):
        t = pto.load(x)
        y[...] = pto.matmul(t, pto.load(z).T, pto.matmul(t, pto.load(z).T))

    z = normal(11, COLS)
    want = 2 * (x @ z.T)
    off = 2 * COLS * 2**-52 * (np.abs(x) @ np.abs(z).T).max()
    np.testing.assert_allclose(run_on(product, x, want, z=z), want, rtol=0, atol=off)

    @kernel
    def places(x: In, y: Out):
        t = pto.load(x)
        top = pto.gather(t, pto.rowargmax(t))
        y[...] = pto.cumsum(pto.reshape(pto.concat(t, t - top, axis=0), (COLS, 2 * ROWS)))

    both = np.concatenate([x, x - x.max(1, keepdims=True)]).reshape(COLS, 2 * ROWS)
    want = both.cumsum(1)
    np.testing.assert_allclose(
        run_on(places, x, want), want, rtol=0, atol=74 * 2**-52 * np.abs(both).sum(1).max()
    )


def test_f32_is_widened_and_results_are_rounded_once():
    @kernel
    def mixed(x: In, z: In, y: Out):
        y[...] = pto.load(x) * pto.load(z) + pto.cast(pto.load(z), f64)

    x, z = normal(ROWS, COLS), normal(ROWS, COLS).astype(np.float32)
    want = x * z.astype(np.float64) + z.astype(np.float64)
    np.testing.assert_array_equal(run_on(mixed, x, want, z=z), want)

    @kernel
    def narrow(x: In, y: Out):
        y[...] = pto.load(x)

    # Just above the middle of two neighbours of f16, where the nearest f32 is the middle.
    x = np.full((1, 3), 1 + 2.0**-11 + 2.0**-40)
    want = np.full((1, 3), 1 + 2.0**-10, np.float16)
    np.testing.assert_array_equal(run_on(narrow, x, want), want)


def test_a_number_of_f64_is_refused():
    @kernel
    def largest(x: In, y: Out):
        y[...] = pto.load(x) / pto.max(pto.load(x))

    x = normal(4, 4)
    with pytest.raises(Exception, match="would be an f32 number"):
        run_on(largest, x, x)


@kernel
def add_rows(x: In, total: InOut):
    pto.atomic_add(total, pto.load(x))


def sums(x: np.ndarray, start: np.ndarray, dtype, threads: int) -> np.ndarray:
    """All tasks add a tile of rows to one sum."""
    tasks = len(x) // len(start)
    values = tensor(x.shape, f32 if x.dtype == np.float32 else f64, name="x")
    total = tensor(start.shape, dtype, name="total")

    @workload
    def main():
        for i in P(tasks):
            add_rows(values[tile(i, len(start))], total)

    have = start.copy()
    main.compile(num_threads=threads).execute(x=x, total=have)
    return have


@pytest.mark.parametrize("dtype", [f32, f64])
def test_tasks_that_add_to_one_place_give_the_sum_in_their_order(dtype):
    kind = np.float64 if dtype is f64 else np.float32
    x, start = (normal(64 * 3, 5) * 1e3).astype(kind), normal(3, 5).astype(kind)
    want = start.copy()
    for i in range(64):
        want += x[3 * i : 3 * i + 3]
    for threads in (1, 2, 4):
        for _ in range(5):
            np.testing.assert_array_equal(sums(x, start, dtype, threads), want)


def test_what_is_added_to_must_be_readable():
    @kernel
    def wrong(x: In, y: Out):
        pto.atomic_add(y, pto.load(x))

    x = normal(4, 4)
    with pytest.raises(Exception, match="InOut"):
        run_on(wrong, x, x)


def test_a_sum_in_bf16_is_rounded_once():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    # Multiples of 1/64, so that a sum is exact in f32 and rounded once by NumPy as well.
    x = RNG.integers(-1000, 1000, (4 * 8, 7)) / 64
    start = (RNG.integers(-1000, 1000, (4, 7)) / 64).astype(ml_dtypes.bfloat16)
    want = start.copy()
    for i in range(8):
        want = (want.astype(np.float64) + x[4 * i : 4 * i + 4]).astype(np.float32).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(sums(x, start, bf16, 2), want)


def test_additions_to_one_place_depend_on_each_other_and_those_to_others_do_not():
    values, total = tensor((12, 5), f32, name="x"), tensor((2, 5), f32, name="total")

    @workload
    def main():
        for i in P(12):
            add_rows(values[tile(i, 1)], total[tile(i % 2, 1)])

    edges = main.compile().graph(x=np.zeros((12, 5), np.float32), total=np.zeros((2, 5), np.float32)).edges
    assert sorted(map(tuple, edges.tolist())) == [(i, i + 2) for i in range(10)]
