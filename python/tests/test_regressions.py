"""What programs of users met: copies, extreme ranges, bytes of other types, names of inline tables."""

from __future__ import annotations

import copy
import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pto_wsp import (
    Buffer,
    Constexpr,
    In,
    Out,
    P,
    Program,
    Scalar,
    Table,
    errors,
    f32,
    i64,
    kernel,
    pto,
    python_kernel,
    table,
    tensor,
    tile,
    workload,
)
from pto_wsp.expr import Expr
from pto_wsp.names import variable_of
from pto_wsp.spans import HAS_COLUMNS

X = tensor(("rows", 64), f32)
Y = tensor(("rows", 64), f32)


@kernel
def double(x: In, y: Out):
    pto.store(y, pto.load(x) * 2.0)


@workload
def doubled(rows):
    for i in P(rows):
        double[i](X[i : i + 1], Y[i : i + 1])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("what", [doubled, doubled.streams(2), double])
def test_copies_of_workloads_and_kernels_are_themselves(what: Any, copied: Any) -> None:
    assert copied(what) is what
    assert copied({"a": [what]})["a"][0] is what


def test_a_range_beyond_every_machine_integer_is_an_error_at_its_line() -> None:
    @kernel
    def endless(x: In, y: Out):
        for _ in range(10**20):
            pto.store(y, pto.load(x))

    @workload
    def uses(rows):
        endless(X, Y)

    with pytest.raises(errors.KernelError) as caught:
        uses(rows=4).compile()
    assert caught.value.line == endless.function.__code__.co_firstlineno + 2
    assert caught.value.help


@pytest.mark.parametrize("data", [None, 5, 10**15, "text", ["x"]], ids=str)
def test_what_is_not_bytes_is_no_program(data: Any) -> None:
    with pytest.raises(errors.FormatError) as caught:
        Program.from_bytes(data)
    assert caught.value.code == "WSP1230" and caught.value.help


def test_any_buffer_of_the_bytes_is_a_program() -> None:
    data = doubled.compile().to_bytes()
    for buffer in (bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
        y = np.zeros((3, 64), np.float32)
        Program.from_bytes(buffer).execute(X=np.ones((3, 64), np.float32), Y=y)
        assert (y == 2).all()


def where_only_the_line_is_known(thing: Table[i64, ...] | Buffer) -> str | None:
    """The name of something whose place is all of its line, as without columns in the interpreter."""
    file, line = thing.span[:2]
    text = linecache.getline(file, line).rstrip()
    thing.span = (file, line, len(text) - len(text.lstrip()), line, len(text))
    return variable_of(thing)


def made_by(thing: Table[i64, ...]) -> Table:
    return thing


def test_without_columns_only_what_an_assignment_makes_is_called_after_it() -> None:
    plain = table([1, 2])
    scratch = Buffer((4, abs(-4)), f32)
    result = made_by(table([1, 2]))
    assert where_only_the_line_is_known(plain) == "plain"
    assert where_only_the_line_is_known(scratch) == "scratch"
    assert where_only_the_line_is_known(result) is None


def refused(body: Callable[[Expr], object]) -> errors.TraceError:
    @workload
    def uses(rows):
        for i in P(rows):
            body(i)

    with pytest.raises(errors.TraceError) as caught:
        uses.compile()
    return caught.value


def test_a_condition_is_no_index() -> None:
    error = refused(lambda i: double(X[i > 0], Y[i]))
    assert error.code == "WSP1027" and "P.select" in str(error)


@pytest.mark.skipif(not HAS_COLUMNS, reason="the interpreter does not know which call of a line runs")
@pytest.mark.parametrize("of", [min, max])
def test_min_and_max_of_python_say_which_to_write(of: Callable[..., Any]) -> None:
    if of is min:
        error = refused(lambda i: double(X[min(i, 2) : 1], Y[i]))
    else:
        error = refused(lambda i: double(X[max(i, 2) : 1], Y[i]))
    assert error.code == "WSP1002" and f"P.{of.__name__}(a, b)" in error.help[0]


def test_a_name_of_a_workload_is_a_string() -> None:
    with pytest.raises(errors.TraceError) as caught:
        workload(name=5)
    assert caught.value.code == "WSP1018" and caught.value.help


def test_a_python_kernel_that_returns_a_value_is_told() -> None:
    @python_kernel
    def forgets(x: In, y: Out):
        return x * 2.0

    @workload
    def uses(rows):
        forgets(X, Y)

    x, y = np.ones((2, 64), np.float32), np.zeros((2, 64), np.float32)
    with pytest.raises(errors.KernelError) as caught:
        uses.compile().execute(X=x, Y=y)
    cause = caught.value.__context__
    assert isinstance(cause, errors.KernelError) and cause.code == "WSP1128" and "y[...]" in str(cause)


@workload
def doubled_in_parts(rows, first: Constexpr):
    for i in P(first):
        double[i](X[i : i + 1], Y[i : i + 1])
    for i in P(P.ceildiv(first, 2)):
        double[i](X[tile(i, 2)][0:1], Y[i - 1 : i])
    for i in P(P.range(first, rows)):
        double[i](X[i : i + 1], Y[i : i + 1])


@pytest.mark.parametrize("rows", [0, 3])
def test_a_loop_that_surely_has_no_iterations_is_no_fault(rows):
    x, y = np.ones((rows, 64), np.float32), np.zeros((rows, 64), np.float32)
    workload = doubled_in_parts(rows, first=0)
    assert workload.compile().execute(X=x, Y=y).num_tasks == rows
    assert (y == 2).all()


@kernel
def quotients(y: Out, high: Scalar, low: Scalar, by: Constexpr, quotient: Constexpr, rest: Constexpr):
    value = (high - 2**31) * 2**32 + low
    y[0, 0] = 1.0 if value // by == quotient else 0.0
    y[0, 1] = 1.0 if value % by == rest else 0.0


@pytest.mark.parametrize("by", [1, 2, 3, 7, 2**62, 2**63 - 1])
@pytest.mark.parametrize("value", [-(2**63), -(2**63) + 1, -5, -4, -1, 0, 1, 4, 5, 2**63 - 1])
def test_a_kernel_divides_the_least_integer_by_what_is_positive(value, by):
    high, low = divmod(value + 2**63, 2**32)

    @workload
    def divides(n):
        for _ in P(n):
            quotients(Y[0:1, 0:2], high, low, by=by, quotient=value // by, rest=value % by)

    y = np.zeros((1, 64), np.float32)
    divides.compile().execute(Y=y, n=1)
    assert y[0, :2].tolist() == [1, 1]
