"""Softmax of long rows with their columns spread over tasks, which hand on a running maximum and a running
sum.

    python examples/python/online_softmax.py [rows] [columns]

The tasks of one block of rows that update the running values follow one another because of what they write;
blocks of rows are independent, and so are the tasks that divide at the end.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import reference
from pto_wsp import Buffer, DenseDyn, In, InOut, Out, P, Tensor, Workload, f32, kernel, pto, tile, workload

ROWS = 32
COLS = 256


@kernel
def start(largest: Out, total: Out) -> None:
    """Of no columns yet."""
    rows = largest.shape[0]
    pto.store(largest, pto.full((rows, 1), -math.inf))
    pto.store(total, pto.zeros((rows, 1)))


@kernel(unit="vector")
def update(x: In, largest: InOut, total: InOut) -> None:
    """Takes in one tile of columns."""
    part = pto.load(x)
    old = pto.load(largest).T
    bound = pto.maximum(old, pto.rowmax(part))
    pto.store(total, pto.load(total).T * pto.exp(old - bound) + pto.rowsum(pto.exp(part - bound)))
    pto.store(largest, bound)


@kernel(unit="vector")
def divide(x: In, largest: In, total: In, y: Out) -> None:
    """The softmax of one tile of columns."""
    pto.store(y, pto.exp(pto.load(x) - pto.load(largest).T) / pto.load(total).T)


@workload
def online_softmax(
    rows: DenseDyn,
    columns: DenseDyn,
    x: Tensor[f32, "rows", "columns"],
    y: Tensor[f32, "rows", "columns"],
) -> None:
    largest = Buffer((rows,), f32)
    total = Buffer((rows,), f32)
    tiles = P.ceildiv(columns, COLS)
    for i in P(P.ceildiv(rows, ROWS)):
        block = tile(i, ROWS)
        start[i](largest[block], total[block])
        for j in P(tiles):
            update[i, j](x[block, tile(j, COLS)], largest[block], total[block])
        for j in P(tiles):
            divide[i, j](x[block, tile(j, COLS)], largest[block], total[block], y[block, tile(j, COLS)])


def build() -> Workload:
    """The workload; both sizes follow from the arrays."""
    return online_softmax


def make(rows: int, columns: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Made-up arrays, and room for the result."""
    rng = np.random.default_rng(seed)
    return {
        "x": 10.0 * rng.standard_normal((rows, columns), dtype=np.float32),
        "y": np.zeros((rows, columns), np.float32),
    }


def error(arrays: dict[str, np.ndarray]) -> float:
    """The largest relative error of the result."""
    return reference.relative_error(arrays["y"], reference.softmax(arrays["x"]))


def main(rows: int = 200, columns: int = 5000) -> float:
    """Runs the example, prints one line and returns the largest relative error."""
    arrays = make(rows, columns)
    stats = build().compile().execute(**arrays)
    worst = error(arrays)
    print(f"online softmax: {rows} x {columns} in {stats.num_tasks} tasks, relative error {worst:.1e}")
    return worst


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
