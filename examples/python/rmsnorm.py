"""RMSNorm over rows in tiles: 64 rows a task, 256 columns a step. The last tile of each has what is left.

python examples/python/rmsnorm.py [rows] [columns]
"""

from __future__ import annotations

import sys

import numpy as np
import reference
from pto_wsp import Constexpr, DenseDyn, In, Out, P, Tensor, Workload, f32, kernel, pto, tile, workload

ROWS = 64
COLS = 256
EPS = 1e-6


@kernel(unit="vector")
def rmsnorm_rows(x: In, gain: In, y: Out, eps: Constexpr) -> None:
    """Two passes over the columns: the sum of squares, then the scaled row."""
    width = x.shape[1]
    squares = pto.zeros((x.shape[0], 1))
    for c in range(0, width, COLS):
        part = pto.load(x[:, c:], shape=(ROWS, COLS))
        squares += pto.rowsum(part * part)
    scale = pto.rsqrt(squares / width + eps)
    for c in range(0, width, COLS):
        part = pto.load(x[:, c:], shape=(ROWS, COLS))
        pto.store(y[:, c:], part * scale * pto.load(gain[c:], shape=(1, COLS)))


@workload
def norm(
    rows: DenseDyn,
    columns: DenseDyn,
    x: Tensor[f32, "rows", "columns"],
    gain: Tensor[f32, "columns"],
    y: Tensor[f32, "rows", "columns"],
) -> None:
    for i in P(P.ceildiv(rows, ROWS)):
        rmsnorm_rows[i](x[tile(i, ROWS)], gain, y[tile(i, ROWS)], eps=EPS)


def build() -> Workload:
    """The workload; both sizes follow from the arrays."""
    return norm


def make(rows: int, columns: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Made-up arrays, and room for the result."""
    rng = np.random.default_rng(seed)
    return {
        "x": rng.standard_normal((rows, columns), dtype=np.float32),
        "gain": rng.standard_normal(columns, dtype=np.float32),
        "y": np.zeros((rows, columns), np.float32),
    }


def error(arrays: dict[str, np.ndarray]) -> float:
    """The largest relative error of the result."""
    return reference.relative_error(arrays["y"], reference.rmsnorm(arrays["x"], arrays["gain"], EPS))


def main(rows: int = 1000, columns: int = 1500) -> float:
    """Runs the example, prints one line and returns the largest relative error."""
    arrays = make(rows, columns)
    stats = build().compile().execute(**arrays)
    worst = error(arrays)
    print(f"rmsnorm: {rows} x {columns} in {stats.num_tasks} tasks, relative error {worst:.1e}")
    return worst


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
