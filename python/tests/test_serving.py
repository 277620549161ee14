"""Attention of batches against f64 of NumPy: cases of the corpus and random ones, pages in no order."""

from __future__ import annotations

import gc
import os
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pto_wsp import BatchCascade, BatchDecode, BatchPrefill, bf16, errors, f16, f32

ROOT = Path(__file__).resolve().parents[2]
DEEP = bool(os.environ.get("WSP_DEEP"))
Array = np.ndarray
TYPES = {"f16": f16, "bf16": bf16, "f32": f32}


def numpy_type(name: str) -> Any:
    """The type of NumPy for elements."""
    if name == "bf16":
        return pytest.importorskip("ml_dtypes").bfloat16
    return {"f16": np.float16, "f32": np.float32}[name]


@dataclass
class Batch:
    """A batch over pages in no order, with the keys and values of each request in f64."""

    lengths: list[int]
    q_heads: int
    kv_heads: int
    dim: int
    page: int
    layout: str
    dtype: str
    rng: np.random.Generator
    spare: int = 3

    def __post_init__(self) -> None:
        counts = [-(-n // self.page) for n in self.lengths]
        pages = sum(counts) + self.spare
        element = numpy_type(self.dtype)
        shape = (pages, self.page, self.kv_heads, self.dim)
        k, v = (self.rng.standard_normal(shape).astype(element) for _ in range(2))
        ids = self.rng.permutation(pages)[: sum(counts)]
        self.indptr = np.cumsum([0, *counts]).astype(np.int32)
        self.indices = ids.astype(np.int32)
        self.last = np.array([(n - 1) % self.page + 1 if n else 0 for n in self.lengths], np.int32)
        self.plain = (k, v)
        order = (0, 2, 1, 3) if self.layout == "HND" else (0, 1, 2, 3)
        self.kv = tuple(np.ascontiguousarray(each.transpose(order)) for each in (k, v))

    @property
    def form(self) -> tuple[Any, ...]:
        """Heads, extents and type, as `plan` takes them."""
        return (self.q_heads, self.kv_heads, self.dim, self.page, TYPES[self.dtype])

    @property
    def table(self) -> tuple[Array, Array, Array]:
        """The page table."""
        return (self.indptr, self.indices, self.last)

    def tokens(self, request: int) -> tuple[Array, Array]:
        """Keys and values of a request, `[tokens, heads, dim]`, as the table says at present."""
        first, end = self.indptr[request : request + 2]
        length = 0 if end == first else (end - first - 1) * self.page + self.last[request]
        pages = self.indices[first:end]
        flat = [each[pages].reshape(-1, self.kv_heads, self.dim)[:length] for each in self.plain]
        return flat[0].astype(np.float64), flat[1].astype(np.float64)

    def queries(self, rows: int) -> Array:
        """Made-up queries."""
        return self.rng.standard_normal((rows, self.q_heads, self.dim)).astype(numpy_type(self.dtype))


def attend(q: Array, k: Array, v: Array, scale: float | None = None) -> tuple[Array, Array]:
    """Attention of `q [heads, dim]` over tokens in f64: the result, and the log-sum-exp in base 2."""
    heads, dim = q.shape
    group = heads // k.shape[1]
    if len(k) == 0:
        return np.zeros((heads, dim)), np.full(heads, -np.inf)
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = np.einsum("hd,thd->ht", q.astype(np.float64), k) * (dim**-0.5 if scale is None else scale)
    most = scores.max(1, keepdims=True)
    weights = np.exp(scores - most)
    total = weights.sum(1, keepdims=True)
    return np.einsum("ht,thd->hd", weights / total, v), ((most + np.log(total)) / np.log(2))[:, 0]


def close(have: Array, want: Array, dtype: str) -> None:
    """Equal up to roundings of sums in f32."""
    tolerance = {"f32": 2e-5, "f16": 2e-3, "bf16": 1.6e-2}[dtype]
    np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance)


def expected(batch: Batch, q: Array) -> tuple[Array, Array]:
    """What decoding gives."""
    found = [attend(q[b], *batch.tokens(b)) for b in range(len(batch.lengths))]
    if not found:
        return np.zeros(q.shape), np.zeros(q.shape[:2])
    return np.stack([out for out, _ in found]), np.stack([lse for _, lse in found])


def random_batch(seed: int) -> tuple[Batch, Any]:
    """A batch and how it is split."""
    rng = np.random.default_rng(seed)
    group = int(rng.choice([1, 2, 3, 4, 5, 7, 8, 16, 32, 64]))
    kv_heads = int(rng.integers(1, 3))
    lengths = [int(n) if rng.random() > 0.2 else 0 for n in rng.integers(1, 300, rng.integers(1, 6))]
    batch = Batch(
        lengths,
        group * kv_heads,
        kv_heads,
        int(rng.choice([16, 32, 64])),
        int(rng.choice([1, 2, 5, 8, 16, 32, 64, 128])),
        str(rng.choice(["NHD", "HND"])),
        str(rng.choice(["f16", "bf16", "f32"])),
        rng,
    )
    return batch, ["balanced", "whole", 64][int(rng.integers(3))]


@pytest.mark.parametrize("seed", range(1000 if DEEP else 100))
def test_random_batches_give_what_f64_gives(seed: int) -> None:
    batch, splits = random_batch(seed)
    decode = BatchDecode(kv_layout=batch.layout, num_threads=2)  # type: ignore[arg-type]
    decode.plan(*batch.table, *batch.form, splits=splits)
    assert decode.lengths == batch.lengths
    q = batch.queries(len(batch.lengths))
    out, lse = np.full(q.shape, np.nan, np.float32), np.full(q.shape[:2], np.nan, np.float32)
    assert decode.run(q, batch.kv, out, lse) is out
    want = expected(batch, q)
    close(out, want[0], batch.dtype)
    close(lse, want[1], batch.dtype)


@pytest.mark.parametrize("splits", ["balanced", "whole", 64])
def test_every_layer_runs_one_plan_and_a_token_more_is_seen(splits: Any) -> None:
    rng = np.random.default_rng(1)
    batch = Batch([40, 3, 130, 17], 4, 2, 32, 32, "NHD", "f32", rng)
    decode = BatchDecode(num_threads=2)
    decode.plan(*batch.table, *batch.form, splits=splits)
    for step in range(12):
        for layer in range(2):
            q = batch.queries(4)
            kv = batch.kv if layer == 0 else tuple(each.copy() for each in batch.kv)
            close(decode.run(q, kv), expected(batch, q)[0], "f32")
        decode.advance()
        assert decode.lengths == [n + step + 1 for n in batch.lengths]
    before = decode.run(q, batch.kv).copy()
    batch.last[2] -= 1
    after = decode.run(q, batch.kv)
    assert np.array_equal(before[[0, 1, 3]], after[[0, 1, 3]]) or splits == "balanced"
    close(after, expected(batch, q)[0], "f32")


def test_pages_that_are_written_into_the_table_in_place_are_seen() -> None:
    batch = Batch([16, 5], 2, 1, 16, 16, "NHD", "f32", np.random.default_rng(2))
    roomy = np.concatenate([batch.indices, np.zeros(4, np.int32)])
    batch.indices = roomy
    decode = BatchDecode()
    decode.plan(*batch.table, *batch.form, splits="whole")
    q = batch.queries(2)
    close(decode.run(q, batch.kv), expected(batch, q)[0], "f32")
    with pytest.raises(errors.PlanError) as full:
        decode.advance()
    assert full.value.code == "WSP0580" and "request 0" in full.value.message
    assert batch.last.tolist() == [16, 5]
    roomy[:3] = roomy[0], 3, roomy[1]
    batch.indptr[:] = 0, 2, 3
    batch.last[:] = 1, 6
    close(decode.run(q, batch.kv), expected(batch, q)[0], "f32")
    assert decode.lengths == [17, 6]


def test_tables_may_be_lists_and_results_lie_in_one_array() -> None:
    batch = Batch([9, 0], 2, 2, 16, 8, "HND", "f16", np.random.default_rng(3))
    decode = BatchDecode(kv_layout="HND")
    lists = [each.tolist() for each in batch.table]
    decode.plan(*lists, *batch.form, sm_scale=0.5)
    q = batch.queries(2)
    first = decode.run(q, batch.kv)
    want = [attend(q[b], *batch.tokens(b), scale=0.5)[0] for b in range(2)]
    close(first, np.stack(want), "f16")
    assert decode.run(q, batch.kv) is first
    assert decode.run(q[:, :, None], batch.kv) is first
    lists[2][0] = 5
    batch.last[0] = 5
    want = [attend(q[b], *batch.tokens(b), scale=0.5)[0] for b in range(2)]
    close(decode.run(q, batch.kv), np.stack(want), "f16")


def test_requests_without_pages_stay_as_they_are() -> None:
    batch = Batch([9, 0, 4], 2, 1, 16, 8, "NHD", "f32", np.random.default_rng(7))
    decode = BatchDecode()
    decode.plan(*batch.table, *batch.form)
    decode.advance()
    assert decode.lengths == [10, 0, 5] and batch.last.tolist() == [2, 0, 5]
    q = batch.queries(3)
    close(decode.run(q, batch.kv), expected(batch, q)[0], "f32")


@pytest.mark.parametrize("of", ["array", "memoryview", "strided"])
def test_a_token_more_is_written_where_the_numbers_lie(of: str) -> None:
    numbers = array("i", [2, 1])
    wide = np.array([2, 9, 1, 9])
    last: Any = {"array": numbers, "memoryview": memoryview(numbers), "strided": wide[::2]}[of]
    decode = BatchDecode()
    decode.plan([0, 1, 2], [0, 1], last, 4, 2, 16, 8, "f32")
    decode.advance()
    assert list(last) == [3, 2] and decode.lengths == [3, 2]


def test_what_lies_behind_the_last_page_is_not_looked_at() -> None:
    pages = np.zeros((3, 8, 2, 16), np.float32)
    for room in (-1, 800, 1 << 40):
        decode = BatchDecode()
        decode.plan([0, 1, 2], [2, 0, room], [3, 8], 4, 2, 16, 8, "f32")
        decode.run(np.zeros((2, 4, 16), np.float32), (pages, pages))


def test_an_empty_batch_runs() -> None:
    decode = BatchDecode()
    decode.plan([0], [], [], 4, 2, 16, 8, "f32")
    pages = np.zeros((1, 8, 2, 16), np.float32)
    assert decode.run(np.zeros((0, 4, 16), np.float32), (pages, pages)).shape == (0, 4, 16)


def test_prompts_see_themselves_and_what_is_before_them() -> None:
    rng = np.random.default_rng(4)
    for seed in range(6):
        counts = [int(n) for n in rng.integers(0, 40, 3)]
        lengths = [n + int(rng.integers(0, 60)) for n in counts]
        layout, dtype = ["NHD", "HND"][seed % 2], ["f32", "f16", "bf16"][seed % 3]
        batch = Batch(lengths, 6, 2, 32, 16, layout, dtype, rng)
        starts = np.cumsum([0, *counts])
        prefill = BatchPrefill(kv_layout=layout, num_threads=2)  # type: ignore[arg-type]
        prefill.plan(starts, *batch.table, *batch.form)
        q = batch.queries(int(starts[-1]))
        out = prefill.run(q, batch.kv)
        for b, (count, length) in enumerate(zip(counts, lengths, strict=True)):
            k, v = batch.tokens(b)
            for i in range(count):
                seen = length - count + i + 1
                close(out[starts[b] + i], attend(q[starts[b] + i], k[:seen], v[:seen])[0], dtype)


def test_a_common_prefix_is_seen_before_the_own_pages() -> None:
    rng = np.random.default_rng(5)
    for seed in range(4):
        batch = Batch([5, 0, 40, 16], 4, 2, 32, 16, ["NHD", "HND"][seed % 2], "f32", rng, spare=4)
        used = set(batch.indices.tolist())
        prefix = [page for page in range(len(batch.plain[0])) if page not in used][:3]
        cascade = BatchCascade(kv_layout=batch.layout, num_threads=2)  # type: ignore[arg-type]
        cascade.plan(prefix, 7, *batch.table, *batch.form)
        first = [each[prefix].reshape(-1, 2, 32)[:39].astype(np.float64) for each in batch.plain]
        q = batch.queries(4)
        for _ in range(2):
            out = cascade.run(q, batch.kv)
            for b in range(4):
                own = batch.tokens(b)
                k, v = (np.concatenate([first[at], own[at]]) for at in range(2))
                close(out[b], attend(q[b], k, v)[0], "f32")
            batch.last[2] += 1


CORPUS = ROOT / "testdata" / "decode_cases"
PLAIN = {"q_len": 1, "dv": 0, "soft_cap": 0.0, "window_left": -1, "alibi": 0, "sink": 0, "rope_theta": 0.0}


def is_plain(case: Any) -> bool:
    """Whether a case of the corpus is decoding without anything added."""
    meta = {name: case[f"meta_{name}"].item() for name in PLAIN if f"meta_{name}" in case}
    scales = [float(case[name]) for name in ("meta_k_scale", "meta_v_scale") if name in case]
    return (
        "o" in case
        and case["o"].ndim == 4
        and case["o"].shape[1] == 1
        and {**PLAIN, **meta} == PLAIN
        and set(scales) <= {1.0}
        and "meta_prefix_pages" not in case
        and str(case["meta_kv_dtype"]) == str(case["meta_dtype"])
    )


def test_the_plain_cases_of_the_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ml_dtypes")
    monkeypatch.syspath_prepend(str(CORPUS))
    import formula

    taken = 0
    for path in sorted(CORPUS.glob("*.npz")):
        with np.load(path) as file:
            case = {name: file[name] for name in file.files} if "meta_kv_dtype" in file.files else {}
        if not case or not is_plain(case) or case["kv_indices"].size * int(case["meta_page_size"]) > 20_000:
            continue
        taken += 1
        known = formula.Problem.__dataclass_fields__
        meta = {key[5:]: case[key].item() for key in case if key[5:] in known}
        lens = tuple(case["kv_lens"].tolist())
        table = (case["kv_indptr"], list(case["kv_indices"]), int(case["meta_num_pages"]))
        problem = formula.Problem(**{**meta, "lens": lens, "q_len": 1}, table=table)
        element = numpy_type(problem.dtype)
        lists, pages = problem.pages()
        cached = []
        for stream in (formula.K, formula.V):
            plain = problem.cache(stream, pages)
            # No output may see what no request has.
            poisoned = np.full(plain.shape, np.nan)
            for ids, length in zip(lists, lens, strict=True):
                rows = np.asarray(ids, np.int64)
                own = problem.request(plain, plain, ids, length)[0 if stream == formula.K else 1]
                filled = np.full((len(rows) * problem.page_size, problem.h, problem.d), np.nan)
                filled[:length] = own
                poisoned[rows] = filled.reshape(len(rows), problem.page_size, problem.h, problem.d)
            cached.append(poisoned.astype(element))
        decode = BatchDecode(num_threads=2)
        form = (problem.qh, problem.h, problem.d, problem.page_size, problem.dtype)
        page_table = (case["kv_indptr"], case["kv_indices"], case["kv_last_page_len"])
        decode.plan(*page_table, *form, sm_scale=float(problem.scale()))
        q = problem.queries().astype(element)
        lse = np.zeros(q.shape[:2], np.float32)
        out = decode.run(q, (cached[0], cached[1]), lse=lse)
        close(out, case["o"][:, 0], problem.dtype)
        close(lse, case["lse_base2"][:, 0], problem.dtype)
    assert taken >= 20


def resident() -> int:
    """Bytes of this process that lie in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_runs_take_no_memory() -> None:
    batch = Batch([3, 2], 2, 1, 16, 8, "NHD", "f32", np.random.default_rng(6))
    decode = BatchDecode(num_threads=1)
    decode.plan(*batch.table, *batch.form, splits="whole")
    q = batch.queries(2)
    layers = [batch.kv, tuple(each.copy() for each in batch.kv)]

    def runs(count: int) -> None:
        for at in range(count):
            decode.run(q, layers[at % 2])

    runs(100)
    gc.collect()
    before = resident()
    runs(10_000 if DEEP else 500)
    assert resident() - before < 2 << 20
