"""Misuse of batches, bound host entries, watched runs and sparse axes: class, code, line, help."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from misuse import Cases, Misuse, check, copies, rows
from pto_wsp import (
    BatchCascade,
    BatchDecode,
    BatchPrefill,
    Constexpr,
    DenseDyn,
    InOut,
    P,
    Scalar,
    Sparse,
    Tensor,
    errors,
    f16,
    f32,
    f64,
    i64,
    load,
    python_kernel,
    sparse,
    table,
    tensor,
    workload,
)

CASES = Cases([])
DECODE = Path(__file__).resolve().parents[2] / "examples" / "attention" / "decode.pto"
GOOD = ([0, 1, 3], [2, 0, 1], [3, 8])
FORM = (4, 2, 16, 8, "f32")


@pytest.mark.parametrize("case", CASES.all, ids=str)
def test_misuse_of_serving(case: Misuse) -> None:
    check(case)


def planned(*table: Any, form: Any = FORM, **options: Any) -> BatchDecode:
    """A plan for two requests."""
    decode = BatchDecode()
    decode.plan(*(table or GOOD), *form, **options)
    return decode


def pages(n: int = 3, dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    """A cache."""
    return np.zeros((n, 8, 2, 16), dtype), np.zeros((n, 8, 2, 16), dtype)


def queries(n: int = 2, dtype: Any = np.float32) -> np.ndarray:
    """Queries."""
    return np.zeros((n, 4, 16), dtype)


argument = CASES.add


@argument(errors.ArgumentError, "WSP1262", '"NHD"')
def a_layout_that_is_none() -> None:
    BatchDecode(kv_layout="NCHW")  # type: ignore[arg-type]  # here


@argument(errors.ArgumentError, "WSP1262", "from 0 to 1024")
def too_many_threads() -> None:
    BatchDecode(num_threads=5000)  # here


@argument(errors.ArgumentError, "WSP1259", "plan(indptr")
def a_run_before_a_plan() -> None:
    BatchDecode().run(queries(), pages())  # here


@argument(errors.ArgumentError, "WSP1259", "plan(indptr")
def an_advance_before_a_plan() -> None:
    BatchDecode().advance()  # here


@argument(errors.ArgumentError, "WSP1259", "plan(indptr")
def lengths_before_a_plan() -> None:
    BatchCascade().lengths  # here


@argument(errors.ArgumentError, "WSP1262", "multiple of `kv_heads`")
def five_heads_over_two() -> None:
    BatchDecode().plan(*GOOD, 5, 2, 16, 8, "f32")  # here


@argument(errors.ArgumentError, "WSP1262", "an integer from 1")
def no_heads() -> None:
    BatchDecode().plan(*GOOD, 0, 2, 16, 8, "f32")  # here


@argument(errors.ArgumentError, "WSP1262", "an integer from 1")
def a_number_of_heads_with_a_fraction() -> None:
    BatchDecode().plan(*GOOD, 4, 2.0, 16, 8, "f32")  # type: ignore[arg-type]  # here


@argument(errors.ArgumentError, "WSP1262", "an integer from 1")
def a_head_of_no_lanes() -> None:
    BatchDecode().plan(*GOOD, 4, 2, 0, 8, "f32")  # here


@argument(errors.ArgumentError, "WSP1262", "an integer from 1")
def a_page_size_that_is_a_truth_value() -> None:
    BatchDecode().plan(*GOOD, 4, 2, 16, True, "f32")  # here


@argument(errors.ArgumentError, "WSP1251", "`f16`, `bf16` or `f32`")
def queries_of_f64() -> None:
    BatchDecode().plan(*GOOD, 4, 2, 16, 8, f64)  # here


@argument(errors.ArgumentError, "WSP1251", "`f16`, `bf16` or `f32`")
def a_type_that_is_none() -> None:
    BatchDecode().plan(*GOOD, 4, 2, 16, 8, "half precision")  # here


@argument(errors.ArgumentError, "WSP1262", "such as 512")
def a_way_to_split_that_is_none() -> None:
    BatchDecode().plan(*GOOD, *FORM, splits="even")  # type: ignore[arg-type]  # here


@argument(errors.ArgumentError, "WSP1262", "such as 512")
def pieces_of_no_token() -> None:
    BatchDecode().plan(*GOOD, *FORM, splits=0)  # here


@argument(errors.ArgumentError, "WSP1262", "a finite number")
def a_scale_that_is_infinite() -> None:
    BatchDecode().plan(*GOOD, *FORM, sm_scale=float("inf"))  # here


@argument(errors.ArgumentError, "WSP1262", "a finite number")
def a_scale_that_is_text() -> None:
    BatchDecode().plan(*GOOD, *FORM, sm_scale="0.1")  # type: ignore[arg-type]  # here


@argument(errors.ArgumentError, "WSP1263", "a list of integers")
def row_pointers_of_floats() -> None:
    BatchDecode().plan(np.array([0.0, 1.0]), [0], [1], *FORM)  # here


@argument(errors.ArgumentError, "WSP1263", "a list of integers")
def row_pointers_that_are_none() -> None:
    BatchDecode().plan(None, [0], [1], *FORM)  # type: ignore[arg-type]  # here


@argument(errors.ArgumentError, "WSP1263", "one dimension")
def row_pointers_of_two_dimensions() -> None:
    BatchDecode().plan(np.zeros((2, 2), np.int32), [0], [1], *FORM)  # here


@argument(errors.ArgumentError, "WSP0554", "`indptr` decreases")
def row_pointers_that_fall() -> None:
    BatchDecode().plan([0, 2, 1], [0, 1], [1, 1], *FORM)  # here


@argument(errors.ArgumentError, "WSP0554", "`indptr=[0, …]`")
def row_pointers_that_do_not_begin_at_0() -> None:
    BatchDecode().plan([1, 2], [0, 1], [1], *FORM)  # here


@argument(errors.ArgumentError, "WSP0554", "at least 5 page ids")
def row_pointers_beyond_the_pages() -> None:
    BatchDecode().plan([0, 5], [0, 1], [1], *FORM)  # here


@argument(errors.ArgumentError, "WSP0554", "[0]")
def no_row_pointer() -> None:
    BatchDecode().plan([], [], [], *FORM)  # here


@argument(errors.ArgumentError, "WSP0556", "1..=8")
def a_last_page_without_a_token() -> None:
    BatchDecode().plan([0, 1], [0], [0], *FORM)  # here


@argument(errors.ArgumentError, "WSP0556", "1..=8")
def a_last_page_with_too_many_tokens() -> None:
    BatchDecode().plan([0, 1], [0], [9], *FORM)  # here


@argument(errors.ArgumentError, "WSP0556", "without pages")
def tokens_of_a_request_without_pages() -> None:
    BatchDecode().plan([0, 0], [], [3], *FORM)  # here


@argument(errors.ArgumentError, "WSP0552", "one number of tokens")
def fewer_requests_than_row_pointers() -> None:
    BatchDecode().plan([0, 1, 2], [0, 1], [1], *FORM)  # here


@argument(errors.ArgumentError, "WSP0565", "page ids")
def a_page_that_is_negative() -> None:
    BatchDecode().plan([0, 1], [-1], [1], *FORM)  # here


@argument(errors.ArgumentError, "WSP0555", "valid page ids are 0..3")
def a_page_that_the_cache_does_not_have() -> None:
    decode = planned([0, 1, 3], [2, 0, 7], [3, 8])
    decode.run(queries(), pages(3))  # here


@argument(errors.ArgumentError, "WSP1253", "plan for what you have")
def queries_of_another_batch() -> None:
    decode = planned()
    decode.run(queries(3), pages())  # here


@argument(errors.ArgumentError, "WSP1252", "the plan is for f32")
def queries_of_another_type() -> None:
    decode = planned()
    decode.run(queries(dtype=np.float16), pages())  # here


@argument(errors.ArgumentError, "WSP1252", "the plan is for f32")
def a_cache_of_another_type() -> None:
    decode = planned()
    decode.run(queries(), pages(dtype=np.float16))  # here


@argument(errors.ArgumentError, "WSP1253", "page_size, kv_heads, head_dim")
def a_cache_in_the_other_layout() -> None:
    decode = planned()
    k = np.zeros((3, 2, 8, 16), np.float32)
    decode.run(queries(), (k, k))  # here


@argument(errors.ArgumentError, "WSP1262", "`(k, v)`")
def one_array_of_keys_and_values() -> None:
    decode = planned()
    decode.run(queries(), np.zeros((3, 2, 8, 2, 16), np.float32))  # type: ignore[arg-type]  # here


@argument(errors.ArgumentError, "WSP1252", "results are f32")
def results_in_f16() -> None:
    decode = planned()
    decode.run(queries(), pages(), out=np.zeros((2, 4, 16), np.float16))  # here


@argument(errors.ArgumentError, "WSP1253", "[2, 4]")
def sums_of_another_shape() -> None:
    decode = planned()
    decode.run(queries(), pages(), lse=np.zeros((2, 4, 1), np.float32))  # here


@argument(errors.ArgumentError, "WSP1250", "an array of NumPy")
def queries_that_are_a_list() -> None:
    decode = planned()
    decode.run([[1.0]], pages())  # here


@argument(errors.ArgumentError, "WSP1255", "np.array")
def results_that_may_only_be_read() -> None:
    decode = planned()
    out = np.zeros((2, 4, 16), np.float32)
    out.setflags(write=False)
    decode.run(queries(), pages(), out)  # here


@argument(errors.ArgumentError, "WSP0871", "")
def results_over_the_cache() -> None:
    decode = planned()
    k, v = pages()
    decode.run(queries(), (k, v), k.reshape(-1)[:128].reshape(2, 4, 16))  # here


@argument(errors.ArgumentError, "WSP1254", "ascontiguousarray")
def a_cache_with_gaps() -> None:
    decode = planned()
    wide = np.zeros((3, 8, 2, 32), np.float32)[..., ::2]
    decode.run(queries(), (wide, wide))  # here


@argument(errors.ArgumentError, "WSP1258", "q.filled(0)")
def queries_with_a_mask() -> None:
    decode = planned()
    decode.run(np.ma.masked_array(queries(), mask=True), pages())  # here


@argument(errors.ArgumentError, "WSP1258", "q.filled(0)")
def queries_with_a_mask_and_gaps() -> None:
    decode = planned()
    decode.run(np.ma.masked_array(queries(4), mask=True)[::2], pages())  # here


@argument(errors.PlanError, "WSP0580", "call `plan` with others")
def a_token_more_where_a_page_is_full() -> None:
    decode = planned()
    decode.advance()  # here


@argument(errors.ArgumentError, "WSP1255", "that may be written")
def a_token_more_in_a_table_that_may_only_be_read() -> None:
    decode = planned([0, 1, 3], [2, 0, 1], (3, 7))
    decode.advance()  # here


def changed(last: Any, change: Any, **options: Any) -> BatchDecode:
    """A plan whose `last_page_len` has changed since."""
    decode = BatchDecode()
    decode.plan([0, 1, 3], [2, 0, 1], last, 4, 2, 16, 200, "f32", **options)
    change(last)
    return decode


@argument(errors.ArgumentError, "WSP1263", "which does not hold 128")
def a_token_more_than_int8_counts() -> None:
    decode = changed(np.array([127, 1], np.int8), len)
    decode.advance()  # here


@argument(errors.ArgumentError, "WSP1263", "`[2.5, 1]`")
def a_token_more_than_a_fraction() -> None:
    decode = changed([2, 1], lambda last: last.__setitem__(0, 2.5))
    decode.advance()  # here


@argument(errors.ArgumentError, "WSP1263", "`['2', 1]`")
def a_token_more_than_text() -> None:
    decode = changed([2, 1], lambda last: last.__setitem__(0, "2"))
    decode.advance()  # here


@argument(errors.ArgumentError, "WSP0552", "it has 1")
def a_token_more_of_fewer_requests() -> None:
    decode = changed([2, 1], list.pop)
    decode.advance()  # here


@argument(errors.ArgumentError, "WSP0552", "it has 3")
def a_token_more_of_more_requests() -> None:
    decode = changed([2, 1], lambda last: last.append(1))
    decode.advance()  # here


@argument(errors.ArgumentError, "WSP0556", "1 to 200")
def lengths_beyond_a_page() -> None:
    decode = changed([2, 1], lambda last: last.__setitem__(0, 201))
    decode.lengths  # here


@argument(errors.ArgumentError, "WSP0552", "the plan is for 2")
def a_table_that_has_grown_since() -> None:
    table_ = ([0, 1, 3], [2, 0, 1, 3], [2, 1])
    decode = planned(*table_)
    decode.run(queries(), pages(4))
    table_[0].append(4)
    table_[2].append(1)
    decode.run(queries(), pages(4))  # here


@argument(errors.ArgumentError, "WSP0552", "`k` and `v` of one shape")
def values_of_fewer_pages() -> None:
    decode = planned()
    decode.run(queries(), (pages(4)[0], pages(3)[1]))  # here


@argument(errors.ArgumentError, "WSP1254", "out = np.empty(out.shape, np.float32)")
def results_with_gaps() -> None:
    decode = planned()
    decode.run(queries(), pages(), lse=None, out=np.zeros((4, 2, 16), np.float32).transpose(1, 0, 2))  # here


@argument(errors.ArgumentError, "WSP1262", "larger than 32 bits count")
def a_head_of_too_many_lanes() -> None:
    BatchDecode().plan(*GOOD, 4, 2, 10**9, 8, "f32")  # here


@argument(errors.ArgumentError, "WSP1262", "a finite number that f32 has")
def a_scale_that_f32_does_not_have() -> None:
    BatchDecode().plan(*GOOD, *FORM, sm_scale=1e300)  # here


@argument(errors.ArgumentError, "WSP1268", "`BatchDecode()`, with results of its own")
def results_that_a_run_writes() -> None:
    decode, out, ends = planned(), np.zeros((2, 4, 16), np.float32), threading.Event()
    Z = tensor(out.shape, f32)

    @python_kernel
    def waits(z: InOut) -> None:
        assert ends.wait(60)
        z += 1

    @workload
    def held() -> None:
        waits(Z)

    run = held.compile(num_threads=2).execute_async(Z=out)
    try:
        decode.run(queries(), pages(), out)  # here
    finally:
        ends.set()
        run.synchronize()


@argument(errors.ArgumentError, "WSP0556", "`prefix_last_page_len` is 0")
def a_prefix_without_a_token() -> None:
    BatchCascade().plan([0], 0, *GOOD, *FORM)  # here


@argument(errors.ArgumentError, "WSP0555", "`prefix_indices[0]`")
def a_prefix_in_a_page_that_is_not_there() -> None:
    cascade = BatchCascade()
    cascade.plan([9], 3, *GOOD, *FORM)
    cascade.run(queries(), pages())  # here


@argument(errors.PlanError, "WSP0580", "request 0")
def a_first_own_token_without_a_page() -> None:
    cascade = BatchCascade()
    cascade.plan([2], 3, [0, 0], [], [0], *FORM)
    cascade.advance()  # here


@argument(errors.ArgumentError, "WSP1263", "request 0 asks 2 queries")
def more_queries_than_tokens() -> None:
    BatchPrefill().plan([0, 2, 2], [0, 1, 3], [2, 0, 1], [1, 8], *FORM)  # here


@argument(errors.ArgumentError, "WSP1263", "request 0 asks 2 queries")
def fewer_tokens_than_queries_since() -> None:
    prefill, last = BatchPrefill(), [2, 8]
    prefill.plan([0, 2, 2], [0, 1, 3], [2, 0, 1], last, *FORM)
    prefill.run(queries(), pages())
    last[0] = 1
    prefill.run(queries(), pages())  # here


@argument(errors.ArgumentError, "WSP1263", "[0, 3, 5]")
def queries_that_begin_after_they_end() -> None:
    BatchPrefill().plan([0, 3, 2], *GOOD, *FORM)  # here


@argument(errors.ArgumentError, "WSP1263", "[0, 3, 5]")
def queries_of_fewer_requests() -> None:
    BatchPrefill().plan([0, 3], *GOOD, *FORM)  # here


@argument(errors.ArgumentError, "WSP1262", "from 0")
def a_prefix_with_fewer_than_no_tokens() -> None:
    BatchCascade().plan([0], -1, *GOOD, *FORM)  # here


@argument(errors.ArgumentError, "WSP0556", "1..=8")
def a_prefix_with_too_many_tokens() -> None:
    BatchCascade().plan([0], 9, *GOOD, *FORM)  # here


@argument(errors.UnknownAttributeError, "WSP1271", "`run`")
def a_method_with_a_typing_error() -> None:
    planned().runs(queries(), pages())  # type: ignore[attr-defined]  # here


@argument(errors.ArgumentError, "WSP1254", "give it to `execute`")
def a_bound_host_entry_with_an_array_to_copy() -> None:
    program = load(DECODE).program(schedule="Whole")
    table_ = {"kv.indptr": [0, 1], "kv.indices": [0], "kv.last_page_len": [1]}
    k = np.zeros((1, 8, 1, 16), np.float32)
    q = np.zeros((1, 1, 1, 32), np.float32)[..., ::2]
    out = np.zeros((1, 1, 1, 16), np.float32)
    program.bind(q=q, output=out, lse=None, **{"kv.k": k, "kv.v": k}, **table_)  # here


@argument(errors.ArgumentError, "WSP1262", "run.watch(0.1)")
def a_pause_that_is_text() -> None:
    run = copies.compile().execute_async(X=rows(2), Y=rows(2))
    run.watch("often")  # type: ignore[arg-type]  # here


@argument(errors.ArgumentError, "WSP1262", "give seconds, 0 or more: `run.watch(0.1)`")
def a_pause_without_an_end() -> None:
    run = copies.compile().execute_async(X=rows(2), Y=rows(2))
    run.watch(None)  # type: ignore[arg-type]  # here


@argument(errors.UnknownAttributeError, "WSP1271", "did you mean")
def a_run_with_a_typing_error() -> None:
    copies.compile().execute_async(X=rows(2), Y=rows(2)).cancl()  # type: ignore[attr-defined]  # here


@argument(errors.ArgumentError, "WSP1262", "timeout=2.5")
def a_time_limit_that_is_text() -> None:
    copies.compile().execute(X=rows(2), Y=rows(2), timeout="2 s")  # type: ignore[arg-type]  # here


class Matrix:
    """A sparse matrix as SciPy has them."""

    shape = (2, 4)
    nnz = 2
    indptr = np.array([0, 1, 2], np.int32)
    indices = np.array([3, 0], np.int32)

    def __init__(self, format: str) -> None:
        self.format = format


Z = tensor((4, 4), f32)


@python_kernel
def add(z: InOut, n: Scalar) -> None:
    z += n


@workload
def routed(batch: DenseDyn, route: Sparse[i64, "batch"]) -> None:
    for b in P(batch):
        for e in P.sel(route[b]):
            add[b](Z[e], b + 1)


@CASES.add(errors.TraceError, "WSP1030", "matrix.tocsr()")
def a_matrix_in_columns_for_an_axis() -> None:
    sparse(2, Matrix("csc"))  # here


@CASES.add(errors.TraceError, "WSP1030", "matrix.tocsr()")
def a_matrix_in_columns_for_a_run() -> None:
    program = routed.compile()
    program.execute(Z=np.zeros((4, 4), np.float32), route=Matrix("coo"))  # here


def parts(shape: tuple[int, int], indptr: list[int], indices: list[int]) -> Matrix:
    """A matrix of these parts."""
    matrix = Matrix("csr")
    matrix.shape = shape  # type: ignore[assignment]
    matrix.indptr, matrix.indices = np.array(indptr), np.array(indices)
    return matrix


@CASES.add(errors.TraceError, "WSP1030", "from 1 on")
def a_matrix_whose_rows_begin_at_1() -> None:
    routed.compile().execute(Z=np.zeros((4, 4), np.float32), route=parts((2, 4), [1, 1, 2], [3, 0]))  # here


@CASES.add(errors.TraceError, "WSP1030", "prune()")
def a_matrix_with_more_columns_than_rows_have() -> None:
    routed.compile().execute(Z=np.zeros((4, 4), np.float32), route=parts((2, 4), [0, 1, 1], [3, 0]))  # here


@CASES.add(errors.TraceError, "WSP1030", "for 2 rows")
def a_matrix_of_another_shape() -> None:
    sparse(2, parts((3, 4), [0, 1, 2], [3, 0]))  # here


@CASES.add(errors.TraceError, "WSP1030", "no column of it")
def a_matrix_of_fewer_columns() -> None:
    sparse(2, parts((2, 3), [0, 1, 2], [3, 0]))  # here


@CASES.add(errors.ArgumentError, "WSP1263", "scipy.sparse.csr_matrix(route)")
def a_dense_matrix_for_an_axis() -> None:
    routed.compile().execute(Z=np.zeros((4, 4), np.float32), route=np.eye(4))  # here


@CASES.add(errors.ArgumentError, "WSP1260", "leave `route_indptr` out")
def a_matrix_beside_its_rows() -> None:
    routed.compile().execute(  # here
        Z=np.zeros((4, 4), np.float32), route=Matrix("csr"), route_indptr=[0, 1, 2]
    )


@CASES.add(errors.TraceError, "WSP1030", "matrix.tocsr()")
def an_axis_without_its_columns() -> None:
    sparse(2, [0, 1, 2])  # type: ignore[call-overload]  # here


@CASES.add(errors.TraceError, "WSP1030", "a table holds integers")
def truth_values_in_two_dimensions() -> None:
    table(np.ones((2, 2), bool))  # here


@argument(errors.ArgumentError, "WSP1263", "np.int64")
def a_table_of_halves() -> None:
    routed.compile().execute(  # here
        Z=np.zeros((4, 4), np.float32), route_indptr=np.array([0, 1, 2], np.float16), route_indices=[0, 1]
    )


@workload
def of_width(n: DenseDyn, d: Constexpr, x: Tensor[f32, "n", "d"]) -> None:
    for i in P(n):
        add[i](x[i], d)


@argument(errors.ArgumentError, "WSP1253", "[3, 24]")
def an_array_of_another_width_than_the_constant() -> None:
    of_width(d=24).compile().execute(x=np.zeros((3, 10), np.float32))  # here


@argument(errors.TraceError, "WSP1016", "an int from 0")
def a_width_with_a_fraction() -> None:
    of_width(d=2.5).compile()  # here


def test_a_constant_is_the_extent_of_its_name() -> None:
    x = np.zeros((3, 24), np.float32)
    program = of_width(d=24).compile()
    assert program.arguments == {"x": "f32[n, 24]", "n": "size"}
    program.execute(x=x)
    assert (x == 24).all()


def test_a_matrix_of_compressed_rows_is_a_sparse_axis() -> None:
    z = np.zeros((4, 4), np.float32)
    routed.compile().execute(Z=z, route=Matrix("csr"))
    routed(2, Matrix("csr")).compile().execute(Z=z)
    routed(2, sparse(2, Matrix("csr"))).compile().execute(Z=z)
    assert z[:, 0].tolist() == [6, 0, 0, 3]


def test_a_matrix_of_scipy_is_a_sparse_axis() -> None:
    matrices = pytest.importorskip("scipy.sparse")
    z = np.zeros((4, 4), np.float32)
    for made in (matrices.csr_matrix, matrices.csr_array):
        routed.compile().execute(Z=z, route=made(([1.0, 1.0], ([0, 1], [3, 0])), shape=(2, 4)))
    assert z[:, 0].tolist() == [4, 0, 0, 2]


@pytest.mark.parametrize("kind", "int8 uint8 int16 uint16 int32 uint32 int64 uint64 bool".split())
def test_any_integers_are_a_table_and_tell_sizes(kind: str) -> None:
    z = np.zeros((4, 4), np.float32)
    program = routed.compile()
    # Two requests: what follows from three row pointers.
    program.execute(Z=z, route_indptr=np.array([0, 1, 1], kind), route_indices=np.array([1], kind))
    assert z[:, 0].tolist() == [0, 1, 0, 0]
    assert table(np.array([1, 0], kind)).values == (1, 0)


def test_a_size_that_is_given_is_compared_with_tables() -> None:
    with pytest.raises(errors.WspError, match="route_indptr"):
        routed.compile().execute(
            Z=np.zeros((4, 4), np.float32), route_indptr=[0, 1], route_indices=[1], batch=3
        )


def test_types_of_the_package_are_types_of_a_plan() -> None:
    for kind in (f16, "f16", "float16", np.float16, np.dtype(np.float16)):
        planned(form=(4, 2, 16, 8, kind))
