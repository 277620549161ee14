"""Schedules: that every method reaches the IR, that keys are traced to the loops that they name, and what is
refused.
"""

from __future__ import annotations

import linecache
import re

import pytest
from declared import Declared, counted_methods, document, ir
from misuse import copies, rows
from pto_wsp import (
    Deps,
    DispatchPolicy,
    P,
    Pools,
    Ragged,
    ReadyPolicy,
    StartPolicy,
    Table,
    TaskWindow,
    TimingPolicy,
    TracePolicy,
    _core,
    combine,
    errors,
    f32,
    i64,
    table,
    tensor,
    workload,
)
from test_workload_errors import catalogue

gemm = Declared("gemm", "inout x, k", unit="cube", cost=lambda k: 10 * k + 1)
copy = Declared("copy", "inout x", cost=7)
X = tensor(("batch", "heads"), f32)
LENS = table(length="batch")


@workload
def attention(batch, heads):
    for b, h in P(batch, heads):
        gemm[b, h](X[b, h], h)


def schedule(w) -> list[str]:
    """The statements of a schedule."""
    text = ir(w)
    return [line.strip() for line in text[text.index("schedule {") :].splitlines()[1:-1]]


def key(w) -> str:
    """The key of the only directive, `dispatch(affinity(…))`."""
    (line,) = schedule(w)
    return re.fullmatch(r"dispatch\(affinity\((.*)\)\);", line).group(1)


def affinity(w, function) -> str:
    return key(w.dispatch(DispatchPolicy.affinity(function)))


def test_the_first_sample_of_document_003_runs_as_printed():
    from pto_wsp import workload, P, Deps, ReadyPolicy, StartPolicy, TracePolicy  # noqa: F401, I001

    # FIFO execution (pto-isa-lh compatible)
    program = (workload()
        .task_graph(
            deps=Deps.infer_tensor_map_exact(),
            ready=ReadyPolicy.fifo(),
            start=StartPolicy.after_orchestration(),
        )
        .compile())  # fmt: skip

    assert program.execute().num_tasks == 0
    assert "FIFOReadyQueue" in program.explain()


def test_the_second_sample_of_document_003_runs_as_printed():
    from pto_wsp import workload, P, Deps, ReadyPolicy, StartPolicy, TracePolicy  # noqa: F401, I001

    # Work-stealing execution
    program = (workload()
        .task_graph(
            deps=Deps.infer_tensor_map_exact(),
            ready=ReadyPolicy.work_steal(),
            start=StartPolicy.immediate(),
        )
        .compile())  # fmt: skip

    assert program.execute().num_tasks == 0
    assert "WorkStealingQueueSet" in program.explain()


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        (lambda w: w.dispatch(DispatchPolicy.round_robin()), ["dispatch(round_robin);"]),
        (lambda w: w.dispatch(DispatchPolicy.work_steal()), ["dispatch(work_steal);"]),
        (lambda w: w.dispatch(DispatchPolicy.hash("batch")), ["dispatch(hash(batch_axis));"]),
        (
            lambda w: w.dispatch(DispatchPolicy.static_partition([(0, 4), (4, 9)])),
            ["dispatch(static_partition([0..4, 4..9]));"],
        ),
        (
            lambda w: w.dispatch_threshold(
                lambda t: LENS[t.batch], [8, 64], ["vector", "cube", DispatchPolicy.round_robin()]
            ).task_graph(pools=Pools.by_unit(2, 1)),
            [
                "dispatch_threshold(LENS[batch_axis], [8, 64], [vector, cube, round_robin]);",
                "task_graph(pools = by_unit(2, 1));",
            ],
        ),
        (lambda w: w.streams(4).stream_by(lambda t: t.h), ["streams(4);", "stream_by(heads_axis);"]),
        (
            lambda w: w.pipeline_depth(2).pipeline_depth(3, "per_pool"),
            ["pipeline_depth(2);", "pipeline_depth(3, per_pool);"],
        ),
        (
            lambda w: w.task_graph(ready=ReadyPolicy.work_steal()).core_groups(2),
            ["task_graph(ready = work_steal);", "core_groups(2);"],
        ),
        (
            lambda w: w.task_graph(ready=ReadyPolicy.priority()).priority(lambda t: -t.b),
            ["task_graph(ready = priority);", "priority(-batch_axis);"],
        ),
        (
            lambda w: w.task_graph(
                deps=Deps.hybrid(), window=TaskWindow(8, "abort"), start=StartPolicy.threshold(9)
            ),
            ["task_graph(deps = hybrid, window = (8, abort), start = threshold(9));"],
        ),
        (
            lambda w: w.task_graph(window=16, pools=Pools.by_unit(2, 1)),
            ["task_graph(window = (16, stall), pools = by_unit(2, 1));"],
        ),
        (lambda w: w.task_graph(trace=TracePolicy.cycles()), ["task_graph(trace = measured);"]),
        (lambda w: w.timing(TimingPolicy.batched(4)), ["timing(batched(4));"]),
        (lambda w: w.spatial_map(grid=(4, 2)), ["spatial_map(4, 2);"]),
        (
            lambda w: w.spatial_map(grid=(4, 2)).layout("X", ["x", "replicate"], pending=["y"]),
            ["layout(X, [shard(x), replicate], pending(y));"],
        ),
        (
            lambda w: w.spatial_map(grid=(4, 2)).relayout("X", ["replicate", "y"]),
            ["relayout(X, [replicate, shard(y)]);"],
        ),
    ],
)
def test_every_method_reaches_the_ir(said, lines):
    found = schedule(said(attention))
    joined = " ".join(found)
    for line in lines:
        plain = re.sub(r"\W+", " ", line)
        assert plain in re.sub(r"\W+", " ", joined), found


@pytest.mark.parametrize("method", counted_methods())
def test_a_method_that_takes_a_number_reaches_the_ir(method):
    said = getattr(attention, method)(2)
    assert f"{method}(2);" in schedule(said.task_graph(ready=ReadyPolicy.work_steal()))
    with pytest.raises(errors.ScheduleError):
        getattr(attention, method)("2")


def test_schedules_are_immutable():
    base = attention.streams(2)
    assert [d.what for d in base.directives] == ["streams"] and attention.directives == ()
    left, right = base.batch_deps(2), base.priority(lambda t: 0)
    assert [d.what for d in left.directives] == ["streams", "batch_deps"]
    assert [d.what for d in right.directives] == ["streams", "priority"]
    assert [d.what for d in base(batch=4).directives] == ["streams"]


# Keys.


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda t: t.batch, "batch_axis"),
        (lambda t: t.b, "batch_axis"),
        (lambda t: t.get("batch"), "batch_axis"),
        (lambda t: t["h"], "heads_axis"),
        (lambda t: t.get("batch") * 8 + t.h, "batch_axis * 8 + heads_axis"),
        (lambda t: (t.b + t.h) % 4, "(batch_axis + heads_axis) % 4"),
        (lambda t: LENS[t.batch], "LENS[batch_axis]"),
        (lambda t: t.b * t.size("heads") + t.h, "batch_axis * heads + heads_axis"),
        (lambda t: P.select(t.b > 2, t.h, 0), "batch_axis > 2 ? heads_axis : 0"),
        (lambda t: 3, "3"),
        ("batch", "batch_axis"),
    ],
)
def test_keys(function, expected):
    assert affinity(attention, function) == expected


def test_a_key_names_a_bound_axis():
    assert affinity(attention(batch=4, heads=2), lambda t: t.batch) == "batch"


def test_a_key_names_a_loop_over_an_expression():
    @workload
    def w(n):
        for i in P(n // 64):
            copy(X[i])

    assert affinity(w, lambda t: t.i) == "i" and "axis i = dense(n / 64);" in ir(
        w.dispatch(DispatchPolicy.affinity("i"))
    )


def test_a_key_names_a_table_that_is_a_parameter():
    @workload
    def w(batch, lens: Table[i64, "batch"], tok: Ragged[i64, "batch"]):
        for b in P(batch):
            for t in P(tok):
                copy[t](X[b])
            copy[lens[b]](X[b])

    assert affinity(w, lambda t: t.lens[t.batch]) == "lens[batch_axis]"
    assert affinity(w, lambda t: t.tok) == affinity(w, lambda t: t.t) == "tok_axis"


def test_two_loops_over_one_axis_are_told_apart_by_their_variables():
    """`t.b` is the outer loop, although the inner one runs over the same axis."""

    @workload
    def w(batch):
        for b in P(batch):
            for c in P(batch):
                copy[b, c](X[b])

    found = document(w.dispatch(DispatchPolicy.affinity(lambda t: t.b)))["workload"]
    outer = found["workloads"][0]["body"][0]
    inner = outer["body"][0]
    named = found["schedules"][0]["directives"][0]["policy"]["key"]["id"]
    assert outer["over"]["id"] == named and inner["over"]["id"] != named


def test_loops_of_one_name_side_by_side():
    """One name, two axes: the index of the loop that is around the task."""

    @workload
    def w(n, m):
        for i in P(n):
            copy(X[i])
        for i in P(m):
            copy(X[i])

    assert affinity(w, lambda t: t.i) == "n_axis + m_axis"


def test_cycles_are_traced_per_kernel():
    @workload
    def w(batch):
        for b in P(batch):
            gemm[b](X[b, 0], b)
            copy(X[b])

    costs = {"gemm": lambda t: 3 * t.k + t.coord(0), "copy": lambda t: t.cost}
    traced = w.task_graph(trace=TracePolicy.cycles(lambda t: costs[t.kernel](t)))
    text = ir(traced)
    assert "on cube cost 3 * k + coord0;" in text and "copy(inout x) cost 7;" in text
    assert "on cube cost 10 * k + 1;" in ir(w)


# What is refused.

CASES: list = []


def case(code, *texts):
    def add(function):
        CASES.append(pytest.param(code, texts, function, id=f"{code}-{function.__name__}"))
        return function

    return add


@case(1200, "said first here")
def twice():
    attention.streams(2).streams(4)  # HERE


@case(1200)
def setting_twice():
    attention.task_graph(ready=ReadyPolicy.fifo()).task_graph(ready=ReadyPolicy.auto())  # HERE


@case(1201, "lambda t: t.batch", "opaque")
def key_with_hash():
    DispatchPolicy.affinity(lambda t: hash(t.batch))  # HERE


@case(1201)
def key_with_a_dictionary():
    attention.priority(lambda t: {0: 1}[t.batch])  # HERE


@case(1201)
def key_with_if():
    attention.stream_by(lambda t: 1 if t.batch > 2 else 0)  # HERE


@case(1201)
def key_with_float():
    attention.stream_by(lambda t: t.batch * 0.5)  # HERE


@case(1201)
def key_from_text():
    attention.stream_by(lambda t: len(f"{t.batch + 1}"))  # HERE


@case(1202, "ZeroDivisionError")
def key_that_raises():
    attention.stream_by(lambda t: 1 // 0)  # HERE


@case(1202, "not an integer")
def key_of_text():
    attention.stream_by(lambda t: "batch")  # HERE


@case(1203, "`b`, `batch`, `h`, `heads`")
def key_of_an_unknown_loop():
    ir(attention.stream_by(lambda t: t.bath))  # HERE


@case(1203)
def key_of_an_unknown_size():
    ir(attention.stream_by(lambda t: t.size("n")))  # HERE


@case(1204)
def key_of_nested_loops_of_one_name():
    @workload
    def w(n, m):
        for i in P(n):
            for i in P(m):
                copy(X[i])

    ir(w.stream_by(lambda t: t.i))  # HERE


@case(1205, "this loop")
def key_of_a_triangular_loop():
    @workload
    def w(n):
        for i in P(n):
            for j in P(i):
                copy(X[j])

    ir(w.stream_by(lambda t: t.j))  # HERE


@case(1206, "per kernel")
def key_with_the_kernel():
    attention.stream_by(lambda t: t.kernel)  # HERE


@case(1207, "outermost")
def part_with_a_schedule():
    combine(attention.streams(2), attention)  # HERE


@case(1208, "1 to 65536")
def no_streams():
    attention.streams(0)  # HERE


@case(1208, "`stall`")
def unknown_window_mode():
    TaskWindow(8, "wait")  # HERE


@case(1208)
def unknown_scope():
    attention.pipeline_depth(2, "stream")  # HERE


@case(1209, "ReadyPolicy.fifo()")
def policy_of_another_kind():
    attention.task_graph(ready=StartPolicy.immediate())  # HERE


@case(1209)
def lambda_for_a_policy():
    attention.dispatch(lambda t: t.batch)  # HERE


@case(1210, "`k`")
def cycles_of_a_loop():
    ir(attention.task_graph(trace=TracePolicy.cycles(lambda t: t.batch)))  # HERE


def guarded(t):
    try:
        return 1 if t.b > 2 else 0  # HERE
    except Exception:
        return 0


@case(1201, "opaque")
def key_that_catches_what_python_cannot_do():
    ir(attention.priority(guarded))


@case(1211, "one policy more")
def as_many_bounds_as_policies():
    attention.dispatch_threshold(lambda t: t.b, [1, 2], ["vector", "cube"])  # HERE


@pytest.mark.parametrize(("code", "texts", "function"), CASES)
def test_misuse(code, texts, function):
    with pytest.raises(errors.ScheduleError) as caught:
        function()
    error = caught.value
    assert error.code == f"WSP{code}", str(error)
    for text in texts:
        assert text in str(error), str(error)
    assert error.line is not None and "HERE" in linecache.getline(__file__, error.line), str(error)


def test_every_code_is_provoked():
    thrown_away = {1212}  # a warning, provoked by the tests of what is thrown away
    assert {entry.values[0] for entry in CASES} | thrown_away == catalogue(1200, 1219)


def test_priority_without_its_ready_policy_is_refused_by_the_compiler():
    with pytest.raises(errors.ScheduleError) as caught:
        attention.priority(lambda t: t.b).compile()
    assert caught.value.code == "WSP0786" and "priority" in linecache.getline(__file__, caught.value.line)


@pytest.mark.parametrize(
    ("scheduled", "help"),
    [
        (lambda: attention.priority(lambda t: t.b), ".task_graph(ready=ReadyPolicy.priority())"),
        (lambda: attention.stream_by(lambda t: t.b), ".streams(4)"),
        (lambda: attention.pipeline_depth(2, "per_stream"), ".streams(4)"),
        (lambda: attention.timing(TimingPolicy.batched(3)), ".batch_deps(3)"),
        (lambda: attention.timing(TimingPolicy.interleaved(3)), ".streams(3)"),
        (lambda: attention.timing(TimingPolicy.rate_limit(3)), ".pipeline_depth(3)"),
    ],
)
def test_the_compiler_says_what_to_write_in_python(scheduled, help):
    with pytest.raises(errors.ScheduleError) as caught:
        scheduled().compile()
    assert any(f"`{help}`" in each for each in caught.value.help), caught.value.help


def test_texts_of_thresholds_say_what_is_wrong():
    for bounds, policies, message, help in (
        ([2, 1], ["vector", "cube", "any"], "do not increase: 2 stands before 1", "`[1, 2]`"),
        ([1, 2], ["vector", "cube"], "bounds [1, 2] and 2 policies", "3 for these"),
        ([], ["vector"], "bounds [] and 1 policies", ".dispatch(policy)"),
    ):
        with pytest.raises(errors.ScheduleError) as wrong:
            attention.dispatch_threshold(lambda t: t.b, bounds, policies)
        assert wrong.value.code == "WSP1211"
        assert message in wrong.value.message and help in wrong.value.help[0]


def test_ranges_are_those_that_hold():
    limits = _core.LIMITS
    assert attention.task_graph(window=limits["MAX_TASK_WINDOW"]).compile()
    for call, most in (
        (lambda n: attention.task_graph(window=n).directives, limits["MAX_TASK_WINDOW"]),
        (lambda n: Pools.by_unit(vector=n, cube=1), limits["MAX_THREADS"]),
        (lambda n: attention.compile(num_aicpus=n), limits["MAX_RUN_AICPUS"]),
        (lambda n: attention.compile(num_threads=n), limits["MAX_THREADS"]),
    ):
        call(most)
        with pytest.raises(errors.WspError) as wrong:
            call(most + 1)
        assert f"to {most}" in wrong.value.help[0]


@pytest.mark.parametrize(
    ("wrong", "code", "help"),
    [
        (
            lambda: attention.dispatch_threshold("b", [1], ["vector", "cube"]).compile(),
            "WSP0786",
            ".task_graph(pools=Pools.by_unit(vector=1, cube=1))",
        ),
        (
            lambda: attention.dispatch(DispatchPolicy.static_partition([(0, 1), (2, 3)])).compile(),
            "WSP0785",
            "`[(0, 10), (10, 20)]`",
        ),
        (lambda: attention.stream_by("b").compile(), "WSP0786", "`.streams(4)`"),
        (lambda: attention.priority("b").compile(), "WSP0786", "ReadyPolicy.priority()"),
        (lambda: attention.timing(TimingPolicy.batched(3)).compile(), "WSP0415", "`.batch_deps(3)`"),
    ],
)
def test_advice_is_in_python(wrong, code, help):
    with pytest.raises(errors.ScheduleError) as found:
        wrong()
    assert found.value.code == code and help in found.value.help[0]


def test_a_method_that_is_called_with_other_arguments_shows_its_own():
    with pytest.raises(errors.ScheduleError, match="wndow") as wrong:
        attention.task_graph(wndow=3)
    assert ".task_graph(deps, window, pools, ready, start, trace)" in wrong.value.help[0]


def test_a_grid_of_tiles_changes_no_result_and_is_counted():
    x, found = rows(96) * 3, []
    for scheduled in (copies, copies.spatial_map(grid=(3, 1)).layout("Y", ["x", "replicate"])):
        y = rows(96)
        stats = scheduled.compile(num_threads=2).execute(X=x, Y=y)
        found.append((y.tobytes(), stats.details["grid"]))
    (plain, nothing), (placed, lines) = found
    assert plain == placed == x.tobytes()
    assert (nothing, lines) == ([], ["tiles (0, 0) to (2, 0): tasks 2, 2, 2"])
