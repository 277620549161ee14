"""Workloads, kernels and Python kernels in other processes: pickled by the name of their function."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from misuse import X, Y, copies, copy, rows
from pto_wsp import (
    Constexpr,
    Dense,
    Deps,
    DispatchPolicy,
    In,
    Out,
    P,
    TaskGraph,
    TaskWindow,
    TracePolicy,
    Workload,
    combine,
    errors,
    f16,
    kernel,
    load,
    pto,
    python_kernel,
    sequential,
    table,
    tensor,
    tile,
    workload,
)

DECODE = Path(__file__).resolve().parents[2] / "examples/attention/decode.pto"
PAGES = tensor((4, 16, 2, 64), f16)


@python_kernel
def copy_in_numpy(x: In, y: Out):
    y[...] = x


@workload
def scaled(n, factor: Constexpr):
    for i in P(P.ceildiv(n, 16)):
        copy_in_numpy[i](X[tile(i, 16)], Y[tile(i, 16)])


def again(made):
    return pickle.loads(pickle.dumps(made))


def ran(made: Workload) -> float:
    """The sum of what a workload copies, in whatever process."""
    y = np.zeros((20, 64), np.float32)
    made.compile(num_threads=2).execute(X=rows(20), Y=y)
    return float(y.sum())


@pytest.mark.parametrize("made", [copy, copy_in_numpy], ids=["kernel", "python kernel"])
def test_a_kernel_is_the_one_of_its_name(made):
    assert again(made) is made


def test_a_workload_keeps_what_is_bound_and_scheduled():
    made = copies(n=Dense[20]).dispatch(DispatchPolicy.affinity(lambda t: t.i * 2 + 1))
    made = made.task_graph(deps=Deps.infer_bytes_overlap(), window=TaskWindow(16)).pipeline_depth(3)
    assert repr(again(made)) == repr(made)
    assert repr(again(copies)) == repr(copies)
    assert repr(again(scaled(factor=(1, "a")))) == repr(scaled(factor=(1, "a")))


@pytest.mark.parametrize("join", [combine, sequential])
def test_workloads_of_parts(join):
    made = join(copies, scaled(factor=2)).streams(2)
    assert repr(again(made)) == repr(made)


def test_a_key_over_a_table_is_pickled():
    lens = table([3, 1, 2], name="lens")
    made = copies.streams(4).stream_by(lambda t: lens[t.i % 3])
    assert repr(again(made)) == repr(made)


def test_kernels_of_files_are_those_of_the_file():
    lib = load(DECODE)
    assert repr(again(lib)) == repr(lib)
    name = next(name for name in dir(lib) if name not in ("path", "program"))
    assert repr(again(getattr(lib, name))) == repr(getattr(lib, name))


def test_a_process_that_is_spawned_runs_what_it_is_given():
    context = multiprocessing.get_context("spawn")
    made = [copies, scaled(factor=1), copies.streams(2).stream_by("i")]
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        assert list(pool.map(ran, made)) == [20 * 64.0] * 3


def test_a_script_gives_its_own_workloads_to_processes(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert (ran.stdout, ran.returncode) == ("[64.0, 64.0]\n", 0), ran.stderr


SCRIPT = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
import numpy as np
from pto_wsp import In, Out, P, f32, kernel, pto, tensor, workload

X = tensor(("n", 64), f32)
Y = tensor(("n", 64), f32)

@kernel
def copy(x: In, y: Out):
    pto.store(y, pto.load(x))

@workload
def rows(n):
    for i in P(n):
        copy[i](X[i : i + 1], Y[i : i + 1])

def ran(made):
    y = np.zeros((1, 64), np.float32)
    made.compile().execute(X=np.ones((1, 64), np.float32), Y=y)
    return float(y.sum())

if __name__ == "__main__":
    # A pool starts processes that die again and again; this one fails.
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        print(list(pool.map(ran, [rows, rows.streams(2)])))
"""


def test_what_is_defined_in_a_function_is_refused():
    @kernel
    def local(x: In, y: Out):
        pto.store(y, pto.load(x))

    @workload
    def w(n):
        copy(X[0:16], Y[0:16])

    for made, name in ((local, "local"), (w, "w"), (w.streams(2), "w")):
        with pytest.raises(errors.CompileError) as caught:
            pickle.dumps(made)
        assert caught.value.code == "WSP1223" and f"`{name}`" in caught.value.message
        assert "top of a module" in caught.value.help[0]


def test_what_is_of_one_process_is_refused():
    program = copies.compile()
    x, y = np.ones((16, 64), np.float32), np.zeros((16, 64), np.float32)
    run = program.execute_async(X=x, Y=y)
    run.synchronize()
    graph = TaskGraph.from_text("extern Z: f32[4]\n")
    plan = (
        load(DECODE)
        .program(schedule="Fixed", max_blocks=4)
        .plan(
            {"q": tensor((1, 8, 1, 64), f16), "kv.k": PAGES, "kv.v": PAGES},
            **{"kv.indptr": [0, 1], "kv.indices": [0], "kv.last_page_len": [3]},
        )
    )
    for made, help in (
        (run, "run.synchronize()"),
        (program.bind(X=x, Y=y), "program.bind(X=x)"),
        (program.simulate(n=16), "simulation.graph"),
        (graph, "graph.to_bytes()"),
        (plan, "program.plan(arrays)"),
    ):
        with pytest.raises(errors.CompileError) as caught:
            pickle.dumps(made)
        assert caught.value.code == "WSP1223" and type(made).__name__ in caught.value.message
        assert help in caught.value.help[0]


def test_a_function_of_a_schedule_is_pickled_as_functions_are():
    made = copies.task_graph(trace=TracePolicy.cycles(lambda t: 3))
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(made)
