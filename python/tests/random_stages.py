"""Random programs of several stages, each written twice: for the package, and in NumPy, task by task.

A stage reads two arrays and writes a third: by a kernel or a `@python_kernel`, in one of the forms of
`FORMS`. Results are bounded before they are stored, so that numbers stay exact from stage to stage.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pto_wsp
from hypothesis import strategies as st
from pto_wsp import Buffer, Workload, kernel, python_kernel, tensor, workload
from pto_wsp.dtypes import DTYPES
from random_programs import EXACT, NAMES, NUMPY, Body, Draw, compiled, in_numpy, laid_out, numbers

FORMS: dict[str, tuple[str, str]] = {
    # The loops of a workload, and the same in plain Python over NumPy. `{a}`, `{b}`, `{c}` are arrays.
    "tiles": (
        "for i in P(P.ceildiv(rows, {t})):\n"
        "    {k}[i]({a}[tile(i, {t})], {b}[tile(i, {t})], {c}[tile(i, {t})], i % 4)\n",
        "for i in range(-(-rows // {t})):\n"
        "    at = slice({t} * i, {t} * i + {t})\n    {k}({a}[at], {b}[at], {c}[at], i % 4)\n",
    ),
    "rows in order": (
        "for i in P.seq(rows):\n    {k}[i]({a}[G[i]], {b}[i], {c}[G[G[i]]], G[i] % 4)\n",
        "for i in range(rows):\n    {k}({a}[G[i]], {b}[i], {c}[G[G[i]]], G[i] % 4)\n",
    ),
    "chain": (
        "for i in P.seq(P.range(1, rows)):\n    {k}[i]({c}[i - 1], {b}[i], {c}[i], i % 4)\n",
        "for i in range(1, rows):\n    {k}({c}[i - 1], {b}[i], {c}[i], i % 4)\n",
    ),
    "ragged": (
        "for b in P(batch):\n    for i in P(L[b]):\n"
        "        {k}[b, i]({a}[S[b] + i], {b}[b % rows], {c}[S[b] + i], (b + i) % 4)\n",
        "for b in range(len(lengths)):\n    for i in range(lengths[b]):\n"
        "        {k}({a}[S[b] + i], {b}[b % rows], {c}[S[b] + i], (b + i) % 4)\n",
    ),
    "sparse": (
        "for i in P(rows):\n    for e, p in P.sel(R[i]).enumerate():\n"
        "        {k}[i, e]({a}[e], {b}[i], {c}[i], p % 4)\n",
        "for i in range(rows):\n    for p in range(indptr[i], indptr[i + 1]):\n"
        "        {k}({a}[routes[p]], {b}[i], {c}[i], p % 4)\n",
    ),
    "branches": (
        "for i in P(rows):\n    with P.when((G[i] < {half}) & (i != 2)):\n"
        "        {k}({a}[i], {b}[i], {c}[i], i % 4)\n"
        "    with P.otherwise():\n        {k}({b}[i], {a}[G[i]], {c}[i], G[i] % 4)\n",
        "for i in range(rows):\n    if G[i] < {half} and i != 2:\n"
        "        {k}({a}[i], {b}[i], {c}[i], i % 4)\n"
        "    else:\n        {k}({b}[i], {a}[G[i]], {c}[i], G[i] % 4)\n",
    ),
    "rounds": (
        "{s} = Slot({rounds})\nfor _ in P.loop({s} > 0, 9):\n    for i in P(rows):\n"
        "        {k}[i]({a}[i], {b}[i], {c}[i], {s} % 4)\n    less({s})\n",
        "for left in range({rounds}, 0, -1):\n    for i in range(rows):\n"
        "        {k}({a}[i], {b}[i], {c}[i], left % 4)\n",
    ),
    "pipe": (
        "{s} = Channel((1, {cols}), element, depth={depth})\nwith P.pipe():\n"
        '    with P.process("{s}_first"):\n        for i in P(rows):\n'
        "            with {s}.send() as slot:\n"
        "                {k}[i]({a}[i : i + 1], {b}[i : i + 1], slot, i % 4)\n"
        '    with P.process("{s}_last"):\n        for i in P(rows):\n'
        "            with {s}.consume() as slot:\n"
        "                {k}[i](slot, {a}[i : i + 1], {c}[i : i + 1], i % 3)\n",
        "for i in range(rows):\n    slot = np.zeros((1, {cols}), {c}.dtype)\n"
        "    {k}({a}[i : i + 1], {b}[i : i + 1], slot, i % 4)\n"
        "    {k}(slot, {a}[i : i + 1], {c}[i : i + 1], i % 3)\n",
    ),
}

ADDING = {"rows in order", "sparse", "rounds"}
"""Forms in which tasks meet in an element: they add to it."""

INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


@dataclass(repr=False)
class Staged:
    """A case: its program, how the data of a run is drawn, and what NumPy computes from it."""

    text: str
    plain: str
    work: Workload
    forms: list[str]
    data: Callable[[np.random.Generator, int], tuple[dict[str, Any], dict[str, Any]]]
    compute: Callable[[dict[str, Any], int], dict[str, Any]]
    arrays: list[str] = field(default_factory=list)
    in_python: bool = False

    def __repr__(self) -> str:
        return f"{self.text}\n{self.plain}\n{self.work!r}"


def _kernel(draw: Draw[Any], name: str, form: str, dtype: str, cols: int, t: int) -> tuple[str, str]:
    """A kernel of a stage, and the same in NumPy."""
    most = 2 if dtype in EXACT else 5
    body = Body(draw, dtype, most)
    for _ in range(draw(st.integers(0, 3))):
        body.branch() if draw(st.integers(0, 4)) == 0 else body.step(cols, t)
    last, largest = body.values[-1]
    adds = form in ADDING
    traced, plain = last, last
    if adds and dtype != "bool_" and body.fits(largest + most):
        traced, plain = f"{last} + pto.load(y)", f"{last} + two(y)"
    if dtype in EXACT:
        traced = f"pto.clamp({traced}, -{most}.0, {most}.0)"
        plain = f"np.minimum(np.maximum({plain}, kind(-{most})), kind({most}))"
    head = f"(x: In, z: In, y: {'InOut' if adds else 'Out'}, n: Scalar):\n"
    store = f"    y[...] = np.asarray({plain}).reshape(y.shape).astype(y.dtype)"
    return (
        f"def {name}{head}" + "\n".join([*body.traced, f"    pto.store(y, {traced})"]) + "\n",
        f"def {name}{head}" + "\n".join([*body.plain, store]) + "\n",
    )


def _indented(text: str, by: str = "    ") -> str:
    return "".join(by + line for line in text.splitlines(keepends=True))


@st.composite
def stages(draw: Draw[Any]) -> Staged:
    """A program of up to four stages."""
    dtype = draw(st.sampled_from(sorted(NUMPY)))
    cols, t = draw(st.sampled_from([1, 2, 7, 16, 33])), draw(st.integers(1, 9))
    element = DTYPES[NAMES.get(dtype, dtype)]
    arrays = ["A0", "A1"]
    tensors: dict[str, Any] = {name: tensor(("rows", cols), element, name=name) for name in arrays}
    scope: dict[str, Any] = {**vars(pto_wsp), **in_numpy(dtype), "element": element}
    around = dict(in_numpy(dtype))
    texts, plains, loops, plain_loops, forms, buffers = [], [], [], [], [], []
    for at in range(draw(st.integers(1, 4))):
        form, name, target = draw(st.sampled_from(sorted(FORMS))), f"k{at}", f"A{len(arrays)}"
        a, b = draw(st.sampled_from(arrays)), draw(st.sampled_from(arrays))
        if draw(st.integers(0, 2)) == 0:
            tensors[target] = Buffer(("rows", cols), element, name=target)
            buffers.append(target)
        else:
            tensors[target] = tensor(("rows", cols), element, name=target)
        text, plain = _kernel(draw, name, form, dtype, cols, t if form == "tiles" else 1)
        in_python = draw(st.integers(0, 3)) == 0
        source = plain if in_python else text
        scope[name] = (python_kernel if in_python else kernel)(compiled(source, name, scope))
        around[name] = compiled(plain, name, {**scope, **around})
        filled = {"a": a, "b": b, "c": target, "t": t, "k": name, "s": f"s{at}", "cols": cols}
        filled |= {"half": draw(st.integers(0, 9)), "depth": draw(st.integers(1, 3)), "rounds": at + 1}
        loop, plain_loop = (part.format(**filled) for part in FORMS[form])
        texts.append(("@python_kernel\n" if in_python else "@kernel\n") + source)
        plains.append(plain)
        loops.append(loop)
        plain_loops.append(plain_loop)
        forms.append(f"{form} in Python" if in_python else form)
        arrays.append(target)
    scope |= tensors
    work, text = _workload(draw, loops, scope)
    return Staged(
        "".join(texts) + text,
        "".join(plains) + "".join(plain_loops),
        work,
        forms,
        _data(draw, dtype, cols, [name for name in arrays if name not in buffers]),
        _computes("".join(plain_loops), around, buffers, (cols, np.dtype(NUMPY[dtype]))),
        [name for name in arrays if name not in buffers],
        any("in Python" in form or form == "rounds" for form in forms),
    )


PARAMETERS = (
    '(rows, batch, G: Table[i64, "rows"], S: Table[i64, "batch"], '
    'L: Ragged[i64, "batch"], R: Sparse[i64, "rows"])'
)


def _workload(draw: Draw[Any], loops: list[str], scope: dict[str, Any]) -> tuple[Workload, str]:
    """The workload of all stages: in one body, or each in a workload that another one calls."""
    scope["less"] = _LESS
    if draw(st.booleans()):
        text = f"def w{PARAMETERS}:\n" + "".join(map(_indented, loops))
    else:
        text, calls = "", []
        for at, loop in enumerate(loops):
            part = f"def part{at}{PARAMETERS}:\n" + _indented(loop)
            scope[f"part{at}"] = workload(compiled(part, f"part{at}", scope))
            text += "@workload\n" + part
            calls.append(f"    part{at}(rows, batch, G, S, L, R)\n")
        whole = f"def w{PARAMETERS}:\n" + "".join(calls)
        text += whole
        return workload(compiled(whole, "w", scope)), text
    return workload(compiled(text, "w", scope)), text


@python_kernel
def _LESS(slot: pto_wsp.InOut) -> None:
    slot[...] -= 1


def _data(draw: Draw[Any], dtype: str, cols: int, names: list[str]) -> Callable[..., Any]:
    """What draws the arrays of a run, as they are given to it: tables and axes have any type of integers."""
    types = [draw(st.sampled_from(INTEGERS)) for _ in range(4)]
    layouts = [draw(st.integers(0, 4)) for _ in names]

    def data(random: np.random.Generator, rows: int) -> tuple[dict[str, Any], dict[str, Any]]:
        batch = int(random.integers(1, 5))
        cuts = np.sort(random.integers(0, rows + 1, batch - 1))
        starts = np.concatenate([[0], cuts, [rows]]).astype(int)
        indptr = np.concatenate([[0], np.cumsum(random.integers(0, 3, rows))]).astype(int)
        routes = random.integers(0, max(rows, 1), indptr[-1])
        table = random.integers(0, max(rows, 1), rows)
        lists = {"G": table, "S": starts[:-1], "lengths": np.diff(starts), "indptr": indptr, "routes": routes}
        given: dict[str, Any] = {"G": table.astype(types[0]), "S": starts[:-1].astype(types[1])}
        given["L"] = np.diff(starts).astype(types[2])
        given |= {"R_indptr": indptr, "R_indices": routes.astype(types[3])}
        most = 2 if dtype in EXACT else 5
        for name, layout in zip(names, layouts, strict=True):
            given[name] = laid_out(lambda _, kind=layout: kind, numbers(random, dtype, (rows, cols), most))
        return given, lists

    return data


def _computes(
    text: str, around: dict[str, Any], buffers: list[str], of: tuple[int, Any]
) -> Callable[..., Any]:
    """What NumPy computes from arrays and lists of a run; `buffers` begin with zeros."""
    code = compile(text, "<plain>", "exec")

    def compute(values: dict[str, Any], rows: int) -> dict[str, Any]:
        held = {name: np.array(array) for name, array in values.items()}
        held |= {name: np.zeros((rows, of[0]), of[1]) for name in buffers}
        with np.errstate(all="ignore"):
            exec(code, {**around, **held, "rows": rows})
        return held

    return compute
