"""What the examples should compute: the textbook formulas in f64, with no tiles, no blocks and no running
sums.
"""

from __future__ import annotations

import math

import numpy as np

Array = np.ndarray


def f64(array: Array) -> Array:
    """The array in double precision."""
    return np.asarray(array).astype(np.float64)


def relative_error(actual: Array, expected: Array) -> float:
    """The largest error of a row, relative to the largest magnitude of that row; rows run along the last
    axis.

    Infinities must stand where they are expected. A row of expected zeros must be zero; it counts as
    infinitely wrong else.
    """
    actual, expected = np.atleast_1d(f64(actual)), np.atleast_1d(f64(expected))
    if actual.shape != expected.shape:
        raise ValueError(f"shapes differ: {actual.shape} and {expected.shape}")
    if actual.size == 0:
        return 0.0
    infinite = np.isinf(expected)
    if not np.array_equal(actual[infinite], expected[infinite]) or not np.isfinite(actual[~infinite]).all():
        return math.inf
    error = np.where(
        infinite, 0.0, np.abs(np.where(infinite, 0.0, actual) - np.where(infinite, 0.0, expected))
    )
    worst = error.max(axis=-1)
    scale = np.abs(np.where(infinite, 0.0, expected)).max(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(worst == 0.0, 0.0, worst / scale)
    return float(relative.max())


def sum_error(actual: Array, expected: Array) -> float:
    """The largest relative error of sums that are given by their logarithms to base 2."""
    return relative_error(np.exp2(f64(actual))[..., None], np.exp2(f64(expected))[..., None])


def softmax(x: Array) -> Array:
    """Softmax along the last axis."""
    x = f64(x)
    powers = np.exp(x - x.max(axis=-1, keepdims=True, initial=-np.inf))
    return f64(powers / powers.sum(axis=-1, keepdims=True))


def rmsnorm(x: Array, gain: Array, eps: float) -> Array:
    """Every row over its root mean square, times the gain."""
    x = f64(x)
    return f64(x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * f64(gain))


def attention(q: Array, k: Array, v: Array, causal: bool = False) -> tuple[Array, Array]:
    """Attention of `q [rows, dim]` over `k, v [keys, dim]`: the output, and the logarithm to base 2 of each
    row's sum.

    Causal: the last query sees every key, the one before all but the last, and so on. Without keys: 0 and
    -inf.
    """
    q, k, v = f64(q), f64(k), f64(v)
    rows, keys = len(q), len(k)
    if keys == 0:
        return np.zeros((rows, v.shape[1])), np.full(rows, -np.inf)
    scores = q @ k.T / math.sqrt(q.shape[1])
    if causal:
        hidden = np.arange(keys)[None, :] > np.arange(rows)[:, None] + (keys - rows)
        scores = np.where(hidden, -np.inf, scores)
    largest = scores.max(axis=1)
    sums = np.exp(scores - largest[:, None]).sum(axis=1)
    return softmax(scores) @ v, (largest + np.log(sums)) / math.log(2.0)


def grouped_attention(q: Array, k: Array, v: Array, causal: bool) -> tuple[Array, Array]:
    """Attention of `q [batch, heads, rows, dim]` over `k, v [batch, kv_heads, keys, dim]`."""
    group = q.shape[1] // k.shape[1]
    outputs = np.empty(q.shape)
    sums = np.empty(q.shape[:3])
    for b, h in np.ndindex(*q.shape[:2]):
        outputs[b, h], sums[b, h] = attention(q[b, h], k[b, h // group], v[b, h // group], causal)
    return outputs, sums


def decode(q: Array, k: Array, v: Array, indptr: Array) -> tuple[Array, Array]:
    """One query per request, `q [batch, kv_heads, group, dim]`, over its rows of `k, v [total, kv_heads,
    dim]`.
    """
    outputs = np.empty(q.shape)
    sums = np.empty(q.shape[:3])
    for b, h in np.ndindex(*q.shape[:2]):
        rows = slice(indptr[b], indptr[b + 1])
        outputs[b, h], sums[b, h] = attention(q[b, h], k[rows, h], v[rows, h])
    return outputs, sums


def rope(x: Array, theta: float) -> Array:
    """Rotary positions of `x [seq, heads, dim]`: lanes `i` and `dim / 2 + i` turn together."""
    x = f64(x)
    half = int(x.shape[-1]) // 2
    angles = np.arange(len(x))[:, None] * np.power(theta, -np.arange(half) / half)
    cos, sin = np.cos(angles)[:, None, :], np.sin(angles)[:, None, :]
    low, high = x[..., :half], x[..., half:]
    return np.concatenate([low * cos - high * sin, high * cos + low * sin], axis=-1)


def silu(x: Array) -> Array:
    """`x / (1 + e^-x)`."""
    return f64(x / (1.0 + np.exp(-x)))


def swiglu(x: Array, gate: Array, up: Array, down: Array) -> Array:
    """A feed-forward network with weights `[outputs, inputs]`."""
    return f64((silu(x @ f64(gate).T) * (x @ f64(up).T)) @ f64(down).T)


def llama_layer(
    x: Array, weights: dict[str, Array], heads: int, kv_heads: int, theta: float, eps: float
) -> Array:
    """A decoder layer over one causal prompt `x [seq, hidden]`; weights are `[outputs, inputs]`."""
    x = f64(x)
    seq = len(x)
    dim = len(weights["wq"]) // heads
    normed = rmsnorm(x, weights["attn_norm"], eps)
    q = rope((normed @ f64(weights["wq"]).T).reshape(seq, heads, dim), theta)
    k = rope((normed @ f64(weights["wk"]).T).reshape(seq, kv_heads, dim), theta)
    v = (normed @ f64(weights["wv"]).T).reshape(seq, kv_heads, dim)
    group = heads // kv_heads
    attended = [attention(q[:, h], k[:, h // group], v[:, h // group], causal=True)[0] for h in range(heads)]
    middle = x + np.concatenate(attended, axis=1) @ f64(weights["wo"]).T
    normed = rmsnorm(middle, weights["ffn_norm"], eps)
    return f64(middle + swiglu(normed, weights["w_gate"], weights["w_up"], weights["w_down"]))


def moe(
    x: Array, indptr: Array, tokens: Array, shares: Array, w_gate: Array, w_up: Array, w_down: Array
) -> Array:
    """`y[t] = x[t] + Σ share · expert(x[t])`; expert `e` has the routed rows `indptr[e] .. indptr[e + 1]`."""
    x = f64(x)
    y = x.copy()
    for expert in range(len(indptr) - 1):
        for p in range(indptr[expert], indptr[expert + 1]):
            token = tokens[p]
            y[token] += float(shares[p]) * swiglu(x[token], w_gate[expert], w_up[expert], w_down[expert])
    return y


def index_scores(q: Array, weights: Array, keys: Array) -> Array:
    """Scores `Σ_h weights[h] · relu(q[h] · key)` of all keys."""
    return f64(f64(weights) @ np.maximum(f64(q) @ f64(keys).T, 0.0))


def batched_gemm(a: Array, b: Array) -> Array:
    """`a [batch, m, k]` times `b [batch, k, n]`."""
    return f64(f64(a) @ f64(b))


def gelu(x: Array) -> Array:
    """The tanh form of GELU."""
    x = f64(x)
    return 0.5 * x * (1.0 + np.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))


def alternating_sums(x: Array, width: int) -> tuple[Array, Array]:
    """Sums over the columns of each row: of squares in every other tile of `width` columns, and of absolute
    values in the tiles between.
    """
    x = f64(x)
    even: Array = np.array([column // width % 2 == 0 for column in range(x.shape[-1])], bool)
    return (x * x)[:, even].sum(axis=-1, keepdims=True), abs(x)[:, ~even].sum(axis=-1, keepdims=True)
