"""A kernel is compiled with the values that stand around it at present, whatever they are read from."""

from __future__ import annotations

import enum
import random
import types
from dataclasses import dataclass, field

import numpy as np
import pytest
from pto_wsp import Constexpr, In, InOut, Out, P, f32, kernel, pto, python_kernel, tensor, workload

Y = tensor((1, 4), f32, name="y")


def ran(w) -> float:
    """What a workload over `y` makes of ones."""
    y = np.ones((1, 4), np.float32)
    w.compile().execute(y=y)
    assert (y == y[0, 0]).all()
    return float(y[0, 0])


class Config:
    gain = 2.0

    def __init__(self):
        self.inner = types.SimpleNamespace(gain=2.0)
        self.gains = [2.0]

    @property
    def twice(self):
        return 2 * self.inner.gain


class Slotted:
    __slots__ = ("gain",)


class Kind(enum.Enum):
    SMALL = 2.0
    LARGE = 5.0


@dataclass(frozen=True)
class Same:
    """Objects of it are equal, whatever they hold."""

    gain: float = field(compare=False)


def test_attributes_of_objects_classes_and_what_they_hold():
    cfg, slotted, module = Config(), Slotted(), types.ModuleType("numbers_of_a_test")
    slotted.gain, module.gain, module.inner = 2.0, 2.0, types.SimpleNamespace(gain=2.0)

    @kernel
    def by_attribute(y: InOut):
        pto.store(y, pto.load(y) * (cfg.inner.gain + Config.gain + slotted.gain))

    @kernel
    def by_property(y: InOut):
        pto.store(y, pto.load(y) * cfg.twice)

    @kernel
    def by_module(y: InOut):
        pto.store(y, pto.load(y) * (module.gain + module.inner.gain))

    of = {k.name: workload(lambda_of(k)) for k in (by_attribute, by_property, by_module)}
    assert [ran(w) for w in of.values()] == [6.0, 4.0, 4.0]
    cfg.inner.gain, module.inner.gain = 3.0, 10.0
    assert [ran(w) for w in of.values()] == [7.0, 6.0, 12.0]
    try:
        Config.gain, slotted.gain, module.gain = 20.0, 200.0, 30.0
        assert [ran(w) for w in of.values()] == [223.0, 6.0, 40.0]
    finally:
        Config.gain = 2.0


def lambda_of(k):
    """A function that makes one task of a kernel over `y`."""

    def one():
        k(Y)

    return one


def test_entries_of_lists_dicts_arrays_and_tuples():
    gains, table, nested = [2.0, 3.0], {"gain": 2.0}, ([2.0], 1.0)
    array, scalar = np.array([2.0, 3.0]), np.array(2.0)

    @kernel
    def by_list(y: InOut):
        first, second = gains
        pto.store(y, pto.load(y) * (first * second + gains[0]))

    @kernel
    def by_dict(y: InOut):
        pto.store(y, pto.load(y) * table["gain"])

    @kernel
    def by_nested(y: InOut):
        pto.store(y, pto.load(y) * nested[0][0])

    @kernel
    def by_array(y: InOut):
        pto.store(y, pto.load(y) * (array[1] + scalar))

    of = [workload(lambda_of(k)) for k in (by_list, by_dict, by_nested, by_array)]
    assert [ran(w) for w in of] == [8.0, 2.0, 2.0, 5.0]
    gains[0], table["gain"], nested[0][0] = 5.0, 5.0, 5.0
    array[1], scalar[...] = 4.0, 10.0
    assert [ran(w) for w in of] == [20.0, 5.0, 5.0, 14.0]


def test_what_python_makes_of_a_whole_object():
    gains, names = [2.0, 3.0], {"fast"}

    @kernel
    def folded(y: InOut):
        t = pto.load(y) * (len(gains) + sum(gains) + max(gains) + min(gains))
        if "fast" in names:
            t = t * 100.0
        pto.store(y, t)

    w = workload(lambda_of(folded))
    assert ran(w) == 1200.0
    gains.append(5.0)
    assert ran(w) == 2000.0
    names.clear()
    assert ran(w) == 20.0


def test_defaults_and_code_of_helpers():
    def helper(t, by=[2.0], *, more={"by": 1.0}):  # noqa: B006
        return t * by[0] * more["by"]

    def plain(t, by=2.0):
        return t * by

    @kernel
    def helped(y: InOut):
        pto.store(y, plain(helper(pto.load(y))))

    w = workload(lambda_of(helped))
    assert ran(w) == 4.0
    helper.__defaults__[0][0] = 3.0
    assert ran(w) == 6.0
    helper.__kwdefaults__["more"]["by"] = 10.0
    assert ran(w) == 60.0
    plain.__defaults__ = (5.0,)
    assert ran(w) == 150.0

    def other(t, by=2.0):
        return t * by + 1.0

    plain.__code__ = other.__code__
    assert ran(w) == 151.0


def test_globals_and_variables_around_kernels_and_helpers():
    by = 2.0

    def helper(t):
        return t * by + OFFSET

    @kernel
    def closed(y: InOut):
        pto.store(y, helper(pto.load(y)))

    w = workload(lambda_of(closed))
    global OFFSET
    assert ran(w) == 2.0
    by = 3.0
    assert ran(w) == 3.0
    try:
        OFFSET = 1.0
        assert ran(w) == 4.0
        OFFSET = True
        assert ran(w) == 4.0
    finally:
        OFFSET = 0.0


OFFSET = 0.0


def test_objects_as_constants_of_kernels():
    cfg, one, other = Config(), Same(2.0), Same(5.0)
    assert one == other and hash(one) == hash(other)

    @kernel
    def compiled(y: InOut, c: Constexpr):
        pto.store(y, pto.load(y) * c.gain)

    @python_kernel
    def called(y: InOut, c: Constexpr):
        y *= c.gain

    for k in (compiled, called):

        @workload
        def w(c: Constexpr):
            k(Y, c)

        assert [ran(w(one)), ran(w(other)), ran(w(cfg))] == [2.0, 5.0, 2.0]
        cfg.gain = 7.0
        assert ran(w(cfg)) == 7.0
        del cfg.gain

        @workload
        def both():
            k(Y, one)
            k(Y, other)

        assert ran(both) == 10.0


def test_a_change_while_the_workload_is_traced():
    cfg = types.SimpleNamespace(gain=1.0)

    @kernel
    def scaled(y: InOut):
        pto.store(y, pto.load(y) * cfg.gain)

    @workload
    def w():
        for gain in (2.0, 3.0, 2.0, 5.0):
            cfg.gain = gain
            scaled(Y)

    assert ran(w) == 60.0


def test_members_of_enumerations_and_types_of_numbers():
    chosen = Kind.SMALL
    number: object = 2

    @kernel
    def by_member(y: InOut):
        pto.store(y, pto.load(y) * chosen.value + (1.0 if chosen is Kind.LARGE else 0.0))

    @kernel
    def by_number(y: InOut):
        pto.store(y, pto.load(y) * (number / 4))

    first, second = workload(lambda_of(by_member)), workload(lambda_of(by_number))
    assert (ran(first), ran(second)) == (2.0, 0.5)
    chosen, number = Kind.LARGE, np.float32(2.5)
    assert (ran(first), ran(second)) == (6.0, 0.625)


def test_a_compiled_program_is_a_snapshot():
    cfg = Config()

    @kernel
    def scaled(y: InOut):
        pto.store(y, pto.load(y) * cfg.inner.gain)

    program = workload(lambda_of(scaled)).compile()
    cfg.inner.gain = 9.0
    y = np.ones((1, 4), np.float32)
    program.execute(y=y)
    assert y[0, 0] == 2.0


def test_a_kernel_that_reads_nothing_that_changes_is_compiled_once():
    @kernel
    def plain(x: In, y: Out, by: Constexpr):
        pto.store(y, pto.load(x) * by + OFFSET)

    X = tensor((1, 4), f32, name="x")

    @workload
    def w():
        for i in P(3):
            plain[i](X, Y, (2.0, "name", 3)[0])

    w.compile()
    w.compile()
    assert plain._compilations == 1


def test_equal_bodies_are_one_kernel():
    cfg = Config()

    @kernel
    def scaled(y: InOut):
        pto.store(y, pto.load(y) * cfg.inner.gain)

    @workload
    def w():
        for _ in range(20):
            scaled(Y)

    cfg.inner.gain = 1.0
    program = w.compile()
    assert program.explain().count("compiled") == 1


@pytest.mark.parametrize("seed", range(12))
def test_random_changes_of_random_structures(seed):
    """An expression over a structure whose parts change has the value that Python gives it."""
    rng = random.Random(seed)
    root = _structure(rng, 3)
    paths = list(_leaves("root", root))
    text = " + ".join(rng.sample(paths, min(4, len(paths))))
    scope = {"root": root, "pto": pto, "InOut": InOut}
    source = f"def k(y: InOut):\n    pto.store(y, pto.load(y) * ({text}))\n"
    name = f"<structure {seed}>"
    import linecache

    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), scope)
    w = workload(lambda_of(kernel(scope["k"])))
    for _ in range(6):
        assert ran(w) == pytest.approx(eval(text, scope))
        exec(f"{rng.choice(paths)} = {float(rng.randint(1, 9))}", scope)


def _structure(rng, depth):
    if depth == 0:
        return float(rng.randint(1, 9))
    parts = [_structure(rng, rng.randint(0, depth - 1)) for _ in range(rng.randint(1, 3))]
    match rng.randrange(3):
        case 0:
            return parts
        case 1:
            return {f"k{at}": part for at, part in enumerate(parts)}
    return types.SimpleNamespace(**{f"a{at}": part for at, part in enumerate(parts)})


def _leaves(path, value):
    if isinstance(value, float):
        yield path
    elif isinstance(value, list):
        for at, part in enumerate(value):
            yield from _leaves(f"{path}[{at}]", part)
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(f"{path}[{key!r}]", part)
    else:
        for key, part in vars(value).items():
            yield from _leaves(f"{path}.{key}", part)
