"""Kernels over tiles of integers compute what NumPy computes in the same types."""

from __future__ import annotations

import numpy as np
import pytest
from pto_wsp import In, InOut, Out, P, bool_, f32, f64, i8, i32, kernel, pto, tensor, tile, u8, workload
from pto_wsp.dtypes import DTYPES

RNG = np.random.default_rng(20)
ROWS, COLS = 7, 13
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED
ALL = [*INTEGERS, "bool"]


def dtype_of(name: str):
    """The element type of a NumPy type."""
    return {"bool": bool_, "float32": f32, "float64": f64}.get(name) or DTYPES[name[0] + name.lstrip("uint")]


def numbers(name: str, *shape: int) -> np.ndarray:
    """Any value of a type, the least and the largest, and small ones that are often equal."""
    if name == "bool":
        return RNG.integers(0, 2, shape).astype(bool)
    info = np.iinfo(name)
    values = RNG.integers(info.min, info.max, shape, dtype=name, endpoint=True)
    small = RNG.integers(max(info.min, -3), 4, shape).astype(name)
    edges = RNG.choice(np.array([info.min, info.max, 0, 1], name), shape)
    which = RNG.integers(0, 4, shape)
    return np.where(which == 0, edges, np.where(which == 1, small, values)).astype(name)


def run_on(function, want: np.ndarray, **given: np.ndarray) -> np.ndarray:
    """What a kernel of the arrays and `y` stores, of the shape and type of `want`."""
    made = {name: tensor(a.shape, dtype_of(a.dtype.name), name=name) for name, a in given.items()}
    y = tensor(want.shape, dtype_of(want.dtype.name), name="y")

    @workload
    def main():
        function(**made, y=y)

    # Neither what is right nor 0.
    found = ~want if want.dtype.kind in "iub" else np.full_like(want, 7)
    main.compile().execute(**given, y=found)
    return found


def check(function, want: np.ndarray, **given: np.ndarray) -> None:
    have = run_on(function, want, **given)
    assert have.dtype == want.dtype
    np.testing.assert_array_equal(have, want)


def fails(function, match: str, want: np.ndarray, **given: np.ndarray) -> None:
    with pytest.raises(Exception, match=match):
        run_on(function, want, **given)


@pytest.mark.parametrize("name", ALL)
def test_what_is_loaded_is_stored(name):
    @kernel
    def copy(x: In, y: Out):
        y[...] = pto.load(x)

    for shape in ((ROWS, COLS), (1, 1), (64, 31), (37,)):
        x = numbers(name, *shape)
        check(copy, x, x=x)


BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "floordiv": np.floor_divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


def combine(name, a, b):
    if name == "add":
        return a + b
    elif name == "sub":
        return a - b
    elif name == "mul":
        return a * b
    elif name == "floordiv":
        return a // b
    elif name == "maximum":
        return pto.maximum(a, b)
    elif name == "minimum":
        return pto.minimum(a, b)
    elif name == "lt":
        return a < b
    elif name == "le":
        return a <= b
    elif name == "gt":
        return a > b
    elif name == "ge":
        return a >= b
    elif name == "eq":
        return a == b
    else:
        return a != b


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("op", BINARY)
def test_operators_are_those_of_numpy(op, name):
    if name == "bool" and op in ("add", "sub", "mul", "floordiv"):
        pytest.skip("truth values have no arithmetic")
    function = BINARY[op]
    a, b = numbers(name, ROWS, COLS), numbers(name, ROWS, COLS)
    b[::3] = a[::3]
    if op == "floordiv":
        b[b == 0] = 3
    number = True if name == "bool" else 5

    def want(left, right):
        with np.errstate(all="ignore"):
            return function(left, right)

    @kernel
    def tiles(x: In, z: In, y: Out):
        y[...] = combine(op, pto.load(x), pto.load(z))

    check(tiles, want(a, b), x=a, z=b)

    @kernel
    def columns(x: In, z: In, y: Out):
        y[...] = combine(op, pto.load(x), pto.load(z[:, 3:4]))

    check(columns, want(a, b[:, 3:4]), x=a, z=b)

    @kernel
    def rows(x: In, z: In, y: Out):
        y[...] = combine(op, pto.load(x), pto.load(z[2:3, :]))

    check(rows, want(a, b[2:3, :]), x=a, z=b)

    @kernel
    def rows_first(x: In, z: In, y: Out):
        y[...] = combine(op, pto.load(x[2:3, :]), pto.load(z))

    check(rows_first, want(a[2:3, :], b), x=a, z=b)

    @kernel
    def single(x: In, z: In, y: Out):
        y[...] = combine(op, pto.load(x), pto.load(z[2:3, 5:6]))

    check(single, want(a, b[2, 5]), x=a, z=b)

    @kernel
    def numbers_last(x: In, y: Out):
        y[...] = combine(op, pto.load(x), number)

    check(numbers_last, want(a, a.dtype.type(number)), x=a)

    @kernel
    def numbers_first(z: In, y: Out):
        y[...] = combine(op, number, pto.load(z))

    check(numbers_first, want(b.dtype.type(number), b), z=b)


@pytest.mark.parametrize("name", INTEGERS)
def test_functions_of_one_tile_wrap(name):
    @kernel
    def functions(x: In, y: Out):
        t = pto.load(x)
        y[...] = pto.concat(pto.concat(-t, pto.abs(t)), pto.concat(pto.relu(t), t.T.T))

    x = numbers(name, ROWS, COLS)
    with np.errstate(all="ignore"):
        want = np.concatenate([-x, np.abs(x), np.maximum(x, 0), x], axis=1)
    check(functions, want, x=x)


@pytest.mark.parametrize("name", INTEGERS)
def test_sums_wrap_in_the_type_of_the_tile(name):
    @kernel
    def sums(x: In, y: Out):
        t = pto.load(x)
        y[...] = pto.concat(pto.rowsum(t), pto.cumsum(t))

    x = numbers(name, ROWS, COLS)
    kind = x.dtype.type
    check(sums, np.concatenate([x.sum(1, dtype=kind, keepdims=True), x.cumsum(1, dtype=kind)], 1), x=x)

    @kernel
    def columns(x: In, y: Out):
        y[...] = pto.colsum(pto.load(x))

    check(columns, x.sum(0, dtype=kind, keepdims=True), x=x)


@pytest.mark.parametrize("name", ALL)
def test_largest_and_smallest_elements_and_their_places(name):
    @kernel
    def rows(x: In, y: Out):
        t = pto.load(x)
        y[...] = pto.concat(pto.rowmax(t), pto.rowmin(t))

    x = numbers(name, ROWS, COLS)
    check(rows, np.stack([x.max(1), x.min(1)], 1), x=x)

    @kernel
    def columns(x: In, y: Out):
        t = pto.load(x)
        y[...] = pto.concat(pto.colmax(t), pto.colmin(t), axis=0)

    check(columns, np.stack([x.max(0), x.min(0)]), x=x)

    @kernel
    def places(x: In, y: Out):
        t = pto.load(x)
        y[...] = pto.concat(pto.rowargmax(t), pto.rowargmin(t))

    check(places, np.stack([x.argmax(1), x.argmin(1)], 1).astype(np.float32), x=x)

    @kernel
    def column_places(x: In, y: Out):
        t = pto.load(x)
        y[...] = pto.cast(pto.concat(pto.colargmax(t), pto.colargmin(t), axis=0), i32)

    check(column_places, np.stack([x.argmax(0), x.argmin(0)]).astype(np.int32), x=x)


@pytest.mark.parametrize("name", ALL)
def test_elements_go_to_other_places(name):
    @kernel
    def moved(x: In, z: In, y: Out):
        t = pto.load(x)
        taken = pto.gather(t, pto.load(z))
        part = pto.extract(t, (3, 4), 2, 5)
        y[...] = pto.insert(pto.reshape(taken.T, (ROWS, COLS)), part, 1, 1)

    x = numbers(name, ROWS, COLS)
    z = RNG.integers(0, COLS, (ROWS, COLS)).astype(np.int16)
    want = np.take_along_axis(x, z.astype(int), 1).T.reshape(ROWS, COLS).copy()
    want[1:4, 1:5] = x[2:5, 5:9]
    check(moved, want, x=x, z=z)

    @kernel
    def spread(x: In, y: Out):
        y[...] = pto.broadcast(pto.load(x), (ROWS, COLS))

    check(spread, np.broadcast_to(x[:, 2:3], x.shape).copy(), x=x[:, 2:3].copy())


@pytest.mark.parametrize("name", ALL)
def test_elements_are_chosen_and_replaced(name):
    low, high = (0, 1) if name == "bool" else (1, 100)

    @kernel
    def chosen(x: In, z: In, y: Out):
        a, b = pto.load(x), pto.load(z)
        t = pto.where(a < b, a, high)
        t = pto.where(t == a, t, b)
        t = pto.clamp(t, low, high)
        t = pto.mask(t, cols=11)
        y[...] = pto.mask_causal(t, 9, high)

    a, b = numbers(name, ROWS, COLS), numbers(name, ROWS, COLS)
    t = np.where(a < b, a, a.dtype.type(high))
    t = np.where(t == a, t, b).clip(a.dtype.type(low), a.dtype.type(high))
    t[:, 11:] = 0
    for r in range(ROWS):
        t[r, 9 + r :] = high
    check(chosen, t, x=a, z=b)


@pytest.mark.parametrize("name", ALL)
def test_tiles_are_filled(name):
    dtype = dtype_of(name)
    if name != "bool":

        @kernel
        def columns(y: Out):
            y[...] = pto.iota((ROWS, 300), -5, dtype)

        check(columns, np.broadcast_to(np.arange(-5, 295).astype(name), (ROWS, 300)).copy())
    high = 1 if name == "bool" else int(np.iinfo(name).max)

    @kernel
    def filled(y: Out):
        y[...] = pto.concat(pto.full((ROWS, 2), high, dtype), pto.zeros((ROWS, 3), dtype))

    check(filled, np.array([[high, high, 0, 0, 0]] * ROWS, dtype=name))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("other", ALL)
def test_integers_become_others_as_in_numpy(name, other):
    dtype = dtype_of(other)

    @kernel
    def convert(x: In, y: Out):
        y[...] = pto.cast(pto.load(x), dtype)

    x = numbers(name, ROWS, COLS)
    check(convert, x.astype(other), x=x)

    @kernel
    def loaded(x: In, y: Out):
        y[...] = pto.load(x, dtype=dtype)

    check(loaded, x.astype(other), x=x)


@pytest.mark.parametrize("name", ALL)
def test_integers_become_the_nearest_real_numbers(name):
    x = numbers(name, ROWS, COLS)
    for kind, dtype in ((np.float32, f32), (np.float64, f64)):

        @kernel
        def convert(x: In, y: Out):
            y[...] = pto.cast(pto.load(x), dtype)

        check(convert, x.astype(kind), x=x)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_real_numbers_lose_their_fraction(name, kind):
    dtype = dtype_of(name)

    @kernel
    def convert(x: In, y: Out):
        y[...] = pto.cast(pto.load(x), dtype)

    info = np.iinfo(np.uint8 if name == "bool" else name)
    # The largest that the type of real numbers has below the end of the range.
    most = float(np.nextafter(kind(info.max), kind(0))) if info.max > 2**24 else info.max + 0.75
    least = float(kind(info.min)) if info.min < -(2**24) else info.min - 0.75
    x = (RNG.random((ROWS, COLS)) * min(most, 1e18)).astype(kind)
    x[0, :6] = [most, least, 0.99, -0.99, 1.5, 2.5]
    if name == "bool":
        x[1, :3] = [np.nan, np.inf, 0.0]
    check(convert, x.astype(name), x=x)
    if name != "bool":
        for wrong in (np.nan, np.inf, -np.inf, 2.0 * (info.max + 1), float(info.min) * 2 - 1):
            x[3, 4] = wrong
            fails(convert, "does not fit elements", x.astype(np.uint8).astype(name), x=x)


@pytest.mark.parametrize("name", ALL)
def test_truth_values_are_joined(name):
    @kernel
    def joined(x: In, z: In, y: Out):
        a, b = pto.load(x) < pto.load(z), pto.load(x) == pto.load(z)
        y[...] = pto.concat(pto.concat(a & b, a | b), pto.concat(a ^ b, ~a))

    a, b = numbers(name, ROWS, COLS), numbers(name, ROWS, COLS)
    less, same = a < b, a == b
    check(joined, np.concatenate([less & same, less | same, less ^ same, ~less], 1), x=a, z=b)


@pytest.mark.parametrize("name", INTEGERS)
def test_tasks_add_to_one_place(name):
    dtype = dtype_of(name)

    @kernel
    def add_rows(x: In, total: InOut):
        pto.atomic_add(total, pto.load(x))

    values, total = tensor((30, COLS), dtype, name="x"), tensor((2, COLS), dtype, name="total")

    @workload
    def main():
        for i in P(15):
            add_rows(values[tile(i, 2)], total)

    x, start = numbers(name, 30, COLS), numbers(name, 2, COLS)
    want = start + x.reshape(15, 2, COLS).sum(0, dtype=x.dtype)
    for threads in (1, 3):
        have = start.copy()
        main.compile(num_threads=threads).execute(x=x, total=have)
        np.testing.assert_array_equal(have, want)


@pytest.mark.parametrize("name", ALL)
def test_ragged_and_strided_views(name):
    @kernel
    def copy(x: In, y: Out):
        y[...] = pto.load(x).T

    x = numbers(name, 23, 40)
    source, target = tensor((23, 20), dtype_of(name), name="x"), tensor((20, 23), dtype_of(name), name="y")

    @workload
    def main():
        for i in P(3):
            for j in P(3):
                copy(source[tile(i, 9), tile(j, 7)], target[tile(j, 7), tile(i, 9)])

    given, have = x[:, ::2], np.zeros((20, 46), name)[:, ::2]
    main.compile().execute(x=given, y=have)
    np.testing.assert_array_equal(have, given.T)


def test_a_division_by_zero_stops_the_run_with_its_place():
    @kernel
    def divide(x: In, z: In, y: Out):
        y[...] = pto.load(x) // pto.load(z)

    for name in INTEGERS:
        a, b = numbers(name, ROWS, COLS), np.ones((ROWS, COLS), name)
        b[4, 9] = 0
        fails(divide, r"division by zero[\s\S]*row 4 and column 9", a, x=a, z=b)


def test_an_index_that_is_no_column_stops_the_run():
    @kernel
    def take(x: In, z: In, y: Out):
        y[...] = pto.gather(pto.load(x), pto.load(z))

    x = numbers("int8", ROWS, COLS)
    for name, wrong in (("int8", -1), ("int64", 2**62), ("uint64", 2**64 - 1), ("int32", COLS)):
        z = np.zeros((ROWS, COLS), name)
        z[2, 3] = wrong
        fails(take, "row 2 and column 3", x, x=x, z=z)


def test_a_computed_number_that_does_not_fit_stops_the_run():
    @kernel
    def add(x: In, n: In, y: Out):
        y[...] = pto.load(x) + n[0]

    x, n = numbers("int8", ROWS, COLS), np.array([100], np.int32)
    with np.errstate(all="ignore"):
        check(add, x + np.int8(100), x=x, n=n)
    fails(add, "128 does not fit elements of `i8`", x, x=x, n=np.array([128], np.int32))


X = numbers("int32", 4, 4)


@pytest.mark.parametrize("op", ["exp", "tanh", "sqrt", "recip", "round", "rowmean", "gelu"])
def test_functions_of_real_numbers_say_what_they_take(op):
    function = getattr(pto, op)

    @kernel
    def wrong(x: In, y: Out):
        y[...] = function(pto.load(x))

    fails(wrong, f"`pto.{op}` takes tiles of `f32`, `f64`, `f16` and other real numbers", X, x=X)


def test_misuse_is_said():
    @kernel
    def mixed(x: In, z: In, y: Out):
        y[...] = pto.load(x) + pto.load(z)

    fails(mixed, "integers go with integers of the same type", X, x=X, z=X.astype(np.int64))
    fails(mixed, "integers go with integers of the same type", X, x=X, z=X.astype(np.float32))

    @kernel
    def large(x: In, y: Out):
        y[...] = pto.load(x) + 300

    fails(
        large, r"300 does not fit elements of `i8`[\s\S]*-128 to 127", X.astype(np.int8), x=X.astype(np.int8)
    )

    @kernel
    def fraction(x: In, y: Out):
        y[...] = pto.load(x) * 1.5

    fails(fraction, "does not go with elements of `i32`", X, x=X)

    @kernel
    def quotient(x: In, y: Out):
        y[...] = pto.load(x) / 2

    fails(quotient, "rounds down", X, x=X)

    @kernel
    def stored(x: In, y: Out):
        y[...] = pto.load(x)

    fails(stored, r"pto\.cast\(tile, i64\)", X.astype(np.int64), x=X)
    fails(stored, r"pto\.cast\(tile, f32\)", X.astype(np.float32), x=X)

    @kernel
    def product(x: In, y: Out):
        y[...] = pto.load(x) @ pto.load(x)

    fails(product, "`pto.matmul` takes tiles of `f32`", X, x=X)

    @kernel
    def counted(x: In, y: Out):
        y[...] = pto.rowsum(pto.load(x) > 0)

    fails(counted, "to count them", X[:, :1] > 0, x=X)

    @kernel
    def largest(x: In, y: Out):
        y[...] = pto.load(x) - pto.max(pto.load(x))

    fails(largest, "keep it in a tile", X, x=X)

    @kernel
    def drawn(y: Out):
        y[...] = pto.random((4, 4), 1, dtype=u8)

    fails(drawn, "random numbers are from 0 up to 1", X.astype(np.uint8))


def test_an_array_of_another_type_is_refused():
    @kernel
    def copy(x: In, y: Out):
        y[...] = pto.load(x)

    x, y = tensor((4, 4), i8, name="x"), tensor((4, 4), i8, name="y")

    @workload
    def main():
        copy(x, y)

    with pytest.raises(Exception, match=r"x\.astype\(np\.int8\)"):
        main.compile().execute(x=X, y=X.astype(np.int8))
