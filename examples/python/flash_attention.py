"""Flash attention: an online softmax across tiles of keys, with grouped queries and an optional causal mask.

    python examples/python/flash_attention.py [queries] [keys] [causal: 0 or 1]

A task is 64 queries of one head. It goes over the keys once, 128 at a time, and keeps for every query the
largest score so far, the sum of the powers relative to it, and the weighted sum of the values: never the
scores themselves.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import reference
from pto_wsp import (
    Constexpr,
    DenseDyn,
    In,
    Out,
    P,
    Scalar,
    Tensor,
    Workload,
    f32,
    kernel,
    pto,
    tile,
    workload,
)

Q_ROWS = 64
KV_ROWS = 128
LOG2E = math.log2(math.e)
TINY = 1e-38


@kernel(unit="cube")
def attend(q: In, k: In, v: In, out: Out, lse: Out, first: Scalar, causal: Constexpr) -> None:
    """Queries `first ..` of one head; query `first + r` sees the keys up to `first + r` when causal."""
    rows, dim = q.shape
    end = k.shape[0]
    if causal:
        end = pto.min(end, first + rows)
    queries = pto.load(q) * (LOG2E / math.sqrt(dim))  # scores to base 2
    largest = pto.full((rows, 1), -math.inf)
    total = pto.zeros((rows, 1))
    mixed = pto.zeros((rows, dim))
    for pos in range(0, end, KV_ROWS):
        keys = pto.load(k[pos:end], shape=(KV_ROWS, dim))
        values = pto.load(v[pos:end], shape=(KV_ROWS, dim))
        scores = pto.matmul(queries, keys.T)
        if causal:
            scores = pto.mask_causal(scores, first + 1 - pos, -math.inf)
        bound = pto.maximum(largest, pto.rowmax(scores))
        powers = pto.exp2(scores - bound)
        fade = pto.exp2(largest - bound)
        total = total * fade + pto.rowsum(powers)
        mixed = pto.matmul(powers, values, acc=mixed * fade)
        largest = bound
    pto.store(out, mixed / pto.maximum(total, TINY))  # without keys: 0
    pto.store(lse, pto.log2(total) + largest)


@workload
def attention(
    batch: DenseDyn,
    heads: DenseDyn,
    group: DenseDyn,
    queries: DenseDyn,
    keys: DenseDyn,
    head_dim: DenseDyn,
    q: Tensor[f32, "batch", "heads", "queries", "head_dim"],
    k: Tensor[f32, "batch", "kv_heads", "keys", "head_dim"],
    v: Tensor[f32, "batch", "kv_heads", "keys", "head_dim"],
    out: Tensor[f32, "batch", "heads", "queries", "head_dim"],
    lse: Tensor[f32, "batch", "heads", "queries"],
    causal: Constexpr,
) -> None:
    for b, h, i in P(batch, heads, P.ceildiv(queries, Q_ROWS)):
        kv = h // group
        rows = tile(i, Q_ROWS)
        attend[b, h, i](
            q[b, h, rows],
            k[b, kv],
            v[b, kv],
            out[b, h, rows],
            lse[b, h, rows],
            first=i * Q_ROWS + keys - queries if causal else 0,
            causal=causal,
        )


def build(group: int = 4, head_dim: int = 64, causal: bool = False) -> Workload:
    """The workload for heads of one dimension, `group` query heads on each key head; other sizes follow from
    the arrays.

    Causal: there are at least as many keys as queries, and the last query sees all of them.
    """
    return attention(group=group, head_dim=head_dim, causal=causal)


def make(
    batch: int, heads: int, group: int, queries: int, keys: int, head_dim: int, seed: int = 0
) -> dict[str, np.ndarray]:
    """Made-up arrays, and room for the results."""
    rng = np.random.default_rng(seed)
    kv = (batch, heads // group, keys, head_dim)
    return {
        "q": rng.standard_normal((batch, heads, queries, head_dim), dtype=np.float32),
        "k": rng.standard_normal(kv, dtype=np.float32),
        "v": rng.standard_normal(kv, dtype=np.float32),
        "out": np.zeros((batch, heads, queries, head_dim), np.float32),
        "lse": np.zeros((batch, heads, queries), np.float32),
    }


def error(arrays: dict[str, np.ndarray], causal: bool) -> float:
    """The largest relative error of the output and of the sums."""
    out, lse = reference.grouped_attention(arrays["q"], arrays["k"], arrays["v"], causal)
    return max(reference.relative_error(arrays["out"], out), reference.sum_error(arrays["lse"], lse))


def main(queries: int = 500, keys: int = 700, causal: int = 1) -> float:
    """Runs the example, prints one line and returns the largest relative error."""
    arrays = make(batch=2, heads=8, group=4, queries=queries, keys=keys, head_dim=64)
    stats = build(causal=bool(causal)).compile().execute(**arrays)
    worst = error(arrays, bool(causal))
    form = "causal" if causal else "full"
    print(
        f"flash attention, {form}: {queries} queries, {keys} keys, {stats.num_tasks} tasks, "
        f"relative error {worst:.1e}"
    )
    return worst


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
