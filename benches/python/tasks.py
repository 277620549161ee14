"""What a task costs from Python: `python benches/python/tasks.py [tasks] [repetitions]`.

Three ways to do the same trivial work, 16 floats incremented per task: a compiled kernel, a Python kernel
(one call of Python per task), and a Python loop over NumPy slices without any runtime. Then the overhead
of a call and of a prepared call, what a Python kernel costs per task on several threads, alone and
beside a compiled kernel that takes longer, and the time to compile for a hundred and for ten million
tasks. Times are the best of the repetitions.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from pto_wsp import InOut, P, f32, kernel, pto, python_kernel, tensor, workload

X = tensor((64, 16), f32)
A = tensor((64, 64, 64), f32)


@kernel
def add_one(x: InOut):
    """A trivial task."""
    pto.store(x, pto.load(x) + 1.0)


@python_kernel
def add_one_in_python(x: InOut):
    """The same, called by the runtime."""
    x += 1.0


@kernel
def square(a: InOut):
    """What takes some times as long as a call of Python."""
    pto.store(a, pto.matmul(pto.load(a), pto.load(a)))


@workload
def compiled(n):
    for i in P(n):
        add_one[i](X[i % 64])


@workload
def called(n):
    for i in P(n):
        add_one_in_python[i](X[i % 64])


@workload
def mixed(n):
    for i in P(n):
        square[i](A[i % 64])
        add_one_in_python[i](X[i % 64])


def best(action: Callable[[], object], repetitions: int) -> float:
    """Seconds of the fastest of some runs."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def numpy_loop(x: np.ndarray, n: int) -> None:
    """The work without tasks."""
    for i in range(n):
        x[i % 64] += 1.0


def task_rates(n: int, repetitions: int) -> dict[str, float]:
    """Tasks per millisecond of each way."""
    x = np.zeros((64, 16), np.float32)
    one, many, python = compiled.compile(num_threads=1), compiled.compile(), called.compile(num_threads=1)
    in_order = compiled.compile(enable_debug=True)
    seconds = {
        "compiled kernel, all threads": best(lambda: many.execute(n=n, X=x), repetitions),
        "compiled kernel, one thread": best(lambda: one.execute(n=n, X=x), repetitions),
        "compiled kernel, in order": best(lambda: in_order.execute(n=n, X=x), repetitions),
        "python kernel": best(lambda: python.execute(n=n, X=x), repetitions),
        "python loop over slices": best(lambda: numpy_loop(x, n), repetitions),
    }
    return {name: n / (t * 1e3) for name, t in seconds.items()}


def prepared_call(repetitions: int) -> dict[str, float]:
    """Microseconds of a prepared call of no tasks and of one task, in order on the calling thread."""
    x = np.zeros((64, 16), np.float32)
    program = compiled.compile(enable_debug=True)

    def per_call(n: int) -> float:
        bound = program.bind(n=n, X=x)
        calls = 1000

        def run() -> None:
            for _ in range(calls):
                bound()

        return best(run, repetitions) / calls * 1e6

    return {"no task": per_call(0), "one task": per_call(1)}


def call(repetitions: int) -> dict[str, float]:
    """Microseconds of `execute` of one task, and of eight on all threads."""
    x = np.zeros((64, 16), np.float32)
    program = compiled.compile()

    def per_call(n: int) -> float:
        calls = 200

        def run() -> None:
            for _ in range(calls):
                program.execute(n=n, X=x)

        return best(run, repetitions) / calls * 1e6

    return {"one task": per_call(1), "eight tasks": per_call(8)}


def python_kernel_cost(n: int, repetitions: int) -> dict[str, float]:
    """Microseconds per task of a Python kernel, by threads."""
    x = np.zeros((64, 16), np.float32)
    found = {}
    for threads in (1, 2, 4, 8):
        program = called.compile(num_threads=threads)
        seconds = best(lambda program=program: program.execute(n=n, X=x), repetitions)
        found[f"{threads} threads"] = seconds / n * 1e6
    return found


def mixed_cost(n: int, repetitions: int) -> dict[str, float]:
    """Microseconds per task of a compiled kernel and the one of a Python kernel beside it, by threads."""
    x, a = np.zeros((64, 16), np.float32), np.zeros((64, 64, 64), np.float32)
    found = {}
    for threads in (1, 2, 4, 8):
        program = mixed.compile(num_threads=threads)
        seconds = best(lambda program=program: program.execute(n=n, X=x, A=a), repetitions)
        found[f"{threads} threads"] = seconds / n * 1e6
    return found


def main(n: int = 100_000, repetitions: int = 5) -> None:
    """Prints the table."""
    rates = task_rates(n, repetitions)
    python = rates["python kernel"]
    print(f"{n} trivial tasks       tasks/ms   of python kernel")
    for name, rate in rates.items():
        print(f"  {name:28} {rate:10.1f}   {rate / python:8.1f}x")
    print("call")
    for name, microseconds in call(repetitions).items():
        print(f"  {name:28} {microseconds:10.2f} µs")
    print("python kernel, per task")
    for name, microseconds in python_kernel_cost(n // 4 or 1, repetitions).items():
        print(f"  {name:28} {microseconds:10.2f} µs")
    print("python kernel and a compiled one, per pair")
    for name, microseconds in mixed_cost(n // 16 or 1, repetitions).items():
        print(f"  {name:28} {microseconds:10.2f} µs")
    print("prepared call")
    for name, microseconds in prepared_call(repetitions).items():
        print(f"  {name:28} {microseconds:10.2f} µs")
    print("compile")
    for tasks in (100, 10_000_000):
        milliseconds = best(lambda tasks=tasks: compiled(tasks).compile(), repetitions) * 1e3
        print(f"  for {tasks:<10} tasks         {milliseconds:10.2f} ms")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
