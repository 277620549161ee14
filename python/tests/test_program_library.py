"""Kernels of `.pto` files in workloads of Python."""

from __future__ import annotations

import linecache
from pathlib import Path

import numpy
import pytest
from declared import Declared, ir
from pto_wsp import In, Out, P, Program, errors, f32, load, python_kernel, tensor, workload

PTO = Path(__file__).parents[2] / "examples/row_softmax.pto"
OTHER = Path(__file__).parents[2] / "examples/moe/moe.pto"
X = tensor((4,), f32)
step = Declared("step", "inout x")


def test_a_library_has_its_kernels_as_attributes():
    lib = load(PTO)
    assert repr(lib) == "<library row_softmax.pto: softmax_rows>" and "softmax_rows" in dir(lib)
    assert repr(lib.softmax_rows) == "<kernel softmax_rows(first) of row_softmax.pto>"


def test_kernels_of_a_file_run():
    lib = load(PTO)

    @workload
    def softmax(n):
        for i in P(P.ceildiv(n, 16)):
            lib.softmax_rows(first=16 * i)

    program = softmax.compile()
    x = numpy.random.default_rng(1).normal(size=(40, 64)).astype(numpy.float32)
    y = numpy.zeros_like(x)
    stats = program.execute(x=x, y=y, n=40)
    wide = numpy.exp(x.astype(numpy.float64) - x.max(1, keepdims=True))
    assert stats.num_tasks == 3
    assert numpy.allclose(y, wide / wide.sum(1, keepdims=True), rtol=1e-5, atol=0)


def test_a_size_may_have_the_name_of_an_extent_and_is_compared_with_it():
    lib = load(PTO)

    @workload
    def softmax(rows):
        for i in P(P.ceildiv(rows, 16)):
            lib.softmax_rows(first=16 * i)

    program = softmax.compile()
    x = numpy.zeros((40, 64), numpy.float32)
    y = numpy.zeros_like(x)
    assert program.execute(x=x, y=y, rows=40).num_tasks == 3
    assert (y == 1 / 64).all()
    with pytest.raises(errors.ArgumentError, match="`rows` is 41, and arrays have 40 of it") as told:
        program.execute(x=x, y=y, rows=41)
    assert "give `rows=40`" in str(told.value)


def unknown_kernel():
    load(PTO).softmax_row  # HERE


def field_of_another_name():
    lib = load(PTO)

    @workload
    def w(n):
        lib.softmax_rows(begin=0)  # HERE

    ir(w)


def coordinates():
    lib = load(PTO)

    @workload
    def w(n):
        for i in P(n):
            lib.softmax_rows[i](first=i)  # HERE

    ir(w)


def tensor_for_a_field():
    lib = load(PTO)

    @workload
    def w(n):
        lib.softmax_rows(X)  # HERE

    ir(w)


def two_files():
    one, two = load(PTO), load(OTHER)

    @workload
    def w(n):
        one.softmax_rows(0)
        two.finish(0)

    ir(w)


def a_file_and_python():
    lib = load(PTO)

    @workload
    def w(n):
        lib.softmax_rows(0)
        step(X)

    ir(w)


@pytest.mark.parametrize(
    ("code", "text", "function"),
    [
        (1045, "did you mean `softmax_rows`?", unknown_kernel),
        (1021, "no field `begin`", field_of_another_name),
        (1021, "without the subscript: `softmax_rows(first=…)`", coordinates),
        (1022, "loads and stores", tensor_for_a_field),
        (1040, "one `.pto` file", two_files),
        (1040, "`step` of Python", a_file_and_python),
    ],
)
def test_misuse(code, text, function):
    with pytest.raises(errors.TraceError) as caught:
        function()
    error = caught.value
    assert error.code == f"WSP{code}" and text in str(error), str(error)
    if error.line is not None:
        assert "HERE" in linecache.getline(__file__, error.line)


def test_a_file_that_is_not_there_or_not_right(tmp_path):
    with pytest.raises(errors.WspError, match="no file"):
        load(tmp_path / "none.pto")
    bad = tmp_path / "bad.pto"
    bad.write_text("PTO_KERNEL_IMPL(x) {\n    nonsense!\n}\n", encoding="utf-8")
    with pytest.raises(errors.CompileError) as caught:
        load(bad)
    assert caught.value.line == 2


def test_a_program_of_a_file_is_not_saved():
    lib = load(PTO)

    @workload
    def w(n):
        lib.softmax_rows(0)

    with pytest.raises(errors.CompileError) as caught:
        w.compile().to_bytes()
    assert caught.value.code == "WSP1223"


def test_bytes_that_name_a_file_are_refused():
    import json
    import zlib

    from pto_wsp.saved import HEADER

    @workload
    def w(n):
        for i in P(n):
            step[i](X)

    data = w.compile().to_bytes()
    length = HEADER.unpack_from(data)[2]
    content = zlib.decompress(data[HEADER.size :])
    trace = json.loads(content[length:])
    trace["workload"]["uses"] = [{"path": str(PTO)}]
    changed = content[:length] + json.dumps(trace).encode()
    with pytest.raises(errors.FormatError, match="no files"):
        Program.from_bytes(data[: HEADER.size] + zlib.compress(changed))


def test_the_host_entry_of_a_file_is_a_program():
    program = load(PTO).program(num_threads=1)
    x = numpy.ones((40, 64), numpy.float32)
    y = numpy.zeros_like(x)
    assert program.execute(x=x, y=y).num_tasks == 3 and numpy.array_equal(y, x / 64)
    assert "softmax_rows" in program.explain()
    with pytest.raises(errors.CompileError, match="from a file"):
        program.to_bytes()


def test_the_host_entry_of_a_file_is_bound():
    def softmax(x):
        weights = numpy.exp(x - x.max(1, keepdims=True))
        return weights / weights.sum(1, keepdims=True)

    def holds(x, y):
        y[...] = 0
        bound()
        numpy.testing.assert_allclose(y, softmax(x), rtol=1e-5)

    rng = numpy.random.default_rng(0)
    x, other, more = (rng.standard_normal((n, 64)).astype(numpy.float32) for n in (40, 40, 90))
    y, room = numpy.zeros_like(x), numpy.zeros_like(more)
    bound = load(PTO).program(num_threads=1).bind(x=x, y=y)
    holds(x, y)
    x[:, 3] = 5
    holds(x, y)
    assert bound.stats.num_tasks == 3 and bound.stats.num_tasks == 3
    bound.rebind(x=other)
    holds(other, y)
    bound.rebind(x=more, y=room)
    holds(more, room)
    with pytest.raises(errors.WspError):
        bound.rebind(x=x)
    holds(more, room)


def test_aicpus_run_the_generators_of_a_file():
    x = numpy.arange(40 * 64, dtype=numpy.float32).reshape(40, 64) / 64
    on_threads, on_aicpus = numpy.zeros_like(x), numpy.zeros_like(x)
    load(PTO).program().execute(x=x, y=on_threads)
    assert load(PTO).program(num_aicpus=3).execute(x=x, y=on_aicpus).num_tasks == 3
    assert numpy.array_equal(on_threads, on_aicpus)
    with pytest.raises(errors.CompileError, match="no meaning for the host entry"):
        load(PTO).program(num_aicpus=3, expand="host")


def test_a_file_that_programs_include_is_one_error_that_names_them():
    part = Path(__file__).parents[2] / "examples/attention/split.pto"
    with pytest.raises(errors.CompileError) as caught:
        load(part)
    error = caught.value
    assert error.code == "WSP0515" and len(error.diagnostics) == 1
    assert error.message == "`split.pto` is no program: programs include it" and error.file == str(part)
    assert "`decode.pto`" in error.notes[0] and "examples/attention" in error.help[0]


def test_a_broken_file_that_nothing_includes_keeps_its_errors(tmp_path):
    alone = tmp_path / "alone.pto"
    alone.write_text("f();\ng(;\n")
    (tmp_path / "other.pto").write_text(PTO.read_text())
    (tmp_path / "binary.pto").write_bytes(b"\xff")
    with pytest.raises(errors.CompileError) as caught:
        load(alone)
    assert caught.value.code != "WSP0515" and caught.value.file == str(alone)


def test_tensors_are_called_after_their_variables_beside_a_library():
    lib = load(PTO)
    x, y = tensor(("rows", 4), f32), tensor(("rows", 4), f32)

    @python_kernel
    def copy(x: In, y: Out):
        y[...] = x

    @workload
    def copies(rows):
        assert lib.path
        for i in P(rows):
            copy[i](x[i], y[i])

    assert copies.compile().arguments == {"x": "f32[rows, 4]", "y": "f32[rows, 4]", "rows": "size"}


def test_a_debugged_run_of_a_file_says_which_rows_its_kernels_have_not_written(tmp_path):
    text = PTO.read_text().replace("PTO_AXIS(row, 0, rows)", "PTO_AXIS(row, 0, rows - 16)")
    (tmp_path / "part.pto").write_text(text.partition("PTO_REFERENCE")[0])
    lib = load(tmp_path / "part.pto")

    @workload
    def some(n):
        for i in P(n):
            lib.softmax_rows(first=16 * i)

    x, y = numpy.ones((40, 8), numpy.float32), numpy.full((40, 8), 7, numpy.float32)
    entry = lib.program(enable_debug=True)
    runs = {
        "entry": lambda: entry.execute(x=x, y=y),
        "plan": lambda: entry.execute_plan(entry.plan(x=x, y=y), x=x, y=y),
        "beside": lambda: entry.execute_async(x=x, y=y).synchronize(),
        "workload": lambda: some.compile(enable_debug=True).execute(x=x, y=y, n=2),
    }
    for name, run in runs.items():
        (note,) = run().notes
        assert "64 of 320 elements of `y` were never written" in note and "y[32, 0]" in note, name
    assert (y[32:] == 7).all() and (y[:32] != 7).all()
