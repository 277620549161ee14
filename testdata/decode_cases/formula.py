"""Inputs by formula and naive two-pass attention in float64, as README.md describes them.

Written for numpy alone (ml_dtypes for element types that numpy lacks) and apart from everything in crates/:
what agrees with this and with the reference there has been computed twice.
"""

from dataclasses import dataclass, field

import ml_dtypes
import numpy as np

DTYPES = {
    "f32": np.float32,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8e4m3": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
}
# Streams of one seed.
Q, K, V, SINKS, PAGES = 1, 2, 3, 5, 102
# Pages that no request uses.
SPARE_PAGES = 3
# Logits this far below the largest of their row have no weight that f64 would notice in a tolerance.
NO_WEIGHT = 40.0


def splitmix64(x):
    """The published generator, on arrays of u64 that wrap."""
    with np.errstate(over="ignore"):
        z = np.asarray(x, np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def unit(seed, stream, first, count):
    """Elements first.. of a stream: multiples of 2^-23 in [-1, 1)."""
    key = splitmix64(np.uint64(seed * 1_000_003 + stream))
    with np.errstate(over="ignore"):
        bits = splitmix64(key + np.arange(first, first + count, dtype=np.uint64))
    return (bits >> np.uint64(40)).astype(np.float64) / 2.0**23 - 1.0


def rounded(values, dtype):
    """Rounded to f32, then to the type, as f64."""
    with np.errstate(over="ignore"):
        return np.asarray(values, np.float64).astype(np.float32).astype(DTYPES[dtype]).astype(np.float64)


def alibi_slopes(heads):
    """The slopes of Press et al. (ALiBi) for any number of heads, in f32 as an array of them holds them."""
    near = 2 ** int(np.floor(np.log2(heads)))
    first = [2.0 ** (-8.0 * (i + 1) / near) for i in range(near)]
    return rounded(first + [2.0 ** (-4.0 * (2 * i + 1) / near) for i in range(heads - near)], "f32")


def shuffled(count, seed):
    """Page ids 0..count in random order (Fisher and Yates, from the last)."""
    key = splitmix64(np.uint64(seed * 1_000_003 + PAGES))
    ids = list(range(count))
    for step, i in enumerate(range(count - 1, 0, -1)):
        with np.errstate(over="ignore"):
            bits = int(splitmix64(key + np.uint64(step + 1)))
        j = bits * (i + 1) >> 64
        ids[i], ids[j] = ids[j], ids[i]
    return ids


@dataclass(frozen=True)
class Problem:
    """A decode attention problem; the fields are the `meta_` entries of a file."""

    seed: int
    lens: tuple
    qh: int
    h: int
    d: int
    page_size: int = 16
    dtype: str = "f16"
    kv_dtype: str = ""
    # Query rows per request: one number, or one for each.
    q_len: object = 1
    # Lanes of a value; 0 for as many as of a key. Others: values are the first lanes of keys (MLA).
    dv: int = 0
    q_scale: float = 1.0
    k_fill_scale: float = 1.0
    v_fill_scale: float = 1.0
    q_const: float = np.nan
    k_const: float = np.nan
    v_const: float = np.nan
    k_ramp: float = np.nan
    sm_scale: float = 0.0
    soft_cap: float = 0.0
    window_left: int = -1
    alibi: int = 0
    sink: int = 0
    rope_theta: float = 0.0
    k_scale: float = 1.0
    v_scale: float = 1.0
    part_chunk: int = 0
    # Pages that all requests begin with; those of requests that are too short belong to them alone.
    prefix_pages: int = 0
    # A page table other than the one made up.
    table: tuple = field(default=(), compare=False)

    def q_lens(self):
        """Query rows of each request."""
        return [self.q_len] * len(self.lens) if isinstance(self.q_len, int) else list(self.q_len)

    def scale(self):
        """What products of queries and keys are multiplied by."""
        return self.sm_scale or 1.0 / np.sqrt(self.d)

    def pages(self):
        """Page ids of each request, and how many pages there are."""
        held = [-(-n // self.page_size) for n in self.lens]
        if self.table:
            indptr, indices, pages = self.table
            return [indices[indptr[b] : indptr[b + 1]] for b in range(len(held))], pages
        prefix = self.prefix_pages
        own = [n - prefix if prefix and n >= prefix else n for n in held]
        ids = shuffled(prefix + sum(own) + SPARE_PAGES, self.seed)
        shared, at, lists = ids[:prefix], prefix, []
        for n, mine in zip(held, own, strict=True):
            lists.append((shared if n != mine else []) + ids[at : at + mine])
            at += mine
        return lists, len(ids)

    def queries(self):
        """[rows, heads, lanes], requests one after the other."""
        shape = (sum(self.q_lens()), self.qh, self.d)
        if not np.isnan(self.q_const):
            return rounded(np.full(shape, self.q_const), self.dtype)
        made = unit(self.seed, Q, 0, int(np.prod(shape))) * self.q_scale
        return rounded(made, self.dtype).reshape(shape)

    def cache(self, stream, pages):
        """The physical pages [pages, tokens, heads, lanes] of keys or values."""
        lanes = self.d
        const, scale = (self.k_const, self.k_fill_scale) if stream == K else (self.v_const, self.v_fill_scale)
        shape = (pages, self.page_size, self.h, lanes)
        if not np.isnan(const):
            return rounded(np.full(shape, const), self.kv_dtype or self.dtype)
        made = unit(self.seed, stream, 0, int(np.prod(shape))) * scale
        return rounded(made, self.kv_dtype or self.dtype).reshape(shape)

    def request(self, keys, values, ids, length):
        """Keys and values of one request, [tokens, heads, lanes]."""
        rows = np.asarray(ids, np.int64)
        k = keys[rows].reshape(-1, self.h, self.d)[:length]
        if not np.isnan(self.k_ramp):
            ramp = rounded(self.k_ramp * np.arange(length) / max(length, 1), self.kv_dtype or self.dtype)
            k = np.broadcast_to(ramp[:, None, None], k.shape)
        if self.dv:
            return k, k[:, :, : self.dv]
        return k, values[rows].reshape(-1, self.h, self.d)[:length]


def rotated(x, positions, theta):
    """Rotary embedding, half-split: lane i goes with lane i + D/2. x is [tokens, heads, lanes]."""
    half = x.shape[-1] // 2
    angle = np.asarray(positions, np.float64)[:, None] * theta ** (-np.arange(half) / half)
    cos, sin = np.cos(angle)[:, None, :], np.sin(angle)[:, None, :]
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def attend(problem, q, k, v, positions, q_positions):
    """Outputs [rows, heads, lanes], log2 of sums [rows, heads] and the largest logit that matters."""
    group = problem.qh // problem.h
    if problem.rope_theta:
        q = rotated(q, q_positions, problem.rope_theta)
        k = rotated(k, positions, problem.rope_theta)
    k = np.repeat(k * problem.k_scale, group, axis=1)
    v = np.repeat(v * problem.v_scale, group, axis=1)
    logits = np.einsum("rhd,thd->rht", q, k) * problem.scale()
    distance = np.asarray(positions)[None, :] - np.asarray(q_positions)[:, None]
    if problem.alibi:
        logits = logits + alibi_slopes(problem.qh)[None, :, None] * distance[:, None, :]
    if problem.soft_cap:
        logits = problem.soft_cap * np.tanh(logits / problem.soft_cap)
    seen = distance <= 0
    if problem.window_left >= 0:
        seen &= distance >= -problem.window_left
    logits = np.where(seen[:, None, :], logits, -np.inf)
    extra = np.full((logits.shape[0], problem.qh, 1), -np.inf)
    if problem.sink:
        extra[:] = rounded(unit(problem.seed, SINKS, 0, problem.qh) * 2.0, "f32")[None, :, None]
    both = np.concatenate([logits, extra], axis=-1)
    top = both.max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.where(np.isinf(both), 0.0, np.exp(both - top))
        total = weights.sum(axis=-1, keepdims=True)
        o = np.einsum("rht,thd->rhd", weights[..., :-1] / np.where(total > 0, total, 1.0), v)
        lse = np.where(total[..., 0] > 0, (top[..., 0] + np.log(total[..., 0])) / np.log(2.0), -np.inf)
        matter = np.abs(logits[(logits > top - NO_WEIGHT) & np.isfinite(logits)])
    return o, lse, float(matter.max(initial=0.0))


def solve(problem):
    """All that a file holds of results, as a dictionary."""
    lists, pages = problem.pages()
    q, lanes = problem.queries(), problem.dv or problem.d
    keys = problem.cache(K, pages)
    values = keys if problem.dv else problem.cache(V, pages)
    out, logs, largest, parts, row = [], [], 0.0, {}, 0
    for b, (ids, length, rows) in enumerate(zip(lists, problem.lens, problem.q_lens(), strict=True)):
        k, v = problem.request(keys, values, ids, length)
        mine, q_positions = q[row : row + rows], length - rows + np.arange(rows)
        row += rows
        o, lse, logit = attend(problem, mine, k, v, np.arange(length), q_positions)
        out.append(o), logs.append(lse)
        largest = max(largest, logit)
        if problem.part_chunk:
            cuts = range(0, length, problem.part_chunk)
            ends = [min(c + problem.part_chunk, length) for c in cuts]
            each = [
                attend(problem, mine, k[c:e], v[c:e], np.arange(c, e), q_positions)
                for c, e in zip(cuts, ends, strict=True)
            ]
            parts[f"part_o_b{b}"] = np.array([p[0][0] for p in each])
            parts[f"part_lse_b{b}"] = np.array([p[1][0] for p in each])
    o = np.concatenate(out) if out else np.zeros((0, problem.qh, lanes))
    lse = np.concatenate(logs) if logs else np.zeros((0, problem.qh))
    if isinstance(problem.q_len, int):
        o = o.reshape(len(problem.lens), problem.q_len, problem.qh, lanes)
        lse = lse.reshape(len(problem.lens), problem.q_len, problem.qh)
    return {
        "o": o,
        "lse_base2": lse,
        "max_logit": largest,
        "input_check": check_sums(problem, q, keys, values),
        **parts,
    }


def check_sums(problem, q, keys, values):
    """The seven numbers that tell whether another program makes the same inputs."""
    lists, _ = problem.pages()
    used = np.array([page for ids in lists for page in ids], np.int64)
    if not np.isnan(problem.k_ramp):
        keys = np.zeros_like(keys)
        for ids, n in zip(lists, problem.lens, strict=True):
            for i, page in enumerate(ids):
                tokens = i * problem.page_size + np.arange(problem.page_size)
                ramp = rounded(problem.k_ramp * tokens / max(n, 1), problem.kv_dtype or problem.dtype)
                keys[page] = ramp[:, None, None]
    if problem.dv:
        values = np.zeros_like(keys)
    firsts = [x.flat[0] if x.size else 0.0 for x in (q, keys)]
    last = values.flat[-1] if values.size else 0.0
    sums = [q.sum(), np.abs(q).sum(), keys[used].sum(), values[used].sum()]
    return np.array([*sums, *firsts, last])


def merge(v, s):
    """One state per row of states with base 2 log-sums: v [rows, states, lanes], s [rows, states]."""
    top = np.max(s, axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        weights = np.where(np.isinf(s), 0.0, np.exp2(s - top))
        total = weights.sum(axis=1, keepdims=True)
        merged = np.einsum("rs,rsd->rd", weights / np.where(total > 0, total, 1.0), v.astype(np.float64))
        return merged, np.where(total > 0, top + np.log2(total), -np.inf)[:, 0]
