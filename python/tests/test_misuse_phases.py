"""What happens to a program from outside while something goes on: Ctrl-C in every phase, a fork in the
middle, files that are edited, arrays that change their shape.
"""

from __future__ import annotations

import array
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from misuse import X, Y, copies, rows
from pto_wsp import In, Out, P, errors, f32, kernel, load, pto, python_kernel, tensor, tile, workload

POSIX = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork and no timers")

# Ctrl-C.


def fresh() -> Any:
    """A workload over a kernel that nothing has compiled yet."""

    @kernel
    def twice(x: In, y: Out):
        pto.store(y, pto.load(x) * 2.0)

    @workload
    def w(n):
        for i in P(P.ceildiv(n, 16)):
            twice[i](X[tile(i, 16)], Y[tile(i, 16)])

    return w


def phases(y: np.ndarray) -> None:
    """All phases of a program, one after the other."""
    work = fresh().streams(2)
    program = work.compile(num_threads=1)
    program.explain()
    x = rows(40)
    program.execute(X=x, Y=y)
    program.graph(X=x, Y=y).levels()
    program.simulate(X=x, Y=y).critical_path()
    bound = program.bind(X=x, Y=y)
    bound()
    program.execute_async(X=x, Y=y).synchronize()
    type(program).from_bytes(program.to_bytes()).execute(X=x, Y=y)


def interrupted_at(event: int, work: Callable[[], None]) -> int:
    """Runs with Ctrl-C at this call or return of a function; the number of them that there were."""
    seen = 0

    def profile(frame: Any, what: str, arg: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == event:
            signal.raise_signal(signal.SIGINT)

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return seen


def test_ctrl_c_at_any_call_in_any_phase_stays_one_and_leaves_all_usable():
    y = np.zeros((40, 64), np.float32)
    # What is read and kept once is not counted.
    phases(y)
    calls = interrupted_at(0, lambda: phases(y))
    assert (y == 2).all() and calls > 1000
    stopped = 0
    for event in range(7, calls, calls // 60):
        try:
            interrupted_at(event, lambda: phases(y))
        except KeyboardInterrupt:
            stopped += 1
    y[...] = 0
    phases(y)
    assert (y == 2).all()
    # A collection of garbage may add a call or take one away at the end.
    assert stopped >= 55


NATIVE = """
import signal
import numpy as np
from pto_wsp import InOut, P, f32, kernel, pto, tensor, workload

X = tensor((64,), f32)

@kernel(cost=100)
def scale(x: InOut):
    pto.store(x, pto.load(x) * 0.5)

@workload
def long(n):
    for i in P(n):
        scale[i](X)

def ring(*_):
    raise KeyboardInterrupt

x, n, graph = np.ones(64, np.float32), 10**9, 3 * 10**7
program = long.compile(num_threads=2)

def synchronize():
    run = program.execute_async(n=n, X=x)
    program.synchronize()

PHASES = {
    "run": lambda: program.execute(n=n, X=x),
    "bound run": lambda: program.bind(n=n, X=x)(),
    "wait": lambda: program.execute_async(n=n, X=x).wait(),
    "synchronize": synchronize,
    "graph": lambda: program.graph(n=graph, X=x),
    "simulation": lambda: program.simulate(n=graph, X=x),
    "model": lambda: long.compile().simulate_on("ascend_910b", n=graph, X=x),
    "AICPUs": lambda: long.compile(num_aicpus=2).execute(n=n, X=x),
    "bytecode": lambda: long.compile(num_aicpus=2, expand="bytecode").execute(n=n, X=x),
    "debugging": lambda: long.compile(enable_debug=True).execute(n=n, X=x),
}
signal.signal(signal.SIGALRM, ring)
for name, phase in PHASES.items():
    print(name, end=": ", flush=True)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        phase()
        print("went on to its end", end=", ")
    except KeyboardInterrupt:
        pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(program.execute(n=3, X=x).num_tasks, "tasks")
"""


@POSIX
def test_ctrl_c_in_compiled_code_ends_it_and_the_program_works_afterwards(tmp_path: Path):
    script = tmp_path / "long.py"
    script.write_text(NATIVE)
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    told = ran.stdout.splitlines()
    assert ran.returncode == 0 and len(told) == 10, ran.stdout + ran.stderr
    assert [line for line in told if not line.endswith(": 3 tasks")] == []


# Forks.


def in_child(work: Callable[[], bool]) -> bool:
    """Whether the work says so in the child of a fork, which ends with it."""
    child = os.fork()
    if child == 0:
        code = 3
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def right(threads: int, program: Any = None) -> bool:
    """Whether a run has the right numbers."""
    program = program or copies.compile(num_threads=threads)
    y = np.zeros((40, 64), np.float32)
    program.execute(X=rows(40), Y=y)
    return bool((y == 1).all())


@POSIX
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_child_of_a_fork_in_the_middle_of_a_trace_ends_it_and_goes_on():
    parent = os.getpid()

    @workload
    def w(n):
        if os.getpid() == parent and not told:
            told.append(os.fork())
        copies(n)

    told: list[int] = []
    program = w.compile(num_threads=2)
    if os.getpid() != parent:
        code = 3
        try:
            code = 0 if right(2, program) and right(2) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(told[0], 0)[1]) == 0
    assert right(2, program)


@POSIX
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_child_of_a_fork_after_a_parallel_run_has_threads_of_its_own():
    program = copies.compile(num_threads=2)
    assert right(2, program)
    assert in_child(lambda: right(2, program) and right(3))
    bound = program.bind(X=rows(40), Y=np.zeros((40, 64), np.float32))
    bound()
    assert in_child(lambda: bound() is not None or True)
    assert right(2, program)


@POSIX
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_task_that_forks_goes_on_and_its_child_ends(threads: int):
    told: list[bool] = []

    @python_kernel
    def forks(x: In, y: Out):
        told.append(in_child(lambda: True))
        y[...] = x

    @workload
    def w(n):
        for i in P(P.ceildiv(n, 16)):
            forks[i](X[tile(i, 16)], Y[tile(i, 16)])

    assert right(threads, w.compile(num_threads=threads))
    assert told == [True] * 3


# Files that change.

MODULE = """
from pto_wsp import In, Out, P, f32, kernel, pto, python_kernel, tensor, tile, workload

X, Y = tensor(("n", 64), f32), tensor(("n", 64), f32)

@kernel
def times(x: In, y: Out):
    pto.store(y, pto.load(x) * {factor})

@python_kernel
def edits(x: In, y: Out):
    edit()
    y[...] = x * {factor}

@workload
def both(n):
    for i in P(P.ceildiv(n, 16)):
        edits[i](X[tile(i, 16)], Y[tile(i, 16)])
    for i in P.seq(P.ceildiv(n, 16)):
        times[i](X[tile(i, 16)], Y[tile(i, 16)])
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_a_file_of_kernels_that_is_edited_while_they_run_makes_no_difference(
    threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    name = f"edited_{threads}"
    file = tmp_path / f"{name}.py"
    file.write_text(MODULE.format(factor="2.0"))
    monkeypatch.syspath_prepend(str(tmp_path))
    module = __import__(name)
    module.edit = lambda: file.write_text("# a line\n\n" + MODULE.format(factor="3.0"))
    y = np.zeros((40, 64), np.float32)
    program = module.both.compile(num_threads=threads)
    program.execute(X=rows(40), Y=y)
    assert (y == 2).all() and "3.0" in file.read_text()
    # Compiled once more after the edit, it is what was imported.
    y[...] = 0
    module.both.compile(num_threads=threads).execute(X=rows(40), Y=y)
    assert (y == 2).all()


PTO = """
PTO_SHAPE(x, rows, cols)
PTO_SHAPE(y, rows, cols)
PTO_SPACE(Rows) {{ PTO_AXIS(row, 0, rows) PTO_TILE(row, 16) }}
struct Row {{ uint32_t first; }};
PTO_DESCRIPTOR_GEN(Rows) {{ PTO_SCHEDULED_FOR(tile) {{ PTO_EMIT_DESCRIPTOR(Row{{ .first = tile * 16 }}); }} }}
PTO_KERNEL_IMPL(scaled) {{
    auto desc = PTO_GET_DESCRIPTOR<Row>();
    VecTile<float, 16, cols> t;
    TLOAD(t, x, {{desc.first}});
    TMULS(t, t, {factor});
    TSTORE(y, t, {{desc.first}});
}}
void scale(Tensor x, Tensor<float> y) {{ PTO_LAUNCH(Rows, {{ .x = x, .y = y }}); }}
"""


def test_a_program_keeps_the_text_that_its_pto_file_had(tmp_path: Path):
    file = tmp_path / "scale.pto"
    file.write_text(PTO.format(factor="2.0f"))
    library = load(file)
    x, y = rows(40), np.zeros((40, 64), np.float32)

    @workload
    def w(n):
        for i in P(P.ceildiv(n, 16)):
            library.scaled(first=i * 16)

    programs = library.program(), w.compile(num_threads=1)
    for text in (PTO.format(factor="3.0f"), "no program"):
        file.write_text(text)
        for program, sizes in zip(programs, ({}, {"n": 40}), strict=True):
            y[...] = 0
            program.execute(x=x, y=y, **sizes)
            assert (y == 2).all()
    # What is made now is of the text of now.
    for make in (library.program, w.compile, lambda: load(file)):
        with pytest.raises(errors.CompileError) as refused:
            make()
        assert refused.value.code and os.path.samefile(refused.value.file or "", file)
    file.write_text(PTO.format(factor="2.0f").replace("scaled", "other"))
    with pytest.raises(errors.WspError) as gone:
        w.compile()
    assert gone.value.code and "scaled" in str(gone.value)
    file.write_text(PTO.format(factor="3.0f"))
    library.program().execute(x=x, y=y)
    assert (y == 3).all()


# Arrays that change.


def test_shapes_are_those_of_each_call():
    program = copies.compile(num_threads=1)
    x, y = rows(40), np.zeros((40, 64), np.float32)
    program.execute(X=x, Y=y)
    for shape in ((20, 128), (2560,), (40, 64, 1)):
        x.shape = shape
        with pytest.raises(errors.ArgumentError) as refused:
            program.execute(X=x, Y=y)
        assert refused.value.code and "X" in refused.value.message
    x.shape = (40, 64)
    x.resize((10, 64), refcheck=False)
    with pytest.raises(errors.ArgumentError) as refused:
        program.execute(X=x, Y=y)
    assert refused.value.code and "n" in refused.value.message
    y = np.zeros((10, 64), np.float32)
    program.execute(X=x, Y=y)
    assert (y == 1).all()


def test_memory_that_a_bound_program_has_cannot_be_given_back():
    values = tensor(("n",), f32)

    @python_kernel
    def inc(x: In, y: Out):
        y[...] = x + 1

    @workload
    def w(n):
        inc(values, Y1)

    Y1 = tensor(("n",), f32, name="Y1")
    x, y = array.array("f", [1.0, 2.0]), np.zeros(2, np.float32)
    bound = w.compile(num_threads=1).bind(values=x, Y1=y)
    with pytest.raises(BufferError):
        x.append(3.0)
    x[0] = 5.0
    bound()
    assert y.tolist() == [6.0, 3.0]
    del bound
    x.append(3.0)
    assert len(x) == 3


def test_a_task_that_changes_the_shape_of_its_array_is_told_by_numpy():
    @python_kernel
    def grows(x: In, y: Out):
        x.resize((100, 64))
        y[...] = 0

    @workload
    def w(n):
        grows(X[0:16], Y[0:16])

    with pytest.raises(errors.KernelError) as failed:
        w.compile(num_threads=1).execute(X=rows(16), Y=rows(16))
    assert isinstance(failed.value.__cause__, ValueError)
