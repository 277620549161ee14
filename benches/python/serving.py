"""What attention of batches costs beside its kernels: `python benches/python/serving.py [repetitions]`.

Two requests of a few tokens, so that the kernels take next to nothing: a prepared call of the program,
`run` with the same arrays, `run` of two layers in turn, and a step in which lengths change in place. Then
`run` over a program that does nothing, which is what `BatchDecode` adds by itself. Times are the best of
the repetitions.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from pto_wsp import BatchDecode


def best(action: Callable[[], object], calls: int, repetitions: int) -> float:
    """Microseconds per call of the fastest of some rounds of calls."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        for _ in range(calls):
            action()
        times.append((time.perf_counter() - start) / calls)
    return min(times) * 1e6


class Nothing:
    """A bound program that does nothing."""

    def __call__(self) -> None:
        """Runs nothing."""

    def rebind(self, **arrays: Any) -> None:
        """Takes nothing."""


def main(repetitions: int = 7) -> None:
    """Prints the table."""
    last = np.array([3, 5], np.int32)
    decode = BatchDecode(num_threads=1)
    decode.plan([0, 1, 3], [2, 0, 1], last, 4, 2, 16, 8, "f32", splits="whole")
    q = np.zeros((2, 4, 16), np.float32)
    k = np.zeros((3, 8, 2, 16), np.float32)
    layers = [(k, k.copy()), (k.copy(), k.copy())]
    decode.run(q, layers[0])
    bound = decode._bound
    assert bound is not None

    def step() -> None:
        last[0] = last[0] % 8 + 1
        decode.run(q, layers[0])

    rows = {
        "prepared call": best(bound, 200, repetitions),
        "run": best(lambda: decode.run(q, layers[0]), 200, repetitions),
        "run of two layers in turn": best(lambda: [decode.run(q, kv) for kv in layers], 100, repetitions) / 2,
        "run with other lengths": best(step, 50, repetitions),
    }
    decode.run(q, layers[0])
    nothing: Any = Nothing()
    decode._bound = nothing
    alone = best(nothing, 2000, repetitions)
    rows["run over nothing"] = best(lambda: decode.run(q, layers[0]), 2000, repetitions) - alone
    for name, microseconds in rows.items():
        print(f"  {name:28} {microseconds:10.2f} µs")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
