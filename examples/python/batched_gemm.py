"""Products of a batch of matrices, cut along all three sizes: blocks of 64 x 128, 128 deep.

    python examples/python/batched_gemm.py [batch] [m] [n] [k]

The tasks of one block add to it one after another, in the order of `k`: what they write says so.
"""

from __future__ import annotations

import sys

import numpy as np
import reference
from pto_wsp import DenseDyn, In, InOut, P, Tensor, Workload, f32, kernel, pto, tile, workload

M, N, K = 64, 128, 128


@kernel(unit="cube", cost=200)
def multiply_add(a: In, b: In, c: InOut) -> None:
    """`c += a · b` for one block."""
    pto.store(c, pto.matmul(pto.load(a), pto.load(b), acc=pto.load(c)))


@workload
def bgemm(
    batch: DenseDyn,
    m: DenseDyn,
    n: DenseDyn,
    k: DenseDyn,
    a: Tensor[f32, "batch", "m", "k"],
    b: Tensor[f32, "batch", "k", "n"],
    c: Tensor[f32, "batch", "m", "n"],
) -> None:
    for batch_index, i, j in P(batch, P.ceildiv(m, M), P.ceildiv(n, N)):
        for depth in P(P.ceildiv(k, K)):
            multiply_add[batch_index, i, j, depth](
                a[batch_index, tile(i, M), tile(depth, K)],
                b[batch_index, tile(depth, K), tile(j, N)],
                c[batch_index, tile(i, M), tile(j, N)],
            )


def build() -> Workload:
    """The workload; all sizes follow from the arrays. `c` should start as 0, or as what is to be added to."""
    return bgemm


def make(batch: int, m: int, n: int, k: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Made-up arrays, and room for the result."""
    rng = np.random.default_rng(seed)
    return {
        "a": rng.standard_normal((batch, m, k), dtype=np.float32),
        "b": rng.standard_normal((batch, k, n), dtype=np.float32),
        "c": np.zeros((batch, m, n), np.float32),
    }


def error(arrays: dict[str, np.ndarray]) -> float:
    """The largest relative error of the result."""
    return reference.relative_error(arrays["c"], reference.batched_gemm(arrays["a"], arrays["b"]))


def main(batch: int = 4, m: int = 200, n: int = 300, k: int = 500) -> float:
    """Runs the example, prints one line and returns the largest relative error."""
    arrays = make(batch, m, n, k)
    stats = build().compile().execute(**arrays)
    worst = error(arrays)
    print(f"batched gemm: {batch} x ({m} x {k} x {n}) in {stats.num_tasks} tasks, relative error {worst:.1e}")
    return worst


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
