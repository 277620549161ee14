"""An error that leaves a call carries the user's frames and nothing of the package, in notebooks too."""

from __future__ import annotations

import asyncio
import inspect
import math
import pickle
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pto_wsp
import pytest
from misuse import X, Y, copies, copy, rows
from pto_wsp import (
    DispatchPolicy,
    In,
    InOut,
    Out,
    P,
    Tensor,
    errors,
    f32,
    kernel,
    load,
    pto,
    python_kernel,
    tensor,
    tile,
    workload,
)

PACKAGE = str(Path(pto_wsp.__file__).parent)
MOST_LINES = 15


def typo() -> None:
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.rowsun(pto.load(x)))

    @workload
    def w(n):
        for i in P(P.ceildiv(n, 16)):
            k[i](X[tile(i, 16)], Y[tile(i, 16)])

    w.compile()


def condition() -> None:
    @workload
    def w(n):
        for i in P(n):
            if i > 3:
                copy[i](X[i : i + 1], Y[i : i + 1])

    w.compile()


def failing_task() -> None:
    @python_kernel
    def k(x: In, y: Out):
        y[...] = x @ x

    @workload
    def w(n):
        k(X[0:16], Y[0:16])

    w.compile().execute(X=rows(16), Y=rows(16))


def bad_loop() -> None:
    @workload
    def w(n):
        for i, j in P(n):
            copy[i](X[j : j + 1], Y[i : i + 1])

    w.compile()


def bad_key() -> None:
    copies.dispatch(DispatchPolicy.affinity(lambda t: t.i // 0))


def bad_index() -> None:
    @workload
    def w(n):
        for i in P(n):
            copy[i](X[i, 64], Y[i])

    w.compile()


def order_of_elements() -> None:
    @workload
    def w(n):
        X[0:4] > 3  # noqa: B015

    w.compile()


def sum_of_elements() -> None:
    @workload
    def w(n):
        1 + X[0:4]

    w.compile()


def step_of_a_loop() -> None:
    @workload
    def w(n):
        P(n, step=2)  # type: ignore[call-overload]

    w.compile()


def key_without_a_parameter() -> None:
    copies.streams(2).stream_by(lambda: 3)


def key_that_python_refuses() -> None:
    copies.streams(2).stream_by(divmod)


def affinity_without_a_parameter() -> None:
    copies.dispatch(DispatchPolicy.affinity(lambda: 3))


def constant_that_python_refuses() -> None:
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.load(x) * math.sqrt(-1.0))

    @workload
    def w(n):
        k(X[0:16], Y[0:16])

    w.compile()


def workload_of_a_function() -> Any:
    @workload
    def w(n):
        copy(X[0], Y[0])

    return w


def kernel_of_a_function() -> Any:
    @kernel
    def k(x: In, y: Out):
        pto.store(y, pto.load(x))

    return k


def program_with_a_function() -> Any:
    @python_kernel
    def k(x: In, y: Out):
        y[...] = x

    @workload
    def w(n):
        k(X[0:16], Y[0:16])

    return w.compile()


def graph() -> Any:
    """A graph of one task."""
    return copies.compile().graph(X=rows(4), Y=rows(4))


MISTAKES: dict[str, Any] = {
    "typo in a kernel": typo,
    "condition of Python": condition,
    "task that fails": failing_task,
    "loop": bad_loop,
    "key": bad_key,
    "index": bad_index,
    "key without a parameter": key_without_a_parameter,
    "key that Python refuses": key_that_python_refuses,
    "affinity without a parameter": affinity_without_a_parameter,
    "constant that Python refuses": constant_that_python_refuses,
    "pickled workload of a function": lambda: pickle.dumps(workload_of_a_function()),
    "pickled kernel of a function": lambda: pickle.dumps(kernel_of_a_function()),
    "pickled program with a function": lambda: pickle.dumps(program_with_a_function()),
    "limit below 0": lambda: copies.compile().execute(X=rows(4), Y=rows(4), timeout=-1),
    "annotation that is called": lambda: Tensor[f32, "a"](3),
    "method": lambda: copies.dispach(1),
    "method of a program": lambda: copies.compile().exectue(),
    "option": lambda: copies.compile(num_thread=2),
    "arrays without names": lambda: copies.compile().execute(rows(4), rows(4)),
    "missing array": lambda: copies.compile().execute(X=rows(4)),
    "asynchronous run": lambda: copies.compile().execute_async(X=rows(4)),
    "bound program": lambda: copies.compile().bind(X=rows(4), Z=rows(4)),
    "value of a tensor": lambda: tensor(3.5),
    "function of kernels": lambda: pto.exp(3.0),
    "schedule": lambda: copies.streams(0),
    "class": lambda: pto_wsp.Dense["a"],
    "operator": lambda: X[0:4] == 3,
    "order of elements": order_of_elements,
    "sum of elements": sum_of_elements,
    "step of a loop": step_of_a_loop,
    "cost": lambda: graph().critical_path(3),  # type: ignore[arg-type]
    "cost that is text": lambda: graph().critical_path(lambda t: "a"),  # type: ignore[arg-type, return-value]
    "task beyond the last": lambda: graph().name_of(99),
    "name of a task": lambda: graph().name_of("a"),  # type: ignore[arg-type]
    "lambda": lambda: kernel(unit="cube")(lambda x: x),
    "file of Python": lambda: load(__file__),
    "size beside arrays": lambda: copies.compile().execute(X=rows(4), Y=rows(4), n=9),
    "method of another object": lambda: pto_wsp.Program.execute(3, X=rows(4)),  # type: ignore[arg-type]
    "attribute of a run": lambda: copies.compile().execute_async(X=rows(4), Y=rows(4)).wiat(),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("name", MISTAKES)
def test_no_frame_of_the_package_is_in_a_traceback(name: str):
    with pytest.raises(errors.WspError) as caught:
        MISTAKES[name]()
    error: BaseException | None = caught.value
    while error is not None:
        files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        assert files and not [file for file in files if file.startswith(PACKAGE)], name
        error = error.__cause__
    assert "During handling" not in "".join(traceback.format_exception(caught.value))


HOW = {
    "execute": lambda w: w.compile(num_threads=2).execute(Y=rows(16)),
    "on the caller's thread": lambda w: w.compile(num_threads=1).execute(Y=rows(16)),
    "bound": lambda w: w.compile(num_threads=2).bind(Y=rows(16))(),
    "run": lambda w: w.compile(num_threads=1).bind(Y=rows(16)).run(),
    "beside": lambda w: w.compile().execute_async(Y=rows(16)).synchronize(),
}


@pytest.mark.parametrize("how", HOW)
def test_an_error_of_the_package_in_a_python_kernel_is_printed_once(how: str):
    program = copies.compile()

    @python_kernel
    def nested(y: InOut):
        program.execute(Q=3)

    @workload
    def w(n):
        nested(Y[0:16])

    with pytest.raises(errors.KernelError) as caught:
        HOW[how](w)
    error = caught.value
    try:
        raise error
    except errors.KernelError:
        # A call of the package while it is handled.
        repr(w)
    printed = "".join(traceback.format_exception(error))
    assert printed.count("the program takes no argument `Q`") == 1 and "indices" in printed
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert names[-1] == "nested"
    assert names[0] == test_an_error_of_the_package_in_a_python_kernel_is_printed_once.__name__
    assert isinstance(error.__context__, errors.ArgumentError) and error.__cause__ is None


def failing_program() -> pto_wsp.Program:
    @python_kernel
    def boom(y: InOut):
        raise ValueError("boom")

    @workload
    def fails(n):
        boom(Y[0:16])

    return fails.compile(num_threads=2)


def test_the_file_of_an_error_is_found_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(Path(__file__).parent)
    program = failing_program()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(errors.KernelError) as caught:
        program.execute(Y=rows(16))
    assert caught.value.file == __file__ and "raised here" in str(caught.value)
    assert 'raise ValueError("boom")' in str(caught.value)


def test_a_failed_run_has_the_frames_of_its_last_wait_alone():
    run = failing_program().execute_async(Y=rows(16))

    async def awaited() -> None:
        await run

    for look in (run.synchronize, run.wait, lambda: asyncio.run(awaited()), run.synchronize):
        with pytest.raises(errors.KernelError) as caught:
            look()
    error = caught.value
    names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert names == [test_a_failed_run_has_the_frames_of_its_last_wait_alone.__name__]
    assert "ValueError: boom" in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("name", [name for name in MISTAKES if name != "task that fails"])
def test_a_mistake_prints_few_lines(name: str):
    with pytest.raises(errors.WspError) as caught:
        MISTAKES[name]()
    told = "".join(traceback.format_exception(caught.value))
    own = traceback.extract_tb(caught.value.__traceback__)[0]
    # Without the frame of this test, which a script does not have.
    assert own.name == test_a_mistake_prints_few_lines.__name__
    assert len(told.splitlines()) - 3 <= MOST_LINES, told


def test_a_script_prints_few_lines(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(TYPO)
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert ran.returncode == 1 and "did you mean `rowsum`?" in ran.stderr
    assert len(ran.stderr.splitlines()) <= MOST_LINES, ran.stderr
    assert PACKAGE not in ran.stderr


TYPO = """
from pto_wsp import In, Out, P, f32, kernel, pto, tensor, tile, workload

X = tensor(("n", 64), f32)
Y = tensor(("n", 64), f32)

@kernel
def softmax(x: In, y: Out):
    t = pto.load(x)
    pto.store(y, t / pto.rowsun(t))

@workload
def w(n):
    for i in P(P.ceildiv(n, 16)):
        softmax[i](X[tile(i, 16)], Y[tile(i, 16)])

w.compile()
"""


def test_a_notebook_prints_few_lines(tmp_path: Path):
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat
    from jupyter_client.kernelspec import KernelSpec

    cells = [part.strip() for part in TYPO.split("\n@workload")]
    cells = [cells[0], "@workload\n" + cells[1].replace("\n\nw.compile()", ""), "w.compile()", "w.dispach(1)"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    kernel = f"{sys.executable} -m ipykernel_launcher -f {{connection_file}}".split()
    client = nbclient.NotebookClient(notebook, allow_errors=True, timeout=60)
    client.create_kernel_manager()
    client.km._kernel_spec = KernelSpec(argv=kernel, language="python", display_name="python")
    client.execute(cwd=str(tmp_path))
    for cell, help in ((2, "did you mean `rowsum`?"), (3, "did you mean `dispatch`?")):
        (output,) = notebook.cells[cell].outputs
        told = "\n".join(output["traceback"])
        assert output["ename"] in ("KernelError", "UnknownAttributeError") and help in told
        assert f"Cell In[{cell + 1}], line 1" in told, told
        assert len(told.splitlines()) <= MOST_LINES and PACKAGE not in told, told


def test_an_exception_of_the_user_keeps_its_frames_alone():
    @workload
    def w(n):
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError) as caught:
        w.compile()
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names == [test_an_exception_of_the_user_keeps_its_frames_alone.__name__, "w"]


def test_a_fault_of_the_package_keeps_all_frames(monkeypatch: pytest.MonkeyPatch):
    def fault(*_: object) -> None:
        raise AssertionError("a fault")

    fault = type(fault)(fault.__code__, {"__name__": "pto_wsp.fault", "AssertionError": AssertionError})
    monkeypatch.setattr(sys.modules["pto_wsp.workload"], "bind", fault)
    with pytest.raises(AssertionError) as caught:
        copies(4)
    files = [frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert any(file.startswith(PACKAGE) for file in files)


def test_what_is_public_is_read_as_a_function():
    method = vars(pto_wsp.Workload)["compile"]
    assert list(inspect.signature(pto_wsp.Workload.compile).parameters) == ["self", "target", "options"]
    assert inspect.isroutine(method) and method.__name__ == "compile" and "num_threads" in method.__doc__
    assert pto_wsp.tensor.__module__ == "pto_wsp"
    assert pickle.loads(pickle.dumps(pto_wsp.tile)) is pto_wsp.tile


def test_the_package_is_imported_while_cycles_are_looked_for():
    """Memory of an object that is being made is not looked at."""
    made = "import gc; gc.set_threshold(1); import pto_wsp; pto_wsp.Dense[4].size"
    assert subprocess.run([sys.executable, "-c", made]).returncode == 0
