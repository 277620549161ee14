"""A mixture of experts, routed by data: `y[t] = x[t] + Σ share · expert(x[t])` over the experts of token `t`.

    python examples/python/moe.py [tokens] [experts]

The router's choice is a sparse axis: row `e` holds the tokens of expert `e`. Tokens are gathered, so that an
expert sees its own as one matrix; an expert without tokens has no tasks. What is added to a token is added in
the order of the experts.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import reference
from pto_wsp import (
    Buffer,
    DenseDyn,
    In,
    InOut,
    Out,
    P,
    Sparse,
    Tensor,
    Tile,
    Workload,
    f32,
    i64,
    kernel,
    pto,
    tile,
    workload,
)

ROWS = 64
COLS = 128
DEPTH = 256


def product(a: In, b: In) -> Tile:
    """`a · bᵀ`, DEPTH columns of both at a time."""
    total = pto.zeros((a.shape[0], b.shape[0]))
    for c in range(0, a.shape[1], DEPTH):
        left = pto.load(a[:, c:], shape=(ROWS, DEPTH))
        total = pto.matmul(left, pto.load(b[:, c:], shape=(COLS, DEPTH)).T, acc=total)
    return total


@kernel(unit="vector", cost=10)
def copy(x: In, y: Out) -> None:
    """Rows as they are."""
    pto.store(y, pto.load(x))


@kernel(unit="cube", cost=300)
def gate_up(x: In, gate: In, up: In, y: Out) -> None:
    """SwiGLU: `silu(x · gateᵀ) * (x · upᵀ)`."""
    g = product(x, gate)
    pto.store(y, g / (1.0 + pto.exp(-g)) * product(x, up))


@kernel(unit="cube", cost=150)
def down(x: In, w: In, y: Out) -> None:
    """Back to the width of a token."""
    pto.store(y, product(x, w))


@kernel(unit="vector", cost=10)
def add_share(row: In, shares: In, y: InOut) -> None:
    """`y += share · row`."""
    pto.store(y, pto.load(y) + pto.load(row) * shares[0])


@workload
def experts_layer(
    tokens: DenseDyn,
    experts: DenseDyn,
    hidden: DenseDyn,
    ffn: DenseDyn,
    routed: DenseDyn,
    route: Sparse[i64, "experts"],
    x: Tensor[f32, "tokens", "hidden"],
    shares: Tensor[f32, "routed"],
    w_gate: Tensor[f32, "experts", "ffn", "hidden"],
    w_up: Tensor[f32, "experts", "ffn", "hidden"],
    w_down: Tensor[f32, "experts", "hidden", "ffn"],
    y: Tensor[f32, "tokens", "hidden"],
) -> None:
    gathered = Buffer((routed, hidden), f32)
    gated = Buffer((routed, ffn), f32)
    mixed = Buffer((routed, hidden), f32)
    for i in P(P.ceildiv(tokens, ROWS)):
        copy[i](x[tile(i, ROWS)], y[tile(i, ROWS)])
    for e in P(experts):
        for token, p in P.sel(route[e]).enumerate():
            copy[e, token](x[token], gathered[p])
        first, end = route.indptr[e], route.indptr[e + 1]
        for i in P(P.ceildiv(end - first, ROWS)):
            rows = tile(i, ROWS, first, end)
            for j in P(P.ceildiv(ffn, COLS)):
                cols = tile(j, COLS)
                gate_up[e, i, j](gathered[rows], w_gate[e, cols], w_up[e, cols], gated[rows, cols])
            for j in P(P.ceildiv(hidden, COLS)):
                cols = tile(j, COLS)
                down[e, i, j](gated[rows], w_down[e, cols], mixed[rows, cols])
        for token, p in P.sel(route[e]).enumerate():
            add_share[e, token](mixed[p], shares[p : p + 1], y[token])


def build(hidden: int = 256, ffn: int = 512) -> Workload:
    """The workload for layers of one size; tokens, experts and routes follow from the arrays."""
    return experts_layer(hidden=hidden, ffn=ffn)


def choose(logits: np.ndarray, routes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each token's `routes` best experts as rows of tokens by expert (CSR), with shares that are the softmax
    of their logits.
    """
    experts = logits.shape[1]
    chosen = np.argsort(-logits, axis=1, kind="stable")[:, :routes]
    shares = reference.softmax(np.take_along_axis(logits, chosen, axis=1)).astype(np.float32)
    order = np.argsort(chosen.ravel(), kind="stable")
    counts = np.bincount(chosen.ravel(), minlength=experts)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return indptr, order // max(routes, 1), shares.ravel()[order]


def make(
    tokens: int,
    experts: int,
    hidden: int = 256,
    ffn: int = 512,
    routes: int = 2,
    idle: int = 1,
    seed: int = 0,
) -> dict[str, Any]:
    """Made-up arrays, and room for the result; the router never chooses the first `idle` experts."""
    rng = np.random.default_rng(seed)
    logits = rng.standard_normal((tokens, experts))
    logits[:, :idle] = -np.inf
    indptr, indices, shares = choose(logits, routes)

    def weights(*shape: int) -> np.ndarray:
        return np.divide(rng.standard_normal(shape, dtype=np.float32), math.sqrt(shape[-1]), dtype=np.float32)

    return {
        "route_indptr": indptr,
        "route_indices": indices,
        "x": rng.standard_normal((tokens, hidden), dtype=np.float32),
        "shares": shares,
        "w_gate": weights(experts, ffn, hidden),
        "w_up": weights(experts, ffn, hidden),
        "w_down": weights(experts, hidden, ffn),
        "y": np.zeros((tokens, hidden), np.float32),
    }


def error(arrays: dict[str, Any]) -> float:
    """The largest relative error of the result."""
    weights = (arrays["w_gate"], arrays["w_up"], arrays["w_down"])
    routes = (arrays["route_indptr"], arrays["route_indices"], arrays["shares"])
    return reference.relative_error(arrays["y"], reference.moe(arrays["x"], *routes, *weights))


def main(tokens: int = 300, experts: int = 8) -> float:
    """Runs the example, prints one line and returns the largest relative error."""
    arrays = make(tokens, experts)
    stats = build().compile().execute(**arrays)
    worst = error(arrays)
    load = np.diff(arrays["route_indptr"])
    print(
        f"moe: {tokens} tokens over {experts} experts, {load.min()} to {load.max()} each, "
        f"in {stats.num_tasks} tasks, relative error {worst:.1e}"
    )
    return worst


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
