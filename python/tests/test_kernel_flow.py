"""Numbers and control flow mean what they mean in Python: each kernel is also run by Python, as it stands."""

from __future__ import annotations

import linecache
import random

import numpy as np
import pytest
from kernel_machine import Trap, run
from pto_wsp import errors
from pto_wsp.kernels import Constexpr, In, InOut, Out, Scalar, kernel

TABLE = np.array([3, -1, 4, 1, -5, 9, 2, 6], np.int64)


def same(k, *numbers, **constants):
    """The kernel and its function store the same numbers."""
    names = [p.name for p in k.signature if p.kind == "scalar"]
    given = dict(zip(names, numbers, strict=True)) | constants
    want, have = np.zeros(8, np.float32), np.zeros(8, np.float32)
    k.function(TABLE, want, **given)
    run(k, x=TABLE, y=have, **given)
    assert have.tolist() == want.tolist()


@kernel
def collatz(x: In, y: Out, n: Scalar):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    y[0] = steps
    y[1] = n


@pytest.mark.parametrize("n", [1, 2, 7, 27])
def test_while_with_carried_numbers(n):
    same(collatz, n)


@kernel
def rounding(x: In, y: Out, a: Scalar, b: Scalar):
    p, q = a - 20, b - 10
    y[0] = p // q
    y[1] = p % q
    y[2] = p // 7
    y[3] = p % 7
    y[4] = p // -3
    y[5] = p % -3
    y[6] = a // 4
    y[7] = a % 4


@pytest.mark.parametrize("a", [0, 13, 19, 20, 21, 28, 41])
@pytest.mark.parametrize("b", [0, 3, 9, 11, 14])
def test_division_rounds_down(a, b):
    same(rounding, a, b)


@kernel
def jumps(x: In, y: Out, n: Scalar):
    found = -1
    for i in range(len(x)):
        if x[i] < 0:
            continue
        if x[i] > n:
            found = i
            break
        y[i] = 1
    y[7] = found
    y[6] = i


@pytest.mark.parametrize("n", [0, 3, 5, 9])
def test_break_continue_and_the_variable_after_a_loop_of_constant_bounds(n):
    same(jumps, n)


@kernel
def loop_variables(x: In, y: InOut, n: Scalar):
    i = 100
    for i in range(n):
        y[0] += i
        i = 50
        y[1] += i
    y[2] = i
    j = -1
    for j in range(7, -3, -2):
        y[3] = y[3] * 2 + j
    for j in range(n, 0, -1):
        y[4] = y[4] * 3 + j
    for k in range(2, n * 3, 4):
        y[5] += k
    y[6] = j


@pytest.mark.parametrize("n", [0, 1, 4])
def test_loop_variables_are_variables(n):
    same(loop_variables, n)


@kernel
def short_circuit(x: In, y: Out, n: Scalar):
    if n < len(x) and x[n] > 0:
        y[0] = 1
    if n >= len(x) or x[n] < 0:
        y[1] = 1
    if 0 <= n < len(x) and not x[n] == 4:
        y[2] = 1
    y[3] = x[n] if n < len(x) else -7
    if n:
        y[4] = 1
    y[5] = 1 if 2 < n <= 5 != 4 else 2


@pytest.mark.parametrize("n", [0, 1, 2, 5, 7, 8, 100])
def test_what_is_not_needed_is_not_evaluated(n):
    same(short_circuit, n)


def largest(x, n):
    best = x[0]
    for i in range(1, n):
        if x[i] > best:
            best = x[i]
    return best


def sign(v):
    if v > 0:
        return 1
    elif v < 0:
        return -1
    return 0


def clamp(v, lo=0, *, hi=5):
    v = max(v, lo)
    return min(v, hi)


def halves(v):
    return v // 2, v % 2


@kernel
def helpers(x: In, y: Out, n: Scalar):
    y[0] = largest(x, n)
    y[1] = sign(x[n - 1]) * 10 + sign(n - 4)
    y[2] = clamp(x[n - 1]) + clamp(n, 2, hi=3)
    a, b = halves(n)
    a, b = b, a
    y[3] = a * 100 + b
    if largest(x, n) > 3 and sign(x[n - 1]) > 0:
        y[4] = largest(x, largest(x, 2))
    while largest(x, n) > 3:
        n = n - 1
    y[5] = n


@pytest.mark.parametrize("n", [1, 3, 5, 8])
def test_helpers_are_compiled_in_place(n):
    same(helpers, n)


SCALE = 3


@kernel
def constants(x: In, y: Out, n: Scalar, flag: Constexpr, sizes: Constexpr = (2, 3)):
    width, depth = sizes
    if flag:
        width = width * 10
    elif width > 100:
        undefined_name()  # noqa: F821
    total = 0
    for i in range(depth):
        total = total + i * width
        if i == n:
            width = 1
    y[0] = total
    y[1] = SCALE**2 + len(sizes) + int(4.75) + abs(-3) + round(2.6)
    y[2] = width
    y[3] = sizes[-1] if flag else 2.5


@pytest.mark.parametrize("flag", [False, True])
def test_constants_are_pythons_until_a_loop_changes_them(flag):
    same(constants, 1, flag=flag)


@kernel
def scaled(x: In, y: Out):
    y[0] = SCALE


def test_a_global_that_changed_is_seen(monkeypatch):
    same(scaled)
    monkeypatch.setitem(globals(), "SCALE", 7)
    same(scaled)


def test_functions_that_see_variables_around_them():
    factor = 6

    def times(v):
        return v * factor

    @kernel
    def closing(x: In, y: Out, n: Scalar):
        y[0] = times(n) + factor

    same(closing, 4)


@kernel
def early(x: In, y: Out, n: Scalar):
    if n == 0:
        return
    y[0] = 1
    for i in range(n):
        if i == 3:
            return
        y[i] = i
    y[7] = 9


@pytest.mark.parametrize("n", [0, 2, 3, 5])
def test_return_leaves_the_kernel(n):
    same(early, n)


@kernel
def floats(x: In, y: Out, n: Scalar):
    y[0] = n / 4
    y[1] = float(n) * 0.5 - 1
    y[2] = int(n / 3)
    y[3] = -int(-n * 0.75)
    y[4] = max(n, 2.5)
    z = 0.0
    if n > 2:
        z = 1
    y[5] = z


@pytest.mark.parametrize("n", [0, 1, 3, 6])
def test_integers_and_floats(n):
    same(floats, n)


@kernel
def overflow(x: In, y: Out, n: Scalar):
    v = n
    for _ in range(5):
        v = v * v
    y[0] = v


def test_integers_that_overflow_stop_the_run():
    same(overflow, 2)
    with pytest.raises(Trap):
        run(overflow, x=TABLE, y=np.zeros(8, np.float32), n=2**20)


@kernel
def doubling(x: In, y: Out, n: Scalar):
    v = n
    v = (v + v) % 1009
    v = (v * v + v) % 1009
    v = (v + v * v) // 3 + abs(v) ** 2
    v = (v * v + v) % 1009
    v = (v + v * v) // 3 + abs(v) ** 2
    v = (v * v + v) % 1009
    v = (v + v * v) // 3 + abs(v) ** 2
    v = (v * v + v) % 1009
    v = (v + v * v) // 3 + abs(v) ** 2
    y[0] = v


def test_numbers_that_are_used_twice_are_computed_once():
    same(doubling, 7)
    assert len(doubling.source_ir(x=TABLE, y=np.zeros(8, np.float32))) < 20_000


class Program:
    """Writes random functions of integers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.loops = 0

    def expr(self, depth: int = 2) -> str:
        pick = self.random.randrange(10)
        if depth == 0 or pick < 3:
            return self.random.choice(["a", "b", "c", "n", str(self.random.randint(-4, 9)), "x[n % 8]"])
        p, q = self.expr(depth - 1), self.expr(depth - 1)
        if pick < 7:
            return f"({p} {self.random.choice('+-')} {q})"
        if pick == 7:
            divisor = self.random.choice(["3", "-4", "(b % 5 + 1)", "(-7)"])
            return f"({p} {self.random.choice(['//', '%'])} {divisor})"
        if pick == 8:
            return f"({p} if {self.cond(depth - 1)} else {q})"
        return f"{self.random.choice(['min', 'max'])}({p}, {q})"

    def cond(self, depth: int = 1) -> str:
        pick = self.random.randrange(5)
        p, q = self.expr(depth), self.expr(depth)
        if pick == 0 and depth > 0:
            return f"({self.cond(depth - 1)} {self.random.choice(['and', 'or'])} {self.cond(depth - 1)})"
        if pick == 1:
            return f"(not {p} < {q})"
        if pick == 2:
            return f"{p} <= {q} < {self.expr(0)}"
        return f"{p} {self.random.choice(['<', '==', '!=', '>='])} {q}"

    def block(self, indent: int, depth: int, in_loop: bool) -> None:
        for _ in range(self.random.randint(1, 3)):
            self.statement(indent, depth, in_loop)

    def put(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def statement(self, indent: int, depth: int, in_loop: bool) -> None:
        pick = self.random.randrange(12)
        name = self.random.choice("abc")
        if depth == 0 or pick < 5:
            self.put(indent, f"{name} {self.random.choice(['=', '+=', '-='])} ({self.expr()}) % 1000")
        elif pick == 5:
            self.put(indent, "a, b = b, a")
        elif pick < 8:
            self.put(indent, f"if {self.cond()}:")
            self.block(indent + 1, depth - 1, in_loop)
            if self.random.random() < 0.5:
                self.put(indent, "else:")
                self.block(indent + 1, depth - 1, in_loop)
        elif pick == 8:
            self.loops += 1
            step = self.random.choice([1, 2, -1, -3])
            self.put(
                indent,
                f"for i{self.loops} in range({self.expr(1)} % 5, {self.expr(1)} % 9, {step}):",
            )
            self.put(indent + 1, f"c += i{self.loops}")
            self.block(indent + 1, depth - 1, True)
        elif pick == 9:
            self.loops += 1
            self.put(indent, f"w{self.loops} = 0")
            self.put(indent, f"while {self.cond()}:")
            self.put(indent + 1, f"w{self.loops} += 1")
            self.put(indent + 1, f"if w{self.loops} > 5:")
            self.put(indent + 2, "break")
            self.block(indent + 1, depth - 1, True)
        elif pick == 10 and in_loop:
            self.put(indent, f"if {self.cond()}:")
            self.put(indent + 1, self.random.choice(["break", "continue"]))
        else:
            self.put(indent, f"{name} = mix({self.expr(1)}, {name})")


def mix(p, q):
    if p > q:
        return p - q
    p += 3
    for _ in range(2):
        p = p * 2 % 101
    return p


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed):
    program = Program(seed)
    program.put(0, "def f(x: In, y: Out, n: Scalar):")
    for name in "abc":
        program.put(1, f"{name} = {program.random.choice(['n', '2', '-3', 'x[1]', 'n * 2'])}")
    for _ in range(6):
        program.statement(1, 3, False)
    program.put(1, "y[0] = a % 1009")
    program.put(1, "y[1] = b % 1009")
    program.put(1, "y[2] = c % 1009")
    text = "\n".join(program.lines) + "\n"
    name = f"<random program {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = {"In": In, "Out": Out, "Scalar": Scalar, "mix": mix, "__name__": __name__}
    exec(compile(text, name, "exec"), scope)
    compiled = kernel(scope["f"])
    for n in (0, 1, 5, 1000):
        try:
            same(compiled, n)
        except errors.KernelError as error:
            pytest.fail(f"{error}\n{text}")
