"""Decode attention over a ragged batch, with long requests split over several tasks whose partial results are
merged.

    python examples/python/decode.py [longest request]

Keys and values of all requests lie one after another: request `b` has the rows `indptr[b] .. indptr[b + 1]`.
`chunk` is a ragged axis: request `b` has `chunk[b]` chunks of 512 keys, which can be none. A merge waits for
the partial results of its own request and head, and for nothing else.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import reference
from pto_wsp import (
    Buffer,
    DenseDyn,
    Deps,
    DispatchPolicy,
    In,
    Out,
    P,
    Ragged,
    Table,
    Tensor,
    Workload,
    empty,
    f32,
    i64,
    kernel,
    pto,
    tile,
    workload,
)

CHUNK = 512
KV_ROWS = 64
LOG2E = math.log2(math.e)
TINY = 1e-38


@kernel(unit="cube", cost=400)
def partial(q: In, k: In, v: In, out: Out, lse: Out) -> None:
    """Attention of one group of query heads over one chunk of keys, which is never empty."""
    heads, dim = q.shape
    queries = pto.load(q) * (LOG2E / math.sqrt(dim))
    largest = pto.full((heads, 1), -math.inf)
    total = pto.zeros((heads, 1))
    mixed = pto.zeros((heads, dim))
    for pos in range(0, k.shape[0], KV_ROWS):
        scores = pto.matmul(queries, pto.load(k[pos:], shape=(KV_ROWS, dim)).T)
        bound = pto.maximum(largest, pto.rowmax(scores))
        powers = pto.exp2(scores - bound)
        fade = pto.exp2(largest - bound)
        total = total * fade + pto.rowsum(powers)
        mixed = pto.matmul(powers, pto.load(v[pos:], shape=(KV_ROWS, dim)), acc=mixed * fade)
        largest = bound
    pto.store(out, mixed / total)
    pto.store(lse, pto.log2(total) + largest)


@kernel(unit="vector", cost=20)
def merge(part: In, part_lse: In, out: Out, lse: Out) -> None:
    """Partial results, each with its logarithm of sums as its weight. Without any: 0 and -inf."""
    heads, dim = out.shape
    largest = pto.full((heads, 1), -math.inf)
    total = pto.zeros((heads, 1))
    mixed = pto.zeros((heads, dim))
    for c in range(part.shape[0]):
        weight = pto.load(part_lse[c]).T
        bound = pto.maximum(largest, weight)
        fade = pto.exp2(largest - bound)
        share = pto.exp2(weight - bound)
        total = total * fade + share
        mixed = mixed * fade + pto.load(part[c]) * share
        largest = bound
    pto.store(out, mixed / pto.maximum(total, TINY))
    pto.store(lse, pto.log2(total) + largest)


@workload
def decode(
    batch: DenseDyn,
    kv_heads: DenseDyn,
    group: DenseDyn,
    head_dim: DenseDyn,
    most_chunks: DenseDyn,
    indptr: Table[i64, ...],
    chunk: Ragged[i64, "batch"],
    q: Tensor[f32, "batch", "kv_heads", "group", "head_dim"],
    k: Tensor[f32, "total", "kv_heads", "head_dim"],
    v: Tensor[f32, "total", "kv_heads", "head_dim"],
    out: Tensor[f32, "batch", "kv_heads", "group", "head_dim"],
    lse: Tensor[f32, "batch", "kv_heads", "group"],
) -> None:
    part = Buffer((batch, kv_heads, most_chunks, group, head_dim), f32)
    part_lse = Buffer((batch, kv_heads, most_chunks, group), f32)
    for b, h in P(batch, kv_heads):
        for c in P(chunk[b]):
            rows = tile(c, CHUNK, indptr[b], indptr[b + 1])
            partial[b, h, c](q[b, h], k[rows, h], v[rows, h], part[b, h, c], part_lse[b, h, c])
        chunks = slice(0, chunk.lengths[b])
        merge[b, h](part[b, h, chunks], part_lse[b, h, chunks], out[b, h], lse[b, h])


def build(group: int = 4, head_dim: int = 64) -> Workload:
    """The workload for groups of query heads of one dimension, requests kept together."""
    bound = decode(group=group, head_dim=head_dim)
    return bound.dispatch(DispatchPolicy.affinity(lambda t: t.batch)).task_graph(
        deps=Deps.infer_bytes_overlap()
    )


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Made-up keys or values, which begin at a page of memory."""
    made = empty(shape, f32)
    rng.standard_normal(dtype=np.float32, out=made)
    return made


def make(
    lengths: list[int], kv_heads: int = 2, group: int = 4, head_dim: int = 64, seed: int = 0
) -> dict[str, Any]:
    """Made-up arrays for requests of these lengths, and room for the results."""
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    chunks = np.array([-(-n // CHUNK) for n in lengths], dtype=np.int64)
    q_shape = (len(lengths), kv_heads, group, head_dim)
    kv_shape = (int(indptr[-1]), kv_heads, head_dim)
    return {
        "indptr": indptr,
        "chunk": chunks,
        "most_chunks": int(max(chunks, default=0)),
        "q": rng.standard_normal(q_shape, dtype=np.float32),
        "k": normal(rng, kv_shape),
        "v": normal(rng, kv_shape),
        "out": np.zeros(q_shape, np.float32),
        "lse": np.zeros(q_shape[:3], np.float32),
    }


def error(arrays: dict[str, Any]) -> float:
    """The largest relative error of the output and of the sums."""
    out, lse = reference.decode(arrays["q"], arrays["k"], arrays["v"], arrays["indptr"])
    return max(reference.relative_error(arrays["out"], out), reference.sum_error(arrays["lse"], lse))


def ragged_lengths(longest: int, batch: int = 24, seed: int = 0) -> list[int]:
    """Lengths with an empty request, one of a single key, those around a chunk, and long ones up to
    `longest`.
    """
    rng = np.random.default_rng(seed)
    edges = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, longest]
    return edges + [int(2**e) for e in rng.uniform(0, math.log2(longest), batch - len(edges))]


def main(longest: int = 16384) -> float:
    """Runs the example, prints one line and returns the largest relative error."""
    lengths = ragged_lengths(longest)
    arrays = make(lengths)
    stats = build().compile().execute(**arrays)
    worst = error(arrays)
    print(
        f"decode: {len(lengths)} requests of {min(lengths)} to {max(lengths)} keys "
        f"in {stats.num_tasks} tasks, relative error {worst:.1e}"
    )
    return worst


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
