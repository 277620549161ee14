"""Softmax of every row of a matrix as three processes: while one tile is divided, exponentials of the next
are taken and the one after it is brought in.

    python examples/python/pipelined_softmax.py [rows]
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import reference
from pto_wsp import Channel, DenseDyn, In, Out, P, Tensor, Workload, f32, kernel, pto, tile, workload

ROWS = 16
WIDTH = 256


@kernel(unit="vector")
def load_rows(x: In, rows: Out) -> None:
    """The last tile has the rows that are left."""
    pto.store(rows, pto.load(x))


@kernel(unit="vector")
def take_powers(rows: In, powers: Out, sums: Out) -> None:
    """e^(x - max) of each row, and the sum of them."""
    x = pto.load(rows)
    found = pto.exp(x - pto.rowmax(x))
    pto.store(powers, found)
    pto.store(sums, pto.rowsum(found))


@kernel(unit="vector")
def divide_rows(powers: In, sums: In, y: Out) -> None:
    """Every row by its sum."""
    pto.store(y, pto.load(powers) / pto.load(sums))


@workload
def pipelined_softmax(rows: DenseDyn, x: Tensor[f32, "rows", WIDTH], y: Tensor[f32, "rows", WIDTH]) -> None:
    loaded = Channel((ROWS, WIDTH), f32, depth=2)
    # Powers, and their sum behind them.
    taken = Channel((ROWS, WIDTH + 1), f32, depth=2)
    tiles = P.ceildiv(rows, ROWS)

    def left(t: Any) -> slice:
        return slice(0, P.min(ROWS, rows - t * ROWS))

    with P.pipe():
        with P.process("load"):
            for t in P(tiles):
                with loaded.send() as slot:
                    load_rows[t](x[tile(t, ROWS)], slot[left(t)])
        with P.process("exponentials"):
            for t in P(tiles):
                with loaded.consume() as slot, taken.send() as found:
                    take_powers[t](slot[left(t)], found[left(t), :WIDTH], found[left(t), WIDTH : WIDTH + 1])
        with P.process("divide"):
            for t in P(tiles):
                with taken.consume() as found:
                    divide_rows[t](
                        found[left(t), :WIDTH], found[left(t), WIDTH : WIDTH + 1], y[tile(t, ROWS)]
                    )


def build() -> Workload:
    """The workload; the number of rows follows from the arrays."""
    return pipelined_softmax


def make(rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Made-up arrays, and room for the result."""
    rng = np.random.default_rng(seed)
    return {
        "x": 10.0 * rng.standard_normal((rows, WIDTH), dtype=np.float32),
        "y": np.zeros((rows, WIDTH), np.float32),
    }


def error(arrays: dict[str, np.ndarray]) -> float:
    """The largest relative error of the result."""
    return reference.relative_error(arrays["y"], reference.softmax(arrays["x"]))


def main(rows: int = 1000) -> float:
    """Runs the example, prints one line and returns the largest relative error."""
    arrays = make(rows)
    stats = build().compile().execute(**arrays)
    worst = error(arrays)
    print(f"softmax: {rows} rows through 3 processes in {stats.num_tasks} tasks, relative error {worst:.1e}")
    return worst


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
