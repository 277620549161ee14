"""One decoder layer of a LLaMA model over a causal prompt: norm, projections, rotary positions, attention,
feed-forward.

    python examples/python/llama_layer.py [tokens]

No stage waits for a whole stage before it: a task starts when the tiles that it reads are written.
"""

from __future__ import annotations

import math
import sys

import numpy as np
import reference
from flash_attention import attend
from moe import gate_up, product
from pto_wsp import (
    Buffer,
    Constexpr,
    DenseDyn,
    In,
    InOut,
    Out,
    P,
    Tensor,
    Workload,
    f32,
    kernel,
    pto,
    tile,
    workload,
)

ROWS = 64
COLS = 128
THETA = 10000.0
EPS = 1e-5


@kernel(unit="vector", cost=30)
def rmsnorm(x: In, gain: In, y: Out, eps: Constexpr) -> None:
    """Rows over their root mean square, times the gain."""
    t = pto.load(x)
    scale = pto.rsqrt(pto.rowsum(t * t) / x.shape[1] + eps)
    pto.store(y, t * scale * pto.load(gain))


@kernel(unit="cube", cost=150)
def linear(x: In, w: In, y: Out) -> None:
    """`x · wᵀ`."""
    pto.store(y, product(x, w))


@kernel(unit="cube", cost=150)
def linear_add(x: In, w: In, residual: In, y: Out) -> None:
    """`residual + x · wᵀ`."""
    pto.store(y, pto.load(residual) + product(x, w))


@kernel(unit="vector", cost=20)
def rotate(x: InOut, cos: In, sin: In) -> None:
    """Rotary positions of one head, in place: lanes `i` and `dim / 2 + i` turn together."""
    half = cos.shape[1]
    low, high = pto.load(x[:, 0:half]), pto.load(x[:, half : 2 * half])
    c, s = pto.load(cos), pto.load(sin)
    pto.store(x[:, 0:half], low * c - high * s)
    pto.store(x[:, half : 2 * half], high * c + low * s)


@workload
def layer(
    seq: DenseDyn,
    hidden: DenseDyn,
    heads: DenseDyn,
    kv_heads: DenseDyn,
    dim: DenseDyn,
    half: DenseDyn,
    ffn: DenseDyn,
    x: Tensor[f32, "seq", "hidden"],
    attn_norm: Tensor[f32, "hidden"],
    wq: Tensor[f32, "q_width", "hidden"],
    wk: Tensor[f32, "kv_width", "hidden"],
    wv: Tensor[f32, "kv_width", "hidden"],
    wo: Tensor[f32, "hidden", "q_width"],
    ffn_norm: Tensor[f32, "hidden"],
    w_gate: Tensor[f32, "ffn", "hidden"],
    w_up: Tensor[f32, "ffn", "hidden"],
    w_down: Tensor[f32, "hidden", "ffn"],
    cos: Tensor[f32, "seq", "half"],
    sin: Tensor[f32, "seq", "half"],
    y: Tensor[f32, "seq", "hidden"],
) -> None:
    normed = Buffer((seq, hidden), f32)
    q = Buffer((seq, heads * dim), f32)
    k = Buffer((seq, kv_heads * dim), f32)
    v = Buffer((seq, kv_heads * dim), f32)
    attended = Buffer((seq, heads * dim), f32)
    lse = Buffer((heads, seq), f32)
    middle = Buffer((seq, hidden), f32)
    normed_middle = Buffer((seq, hidden), f32)
    gated = Buffer((seq, ffn), f32)
    blocks = P.ceildiv(seq, ROWS)

    for i in P(blocks):
        rows = tile(i, ROWS)
        rmsnorm[i](x[rows], attn_norm, normed[rows], eps=EPS)
        for j in P(P.ceildiv(heads * dim, COLS)):
            linear[i, j](normed[rows], wq[tile(j, COLS)], q[rows, tile(j, COLS)])
        for j in P(P.ceildiv(kv_heads * dim, COLS)):
            linear[i, j](normed[rows], wk[tile(j, COLS)], k[rows, tile(j, COLS)])
            linear[i, j](normed[rows], wv[tile(j, COLS)], v[rows, tile(j, COLS)])
        for h in P(heads):
            rotate[i, h](q[rows, tile(h, dim)], cos[rows], sin[rows])
        for h in P(kv_heads):
            rotate[i, h](k[rows, tile(h, dim)], cos[rows], sin[rows])
    for i, h in P(blocks, heads):
        rows, kv = tile(i, ROWS), tile(h // (heads // kv_heads), dim)
        seen = slice(0, P.min(i * ROWS + ROWS, seq))
        attend[i, h](
            q[rows, tile(h, dim)],
            k[seen, kv],
            v[seen, kv],
            attended[rows, tile(h, dim)],
            lse[h, rows],
            first=i * ROWS,
            causal=True,
        )
    for i in P(blocks):
        rows = tile(i, ROWS)
        for j in P(P.ceildiv(hidden, COLS)):
            cols = tile(j, COLS)
            linear_add[i, j](attended[rows], wo[cols], x[rows, cols], middle[rows, cols])
        rmsnorm[i](middle[rows], ffn_norm, normed_middle[rows], eps=EPS)
        for j in P(P.ceildiv(ffn, COLS)):
            cols = tile(j, COLS)
            gate_up[i, j](normed_middle[rows], w_gate[cols], w_up[cols], gated[rows, cols])
        for j in P(P.ceildiv(hidden, COLS)):
            cols = tile(j, COLS)
            linear_add[i, j](gated[rows], w_down[cols], middle[rows, cols], y[rows, cols])


def build(hidden: int = 256, heads: int = 8, kv_heads: int = 4, dim: int = 32, ffn: int = 704) -> Workload:
    """The workload for a model of these sizes; the number of tokens follows from the arrays."""
    return layer(hidden=hidden, heads=heads, kv_heads=kv_heads, dim=dim, half=dim // 2, ffn=ffn)


SHARDS = {
    "wq": ("x", "replicate"),
    "wk": ("y", "replicate"),
    "wv": ("y", "replicate"),
    "q": ("replicate", "x"),
    "k": ("replicate", "y"),
    "v": ("replicate", "y"),
    "attended": ("replicate", "x"),
    "wo": ("y", "replicate"),
    "middle": ("replicate", "y"),
    "w_gate": ("x", "replicate"),
    "w_up": ("x", "replicate"),
    "gated": ("replicate", "x"),
    "w_down": ("y", "replicate"),
    "y": ("replicate", "y"),
}


def sharded(workload: Workload) -> Workload:
    """The layer over a grid of 2 rows of 4 tiles: heads of queries along `x`, those of keys and values along
    `y`, weights as what is computed with them. Where a sum goes along columns of several tiles, they are
    gathered first: no sum is split.
    """
    workload = workload.spatial_map(grid=(4, 2))
    for tensor, dims in SHARDS.items():
        workload = workload.layout(tensor, dims)
    for tensor in ("attended", "middle", "gated"):
        workload = workload.relayout(tensor, ("replicate", "replicate"))
    return workload


def make(
    seq: int,
    hidden: int = 256,
    heads: int = 8,
    kv_heads: int = 4,
    dim: int = 32,
    ffn: int = 704,
    seed: int = 0,
) -> dict[str, np.ndarray]:
    """Made-up arrays, and room for the result."""
    rng = np.random.default_rng(seed)
    half = dim // 2
    angles = np.arange(seq)[:, None] * THETA ** (-np.arange(half) / half)

    def weights(*shape: int) -> np.ndarray:
        return np.divide(rng.standard_normal(shape, dtype=np.float32), math.sqrt(shape[-1]), dtype=np.float32)

    return {
        "x": rng.standard_normal((seq, hidden), dtype=np.float32),
        "attn_norm": rng.standard_normal(hidden, dtype=np.float32),
        "wq": weights(heads * dim, hidden),
        "wk": weights(kv_heads * dim, hidden),
        "wv": weights(kv_heads * dim, hidden),
        "wo": weights(hidden, heads * dim),
        "ffn_norm": rng.standard_normal(hidden, dtype=np.float32),
        "w_gate": weights(ffn, hidden),
        "w_up": weights(ffn, hidden),
        "w_down": weights(hidden, ffn),
        "cos": np.cos(angles).astype(np.float32),
        "sin": np.sin(angles).astype(np.float32),
        "y": np.zeros((seq, hidden), np.float32),
    }


def error(arrays: dict[str, np.ndarray], heads: int = 8, kv_heads: int = 4) -> float:
    """The largest relative error of the result."""
    expected = reference.llama_layer(arrays["x"], arrays, heads, kv_heads, THETA, EPS)
    return reference.relative_error(arrays["y"], expected)


def main(seq: int = 500) -> float:
    """Runs the example, prints one line and returns the largest relative error."""
    arrays = make(seq)
    stats = build().compile().execute(**arrays)
    worst = error(arrays)
    print(f"llama layer: {seq} tokens in {stats.num_tasks} tasks, relative error {worst:.1e}")
    return worst


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
