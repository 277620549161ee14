"""An `Out` is written in every element: never is an error, and so is in part where a program is debugged."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from pto_wsp import (
    Constexpr,
    In,
    InOut,
    Out,
    P,
    Scalar,
    Tensor,
    errors,
    f8e4m3,
    f8e5m2,
    f32,
    i32,
    i64,
    kernel,
    pto,
    python_kernel,
    tensor,
    tile,
    u8,
    u16,
    u32,
    u64,
    workload,
)
from pto_wsp.dtypes import dtype_of
from pto_wsp.kernels import codes

X, Y = tensor((4, 4), f32, name="x"), tensor((4, 4), f32, name="y")


def of(k, *args):
    """A workload of one task over `x` and `y`."""

    @workload
    def one():
        k(X, Y, *args)

    return one


def ran(k, *args, debug=True):
    x, y = np.ones((4, 4), np.float32), np.full((4, 4), -7, np.float32)
    of(k, *args).compile(enable_debug=debug).execute(x=x, y=y)
    return y


def test_an_out_that_is_never_stored_to_is_an_error():
    @kernel
    def reads(x: In, y: Out):
        t = pto.load(x) * 2.0  # noqa: F841

    @kernel
    def by_constant(x: In, y: Out, c: Constexpr):
        if c:
            pto.store(y, pto.load(x))

    for k, args in ((reads, ()), (by_constant, (False,))):
        with pytest.raises(errors.KernelError) as never:
            of(k, *args).compile()
        assert never.value.code == f"WSP{codes.NEVER_STORED}" and "`y`" in never.value.message
    assert (ran(by_constant, True) == 1).all()


def test_a_python_kernel_that_gives_its_out_another_value_is_an_error():
    @python_kernel
    def rebinds(x: In, y: Out):
        y = x * 2  # noqa: F841

    @python_kernel
    def forgets(x: In, y: Out):
        x * 2  # noqa: B018

    @python_kernel
    def adds(x: In, y: Out):
        y = y + x

    @python_kernel
    def into_a_copy(x: In, y: Out):
        np.multiply(x, 2, out=y.copy())

    @python_kernel
    def looks(x: In, y: Out):
        if y.shape[0] == len(y) and np.sqrt(y[0]).sum() >= -1:
            y = x * 2  # noqa: F841

    @python_kernel
    def into_a_part_of_a_copy(x: In, y: Out):
        y.reshape(-1, 2).T.flatten()[:] = 1

    @python_kernel
    def by_other_names(x: In, y: Out):
        z = y
        w = z.T
        z = w + x
        w = z

    @python_kernel
    def into_another_type(x: In, y: Out):
        y.astype("f4")[...] = x

    @python_kernel
    def of_a_list(x: In, y: Out):
        [y for y in x]

    @python_kernel
    def of_a_choice(x: In, y: Out):
        y = x if y.size else y

    @python_kernel
    def of_two(x: In, y: Out):
        twice = x * 2
        y, z = twice, y  # noqa: F841

    @python_kernel
    def by_function(x: In, y: Out):
        np.add(x, 1)
        print(y.flags, [lambda y: y.fill(1)])

    never_store = (rebinds, forgets, adds, into_a_copy, looks, into_a_part_of_a_copy, by_other_names)
    for k in (*never_store, into_another_type, of_a_list, of_a_choice, of_two, by_function):
        with pytest.raises(errors.KernelError) as never:
            ran(k, debug=False)
        assert never.value.code == f"WSP{codes.NEVER_STORED}", k.name
        assert "y[...]" in never.value.help[0] and never.value.file == __file__


def test_a_failed_task_has_the_code_of_what_it_raised():
    @python_kernel
    def runs_another(x: In, y: Out):
        of(never, *()).compile().execute(x=None)

    @python_kernel
    def never(x: In, y: Out):
        y[...] = x

    @python_kernel
    def fails(x: In, y: Out):
        raise ValueError("no such row")

    with pytest.raises(errors.KernelError) as nested:
        ran(runs_another, debug=False)
    cause = nested.value.__context__
    assert isinstance(cause, errors.ArgumentError) and cause.code == nested.value.code == "WSP1259"
    assert cause.message == nested.value.message and cause.line == nested.value.line
    assert any("runs_another" in note or "indices" in note for note in nested.value.notes)
    with pytest.raises(errors.KernelError) as other:
        ran(fails, debug=False)
    assert other.value.code == "WSP0856" and isinstance(other.value.__cause__, ValueError)


def test_ways_to_write_an_out():
    @python_kernel
    def by_call(x: In, y: Out):
        np.multiply(x, 2, out=y)

    @python_kernel
    def by_variable(x: In, y: Out):
        target = y
        target[:] = x * 2

    @python_kernel
    def by_other_names(x: In, y: Out):
        z = w = y
        v = w[1:].T
        v[...] = 2 * x[1:].T
        z[0] = 2 * x[0]

    @python_kernel
    def by_nested(x: In, y: Out):
        def write():
            y[...] = x * 2

        write()

    @python_kernel
    def in_place(x: In, y: Out):
        y *= 0
        y += x
        y += x

    @kernel
    def by_rows(x: In, y: Out):
        for i in range(2):
            pto.store(y[2 * i : 2 * i + 2], pto.load(x[2 * i : 2 * i + 2]) * 2.0)

    def helper(y, t):
        pto.store(y, t * 2.0)

    @kernel
    def by_helper(x: In, y: Out):
        helper(y, pto.load(x))

    @python_kernel
    def by_a_kept_type(x: In, y: Out):
        y.astype("f4", copy=False)[...] = 2 * x

    @python_kernel
    def by_one_of_two(x: In, y: Out):
        z, w = y, x
        target = z if x.size else w
        target[...] = 2 * w

    @python_kernel
    def by_rows_of_a_list(x: In, y: Out):
        [np.multiply(2, row, out=y[at]) for at, row in enumerate(x)]

    @python_kernel
    def by_choice(x: In, y: Out):
        max(y[0:1], key=len)[:] = 2 * x[0]
        min(y[1:], y[1:], key=len)[...] = 2 * x[1:]

    looked_into = (by_call, by_variable, by_other_names, by_nested, in_place, by_rows, by_helper, by_choice)
    for k in (*looked_into, by_a_kept_type, by_one_of_two, by_rows_of_a_list):
        assert (ran(k, debug=k is not in_place) == 2).all()


def test_what_is_left_unwritten_is_counted_and_stays_as_it_was():
    @kernel
    def half(x: In, y: Out):
        pto.store(y[0:2], pto.load(x[0:2]))

    @python_kernel
    def late(x: In, y: Out):
        if x[0, 0] > 0:
            y[1:, 1:] = x[1:, 1:]

    @python_kernel
    def never(x: In, y: Out):
        if x[0, 0] < 0:
            y[...] = x

    for k, count, first in ((half, 8, [2, 0]), (late, 7, [0, 0]), (never, 16, [0, 0])):
        x, y = np.ones((4, 4), np.float32), np.full((4, 4), -7, np.float32)
        with pytest.raises(errors.KernelError) as left:
            of(k).compile(enable_debug=True).execute(x=x, y=y)
        assert f"{count} of its 16 elements are not written, the first at {first}" in left.value.message
        assert (y == -7).sum() == count
        assert np.isfinite(ran(k, debug=False)).all()


def test_what_no_store_reaches_of_rows_that_are_bounded_is_noted():
    @kernel
    def left(x: In, y: Out):
        y[:, :32] = pto.load(x[:, :32])

    @kernel
    def upper(x: In, y: Out):
        y[:8] = pto.load(x[:8])

    @kernel
    def whole(x: In, y: Out):
        y[:, :32] = pto.load(x[:, :32])
        y[:, 32:] = pto.load(x[:, 32:])

    @kernel
    def every(x: In, y: Out):
        y[...] = pto.load(x)

    def notes(k):
        x, y = tensor(("rows", 64), f32), tensor(("rows", 64), f32)

        @workload
        def tiles(rows):
            for i in P(P.ceildiv(rows, 16)):
                k[i](x[tile(i, 16)], y[tile(i, 16)])

        return tiles.compile().notes

    for k, count in ((left, 512), (upper, 512), (whole, None), (every, None)):
        found = notes(k)
        assert len(found) == (count is not None), found
        assert count is None or f"stores to {count} of the up to 1024 elements of `y`" in found[0]


def test_what_no_store_reaches_is_noted_where_it_is_known():
    @kernel
    def half(x: In, y: Out):
        pto.store(y[0:2], pto.load(x[0:2]))

    @kernel
    def corners(x: In, y: Out):
        y[0, 0] = x[0, 0]
        pto.store(y[2:4, 1:3], pto.load(x[2:4, 1:3]))

    @kernel
    def whole(x: In, y: Out):
        pto.store(y[0:2], pto.load(x[0:2]))
        pto.store(y[2:4], pto.load(x[2:4]))

    @kernel
    def by_rows(x: In, y: Out):
        for i in range(4):
            pto.store(y[i], pto.load(x[i]))

    @kernel
    def turned(x: In, y: Out):
        pto.store(y.T, pto.load(x).T)

    for k, count in ((half, 8), (corners, 5), (whole, None), (by_rows, None), (turned, None)):
        notes = of(k).compile().notes
        assert len(notes) == (count is not None), notes
        assert count is None or f"stores to {count} of the 16 elements of `y`" in notes[0]


def test_a_python_kernel_that_may_write_its_out_is_run():
    def fill(array):
        array[...] = 2

    @python_kernel
    def by_a_view(x: In, y: Out):
        y.reshape(-1).T[:] = 2

    @python_kernel
    def by_another_name(x: In, y: Out):
        z = y
        z[...] = 2

    @python_kernel
    def by_a_function(x: In, y: Out):
        fill(y)

    @python_kernel
    def by_out(x: In, y: Out):
        np.add(x, x, y)

    @python_kernel
    def by_keyword(x: In, y: Out):
        np.add(x, x, out=y)

    @python_kernel
    def by_a_method(x: In, y: Out):
        y.fill(2)

    for k in (by_a_view, by_another_name, by_a_function, by_out, by_keyword, by_a_method):
        assert (ran(k, debug=False) == 2).all()


def test_each_task_fills_its_own_region_and_the_rest_of_an_array_stays():
    @kernel
    def fill(y: Out):
        pto.store(y, pto.full((2, 4), 3.0))

    @workload
    def w(y: Tensor[f32, "n", 4]):
        for i in P(2):
            fill[i](y[4 * i : 4 * i + 2])

    y = np.full((8, 4), -7, np.float32)
    w.compile(enable_debug=True).execute(y=y)
    assert ((y == 3).all(1) == [True, True, False, False] * 2).all()


def test_a_region_that_another_parameter_sees_is_left_alone():
    @python_kernel
    def twice(x: In, y: Out):
        y[0] = 2 * x[0]

    @workload
    def w(x: Tensor[f32, 4, 4]):
        twice(x, x)

    x = np.ones((4, 4), np.float32)
    w.compile(enable_debug=True).execute(x=x)
    assert x.sum() == 20


@pytest.mark.parametrize("dtype", ["u8", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64"])
def test_elements_of_all_types(dtype):
    @python_kernel
    def zeros(y: Out):
        y[...] = 0

    @python_kernel
    def nothing(y: Out):
        y[:0] = 0

    @python_kernel
    def reads(y: InOut):
        pass

    for k, fails in ((zeros, False), (nothing, True), (reads, False)):

        @workload
        def w(y: Tensor[dtype_of(dtype), 300]):
            k(y)

        name = {"u": "uint", "i": "int", "f": "float"}[dtype[0]]
        y = (np.arange(300) % 200).astype(f"{name}{int(dtype[1:])}")
        before, program = y.copy(), w.compile(enable_debug=True)
        if fails and dtype not in ("u8", "u16"):
            with pytest.raises(errors.KernelError, match="300 of its 300"):
                program.execute(y=y)
        else:
            program.execute(y=y)
        assert (y == (0 if k is zeros else before)).all()


SHORT = ["uint8", "uint16", "float8_e4m3fn", "float8_e5m2"]


@pytest.mark.parametrize("dtype", [*SHORT, "float16", "bfloat16", "int32", "float64"])
@pytest.mark.parametrize("part", [slice(0, 4), slice(None, None, 2), slice(63)])
def test_what_a_task_leaves_is_as_it_was(dtype, part):
    numpy = np.dtype(dtype) if dtype in np.sctypeDict else np.dtype(getattr(ml_dtypes, dtype))

    @python_kernel
    def some(y: Out):
        y[part] = 1

    @workload
    def w(y: Tensor[dtype_of(numpy), 64]):
        some(y)

    y = (np.arange(64) % 7 + 2).astype(numpy)
    want = y.copy()
    want[part] = 1
    if dtype in SHORT:
        w.compile(enable_debug=True).execute(y=y)
    else:
        with pytest.raises(errors.KernelError, match="elements (is|are) not written"):
            w.compile(enable_debug=True).execute(y=y)
    assert y.tobytes() == want.tobytes()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_an_out_that_is_computed_from_what_it_held_is_told_as_such(dtype):
    @python_kernel
    def adds(y: Out):
        y += 1

    @workload
    def w(y: Tensor[dtype_of(dtype), 64]):
        adds(y)

    y = np.full(64, 5, dtype)
    with pytest.raises(errors.KernelError, match="64 of its 64 elements are computed from what it held"):
        w.compile(enable_debug=True).execute(y=y)
    assert (y == 5).all()


def test_elements_that_no_task_addresses_are_noted_where_a_program_is_debugged():
    @kernel
    def double(x: In, y: Out):
        pto.store(y, pto.load(x) * 2.0)

    @workload
    def w(x: Tensor[f32, "n", 4], y: Tensor[f32, "n", 4]):
        for i in P(2):
            double[i](x[8 * i : 8 * i + 4], y[8 * i : 8 * i + 4])

    x, y = np.ones((16, 4), np.float32), np.zeros((16, 4), np.float32)
    program = w.compile(enable_debug=True)
    said = "32 of 64 elements of `y` were never written"
    assert [said in note and "`y[4, 0]`" in note for note in program.execute(x=x, y=y).notes] == [True]
    bound = program.bind(x=x, y=y)
    bound()
    assert said in bound.stats.notes[0]
    assert not w.compile().execute(x=x, y=y).notes


def test_a_division_by_zero_is_told_of_the_division():
    @kernel
    def divides(x: In, y: Out, n: Scalar, m: Scalar):
        pto.store(y, pto.load(x) + (n - m) // (m - m))

    with pytest.raises(errors.KernelError, match="division by zero: 3 / 0"):
        ran(divides, 5, 2)


def test_all_values_of_short_elements_are_written_without_a_complaint():
    @python_kernel
    def ramp(y: Out):
        with np.errstate(over="ignore"):
            y[...] = np.arange(65536).astype(y.dtype)

    for dtype, numpy in (("u8", np.uint8), ("u16", np.uint16), ("f16", np.float16)):

        @workload
        def w(y: Tensor[dtype_of(dtype), 65536]):
            ramp(y)

        y = np.zeros(65536, numpy)
        w.compile(enable_debug=True).execute(y=y)
        with np.errstate(over="ignore"):
            assert (y == np.arange(65536).astype(numpy)).all()


def of_integers(k, dtype=i32):
    """A workload of one task that writes four numbers."""

    @workload
    def w(x: Tensor[f32, 4], z: Tensor[f32, 4], y: Tensor[dtype, 4]):
        k(x, z, y)

    return w


def debugged(w, dtype="i4"):
    """What a workload with integers writes, as it is compiled and to be debugged, and what fails."""
    results = []
    for debug in (False, True):
        x, z, y = np.ones(4, "f4"), np.full(4, 3, "f4"), np.full(4, 5, dtype)
        try:
            w.compile(enable_debug=debug).execute(x=x, z=z, y=y)
            results.append((z.tolist(), y.tolist()))
        except errors.KernelError as error:
            results.append((z.tolist(), y.tolist(), error))
    return results


def add_one(y):
    y += 1


@python_kernel
def computes(x: In, z: InOut, y: Out):
    z += 1
    y[:] = y + 1


@python_kernel
def computes_in_place(x: In, z: InOut, y: Out):
    y += 1


@python_kernel
def computes_elsewhere(x: In, z: InOut, y: Out):
    add_one(y[:])


@python_kernel
def computes_one(x: In, z: InOut, y: Out):
    y[:3] = 7
    y[3] = y[3] + 1


@python_kernel
def computes_another_array(x: In, z: InOut, y: Out):
    z[:] = y % 100
    y[:] = 0


@pytest.mark.parametrize("dtype", ["u1", "u2", "i4", "u4", "i8", "u8"])
@pytest.mark.parametrize(
    ("k", "said"),
    [
        (computes, "of the elements of `y`, 4 in all, 4 are computed"),
        (computes_in_place, "of the elements of `y`, 4 in all, 4 are computed"),
        (computes_elsewhere, "of the elements of `y`, 4 in all, 4 are computed"),
        (computes_one, "of the elements of `y`, 4 in all, 1 is computed"),
        (computes_another_array, "of the elements of `z`, 4 in all, 4 are computed"),
    ],
    ids=lambda case: getattr(case, "name", ""),
)
def test_integers_that_are_computed_from_what_an_out_held_fail_a_debugged_run(k, said, dtype):
    of = {"u1": u8, "u2": u16, "i4": i32, "u4": u32, "i8": i64, "u8": u64}[dtype]
    _, (z, y, error) = debugged(of_integers(k, of), dtype)
    assert error.code == "WSP0856" and said in error.message and "what `y` held before" in error.message
    assert error.help == ["declare `y` as `InOut`, or write all of it before it is read"]
    assert set(y) <= {0, 5, 7}
    assert set(z) <= {3, 4}


@pytest.mark.parametrize(("of", "name"), [(f8e4m3, "float8_e4m3fn"), (f8e5m2, "float8_e5m2")])
def test_floats_of_8_bits_that_are_computed_from_what_an_out_held_fail_a_debugged_run(of, name):
    plain, (z, y, error) = debugged(of_integers(computes, of), getattr(ml_dtypes, name))
    assert plain == ([4] * 4, [6] * 4)
    assert error.code == "WSP0856" and "of the elements of `y`, 4 in all, 4 are computed" in error.message
    assert (z, y) == ([4] * 4, [5] * 4)


def test_an_out_of_integers_may_be_read_when_it_is_written():
    calls = []

    @python_kernel
    def counts(x: In, z: InOut, y: Out):
        y[:] = 1
        np.cumsum(y, out=y)
        z += y

    @python_kernel
    def only_writes(x: In, z: InOut, y: Out):
        calls.append(len(y))
        np.add(x, y.shape[0], out=y, casting="unsafe")
        y[0] = x[0]
        y.T[1:] = len(calls)

    plain, debug = debugged(of_integers(counts))
    assert plain == debug == ([4, 5, 6, 7], [1, 2, 3, 4])
    plain, debug = debugged(of_integers(only_writes))
    assert calls == [4, 4], "a function in whose text an `Out` is only written runs once"
    assert (plain, debug) == (([3] * 4, [1, 1, 1, 1]), ([3] * 4, [1, 2, 2, 2]))


def test_elements_that_a_function_leaves_are_found_beside_those_that_it_reads():
    @python_kernel
    def leaves_one(x: In, z: InOut, y: Out):
        y[:3] = 2
        y[:2] = y[:2] + 1

    _, (_, y, error) = debugged(of_integers(leaves_one))
    assert "1 of its 4 elements is not written, the first at [3]" in error.message
    assert y == [3, 3, 2, 5]
