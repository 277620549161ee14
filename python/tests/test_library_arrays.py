"""Arrays of `.pto` files: which are needed, which may be written, which runs may have them at once."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from pto_wsp import In, InOut, P, Tensor, errors, f32, load, python_kernel, workload

KERNEL = """
PTO_SHAPE(x, rows, 32)
PTO_SHAPE(y, rows, 32)
struct Row { uint32_t first; };
PTO_KERNEL_IMPL(twice) {
    auto desc = PTO_GET_DESCRIPTOR<Row>();
    VecTile<float, 8, 32> t;
    TLOAD(t, x, {desc.first});
    TADD(t, t, t);
    TSTORE(y, t, {desc.first});
}
"""
ENTRY = """
PTO_SPACE(S) { PTO_AXIS(r, 0, rows) PTO_TILE(r, 8) }
PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(r) { PTO_EMIT_DESCRIPTOR(Row{ .first = r * 8 }); } }
void go(Tensor x, Tensor<float> y) { PTO_LAUNCH(S, { .x = x, .y = y }); }
"""
GATHER = """
PTO_SHAPE(index, rows)
PTO_SHAPE(x, rows, 32)
PTO_SHAPE(y, rows, 32)
struct Row { uint32_t first; uint32_t from; };
PTO_KERNEL_IMPL(copy) {
    auto desc = PTO_GET_DESCRIPTOR<Row>();
    VecTile<float, 1, 32> t;
    TLOAD(t, x, {desc.from});
    TSTORE(y, t, {desc.first});
}
PTO_SPACE(S) { PTO_AXIS(r, 0, rows) PTO_TILE(r, 1) }
PTO_DESCRIPTOR_GEN(S) {
    PTO_SCHEDULED_FOR(r) { PTO_EMIT_DESCRIPTOR(Row{ .first = r, .from = index[r] }); }
}
void go(uint32_t* index, Tensor x, Tensor<float> y) { PTO_LAUNCH(S, { .index = index, .x = x, .y = y }); }
"""

ADD = """
PTO_SHAPE(x, rows, 32)
PTO_SHAPE(total, rows, 32)
PTO_SHAPE(y, rows, 32)
struct Row { uint32_t first; };
PTO_KERNEL_IMPL(add) {
    auto desc = PTO_GET_DESCRIPTOR<Row>();
    VecTile<float, 8, 32> t;
    VecTile<float, 8, 32> u;
    TLOAD(t, x, {desc.first});
    TLOAD(u, total, {desc.first});
    TADD(t, t, u);
    TSTORE(total, t, {desc.first});
    TSTORE(y, t, {desc.first});
}
PTO_SPACE(S) { PTO_AXIS(r, 0, rows) PTO_TILE(r, 8) }
PTO_DESCRIPTOR_GEN(S) { PTO_SCHEDULED_FOR(r) { PTO_EMIT_DESCRIPTOR(Row{ .first = r * 8 }); } }
void go(Tensor<float> x, Tensor<float> total, Tensor<float> y) {
    PTO_LAUNCH(S, { .x = x, .total = total, .y = y });
}
"""


def used(library):
    """A workload over the kernels of a file."""

    @workload
    def w(n):
        for i in P(n):
            library.twice(first=i * 8)

    return w.compile()


@pytest.fixture(params=["program", "workload", "library", "plan"])
def run(request, tmp_path):
    """Runs `y = 2 * x` by each way to the kernel of a file."""
    file = tmp_path / "twice.pto"
    file.write_text(KERNEL + ("" if request.param == "library" else ENTRY))
    library = load(file)
    if request.param in ("workload", "library"):
        program = used(library)
        return lambda **arrays: program.execute(n=-(-len(arrays["x"]) // 8), **arrays)
    program = library.program()
    if request.param == "program":
        return program.execute
    return lambda **arrays: program.execute_plan(program.plan(x=arrays["x"]), **arrays)


def x_and_y(rows=20):
    return np.arange(rows * 32, dtype=np.float32).reshape(rows, 32), np.zeros((rows, 32), np.float32)


def test_arrays_of_a_file_are_given_by_name(run):
    x, y = x_and_y()
    run(x=x, y=y)
    assert (y == 2 * x).all()


def test_what_is_written_may_lie_anywhere(run):
    x, y = x_and_y()
    back, columns = np.zeros((20, 32), np.float32)[::-1], np.zeros((32, 20), np.float32).T
    packed = np.zeros((20, 32), [("y", "f4"), ("z", "u1")])["y"]
    for out in (back, columns, packed):
        run(x=x, y=out)
        assert (out == 2 * x).all()


def test_an_array_that_is_written_is_needed(run):
    with pytest.raises(errors.ArgumentError) as missing:
        run(x=x_and_y()[0])
    assert missing.value.code == "WSP1259" and "`y`" in missing.value.message
    run(x=x_and_y()[0], y=None)


@pytest.fixture
def adding(tmp_path):
    """A program that adds `x` to `total`, which it reads and writes, and stores the sum to `y` as well."""
    file = tmp_path / "add.pto"
    file.write_text(ADD)
    return load(file).program()


def test_what_is_read_as_well_as_written_is_needed(adding):
    x, y = x_and_y()
    with pytest.raises(errors.ArgumentError, match="`total` is `None`, and kernels read it") as missing:
        adding.execute(x=x, total=None, y=y)
    assert missing.value.code == "WSP1259" and "`total=…`, f32[rows, 32]" in str(missing.value)
    assert not y.any()
    with pytest.raises(errors.ArgumentError, match="no array is given for `total`") as missing:
        adding.execute(x=x, y=y)
    assert "None" not in str(missing.value)
    total = np.ones_like(x)
    adding.execute(x=x, total=total, y=None)
    assert (total == x + 1).all()


def test_a_list_of_lists_for_an_array_of_real_numbers_is_to_be_made_an_array(adding):
    x, y = x_and_y()
    with pytest.raises(errors.ArgumentError, match="`x` is no array, but `list`") as refused:
        adding.execute(x=x.tolist(), total=np.ones_like(x), y=y)
    assert "np.asarray(x, dtype=np.float32)" in str(refused.value)


class Late:
    """An array that does something when it is looked at."""

    def __init__(self, array, do):
        self._array, self._do = array, do

    @property
    def __array_interface__(self):
        self._do()
        return self._array.__array_interface__


@pytest.mark.parametrize("copied", ["x", "total"])
def test_what_is_copied_for_a_run_is_claimed_before_it_is_copied(adding, copied):
    begun, end = threading.Event(), threading.Event()

    @python_kernel
    def fill(a: In, b: InOut):
        b[::2] = a[::2]
        begun.set()
        assert end.wait(60)
        b[1::2] = a[1::2]

    @workload
    def w(a: Tensor[f32, 20, 32], b: Tensor[f32, 20, 32]):
        fill(a, b)

    x, y = x_and_y()
    shared, total = np.zeros_like(x), np.zeros_like(x)
    first = w.compile().execute_async(a=np.ones_like(x), b=shared)
    assert begun.wait(60)

    def let_it_end():
        end.set()
        first.synchronize()

    given = {"x": x, "total": total, copied: shared[::-1]}
    adding.execute(x=given["x"], total=given["total"], y=Late(y, let_it_end))
    assert (y == (1 if copied == "x" else x + 1)).all()


def test_arrays_that_are_copied_share_no_memory_with_what_is_written(run):
    whole = np.arange(21 * 33, dtype=np.float32).reshape(21, 33)
    before = whole.copy()
    x, y = whole[:20, :32], whole[1:, 1:]
    dense = np.arange(20 * 32, dtype=np.float32).reshape(20, 32)
    for pair in ((x, y), (dense, dense[::-1]), (dense[::-1], dense), (dense[::-1], dense[::-1])):
        with pytest.raises(
            errors.ArgumentError, match="arrays of tensors `x` and `y` share memory"
        ) as refused:
            run(x=pair[0], y=pair[1])
        assert refused.value.code == "WSP0871"
    assert (whole == before).all()
    wide = np.zeros((20, 64), np.float32)
    wide[:, ::2] = dense
    run(x=wide[:, ::2], y=wide[:, 1::2])
    assert (wide[:, 1::2] == 2 * dense).all()


def test_an_array_that_is_written_may_not_be_read_only(run, tmp_path):
    x, y = x_and_y()
    y.flags.writeable = False
    of_bytes = np.frombuffer(bytes(y.nbytes), np.float32).reshape(y.shape)
    y.tofile(tmp_path / "y.bin")
    of_file = np.memmap(tmp_path / "y.bin", np.float32, "r", shape=y.shape)
    x.flags.writeable = False
    for out in (y, of_bytes, of_file):
        with pytest.raises(errors.ArgumentError) as refused:
            run(x=x, y=out)
        assert refused.value.code == "WSP1255" and not out.any()
    run(x=x, y=np.array(y))


def test_an_array_that_is_written_has_elements_of_its_own(run):
    x, _ = x_and_y()
    row = np.lib.stride_tricks.as_strided(np.zeros(32, np.float32), x.shape, (0, 4))
    with pytest.raises(errors.ArgumentError) as refused:
        run(x=x, y=row)
    assert refused.value.code == "WSP0871" and not row.any()
    with pytest.raises(errors.ArgumentError) as refused:
        run(x=x, y=[[0.0] * 32] * 20)
    assert refused.value.code == "WSP1250" and "no array, but `list`" in refused.value.message


def test_arguments_tell_the_arrays(tmp_path):
    for text, of in ((KERNEL + ENTRY, "program"), (KERNEL, "library")):
        file = tmp_path / f"{of}.pto"
        file.write_text(text)
        program = load(file).program() if of == "program" else used(load(file))
        assert program.arguments["y"].endswith("[rows, 32]"), program.arguments
        assert "rows" not in program.arguments
        assert "y" in program.explain()
        program.rebind(y=x_and_y()[1])


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_runs_over_one_output_the_second_is_refused_when_it_starts(tmp_path, turned):
    file = tmp_path / "twice.pto"
    file.write_text(KERNEL + ENTRY)
    program = load(file).program(num_threads=1)
    x, y = x_and_y(4000)
    out = y[::-1] if turned else y
    first = program.execute_async(x=x, y=out)
    try:
        # Where the first has ended, the second runs after it.
        program.execute_async(x=3 * x, y=out).synchronize()
    except errors.ArgumentError as refused:
        assert refused.code == "WSP1268" and "writes it, as `y`" in str(refused)
    first.synchronize()


def test_runs_of_several_threads_over_one_output_end_well_or_never_begin(tmp_path):
    file = tmp_path / "twice.pto"
    file.write_text(KERNEL + ENTRY)
    program, (x, y), lost = load(file).program(num_threads=1), x_and_y(2000), []

    def many(factor):
        for _ in range(20):
            try:
                run = program.execute_async(x=factor * x, y=y)
            except errors.ArgumentError:
                continue
            try:
                run.synchronize()
            except errors.ArgumentError as refused:
                lost.append(refused)

    threads = [threading.Thread(target=many, args=(factor,)) for factor in (1, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not lost, lost[0]


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint16", "int32", "uint32", "int64", "uint64"])
def test_lists_of_integers_have_any_type_of_integer(tmp_path, dtype):
    file = tmp_path / "gather.pto"
    file.write_text(GATHER)
    program = load(file).program()
    index, (x, y) = np.array([3, 1, 0, 2]).astype(dtype), x_and_y(4)
    program.execute(index=index, x=x, y=y)
    assert (y == x[index]).all()
    program.execute_plan(program.plan(index=index, x=x), index=index[::-1].astype(dtype)[::-1], x=x, y=y)
    program.execute(index=np.array([False, True, False, True]), x=x, y=y)
    assert (y == x[[0, 1, 0, 1]]).all()


def test_files_without_a_kernel_and_options_without_an_effect_are_refused(tmp_path):
    (tmp_path / "empty.pto").write_text("")
    with pytest.raises(errors.WspError, match="has no kernel"):
        load(tmp_path / "empty.pto")
    file = tmp_path / "twice.pto"
    file.write_text(KERNEL + ENTRY)
    with pytest.raises(errors.CompileError, match="no paged cache"):
        load(file).program(kv_layout="NHD")
