"""Long and deep expressions: sums have any number of terms, and what nests too deeply is an error with a
place and help.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from kernel_machine import run
from pto_wsp import In, Out, P, Scalar, errors, f32, kernel, pto, python_kernel, tensor, workload

TERMS = 10_000
Y = tensor((8, 1), f32)
Z = tensor((8, 1), f32)


@kernel
def put(y: Out, v: Scalar):
    pto.store(y, pto.full((1, 1), float(v)))


@python_kernel
def put_in_python(y: Out, v: Scalar):
    y[...] = v


def check(work, want: list[int]) -> None:
    """Runs a workload that puts numbers into `Y`, and the same in Python into `Z`."""
    y, z = np.zeros((8, 1), np.float32), np.zeros((8, 1), np.float32)
    work.compile().execute(Y=y, Z=z)
    np.testing.assert_array_equal(y[:, 0], np.float32(want))
    np.testing.assert_array_equal(z[:, 0], np.float32(want))


def imported(folder: Path, text: str) -> ModuleType:
    """A module of a text."""
    name = f"deep_{folder.name}"
    file = folder / f"{name}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@workload
def grown():
    for i in P(8):
        x = i
        for term in range(TERMS):
            x = x + term % 3
            x = x - i
        put[i](Y[i], x + TERMS * i)
        put_in_python[i](Z[i], x + TERMS * i)


@workload
def grown_from_the_right():
    for i in P(8):
        x = i
        for term in range(TERMS):
            x = i + x
        put[i](Y[i], x)
        put_in_python[i](Z[i], x)


@workload
def summed():
    for i in P(8):
        total = sum([P.min(i, term % 5) for term in range(TERMS)])
        put[i](Y[i], total % 1000)
        put_in_python[i](Z[i], total % 1000)


@workload
def multiplied():
    for i in P(8):
        product = i + 1
        for term in range(TERMS):
            product = product * (P.min(i, 1) * (term % 20 == 7) * (term < 100) + 1)
        put[i](Y[i], product)
        put_in_python[i](Z[i], product)


def test_sums_of_a_workload_have_any_number_of_terms():
    ones = sum(term % 3 for term in range(TERMS))
    check(grown, [i + ones for i in range(8)])
    check(grown_from_the_right, [i + TERMS * i for i in range(8)])
    check(summed, [sum(min(i, term % 5) for term in range(TERMS)) % 1000 for i in range(8)])


def test_products_of_a_workload_have_any_number_of_factors():
    check(multiplied, [1] + [(i + 1) * 2**5 for i in range(1, 8)])


def test_a_sum_that_is_written_out_has_as_many_terms_as_python_reads(tmp_path):
    terms = " + ".join(["i", "1", "j"] * 600)
    module = imported(
        tmp_path,
        f"""
from pto_wsp import P, workload
from test_deep import Y, Z, put, put_in_python

@workload
def work():
    for i in P(8):
        j = i * 2
        put[i](Y[i], {terms})
        put_in_python[i](Z[i], {terms})
""",
    )
    check(module.work, [i * 600 + 600 + 2 * i * 600 for i in range(8)])


def test_a_long_sum_has_the_form_of_a_short_one():
    """Its bounds are known: a tile at it is within its tensor."""

    @workload
    def work():
        for i in P(8):
            at = i
            for _ in range(TERMS):
                at = at + i - i
            put[at](Y[at], at)
            put_in_python[at](Z[at], at)

    check(work, list(range(8)))


@kernel
def grown_in_a_kernel(x: In, y: Out, n: Scalar):
    total = pto.sum(pto.load(x))
    count = n
    for term in range(TERMS):
        total = total + term % 7
        count = count + n - term % 3
    pto.store(y, pto.full((1, 1), total + count))


def test_a_variable_of_a_kernel_grows_by_any_number_of_terms():
    x, y = np.full((1, 4), 0.5, np.float32), np.zeros((1, 1), np.float32)
    run(grown_in_a_kernel, x=x, y=y, n=2)
    want = np.float32(2.0)
    for term in range(TERMS):
        want = np.float32(want + np.float32(term % 7))
    count = 2 + sum(2 - term % 3 for term in range(TERMS))
    assert y[0, 0] == np.float32(want + np.float32(count))


def test_a_sum_of_a_kernel_that_is_written_out_has_as_many_terms_as_python_reads(tmp_path):
    sums = " + ".join(["v", "0.1", "w"] * 600)
    whole = " - ".join(["n", "1", "n"] * 600)
    module = imported(
        tmp_path,
        f"""
from pto_wsp import In, Out, P, Scalar, f32, kernel, pto, tensor, workload

X = tensor((8, 1), f32)
Y = tensor((8, 1), f32)

@kernel
def k(x: In, y: Out, n: Scalar):
    v = pto.sum(pto.load(x))
    w = v * 0.5
    y[...] = pto.full((1, 1), {sums} + float({whole}))

@workload
def work():
    for i in P(8):
        k[i](X[i], Y[i], i)
""",
    )
    x, y = np.linspace(0.1, 3, 8, dtype=np.float32).reshape(8, 1), np.zeros((8, 1), np.float32)
    module.work.compile().execute(X=x, Y=y)
    for i in range(8):
        v, w = x[i, 0], x[i, 0] * np.float32(0.5)
        want = v
        for term in [np.float32(0.1), w, *[v, np.float32(0.1), w] * 599]:
            want = np.float32(want + term)
        number = i - sum([1, i] + [i, 1, i] * 599)
        assert y[i, 0] == np.float32(want + np.float32(number))


@workload
def nested():
    for i in P(8):
        x = i
        for _ in range(1000):
            x = P.min(x, 7)
            x = i - x
        put[i](Y[i], x)


def test_what_nests_too_deeply_is_told_where_it_stands():
    with pytest.raises(errors.TraceError) as caught:
        nested.compile()
    text = str(caught.value)
    assert "WSP1034" in text and "more than 128 deep" in text
    assert "x = " in text and "help" in text


def test_what_python_reads_and_a_kernel_cannot_nest_is_told(tmp_path):
    module = imported(
        tmp_path,
        f"""
from pto_wsp import In, Out, P, f32, kernel, pto, tensor, workload

X = tensor((8, 1), f32)
Y = tensor((8, 1), f32)

@kernel
def k(x: In, y: Out):
    v = pto.sum(pto.load(x))
    y[...] = pto.full((1, 1), {"- " * 600}v)

@workload
def work():
    for i in P(8):
        k[i](X[i], Y[i])
""",
    )
    with pytest.raises(errors.WspError) as caught:
        module.work.compile()
    assert "nest" in str(caught.value) and "help" in str(caught.value)


def test_a_chain_of_branches_that_is_too_long_is_told_what_nests(tmp_path):
    def of(folder: str, branches: int):
        (tmp_path / folder).mkdir()
        chain = "".join(f"    elif n == {n}:\n        y[...] = t * {n}.0\n" for n in range(branches))
        module = imported(
            tmp_path / folder,
            f"""
from pto_wsp import In, Out, P, Scalar, f32, kernel, pto, tensor, workload

X = tensor((8, 1), f32)
Y = tensor((8, 1), f32)

@kernel
def k(x: In, y: Out, n: Scalar):
    t = pto.load(x)
    if n == 9999:
        y[...] = t
{chain}    else:
        y[...] = t

@workload
def work():
    for i in P(8):
        k[i](X[i], Y[i], i)
""",
        )
        return module.work

    y = np.zeros((8, 1), np.float32)
    of("short", 200).compile().execute(X=np.ones((8, 1), np.float32), Y=y)
    assert y[:, 0].tolist() == [*range(8)]
    with pytest.raises(errors.KernelError) as caught:
        of("long", 400).compile()
    assert caught.value.code == "WSP1136"
    assert "each `elif` of a chain nest" in caught.value.notes[0] and "several `if`" in caught.value.help[0]
