"""Which keys of each request are worth attending to: those with the largest `Σ_h weights[h] · relu(q[h] ·
key)`.

    python examples/python/topk_indexer.py [longest request]

The workload chooses a kernel by the length of each request, which is data: up to 2K, 8K, 64K and 128K keys.
The tiers are one kernel compiled for four sizes of tile. Keys of request `b` are the rows `indptr[b] ..
indptr[b + 1]`. The best come first, equal ones by index; a request with fewer keys ends in -1 with a score of
-inf.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import reference
from pto_wsp import (
    Constexpr,
    DenseDyn,
    DispatchPolicy,
    In,
    Out,
    P,
    Table,
    Tensor,
    Workload,
    f32,
    i64,
    kernel,
    pto,
    workload,
)

TOP_K = 64


@kernel(unit="any")
def best_keys(q: In, weights: In, keys: In, indices: Out, scores: Out, step: Constexpr) -> None:
    """`step` keys at a time; the lists of the best ones go from step to step."""
    dim = q.shape[1]
    queries = pto.load(q)
    weight = pto.load(weights).T
    values = pto.full((1, TOP_K), -math.inf)
    numbers = pto.full((1, TOP_K), -1.0)
    for pos in range(0, keys.shape[0], step):
        products = pto.matmul(queries, pto.load(keys[pos:], shape=(step, dim)).T)
        score = pto.colsum(pto.relu(products) * weight)
        values, numbers = pto.topk(values, numbers, score, pos)
    pto.store(scores, values)
    pto.store(indices, numbers)


@workload
def indexer(
    batch: DenseDyn,
    heads: DenseDyn,
    head_dim: DenseDyn,
    indptr: Table[i64, ...],
    q: Tensor[f32, "batch", "heads", "head_dim"],
    weights: Tensor[f32, "batch", "heads"],
    keys: Tensor[f32, "total", "head_dim"],
    indices: Tensor[f32, "batch", TOP_K],
    scores: Tensor[f32, "batch", TOP_K],
) -> None:
    for b in P(batch):
        length = indptr[b + 1] - indptr[b]
        own = keys[indptr[b] : indptr[b + 1]]
        with P.when(length <= 2048):
            best_keys[b](q[b], weights[b], own, indices[b], scores[b], step=256)
        with P.otherwise():
            with P.when(length <= 8192):
                best_keys[b](q[b], weights[b], own, indices[b], scores[b], step=512)
            with P.otherwise():
                with P.when(length <= 65536):
                    best_keys[b](q[b], weights[b], own, indices[b], scores[b], step=1024)
                with P.otherwise():
                    best_keys[b](q[b], weights[b], own, indices[b], scores[b], step=2048)


def build(heads: int = 8, head_dim: int = 64) -> Workload:
    """The workload for queries of one size; requests of equal length modulo the workers share one."""
    return indexer(heads=heads, head_dim=head_dim).dispatch(DispatchPolicy.affinity(lambda t: t.batch))


def make(lengths: list[int], heads: int = 8, head_dim: int = 64, seed: int = 0) -> dict[str, np.ndarray]:
    """Made-up arrays for requests of these lengths, and room for the results."""
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    return {
        "indptr": indptr,
        "q": rng.standard_normal((len(lengths), heads, head_dim), dtype=np.float32),
        "weights": rng.random((len(lengths), heads), dtype=np.float32),
        "keys": rng.standard_normal((int(indptr[-1]), head_dim), dtype=np.float32),
        "indices": np.zeros((len(lengths), TOP_K), np.float32),
        "scores": np.zeros((len(lengths), TOP_K), np.float32),
    }


def error(arrays: dict[str, np.ndarray]) -> float:
    """The largest relative error of the scores, both as given and as those of the keys that were named.

    Two keys whose scores are equal in f32 may change places, so a named key is judged by its score.
    """
    worst = 0.0
    indptr = arrays["indptr"]
    for b in range(len(indptr) - 1):
        every = reference.index_scores(
            arrays["q"][b], arrays["weights"][b], arrays["keys"][indptr[b] : indptr[b + 1]]
        )
        count = min(len(every), TOP_K)
        best = np.concatenate([np.sort(every)[::-1][:count], np.full(TOP_K - count, -np.inf)])
        named = arrays["indices"][b].astype(np.int64)
        if len(set(named[:count])) != count or (named[:count] < 0).any() or (named[count:] != -1).any():
            return math.inf
        of_named = np.concatenate([every[named[:count]], best[count:]])
        worst = max(
            worst,
            reference.relative_error(arrays["scores"][b], best),
            reference.relative_error(of_named, best),
        )
    return worst


def main(longest: int = 131072) -> float:
    """Runs the example, prints one line and returns the largest relative error."""
    lengths = [n for n in (0, 1, 63, 64, 65, 2048, 2049, 8192, 8193, 65536, 65537, 131072) if n <= longest]
    arrays = make(lengths)
    stats = build().compile().execute(**arrays)
    worst = error(arrays)
    print(
        f"top-k indexer: {len(lengths)} requests of up to {max(lengths)} keys in {stats.num_tasks} tasks, "
        f"relative error {worst:.1e}"
    )
    return worst


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
