"""Programs: compiled, run, bound, listed, simulated and saved."""

from __future__ import annotations

import json
import pickle
import zlib
from pathlib import Path

import numpy
import pytest
from pto_wsp import (
    Buffer,
    Channel,
    Constexpr,
    Deps,
    In,
    InOut,
    Out,
    P,
    Program,
    ReadyPolicy,
    Scalar,
    Slot,
    TracePolicy,
    Workload,
    errors,
    f32,
    kernel,
    load,
    pto,
    python_kernel,
    table,
    tensor,
    tile,
    workload,
)
from test_workload_errors import catalogue

SOFTMAX = Path(__file__).parents[2] / "examples/row_softmax.pto"
X = tensor(("n", 16), f32)
Y = tensor(("n", 16), f32)


@kernel(unit="vector", cost=10)
def scale(x: In, y: Out, factor: Constexpr = 2.0):
    pto.store(y, pto.load(x) * factor)


@python_kernel
def bump(x: InOut, by: Scalar):
    x += by


@workload
def doubled(n):
    for i in P(P.ceildiv(n, 8)):
        scale[i](X[tile(i, 8)], Y[tile(i, 8)])


def arrays(n: int):
    x = numpy.arange(n * 16, dtype=numpy.float32).reshape(n, 16)
    return x, numpy.zeros_like(x)


def test_a_run_writes_arrays_in_place_and_counts():
    program = doubled.compile()
    x, y = arrays(20)
    stats = program.execute(X=x, Y=y)
    assert numpy.array_equal(y, 2 * x)
    assert (stats.num_tasks, stats.run_id, stats.num_streams) == (3, 1, 0)
    assert (
        stats.num_executors >= 1
        and stats.compile_time_ms > 0
        and program.elapsed_ms == stats.execute_time_ms > 0
    )
    assert program.stats is stats and stats.kernels["scale"][0] == 3
    assert program.execute(X=x[:8], Y=y[:8]).run_id == 2


def test_sizes_are_bound_or_follow():
    program = doubled(n=16).compile()
    x, y = arrays(16)
    assert program.execute(X=x, Y=y).num_tasks == 2
    with pytest.raises(errors.ArgumentError):
        program.execute(X=x[:8], Y=y[:8])
    with pytest.raises(errors.ArgumentError):
        doubled.compile().execute(X=x, Y=y, n=8)


def test_what_is_missing_or_surplus():
    program = doubled.compile()
    x, y = arrays(8)
    for given in ({"X": x}, {"X": x, "Y": y, "Z": x}, {"X": x, "Y": y.astype(numpy.float64)}):
        with pytest.raises(errors.ArgumentError):
            program.execute(**given)


def test_async_runs():
    program = doubled.compile()
    x, y = arrays(64)
    run = program.execute_async(X=x, Y=y)
    stats = run.synchronize()
    assert run.is_complete() and program.is_complete() and stats is run.stats and run.elapsed_ms > 0
    assert numpy.array_equal(y, 2 * x)
    program.synchronize()
    bad = program.execute_async(X=x, Y=y)
    bad.cancel()
    try:
        bad.synchronize()
    except errors.ExecutionError:
        pass
    assert bad.is_complete()


def test_bound_programs_and_rebinding():
    program = doubled.compile()
    x, y = arrays(8)
    step = program.bind(X=x, Y=y)
    step()
    assert numpy.array_equal(y, 2 * x)
    x += 1
    step()
    assert numpy.array_equal(y, 2 * x) and step.stats.num_tasks == 1
    larger, result = arrays(32)
    step.rebind(X=larger, Y=result, n=32)
    step.run()
    assert numpy.array_equal(result, 2 * larger) and step.stats.num_tasks == 4


def test_a_program_keeps_what_it_is_rebound_to():
    program = doubled.compile()
    x, y = arrays(8)
    program.rebind(X=x, Y=y)
    assert program.execute().num_tasks == 1
    other, result = arrays(24)
    program.rebind(X=other, Y=result)
    assert program.execute().num_tasks == 3 and numpy.array_equal(result, 2 * other)
    with pytest.raises(errors.ArgumentError, match="no argument"):
        program.rebind(Z=x)


def test_tensors_of_arrays_are_bound_to_them():
    x, y = arrays(8)
    source, target = tensor(x), tensor(y)

    @workload
    def w():
        scale(source, target, 3.0)

    w.compile().execute()
    assert numpy.array_equal(y, 3 * x)


def test_python_kernels():
    @workload
    def w(n):
        for i in P(n):
            bump(X[i], i + 1)

    x, _ = arrays(4)
    expected = x + numpy.arange(1, 5, dtype=numpy.float32)[:, None]
    w.compile().execute(X=x)
    assert numpy.array_equal(x, expected)


def test_buffers_slots_and_conditions():
    counts = table(length="n")

    @workload
    def w(n):
        left = Slot(3)
        temporary = Buffer(("n", 16), f32)
        for i in P(n):
            with P.when(counts[i] > 0):
                scale(X[i], temporary[i])
            with P.otherwise():
                scale(X[i], temporary[i], 0.5)
        for _ in P.loop(left > 0, 10):
            count_down(left)
            for i in P(n):
                add(temporary[i], Y[i])

    x, y = arrays(4)
    stats = w.compile().execute(X=x, Y=y, counts=[1, 0, 1, 0])
    assert numpy.array_equal(y, 3 * x * numpy.array([[2], [0.5], [2], [0.5]], numpy.float32))
    assert stats.slots == {"left": 0} and stats.num_tasks == 4 + 3 * 5


@python_kernel
def count_down(left: InOut):
    left -= 1


@python_kernel
def add(x: In, y: InOut):
    y += x


def test_a_pipeline_passes_tiles():
    ring = Channel((8, 16), f32, depth=2)

    @workload
    def w(n):
        with P.pipe():
            with P.process("first"):
                for i in P(n // 8):
                    with ring.send() as slot:
                        scale(X[tile(i, 8)], slot, 3.0)
            with P.process("second"):
                for i in P(n // 8):
                    with ring.consume() as slot:
                        scale(slot, Y[tile(i, 8)], 5.0)

    x, y = arrays(64)
    w.compile().execute(X=x, Y=y)
    assert numpy.array_equal(y, 15 * x)


def test_a_deadlock_is_an_error_that_says_who_waits():
    a, b = Channel(depth=1), Channel(depth=1)

    @workload
    def w(n):
        with P.pipe():
            with P.process("left"):
                for _i in P(n):
                    with a.consume(), b.send():
                        scale(X[:2], Y[:2])
            with P.process("right"):
                for _i in P(n):
                    with b.consume(), a.send():
                        scale(X[:2], Y[:2])

    x, y = arrays(2)
    with pytest.raises(errors.DeadlockError) as caught:
        w.compile().execute(X=x, Y=y)
    assert "left" in str(caught.value) and "right" in str(caught.value)


def test_explicit_dependences():
    @workload
    def w(n):
        first = scale(X[:4], Y[:4])
        scale(Y[:4], X[:4], after=[first])

    graph = w.task_graph(deps=Deps.explicit()).compile().graph(n=4)
    assert graph.edges.tolist() == [[0, 1]]


def test_graphs_and_simulations():
    program = doubled.task_graph(trace=TracePolicy.cycles(lambda t: 5 * t.cost)).compile(num_threads=1)
    graph = program.graph(n=32)
    assert graph.num_tasks == 4 and graph.num_edges == 0 and graph.edges.shape == (0, 2)
    assert graph.kernels == [("scale", "vector")] and graph.tasks.tolist() == [0, 0, 0, 0]
    simulated = program.simulate(n=32)
    assert simulated.makespan == 4 * 50 and simulated.end.tolist() == [50, 100, 150, 200]


def test_tasks_of_python_kernels_alone_have_a_window_of_their_own():
    @workload
    def bumped(n):
        for i in P(n):
            bump[i](X[i], 1)

    @workload
    def mixed(n):
        bumped(n)
        doubled(n)

    assert "1024 tasks, stall" in bumped.compile().explain()
    assert "4096 tasks, stall" in bumped.task_graph(window=4096).compile().explain()
    assert "8192 tasks, stall" in mixed.compile().explain()
    x, _ = arrays(5000)
    stats = bumped.compile(num_threads=2).execute(X=x)
    assert (stats.num_tasks, x[4999, 0]) == (5000, 4999 * 16 + 1)


def test_explain_says_what_the_target_does_and_ir_what_the_workload_is():
    program = doubled.streams(2).task_graph(ready=ReadyPolicy.fifo()).compile()
    text = program.explain()
    assert "`cpu_sim` runs target `cpu_sim` and takes all of the plan" in text
    assert "streams" in text and "scale" in text and "f32[n, 16]" in text and "FIFOReadyQueue" in text
    assert "policy   fifo\n" in text and "8192 tasks" in text
    stealing = doubled.streams(2).task_graph(window=5).compile(num_threads=3).explain()
    assert "work_steal: `auto` with 3 workers" in stealing and "WorkStealingQueueSet" in stealing
    assert "5 tasks, stall" in stealing
    assert "UnitQueues" in doubled.compile(num_aicpus=2).explain()
    assert "scale(i, X[" in program.ir
    assert repr(program) == "<program doubled(X: f32[n, 16], Y: f32[n, 16], n: size) for cpu_sim>"
    x, y = arrays(8)
    assert program.execute(X=x, Y=y).num_streams == 2


def test_explain_lists_kernels_of_one_function_as_graphs_name_them():
    a, b, c, d = (tensor((2, columns), f32) for columns in (16, 16, 32, 32))

    @workload
    def both():
        for i in P(2):
            scale[i](a[i], b[i])
            scale[i](c[i], d[i])

    program = both.compile()
    names = [name for name, _ in program.graph().kernels]
    rows = [line.split() for line in program.explain().splitlines() if line.endswith(" compiled")]
    assert [row[0] for row in rows] == names == ["scale", "scale_1"]


def test_profiles_are_written(tmp_path):
    program = doubled.compile(enable_profiling=True)
    path = tmp_path / "trace.json"
    x, y = arrays(16)
    program.execute(X=x, Y=y)
    program.trace(path)
    events = json.loads(path.read_text())["traceEvents"]
    assert sum(1 for event in events if event.get("ph") == "X") == 2


def test_traces_are_read_by_the_messages_that_perfetto_publishes(tmp_path):
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

    program = doubled.task_graph(trace=TracePolicy.cycles(lambda t: 5)).compile(num_threads=3)
    program.simulate(n=48)
    packets = []
    events = json.loads(traced(program, tmp_path / "trace.json"))["traceEvents"]
    for outer in perfetto.Trace.FromString(traced(program, tmp_path / "trace.pftrace")).packet:
        packets.extend(perfetto.Trace.FromString(zlib.decompress(outer.compressed_packets)).packet)
    tracks = [packet.track_descriptor for packet in packets if packet.HasField("track_descriptor")]
    names = [track.name or track.process.process_name for track in tracks]
    rows = [f"worker {worker}" for worker in range(3)]
    assert names == ["pto_wsp", *rows, "tasks in flight", "ready tasks"]
    texts, spans = {}, {}
    for packet in packets:
        interned, sequence = packet.interned_data, packet.trusted_packet_sequence_id
        texts.update({(sequence, text.iid): text.name for text in interned.debug_annotation_names})
        words = interned.debug_annotation_string_values
        texts.update({(sequence, text.iid): text.str.decode() for text in words})
        if packet.track_event.type == perfetto.TrackEvent.TYPE_SLICE_BEGIN:
            about = {}
            for annotation in packet.track_event.debug_annotations:
                value = texts.get((sequence, annotation.string_value_iid)) or annotation.uint_value
                about[texts[sequence, annotation.name_iid]] = value
            spans[about["task"]] = about
    slices = {event["args"]["task"]: event["args"] for event in events if event["ph"] == "X"}
    assert spans.keys() == slices.keys() and len(spans) == 6
    for task, about in spans.items():
        same = {key: about.get(key) for key in ("submitted", "ready", "cause", "held_by", "last")}
        assert same == {key: slices[task].get(key) for key in same}
    with pytest.raises(errors.ArgumentError, match="pftrace"):
        program.trace(tmp_path / "trace.txt")


def test_reports_are_pages_that_load_nothing(tmp_path):
    program = doubled.task_graph(trace=TracePolicy.cycles(lambda t: 5)).compile(num_threads=3)
    other = doubled.compile(num_threads=2)
    simulation = program.simulate(n=48)
    path = tmp_path / "report.html"
    program.report(path)
    page = path.read_text()
    assert page.startswith("<!doctype html>") and "default-src 'none'" in page
    assert page.count('<script type="application/octet-stream">') == 1
    with pytest.raises(errors.ArgumentError, match="WSP1757"):
        program.report(path)
    other.simulate(n=32)
    other.trace(tmp_path / "other.pftrace")
    program.report(path, against=tmp_path / "other.pftrace", force=True)
    assert path.read_text().count('<script type="application/octet-stream">') == 2
    for shown in (simulation._repr_html_(), program._repr_html_()):
        assert shown.startswith("<iframe sandbox=") and "&lt;!doctype html&gt;" in shown
    assert doubled.compile()._repr_html_().startswith("<b>program doubled</b>")
    (tmp_path / "cut.pftrace").write_bytes((tmp_path / "other.pftrace").read_bytes()[:-3])
    (tmp_path / "none.json").write_text("{}")
    for code, name in {"WSP1751": "cut.pftrace", "WSP1750": "none.json"}.items():
        with pytest.raises(errors.FormatError, match=code):
            program.report(path, against=tmp_path / name, force=True)


def traced(program, path):
    """What a program writes into a file of a trace."""
    program.trace(path)
    return path.read_bytes()


def test_debugging_runs_on_one_thread_in_order():
    seen = []

    @python_kernel
    def note(x: In, at: Scalar):
        seen.append(at)

    @workload
    def w(n):
        for i in P(n):
            note(X[i], i)

    x, _ = arrays(20)
    stats = w.compile(enable_debug=True).execute(X=x)
    assert seen == list(range(20)) and stats.num_executors == 1


@pytest.mark.parametrize("level", range(4))
def test_levels_give_the_same_result(level):
    x, y = arrays(24)
    doubled.compile(optimization_level=level).execute(X=x, Y=y)
    assert numpy.array_equal(y, 2 * x)


def test_each_option_of_compile_has_its_effect():
    """`enable_debug` and `cache` have tests of their own."""

    def run(**options):
        program = doubled.compile(**options)
        x, y = arrays(64)
        return program, program.execute(X=x, Y=y)

    assert [run(num_threads=n)[1].num_executors for n in (1, 3)] == [1, 3]
    assert run()[1].details["aicpus"] is None
    sent = [run(num_aicpus=2, expand=by)[1].details["aicpus"] for by in ("host", "bytecode")]
    assert [len(of["each"]) for of in sent] == [2, 2]
    assert sent[0]["transfer_bytes"] is None and sent[1]["transfer_bytes"] > 0
    for profiled in (False, True):
        program, _ = run(enable_profiling=profiled)
        assert (program._core.recorded() is not None) == profiled
    plain, fast = (load(SOFTMAX).program(optimization_level=level).explain() for level in (0, 2))
    assert "tile ops  plain" in plain and "tile ops  plain" not in fast

    @workload
    def spread(n):
        for i in P(8):
            scale[i](X[tile(i, 1)], Y[tile(i, 1)])
        for i in P(n - 8):
            scale[i](Y[tile(i % 8, 1)], X[tile(8 + i, 1)])

    stealing = spread.task_graph(ready=ReadyPolicy.work_steal())
    runs = (stealing.compile(num_threads=6, seed=seed).simulate(n=100) for seed in range(6))
    placed = {tuple(run.worker) for run in runs}
    assert len(placed) > 1


def test_programs_on_aicpus():
    x, y = arrays(24)
    program = doubled.compile(num_aicpus=2, expand="bytecode")
    assert program.execute(X=x, Y=y).num_tasks == 3 and numpy.array_equal(y, 2 * x)


# Saving.


def test_saved_programs_run():
    program = doubled.task_graph(ready=ReadyPolicy.work_steal()).compile(num_threads=2, optimization_level=1)
    for again in (Program.from_bytes(program.to_bytes()), pickle.loads(pickle.dumps(program))):
        x, y = arrays(16)
        again.execute(X=x, Y=y)
        assert numpy.array_equal(y, 2 * x)
        assert (
            again.options == program.options
            and repr(again) == repr(program)
            and again.explain() == program.explain()
        )
    assert program.to_bytes() == Program.from_bytes(program.to_bytes()).to_bytes()


def test_damaged_bytes_are_refused():
    data = doubled.compile().to_bytes()
    damaged = [b"", b"PTOWSP", data[:20], data[:-1], data + b"x", b"x" + data[1:], bytes(200)]
    damaged += [data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :] for at in range(0, len(data), 7)]
    for bad in damaged:
        with pytest.raises(errors.WspError):
            Program.from_bytes(bad)


CASES: list = []


def case(code, cls, *texts):
    def add(function):
        CASES.append(pytest.param(code, cls, texts, function, id=f"{code}-{function.__name__}"))
        return function

    return add


@case(1220, errors.CompileError, "did you mean `num_threads`?")
def unknown_option():
    doubled.compile(num_thread=2)


@case(1221, errors.CompileError, "0 to 3")
def level_out_of_range():
    doubled.compile(optimization_level=4)


@case(1221, errors.CompileError, "bytecode")
def unknown_expansion():
    doubled.compile(expand="device")


@case(1221, errors.CompileError)
def target_of_another_type():
    doubled.compile(target=3)


@case(1222, errors.CompileError, ".streams(n)")
def streams_as_an_option():
    doubled.compile(num_streams=4)


@case(1222, errors.CompileError, "DispatchPolicy.affinity")
def grid_as_an_option():
    doubled.compile(grid=(4, 2))


@case(1223, errors.CompileError, "`bump`")
def saved_python_kernel():
    @workload
    def w(n):
        bump(X, 1)

    w.compile().to_bytes()


@case(1224, errors.CompileError, "enable_profiling=True")
def trace_of_no_run():
    doubled.compile().trace("never.json")


@case(1225, errors.CompileError, "`num_threads=4`", "leave out one")
def threads_of_a_program_to_debug():
    doubled.compile(enable_debug=True, num_threads=4)


@case(1225, errors.CompileError, "enable_profiling=True")
def times_of_a_program_to_debug():
    doubled.compile(enable_debug=True, enable_profiling=True)


@case(1225, errors.CompileError, "num_aicpus=4")
def bytecode_for_nobody():
    doubled.compile(expand="bytecode")


@case(1230, errors.FormatError, "to_bytes")
def no_program():
    Program.from_bytes(b"PK\x03\x04" + bytes(60))


@case(1231, errors.FormatError, "compile the workload again")
def other_version():
    data = doubled.compile().to_bytes()
    Program.from_bytes(data[:8] + b"\x07" + data[9:])


@pytest.mark.parametrize(("code", "cls", "texts", "function"), CASES)
def test_misuse(code, cls, texts, function):
    with pytest.raises(cls) as caught:
        function()
    assert caught.value.code == f"WSP{code}", str(caught.value)
    for text in texts:
        assert text in str(caught.value), str(caught.value)


def test_every_code_is_provoked():
    assert {entry.values[0] for entry in CASES} == catalogue(1220, 1249)


def test_a_bomb_is_not_unpacked():
    from pto_wsp.saved import HEADER, MAGIC

    head = HEADER.pack(MAGIC, 1, 4)
    packer = zlib.compressobj()
    bomb = head + b"".join(packer.compress(bytes(1 << 20)) for _ in range(300)) + packer.flush()
    with pytest.raises(errors.FormatError):
        Program.from_bytes(bomb)


def test_an_unknown_target_is_refused():
    with pytest.raises(errors.CompileError) as caught:
        doubled.compile(target="gpu")
    assert "gpu" in str(caught.value)


def test_a_declared_kernel_has_a_graph_and_no_run():
    @kernel
    def nothing(x: In, y: Out): ...

    @workload
    def w(n):
        nothing(X, Y)

    program = w.compile()
    assert program.graph(n=4).num_tasks == 1
    x, y = arrays(4)
    with pytest.raises(errors.KernelError):
        program.execute(X=x, Y=y)


def test_workloads_are_of_their_class():
    assert isinstance(doubled, Workload) and isinstance(doubled.streams(2).directives, tuple)


def test_mistakes_of_a_call_stand_at_its_line():
    program = doubled.compile()
    x, _ = arrays(8)
    for call in (lambda: program.execute(X=x), lambda: program.bind(Z=x), lambda: program.rebind(Z=x)):
        with pytest.raises(errors.ArgumentError) as caught:
            call()
        assert caught.value.file == __file__ and caught.value.line == call.__code__.co_firstlineno
        assert caught.value.help
