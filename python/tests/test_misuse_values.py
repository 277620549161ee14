"""Values of the wrong type or out of range at public calls, each refused at its line, with what to type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from misuse import X, Y, copies, copy, rows
from pto_wsp import (
    Buffer,
    Channel,
    Dense,
    DispatchPolicy,
    In,
    OnDeviceGenerator,
    P,
    Plan,
    Pools,
    Program,
    Ragged,
    Scalar,
    Slot,
    Sparse,
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
    f32,
    i64,
    kernel,
    load,
    pto,
    python_kernel,
    ragged,
    sparse,
    table,
    tensor,
    tile,
    workload,
    zeros,
)

program = copies.compile()


@dataclass(frozen=True)
class Refused:
    """A call that is refused: how, and a part of its help."""

    call: Callable[[], Any]
    what: str
    help: str


CASES = [
    Refused(
        lambda: tensor({"rows": 64}), "TraceError WSP1028", "give the shape of an array that comes later,"
    ),
    Refused(lambda: tensor(("rows", -1)), "TraceError WSP1028", "give 0 or more, or the name of a size"),
    Refused(lambda: tensor(("rows", 2**40)), "TraceError WSP1028", "give 0 or more, or the name of a size"),
    Refused(lambda: tensor(("rows", 64), "f31"), "TraceError WSP1028", "element types of `pto_wsp`"),
    Refused(lambda: tensor(("rows", 64), complex), "TraceError WSP1028", "element types of `pto_wsp`"),
    Refused(lambda: tensor(()), "TraceError WSP1028", "say its extents"),
    Refused(lambda: tensor((1,) * 7), "TraceError WSP1028", "merge dimensions that tasks do not index"),
    Refused(lambda: tensor(("a b", 4)), "TraceError WSP1018", "names are identifiers"),
    Refused(lambda: tensor(("rows", 64), f32, name=3), "TraceError WSP1018", 'write `name="X"`'),
    Refused(
        lambda: tensor(np.zeros(3, dtype="datetime64[s]")), "TraceError WSP1028", "element types of `pto_wsp`"
    ),
    Refused(lambda: tensor(None), "TraceError WSP1028", "give the shape of an array that comes later,"),
    Refused(lambda: Buffer((4, "x y"), f32), "TraceError WSP1018", "names are identifiers"),
    Refused(lambda: Buffer(None), "TraceError WSP1028", 'write `("seq", 512)`'),
    Refused(lambda: table("abc"), "TraceError WSP1030", "a table holds integers"),
    Refused(lambda: table([1.5]), "TraceError WSP1030", "a table holds integers"),
    Refused(lambda: table([2**70]), "TraceError WSP1034", "a table holds integers of 64 bits with sign"),
    Refused(lambda: table([1, 2], length=3), "TraceError WSP1030", "leave `length` out; the values say it"),
    Refused(lambda: table({3, 1}), "TraceError WSP1030", "a table holds integers"),
    Refused(lambda: Slot("a"), "TraceError WSP1004", "workloads compute with integers"),
    Refused(lambda: Slot(1.5), "TraceError WSP1004", "workloads compute with integers"),
    Refused(lambda: Channel((4, 4), f32), "TraceError WSP1038", "say how many tiles it holds"),
    Refused(lambda: Channel((4, 4), f32, depth=-1), "TraceError WSP1038", "it holds tiles, or none"),
    Refused(
        lambda: Channel((4, 4), f32, depth="two"), "TraceError WSP1004", "workloads compute with integers"
    ),
    Refused(lambda: ragged("b", "abc"), "TraceError WSP1030", "a table holds integers"),
    Refused(lambda: ragged("b", [-1]), "TraceError WSP1030", "lengths and row starts are at least 0"),
    Refused(lambda: ragged(X, [1]), "TraceError WSP1011", "give a size of the workload, its name, or"),
    Refused(lambda: sparse("b", [0, 1], [0.5]), "TraceError WSP1030", "a table holds integers"),
    Refused(lambda: Dense["a"], "TraceError WSP1004", "workloads compute with integers"),
    Refused(lambda: Dense[1:], "TraceError WSP1011", "write `Dense[lo:hi]` or `Dense[n]`"),
    Refused(lambda: Dense[0:8:0], "TraceError WSP1014", "steps are at least 1; count backwards with the"),
    Refused(lambda: tile(0, 0), "TraceError WSP1027", "tiles have at least 1 index"),
    Refused(lambda: tile("a", 4), "TraceError WSP1004", "workloads compute with integers"),
    Refused(lambda: P(3), "TraceError WSP1020", "put it into a function under `@workload`, which"),
    Refused(lambda: P.when(True), "TraceError WSP1020", "put it into a function under `@workload`, which"),
    Refused(lambda: P.ceildiv(4, 0), "TraceError WSP1044", "divide by an expression that is not 0, or by a"),
    Refused(lambda: P.min(), "TraceError WSP1004", "write `P.min(a, b)`"),
    Refused(lambda: P.select("a", 1, 2), "TraceError WSP1004", "workloads compute with integers"),
    Refused(lambda: copies(n="four"), "TraceError WSP1016", "for any other Python value annotate it"),
    Refused(lambda: copies(n=-1), "TraceError WSP1016", "give 0 or more"),
    Refused(lambda: copies(n=1.5), "TraceError WSP1016", "for any other Python value annotate it"),
    Refused(lambda: copies(3, 4), "TraceError WSP1015", "leave the last one out; a size that is bound"),
    Refused(lambda: copies(m=3), "TraceError WSP1015", "its parameters"),
    Refused(lambda: copies(3)(n=4), "TraceError WSP1015", "give it once; a call of a bound workload does"),
    Refused(lambda: copies.compile("gpu"), "CompileError WSP0400", "did you mean `cpu`?"),
    Refused(lambda: copies.compile(3), "CompileError WSP1221", 'write `target="cpu_sim"`'),
    Refused(lambda: copies.compile(num_threads=-1), "CompileError WSP1221", "give an int from 0 to 1024"),
    Refused(lambda: copies.compile(num_threads="two"), "CompileError WSP1221", "give an int from 0 to 1024"),
    Refused(lambda: copies.compile(optimization_level=7), "CompileError WSP1221", "give an int from 0 to 3"),
    Refused(lambda: copies.compile(enable_debug=1), "CompileError WSP1221", "give `True` or `False`"),
    Refused(lambda: copies.compile(expand="none"), "CompileError WSP1221", 'give `"host"` or `"bytecode"`'),
    Refused(
        lambda: copies.compile(seed=-1), "CompileError WSP1221", "give an int from 0 to 18446744073709551615"
    ),
    Refused(lambda: copies.compile(cache=3), "CompileError WSP1221", "give the path of a folder"),
    Refused(
        lambda: copies.compile(replay="/nowhere/t.pftrace"),
        "CompileError WSP1221",
        "give the path of a trace",
    ),
    Refused(
        lambda: copies.compile(enable_debug=True, num_threads=2),
        "CompileError WSP1225",
        "leave out one of the two",
    ),
    Refused(
        lambda: copies.dispatch("round_robin"),
        "ScheduleError WSP1209",
        "write `DispatchPolicy.round_robin()`",
    ),
    Refused(lambda: copies.dispatch(None), "ScheduleError WSP1209", "write `DispatchPolicy.round_robin()`"),
    Refused(lambda: copies.streams("two"), "ScheduleError WSP1208", "give an int from 1 to 65536"),
    Refused(lambda: copies.streams(0), "ScheduleError WSP1208", "give an int from 1 to 65536"),
    Refused(
        lambda: copies.stream_by(None),
        "ScheduleError WSP1202",
        "a key is integer arithmetic on loop indices, by",
    ),
    Refused(
        lambda: copies.stream_by(lambda t: "a"),
        "ScheduleError WSP1202",
        "a key is integer arithmetic on loop indices, by",
    ),
    Refused(
        lambda: copies.stream_by(lambda: 3),
        "ScheduleError WSP1202",
        "a key is integer arithmetic on loop indices, by",
    ),
    Refused(lambda: copies.task_graph(window=0), "ScheduleError WSP1208", "give an int from 1 to 1048576"),
    Refused(
        lambda: copies.task_graph(deps="explicit"),
        "ScheduleError WSP1209",
        "write `Deps.infer_bytes_overlap()`",
    ),
    Refused(
        lambda: copies.task_graph(depz=3),
        "ScheduleError WSP1209",
        "write `.task_graph(deps, window, pools, ready,",
    ),
    Refused(lambda: copies.pipeline_depth(2, "local"), "ScheduleError WSP1208", "scopes"),
    Refused(
        lambda: copies.priority(3.5),
        "ScheduleError WSP1202",
        "a key is integer arithmetic on loop indices, by",
    ),
    Refused(lambda: copies.spatial_map(4), "ScheduleError WSP1208", "write `grid=(4, 2)`"),
    Refused(
        lambda: copies.dispatch_threshold("i", [4, 2], ["any"] * 3),
        "ScheduleError WSP1211",
        "list each once, from the smallest",
    ),
    Refused(lambda: copies.workers(True), "ScheduleError WSP1208", "give an int from 1 to 1024"),
    Refused(lambda: TaskWindow(8, "wait"), "ScheduleError WSP1208", "modes"),
    Refused(lambda: Pools.by_unit(0, 1), "ScheduleError WSP1208", "give an int from 1 to 1024"),
    Refused(lambda: TimingPolicy.batched(0), "ScheduleError WSP1208", "give an int from 1 to 1048576"),
    Refused(lambda: TracePolicy.cycles(3), "ScheduleError WSP1208", "write `TracePolicy.cycles(lambda t"),
    Refused(lambda: StartPolicy.threshold(-1), "ScheduleError WSP1208", "give an int from 1 to 4294967295"),
    Refused(lambda: DispatchPolicy.static_partition([(0,)]), "ScheduleError WSP1208", "write pairs of ints"),
    Refused(
        lambda: DispatchPolicy.affinity(3.5),
        "ScheduleError WSP1202",
        "a key is integer arithmetic on loop indices, by",
    ),
    Refused(
        lambda: program.execute(X=rows(4).astype(np.float64), Y=rows(4)),
        "ArgumentError WSP1252",
        "convert it, `X = X.astype(np.float32)`, or",
    ),
    Refused(
        lambda: program.execute(X=rows(4)[:, :32], Y=rows(4)),
        "ArgumentError WSP1253",
        "give it the shape [4, 64]",
    ),
    Refused(lambda: program.execute(X=rows(4)), "ArgumentError WSP1259", "give it by name"),
    Refused(lambda: program.execute(X=rows(4).tolist(), Y=rows(4)), "ArgumentError WSP1250", "make it one"),
    Refused(
        lambda: program.execute(X=rows(4), Y=rows(5)),
        "ArgumentError WSP1261",
        "give arrays that agree on `n`",
    ),
    Refused(
        lambda: program.execute(X=rows(4), Y=rows(4), n="four"), "ArgumentError WSP1262", "give an integer"
    ),
    Refused(lambda: program.execute(X=None, Y=rows(4)), "ArgumentError WSP1259", "give it by name"),
    Refused(
        lambda: program.execute({"X": rows(4)}), "ArgumentError WSP1260", "write `program.execute(**arrays)`"
    ),
    Refused(lambda: program.bind(X=rows(4), Q=rows(4)), "ArgumentError WSP1260", "it takes `X`, `Y`, `n`"),
    Refused(lambda: program.rebind(Q=rows(4)), "ArgumentError WSP1260", "its arguments"),
    Refused(lambda: program.graph(4), "ArgumentError WSP1260", "write `program.graph(X=…, Y=…, n=…)`"),
    Refused(
        lambda: program.simulate_on(3, n=4), "ArgumentError WSP1262", "give a string or a `pathlib.Path`"
    ),
    Refused(
        lambda: program.simulate_on("no_model", n=4), "CompileError WSP1745", "take one of them, or write one"
    ),
    Refused(lambda: program.plan(), "ArgumentError WSP1259", "give them by name, `program.plan(arrays)` or"),
    Refused(lambda: program.execute_plan(3), "ArgumentError WSP1262", "make one with `program.plan(arrays)`"),
    Refused(
        lambda: Program.from_bytes(b"abc"),
        "FormatError WSP1230",
        "give what `program.to_bytes()` gave, unchanged",
    ),
    Refused(
        lambda: Program.from_bytes("abc"),
        "FormatError WSP1230",
        "give what `program.to_bytes()` gave, unchanged",
    ),
    Refused(lambda: Program(), "ArgumentError WSP1262", "compile a workload, `w.compile()`, or read one"),
    Refused(lambda: Tensor[f32, None, "a b"], "TraceError WSP1018", "names are identifiers"),
    Refused(lambda: Table[i64, 3.5], "TraceError WSP1028", 'it is an int, the name of a size (`"seq"`), or'),
    Refused(lambda: Ragged[i64, 3], "TraceError WSP1017", 'write `Ragged[i64, "batch"]`; with values,'),
    Refused(lambda: Sparse[i64], "TraceError WSP1017", 'write `Sparse[i64, "batch"]`; with values,'),
    Refused(
        lambda: tensor(("n",), f32).foo if False else table("x", name=3),
        "TraceError WSP1018",
        'write `name="X"`',
    ),
    Refused(lambda: Plan(), "ArgumentError WSP1262", "write `program.plan(arrays)`"),
    Refused(
        lambda: load("nothing.pto"), "ArgumentError WSP0500", "give the path of a file that exists; relative"
    ),
    Refused(lambda: load(3), "ArgumentError WSP1262", "give a string or a `pathlib.Path`"),
    Refused(lambda: load("x.tg"), "ArgumentError WSP1262", "write `TaskGraph.from_file(path)`"),
    Refused(lambda: zeros((-1,), f32), "ArgumentError WSP1265", "give sizes from 0"),
    Refused(
        lambda: zeros((4,), "f31"), "ArgumentError WSP1251", "give one of f16, bf16, f8e4m3, f8e5m2, f32,"
    ),
    Refused(lambda: empty("four", f32), "ArgumentError WSP1265", "give an integer or a tuple of integers"),
    Refused(lambda: kernel(3), "KernelError WSP1101", "decorate a function"),
    Refused(lambda: kernel(lambda x: x), "KernelError WSP1101", "write a `def`, whose text can be found"),
    Refused(lambda: kernel(copy), "KernelError WSP1101", "let one `@kernel` or `@python_kernel` stand"),
    Refused(
        lambda: kernel(unit="gpu")(lambda x: x),
        "KernelError WSP1101",
        "write a `def`, whose text can be found",
    ),
    Refused(lambda: python_kernel(print), "KernelError WSP1101", "decorate a function"),
    Refused(lambda: workload(3), "TraceError WSP1016", "write `@workload` above a `def`"),
    Refused(lambda: workload(name=3), "TraceError WSP1018", 'write `name="attention"`'),
    Refused(lambda: combine(copies, 3), "TraceError WSP1031", "write `combine(first, second)`"),
    Refused(lambda: copy(X, Y), "TraceError WSP1020", "put it into a function under `@workload`, which"),
    Refused(
        lambda: copy[0](X[0:4], Y[0:4]),
        "TraceError WSP1020",
        "put it into a function under `@workload`, which",
    ),
    Refused(lambda: X[0], "TraceError WSP1020", "put it into a function under `@workload`, which"),
    Refused(lambda: len(X), "TraceError WSP1039", "`.shape[0]` is its first extent"),
    Refused(lambda: list(X), "TraceError WSP1039", "write a loop over its index"),
    Refused(lambda: np.asarray(X), "TraceError WSP1039", "give the array to `program.execute(…)`"),
    Refused(lambda: bool(X), "TraceError WSP1002", "read a `Slot` or a `Table`"),
    Refused(lambda: pto.load(X), "KernelError WSP1133", "call it in a function with `@kernel`; in a"),
    Refused(lambda: TaskGraph.from_text(3), "ArgumentError WSP1262", "give a string, or read a file"),
    Refused(
        lambda: TaskGraph.from_file("no.tg"),
        "ArgumentError WSP0500",
        "paths are relative to the current folder,",
    ),
    Refused(lambda: OnDeviceGenerator(3), "ArgumentError WSP1262", "write `OnDeviceGenerator(workload)`"),
    Refused(
        lambda: OnDeviceGenerator(copies).compile_dispatch(0),
        "ArgumentError WSP1262",
        "give an integer from 1 to 1024",
    ),
    Refused(lambda: In["f31"], "ArgumentError WSP1262", "write one of f16, bf16, f8e4m3, f8e5m2, f32,"),
    Refused(lambda: Scalar[f32], "ArgumentError WSP1262", "write `Scalar`, which is `u32`"),
    Refused(lambda: Tensor["n", 4], "TraceError WSP1028", "element types of `pto_wsp`"),
    Refused(lambda: Tensor[f32], "TraceError WSP1028", "say its extents"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"line {case.call.__code__.co_firstlineno}")
def test_a_wrong_value_is_refused_at_its_line(case: Refused):
    with pytest.raises(errors.WspError) as caught:
        case.call()
    error = caught.value
    assert f"{type(error).__name__} {error.code}" == case.what, str(error)
    assert (error.file, error.line) == (__file__, case.call.__code__.co_firstlineno), str(error)
    assert case.help in "\n".join(error.help), str(error)
