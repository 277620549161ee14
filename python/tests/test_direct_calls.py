"""Functions of Python kernels get arrays over the memory of a task, whatever parameters and elements are."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from pto_wsp import Constexpr, In, InOut, Out, P, Scalar, errors, python_kernel, tensor, workload
from pto_wsp.dtypes import dtype_of

ROWS, COLS = 6, 5
TYPES = [
    "float16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "bfloat16",
    "float8_e4m3fn",
    "float8_e5m2",
]


def numpy_type(name: str) -> np.dtype:
    return np.dtype(getattr(ml_dtypes, name, None) or name)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("threads", [1, 3])
def test_arrays_have_the_elements_shapes_and_flags_of_regions(name, threads):
    kind = numpy_type(name)
    x = tensor((ROWS, COLS), dtype_of(kind), name="x")
    y = tensor((ROWS, COLS), dtype_of(kind), name="y")
    seen = []

    @python_kernel
    def copies(x: In, y: Out):
        seen.append((x.dtype, x.shape, x.strides, x.flags.writeable, y.flags.writeable, type(x)))
        y[...] = x

    @workload
    def columns():
        for c in P(COLS):
            copies(x[..., c], y[..., c])

    given = (np.arange(ROWS * COLS) % 2).reshape(ROWS, COLS).astype(kind)
    got = np.zeros_like(given)
    columns().compile(num_threads=threads).execute(x=given, y=got)
    assert got.tobytes() == given.tobytes()
    assert seen == [(kind, (ROWS,), (COLS * kind.itemsize,), False, True, np.ndarray)] * COLS


def test_parameters_are_given_by_place_or_by_name():
    x = tensor((4, 4), dtype_of(np.dtype("f4")), name="x")
    y = tensor((4, 4), dtype_of(np.dtype("f4")), name="y")

    @python_kernel
    def by_place(factor: Constexpr, x: In, row: Scalar, y: InOut):
        y[...] += factor * x + row

    @python_kernel
    def by_name(x: In, y: InOut, *, factor: Constexpr, row: Scalar):
        y[...] += factor * x + row

    for k in (by_place, by_name):

        @workload
        def rows():
            for r in P(4):
                k(x=x[r], y=y[r], factor=3.0, row=r)

        given, got = np.ones((4, 4), np.float32), np.full((4, 4), 10, np.float32)
        rows().compile().execute(x=given, y=got)
        assert (got == 13 + np.arange(4)[:, None]).all()


def test_what_a_function_keeps_is_the_array_of_the_caller():
    x = tensor((4,), dtype_of(np.dtype("f4")), name="x")
    y = tensor((4,), dtype_of(np.dtype("f4")), name="y")
    kept = []

    @python_kernel
    def keeps(x: In, y: Out):
        kept.append(x)
        y[...] = x

    @workload
    def one():
        keeps(x, y)

    given, got = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    program = one().compile()
    program.execute(x=given, y=got)
    given[:] = 7
    del given
    assert (kept[0] == 7).all()
    with pytest.raises(ValueError, match="read-only"):
        kept[0][0] = 1


def test_an_input_is_not_written_and_a_value_is_not_returned():
    x = tensor((4,), dtype_of(np.dtype("f4")), name="x")
    y = tensor((4,), dtype_of(np.dtype("f4")), name="y")

    @python_kernel
    def writes(x: In, y: Out):
        y[...] = 1
        x[...] = 1

    @python_kernel
    def returns(x: In, y: Out):
        y[...] = 1
        return x * 2

    for k, word in ((writes, "read-only"), (returns, "returns")):

        @workload
        def one():
            k(x, y)

        with pytest.raises(errors.KernelError, match=word) as found:
            one().compile().execute(x=np.zeros(4, np.float32), y=np.zeros(4, np.float32))
        assert found.value.code.startswith("WSP")
