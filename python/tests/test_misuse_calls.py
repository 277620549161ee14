"""What users do wrong when they compile, run and save programs, and that a run that fails or is interrupted
leaves the program usable.
"""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from misuse import Cases, Misuse, X, Y, check, copies, copy, rows
from pto_wsp import (
    Buffer,
    Channel,
    In,
    Out,
    P,
    Program,
    Table,
    errors,
    f32,
    i64,
    kernel,
    pto,
    python_kernel,
    workload,
)

CASES = Cases([])


# ---- Options of `compile`.


@CASES.add(errors.CompileError, "WSP1220", "num_threads")
def unknown_option() -> None:
    copies.compile(num_thread=2)  # here


@CASES.add(errors.CompileError, "WSP0400", "cpu_sim")
def unknown_target() -> None:
    copies.compile(target="gpu")  # here


@CASES.add(errors.CompileError, "WSP1600", "targets that run here: `cpu_sim` (cpu)")
def target_that_nothing_runs() -> None:
    copies.compile(target="ascend_910b")  # here


@CASES.add(errors.CompileError, "WSP1221", "3")
def option_out_of_range() -> None:
    copies.compile(optimization_level=9)  # here


@CASES.add(errors.CompileError, "WSP1222", "streams(")
def option_that_this_target_cannot_keep() -> None:
    copies.compile(num_streams=2)  # here


# ---- Arguments of `execute`.


@CASES.add(errors.ArgumentError, "WSP1260", "`X`")
def name_typo_in_execute() -> None:
    copies.compile().execute(XX=rows(16), Y=rows(16))  # here


@CASES.add(errors.ArgumentError, "WSP1259", "Y")
def missing_array() -> None:
    copies.compile().execute(X=rows(16))  # here


@CASES.add(errors.ArgumentError, "WSP1260", "")
def surplus_array() -> None:
    copies.compile().execute(X=rows(16), Y=rows(16), bias=rows(16))  # here


@CASES.add(errors.ArgumentError, "WSP1252", "float32")
def wrong_element_type() -> None:
    copies.compile().execute(X=rows(16).astype(np.float64), Y=rows(16))  # here


@CASES.add(errors.ArgumentError, "WSP1253", "64")
def wrong_shape() -> None:
    copies.compile().execute(X=np.ones((16, 63), np.float32), Y=rows(16))  # here


@CASES.add(errors.ArgumentError, "WSP1253", "")
def wrong_rank() -> None:
    copies.compile().execute(X=np.ones(64, np.float32), Y=rows(16))  # here


@CASES.add(errors.ArgumentError, "WSP1261", "")
def arrays_that_contradict_each_other() -> None:
    copies.compile().execute(X=rows(16), Y=rows(17))  # here


@CASES.add(errors.ArgumentError, "WSP1255", "")
def read_only_output() -> None:
    frozen = rows(16)
    frozen.flags.writeable = False
    copies.compile().execute(X=rows(16), Y=frozen)  # here


@CASES.add(errors.ArgumentError, "WSP1256", "")
def big_endian_array() -> None:
    copies.compile().execute(X=rows(16).astype(">f4"), Y=rows(16))  # here


@CASES.add(errors.ArgumentError, "WSP1254", "np.ascontiguousarray")
def negative_stride() -> None:
    copies.compile().execute(X=rows(16)[::-1], Y=rows(16))  # here


@CASES.add(errors.ArgumentError, "WSP1250", "")
def list_for_an_array() -> None:
    copies.compile().execute(X=rows(16).tolist(), Y=rows(16))  # here


@CASES.add(errors.ArgumentError, "WSP1262", "")
def size_that_is_no_number() -> None:
    copies.compile().execute(n=float("nan"), X=rows(16), Y=rows(16))  # here


@CASES.add(errors.ArgumentError, "WSP1261", "")
def negative_size() -> None:
    copies.compile().execute(n=-1, X=rows(0), Y=rows(0))  # here


# ---- Data that only a run sees.


@CASES.add(errors.ExecutionError, "WSP0813", "")
def index_out_of_range() -> None:
    @workload
    def w(n):
        for i in P(n):
            copy[i](X[i + 1], Y[i])  # here

    w.compile().execute(X=rows(16), Y=rows(16))


@CASES.add(errors.ExecutionError, "WSP0812", "")
def table_index_out_of_range() -> None:
    @workload
    def w(n, first: Table[i64, ...]):
        for i in P(n):
            copy[i](X[first[i + 1]], Y[i])  # here

    w.compile().execute(X=rows(4), Y=rows(4), first=np.zeros(4, np.int64))


@CASES.add(errors.DeadlockError, "WSP0820", "")
def pipeline_whose_processes_wait_for_each_other() -> None:
    @workload
    def w(n):
        there, back = Channel((1, 64), f32, depth=1), Channel((1, 64), f32, depth=1)
        with P.pipe():  # here
            with P.process("left"):
                for i in P(n):
                    with back.consume() as given, there.send() as slot:
                        copy[i](given, slot)
            with P.process("right"):
                for i in P(n):
                    with there.consume() as given, back.send() as slot:
                        copy[i](given, slot)

    w.compile().execute(n=4)


@CASES.add(errors.ArgumentError, "WSP0806", "such a value that the extent is 0 to 4294967295: `n=128`")
def more_memory_than_there_is() -> None:
    @workload
    def w(n):
        scratch = Buffer((n, 64), f32)
        copy(scratch[0], scratch[1])

    w.compile().execute(n=2**60)  # here


# ---- Bytes.


@CASES.add(errors.FormatError, "WSP1230", "")
def corrupted_bytes() -> None:
    data = bytearray(copies.compile().to_bytes())
    data[len(data) // 2] ^= 0xFF
    Program.from_bytes(bytes(data))  # here


@CASES.add(errors.FormatError, "WSP1230", "to_bytes")
def bytes_of_something_else() -> None:
    Program.from_bytes(b"\x89PNG\r\n\x1a\n")  # here


@CASES.add(errors.CompileError, "WSP1223", "k")
def python_kernel_in_a_pickle() -> None:
    @python_kernel
    def k(x: In, y: Out):
        y[...] = x

    @workload
    def w(n):
        k(X, Y)

    pickle.dumps(w.compile())  # here


# ---- Cases of another form.


def test_argument_errors_are_type_and_value_errors_too() -> None:
    with pytest.raises(TypeError):
        missing_array()
    with pytest.raises(ValueError):
        wrong_shape()


def test_an_empty_batch_is_no_mistake() -> None:
    assert copies.compile().execute(X=rows(0), Y=rows(0)).num_tasks == 0


def test_a_program_works_after_a_failed_run() -> None:
    program = copies.compile(num_threads=2)
    y = np.zeros((16, 64), np.float32)
    with pytest.raises(errors.ArgumentError):
        program.execute(X=rows(16))
    program.execute(X=rows(16), Y=y)
    assert (y == 1).all()


@pytest.mark.parametrize("cut", [0, 1, 7, 8, 20, 100])
def test_truncated_bytes_are_refused(cut: int) -> None:
    data = copies.compile().to_bytes()
    with pytest.raises(errors.FormatError):
        Program.from_bytes(data[:cut])


def test_no_single_changed_byte_is_taken_for_a_program_silently() -> None:
    data = copies.compile().to_bytes()
    for place in range(0, len(data), max(1, len(data) // 64)):
        changed = bytearray(data)
        changed[place] ^= 0x55
        with pytest.raises(errors.WspError):
            Program.from_bytes(bytes(changed))


LONG_RUN = """
import signal
import numpy as np
from pto_wsp import In, InOut, P, f32, kernel, pto, python_kernel, tensor, workload

X = tensor((64,), f32)
# Whoever started the tests may have had it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

@kernel
def spin(x: InOut):
    for _ in range(2000):
        pto.store(x, pto.load(x) * 0.5)

@python_kernel
def announce(x: In):
    print("running", flush=True)

@workload
def long(n):
    announce(X)
    for i in P.seq(n):
        spin[i](X)

program = long.compile(num_threads={threads}, enable_debug={debug})
x = np.ones(64, np.float32)
try:
    program.execute(n=1_000_000_000, X=x)
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(program.execute(n=3, X=x).num_tasks, "tasks", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for a child alone")
@pytest.mark.parametrize("threads, debug", [(1, True), (1, False), (2, False)])
def test_ctrl_c_ends_a_long_run_and_the_program_works_afterwards(
    threads: int, debug: bool, tmp_path: Path
) -> None:
    script = tmp_path / "long_run.py"
    script.write_text(LONG_RUN.format(threads=threads, debug=debug))
    child = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "running\n"
        child.send_signal(signal.SIGINT)
        assert child.stdout.read() == "interrupted\nrunning\n4 tasks\n"
        assert child.wait() == 0
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize("case", CASES.all, ids=str)
def test_mistake_is_told_by_class_code_line_and_help(case: Misuse) -> None:
    check(case)


def test_there_are_enough_cases() -> None:
    assert len(CASES.all) >= 20


# ---- What newcomers type first.


@pytest.mark.parametrize("method", ["execute", "bind", "graph", "simulate"])
def test_a_workload_that_is_run_without_a_compilation(method):
    with pytest.raises(AttributeError, match=rf"copies\.compile\(\)\.{method}\("):
        getattr(copies, method)(X=rows(16), Y=rows(16))
    assert not hasattr(copies, "excute")


def test_a_program_has_no_run():
    with pytest.raises(AttributeError, match=r"program\.execute\(X=x"):
        copies.compile().run(X=rows(16), Y=rows(16))
    with pytest.raises(AttributeError, match="did you mean `execute`"):
        copies.compile().execut(X=rows(16), Y=rows(16))


def test_a_run_without_tasks_says_so():
    @workload
    def forgets(n):
        for _ in P(n):
            copy

    for program, sizes in ((forgets.compile(), {"n": 3}), (copies.compile(), {"X": rows(0), "Y": rows(0)})):
        (note,) = program.execute(**sizes).notes
        assert "WSP0545" in note and "nothing ran" in note
    assert copies.compile().execute(X=rows(16), Y=rows(16)).notes == []


def test_an_array_of_numpy_that_is_indexed_in_a_workload():
    x = rows(16)

    @workload
    def direct(n):
        for i in P(n):
            copy[i](x[i], Y[i])

    with pytest.raises(errors.TraceError) as found:
        direct.compile()
    assert "`X = tensor(x)`" in found.value.help[0]


def test_an_out_of_a_kernel_that_is_given_a_tile():
    @kernel
    def assigns(x: In, y: Out):
        y = pto.load(x)  # noqa: F841

    @workload
    def assigned(n):
        for i in P(n):
            assigns[i](X[i : i + 1], Y[i : i + 1])

    with pytest.raises(errors.KernelError) as found:
        assigned.compile()
    assert found.value.code == "WSP1115" and "`y[...] = value`" in found.value.help[0]
