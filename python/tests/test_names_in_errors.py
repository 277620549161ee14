"""Errors name things as users do: names that the package made for its own texts are not in them."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np
import pytest
from misuse import unwritten
from pto_wsp import (
    Channel,
    Constexpr,
    Dense,
    DenseDyn,
    DispatchPolicy,
    In,
    Out,
    P,
    Ragged,
    Scalar,
    Slot,
    Sparse,
    Table,
    Tensor,
    errors,
    f32,
    i64,
    kernel,
    pto,
    python_kernel,
    ragged,
    table,
    tensor,
    tile,
    workload,
)

X = tensor(("rows", 8), f32)
Y = tensor(("rows", 8), f32)


def pair(n: int = 4) -> dict[str, np.ndarray]:
    return {"X": np.ones((n, 8), np.float32), "Y": np.ones((n, 8), np.float32)}


@kernel
def copy(x: In, y: Out) -> None:
    pto.store(y, pto.load(x))


@kernel
def shifted(x: In, y: Out, n: Scalar, by: Constexpr) -> None:
    pto.store(y, pto.load(x) + n + by)


@python_kernel
def divides(x: In, y: Out, by: Constexpr) -> None:
    y[...] = x / np.array([1.0] * by)


def both(first: Channel, second: Channel, n: DenseDyn) -> None:
    """Two processes that wait for each other."""
    with P.pipe():
        with P.process("left"):
            for i in P(n):
                with second.consume() as given, first.send() as slot:
                    copy[i](given, slot)
        with P.process("right"):
            for i in P(n):
                with first.consume() as given, second.send() as slot:
                    copy[i](given, slot)


KERNELS = [copy.function, shifted.function, divides.function]
SHARED = "".join(inspect.getsource(inspect.unwrap(each)) for each in (*KERNELS, both))
"""What the cases have in common of the user's text: a name in another case is none of theirs."""

Case = Callable[[], object]
CASES: list[tuple[str, str, Case]] = []


def case(code: str, said: str = "") -> Callable[[Case], Case]:
    """Adds a case: the code of its error, and what its message says."""

    def add(run: Case) -> Case:
        CASES.append((code, said, run))
        return run

    return add


@case("WSP0816", "axis `tok` has no row 4")
def a_row_that_a_ragged_axis_lacks() -> None:
    @workload
    def w(rows: DenseDyn, tok: Ragged[i64, "rows"]) -> None:
        for t in P(tok[rows]):
            copy[t](X[tile(t, 1)], Y[tile(t, 1)])

    w.compile().execute(**pair(), tok=[1, 1, 1, 1])


@case("WSP0816", "axis `route` has no row 5")
def a_row_that_a_sparse_axis_lacks() -> None:
    @workload
    def w(rows: DenseDyn, route: Sparse[i64, "rows"]) -> None:
        for e in P.sel(route[rows + 1]):
            copy[e](X[tile(e, 1)], Y[tile(e, 1)])

    w.compile().execute(**pair(), route_indptr=[0, 1, 1, 1, 1], route_indices=[0])


@case("WSP0804", "axis `n` has a negative extent")
def a_negative_size() -> None:
    @workload
    def w(n: DenseDyn) -> None:
        for i in P(n):
            copy[i](X[tile(i, 1)], Y[tile(i, 1)])

    w.compile().execute(**pair(), n=-3)


@case("WSP0804")
def a_negative_size_that_no_ascii_name_has() -> None:
    @workload
    def w(größe: DenseDyn) -> None:
        for i in P(größe):
            copy[i](X[tile(i, 1)], Y[tile(i, 1)])

    w.compile().execute(**pair(), größe=-3)


@case("WSP0804", "table `tok` has a negative length")
def a_negative_length() -> None:
    @workload
    def w(rows: DenseDyn, tok: Ragged[i64, "rows"]) -> None:
        for b, t in P(rows, tok):
            copy[b, t](X[tile(b, 1)], Y[tile(b, 1)])

    w.compile().execute(**pair(), tok=[1, -1, 1, 1])


@case("WSP0804")
def a_negative_length_of_a_table_named_as_a_word_of_files() -> None:
    @workload
    def w(rows: DenseDyn, task: Ragged[i64, "rows"]) -> None:
        for b, t in P(rows, task):
            copy[b, t](X[tile(b, 1)], Y[tile(b, 1)])

    w.compile().execute(**pair(), task=[1, -1, 1, 1])


@case("")
def too_few_lengths() -> None:
    @workload
    def w(rows: DenseDyn, tok: Ragged[i64, "rows"]) -> None:
        for b, t in P(rows, tok):
            copy[b, t](X[tile(b, 1)], Y[tile(b, 1)])

    w.compile().execute(**pair(), tok=[1, 2])


@case("")
def a_sparse_axis_with_rows_that_fall() -> None:
    @workload
    def w(rows: DenseDyn, route: Sparse[i64, "rows"]) -> None:
        for b in P(rows):
            for e in P.sel(route[b]):
                copy[b, e](X[tile(b, 1)], Y[tile(b, 1)])

    w.compile().execute(**pair(), route_indptr=[0, 2, 1, 1, 1], route_indices=[0])


@case("")
def a_sparse_axis_with_too_few_rows() -> None:
    @workload
    def w(rows: DenseDyn, route: Sparse[i64, "rows"]) -> None:
        for b in P(rows):
            for e in P.sel(route[b]):
                copy[b, e](X[tile(b, 1)], Y[tile(b, 1)])

    w.compile().execute(**pair(), route_indptr=[0, 1], route_indices=[0])


@case("WSP0856", "kernel `divides` failed")
def the_second_of_two_kernels_made_of_a_function() -> None:
    @workload
    def w(rows: DenseDyn) -> None:
        for i in P(rows):
            divides[i](X[tile(i, 1)], Y[tile(i, 1)], 1)
            divides[i](X[tile(i, 1)], Y[tile(i, 1)], 3)

    w.compile(num_threads=1).execute(**pair())


@case("")
def a_view_beyond_its_tensor() -> None:
    @workload
    def w(rows: DenseDyn) -> None:
        for rows_ in P(rows):
            copy[rows_](X[rows_ + 1], Y[rows_])

    w.compile().execute(**pair())


@case("WSP0610", "of `rows_axis`")
def a_parameter_of_a_kernel_named_like_an_axis() -> None:
    @kernel
    def moved(x: In, rows_axis: Out) -> None:
        pto.store(rows_axis, pto.load(x))

    @workload
    def w(rows: DenseDyn) -> None:
        for i in P(rows):
            moved[i](X[tile(i, 1)], Y[tile(i + 1, 1)])

    w.compile().execute(**pair())


@case("")
def a_scalar_below_zero() -> None:
    @workload
    def w(rows: DenseDyn) -> None:
        for i in P(rows):
            shifted[i](X[tile(i, 1)], Y[tile(i, 1)], i - 2, 3)
            shifted[i](X[tile(i, 1)], Y[tile(i, 1)], i - 2, 4)

    w.compile().execute(**pair())


@case("")
def an_element_that_a_table_lacks() -> None:
    @workload
    def w(rows: DenseDyn, lens: Table[i64, ...]) -> None:
        for i in P(rows):
            copy[i](X[lens[i]], Y[i])

    w.compile().execute(**pair(), lens=[0, 1])


@case("")
def an_element_beyond_a_table_of_constants() -> None:
    order = table([0, 1])

    @workload
    def w(rows: DenseDyn) -> None:
        for i in P(rows):
            copy[i](X[order[i]], Y[i])

    w.compile().execute(**pair())


@case("")
def an_element_beyond_a_table_without_a_name() -> None:
    @workload
    def w(rows: DenseDyn) -> None:
        for i in P(rows):
            copy[i](X[table([0, 1])[i]], Y[i])

    w.compile().execute(**pair())


@case("")
def rounds_without_end() -> None:
    @workload
    def w(rows: DenseDyn) -> None:
        more = Slot(1)
        for _ in P.loop(more > 0, 3):
            copy(X[0], Y[0])

    w.compile().execute(**pair())


@case("")
def a_division_by_a_size_of_zero() -> None:
    @workload
    def w(rows: DenseDyn, k: DenseDyn) -> None:
        for i in P(rows // k):
            copy[i](X[i], Y[i])

    w.compile().execute(**pair(), k=0)


@case("")
def a_key_of_affinity_that_divides_by_zero() -> None:
    @workload
    def w(rows: DenseDyn) -> None:
        for i in P(rows):
            copy[i](X[i], Y[i])

    key = DispatchPolicy.affinity(lambda t: 4 // (t.rows - 1))
    w.dispatch(key).compile(num_threads=2).execute(**pair())


@case("WSP0820", "no process")
def processes_whose_channels_are_made_in_one_line() -> None:
    @workload
    def w(n: DenseDyn) -> None:
        there, back = Channel((1, 8), f32, depth=1), Channel((1, 8), f32, depth=1)
        both(there, back, n)

    w.compile().execute(n=4)


@case("WSP0820", "no process")
def processes_whose_channels_have_no_variable() -> None:
    @workload
    def w(n: DenseDyn) -> None:
        both(*(Channel((1, 8), f32, depth=1) for _ in range(2)), n)

    w.compile().execute(n=4)


@case("")
def a_dense_axis_that_ends_before_it_begins() -> None:
    @workload
    def w(rows: DenseDyn, lo: DenseDyn) -> None:
        for i in P(Dense[lo : rows * 2]):
            copy[i](X[i], Y[i])

    w.compile().execute(**pair(), lo=1)


@case("")
def two_tensors_of_one_name() -> None:
    def inner() -> object:
        return tensor(("rows", 8), f32, name="X")

    other = inner()

    @workload
    def w(rows: DenseDyn) -> None:
        for i in P(rows):
            copy[i](X[i], Y[i])
            copy[i](other[i], Y[i])

    w.compile().execute(**pair())


@case("")
def a_ragged_axis_under_constants() -> None:
    tok = ragged("rows", [1, 2])

    @workload
    def w(rows: DenseDyn) -> None:
        for b, t in P(rows, tok):
            copy[b, t](X[b], Y[b])

    w.compile().execute(**pair())


@case("")
def an_array_of_a_parameter_whose_extent_is_a_size() -> None:
    @workload
    def w(n: DenseDyn, q: Tensor[f32, "n", 8], o: Tensor[f32, "n", 8]) -> None:
        for i in P(n + 1):
            copy[i](q[i], o[i])

    given = pair()
    w.compile().execute(q=given["X"], o=given["Y"])


@pytest.mark.parametrize(("code", "said", "run"), CASES, ids=[run.__name__ for _, _, run in CASES])
def test_messages_have_no_name_that_no_user_wrote(code: str, said: str, run: Case) -> None:
    with pytest.raises(errors.WspError) as caught:
        run()
    error = caught.value
    assert unwritten(error, SHARED + inspect.getsource(run)) == [], str(error)
    assert not code or error.code == code, str(error)
    assert said in error.message, str(error)


def test_what_is_looked_for_is_found() -> None:
    made = errors.make(errors.TraceError, 1001, "axis `tok_axis` of `__slot` and `k_1` is `u3c0[i]`")
    assert unwritten(made, "k = 1") == ["tok_axis", "__slot", "k_1", "u3c0"]
    assert unwritten(made, "tok_axis __slot k_1 u3c0") == []
