"""Findings of the compiler and of runs say what to type in Python: each is forced here."""

from __future__ import annotations

import errno
import importlib.util
from array import array
from pathlib import Path

import numpy as np
import pytest
from pto_wsp import (
    Channel,
    Deps,
    DispatchPolicy,
    In,
    Out,
    P,
    Pools,
    ReadyPolicy,
    Scalar,
    Slot,
    StartPolicy,
    Table,
    TaskGraph,
    TaskWindow,
    TimingPolicy,
    TracePolicy,
    errors,
    f16,
    f32,
    i64,
    kernel,
    load,
    pto,
    python_kernel,
    table,
    tensor,
    workload,
)

X = tensor(("rows", 8), f32)
Y = tensor(("rows", 8), f32)
AGAIN = Slot(1)
PIPE = Channel((1, 8), f32, depth=1)


@kernel
def twice(x: In, y: Out):
    pto.store(y, pto.load(x) * 2.0)


@python_kernel
def stop(again: Out):
    again[0] = 0


@workload
def rows_of(rows):
    for i in P(rows):
        twice[i](X[i : i + 1], Y[i : i + 1])


@workload
def in_order(rows):
    for i in P.seq(rows):
        twice[i](X[i : i + 1], Y[i : i + 1])


@workload
def into_one(rows):
    twice[0](X[0:1], Y[0:1])
    twice[1](X[1:2], Y[0:1])


@workload
def overlapping(rows):
    twice[0](X[0:1], Y[0:1])
    twice[1](X[0:2], Y[0:2])


@workload
def after(rows):
    first = twice[0](X[0:1], Y[0:1])
    twice[1](X[1:2], Y[1:2], after=[first])


@workload
def divided(rows, by):
    for i in P(rows):
        twice[i](X[i // by : i // by + 1], Y[i : i + 1])


@workload
def past_the_end(rows):
    for i in P(rows):
        twice[i](X[i : i + 2], Y[i : i + 2])


@workload
def endless(rows):
    for _ in P.loop(AGAIN > 0, 3):
        twice(X[0:1], Y[0:1])


@workload
def until_stopped(rows):
    for _ in P.loop(AGAIN > 0, 3):
        stop(AGAIN)


@workload
def sends_only(rows):
    with P.pipe():
        with P.process("load"):
            for i in P(rows):
                with PIPE.send() as slot:
                    twice[i](X[i : i + 1], slot)
        with P.process("idle"):
            pass


def arrays():
    return {"X": np.ones((4, 8), np.float32), "Y": np.zeros((4, 8), np.float32)}


def run(w, **sizes):
    """What runs a workload that is compiled with these options."""

    def called(**options):
        return lambda: w.compile(**options).execute(**arrays(), **sizes)

    return called


CASES = [
    ("WSP0811", "P.max(n, 1)", run(divided, by=0)()),
    ("WSP0813", "P.min", run(past_the_end)()),
    ("WSP0815", "max_rounds", run(endless)()),
    ("WSP0831", "end at 4", run(rows_of.dispatch(DispatchPolicy.static_partition([(0, 2)])))()),
    ("WSP0854", "`execute`", lambda: until_stopped.compile().graph(rows=1)),
    (
        "WSP0859",
        ".task_graph(window=TaskWindow(n))",
        run(in_order.task_graph(window=TaskWindow(1, "abort")))(),
    ),
    ("WSP0860", "Deps.hybrid()", run(into_one.task_graph(deps=Deps.explicit()))()),
    (
        "WSP0860",
        "Deps.infer_bytes_overlap()",
        run(overlapping.task_graph(deps=Deps.infer_tensor_map_exact()))(),
    ),
    (
        "WSP0864",
        "TracePolicy.measured()",
        run(rows_of.task_graph(trace=TracePolicy.cycles(lambda t: 5)))(),
    ),
    (
        "WSP0864",
        "leave out `num_threads`",
        run(rows_of.task_graph(pools=Pools.by_unit(vector=1, cube=1)))(num_threads=3),
    ),
    (
        "WSP0894",
        "num_aicpus=2",
        run(rows_of.dispatch(DispatchPolicy.static_partition([(0, 2), (2, 4)])))(num_aicpus=1),
    ),
    ("WSP0400", 'target="cpu_sim"', lambda: rows_of.compile(target="none at all")),
]


@pytest.mark.parametrize(("code", "help", "wrong"), CASES, ids=[f"{code}-{help}" for code, help, _ in CASES])
def test_a_failure_says_what_to_type(code, help, wrong):
    with pytest.raises(errors.WspError) as found:
        wrong()
    assert found.value.code == code
    assert any(help in each for each in found.value.help), found.value.help


def test_notes_say_what_to_type():
    started = rows_of.task_graph(start=StartPolicy.threshold(100), window=2).compile()
    for notes, code, help in (
        (after.compile().notes, "WSP0787", ".task_graph(deps=Deps.hybrid())"),
        (sends_only.compile().notes, "WSP0791", "with PIPE.consume() as slot:"),
        (started.execute(**arrays()).notes, "WSP0833", "a window of 4 or more"),
    ):
        (note,) = notes
        assert code in note and help in note
        assert "schedule {" not in note and "consume PIPE as" not in note


UNIT = """
extern X: f32[8]
extern Y: f32[8]
arg n: i64
TG_BEGIN(D)
  TG_KERNEL(K, copy_entry, 1, AIV, 0)
  MC_BIND(K, 0, X)
  MC_BIND(K, 1, Y)
TG_END(D)
"""


def copying() -> TaskGraph:
    graph = TaskGraph.from_text(UNIT)
    graph.kernel("copy_entry", In[f32], Out[f32])(lambda block, x, y: y.__setitem__(slice(None), x))
    return graph


@pytest.mark.parametrize(
    ("code", "help", "wrong"),
    [
        (
            "WSP1540",
            '@graph.kernel("copy_entry"',
            lambda x: TaskGraph.from_text(UNIT).run(x, scalars={"n": 1}),
        ),
        ("WSP1544", "graph.run(…, memory=BYTES)", lambda x: copying().run(x, scalars={"n": 1}, memory=8)),
        ("WSP1546", 'graph.run({"X": array})', lambda x: copying().run(scalars={"n": 1})),
        ("WSP1547", 'scalars={"n": 1}', lambda x: copying().run(x)),
    ],
)
def test_a_failure_of_a_task_graph_says_what_to_type(code, help, wrong):
    with pytest.raises(errors.WspError) as found:
        wrong({"X": np.ones(8, np.float32)})
    assert found.value.code == code and help in found.value.help[0]


BY_RANGE = {
    "P.range(rows)": range(40),
    "P.range(2, rows)": range(2, 40),
    "P.range(0, rows, 16)": range(0, 40, 16),
    "P.range(3, rows, 16)": range(3, 40, 16),
    "Dense[1:rows:7]": range(1, 40, 7),
}


@pytest.mark.parametrize("loop", BY_RANGE)
def test_the_loop_that_is_advised_for_a_range_does_what_the_range_says(loop, tmp_path):
    """The advice is put in the place of the loop, and run."""

    def of(index: int, statement: str):
        file = tmp_path / f"ranges_{index}.py"
        file.write_text(
            "from pto_wsp import Dense, Out, P, f32, tensor, python_kernel, workload\n"
            'Y = tensor(("rows", 1), f32)\n'
            "@python_kernel\ndef one(y: Out):\n    y[...] = 1\n"
            f"@workload\ndef w(rows):\n    {statement}\n        one(Y[i : i + 1])\n"
        )
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.w

    with pytest.raises(errors.TraceError) as wrong:
        of(0, f"for i in {loop}:").compile()
    (help,) = wrong.value.help
    y = np.zeros((40, 1), np.float32)
    of(1, help.split("`")[1]).compile().execute(Y=y)
    assert np.nonzero(y[:, 0])[0].tolist() == list(BY_RANGE[loop])


@kernel
def scaled(x: In, y: Out, n: Scalar):
    pto.store(y, pto.load(x) * n)


@kernel
def halved(x: In, y: Out):
    pto.store(y, pto.load(x).astype(f16))


def of(call):
    """What compiles a workload of one loop."""

    @workload
    def w(rows):
        for i in P(rows):
            call(i)

    return w.compile


@workload
def of_a_table(n, t: Table[i64, ...]):
    for i in P(n):
        scaled[i](X[i : i + 1], Y[i : i + 1], t[i])


@workload
def of_a_chain(rows):
    for i in P(rows):
        condition = i >= 0
        for j in range(200):
            condition = condition & (i + j >= 0)
        with P.when(condition):
            twice[i](X[i : i + 1], Y[i : i + 1])


def given(**named):
    return lambda: rows_of.compile().execute(**{**arrays(), **named})


MISTAKES = [
    ("WSP1250", "`t=[5]`", lambda: of_a_table.compile().execute(**arrays(), t=5)),
    ("WSP1250", "a list of integers", lambda: of_a_table.compile().execute(**arrays(), t={0: 1})),
    ("WSP1250", "np.load(path)", given(X="x.npy")),
    ("WSP1250", "program.execute(**X)", given(X={"X": np.ones(3)})),
    ("WSP1250", "sorted(X)", given(X={1.0, 2.0})),
    ("WSP1252", "np.frombuffer(Y, np.float32).copy()", given(Y=bytearray(128))),
    ("WSP1252", "np.asarray(Y).astype(np.float32)", given(Y=array("i", [0] * 128))),
    ("WSP1252", "np.asarray(Y).astype(np.float32)", given(Y=memoryview(array("d", [0] * 128)))),
    ("WSP1022", "annotate the parameter `In`", of(lambda i: scaled[i](X[i], Y[i], X))),
    ("WSP1111", "pto.cast(tile, f16)", of(lambda i: halved[i](X[i : i + 1], Y[i : i + 1]))),
    ("WSP1034", "with P.when(a), P.when(b):", of_a_chain.compile),
    ("WSP1250", "`np.uint32` for integers", given(X={1, 2})),
    ("WSP1034", "give it numbers of that range", lambda: table([2**63])),
    ("WSP1208", "1 to 1048576", lambda: rows_of.batch_deps(0)),
    ("WSP1208", "1 to 1048576", lambda: rows_of.timing(TimingPolicy.batched(2**32 - 1))),
    ("WSP1260", "bound.rebind(", lambda: rows_of.compile().bind(**arrays())(X=1)),
    ("WSP1260", "bound.rebind(", lambda: rows_of.compile().bind(**arrays())(1)),
    (
        "WSP0864",
        "leave out `num_aicpus`",
        lambda: rows_of.core_groups(2).task_graph(ready=ReadyPolicy.work_steal()).compile(num_aicpus=2),
    ),
    (
        "WSP0819",
        "-2147483648 to 2147483647",
        lambda: (
            rows_of.task_graph(ready=ReadyPolicy.priority())
            .priority(lambda t: 2**31 + t.i)
            .compile()
            .execute(**arrays())
        ),
    ),
    ("WSP1262", "with `@workload`", lambda: copying().use("tasks.wsp")),
    ("WSP1222", "no target has a grid", lambda: rows_of.compile(grid=(2, 2))),
]


@pytest.mark.parametrize(
    ("code", "help", "wrong"), MISTAKES, ids=[f"{code}-{help}" for code, help, _ in MISTAKES]
)
def test_a_mistake_is_answered_with_what_to_write(code, help, wrong):
    with pytest.raises(errors.WspError) as found:
        wrong()
    assert found.value.code == code
    assert any(help in each for each in found.value.help), found.value.help


def test_options_that_every_value_of_is_refused_are_not_listed():
    with pytest.raises(errors.CompileError) as found:
        rows_of.compile(threads=3)
    (options,) = found.value.notes
    assert "`num_threads`" in options and "num_streams" not in options and "grid" not in options


def test_a_parameter_of_a_file_is_given_to_a_run(tmp_path):
    file = tmp_path / "k.pto"
    file.write_text((Path(__file__).parents[2] / "examples" / "row_softmax.pto").read_text())
    with pytest.raises(errors.CompileError) as found:
        load(file).program(eps=1e-3)
    assert "program.execute(eps=…)" in found.value.help[0]


def test_arrays_of_a_cache_are_given_in_a_dictionary():
    file = Path(__file__).parents[2] / "examples" / "attention" / "decode.pto"
    with pytest.raises(errors.WspError) as found:
        load(file).program(schedule="Fixed").plan({"q": tensor((1, 8, 1, 64), f16)})
    assert '`"kv.k": …`' in " ".join(found.value.help)


def test_a_full_disk_is_told_as_one(monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    program = rows_of.compile(enable_profiling=True)
    program.execute(**arrays())
    monkeypatch.setattr("builtins.open", full)
    with pytest.raises(errors.ArgumentError) as found:
        program.trace("trace.json")
    assert found.value.code == "WSP0509" and "make room there" in found.value.help[0]


def test_a_window_that_overflows_says_its_figures() -> None:
    schedule = in_order.task_graph(window=TaskWindow(2, "abort"), start=StartPolicy.after_orchestration())
    with pytest.raises(errors.WindowOverflow) as raised:
        run(schedule)()()
    assert (raised.value.capacity, raised.value.active, raised.value.task) == (2, 2, 2)
    assert raised.value.diagnostics[0].figures == {"capacity": 2, "active": 2, "task": 2}
