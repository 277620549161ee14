"""A pipeline of three processes: one loads and converts tiles, one computes on them, one stores them.

    python examples/python/pipeline.py [rows]

Channels hold two tiles. `load` waits while both are full, `compute` while there is none: each runs at most
two tiles ahead of the next.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import reference
from pto_wsp import Channel, DenseDyn, In, Out, P, Tensor, Workload, f16, f32, kernel, pto, tile, workload

ROWS = 64
WIDTH = 128


@kernel(unit="vector")
def load_tile(x: In, slot: Out) -> None:
    """From half to single precision."""
    pto.store(slot, pto.cast(pto.load(x), f32))


@kernel(unit="vector")
def gelu(a: In, b: Out) -> None:
    """`x / (1 + e^(-2 z))` with `z = sqrt(2 / π) (x + 0.044715 x³)`, which is the tanh form."""
    x = pto.load(a)
    z = (x + x * x * x * 0.044715) * math.sqrt(2.0 / math.pi)
    pto.store(b, x / (pto.exp(z * -2.0) + 1.0))


@kernel(unit="vector")
def store_tile(slot: In, y: Out) -> None:
    """To where it belongs."""
    pto.store(y, pto.load(slot))


@workload
def pipeline(rows: DenseDyn, x: Tensor[f16, "rows", WIDTH], y: Tensor[f32, "rows", WIDTH]) -> None:
    loaded = Channel((ROWS, WIDTH), f32, depth=2)
    computed = Channel((ROWS, WIDTH), f32, depth=2)
    tiles = P.ceildiv(rows, ROWS)
    with P.pipe():
        with P.process("load"):
            for i in P(tiles):
                with loaded.send() as slot:
                    load_tile[i](x[tile(i, ROWS)], slot[0 : P.min(ROWS, rows - i * ROWS)])
        with P.process("compute"):
            for i in P(tiles):
                filled = slice(0, P.min(ROWS, rows - i * ROWS))
                with loaded.consume() as a, computed.send() as b:
                    gelu[i](a[filled], b[filled])
        with P.process("store"):
            for i in P(tiles):
                with computed.consume() as slot:
                    store_tile[i](slot[0 : P.min(ROWS, rows - i * ROWS)], y[tile(i, ROWS)])


def build() -> Workload:
    """The workload; the number of rows follows from the arrays."""
    return pipeline


def make(rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Made-up arrays, and room for the result."""
    rng = np.random.default_rng(seed)
    return {
        "x": rng.standard_normal((rows, WIDTH), dtype=np.float32).astype(np.float16),
        "y": np.zeros((rows, WIDTH), np.float32),
    }


def error(arrays: dict[str, np.ndarray]) -> float:
    """The largest relative error of the result."""
    return reference.relative_error(arrays["y"], reference.gelu(arrays["x"]))


def main(rows: int = 1000) -> float:
    """Runs the example, prints one line and returns the largest relative error."""
    arrays = make(rows)
    stats = build().compile().execute(**arrays)
    worst = error(arrays)
    print(f"pipeline: {rows} rows through 3 processes in {stats.num_tasks} tasks, relative error {worst:.1e}")
    return worst


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
