"""Random programs of tiles: what the compiler does about temporaries, reuse and copies cannot be seen in
the results.
"""

from __future__ import annotations

import linecache
import random
import types

import numpy as np
import pytest
from kernel_machine import Trap, run
from pto_wsp import Tensor, errors, f32, pto, tensor, workload
from pto_wsp.kernels import In, Out, Scalar, kernel

ROWS, COLS = 5, 7


class Value(np.ndarray):
    """An array that `-=` does not change: tiles are values."""

    def __isub__(self, other):
        return self - other


REFERENCE = types.SimpleNamespace(
    load=lambda x: x[...].copy().view(Value),
    store=lambda y, t: y.__setitem__(..., t),
    maximum=lambda a, b: np.maximum(a, b).astype(np.float32),
    minimum=lambda a, b: np.minimum(a, b).astype(np.float32),
    abs=lambda a: np.abs(a),
    relu=lambda a: np.maximum(a, np.float32(0)),
    rowmax=lambda a: a.max(1, keepdims=True),
    colmin=lambda a: a.min(0, keepdims=True),
    max=lambda a: np.float32(a.max()),
    min=lambda a: np.float32(a.min()),
    transpose=lambda a: a.T.copy(),
    full=lambda shape, value: np.full(shape, value, np.float32),
)


def masked(tile, rows=None, cols=None, value=0.0):
    tile = tile.copy()
    if rows is not None:
        tile[rows:] = value
    if cols is not None:
        tile[:, cols:] = value
    return tile


def causal(tile, col, value):
    tile = tile.copy()
    for r in range(tile.shape[0]):
        tile[r, max(col + r, 0) :] = value
    return tile


def banded(tile, begin, end, group, value):
    shift = np.arange(tile.shape[0])[:, None] // max(group, 1)
    columns = np.arange(tile.shape[1])[None, :]
    kept = (columns >= begin + shift) & (columns < end + shift)
    return np.where(kept, tile, np.float32(value)).view(Value)


def inserted(tile, part, row, col):
    tile = tile.copy()
    tile[row : row + part.shape[0], col : col + part.shape[1]] = part
    return tile


REFERENCE.mask = masked
REFERENCE.mask_causal = causal
REFERENCE.mask_band = banded
REFERENCE.insert = inserted
REFERENCE.extract = lambda tile, shape, row, col: tile[row : row + shape[0], col : col + shape[1]].copy()
REFERENCE.iota = lambda shape, start: np.tile(start + np.arange(shape[1], dtype=np.float32), (shape[0], 1))


class Program:
    """Writes random functions of tiles `a b c` (5 x 7), columns `u v`, rows `p q` and numbers `s m`; all
    stay whole numbers.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.loops = 0

    def tile(self, depth: int = 3) -> str:
        pick = self.random.randrange(18)
        if depth == 0 or pick < 3:
            return self.random.choice(["a", "b", "c"])
        one = self.tile(depth - 1)
        if pick < 7:
            other = self.random.choice(
                [self.tile(depth - 1), self.column(depth - 1), self.row(depth - 1), self.number(depth - 1)]
            )
            pair = (one, other) if self.random.random() < 0.5 else (other, one)
            return f"({pair[0]} {self.random.choice('+-')} {pair[1]})"
        if pick == 7:
            return f"pto.{self.random.choice(['maximum', 'minimum'])}({self.column(depth - 1)}, {one})"
        if pick == 8:
            return f"pto.{self.random.choice(['abs', 'relu'])}({one})"
        if pick == 9:
            return f"pto.mask({one}, rows={self.random.randint(0, 6)}, value={self.number(depth - 1)})"
        if pick == 10:
            return f"pto.mask_causal({one}, {self.random.randint(-3, 7)}, {self.number(0)})"
        if pick == 11:
            return f"({one} if {self.number(0)} > 3 else {self.tile(depth - 1)})"
        if pick == 12:
            return f"step({one}, {self.tile(depth - 1)}, {self.number(0)})"
        if pick == 13:
            begin, group = self.random.randint(-3, 7), self.random.randint(0, 3)
            return f"pto.mask_band({one}, {begin}, {begin + 3}, {group}, {self.number(0)})"
        if pick == 14:
            return f"({one} + pto.iota(x.shape, {self.random.randint(-4, 4)}))"
        if pick == 15:
            part, row = self.row(depth - 1), self.random.randrange(ROWS)
            return f"pto.insert({one}, {part}, {row}, 0)"
        if pick == 16:
            return f"({one} - pto.extract({self.tile(depth - 1)}, ({ROWS}, {COLS}), 0, 0))"
        return f"pto.transpose(pto.transpose({one}))"

    def column(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.5:
            return self.random.choice("uv")
        return self.random.choice(
            [
                f"pto.rowmax({self.tile(depth - 1)})",
                f"({self.column(depth - 1)} - {self.column(depth - 1)})",
                f"pto.colmin({self.tile(depth - 1)}.T).T",
            ]
        )

    def row(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.5:
            return self.random.choice("pq")
        return self.random.choice(
            [
                f"pto.colmin({self.tile(depth - 1)})",
                f"(2.0 - {self.row(depth - 1)})",
                f"pto.rowmax({self.tile(depth - 1)}.T).T",
            ]
        )

    def number(self, depth: int) -> str:
        if depth <= 0 or self.random.random() < 0.5:
            return self.random.choice(["s", "m", "n", "2.0"])
        return self.random.choice(
            [
                f"pto.max({self.tile(depth - 1)})",
                f"pto.min({self.row(depth - 1)})",
                f"({self.number(depth - 1)} - s)",
            ]
        )

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def statement(self, indent: int, depth: int) -> None:
        pick = self.random.randrange(12)
        name = self.random.choice("abc")
        if depth == 0 or pick < 5:
            self.put(indent, f"{name} = pto.minimum(pto.maximum({self.tile()}, -500.0), 500.0)")
        elif pick == 5:
            self.put(
                indent,
                self.random.choice(MOVES),
            )
        elif pick == 6:
            self.put(indent, f"{self.random.choice('uv')} = {self.column(2)}")
        elif pick == 7:
            self.put(indent, f"{self.random.choice('pq')} = {self.row(2)}")
        elif pick == 8:
            self.put(indent, f"{self.random.choice('sm')} = {self.number(2)} + 0.0")
        elif pick == 9:
            self.put(
                indent, f"{name} -= {self.random.choice([self.tile(1), self.column(1), self.number(1)])}"
            )
        elif pick == 10:
            self.put(indent, f"if {self.number(1)} > {self.number(1)}:")
            self.statement(indent + 1, depth - 1)
            self.put(indent, "else:")
            self.statement(indent + 1, depth - 1)
        else:
            self.loops += 1
            self.put(indent, f"for i{self.loops} in range(n % 4):")
            self.statement(indent + 1, depth - 1)
            self.statement(indent + 1, depth - 1)


MOVES = ["u, v = v, u", "a, b = b, a", "p, q = q, p", "a, s = b, pto.max(a) - 1.0", "b = a", "c = b"]

STEP = """
def step(t, other, amount):
    if amount > 1.0:
        return t - other
    t = t + other
    t = pto.maximum(t, -amount)
    return t
"""


def function(text: str, name: str, module) -> types.FunctionType:
    lines = text.splitlines(keepends=True)
    linecache.cache[name] = (len(text), None, lines, name)
    scope = {"In": In, "Out": Out, "Scalar": Scalar, "pto": module, "__name__": __name__}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed, bounded):
    program = Program(seed)
    program.put(0, "def f(x: In, y: Out, w: In, n: Scalar):")
    for line in (
        "a = pto.load(x)",
        "b = pto.load(w)",
        "c = a - b",
        "u = pto.rowmax(a)",
        "v = pto.rowmax(b)",
        "p = pto.colmin(a)",
        "q = pto.colmin(b)",
        "s = 3.0",
        "m = pto.max(b)",
    ):
        program.put(1, line)
    for _ in range(7):
        program.statement(1, 2)
    program.put(1, "pto.store(y, a + 3.0 * b - pto.maximum(c, u) + p - s)")
    text = STEP + "\n".join(program.lines) + "\n"
    rng = np.random.default_rng(seed)
    x, w = (rng.integers(-9, 9, (ROWS, COLS)).astype(np.float32) for _ in range(2))
    for n in (1, 6):
        want, have = np.zeros((ROWS, COLS), np.float32), np.zeros((ROWS, COLS), np.float32)
        function(text, f"<reference {seed}>", REFERENCE)(x, want, w, n)
        most = {name: (8, 9) for name in "xyw"} if bounded else {}
        try:
            run(kernel(function(text, f"<tiles {seed}>", pto)), x=x, y=have, w=w, n=n, most=most)
        except errors.KernelError as error:
            pytest.fail(f"{error}\n{text}")
        assert (have == want).all(), text


@pytest.mark.parametrize("function", ["exp", "exp2"])
@pytest.mark.parametrize("level", [0, 2])
def test_exponentials_below_the_least_normal_number(function, level):
    """Vector units give 0 there, as the reference says; the plain form and numbers the subnormal number."""
    of = getattr(pto, function)

    @kernel
    def k(x: In, y: Out, first: Out):
        pto.store(y, of(pto.load(x)))
        first[0, 0] = of(x[0, 0])

    @workload
    def w(x: Tensor[f32, 1, 400], y: Tensor[f32, 1, 400], first: Tensor[f32, 1, 1]):
        k(x, y, first)

    low = -95.0 if function == "exp" else -137.0
    x = np.linspace(low, low + 20, 400, dtype=np.float32).reshape(1, 400)
    y, first = np.ones_like(x), np.ones((1, 1), np.float32)
    w.compile(optimization_level=level).execute(x=x, y=y, first=first)
    exact = getattr(np, function)(x.astype(np.float64))
    normal = exact >= 2.0**-126 * (1 + 1e-5)
    assert normal.any() and not normal.all()
    assert np.allclose(y[normal], exact[normal], rtol=1e-6, atol=0)
    below = exact < 2.0**-126 * (1 - 1e-5)
    wanted = np.zeros(below.sum()) if level == 2 else exact[below]
    assert np.allclose(y[below], wanted, rtol=0, atol=2.0**-149)
    assert abs(first[0, 0] - exact[0, 0]) <= 2.0**-149


@kernel
def into_a_slice(x: In, y: Out, n: Scalar, rows: Scalar):
    t = pto.load(x, shape=(8, 4))
    pto.store(y[:rows, :n], t)


@pytest.mark.parametrize(
    ("n", "rows", "said"),
    [(4, 3, "has 5 rows, the slice 3 rows"), (2, 5, "has 4 columns, the slice 2 columns")],
)
def test_a_tile_that_is_larger_than_its_slice_is_named_with_both_sizes(n, rows, said):
    a, b = tensor(("M", "N"), f32), tensor(("R", "N"), f32)

    @workload
    def whole(n, rows):
        into_a_slice(a, b, n, rows)

    x, y = np.ones((5, 4), np.float32), np.zeros((8, 4), np.float32)
    with pytest.raises(Trap):
        run(into_a_slice, x=x, y=y, n=n, rows=rows)
    run(into_a_slice, x=x, y=y, n=4, rows=5)
    assert y.sum() == 20
    with pytest.raises(errors.KernelError) as raised:
        whole.compile().execute(a=x, b=y, n=n, rows=rows)
    text = str(raised.value)
    assert "tile `t` is larger than the slice of `y`" in text
    assert said in text and "pto.store(y[:rows, :n], t)" in text and "load or store fewer rows" in text
    assert "overflow" not in text
