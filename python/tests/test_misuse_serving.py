"""Misuse of batches, bound host entries, watched runs and sparse axes: class, code, line, help."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from misuse import Cases, Misuse, check, copies, rows
from pto_wsp import (
    BatchCascade,
    BatchDecode,
    BatchPrefill,
    DenseDyn,
    InOut,
    P,
    Scalar,
    Sparse,
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


@argument(errors.ArgumentError, "WSP0554", "kv.indptr")
def row_pointers_that_fall() -> None:
    BatchDecode().plan([0, 2, 1], [0, 1], [1, 1], *FORM)  # here


@argument(errors.ArgumentError, "WSP0554", "0, …")
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


@argument(errors.PlanError, "WSP0580", "call `plan` with others")
def a_token_more_where_a_page_is_full() -> None:
    decode = planned()
    decode.advance()  # here


@argument(errors.ArgumentError, "WSP1255", "that may be written")
def a_token_more_in_a_table_that_may_only_be_read() -> None:
    decode = planned([0, 1, 3], [2, 0, 1], (3, 7))
    decode.advance()  # here


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
