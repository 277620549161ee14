"""What the peers of the benchmark `decode` share: the problem, the clock, and the lines that go in and out.

`README.md` describes the folder that a problem comes in and the lines. A peer is a program that calls
`serve` with its version and a function that makes its forms: ways to compute the problem, each with data in
the order and type it likes best. Peers take numpy from here, so that one who lacks it is told so.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn, Protocol

# What libraries print goes to standard error: standard output is for the lines.
_REPLIES = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)

#: Seconds after a measurement in which threads of a library may still spin; nobody is measured meanwhile.
SETTLE = 0.02


def reply(line: dict[str, Any]) -> None:
    """Sends one line to the command."""
    print(json.dumps(line), file=_REPLIES, flush=True)


def absent(what: str, install: str = "cargo xtask bench decode --peers --install") -> NoReturn:
    """Says what this peer lacks and what to type, and ends."""
    reply({"missing": what, "install": install})
    sys.exit(0)


try:
    import numpy as np
except ImportError:
    absent("the Python package numpy")


class Form(Protocol):
    """A way to compute the problem."""

    #: What it is, in a few words.
    name: str

    def run(self) -> None:
        """Computes everything once: what is measured."""

    def output(self) -> np.ndarray:
        """What the last run gave: f32 `[batch, q_heads, dim]`."""


class Problem:
    """Decode attention over a paged cache, and what f64 makes of it."""

    def __init__(self, folder: Path, threads: int) -> None:
        sizes = json.loads((folder / "problem.json").read_text())
        arrays = {path.stem: np.load(path, mmap_mode="r") for path in folder.glob("*.npy")}
        self.dtype: str = sizes["dtype"]
        self.scale: float = sizes["scale"]
        self.threads = threads
        self.lengths: list[int] = arrays["lengths"].tolist()
        #: `[batch, kv_heads, group, dim]`: query heads of a KV head side by side.
        self.q = self._numbers(arrays["q"], np.float32)
        self.q = self.q.reshape(len(self.lengths), sizes["kv_heads"], -1, self.q.shape[-1])
        self.expected = arrays["expected"].reshape(len(self.lengths), -1, self.q.shape[-1])
        self._pages = arrays["indices"]
        self._indptr = arrays["indptr"]
        self._heads_first = sizes["layout"] == "HND"
        self._dense: dict[tuple[str, Any], list[np.ndarray]] = {}
        self._caches = {side: arrays[side] for side in ("k", "v")}

    @property
    def kv_heads(self) -> int:
        """Heads of keys and values."""
        return self.q.shape[1]

    @property
    def group(self) -> int:
        """Query heads per KV head."""
        return self.q.shape[2]

    @property
    def dim(self) -> int:
        """Lanes of a head."""
        return self.q.shape[3]

    @property
    def equal(self) -> bool:
        """Whether all requests are of one length, so that they form one batch."""
        return len(set(self.lengths)) == 1

    def batches(self) -> list[range]:
        """Requests that can be computed in one call without padding: all of them, or one by one."""
        count = len(self.lengths)
        return [range(count)] if self.equal else [range(b, b + 1) for b in range(count)]

    def heads_first(self, side: str, dtype: Any) -> list[np.ndarray]:
        """Keys ("k") or values ("v") of each batch, dense: `[requests, kv_heads, tokens, dim]`.

        `np.uint16` leaves the bits of f16 and bf16 as they are. Forms that ask for the same share it.
        """
        if (side, dtype) not in self._dense:
            parts = [np.stack([self._request(side, b, dtype) for b in batch]) for batch in self.batches()]
            self._dense[side, dtype] = parts
        return self._dense[side, dtype]

    def tokens_first(self, side: str, dtype: Any) -> list[np.ndarray]:
        """The same with tokens before heads: `[requests, tokens, kv_heads, dim]`."""
        return [np.ascontiguousarray(each.swapaxes(1, 2)) for each in self.heads_first(side, dtype)]

    def error(self, output: np.ndarray) -> float | None:
        """The largest error, relative to the larger of 1 and the value; none if something is not finite."""
        expected = self.expected
        off = np.abs(output.reshape(expected.shape) - expected) / np.maximum(1.0, np.abs(expected))
        worst = float(off.max())
        return worst if np.isfinite(worst) else None

    def _request(self, side: str, b: int, dtype: Any) -> np.ndarray:
        pages = self._caches[side][self._pages[self._indptr[b] : self._indptr[b + 1]]]
        if not self._heads_first:
            pages = pages.swapaxes(1, 2)
        count, heads, slots, dim = pages.shape
        tokens = pages.transpose(1, 0, 2, 3).reshape(heads, count * slots, dim)[:, : self.lengths[b]]
        return np.ascontiguousarray(self._numbers(tokens, dtype))

    def _numbers(self, values: np.ndarray, dtype: Any) -> np.ndarray:
        if dtype is np.uint16:
            return values.view(np.uint16)
        if values.dtype == np.uint16:  # bf16, which numpy does not have, is the upper half of f32
            values = (values.astype(np.uint32) << 16).view(np.float32)
        return values.astype(dtype, copy=False)


def _lines() -> queue.SimpleQueue[str]:
    """Lines from the command. When it is gone, this program ends at once, whatever it computes."""
    lines: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for line in sys.stdin:
            lines.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return lines


def _measure(form: Form) -> dict[str, Any]:
    cpu, wall = time.process_time_ns(), time.perf_counter_ns()
    form.run()
    wall, cpu = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
    time.sleep(SETTLE)
    return {"wall_ms": wall / 1e6, "cpu_ms": cpu / 1e6}


def serve(version: str, make: Callable[[Problem], list[Form]]) -> None:
    """Loads the problem, makes and warms up the forms, then measures one whenever a line names its number."""
    lines = _lines()
    problem = Problem(Path(sys.argv[1]), int(sys.argv[2]))
    forms = make(problem)
    described = []
    for form in forms:
        form.run()
        described.append({"name": form.name, "error": problem.error(form.output())})
    reply({"version": version, "forms": described})
    while True:
        reply(_measure(forms[int(lines.get())]))
