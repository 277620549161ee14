"""Values of every kind for every argument of the public functions: each is taken, or refused with an error of
this package that says what to type.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from pto_wsp import (
    Buffer,
    Channel,
    Dense,
    DispatchPolicy,
    In,
    Out,
    P,
    Pools,
    Program,
    Slot,
    StartPolicy,
    Table,
    TaskGraph,
    TaskWindow,
    Tensor,
    TimingPolicy,
    TracePolicy,
    combine,
    empty,
    errors,
    f16,
    f32,
    i64,
    kernel,
    load,
    pto,
    python_kernel,
    ragged,
    sequential,
    sparse,
    table,
    tensor,
    tile,
    workload,
    zeros,
)
from pto_wsp.plans import Capacity

X = tensor(("rows", 4), f32)
Y = tensor(("rows", 4), f32)
DECODE = Path(__file__).parents[2] / "examples" / "attention" / "decode.pto"

UNIT = """
extern X: f32[3, 4]
extern Y: f32[3, 4]
arg n: i64 = 3
TG_BEGIN(D)
  TG_KERNEL(K, copy_entry, 1, AIV, 0)
  MC_BIND(K, 0, X)
  MC_BIND(K, 1, Y)
TG_END(D)
"""


@kernel
def twice(x: In, y: Out):
    pto.store(y, pto.load(x) * 2.0)


@workload
def w(rows, lens: Table[i64, "rows"]):
    for i in P(rows):
        with P.when(lens[i] > 0):
            twice[i](X[i : i + 1], Y[i : i + 1])


def ones(dtype="f4"):
    return np.ones((3, 4), dtype)


class Unprintable:
    def __repr__(self) -> str:
        raise ValueError("no text")


def read_only():
    array = ones()
    array.flags.writeable = False
    return array


BAD = {
    "none": lambda: None,
    "string": lambda: "abc",
    "empty string": lambda: "",
    "bytes": lambda: b"ab",
    "half a character": lambda: "\ud800",
    "zero character": lambda: "a\0b",
    "set": lambda: {1, 2},
    "dictionary": lambda: {"a": 1},
    "generator": lambda: (i for i in range(3)),
    "list of lists": lambda: [[1, 2], [3]],
    "function": lambda: lambda t: t,
    "class": lambda: int,
    "module": lambda: np,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "half": lambda: 0.5,
    "negative": lambda: -1,
    "huge": lambda: 2**80,
    "true": lambda: True,
    "scalar of NumPy": lambda: np.float32(1),
    "0-d array": lambda: np.array(1.0, "f4"),
    "array of objects": lambda: np.array([None, "a"], object),
    "array of texts": lambda: np.full((3, 4), "a"),
    "array of dates": lambda: np.zeros((3, 4), "M8[s]"),
    "array of records": lambda: np.zeros((3, 4), [("a", "f4")]),
    "array of complex numbers": lambda: ones("c8"),
    "array of truth values": lambda: ones(bool),
    "masked array": lambda: np.ma.masked_array(ones(), mask=True),
    "read-only array": read_only,
    "other byte order": lambda: ones(">f4"),
    "other type": lambda: ones("f8"),
    "one dimension": lambda: np.ones(4, "f4"),
    "three dimensions": lambda: np.ones((3, 4, 1), "f4"),
    "backwards": lambda: ones()[::-1],
    "no elements": lambda: np.zeros((0, 4), "f4"),
    "tensor": lambda: X,
    "element type": lambda: f32,
    "unprintable": Unprintable,
}


def copies(block, x, y):
    y[...] = x


def unit() -> TaskGraph:
    graph = TaskGraph.from_text(UNIT)
    graph.kernel("copy_entry", In[f32], Out[f32])(copies)
    return graph


def tables(n):
    pages = -(-n // 16)
    return {"kv.indptr": [0, pages], "kv.indices": range(pages), "kv.last_page_len": [(n - 1) % 16 + 1]}


PAGES = tensor((64, 16, 2, 64), f16)
CACHE = {"q": tensor((1, 8, 1, 64), f16), "kv.k": PAGES, "kv.v": PAGES}
GIVEN = {"X": ones(), "Y": ones(), "lens": [1, 2, 3]}


def run(b, **others):
    return w.compile().execute(**{**GIVEN, **others})


def planned():
    return load(DECODE).program(schedule="Fixed", max_blocks=72).plan(CACHE, **tables(70))


def traced(task):
    """What compiles a workload with a loop whose body gets a bad value."""

    def compile(b):
        @workload
        def other(rows):
            for i in P(rows):
                task(b, i)

        return other.compile()

    return compile


def launched(**options):
    def called(b):
        return unit().run({"X": ones()}, **{name: of(b) for name, of in options.items()})

    return called


CALLS = {
    "execute an input": lambda b: run(b, X=b),
    "execute an output": lambda b: run(b, Y=b),
    "execute a table": lambda b: run(b, lens=b),
    "execute a size": lambda b: run(b, rows=b),
    "execute without a name": lambda b: w.compile().execute(b),
    "execute_async": lambda b: w.compile().execute_async(**{**GIVEN, "X": b}).synchronize(),
    "bind": lambda b: w.compile().bind(**{**GIVEN, "lens": b}),
    "bind without a name": lambda b: w.compile().bind(b),
    "rebind of a bound program": lambda b: w.compile().bind(**GIVEN).rebind(X=b),
    "rebind": lambda b: w.compile().rebind(b),
    "graph": lambda b: w.compile().graph(rows=3, lens=b),
    "simulate": lambda b: w.compile().simulate(rows=b, lens=[1]),
    "trace": lambda b: w.compile().trace(b),
    "wait": lambda b: w.compile().execute_async(**GIVEN).wait(b),
    "from_bytes": Program.from_bytes,
    "plan": lambda b: load(DECODE).program(schedule="Fixed").plan(b),
    "plan of an array": lambda b: load(DECODE).program(schedule="Fixed").plan({**CACHE, "q": b}, **tables(7)),
    "plan of integers": lambda b: (
        load(DECODE).program(schedule="Fixed").plan(CACHE, **{**tables(7), "kv.indptr": b})
    ),
    "capacity": lambda b: (
        load(DECODE).program(schedule="Fixed").plan(CACHE, capacity=Capacity(b, b), **tables(7))
    ),
    "execute_plan": lambda b: load(DECODE).program(schedule="Fixed").execute_plan(b),
    "advance": lambda b: planned().advance(b),
    "balance": lambda b: planned().balance(b),
    "load": load,
    "library option": lambda b: load(DECODE).program(kv_layout=b),
    "target": lambda b: w.compile(b),
    "num_threads": lambda b: w.compile(num_threads=b),
    "num_aicpus": lambda b: w.compile(num_aicpus=b),
    "expand": lambda b: w.compile(expand=b),
    "enable_debug": lambda b: w.compile(enable_debug=b),
    "seed": lambda b: w.compile(seed=b),
    "shape": lambda b: tensor(b, f32),
    "extent": lambda b: tensor((b, 3), f32),
    "dtype": lambda b: tensor((2, 3), b),
    "name": lambda b: tensor((2, 3), f32, name=b),
    "tensor": tensor,
    "Buffer": lambda b: Buffer(b, f32),
    "table": table,
    "length": lambda b: table(length=b),
    "Slot": Slot,
    "Channel": lambda b: Channel(b, f32, depth=2),
    "depth": lambda b: Channel(depth=b),
    "zeros": lambda b: zeros(b, f32),
    "empty": lambda b: empty((2, 2), b),
    "Dense": lambda b: Dense[b],
    "Ragged": lambda b: ragged(3, b),
    "Sparse": lambda b: sparse(3, b, b),
    "dispatch": lambda b: w.dispatch(b).directives,
    "affinity": DispatchPolicy.affinity,
    "static_partition": DispatchPolicy.static_partition,
    "threshold metric": lambda b: w.dispatch_threshold(b, [1], ["vector", "cube"]).directives,
    "threshold bounds": lambda b: w.dispatch_threshold("i", b, ["vector", "cube"]).directives,
    "threshold bound": lambda b: w.dispatch_threshold("i", [b], ["vector", "cube"]).directives,
    "threshold policies": lambda b: w.dispatch_threshold("i", [1], b).directives,
    "threshold policy": lambda b: w.dispatch_threshold("i", [1], [b, b]).directives,
    "streams": lambda b: w.streams(b).directives,
    "stream_by": lambda b: w.stream_by(b).directives,
    "deps": lambda b: w.task_graph(deps=b).directives,
    "window": lambda b: w.task_graph(window=b).directives,
    "window mode": lambda b: TaskWindow(4, b),
    "pools": lambda b: w.task_graph(pools=b).directives,
    "by_unit": lambda b: Pools.by_unit(b, b),
    "start": lambda b: StartPolicy.threshold(b),
    "cycles": TracePolicy.cycles,
    "timing": lambda b: w.timing(b).directives,
    "batched": TimingPolicy.batched,
    "pipeline_depth": lambda b: w.pipeline_depth(b).directives,
    "scope": lambda b: w.pipeline_depth(2, b).directives,
    "batch_deps": lambda b: w.batch_deps(b).directives,
    "priority": lambda b: w.priority(b).directives,
    "spatial_map": lambda b: w.spatial_map(b).directives,
    "layout": lambda b: w.layout("x", b).directives,
    "layout of": lambda b: w.layout(b, ["x"]).directives,
    "pending": lambda b: w.layout("x", ["x"], b).directives,
    "relayout": lambda b: w.relayout("x", b).directives,
    "surplus": lambda b: w.streams(2, b).directives,
    "combine": lambda b: combine(b),
    "sequential": lambda b: sequential(w, b),
    "binding": lambda b: w(b).name,
    "workload": workload,
    "unit": lambda b: kernel(unit=b)(copies),
    "python_kernel": python_kernel,
    "annotation": lambda b: In[b],
    "annotated extent": lambda b: Out[Tensor[f32, b]],
    "unit text": TaskGraph.from_text,
    "unit name": lambda b: TaskGraph.from_text(UNIT, b),
    "unit folder": lambda b: TaskGraph.from_text(UNIT, folder=b),
    "unit bytes": TaskGraph.from_bytes,
    "unit file": TaskGraph.from_file,
    "use": lambda b: unit().use(b).check(),
    "set": lambda b: unit().set(q=b).check(),
    "entry": lambda b: unit().kernel(b),
    "annotations": lambda b: unit().kernel("other", b),
    "function": lambda b: TaskGraph.from_text(UNIT).kernel("copy_entry", In[f32], Out[f32])(b),
    "inputs": lambda b: unit().run(b),
    "array of inputs": lambda b: unit().run({"X": b}),
    "written array": lambda b: unit().run({"X": ones(), "Y": b}),
    "name of inputs": lambda b: unit().run(X=b),
    "scalars": launched(scalars=lambda b: b),
    "scalar": launched(scalars=lambda b: {"n": b}),
    "events": launched(events=lambda b: b),
    "event": launched(events=lambda b: [b]),
    "threads": launched(threads=lambda b: b),
    "devices": launched(devices=lambda b: b),
    "memory": launched(memory=lambda b: b),
    "debug": launched(enable_debug=lambda b: b),
    "tile": traced(lambda b, i: twice[i](X[tile(i, b)], Y[tile(i, 1)])),
    "index": traced(lambda b, i: twice[i](X[b], Y[i : i + 1])),
    "argument": traced(lambda b, i: twice[i](b, Y[i : i + 1])),
    "coordinate": traced(lambda b, i: twice[b](X[i : i + 1], Y[i : i + 1])),
    "after": traced(lambda b, i: twice[i](X[i : i + 1], Y[i : i + 1], after=b)),
    "loop": traced(lambda b, i: list(P(b))),
    "ordered loop": traced(lambda b, i: list(P.seq(b))),
    "selection": traced(lambda b, i: list(P.sel(b))),
    "rounds": traced(lambda b, i: list(P.loop(i > 0, b))),
    "condition": traced(lambda b, i: P.when(b).__enter__()),
    "process": traced(lambda b, i: P.process(b).__enter__()),
    "minimum": traced(lambda b, i: P.min(i, b)),
    "sum": traced(lambda b, i: i + b),
    "comparison": traced(lambda b, i: i < b),
    "table index": traced(lambda b, i: table([1, 2])[b]),
}

ORDERLESS = ("set", "dictionary", "bytes")
"""Kinds of values that have no elements in an order of their own, or are texts."""


def ended(call, value) -> tuple[str, errors.WspError | None]:
    try:
        call(value)
    except errors.WspError as error:
        return "refused", error
    return "taken", None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", CALLS)
def test_a_value_is_taken_or_refused_with_what_to_type(call):
    silent = []
    for kind, value in BAD.items():
        how, error = ended(CALLS[call], value())
        if error is not None and not (error.help or error.notes):
            silent.append(f"{kind}: {error.code} {error.message}")
    assert not silent


@pytest.mark.parametrize("kind", ORDERLESS)
@pytest.mark.parametrize(
    "call", ["shape", "table", "zeros", "Channel", "Ragged", "threshold bounds", "binding"]
)
def test_what_has_no_order_is_no_list(call, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ended(CALLS[call], BAD[kind]())[0] == "refused"


@pytest.mark.parametrize("kind", ["none", "string", "nan", "half", "function", "tensor", "array of objects"])
def test_a_bound_of_a_threshold_is_an_integer(kind):
    assert ended(CALLS["threshold bound"], BAD[kind]())[0] == "refused"


@pytest.mark.parametrize("call", ["execute", "execute_async", "bind", "rebind", "graph", "simulate"])
def test_arrays_are_given_by_name(call):
    with pytest.raises(errors.ArgumentError) as unnamed:
        getattr(w.compile(), call)(ones(), ones())
    assert unnamed.value.code == "WSP1260"
    assert f"program.{call}(X=…, Y=…, lens=…" in unnamed.value.help[0]
    with pytest.raises(errors.ArgumentError) as together:
        getattr(w.compile(), call)(GIVEN)
    assert f"program.{call}(**arrays)" in together.value.help[0]


def test_files_that_are_not_there(tmp_path):
    profiled = w.compile(enable_profiling=True)
    profiled.execute(**GIVEN)
    for code, call in {
        "WSP0500": lambda: TaskGraph.from_file("nothing.tg"),
        "WSP0501": lambda: TaskGraph.from_file(tmp_path),
        "WSP0509": lambda: profiled.trace(tmp_path / "none" / "trace.json"),
        "WSP1262": lambda: load(None),
    }.items():
        with pytest.raises(errors.ArgumentError) as refused:
            call()
        assert refused.value.code == code and refused.value.help and refused.value.file == __file__
    (tmp_path / "unit.tg").write_bytes(b"\xff\xfe")
    with pytest.raises(errors.ArgumentError, match="no UTF-8 text"):
        TaskGraph.from_file(tmp_path / "unit.tg")
