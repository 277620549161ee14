"""Task graphs: units of text and bytes, with kernels of Python and of `.pto` files."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from pto_wsp import In, InOut, Out, TaskGraph, Tensor, errors, f16, f32, i32, i64, load, u8

SCALE = """
extern X: f32[64]
extern Y: f32[64]
arg factor: i64 = 3
TG_BEGIN(G)
  TG_KERNEL(FIRST, double_entry, 4, AIV, 0)
  MC_BIND(FIRST, 0, X)
  MC_BIND(FIRST, 1, Y)
  CF_IF(factor > 2)
    TG_KERNEL(SECOND, add_entry, 2, AIV, 0)
    TG_DEPEND(FIRST, SECOND, DATA, Y)
    MC_BIND(SECOND, 0, Y)
  CF_ENDIF
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
"""


def share(block, array):
    """The part of an array that a block has."""
    bounds = np.linspace(0, array.size, block.blocks + 1, dtype=int)
    return slice(bounds[block.block], bounds[block.block + 1])


def scaling() -> TaskGraph:
    """The unit above with its kernels."""
    graph = TaskGraph.from_text(SCALE, "scale.tg")

    @graph.kernel("double_entry", In[f32], Out[f32])
    def double(block, x, y):
        part = share(block, y)
        y[part] = 2 * x[part]

    @graph.kernel("add_entry", InOut[f32])
    def add(block, y):
        y[share(block, y)] += 1

    return graph


@pytest.mark.parametrize("threads", [1, 4])
def test_functions_run_once_per_block_on_what_is_bound(threads):
    x = np.arange(64, dtype=np.float32)
    run = scaling().run({"X": x}, threads=threads)
    np.testing.assert_array_equal(run["Y"], 2 * x + 1)
    assert run.stats["blocks"] == 6
    assert run.stats["kernels"] == 2


def test_scalars_choose_what_runs():
    x = np.ones(64, np.float32)
    run = scaling().run({"X": x}, scalars={"factor": 1})
    np.testing.assert_array_equal(run["Y"], 2 * x)


def test_a_unit_is_the_same_as_text_and_bytes():
    graph = scaling()
    again = TaskGraph.from_text(graph.text())
    assert again.text() == graph.text()
    assert TaskGraph.from_bytes(graph.to_bytes()).text() == graph.text()


def test_files_of_either_form_are_read(tmp_path):
    (tmp_path / "unit.tg").write_text(SCALE)
    graph = TaskGraph.from_file(tmp_path / "unit.tg")
    (tmp_path / "unit.ptog").write_bytes(graph.to_bytes())
    assert TaskGraph.from_file(tmp_path / "unit.ptog").text() == graph.text()


def test_kernels_of_files_run_beside_functions(tmp_path):
    (tmp_path / "half.pto").write_text(
        "PTO_SHAPE(x, rows, 64)\nPTO_SHAPE(y, rows, 64)\n"
        "PTO_KERNEL_IMPL(half_entry, Tensor<float> x, Tensor<float> y) {\n"
        "    for (uint32_t r = get_block_idx(); r < rows; r += get_block_num()) {\n"
        "        VecTile<float, 1, 64> t;\n"
        "        TLOAD(t, x, {r});\n        TMULS(t, t, 0.5f);\n        TSTORE(y, t, {r});\n"
        "    }\n}\n"
    )
    unit = (
        'use "half.pto"\nextern X: f32[8, 64]\nextern Y: f32[8, 64]\nTG_BEGIN(G)\nMC_ALLOC(T, 8*64*4)\n'
        "TG_KERNEL(A, half_entry, 2, AIV, 0)\nMC_BIND(A, 0, X)\nMC_BIND(A, 1, T)\n"
        "TG_KERNEL(B, twice_entry, 1, AIV, 0)\nTG_DEPEND(A, B, DATA, T)\n"
        "MC_BIND(B, 0, T)\nMC_BIND(B, 1, Y)\nTG_END(G)\n"
    )
    graph = TaskGraph.from_text(unit, folder=tmp_path)

    @graph.kernel("twice_entry", In[Tensor[f32, None, 64]], Out[Tensor[f32, None, 64]])
    def twice(block, x, y):
        assert x.shape == y.shape == (8, 64)
        y[:] = 2 * x

    x = np.random.default_rng(1).standard_normal((8, 64), dtype=np.float32)
    np.testing.assert_array_equal(graph.run({"X": x})["Y"], x)


def test_a_checkpoint_is_refused():
    graph = TaskGraph.from_text(
        "extern X: f32[4]\nTG_BEGIN(G)\nTG_KERNEL(A, set, 1, AIV, 0)\nMC_BIND(A, 0, X)\n"
        "TG_CHECKPOINT(G, C)\nTG_END(G)\nTG_LAUNCH(G, default)\nTG_SYNC(G)\n"
    )
    graph.kernel("set", Out[f32])(lambda block, x: x.fill(1))
    with pytest.raises(errors.WspError, match="no place to keep checkpoints") as raised:
        graph.run()
    assert "leave out TG_CHECKPOINT" in str(raised.value)


def test_what_a_lambda_gives_back_goes_nowhere():
    x = np.arange(64, dtype=np.float32)
    graph = TaskGraph.from_text(SCALE)
    graph.kernel("double_entry", In[f32], Out[f32])(lambda block, x, y: y + 2 * x)
    graph.kernel("add_entry", InOut[f32])(lambda block, y: None)
    with pytest.raises(errors.KernelError, match="goes nowhere"):
        graph.run({"X": x}, threads=1)
    # A ufunc gives what it wrote to.
    graph = TaskGraph.from_text(SCALE)
    graph.kernel("double_entry", In[f32], Out[f32])(lambda block, x, y: np.multiply(x, 2, out=y))
    graph.kernel("add_entry", InOut[f32])(lambda block, y: None)
    np.testing.assert_array_equal(graph.run({"X": x}, threads=1)["Y"], 2 * x)


def test_what_a_kernel_may_only_read_is_read_only():
    graph = TaskGraph.from_text(SCALE)

    @graph.kernel("double_entry", In[f32], Out[f32])
    def double(block, x, y):
        x[0] = 1

    graph.kernel("add_entry", InOut[f32])(lambda block, y: None)
    with pytest.raises(errors.KernelError, match="read-only") as caught:
        graph.run({"X": np.zeros(64, np.float32)}, threads=1)
    assert isinstance(caught.value.__cause__, ValueError)


def test_arrays_are_read_and_written_where_they_lie():
    graph, addresses = scaling_at()
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    run = graph.run({"X": x, "Y": y})
    assert run["Y"] is y and addresses == {x.ctypes.data, y.ctypes.data}
    np.testing.assert_array_equal(y, 2 * x + 1)
    wide = np.zeros((64, 2), np.float32)
    run = graph.run({"X": x, "Y": wide[:, 0]})
    np.testing.assert_array_equal(run["Y"], y)
    assert not wide.any(), "what has gaps is copied"


def test_an_array_that_is_written_is_no_other_and_may_be_written():
    x = np.zeros(64, np.float32)
    with pytest.raises(errors.ArgumentError, match="share memory"):
        scaling().run({"X": x, "Y": x})
    x.flags.writeable = False
    scaling().run({"X": x})
    with pytest.raises(errors.ArgumentError, match="may only be read"):
        scaling().run({"X": np.zeros(64, np.float32), "Y": x})


def scaling_at():
    """`Y = 2 X + 1` by one block, with the addresses of what kernels are given."""
    graph, addresses = TaskGraph.from_text(SCALE), set()

    @graph.kernel("double_entry", In[f32], Out[f32])
    def double(block, x, y):
        addresses.update([x.ctypes.data, y.ctypes.data])
        part = share(block, y)
        y[part] = 2 * x[part]

    @graph.kernel("add_entry", InOut[f32])
    def add(block, y):
        y[share(block, y)] += 1

    return graph, addresses


def test_findings_have_places_and_suggestions():
    graph = scaling()
    assert not [found for found in graph.check() if found.severity == "error"]
    with pytest.raises(errors.CompileError) as caught:
        TaskGraph.from_text("TG_BEGIN(G)\nTG_KERNAL(A, a, 1, AIV, 0)\nTG_END(G)\n", "bad.tg")
    assert (caught.value.file, caught.value.line) == ("bad.tg", 2)
    assert "TG_KERNEL" in str(caught.value)


def test_a_missing_edge_is_found():
    graph = TaskGraph.from_text(SCALE.replace("    TG_DEPEND(FIRST, SECOND, DATA, Y)\n", ""))
    graph.kernel("double_entry", In[f32], Out[f32])(lambda block, x, y: None)
    graph.kernel("add_entry", InOut[f32])(lambda block, y: None)
    assert any("TG_DEPEND(FIRST, SECOND, DATA, Y)" in " ".join(found.help) for found in graph.check())


# The second round of K5 waits for the first of K6, which touches the same bytes.
CYCLE = """
extern X: i32[4]
extern V: i32[4]
TG_BEGIN(A)
 CF_LOOP(2, i)
  TG_KERNEL(K5, upd, 1, AIV, 0)
  MC_BIND(K5, 0, X)
  TG_KERNEL(K6, upd, 1, AIV, 0)
  MC_BIND(K6, 0, X)
 CF_ENDLOOP
 TG_KERNEL(K3, upd, 1, AIV, 0)
 MC_BIND(K3, 0, V)
 TG_DEPEND(K5, K3, AFTER)
 TG_DEPEND(K3, K6, AFTER)
TG_END(A)
TG_LAUNCH(A, default)
"""


def test_a_check_finds_what_a_run_refuses_when_it_lays_a_graph_out():
    graph = TaskGraph.from_text(CYCLE)
    graph.kernel("upd", InOut[i32])(lambda block, x: None)
    assert [found.code for found in graph.check() if found.severity == "error"] == ["WSP1530"]
    with pytest.raises(errors.CompileError) as raised:
        graph.run()
    assert raised.value.code == "WSP1530"


def test_a_check_finds_entry_symbols_without_a_kernel_once_there_is_one():
    graph = TaskGraph.from_text(SCALE)
    assert "WSP1540" not in [found.code for found in graph.check()]
    graph.kernel("double_entry", In[f32], Out[f32])(lambda block, x, y: None)
    assert [found.code for found in graph.check() if found.severity == "error"] == ["WSP1540"]


def test_an_entry_symbol_without_a_kernel_is_an_error():
    graph = TaskGraph.from_text(SCALE)
    graph.kernel("double_entri", In[f32], Out[f32])(lambda block, x, y: None)
    with pytest.raises(errors.CompileError, match="double_entri"):
        graph.run({"X": np.zeros(64, np.float32)})


def test_inputs_must_fit():
    with pytest.raises(errors.ArgumentError):
        scaling().run({"X": np.zeros(63, np.float32)})
    with pytest.raises(errors.ArgumentError):
        scaling().run({"Z": np.zeros(64, np.float32), "X": np.zeros(64, np.float32)})


def test_annotations_say_what_is_done_with_arguments():
    graph = TaskGraph.from_text(SCALE)
    with pytest.raises(TypeError, match="argument 0"):
        graph.kernel("double_entry", f32)
    graph.kernel("double_entry", In[f32], Out[f32])(print)
    with pytest.raises(ValueError, match="double_entry"):
        graph.kernel("double_entry", In[f32], Out[f32])(print)


def test_bytes_that_are_no_unit_are_refused():
    with pytest.raises(errors.FormatError):
        TaskGraph.from_bytes(b"not a unit")


def test_an_out_that_a_function_gives_another_value_is_an_error():
    graph = TaskGraph.from_text(SCALE, "scale.tg")

    @graph.kernel("double_entry", In[f32], Out[f32])
    def double(block, x, y):
        y = 2 * x  # noqa: F841

    @graph.kernel("add_entry", InOut[f32])
    def add(block, y):
        y[share(block, y)] += 1

    with pytest.raises(errors.KernelError) as never:
        graph.run({"X": np.ones(64, np.float32)})
    assert "never stores to `y`" in str(never.value)


COPIES = """
extern X: f32[64]
extern Y: f32[64]
TG_BEGIN(G)
  TG_KERNEL(K, copy_entry, 1, AIV, 0)
  MC_BIND(K, 0, X)
  MC_BIND(K, 1, Y)
TG_END(G)
"""


def copying(x=In[f32], y=Out[f32]) -> TaskGraph:
    """A unit of one kernel."""
    graph = TaskGraph.from_text(COPIES, "copy.tg")

    @graph.kernel("copy_entry", x, y)
    def copy(block, x, y):
        y[...] = x[...]

    return graph


@pytest.mark.parametrize("annotations", [(In[f16], Out[f32]), (In[i64], Out[f32]), (In[f32], Out[i32])])
def test_elements_of_another_type_are_an_error(annotations):
    with pytest.raises(errors.WspError) as refused:
        copying(*annotations).run({"X": np.ones(64, np.float32)})
    assert refused.value.code == "WSP1518" and "another type" in refused.value.message


FACTOR = """PTO_PARAM(float, gain, 1.0f)
PTO_PARAM(uint32_t, times, 1)
PTO_SHAPE(x, 1, 64)
PTO_SHAPE(y, 1, 64)
PTO_KERNEL_IMPL(copy_entry, Tensor<float> x, Tensor<float> y) {
    VecTile<float, 1, 64> t;
    TLOAD(t, x, {0});
    for (uint32_t n = 0; n < times; n += 1) { TMULS(t, t, gain); }
    TSTORE(y, t, {0});
}
"""


def test_parameters_of_files_are_numbers_of_their_type(tmp_path):
    (tmp_path / "gain.pto").write_text(FACTOR)
    # Of two files, each takes the parameters that it has.
    (tmp_path / "other.pto").write_text(
        FACTOR.replace("copy_entry", "other_entry").replace("gain", "loss").replace("times", "rounds")
    )
    text = f'use "other.pto"\n{COPIES}'
    for given, want in (({"gain": 0.5}, 0.5), ({"gain": np.float32(2)}, 2), ({"gain": 3, "times": 2}, 9)):
        for by_use in (True, False):
            graph = TaskGraph.from_text(text, folder=tmp_path)
            graph.use(tmp_path / "gain.pto", **(given if by_use else {}))
            graph.set(loss=0.25, **({} if by_use else given))
            assert graph.run({"X": np.ones(64, np.float32)})["Y"][5] == want
    graph = TaskGraph.from_text(text, folder=tmp_path).use(tmp_path / "gain.pto", gain="0.5")
    with pytest.raises(errors.ArgumentError, match="parameter `gain` is given a value of type `str`"):
        graph.run({"X": np.ones(64, np.float32)})
    graph = TaskGraph.from_text(text, folder=tmp_path).use(tmp_path / "gain.pto", times=2**63)
    with pytest.raises(errors.WspError, match="9223372036854775808"):
        graph.run({"X": np.ones(64, np.float32)})


@pytest.mark.parametrize(
    "settings",
    [
        {"threads": -1},
        {"threads": "2"},
        {"devices": 0},
        {"devices": -1},
        {"memory": "1G"},
        {"memory": -1},
        {"events": [3]},
        {"scalars": {"factor": 1.5}},
        {"scalars": {"factor": 2**63}},
        {"scalars": {"factor": None}},
    ],
    ids=str,
)
def test_settings_of_other_types_are_told_by_name(settings):
    (name,) = settings
    with pytest.raises(errors.ArgumentError) as refused:
        scaling().run({"X": np.ones(64, np.float32)}, **settings)
    assert refused.value.code == "WSP1262" and name.removesuffix("s") in refused.value.message


def test_kernels_that_the_unit_does_not_call_are_an_error(tmp_path):
    graph = copying()

    @graph.kernel("copyentry", In[f32], Out[f32])
    def idle(block, x, y):
        y[...] = 2 * x

    with pytest.raises(errors.WspError, match="`copyentry`") as refused:
        graph.run({"X": np.ones(64, np.float32)})
    assert "did you mean `copy_entry`?" in refused.value.help[0]
    (tmp_path / "idle.pto").write_text(FACTOR.replace("copy_entry", "other_entry"))
    with pytest.raises(errors.WspError, match="no kernel that the unit calls"):
        copying().use(tmp_path / "idle.pto").run({"X": np.ones(64, np.float32)})


def test_a_unit_that_runs_nothing_says_so():
    for graph, empty in ((TaskGraph.from_text(""), True), (copying(), False)):
        notes = graph.run({} if empty else {"X": np.ones(64, np.float32)}).notes
        assert any("nothing ran" in note for note in notes) == empty, notes


def test_what_is_copied_for_a_run_is_in_use_until_that_ends():
    graph, begun, end = TaskGraph.from_text(SCALE), threading.Event(), threading.Event()
    shared, seen = np.ones((64, 2), np.float32), []

    @graph.kernel("double_entry", In[f32], Out[f32])
    def double(block, x, y):
        begun.set()
        assert end.wait(60)
        y[...] = 2 * x

    graph.kernel("add_entry", InOut[f32])(lambda block, y: None)
    thread = threading.Thread(target=lambda: seen.append(graph.run({"X": shared[:, 0]}, threads=1)["Y"]))
    thread.start()
    try:
        assert begun.wait(60)
        # The column that the other run has copied.
        with pytest.raises(errors.ArgumentError) as refused:
            scaling().run({"X": np.ones(64, np.float32), "Y": shared.reshape(-1)[:64]})
        assert refused.value.code == "WSP1268"
        scaling().run({"X": shared[:, 0]})
    finally:
        end.set()
        thread.join()
    assert (seen[0] == 2).all()


def test_arrays_that_are_copied_are_refused_as_those_that_are_not():
    x, wide = np.arange(64, dtype=np.float32), np.zeros((64, 2), np.float32)
    column = wide[:, 0]
    column.flags.writeable = False
    for given, code in (
        ({"X": x, "Y": column}, "WSP0870"),
        ({"X": x[::-1], "Y": x}, "WSP0871"),
        ({"X": x, "Y": x[::-1]}, "WSP0871"),
        ({"X": x, "Y": np.lib.stride_tricks.as_strided(x.copy(), (64,), (0,))}, "WSP0871"),
    ):
        with pytest.raises(errors.ArgumentError) as refused:
            scaling().run(given)
        assert refused.value.code == code
    scaling().run({"X": column, "Y": wide[:, 1]})


ROWS = """
extern X: f32[8, 4]
extern Y: f32[8, 4]
TG_BEGIN(G)
  TG_KERNEL(K, rows_entry, 4, AIV, 0)
  MC_BIND(K, 0, X)
  MC_BIND(K, 1, Y)
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
"""


def test_a_debugged_run_says_which_elements_nothing_has_written():
    graph = TaskGraph.from_text(ROWS)

    @graph.kernel("rows_entry", In[Tensor[f32, 8, 4]], Out[Tensor[f32, 8, 4]])
    def some_rows(block, x, y):
        if block.block != 2:
            y[block.block] = 2 * x[block.block]

    x, y = np.ones((8, 4), np.float32), np.full((8, 4), 5, np.float32)
    assert graph.run({"X": x, "Y": y}).notes == []
    run = graph.run({"X": x, "Y": y}, enable_debug=True)
    (note,) = run.notes
    assert "20 of 32 elements of `Y` were never written" in note and "Y[2, 0]" in note
    assert run["Y"] is y and y[:, 0].tolist() == [2, 2, 5, 2, 5, 5, 5, 5]
    # What holds at the first run holds when the array is the run's own.
    own = graph.run({"X": x}, enable_debug=True)
    assert len(own.notes) == 1 and own["Y"][:, 0].tolist() == [2, 2, 0, 2, 0, 0, 0, 0]


def test_a_debugged_run_that_writes_everything_has_no_notes():
    x = np.arange(64, dtype=np.float32)
    run = scaling().run({"X": x}, enable_debug=True)
    np.testing.assert_array_equal(run["Y"], 2 * x + 1)
    assert run.notes == []


def test_an_out_that_is_computed_from_what_it_held_fails_a_debugged_run():
    graph = TaskGraph.from_text(ROWS)

    @graph.kernel("rows_entry", In[f32], Out[f32])
    def adds(block, x, y):
        with np.errstate(invalid="ignore"):
            y[...] = y + x

    with pytest.raises(errors.KernelError, match="32 of its 32 elements are computed from what it held"):
        graph.run({"X": np.ones((8, 4), np.float32)}, enable_debug=True)


def test_short_integers_count_as_written_whole():
    graph = TaskGraph.from_text(ROWS.replace("f32", "u8"))
    graph.kernel("rows_entry", In[u8], Out[u8])(lambda block, x, y: y[:1].fill(3))
    run = graph.run({"X": np.ones((8, 4), np.uint8)}, enable_debug=True)
    assert run.notes == [] and run["Y"][0, 0] == 3


def test_threads_say_nothing_to_a_debugged_run():
    with pytest.raises(errors.ArgumentError, match="one by one") as refused:
        scaling().run({"X": np.ones(64, np.float32)}, enable_debug=True, threads=4)
    assert refused.value.help and refused.value.file == __file__


def test_a_function_takes_the_block_and_an_array_per_annotation():
    graph = TaskGraph.from_text(ROWS)
    with pytest.raises(errors.ArgumentError, match="a block and 2 arrays") as refused:

        @graph.kernel("rows_entry", In[f32], Out[f32])
        def without_a_block(x, y):
            y[...] = x

    assert "def without_a_block(block, x0, x1):" in refused.value.help[0]


def test_a_tensor_that_a_unit_does_not_write_is_no_output():
    run = scaling().run({"X": np.ones(64, np.float32)})
    with pytest.raises(KeyError, match="the unit writes `Y`"):
        run["X"]


def test_faults_of_arguments_have_the_names_of_the_function():
    graph = TaskGraph.from_text(ROWS)
    graph.kernel("rows_entry", In[Tensor[f32, 5]], Out[f32])(lambda block, given, taken: None)
    with pytest.raises(errors.KernelError, match=r"argument `given` is f32\[5\], and 128 bytes are bound"):
        graph.run({"X": np.ones((8, 4), np.float32)})
    untyped = TaskGraph.from_text(ROWS)
    untyped.kernel("rows_entry", In, Out)(lambda block, x, y: None)
    with pytest.raises(errors.CompileError) as other:
        untyped.run({"X": np.ones((8, 4), np.float32)})
    assert other.value.code == "WSP1518" and "`In[f32]`" in other.value.help[0]


def test_a_parameter_without_a_file_that_has_it():
    with pytest.raises(errors.CompileError) as surplus:
        scaling().set(alpha=3).run({"X": np.ones(64, np.float32)})
    assert "`graph.use(path)`" in surplus.value.help[0]


def test_a_file_of_another_kind_names_what_takes_it(tmp_path):
    for name, call, takes in (
        ("unit.tg", load, "TaskGraph.from_file"),
        ("unit.wsp", load, "@workload"),
        ("kernels.pto", TaskGraph.from_file, "load(path)"),
    ):
        (tmp_path / name).write_text("")
        with pytest.raises(errors.ArgumentError) as other:
            call(tmp_path / name)
        assert takes in other.value.help[0]


def test_integers_that_are_computed_from_what_an_out_held_fail_a_debugged_run():
    text = "extern Y: i32[4]\nTG_BEGIN(G)\nTG_KERNEL(K, add, 1, AIV, 0)\nMC_BIND(K, 0, Y)\nTG_END(G)\n"

    def adds(block, y):
        y[:] = y + 1

    for function in (adds, lambda block, y: np.add(y, 1, out=y)):
        graph = TaskGraph.from_text(text)
        graph.kernel("add", Out[i32])(function)
        y = np.full(4, 5, np.int32)
        assert graph.run({"Y": y})["Y"].tolist() == [6] * 4
        with pytest.raises(errors.KernelError, match="what `y` held before") as found:
            graph.run({"Y": y}, enable_debug=True)
        assert found.value.code == "WSP1542" and y.tolist() == [6] * 4


@pytest.mark.parametrize("enable_debug", [False, True])
@pytest.mark.parametrize("length", [1, 2])
def test_a_copy_of_allocated_memory_stops_a_run_where_nothing_has_stored(length, enable_debug):
    graph = TaskGraph.from_text("""
extern L: i64[1]
extern X: f32[64]
TG_BEGIN(G)
  MC_ALLOC(T, 256)
  CF_IF(load(L) > 1)
    TG_KERNEL(FIRST, ones, 1, AIV, 0)
    MC_BIND(FIRST, 0, T)
  CF_ENDIF
  MC_COPY(T, X, 256)
TG_END(G)
TG_LAUNCH(G, default)
TG_SYNC(G)
""")

    @graph.kernel("ones", Out[f32])
    def ones(block, t):
        t[:] = 1

    inputs = {"L": np.array([length]), "X": np.zeros(64, np.float32)}
    if length > 1:
        assert (graph.run(inputs, enable_debug=enable_debug)["X"] == 1).all()
    else:
        with pytest.raises(errors.KernelError, match="WSP0616"):
            graph.run(inputs, enable_debug=enable_debug)


def test_a_unit_runs_in_virtual_time_on_copies():
    x, y = np.arange(64, dtype=np.float32), np.full(64, 7, dtype=np.float32)
    graph = scaling()
    one = graph.simulate({"X": x, "Y": y}, threads=1)
    # Four blocks share 512 bytes, then two share 256: 32 cycles each.
    assert (one.makespan, one.workers, one.graph.num_tasks) == (6 * 32, 1, 6)
    assert list(one.end) == [32, 64, 96, 128, 160, 192]
    assert [name for name, _ in one.graph.kernels] == ["FIRST", "SECOND"]
    assert graph.simulate({"X": x, "Y": y}, threads=4).makespan == 64
    assert (y == 7).all()
    # The condition is that of the run.
    assert graph.simulate({"X": x}, scalars={"factor": 1}, threads=1).graph.num_tasks == 4


def test_what_simulate_does_not_take_is_refused_by_its_name():
    with pytest.raises(errors.ArgumentError, match="`simulate` takes no argument `enable_debug`"):
        scaling().simulate({}, enable_debug=True)
    with pytest.raises(errors.ArgumentError, match="`inputs` is"):
        scaling().simulate([1])
