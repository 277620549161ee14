"""Sums of squares and of absolute values over the columns of a matrix: a producer, two transforms that take
every other tile each, and one process that adds up what comes, whichever is there first.

    python examples/python/pipelined_sums.py [columns]

How many tiles there are the producer alone knows: it closes its channels behind the last ones.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import reference
from pto_wsp import Channel, DenseDyn, In, InOut, Out, P, Tensor, Workload, f32, kernel, pto, tile, workload

ROWS = 64
COLS = 32


@kernel(unit="vector")
def begin(squares: Out, sizes: Out) -> None:
    """Of no columns yet."""
    pto.store(squares, pto.zeros((squares.shape[0], 1)))
    pto.store(sizes, pto.zeros((sizes.shape[0], 1)))


@kernel(unit="vector")
def load_columns(x: In, columns: Out) -> None:
    """The last tile has the columns that are left."""
    pto.store(columns, pto.load(x))


@kernel(unit="vector")
def square(columns: In, sums: Out) -> None:
    """Sums of squares of one tile."""
    x = pto.load(columns)
    pto.store(sums, pto.rowsum(x * x))


@kernel(unit="vector")
def size(columns: In, sums: Out) -> None:
    """Sums of absolute values of one tile."""
    pto.store(sums, pto.rowsum(pto.abs(pto.load(columns))))


@kernel(unit="vector")
def add_squares(sums: In, total: InOut) -> None:
    """One tile more."""
    pto.store(total, pto.load(total) + pto.load(sums))


@kernel(unit="vector")
def add_sizes(sums: In, total: InOut) -> None:
    """One tile more."""
    pto.store(total, pto.load(total) + pto.load(sums))


@workload
def pipelined_sums(
    columns: DenseDyn,
    x: Tensor[f32, ROWS, "columns"],
    squares: Tensor[f32, ROWS, 1],
    sizes: Tensor[f32, ROWS, 1],
) -> None:
    parts = [Channel((ROWS, COLS), f32, depth=1, name=f"part_{of}") for of in range(2)]
    squared = Channel((ROWS, 1), f32, depth=2)
    sized = Channel((ROWS, 1), f32, depth=2)
    tiles = P.ceildiv(columns, COLS)

    def left(t: Any) -> tuple[slice, slice]:
        return (slice(None), slice(0, P.min(COLS, columns - t * COLS)))

    begin(squares, sizes)
    with P.pipe():
        with P.process("produce"):
            for t in P(tiles):
                with P.when(t % 2 == 0):
                    with parts[0].send() as slot:
                        load_columns[t](x[:, tile(t, COLS)], slot[left(t)])
                with P.otherwise():
                    with parts[1].send() as slot:
                        load_columns[t](x[:, tile(t, COLS)], slot[left(t)])
            parts[0].close()
            parts[1].close()
        for of, (name, transform, to) in enumerate([("squares", square, squared), ("sizes", size, sized)]):
            with P.process(name):
                for pair in P(P.ceildiv(tiles - of, 2)):
                    t = 2 * pair + of
                    with parts[of].consume() as slot, to.send() as total:
                        transform[t](slot[left(t)], total)
                to.close()
        with P.process("sums"):
            with P.select_channel(all=True):
                with squared.consume() as total:
                    add_squares(total, squares)
                with sized.consume() as total:
                    add_sizes(total, sizes)


def build() -> Workload:
    """The workload; the number of columns follows from the arrays."""
    return pipelined_sums


def make(columns: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Made-up arrays, and room for the results."""
    rng = np.random.default_rng(seed)
    return {
        "x": rng.standard_normal((ROWS, columns), dtype=np.float32),
        "squares": np.zeros((ROWS, 1), np.float32),
        "sizes": np.zeros((ROWS, 1), np.float32),
    }


def error(arrays: dict[str, np.ndarray]) -> float:
    """The larger of the relative errors of both sums."""
    squares, sizes = reference.alternating_sums(arrays["x"], COLS)
    return max(
        reference.relative_error(arrays["squares"], squares), reference.relative_error(arrays["sizes"], sizes)
    )


def main(columns: int = 1000) -> float:
    """Runs the example, prints one line and returns the largest relative error."""
    arrays = make(columns)
    stats = build().compile().execute(**arrays)
    worst = error(arrays)
    print(
        f"sums: {columns} columns through 4 processes in {stats.num_tasks} tasks, relative error {worst:.1e}"
    )
    return worst


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
