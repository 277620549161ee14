"""Mistakes that type checkers find, each at its line. It is read, and not run."""

from __future__ import annotations

import numpy as np
from pto_wsp import (
    Buffer,
    DenseDyn,
    Deps,
    DispatchPolicy,
    In,
    Out,
    P,
    Ragged,
    ReadyPolicy,
    Scalar,
    Table,
    TaskWindow,
    Tensor,
    Tile,
    combine,
    errors,
    f16,
    f32,
    i64,
    kernel,
    load,
    pto,
    python_kernel,
    sequential,
    tensor,
    tile,
    workload,
)

X = tensor(("rows", 64), f32)
Y = tensor(("rows", 64), f32)
Z = tensor(("rows", 64), f16)
A = tensor(("rows", 64), f31)  # mistake
B = tensor(("rows", 0.5), f32)  # mistake
C = Buffer((4, 4), dtpe=f32)  # mistake


def twice(t: Tile) -> Tile:
    return t * 2.0


@kernel(unit="vektor")  # mistake
def odd(x: In, y: Out) -> None:
    pto.store(y, pto.load(x))


@kernel
def scale(x: In[f32], y: Out, n: Scalar) -> None:
    t = pto.load(x, shap=(64, 64))  # mistake
    t = pto.rowsun(t)  # mistake
    t = pto.cast(t, 32)  # mistake
    t = twice(x)  # mistake
    pto.store(y)  # mistake
    rows = x.shpae[0]  # mistake
    t = t.transposed()  # mistake
    pto.store(t, y)  # mistake
    pto.store(y, pto.full((rows, 64), "0"))  # mistake
    y.shape.rows  # mistake
    n.bits  # mistake


@kernel
def numbers(x: In[f32], y: Out, n: Scalar) -> None:
    """What a kernel does with a number is no finding."""
    t = pto.load(x[n : n + max(n, 2)]) - n
    for at in range(n):
        if n % 2 == 0 and n > 3:
            t = t * (n * 0.5 + at)
        else:
            t = -n * t / (n // 2)
    t = t + n**2 + (+n) * abs(n)
    pto.store(y, t + float(n))


@python_kernel
def integers(x: In, y: Out, n: Scalar) -> None:
    """What a function does with an `int` is no finding."""
    y[...] = x
    if n & 1:
        y[0] = n << 2
    y += n.bit_length() + abs(n) + divmod(n, 3)[1] + (+n) + ((n | 4) ^ 1) + (n >> 1) + ~n + round(n)
    y += n.to_bytes(4, "little")[0] + (5 & n) + (1 << n) + 2**n + pow(n, 2) + n.numerator
    print(f"{n:3d}", [1, 2, 3][n % 3], np.zeros(n), "ab" * n, range(n), int(n), float(n))


@python_kernel
def in_numpy(x: In, y: Out) -> None:
    y[...] = x.maximum(axis=1)  # mistake


def rows_of(tok: Ragged["rows"]) -> None:  # mistake
    pass


@workload
def w(
    rows: DenseDyn,
    x: Tensor[f32, "rows", 64],
    lens: Table[i64, "rows"],
) -> None:
    for i in P(P.ceil_div(rows, 64)):  # mistake
        pass
    for i in range(rows):  # mistake
        pass
    for i in P.sequence(rows):  # mistake
        pass
    for i in P(rows / 2):  # mistake
        pass
    for i in P(lens[0] ** 2):  # mistake
        pass
    for i in P("rows"):  # mistake
        pass
    for i, j, k in P(rows, 64):  # mistake
        pass
    for i in P(rows):
        scale[i](X[tile(i)], Y[i], 1)  # mistake
        scale[i](X[tile(i, 64)], Y[tile(i, 64)])  # mistake
        scale[i](X[tile(i, 64)], Y[tile(i, 64)], k=3)  # mistake
        scale[i](Z[tile(i, 64)], Y[tile(i, 64)], 3)  # mistake
        scale[i](lens.length, Y[i], 3)  # mistake
        scale[i](X[tile(i, 64)], Y[tile(i, 64)], "3")  # mistake
        scale[i](X[tile(i, 64)], Y[tile(i, 64)], 2.5)  # mistake
        scale[i](X[tile(i, 64)], Y[tile(i, 64)], None)  # mistake
        scale[i](X[tile(i, 64)], Y[tile(i, 64)], i.lenght)  # mistake
        scale[i](X[tile(i, 64)], Y[tile(i, 64)], [i])  # mistake
        scale[i](X[tile(i, 64)], Y[tile(i, 64)], rows - i)
        scale[i](X[tile(i, 64)], Y[tile(i, 64)], lens[i])
        in_numpy["a"](X[i], Y[i])  # mistake
        in_numpy[i](3, x[i])  # mistake
        in_numpy[i](X["rows"], x[i])  # mistake
        with P.whenn(i > 0):  # mistake
            pass


scheduled = w.dispatch(DispatchPolicy.round_robin()).stream(2)  # mistake
w.dispatch(Deps.infer_bytes_overlap())  # mistake
w.task_graph(dep=Deps.infer_bytes_overlap())  # mistake
w.task_graph(ready=ReadyPolicy.lifo())  # mistake
w.task_graph(window=TaskWindow("8"))  # mistake
w.dispatch(DispatchPolicy.affinity(lambda t: t.get()))  # mistake
program = w.compile(num_thread=2)  # mistake
program = w.compile(expand="hosts")  # mistake
program = w.compile(enable_debug="yes")  # mistake
program = load("decode.pto").program(kv_layout="NDH")  # mistake
stats = program.exectue(X=np.zeros((4, 64)))  # mistake
print(program.execute(X=1).num_task)  # mistake
print(program.graph(X=1).edge)  # mistake
program.execute_async(X=1).synchronise()  # mistake
program.execute(3)  # mistake
program.bind(np.zeros(3))  # mistake
program.execute(X=1, timeout=2)
combine(w, 3)  # mistake
sequential("w")  # mistake
combine(w, sequential(w, w.streams(2)), lambda: w())
try:
    pass
except errors.ArgumentErr:  # mistake
    pass
