"""Programs that are drawn at random, each written twice: for the package, and in NumPy, task by task.

Numbers are whole and stay so small that every sum and product of them has no rounding in its element type,
and integers wrap: so results are equal, whatever the order of a sum. `Drawn` is what a case is made of; it
prints as the text of both programs.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import ml_dtypes
import numpy as np
import pto_wsp
from hypothesis import strategies as st
from pto_wsp import (
    Deps,
    DispatchPolicy,
    Pools,
    ReadyPolicy,
    StartPolicy,
    TaskWindow,
    TimingPolicy,
    TracePolicy,
    Workload,
    kernel,
    sparse,
    table,
    tensor,
    workload,
)
from pto_wsp.dtypes import DTYPES

T = TypeVar("T")

Draw = Callable[[st.SearchStrategy[T]], T]

EXACT = {"f8e5m2": 8, "f8e4m3": 16, "bf16": 256, "f16": 2048, "f32": 2**24, "f64": 2**53}
"""The whole numbers up to which all have a number of the type."""

NUMPY: dict[str, Any] = {
    **{"f8e5m2": ml_dtypes.float8_e5m2, "f8e4m3": ml_dtypes.float8_e4m3fn, "bf16": ml_dtypes.bfloat16},
    **{"f16": np.float16, "f32": np.float32, "f64": np.float64, "bool_": np.bool_},
    **{f"{sign}{bits}": f"{sign}{bits // 8}" for sign in "iu" for bits in (8, 16, 32, 64)},
}

NAMES = {"bool_": "bool"}
"""Names of element types that are not those of `pto_wsp`."""


class Body:
    """The body of a kernel, as both programs have it: `traced` and `plain` are its lines.

    A value is its name and the largest number that it may have.
    """

    def __init__(self, draw: Draw[Any], dtype: str, most: int) -> None:
        self.draw, self.dtype = draw, dtype
        self.limit = EXACT.get(dtype)
        self.traced = ["    v0 = pto.load(x)", "    v1 = pto.load(z)"]
        self.plain = ["    v0 = two(x)", "    v1 = two(z)"]
        self.values = [("v0", most), ("v1", most)]

    def add(self, traced: str, plain: str, most: int) -> None:
        name = f"v{len(self.values)}"
        self.traced.append(f"    {name} = {traced}")
        self.plain.append(f"    {name} = {plain}")
        self.values.append((name, most))

    def fits(self, most: int) -> bool:
        return self.limit is None or most <= self.limit

    def step(self, cols: int, rows: int) -> None:
        """Adds an operation that has no rounding, or the larger of two where the one drawn would have."""
        (a, x), (b, y) = self.draw(st.sampled_from(self.values)), self.draw(st.sampled_from(self.values))
        n = self.draw(st.integers(0, 3))
        forms = self.of_truths(a, b) if self.dtype == "bool_" else self.of_numbers(a, x, b, y, n, cols, rows)
        traced, plain, most = self.draw(st.sampled_from(forms))
        if not self.fits(most):
            traced, plain, most = f"pto.maximum({a}, {b})", f"np.maximum({a}, {b})", max(x, y)
        self.add(traced, plain, most)

    def of_truths(self, a: str, b: str) -> list[tuple[str, str, int]]:
        same = [f"{a} & {b}", f"{a} | {b}", f"{a} ^ {b}", f"~{a}"]
        return [
            *((text, text, 1) for text in same),
            (f"{a} == {b}", f"{a} == {b}", 1),
            (f"pto.maximum({a}, {b})", f"{a} | {b}", 1),
        ]

    def of_numbers(
        self, a: str, x: int, b: str, y: int, n: int, cols: int, rows: int
    ) -> list[tuple[str, str, int]]:
        real = self.limit is not None
        number = f"{n}.0" if real else str(n)
        forms = [(text, text, most) for text, most in ((f"{a} + {b}", x + y), (f"{a} * {b}", x * y))]
        forms += [(f"{a} * {number}", f"{a} * kind({n})", x * n), (f"{a} - {b}", f"{a} - {b}", x + y)]
        forms += [
            (f"pto.{name}({a}, {b})", f"np.{name}({a}, {b})", max(x, y)) for name in ("maximum", "minimum")
        ]
        forms += [
            (f"pto.neg({a})", f"-{a}", x),
            (f"pto.abs({a})", f"np.abs({a})", x),
            (f"pto.where({a} < {b}, {a}, {b})", f"np.where({a} < {b}, {a}, {b})", max(x, y)),
            (f"pto.where({a} == {b}, {number}, {b})", f"np.where({a} == {b}, kind({n}), {b})", max(n, y)),
            (f"pto.clamp({a}, {number}, 3)", f"np.minimum(np.maximum({a}, kind({n})), kind(3))", 3),
            (f"{a} + pto.rowsum({b})", f"{a} + total({b}, 1)", x + y * cols),
            (f"{a} - pto.colsum({b})", f"{a} - total({b}, 0)", x + y * rows),
            (f"{a} + pto.rowmax({b})", f"{a} + most({b}, 1)", x + y),
            (f"{a} + pto.colmin({b})", f"{a} + least({b}, 0)", x + y),
            (f"pto.cumsum({a})", f"np.cumsum({a}, 1, dtype={a}.dtype)", x * max(cols, 1)),
            (f"pto.transpose(pto.transpose({a}))", a, x),
        ]
        if real:
            forms += [(f"pto.floor({a} / 2.0)", f"np.floor({a} / 2)", x), (f"pto.round({a})", a, x)]
        else:
            forms += [(f"{a} // 3", f"{a} // kind(3)", x)]
        return forms

    def branch(self) -> None:
        """Adds a choice by the scalar, or a loop."""
        (a, x), (b, y) = self.draw(st.sampled_from(self.values)), self.draw(st.sampled_from(self.values))
        name = f"v{len(self.values)}"
        if self.draw(st.booleans()) or self.dtype == "bool_" or not self.fits(x + 3 * y):
            lines, most = ["{n} = {a}", "if n > 1:", "    {n} = {b}"], max(x, y)
        else:
            lines, most = ["{n} = {a}", "for _ in range(n):", "    {n} = {n} + {b}"], x + 3 * y
        # A variable keeps its type, and some narrow tiles are widened before.
        held = "pto.cast({}, f32)" if self.limit is not None and self.dtype != "f64" else "{}"
        self.traced += ["    " + line.format(n=name, a=held.format(a), b=held.format(b)) for line in lines]
        self.plain += ["    " + line.format(n=name, a=a, b=b) for line in lines]
        self.values.append((name, most))


@dataclass(repr=False)
class Drawn:
    """A case: its program, the arrays that it runs on, and what NumPy computes."""

    text: str
    plain: str
    work: Workload
    arrays: dict[str, Any]
    sizes: dict[str, int]
    want: np.ndarray

    def __repr__(self) -> str:
        shapes = {name: (array.dtype, array.shape, array.strides) for name, array in self.arrays.items()}
        return f"{self.text}\n{self.plain}\n{self.work!r}\n{shapes} {self.sizes}"


def compiled(text: str, name: str, scope: dict[str, Any]) -> Any:
    """A function of a text, which tools find like that of a file."""
    filename = f"<drawn {name} {hash(text)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), scope)
    return scope[name]


def in_numpy(dtype: str) -> dict[str, Any]:
    """What the text in NumPy uses: narrow real numbers are computed in `f32`, where they have no rounding."""
    held = np.dtype(NUMPY[dtype])
    wide = np.dtype(np.float32) if dtype in EXACT and dtype != "f64" else held

    def two(x: np.ndarray) -> np.ndarray:
        return np.atleast_2d(x).astype(wide)

    def total(x: np.ndarray, axis: int) -> np.ndarray:
        return x.sum(axis=axis, keepdims=True, dtype=wide)

    def edge(of: Any, empty: Any) -> Callable[[np.ndarray, int], np.ndarray]:
        return lambda x, axis: of(x, axis=axis, keepdims=True, initial=empty)

    low, high = (-np.inf, np.inf) if wide.kind == "f" else (0, 1)
    if wide.kind in "iu":
        low, high = np.iinfo(wide).min, np.iinfo(wide).max
    return {
        **{"np": np, "two": two, "total": total, "kind": wide.type},
        **{"most": edge(np.max, low), "least": edge(np.min, high)},
    }


WORKLOADS = {
    # Name: what is traced, and the same in plain Python over NumPy.
    "tiles": (
        "def w(rows):\n    for i in P(P.ceildiv(rows, {t})):\n"
        "        k[i](X[tile(i, {t})], Z[tile(i, {t})], Y[tile(i, {t})], i % 4)\n",
        "for i in range(-(-rows // {t})):\n    at = slice({t} * i, {t} * i + {t})\n"
        "    plain(X[at], Z[at], Y[at], i % 4)\n",
    ),
    "grid": (
        "def w(rows):\n    for i, j in P(P.ceildiv(rows, {t}), P.ceildiv({cols}, {u})):\n"
        "        k[i, j](X[tile(i, {t}), tile(j, {u})], Z[tile(i, {t}), tile(j, {u})],\n"
        "                Y[tile(i, {t}), tile(j, {u})], (i + j) % 4)\n",
        "for i in range(-(-rows // {t})):\n    for j in range(-(-{cols} // {u})):\n"
        "        at = slice({t} * i, {t} * i + {t}), slice({u} * j, {u} * j + {u})\n"
        "        plain(X[at], Z[at], Y[at], (i + j) % 4)\n",
    ),
    "ragged": (
        "def w():\n    for b in P({batch}):\n        for i in P(P.ceildiv(S[b + 1] - S[b], {t})):\n"
        "            at = tile(i, {t}, S[b], S[b + 1])\n            k[b, i](X[at], Z[at], Y[at], b % 4)\n",
        "for b in range({batch}):\n    for i in range(-(-(S[b + 1] - S[b]) // {t})):\n"
        "        at = slice(S[b] + {t} * i, min(S[b] + {t} * i + {t}, S[b + 1]))\n"
        "        plain(X[at], Z[at], Y[at], b % 4)\n",
    ),
    "gathered": (
        "def w(rows):\n    for i in P.seq(rows):\n        k[i](X[G[i]], Z[i], Y[G[G[i]]], G[i] % 4)\n",
        "for i in range(rows):\n    plain(X[G[i]], Z[i], Y[G[G[i]]], G[i] % 4)\n",
    ),
    "routed": (
        "def w(rows):\n    for b in P(rows):\n        with P.when(G[b] < {half}):\n"
        "            for e in P.sel(R[b]):\n                k[b, e](X[e], Z[b], Y[b], e % 4)\n",
        "for b in range(rows):\n    if G[b] < {half}:\n        for e in columns(b):\n"
        "            plain(X[e], Z[b], Y[b], e % 4)\n",
    ),
}


def _kernels(body: Body, kind: str, rows: int) -> tuple[str, str]:
    """The kernel of a body, and the same in NumPy; where tasks meet in an element they add to it."""
    adds = (
        kind in ("gathered", "routed")
        and body.dtype != "bool_"
        and body.fits(body.values[-1][1] * (rows + 1))
    )
    out, last = ("InOut", " + pto.load(y)") if adds else ("Out", "")
    head = f"(x: In, z: In, y: {out}, n: Scalar):\n"
    final = body.values[-1][0]
    text = "def k" + head + "\n".join([*body.traced, f"    pto.store(y, {final}{last})"]) + "\n"
    last = " + two(y)" if adds else ""
    store = f"    y[...] = ({final}{last}).reshape(y.shape).astype(y.dtype)"
    plain = "def plain(x, z, y, n):\n" + "\n".join([*body.plain, store]) + "\n"
    return text, plain


@st.composite
def programs(draw: Draw[Any]) -> Drawn:
    """A workload over a kernel, and its arrays."""
    dtype = draw(st.sampled_from(sorted(NUMPY)))
    kind = draw(st.sampled_from(sorted(WORKLOADS)))
    rows, cols = draw(st.integers(0, 40)), draw(st.sampled_from([1, 2, 7, 8, 16, 33]))
    t, u, batch = draw(st.integers(1, 20)), draw(st.integers(1, 20)), draw(st.integers(1, 5))
    most = 2 if dtype in EXACT else 5
    body = Body(draw, dtype, most)
    for _ in range(draw(st.integers(0, 6))):
        body.branch() if draw(st.integers(0, 4)) == 0 else body.step(cols, t)
    text, plain = _kernels(body, kind, rows)
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    gathered = random.integers(0, max(rows, 1), rows).tolist()
    starts = [0, *np.sort(random.integers(0, rows + 1, batch - 1)).tolist(), rows]
    indptr = [0, *np.cumsum(random.integers(0, 4, rows), dtype=int).tolist()]
    routes = [gathered[at % rows] for at in range(indptr[-1])]
    shape = (rows, cols)
    data = [numbers(random, dtype, shape, most) for _ in range(3)]
    arrays = dict(zip("XZY", (laid_out(draw, each) for each in data), strict=True))
    filled = {"t": t, "u": u, "cols": cols, "batch": batch, "half": max(rows // 2, 1)}
    traced_loops, plain_loops = (part.format(**filled) for part in WORKLOADS[kind])
    element = DTYPES[NAMES.get(dtype, dtype)]
    names = {name: tensor(("rows", cols), element, name=name) for name in "XZY"}
    scope = {**vars(pto_wsp), **names, "S": table(starts), "G": table(gathered or [0])}
    scope["R"] = sparse(max(rows, 1), indptr if rows else [0, 0], routes)
    scope["k"] = kernel(compiled(text, "k", scope))
    work = workload(compiled(traced_loops, "w", scope))
    want = {name: array.copy() for name, array in arrays.items()}
    around = {**in_numpy(dtype), **want, "S": starts, "G": gathered, "rows": rows}
    around["columns"] = lambda row: routes[indptr[row] : indptr[row + 1]]
    with np.errstate(all="ignore"):
        exec(compile(plain + plain_loops, "<plain>", "exec"), around)
    sizes = {} if kind == "ragged" else {"rows": rows}
    return Drawn(text + traced_loops, plain + plain_loops, work, arrays, sizes, want["Y"])


def numbers(random: np.random.Generator, dtype: str, shape: tuple[int, int], most: int) -> np.ndarray:
    """Small whole numbers; of integers at times also the least and the largest."""
    held = np.dtype(NUMPY[dtype])
    values = random.integers(0 if held.kind in "ub" else -most, most + 1, shape)
    if held.kind in "iu" and random.integers(0, 2):
        info = np.iinfo(held)
        edges = random.choice(np.array([info.min, info.max], held), shape)
        return np.where(random.integers(0, 4, shape) == 0, edges, values.astype(held))
    return values.astype(held)


def laid_out(draw: Draw[Any], array: np.ndarray) -> np.ndarray:
    """The array, or one with the same elements and other strides."""
    kind = draw(st.integers(0, 4))
    if kind == 3:
        return np.asfortranarray(array)
    if kind == 4:
        wide = np.zeros((array.shape[0], 2 * array.shape[1]), array.dtype)
        wide[:, ::2] = array
        return wide[:, ::2]
    return array


SCHEDULES: list[tuple[str, Callable[[Workload, int], Workload]]] = [
    ("dispatch", lambda w, n: w.dispatch(DispatchPolicy.round_robin())),
    ("dispatch", lambda w, n: w.dispatch(DispatchPolicy.work_steal())),
    ("dispatch", lambda w, n: w.dispatch(DispatchPolicy.affinity(lambda t: t.i + n))),
    ("dispatch", lambda w, n: w.dispatch(DispatchPolicy.hash(lambda t: t.i * n))),
    ("dispatch", lambda w, n: w.dispatch(DispatchPolicy.static_partition([(0, n), (n, 50)]))),
    ("stream", lambda w, n: w.streams(n)),
    ("stream", lambda w, n: w.streams(2).stream_by(lambda t: t.i % n)),
    ("task_graph", lambda w, n: w.task_graph(deps=Deps.infer_tensor_map_exact())),
    ("task_graph", lambda w, n: w.task_graph(deps=Deps.infer_bytes_overlap(), window=n)),
    ("task_graph", lambda w, n: w.task_graph(deps=Deps.hybrid(), ready=ReadyPolicy.work_steal())),
    ("task_graph", lambda w, n: w.task_graph(window=TaskWindow(n, mode="abort"))),
    ("task_graph", lambda w, n: w.task_graph(start=StartPolicy.threshold(n), ready=ReadyPolicy.fifo())),
    (
        "task_graph",
        lambda w, n: w.task_graph(
            start=StartPolicy.after_orchestration(), pools=Pools.by_unit(vector=1, cube=n)
        ),
    ),
    ("task_graph", lambda w, n: w.task_graph(trace=TracePolicy.measured(), ready=ReadyPolicy.priority())),
    ("priority", lambda w, n: w.priority(lambda t: t.i - n).task_graph(ready=ReadyPolicy.priority())),
    ("pipeline_depth", lambda w, n: w.pipeline_depth(n)),
    ("batch_deps", lambda w, n: w.batch_deps(n)),
    ("core_groups", lambda w, n: w.core_groups(n)),
    ("workers", lambda w, n: w.workers(n)),
    ("timing", lambda w, n: w.timing(TimingPolicy.batched(n))),
    ("timing", lambda w, n: w.timing(TimingPolicy.interleaved(n))),
    ("spatial_map", lambda w, n: w.spatial_map((n, 2))),
    ("spatial_map", lambda w, n: w.spatial_map((1, n)).layout("X", ["replicate", "replicate"])),
]
"""Parts of schedules; of those with one name a schedule has one."""

schedules = st.lists(
    st.tuples(st.sampled_from(SCHEDULES), st.integers(1, 9)), max_size=3, unique_by=lambda part: part[0][0]
)

options = st.one_of(
    st.fixed_dictionaries({"num_threads": st.integers(0, 3)}, optional={"enable_profiling": st.booleans()}),
    st.fixed_dictionaries({"num_aicpus": st.integers(1, 3), "expand": st.sampled_from(["host", "bytecode"])}),
    st.just({"enable_debug": True}),
    st.fixed_dictionaries({"optimization_level": st.integers(0, 3), "seed": st.integers(0, 9)}),
    st.fixed_dictionaries({"replay": st.integers(0, 9)}),
)
"""Options of `compile`."""
