"""Kernels as objects: signatures, specialisations, text, Python kernels, and kernels in workloads."""

from __future__ import annotations

import gc
import re
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest
from kernel_machine import DTYPE
from pto_wsp import P, Tensor, errors, pto, tensor, tile, workload
from pto_wsp._seam import REQUIRED, ConstexprArg, ScalarArg, ViewSpec
from pto_wsp.dtypes import DTYPES, dtype_of, f16, f32, u32
from pto_wsp.kernels import Constexpr, In, InOut, Out, Scalar, codes, kernel, python_kernel
from pto_wsp.kernels.annotations import ParamType, param_type

ROWS = ViewSpec("f32", (0, 1), (None, 8), (16, 8))


@kernel(unit="vector", cost=120)
def scale(x: In[f32], y: Out[Tensor[f32, None, 8]], n: Scalar = 1, factor: Constexpr = 2.0):
    """Rows times a factor."""
    pto.store(y, pto.load(x) * factor * n)


def specialise(k, *args, coords=0):
    return k.specialise(coords, args, None)


def test_signature_and_representation():
    assert [(p.name, p.kind, p.default) for p in scale.signature] == [
        ("x", "in", REQUIRED),
        ("y", "out", REQUIRED),
        ("n", "scalar", 1),
        ("factor", "constexpr", 2.0),
    ]
    assert (scale.name, scale.unit, scale.cost, scale.__doc__) == (
        "scale",
        "vector",
        120,
        "Rows times a factor.",
    )
    assert repr(scale).startswith(
        "@kernel\ndef scale(x: In[f32], y: Out[Tensor[f32, None, 8]], n: Scalar = 1, factor: Constexpr = 2.0)"
    )


def test_source_ir_shows_the_function():
    text = scale.source_ir(x=np.zeros((4, 8), np.float32), y=np.zeros((4, 8), np.float32), factor=3.0)
    assert "(load dst:" in text and "3.0:f32" in text
    assert text in repr(scale)


def test_one_specialisation_per_coordinate_count_view_and_constant():
    def of(view=ROWS, factor=2.0, coords=0):
        return specialise(scale, view, view, ScalarArg(), ConstexprArg(factor), coords=coords)

    assert of() is of()
    others = [of(factor=3.0), of(factor=2), of(coords=1), of(view=ViewSpec("f32", (0, 1), (4, 8), (4, 8)))]
    assert len({made.key for made in [of(), *others]}) == 5
    assert of(factor=0.0).key != of(factor=-0.0).key
    assert of(coords=2).params == (
        ("coord_0", "scalar"),
        ("coord_1", "scalar"),
        ("x", "in"),
        ("y", "out"),
        ("n", "scalar"),
    )
    assert (of().name, of().unit, of().cost, of().callable) == ("scale", "vector", 120, None)


def test_objects_that_are_constants_are_not_kept_for_ever():
    class Thing:
        pass

    @kernel
    def k(x: In, c: Constexpr): ...

    kept, others = Thing(), []
    made = specialise(k, ROWS, ConstexprArg(kept))
    for _ in range(600):
        thing = Thing()
        others.append(weakref.ref(thing))
        specialise(k, ROWS, ConstexprArg(thing))
        assert specialise(k, ROWS, ConstexprArg(kept)) is made
    gc.collect()
    assert others[0]() is None and others[-1]() is thing


def test_a_declared_kernel_has_no_body():
    @kernel
    def graph_only(x: In, y: Out):
        """Only in graphs."""

    @kernel
    def dots(x: In, y: Out): ...

    for k in (graph_only, dots):
        assert specialise(k, ROWS, ROWS).body(None) == {"body": "none"}


@pytest.mark.parametrize(
    ("annotation", "wanted"),
    [
        (In, ParamType("in")),
        (Out[f16], ParamType("out", f16)),
        (InOut[Tensor[f32, 64, None]], ParamType("inout", f32, (64, None))),
        (In[Tensor[f32, 64, 128]], ParamType("in", f32, (64, 128))),
        (Scalar, ParamType("scalar", u32)),
        (Scalar[u32], ParamType("scalar", u32)),
        (Constexpr, ParamType("constexpr")),
        (Constexpr[int], ParamType("constexpr")),
        (int, None),
    ],
)
def test_annotations(annotation, wanted):
    assert param_type(annotation) == wanted


def test_annotations_that_are_values_and_local_names():
    rows = 4

    def make():
        def k(x: In[Tensor[f32, rows, 8]], y: Out): ...

        return k

    made = kernel(make())
    assert made.params[0].type == ParamType("in", f32, (rows, 8))


def test_element_types_by_name():
    for name, dtype in DTYPES.items():
        assert dtype_of(name) is dtype and dtype_of(dtype) is dtype
    for numpy_type, name in DTYPE.items():
        assert dtype_of(numpy_type) is DTYPES[name] and DTYPES[name].itemsize == numpy_type.itemsize
    assert dtype_of("complex64") is None and dtype_of(3) is None


class Box:
    """A box as the compiled core hands it to a Python kernel."""

    def __init__(self, array, readonly=False):
        self.array = array
        self.dtype = DTYPE[array.dtype]
        self.shape = array.shape
        self.readonly = readonly

    @property
    def __array_interface__(self):
        interface = dict(self.array.__array_interface__)
        interface["data"] = (interface["data"][0], self.readonly)
        interface.setdefault("strides", self.array.strides)
        interface["strides"] = self.array.strides
        return interface


def test_a_python_kernel_gets_views_numbers_constants_and_coordinates():
    seen = []

    @python_kernel
    def k(x: In, n: Scalar, y: Out, c: Constexpr = 5):
        seen.append((x.shape, x.flags.writeable, y.shape, n, c, pto.coord(0), pto.coord(1)))
        y[...] = x * n

    view = ViewSpec("f32", (1,), (8,), (8,))
    made = specialise(
        k, view, ScalarArg(), ViewSpec("f32", (0, 1), (1, 8), (1, 8)), ConstexprArg(5), coords=2
    )
    assert made.body(None) == {"body": "python"}
    x, y = np.arange(8, dtype=np.float32).reshape(1, 8), np.zeros((1, 8), np.float32)
    assert made.callable.keep == [(1,), (0, 1)]
    made.callable((Box(x[0], readonly=True), Box(y)), (3, 4, 10))
    assert seen == [((8,), False, (1, 8), 10, 5, 3, 4)]
    assert (y == x * 10).all()


def test_coordinates_of_python_kernels_belong_to_their_task_and_thread():
    @python_kernel
    def k(x: In):
        threading.Thread(target=elsewhere).start()
        assert pto.coord(0) == 7
        with pytest.raises(errors.KernelError) as caught:
            pto.coord(1)
        assert caught.value.code == f"WSP{codes.COORDINATE}"

    def elsewhere():
        with pytest.raises(errors.KernelError):
            pto.coord(0)

    made = specialise(k, ViewSpec("f32", (0,), (2,), (2,)), coords=1)
    made.callable((Box(np.zeros(2, np.float32)),), (7,))
    with pytest.raises(errors.KernelError) as caught:
        pto.coord(0)
    assert caught.value.code == f"WSP{codes.OUTSIDE}"


def test_the_catalog_has_every_code():
    catalog = Path(__file__).parents[2] / "crates/wsp-trace/src/python/kernel.rs"
    listed = {int(n) for n in re.findall(r"Code\((\d+)\)", catalog.read_text())}
    assert listed == {value for name, value in vars(codes).items() if name.isupper()}


# ---- Kernels in workloads.

X = tensor(("n", 8), f32)
Y = tensor(("n", 8), f32)


@kernel(unit="vector", cost=lambda n: 10 + n)
def tail(x: In, y: Out, n: Scalar = 3, factor: Constexpr = 2.0):
    pto.store(y, pto.load(x) * factor + n + pto.coord(0))


@workload
def tails(n):
    for i in P(P.ceildiv(n, 16)):
        tail[i](X[tile(i, 16)], Y[tile(i, 16)], factor=0.5)


@pytest.mark.parametrize("n", [0, 1, 16, 40])
@pytest.mark.parametrize("level", [0, 2])
def test_ragged_tails_of_a_workload(n, level):
    x = np.random.default_rng(n).standard_normal((n, 8)).astype(np.float32)
    y = np.zeros_like(x)
    tails.compile(optimization_level=level).execute(X=x, Y=y)
    coordinate = (np.arange(n) // 16).astype(np.float32)[:, None]
    assert (y == (x * np.float32(0.5) + np.float32(3)) + coordinate).all()


def test_python_kernels_are_an_oracle_of_compiled_ones():
    @python_kernel
    def tail(x: In, y: Out, n: Scalar = 3, factor: Constexpr = 2.0):
        y[...] = x * np.float32(factor) + np.float32(n) + np.float32(pto.coord(0))

    @workload
    def oracle(n):
        for i in P(P.ceildiv(n, 16)):
            tail[i](X[tile(i, 16)], Y[tile(i, 16)], factor=0.5)

    x = np.random.default_rng(1).standard_normal((37, 8)).astype(np.float32)
    y, z = np.zeros_like(x), np.zeros_like(x)
    tails.compile().execute(X=x, Y=y)
    oracle.compile().execute(X=x, Y=z)
    assert (y == z).all()


def test_what_a_python_kernel_raises_is_the_cause():
    @python_kernel
    def broken(x: In, y: Out):
        raise ValueError(f"row {pto.coord(0)}")

    @workload
    def w(n):
        for i in P(n):
            broken[i](X[i], Y[i])

    with pytest.raises(errors.KernelError) as caught:
        w.compile().execute(X=np.zeros((3, 8), np.float32), Y=np.zeros((3, 8), np.float32))
    assert isinstance(caught.value.__cause__, ValueError) and "row" in str(caught.value.__cause__)
    assert "broken" in str(caught.value)


def test_a_fault_of_a_run_stands_at_the_line_of_the_kernel():
    @kernel
    def far(x: In, y: Out, n: Scalar):
        y[0, n] = x[0, 0]

    @workload
    def w(n):
        for i in P(1):
            far[i](X, Y, n=9)

    with pytest.raises(errors.KernelError) as caught:
        w.compile().execute(X=np.zeros((3, 8), np.float32), Y=np.zeros((3, 8), np.float32))
    assert Path(caught.value.file).resolve() == Path(__file__).resolve()
    assert "y[0, n] = x[0, 0]" in str(caught.value)
