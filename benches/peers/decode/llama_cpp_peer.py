"""llama.cpp as a peer of the benchmark `decode`: the CPU kernel behind `ggml_flash_attn_ext`, through ctypes.

One graph computes all requests: a node each, or one node for all where they are of one length. Keys and
values lie with heads first, which that kernel likes best, and in the order of llama.cpp's own cache, tokens
first.
"""

from __future__ import annotations

import ctypes
import os
import sys
from ctypes import POINTER, c_bool, c_float, c_int, c_int64, c_size_t, c_uint8, c_void_p
from pathlib import Path
from typing import Any

from common import Problem, absent, np, serve

LIBRARIES = Path(sys.prefix) / "ggml"
# A failed assertion says where it stands; the stack would only hide that.
os.environ["GGML_NO_BACKTRACE"] = "1"

#: Element types of ggml that this program uses.
F32, F16, BF16 = 0, 1, 30
#: Inputs and operations of one request: more than there are.
TENSORS = 8
#: Bytes for the descriptions of tensors of one request, and for the graph; generous.
NODE_BYTES, GRAPH_BYTES = 1 << 13, 1 << 20


class InitParams(ctypes.Structure):
    """`ggml_init_params`."""

    _fields_ = [("mem_size", c_size_t), ("mem_buffer", c_void_p), ("no_alloc", c_bool)]


class Plan(ctypes.Structure):
    """`ggml_cplan`."""

    _fields_ = [
        ("work_size", c_size_t),
        ("work_data", POINTER(c_uint8)),
        ("n_threads", c_int),
        ("threadpool", c_void_p),
        ("abort_callback", c_void_p),
        ("abort_callback_data", c_void_p),
        ("use_ref", c_bool),
    ]


#: Functions: what they return, what they take.
FUNCTIONS = {
    "ggml_init": (c_void_p, [InitParams]),
    "ggml_new_tensor_4d": (c_void_p, [c_void_p, c_int, c_int64, c_int64, c_int64, c_int64]),
    "ggml_permute": (c_void_p, [c_void_p, c_void_p, c_int, c_int, c_int, c_int]),
    "ggml_get_data": (c_void_p, [c_void_p]),
    "ggml_flash_attn_ext": (c_void_p, [c_void_p] * 5 + [c_float] * 3),
    "ggml_new_graph_custom": (c_void_p, [c_void_p, c_size_t, c_bool]),
    "ggml_build_forward_expand": (None, [c_void_p, c_void_p]),
    "ggml_cpu_init": (None, []),
    "ggml_graph_plan": (Plan, [c_void_p, c_int, c_void_p]),
    "ggml_graph_compute": (c_int, [c_void_p, POINTER(Plan)]),
}


class Library:
    """The functions of ggml."""

    def __init__(self) -> None:
        try:
            files = [LIBRARIES / f"libggml-{part}.so" for part in ("base", "cpu")]
            libraries = [ctypes.CDLL(str(file), mode=ctypes.RTLD_GLOBAL) for file in files]
        except OSError as fault:
            absent(f"llama.cpp's libraries ({fault})")
        for name, (returned, taken) in FUNCTIONS.items():
            function = getattr(next(each for each in libraries if hasattr(each, name)), name)
            function.restype, function.argtypes = returned, taken
            setattr(self, name.removeprefix("ggml_"), function)


class Attention:
    """Requests as nodes of one graph."""

    def __init__(self, ggml: Any, problem: Problem, kind: int, order: str, batches: list[range]) -> None:
        names = {F16: "f16", BF16: "bf16"}
        self.name = f"{names[kind]} {order}" + ("" if len(batches[0]) == 1 else ", one batch")
        self.ggml, self.shape = ggml, problem.expected.shape
        dtype = np.uint16 if kind == BF16 else np.float16
        place = problem.tokens_first if order == "own layout" else problem.heads_first
        caches = [split(place(side, dtype), batches) for side in ("k", "v")]
        need = sum(array.nbytes for cache in caches for array in cache) + 2 * problem.expected.nbytes
        self.context = ggml.init(InitParams(need + GRAPH_BYTES + NODE_BYTES * len(batches), None, False))
        self.graph = ggml.new_graph_custom(self.context, TENSORS * len(batches), False)
        self.nodes = []
        for part, batch in enumerate(batches):
            q = problem.q[batch.start : batch.stop].reshape(len(batch), -1, 1, problem.dim)
            k, v = (self.tensor(cache[part], kind) for cache in caches)
            if order == "own layout":
                k, v = (ggml.permute(self.context, each, 0, 2, 1, 3) for each in (k, v))
            node = ggml.flash_attn_ext(self.context, self.tensor(q, F32), k, v, None, problem.scale, 0.0, 0.0)
            ggml.build_forward_expand(self.graph, node)
            self.nodes.append((node, len(batch)))
        self.plan = ggml.graph_plan(self.graph, problem.threads, None)
        self.work = (c_uint8 * (self.plan.work_size + 64))()
        self.plan.work_data = ctypes.cast(self.work, POINTER(c_uint8))

    def tensor(self, array: np.ndarray, kind: int) -> Any:
        """A tensor with the data of an array; ggml counts extents from the innermost."""
        made = self.ggml.new_tensor_4d(self.context, kind, *reversed(array.shape))
        array = np.ascontiguousarray(array)
        ctypes.memmove(self.ggml.get_data(made), array.ctypes.data, array.nbytes)
        return made

    def run(self) -> None:
        status = self.ggml.graph_compute(self.graph, ctypes.byref(self.plan))
        if status != 0:
            raise RuntimeError(f"ggml_graph_compute gave {status}")

    def output(self) -> np.ndarray:
        rows = self.shape[1] * self.shape[2]
        parts = []
        for node, count in self.nodes:
            data = ctypes.cast(self.ggml.get_data(node), POINTER(c_float))
            parts.append(np.ctypeslib.as_array(data, (count, rows)))
        return np.concatenate(parts).reshape(self.shape)


def split(parts: list[np.ndarray], batches: list[range]) -> list[np.ndarray]:
    """Arrays of batches as the arrays of as many batches as are asked for."""
    if len(parts) == len(batches):
        return parts
    return [part[b : b + 1] for part in parts for b in range(len(part))]


def forms(problem: Problem) -> list[Attention]:
    """Both orders in f16, and bf16 as it is where the data are of that type."""
    ggml = Library()
    ggml.cpu_init()
    single = [range(b, b + 1) for b in range(len(problem.lengths))]
    made = [Attention(ggml, problem, F16, order, single) for order in ("heads first", "own layout")]
    if problem.equal and len(single) > 1:
        made.append(Attention(ggml, problem, F16, "heads first", problem.batches()))
    if problem.dtype == "bf16":
        made.append(Attention(ggml, problem, BF16, "heads first", problem.batches()))
    return made


if __name__ == "__main__":
    version = LIBRARIES / "version"
    if not version.is_file():
        absent("llama.cpp's libraries")
    serve(version.read_text().strip(), forms)
