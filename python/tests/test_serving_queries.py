"""Queries of batches as they lie in larger arrays, and lengths of prompts."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pto_wsp import (
    BatchCascade,
    BatchDecode,
    BatchPrefill,
    Out,
    errors,
    f32,
    python_kernel,
    tensor,
    workload,
)
from test_serving import Batch, close, expected

LENGTHS = [37, 1, 16, 60]

Layout = Callable[[np.ndarray], np.ndarray]


def in_a_fused_array(q: np.ndarray) -> np.ndarray:
    """Beside the keys and values of the token, as one product gives them."""
    fused = np.zeros((q.shape[0], q.shape[1] + 5, q.shape[2]), q.dtype)
    fused[:, : q.shape[1]] = q
    return fused[:, : q.shape[1]]


def every_second(q: np.ndarray) -> np.ndarray:
    wide = np.zeros((*q.shape[:2], 2 * q.shape[2]), q.dtype)
    wide[..., ::2] = q
    return wide[..., ::2]


def heads_first(q: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(q.transpose(1, 0, 2)).transpose(1, 0, 2)


def from_behind(q: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(q[::-1, ::-1])[::-1, ::-1]


def one_row_for_all(q: np.ndarray) -> np.ndarray:
    return np.broadcast_to(q[:1], q.shape)


def with_nothing_masked(q: np.ndarray) -> np.ndarray:
    return np.ma.masked_array(every_second(q))


LAYOUTS: list[Layout] = [
    in_a_fused_array,
    every_second,
    heads_first,
    from_behind,
    one_row_for_all,
    with_nothing_masked,
]


def batch(dtype: str = "f32") -> Batch:
    return Batch(LENGTHS, 8, 2, 32, 16, "NHD", dtype, np.random.default_rng(3))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f16", "bf16", "f32"])
def test_queries_with_gaps_are_attended(layout: Layout, dtype: str) -> None:
    of = batch(dtype)
    decode = BatchDecode(num_threads=1)
    decode.plan(*of.table, *of.form)
    q = layout(of.queries(4))
    assert not q.flags.c_contiguous
    close(decode.run(q, of.kv), expected(of, q)[0], dtype)


def test_queries_that_another_run_writes_are_refused() -> None:
    of = batch()
    rows = np.zeros((8, 8, 32), np.float32)
    held, begun = threading.Event(), threading.Event()
    W = tensor(("n", 8, 32), f32)

    @python_kernel
    def writes(x: Out) -> None:
        begun.set()
        held.wait(60)
        x[...] = 1

    @workload
    def w() -> None:
        writes(W)

    decode = BatchDecode(num_threads=1)
    decode.plan(*of.table, *of.form)
    queries = (rows[:4], rows[::2])
    for q in queries:
        decode.run(q, of.kv)
        begun.clear()
        held.clear()
        run = w.compile(num_threads=1).execute_async(W=rows)
        assert begun.wait(60)
        try:
            with pytest.raises(errors.ArgumentError) as caught:
                decode.run(q, of.kv)
        finally:
            held.set()
            run.synchronize()
        assert caught.value.code == "WSP1268" and caught.value.help, str(caught.value)
        assert caught.value.file == __file__
        decode.run(q, of.kv)


def test_queries_that_change_in_place_and_others_are_seen() -> None:
    of = batch()
    decode = BatchDecode(num_threads=1)
    decode.plan(*of.table, *of.form)
    q = in_a_fused_array(of.queries(4))
    for _ in range(3):
        q[...] = of.queries(4)
        close(decode.run(q, of.kv), expected(of, q)[0], "f32")
    plain = of.queries(4)
    close(decode.run(plain, of.kv), expected(of, plain)[0], "f32")
    plain *= 2
    close(decode.run(plain, of.kv), expected(of, plain)[0], "f32")
    other = every_second(of.queries(4))
    close(decode.run(other, of.kv), expected(of, other)[0], "f32")
    close(decode.run(q, of.kv), expected(of, q)[0], "f32")
    # An array that is refused leaves what there was.
    with pytest.raises(errors.ArgumentError):
        decode.run(q[:, :3], of.kv)
    q[...] = of.queries(4)
    close(decode.run(q, of.kv), expected(of, q)[0], "f32")


def test_other_batches_take_them_too() -> None:
    of = batch()
    starts = np.array([0, 3, 4, 6, 7])
    prefill = BatchPrefill(num_threads=1)
    prefill.plan(starts, *of.table, *of.form)
    q = of.queries(7)
    want = np.array(prefill.run(q, of.kv))
    for layout in LAYOUTS[:4]:
        np.testing.assert_array_equal(prefill.run(layout(q), of.kv), want)
    cascade = BatchCascade(num_threads=1)
    cascade.plan(of.indices[:2], 16, *of.table, *of.form)
    q = of.queries(4)
    want = np.array(cascade.run(q, of.kv))
    for layout in LAYOUTS[:4]:
        np.testing.assert_array_equal(cascade.run(layout(q), of.kv), want)


def test_lengths_of_prompts_are_those_of_the_table_at_present() -> None:
    of = batch()
    prefill = BatchPrefill(num_threads=1)
    with pytest.raises(errors.ArgumentError, match="WSP1259"):
        assert prefill.lengths
    prefill.plan([0, 3, 4, 6, 7], *of.table, *of.form)
    assert prefill.lengths == LENGTHS
    of.last[0] += 1
    assert prefill.lengths == [38, *LENGTHS[1:]]
    q = of.queries(7)
    prefill.run(q, of.kv)
    of.last[0] = 17
    with pytest.raises(errors.ArgumentError) as caught:
        assert prefill.lengths
    assert "17" in str(caught.value), str(caught.value)


def test_lengths_of_a_batch_without_requests() -> None:
    prefill = BatchPrefill(num_threads=1)
    empty: list[Any] = []
    prefill.plan([0], [0], empty, empty, 8, 2, 32, 16, "f32")
    assert prefill.lengths == []
