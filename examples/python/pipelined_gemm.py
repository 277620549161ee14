"""A product of matrices as three processes: while a pair of blocks is multiplied, the next pair is brought
in, and the block of the result before it is stored.

    python examples/python/pipelined_gemm.py [m] [n] [k]

Channels hold two blocks. `load` and `product` are at most two pairs apart, `product` and `result` two blocks.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import reference
from pto_wsp import (
    Channel,
    DenseDyn,
    In,
    InOut,
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

BLOCK = 64


@kernel(unit="vector")
def load_a(a: In, block: Out) -> None:
    """A block of `a`; blocks at the edges are smaller."""
    pto.store(block, pto.load(a))


@kernel(unit="vector")
def load_b(b: In, block: Out) -> None:
    """A block of `b`."""
    pto.store(block, pto.load(b))


@kernel(unit="cube")
def multiply(a: In, b: In, total: InOut, first: Scalar) -> None:
    """`total (+)= a · bᵀ`."""
    if first == 1:
        pto.store(total, pto.matmul(pto.load(a), pto.load(b).T))
    else:
        pto.store(total, pto.matmul(pto.load(a), pto.load(b).T, acc=pto.load(total)))


@kernel(unit="vector")
def store(total: In, c: Out) -> None:
    """To where it belongs."""
    pto.store(c, pto.load(total))


@workload
def pipelined_gemm(
    m: DenseDyn,
    n: DenseDyn,
    k: DenseDyn,
    a: Tensor[f32, "m", "k"],
    b: Tensor[f32, "n", "k"],
    c: Tensor[f32, "m", "n"],
) -> None:
    a_blocks = Channel((BLOCK, BLOCK), f32, depth=2)
    b_blocks = Channel((BLOCK, BLOCK), f32, depth=2)
    done = Channel((BLOCK, BLOCK), f32, depth=2)
    rows, cols, steps = P.ceildiv(m, BLOCK), P.ceildiv(n, BLOCK), P.ceildiv(k, BLOCK)

    def left(of: Any, i: Any) -> slice:
        return slice(0, P.min(BLOCK, of - i * BLOCK))

    with P.pipe():
        with P.process("load"):
            for i, j, p in P(rows, cols, steps):
                with a_blocks.send() as block_a, b_blocks.send() as block_b:
                    load_a[i, j, p](a[tile(i, BLOCK), tile(p, BLOCK)], block_a[left(m, i), left(k, p)])
                    load_b[i, j, p](b[tile(j, BLOCK), tile(p, BLOCK)], block_b[left(n, j), left(k, p)])
            a_blocks.close()
            b_blocks.close()
        with P.process("product"):
            for i, j in P(rows, cols):
                with done.send() as total:
                    for p in P(steps):
                        with a_blocks.consume() as block_a, b_blocks.consume() as block_b:
                            multiply[i, j, p](
                                block_a[left(m, i), left(k, p)],
                                block_b[left(n, j), left(k, p)],
                                total[left(m, i), left(n, j)],
                                first=p == 0,
                            )
            done.close()
        with P.process("result"):
            for i, j in P(rows, cols):
                with done.consume() as total:
                    store[i, j](total[left(m, i), left(n, j)], c[tile(i, BLOCK), tile(j, BLOCK)])


def build() -> Workload:
    """The workload; all sizes follow from the arrays."""
    return pipelined_gemm


def make(m: int, n: int, k: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Made-up arrays, and room for the result."""
    rng = np.random.default_rng(seed)
    return {
        "a": rng.standard_normal((m, k), dtype=np.float32),
        "b": rng.standard_normal((n, k), dtype=np.float32),
        "c": np.zeros((m, n), np.float32),
    }


def error(arrays: dict[str, np.ndarray]) -> float:
    """The largest relative error of the result."""
    return reference.relative_error(arrays["c"], reference.batched_gemm(arrays["a"], arrays["b"].T))


def main(m: int = 200, n: int = 130, k: int = 300) -> float:
    """Runs the example, prints one line and returns the largest relative error."""
    arrays = make(m, n, k)
    stats = build().compile().execute(**arrays)
    worst = error(arrays)
    print(f"gemm: {m} x {k} x {n} through 3 processes in {stats.num_tasks} tasks, relative error {worst:.1e}")
    return worst


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
