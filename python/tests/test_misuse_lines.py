"""Mistakes in a line each, at which the error stands: its class, its code, what its help begins with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from misuse import X, Y, copies, copy
from pto_wsp import (
    BatchDecode,
    Buffer,
    Channel,
    OnDeviceGenerator,
    P,
    Slot,
    TaskGraph,
    empty,
    errors,
    f16,
    f32,
    kernel,
    load,
    python_kernel,
    sequential,
    table,
    tensor,
    tile,
    zeros,
)

DECODE = Path(__file__).resolve().parents[2] / "examples/attention/decode.pto"
PROGRAM = copies.compile()
PAGES = {"head_dim": 64, "page_size": 16}
UNIT = TaskGraph.from_text("extern X: f32[4]\n")
x, y = np.zeros((16, 64), np.float32), np.zeros((16, 64), np.float32)

Mistake = tuple[Callable[[], object], type[errors.WspError], str, str]

MISTAKES: list[Mistake] = [
    (lambda: P(np.float32(3.0)), errors.TraceError, "WSP1020", "put it into a function under `@workload`,"),
    (lambda: P.range(0, 10, 0), errors.TraceError, "WSP1014", "steps are at least 1; count backwards with"),
    (
        lambda: P.range(1, 2, 3, 4),
        errors.ArgumentError,
        "WSP1273",
        "its parameters: `P.range(start, end=None,",
    ),
    (lambda: copies.streams("2"), errors.ScheduleError, "WSP1208", "give an int from 1 to 65536"),
    (lambda: copies.streams(np.float64(2)), errors.ScheduleError, "WSP1208", "give an int from 1 to 65536"),
    (lambda: copies.task_graph(window="8"), errors.ScheduleError, "WSP1209", "write `TaskWindow(8192)`"),
    (
        lambda: copies.task_graph(deps="hybrid"),
        errors.ScheduleError,
        "WSP1209",
        "write `Deps.infer_bytes_overlap()`",
    ),
    (lambda: copies.task_graph(ready="fifo"), errors.ScheduleError, "WSP1209", "write `ReadyPolicy.fifo()`"),
    (lambda: copies.compile(num_threads=1.5), errors.CompileError, "WSP1221", "give an int from 0 to 1024"),
    (lambda: copies.compile(target="cuda"), errors.CompileError, "WSP0400", 'write `target="cpu_sim"`'),
    (lambda: copies.compile(target=None), errors.CompileError, "WSP1221", 'write `target="cpu_sim"`'),
    (
        lambda: copies.compile(cache=5),
        errors.CompileError,
        "WSP1221",
        'give the path of a folder: `cache="plans"`',
    ),
    (
        lambda: copies.compile(seed="1"),
        errors.CompileError,
        "WSP1221",
        "give an int from 0 to 18446744073709551615",
    ),
    (lambda: copies.compile(threads=3), errors.CompileError, "WSP1220", "did you mean `num_threads`?"),
    (
        lambda: PROGRAM.execute(n=-1, X=x, Y=y),
        errors.ArgumentError,
        "WSP1261",
        "leave `n` out, which follows from `X`, or",
    ),
    (
        lambda: PROGRAM.execute(n=[1], X=x, Y=y),
        errors.ArgumentError,
        "WSP1262",
        "give an integer: `n=128`; the value given",
    ),
    (lambda: PROGRAM.execute(X=x, Y=y, Z=y), errors.ArgumentError, "WSP1260", "it takes `X`, `Y`, `n`"),
    (
        lambda: PROGRAM.execute(X=x, Y="y"),
        errors.ArgumentError,
        "WSP1250",
        "give the array of the file: `Y =",
    ),
    (
        lambda: PROGRAM.execute(X=x, Y=y, timeout="1"),
        errors.ArgumentError,
        "WSP1262",
        "give seconds, 0 or more:",
    ),
    (
        lambda: PROGRAM.execute(X=x, Y=y, timeout=-2),
        errors.ArgumentError,
        "WSP1262",
        "give seconds, 0 or more:",
    ),
    (lambda: PROGRAM.bind(X=x), errors.ArgumentError, "WSP1259", "give it by name: `Y=…`, f32[n, 64]"),
    (
        lambda: PROGRAM.bind(X=x, Y=y).rebind(Y=y[:, :3]),
        errors.ArgumentError,
        "WSP1253",
        "give it the shape [16, 64]",
    ),
    (lambda: PROGRAM.bind(X=x, Y=y).rebind(Q=y), errors.ArgumentError, "WSP1260", "it takes `X`, `Y`, `n`"),
    (
        lambda: PROGRAM.bind(X=x, Y=y)(3),
        errors.ArgumentError,
        "WSP1260",
        "exchange arrays and sizes before the call:",
    ),
    (
        lambda: PROGRAM.trace("t.txt"),
        errors.CompileError,
        "WSP1224",
        "compile with `enable_profiling=True` and",
    ),
    (lambda: PROGRAM.trace(5), errors.ArgumentError, "WSP1262", "give a string or a `pathlib.Path`:"),
    (
        lambda: PROGRAM.simulate_on("ascend_1"),
        errors.CompileError,
        "WSP1745",
        "take one of them, or write one:",
    ),
    (
        lambda: PROGRAM.simulate_on("ascend_910b", aicpus=-1, n=16),
        errors.CompileError,
        "WSP1264",
        "give an integer from 0 to 65535",
    ),
    (
        lambda: PROGRAM.graph(n=16).critical_path(cost=3),
        errors.ArgumentError,
        "WSP1262",
        "give a function of a task's number, or",
    ),
    (
        lambda: PROGRAM.graph(n=16).name_of(77),
        errors.ArgumentError,
        "WSP1262",
        "give the number of a task, from 0 to 0",
    ),
    (
        lambda: PROGRAM.graph(n=16).name_of("a"),
        errors.ArgumentError,
        "WSP1262",
        "give the number of a task, from 0 to 0",
    ),
    (lambda: table([[1], [2, 3]]), errors.TraceError, "WSP1030", "a table holds integers: `table([3, 1])`;"),
    (lambda: Slot(1 << 70), errors.TraceError, "WSP1034", "compute it in a kernel"),
    (
        lambda: Channel((3,), f32, depth=-1),
        errors.TraceError,
        "WSP1038",
        "it holds tiles, or none: with `depth=0` a",
    ),
    (
        lambda: Channel((3,), "f77", depth=1),
        errors.TraceError,
        "WSP1028",
        "element types of `pto_wsp`: `f16 bf16",
    ),
    (
        lambda: Buffer((3,), np.complex64),
        errors.TraceError,
        "WSP1028",
        "element types of `pto_wsp`: `f16 bf16",
    ),
    (lambda: tensor((3,), "float32x"), errors.TraceError, "WSP1028", "element types of `pto_wsp`: `f16 bf16"),
    (lambda: load("nothere.pto"), errors.ArgumentError, "WSP0500", "give the path of a file that exists;"),
    (
        lambda: load(DECODE).program(max_blocks=0),
        errors.CompileError,
        "WSP1221",
        "give an int from 1 to 4294967295",
    ),
    (
        lambda: load(DECODE).program(kv_layout="ABC"),
        errors.CompileError,
        "WSP1221",
        'give `"NHD"` or `"HND"`',
    ),
    (lambda: load(DECODE).nope, errors.TraceError, "WSP1045", "`repr` of the library lists them"),
    (lambda: BatchDecode(kv_layout="XYZ"), errors.ArgumentError, "WSP1262", 'give `"NHD"` or `"HND"`'),
    (lambda: BatchDecode(num_threads="2"), errors.ArgumentError, "WSP1262", "give an integer from 0 to 1024"),
    (
        lambda: BatchDecode().run(x, (x, x)),
        errors.ArgumentError,
        "WSP1259",
        "say what the batch is first: `plan(indptr,",
    ),
    (
        lambda: BatchDecode().plan([0, 1], [0], [3], q_heads=3, kv_heads=2, **PAGES, dtype=f16),
        errors.ArgumentError,
        "WSP1262",
        "give `q_heads` that are a multiple of",
    ),
    (
        lambda: BatchDecode().plan([0, 2], [0], [3], q_heads=4, kv_heads=2, **PAGES, dtype=f16),
        errors.ArgumentError,
        "WSP0554",
        "`indices` needs at least 2 page ids",
    ),
    (
        lambda: BatchDecode().plan([0, 1], [0], [30], q_heads=4, kv_heads=2, **PAGES, dtype=f16),
        errors.ArgumentError,
        "WSP0556",
        "the last page of each request has 1 to 16",
    ),
    (
        lambda: BatchDecode().plan([0, 1], [0], [3], q_heads=4, kv_heads=2, **PAGES, dtype="i8"),
        errors.ArgumentError,
        "WSP1251",
        "queries and caches are of `f16`, `bf16` or",
    ),
    (
        lambda: BatchDecode().plan(
            [0, 1], [0], [3], q_heads=4, kv_heads=2, **PAGES, dtype=f16, splits="some"
        ),
        errors.ArgumentError,
        "WSP1262",
        'give `"balanced"`, `"whole"`, or the tokens',
    ),
    (
        lambda: BatchDecode().plan([0, 1], [0], [3], q_heads=4, kv_heads=2, **PAGES, dtype=f16, sm_scale="a"),
        errors.ArgumentError,
        "WSP1262",
        "give a finite number that f32 has, or None",
    ),
    (
        lambda: TaskGraph.from_file("none.tg"),
        errors.ArgumentError,
        "WSP0500",
        "paths are relative to the current folder,",
    ),
    (lambda: UNIT.run({"Q": x}), errors.ArgumentError, "WSP0560", "leave `Q` out, or give it the name"),
    (lambda: UNIT.run(3), errors.ArgumentError, "WSP1262", 'write `graph.run({"X": x})`'),
    (lambda: UNIT.run({}, threads=-1), errors.ArgumentError, "WSP1262", "give an integer from 0 to 1024"),
    (
        lambda: OnDeviceGenerator(copies).compile_dispatch(num_aicpus="a"),
        errors.ArgumentError,
        "WSP1262",
        "give an integer from 1 to 1024",
    ),
    (lambda: sequential(3), errors.TraceError, "WSP1031", "write `sequential(first, second)`"),
    (
        lambda: kernel(cost=-1)(lambda x: x),
        errors.KernelError,
        "WSP1101",
        "write a `def`, whose text can be found",
    ),
    (
        lambda: python_kernel("a"),
        errors.KernelError,
        "WSP1101",
        "decorate a function: `@python_kernel` above",
    ),
    (lambda: copy(x, y), errors.TraceError, "WSP1020", "put it into a function under `@workload`,"),
    (lambda: copy[0](X, Y), errors.TraceError, "WSP1020", "put it into a function under `@workload`,"),
    (lambda: tile(0, -4), errors.TraceError, "WSP1027", "tiles have at least 1 index: `tile(i, 64)`"),
    (lambda: zeros(-1, f32), errors.ArgumentError, "WSP1265", "give sizes from 0"),
    (
        lambda: empty((2, 2), None),
        errors.ArgumentError,
        "WSP1251",
        "give one of f16, bf16, f8e4m3, f8e5m2, f32,",
    ),
    (lambda: copies(1, 2, 3), errors.TraceError, "WSP1015", "leave the last one out; a size that is"),
    (lambda: copies(q=3), errors.TraceError, "WSP1015", "its parameters: `n`"),
    (lambda: copies.n, errors.UnknownAttributeError, "WSP1271", "it has `batch_deps`, `compile`,"),
    (lambda: PROGRAM.exec(n=1), errors.UnknownAttributeError, "WSP1271", "did you mean `execute`?"),
    (
        lambda: PROGRAM.plan(X=x),
        errors.ArgumentError,
        "WSP0882",
        "plans are of host entries of `.pto` files:",
    ),
    (
        lambda: PROGRAM.execute(x, y),
        errors.ArgumentError,
        "WSP1260",
        "write `program.execute(X=…, Y=…, n=…)`",
    ),
    (lambda: OnDeviceGenerator(copies).compile("a"), errors.ArgumentError, "WSP1273", "its parameters:"),
    (lambda: PROGRAM.explain(3), errors.ArgumentError, "WSP1273", "its parameters: `Program.explain()`"),
]


@pytest.mark.parametrize(
    ("run", "kind", "code", "help"),
    MISTAKES,
    ids=[f"{code}-{at}" for at, (_, _, code, _) in enumerate(MISTAKES)],
)
def test_a_mistake_is_refused_at_its_line(
    run: Callable[[], object], kind: type, code: str, help: str
) -> None:
    with pytest.raises(errors.WspError) as refused:
        run()
    error = refused.value
    assert type(error) is kind and error.code == code
    assert error.help and error.help[0].startswith(help)
    assert error.file is not None and Path(error.file).name == Path(__file__).name
    assert error.line == run.__code__.co_firstlineno
