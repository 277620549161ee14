"""Integer expressions have the values that all evaluators give them, with quotients rounded down."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
from pto_wsp import InOut, P, Scalar, errors, i32, python_kernel, table, tensor, tile, workload
from test_workload_random import compiled

CASES = Path(__file__).resolve().parents[2] / "testdata" / "integers.txt"
FAULTS = {"overflow": "WSP0810", "division": "WSP0811"}


EXPRESSIONS = [block.splitlines() for block in CASES.read_text().split("\n= ")[1:]]
"""Each expression of the file with its rows: three values, and what the expression is with them."""


@pytest.mark.parametrize(
    ("expression", "rows"), [(lines[0], [row.split() for row in lines[1:]]) for lines in EXPRESSIONS]
)
def test_an_expression_has_the_value_of_every_other_evaluator(expression, rows):
    seen: list[int] = []

    @python_kernel
    def note(x: InOut):
        seen.append(1)

    lines = [
        "def w():",
        "    a, b, c = T[0], T[1], T[2]",
        f"    with P.when({expression} == T[3]):",
        "        note(X)",
    ]
    scope = {"P": P, "T": table(length=4), "X": tensor((1,), i32), "note": note}
    program = workload(compiled(lines, "w", scope)).compile()

    def matches(*table: int) -> bool:
        seen.clear()
        program.execute(X=numpy.zeros(1, numpy.int32), T=list(table))
        return bool(seen)

    assert len(rows) >= 12
    for *variables, value in rows:
        a, b, c = map(int, variables)
        if value in FAULTS:
            with pytest.raises(errors.ExecutionError) as found:
                matches(a, b, c, 0)
            assert found.value.code == FAULTS[value], (variables, value)
        else:
            assert matches(a, b, c, int(value)), (variables, value)
            assert not matches(a, b, c, int(value) ^ 1), (variables, value)


@pytest.mark.parametrize("kind", ["int8", "uint16", "int64", "uint64"])
def test_an_integer_of_numpy_is_one_wherever_a_workload_takes_one(kind: str) -> None:
    one, two, three = (numpy.dtype(kind).type(value) for value in (1, 2, 3))
    x = tensor(("n", 16), i32)

    @python_kernel(cost=two)
    def add(x: InOut, n: Scalar) -> None:
        x += n

    @workload
    def w(n) -> None:
        for i in P(P.ceildiv(n, two)):
            with P.when(three > i):
                add[i, one](x[tile(i, two)], two * i + one)

    array = numpy.zeros((8, 16), numpy.int32)
    w.compile(num_threads=two).execute(x=array)
    assert array[:, 0].tolist() == [1, 1, 3, 3, 5, 5, 0, 0]
    assert w.compile().simulate(n=2).makespan == 2
