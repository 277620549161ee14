"""Programs as people write them first: a fused kernel over ragged rows, a mixture of experts, a loop that
generates tokens; each against f64 of NumPy.
"""

from __future__ import annotations

import numpy as np
from pto_wsp import (
    BatchDecode,
    DenseDyn,
    DispatchPolicy,
    In,
    InOut,
    Out,
    P,
    Ragged,
    Sparse,
    Table,
    f32,
    i64,
    kernel,
    pto,
    tensor,
    tile,
    workload,
    zeros,
)

X = tensor(("total", 32), f32)
W = tensor((1, 32), f32)
Y = tensor(("total", 32), f32)


@kernel
def normed(x: In, w: In, y: Out) -> None:
    t = pto.load(x)
    r = t * pto.rsqrt(pto.rowmean(t * t) + 1e-6) * pto.load(w)
    e = pto.exp(r - pto.rowmax(r))
    pto.store(y, e / pto.rowsum(e))


@workload
def ragged_rows(batch: DenseDyn, starts: Table[i64, ...], tok: Ragged[i64, "batch"]) -> None:
    for b in P(batch):
        for i in P(P.ceildiv(tok.lengths[b], 8)):
            at = tile(i, 8, starts[b], starts[b] + tok.lengths[b])
            normed[b, i](X[at], W, Y[at])


def test_a_fused_kernel_over_ragged_rows() -> None:
    rng = np.random.default_rng(0)
    lengths = np.array([5, 0, 17, 1, 33], np.int32)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    x, w = (rng.standard_normal((rows, 32)).astype(np.float32) for rows in (int(starts[-1]), 1))
    y = np.zeros_like(x)
    program = ragged_rows.dispatch(DispatchPolicy.affinity(lambda t: t.b)).compile(num_threads=2)
    program.execute(X=x, W=w, Y=y, starts=starts, tok=lengths)
    r = x / np.sqrt((x.astype(np.float64) ** 2).mean(1, keepdims=True) + 1e-6) * w
    e = np.exp(r - r.max(1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), atol=1e-6)


T = tensor(("tokens", 16), f32)
UP = tensor(("experts", 16, 32), f32)
DOWN = tensor(("experts", 32, 16), f32)
GATE = tensor(("pairs", 1), f32)
MIXED = tensor(("tokens", 16), f32)


@kernel
def expert(x: In, up: In, down: In, gate: In, y: InOut) -> None:
    hidden = pto.silu(pto.matmul(pto.load(x), pto.load(up)))
    pto.atomic_add(y, pto.matmul(hidden, pto.load(down)) * pto.load(gate))


@workload
def mixture(experts: DenseDyn, route: Sparse[i64, "experts"]) -> None:
    for e in P(experts):
        for t, p in P.sel(route[e]).enumerate():
            expert[e, t](T[t], UP[e], DOWN[e], GATE[p], MIXED[t])


def test_a_mixture_of_experts() -> None:
    rng = np.random.default_rng(0)
    tokens, experts = 13, 4
    x = rng.standard_normal((tokens, 16)).astype(np.float32)
    up = rng.standard_normal((experts, 16, 32)).astype(np.float32) * 0.2
    down = rng.standard_normal((experts, 32, 16)).astype(np.float32) * 0.2
    top = np.argsort(-rng.standard_normal((tokens, experts)), 1)[:, :2]
    routes = [np.flatnonzero((top == e).any(1)) for e in range(experts)]
    indptr, indices = np.cumsum([0, *map(len, routes)]), np.concatenate(routes)
    gates = rng.random((len(indices), 1)).astype(np.float32)
    y, want = np.zeros_like(x), np.zeros(x.shape)
    arrays = {"T": x, "UP": up, "DOWN": down, "GATE": gates, "MIXED": y}
    stats = (
        mixture.dispatch(DispatchPolicy.affinity("experts"))
        .compile(num_threads=2)
        .execute(**arrays, route_indptr=indptr, route_indices=indices)
    )
    assert stats.num_tasks == 2 * tokens
    for e in range(experts):
        for p in range(indptr[e], indptr[e + 1]):
            hidden = x[indices[p]].astype(np.float64) @ up[e]
            want[indices[p]] += gates[p] * (hidden / (1 + np.exp(-hidden)) @ down[e])
    np.testing.assert_allclose(y, want, atol=1e-5)


IN = tensor(("b", 64), f32)
WEIGHTS = tensor((64, "m"), f32)
OUT = tensor(("b", "m"), f32)


@kernel
def product(x: In, w: In, y: Out) -> None:
    pto.store(y, pto.matmul(pto.load(x, shape=(16, 64)), pto.load(w)))


@workload
def projected(m: DenseDyn) -> None:
    for j in P(P.ceildiv(m, 64)):
        product[j](IN, WEIGHTS[:, tile(j, 64)], OUT[:, tile(j, 64)])


def test_a_loop_that_generates_tokens() -> None:
    """Pages fill up: a plan is advanced by a token, or made anew with a page more."""
    rng = np.random.default_rng(0)
    q_heads, heads, dim, page = 8, 2, 32, 4
    k, v = (zeros((64, page, heads, dim), f32) for _ in range(2))
    wq, wk, wo = (
        (rng.standard_normal(shape) * 0.1).astype(np.float32)
        for shape in ((64, q_heads * dim), (64, heads * dim), (q_heads * dim, 64))
    )
    lengths, pages, free = [1, 5, 4], [[0], [1, 2], [3]], list(range(4, 64))
    for cache in (k, v):
        cache[:4] = rng.standard_normal(cache[:4].shape)
    decode, project = BatchDecode(num_threads=1), projected.compile(num_threads=1)

    def plan() -> None:
        last = np.array([(n - 1) % page + 1 for n in lengths], np.int32)
        decode.plan(np.cumsum([0, *map(len, pages)]), sum(pages, []), last, q_heads, heads, dim, page, f32)

    plan()
    h = rng.standard_normal((3, 64)).astype(np.float32)
    for _ in range(9):
        q, new = (np.empty((3, w.shape[1]), np.float32) for w in (wq, wk))
        project.execute(IN=h, WEIGHTS=wq, OUT=q)
        project.execute(IN=h, WEIGHTS=wk, OUT=new)
        for b, n in enumerate(lengths):
            at = pages[b][(n - 1) // page], (n - 1) % page
            k[at], v[at] = new[b].reshape(heads, dim), -new[b].reshape(heads, dim)
        out = decode.run(q.reshape(3, q_heads, dim), (k, v)).copy()
        for b, n in enumerate(lengths):
            keys, values = (
                cache[pages[b]].reshape(-1, heads, dim)[:n].repeat(4, 1).astype(np.float64)
                for cache in (k, v)
            )
            scores = np.einsum("hd,thd->ht", q[b].reshape(q_heads, dim), keys) / np.sqrt(dim)
            weights = np.exp(scores - scores.max(1, keepdims=True))
            want = np.einsum("ht,thd->hd", weights / weights.sum(1, keepdims=True), values)
            np.testing.assert_allclose(out[b], want, atol=1e-5)
        h = out.reshape(3, -1) @ wo
        full = [b for b, n in enumerate(lengths) if n % page == 0]
        for b in full:
            pages[b].append(free.pop(0))
        lengths = [n + 1 for n in lengths]
        plan() if full else decode.advance()
        assert decode.lengths == lengths
