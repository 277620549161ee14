"""Cycles of references through what is compiled: the collector of Python finds them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pto_wsp import InOut, P, Scalar, Table, errors, f32, i64, python_kernel, tensor, workload

X = tensor((64, 16), f32)


@python_kernel
def add_length(x: InOut, n: Scalar) -> None:
    x += n


@workload
def tabled(lens: Table[i64, "b"]) -> None:
    for i in P(lens.size):
        add_length[i](X[i], lens[i])


class Thing:
    """What a kernel refers to, and what refers to the kernel's program."""

    fails = False


def executed(thing: Any, program: Any, x: np.ndarray) -> None:
    program.execute(n=10, X=x)
    program.execute(n=10, X=x)


def bound(thing: Any, program: Any, x: np.ndarray) -> None:
    thing.bound = program.bind(n=10, X=x)
    thing.bound()


def beside(thing: Any, program: Any, x: np.ndarray) -> None:
    thing.run = program.execute_async(n=10, X=x)
    thing.run.synchronize()


def failed(thing: Any, program: Any, x: np.ndarray) -> None:
    thing.fails = True
    run = thing.run = program.execute_async(n=10, X=x)
    with pytest.raises(errors.KernelError):
        run.synchronize()


def listed(thing: Any, program: Any, x: np.ndarray) -> None:
    thing.graph, thing.simulation = program.graph(n=3), program.simulate(n=3)


WAYS = [executed, bound, beside, failed, listed]


def made(way: Callable[..., None]) -> tuple[weakref.ref[Any], weakref.ref[Any], weakref.ref[Any]]:
    thing = Thing()

    @python_kernel
    def add(x: InOut) -> None:
        assert not thing.fails
        x += 1.0

    @workload
    def w(n) -> None:
        for i in P(n):
            add[i](X[i])

    thing.workload, thing.kernel = w, add
    thing.program = program = w.compile(num_threads=2)
    x = np.zeros((64, 16), np.float32)
    way(thing, program, x)
    return weakref.ref(thing), weakref.ref(add.function), weakref.ref(x)


@pytest.mark.parametrize("way", WAYS)
def test_a_program_to_which_its_own_kernel_refers_is_freed(way: Callable[..., None]) -> None:
    seen = made(way)
    for _ in range(3):
        gc.collect()
    assert [ref() for ref in seen] == [None] * 3


def test_a_bound_program_to_which_one_of_its_lists_refers_is_freed() -> None:
    class Lengths(list[int]):
        program: Any

    def begin() -> weakref.ref[Any]:
        lengths = Lengths([1, 2])
        lengths.program = tabled.compile().bind(lens=lengths, X=np.zeros((64, 16), np.float32))
        return weakref.ref(lengths)

    seen = begin()
    gc.collect()
    assert seen() is None


def test_what_a_run_beside_its_caller_still_needs_is_not_freed() -> None:
    ran: list[int] = []

    def begin() -> Any:
        thing = Thing()

        @python_kernel
        def add(x: InOut) -> None:
            gc.collect()
            thing.here.append(1)
            x += 1.0

        @workload
        def w(n) -> None:
            for i in P(n):
                add[i](X[i])

        thing.here = ran
        thing.program = w.compile(num_threads=2)
        x = np.zeros((64, 16), np.float32)
        thing.run = thing.program.execute_async(n=20, X=x)
        return weakref.ref(thing), x

    seen, x = begin()
    run = seen().run
    while not run.is_complete():
        gc.collect()
    del run
    assert len(ran) == 20
    for _ in range(5000):
        if seen() is None:
            break
        gc.collect()
    assert seen() is None
    assert (x[:20] == 1.0).all()
