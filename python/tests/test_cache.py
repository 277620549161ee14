"""A folder that keeps machine code for the programs of `.pto` files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pto_wsp import Out, Program, Scalar, errors, f32, kernel, load, python_kernel, tensor, workload

SOURCE = """
PTO_SHAPE(x, n)
PTO_SHAPE(y, n)
PTO_SPACE(Twice) { PTO_AXIS(i, 0, n) PTO_TILE(i, 64) }
struct Part { uint32_t first; };
PTO_DESCRIPTOR_GEN(Twice) {
    PTO_SCHEDULED_FOR(tile) { PTO_EMIT_DESCRIPTOR(Part{ .first = tile * 64 }); }
}
PTO_KERNEL_IMPL(twice) {
    auto part = PTO_GET_DESCRIPTOR<Part>();
    VecTile<float, 64, 1> t;
    TLOAD(t, x, {part.first});
    TMULS(t, t, 2.0f);
    TSTORE(y, t, {part.first});
}
void run(Tensor<float> x, Tensor<float> y) { PTO_LAUNCH(Twice, { .x = x, .y = y }); }
"""
LONG = 64 * 30_000
"""So many elements that the generator is compiled."""


def cached(program: Program) -> str:
    line = next(line for line in program.explain().splitlines() if line.strip().startswith("cache"))
    return line.strip().removeprefix("cache").strip()


def plan(folder: Path, **options: Any) -> tuple[Program, list[str]]:
    program = load(folder / "twice.pto").program(cache=folder / "plans", **options)
    x = np.empty(LONG, np.float32)
    words = [d.name for d in program.plan(x=x, y=x.copy()).descriptors[:3]]
    return program, words


def test_the_plan_of_another_process_takes_the_code_that_was_kept(tmp_path: Path) -> None:
    (tmp_path / "twice.pto").write_text(SOURCE)
    first, words = plan(tmp_path)
    assert cached(first).startswith("miss, nothing is kept of this program;")
    assert cached(first).endswith("1 compiled")
    code = (
        "import sys; sys.path[:0] = eval(sys.argv[2]); from pathlib import Path; import test_cache as t; "
        "program, words = t.plan(Path(sys.argv[1])); print(t.cached(program)); print(words)"
    )
    paths = [str(Path(__file__).parent), *sys.path]
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path), repr(paths)], capture_output=True, text=True, check=True
    )
    told = "hit; machine code of scalar functions: 1 taken, 0 compiled"
    assert ran.stdout.splitlines() == [told, str(words)]
    second, _ = plan(tmp_path, max_blocks=3)
    assert cached(second).startswith("miss, schedule or options differ;")


def test_results_are_the_same_with_a_cache(tmp_path: Path) -> None:
    (tmp_path / "twice.pto").write_text(SOURCE)
    x = np.arange(1000, dtype=np.float32)
    outputs = []
    for options in ({}, {"cache": tmp_path / "plans"}, {"cache": str(tmp_path / "plans")}):
        y = np.empty_like(x)
        load(tmp_path / "twice.pto").program(**options).execute(x=x, y=y)
        outputs.append(y.tobytes())
    assert outputs[0] == outputs[1] == outputs[2] == (2 * x).tobytes()
    assert len(list((tmp_path / "plans").iterdir())) == 1


def test_a_folder_that_cannot_be_a_cache_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "twice.pto").write_text(SOURCE)
    with pytest.raises(errors.ArgumentError, match="WSP0516"):
        load(tmp_path / "twice.pto").program(cache=tmp_path / "twice.pto")
    with pytest.raises(errors.CompileError, match="give the path of a folder"):
        load(tmp_path / "twice.pto").program(cache=3)


@kernel
def steps(y: Out, n: Scalar):
    total = 0
    for i in range(n):
        total = (total * 3 + i) % 1000
    y[0] = total


def counted(folder: Path | None, n: int) -> tuple[Program, float]:
    Y = tensor((1,), f32)

    @workload
    def count(n):
        steps(Y, n)

    program = count.compile(cache=folder)
    y = np.zeros(1, np.float32)
    program.execute(n=n, Y=y)
    return program, float(y[0])


def test_a_workload_takes_the_code_of_its_kernels_that_another_process_kept(tmp_path: Path) -> None:
    long = 30_000
    _, right = counted(None, long)
    first, value = counted(tmp_path / "plans", long)
    assert cached(first) == (
        "miss, nothing is kept of this program; machine code of scalar functions: 0 taken, 1 compiled"
    )
    code = (
        "import sys; sys.path[:0] = eval(sys.argv[2]); from pathlib import Path; import test_cache as t; "
        "program, value = t.counted(Path(sys.argv[1]), 3); print(t.cached(program)); print(value)"
    )
    paths = [str(Path(__file__).parent), *sys.path]
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "plans"), repr(paths)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ran.stdout.splitlines() == ["hit; machine code of scalar functions: 1 taken, 0 compiled", "5.0"]
    assert value == right
    assert "cache" not in Program.from_bytes(first.to_bytes()).options


def test_bound_programs_keep_code_too(tmp_path: Path) -> None:
    Y = tensor((1,), f32)

    @workload
    def count(n):
        steps(Y, n)

    program = count.compile(cache=tmp_path)
    y = np.zeros(1, np.float32)
    program.bind(n=30_000, Y=y)()
    again = count.compile(cache=tmp_path)
    assert cached(again) == "hit; machine code of scalar functions: 1 taken, 0 compiled"


def test_a_cache_of_a_workload_without_compiled_kernels_is_an_error(tmp_path: Path) -> None:
    Y = tensor((1,), f32)

    @python_kernel
    def one(y: Out):
        y[...] = 1

    @workload
    def w():
        one(Y)

    with pytest.raises(errors.CompileError, match="WSP1264.*no kernel is compiled"):
        w.compile(cache=tmp_path)
    with pytest.raises(errors.CompileError, match="give the path of a folder"):
        w.compile(cache=3)
