"""Random workloads: a program generates the tasks of the same loops in plain Python, in order."""

from __future__ import annotations

import linecache
import random
import types

import numpy
import pytest
from pto_wsp import InOut, P, Scalar, errors, i32, python_kernel, sparse, table, tensor, workload

OFFSET = 1_000_000
"""Scalars of kernels are not negative; values are shifted by this."""


class Writer:
    """Writes one program twice: as a workload, and as plain Python."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.traced = ["def w(n, m):"]
        self.plain = ["def plain(n, m):"]
        self.sites = 0
        self.names = 0

    def line(self, depth: int, traced: str, plain: str | None = None) -> None:
        self.traced.append("    " * depth + traced)
        self.plain.append("    " * depth + (traced if plain is None else plain))

    def number(self, names: list[str], depth: int = 2) -> str:
        """An integer expression; the names are loop indices, locals and sizes."""
        kind = self.random.randrange(9) if depth else 0
        if kind < 2:
            return self.random.choice([*names, str(self.random.randrange(-3, 8))])
        a, b = self.number(names, depth - 1), self.number(names, depth - 1)
        if kind == 2:
            return f"T[({a}) % 5]"
        if kind in (3, 4):
            return f"({a}) {self.random.choice(['//', '%'])} {self.random.choice([-4, -1, 2, 3, 7])}"
        if kind == 5:
            return f"P.{self.random.choice(['min', 'max'])}({a}, {b})"
        return f"(({a}) {self.random.choice('+-*')} ({b}))"

    def block(self, depth: int, names: list[str], left: int) -> None:
        for _ in range(self.random.randrange(1, 4)):
            self.statement(depth, names, left)

    def statement(self, depth: int, names: list[str], left: int) -> None:
        kind = self.random.randrange(7) if left else 0
        self.names += 1
        name = self.random.choice(["i", "j", *[f"v{self.names}"] * 6])
        inner = [*names, name]
        if kind <= 1:
            self.sites += 1
            self.line(depth, f"note(X, {self.sites}, ({self.number(names)}) % 1000 + {OFFSET})")
        elif kind == 2:
            self.line(depth, f"{name} = {self.number(names)}")
            self.sites += 1
            self.line(depth, f"note(X, {self.sites}, {name} % 1000 + {OFFSET})")
        elif kind == 3:
            end = self.random.choice(["n", "m", "3", "n + 1", "m // 2", *[f"{n} % 4" for n in names]])
            self.line(depth, f"for {name} in P({end}):", f"for {name} in range({end}):")
            self.block(depth + 1, inner, left - 1)
        elif kind == 4:
            self.line(depth, f"for {name} in range(2):")
            self.block(depth + 1, inner, left - 1)
        elif kind == 5:
            test = (
                f"({self.number(names, 1)}) {self.random.choice(['<', '==', '>='])} ({self.number(names, 1)})"
            )
            self.line(depth, f"with P.when(truth({test})):", f"if {test}:")
            self.block(depth + 1, names, left - 1)
            self.line(depth, "with P.otherwise():", "else:")
            self.block(depth + 1, names, left - 1)
        else:
            self.line(depth, f"for {name} in P.sel(ROUTE[({self.number(names, 1)}) % 3]):")
            self.plain[-1] = self.plain[-1].replace("P.sel(ROUTE[", "columns((").replace("]):", ")):")
            self.block(depth + 1, inner, left - 1)


def compiled(lines: list[str], name: str, scope: dict) -> types.FunctionType:
    """A function of source text that tools find like that of a file."""
    text = "\n".join(lines) + "\n"
    filename = f"<random {name} {hash(text)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), scope)
    return scope[name]


def check(seed: int) -> bool:
    """Compares a program with plain Python; false where it is refused: a variable outlives its loop."""
    writer = Writer(seed)
    writer.block(1, ["n", "m"], 4)
    values = [writer.random.randrange(-9, 9) for _ in range(5)]
    indptr, indices = [0, 2, 2, 5], [writer.random.randrange(-4, 6) for _ in range(5)]
    seen: list[tuple[int, int]] = []

    @python_kernel
    def note(x: InOut, site: Scalar, value: Scalar):
        seen.append((site, value))

    X = tensor((1,), i32)
    T = table(values)
    scope = {"P": P, "X": X, "T": T, "note": note, "ROUTE": sparse(3, indptr, indices)}
    scope["truth"] = lambda test: int(test) if isinstance(test, bool) else test
    traced = workload(compiled(writer.traced, "w", scope))
    try:
        program = traced.compile(enable_debug=True)
    except errors.TraceError as error:
        assert error.code in ("WSP1006", "WSP1007"), str(error)
        return False

    expected: list[tuple[int, int]] = []
    plain_p = types.SimpleNamespace(min=min, max=max)
    plain_scope = {"P": plain_p, "T": values, "X": None, "note": lambda _x, *task: expected.append(task)}
    plain_scope["columns"] = lambda row: indices[indptr[row] : indptr[row + 1]]
    plain = compiled(writer.plain, "plain", plain_scope)
    for n, m in ((0, 0), (1, 3), (4, 5)):
        seen.clear()
        expected.clear()
        plain(n, m)
        program.execute(X=numpy.zeros(1, numpy.int32), n=n, m=m)
        assert seen == expected, "\n".join(writer.traced)
    return True


@pytest.mark.parametrize("group", range(4))
def test_random_nests_generate_the_tasks_of_plain_python(group):
    accepted = [check(seed) for seed in range(30 * group, 30 * group + 30)]
    assert sum(accepted) >= 10
