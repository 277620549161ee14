"""A generation of tokens with one plan: every layer runs it, and every token advances it in place.

    python examples/python/decode_plan.py [steps]

The attention is `examples/attention/decode.pto`, over a paged cache per layer. What cuts requests into tasks
depends on their lengths alone, so it runs once for all layers, before there is any tensor, and a token more
per request mostly changes one word per task.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import reference
from pto_wsp import Capacity, f16, load, tensor, zeros

FILE = Path(__file__).resolve().parents[1] / "attention" / "decode.pto"
LAYERS = 3
QO_HEADS, KV_HEADS, DIM, PAGE = 8, 2, 64, 16
LENGTHS = (700, 40, 1, 511, 130)

Array = np.ndarray


@dataclass
class Pages:
    """Which pages each request has: room for all tokens of the generation, ids in no order."""

    ids: list[Array]

    @classmethod
    def reserve(cls, lengths: list[int], rng: np.random.Generator) -> Pages:
        """Pages for requests that end with these lengths."""
        counts = [-(-n // PAGE) for n in lengths]
        ends = np.cumsum(counts)[:-1]
        return cls(np.split(rng.permutation(sum(counts)).astype(np.uint32), ends))

    @property
    def count(self) -> int:
        """All pages."""
        return sum(map(len, self.ids))

    def table(self, lengths: list[int]) -> dict[str, Array]:
        """The page table of requests with these lengths."""
        used = [-(-n // PAGE) for n in lengths]
        last = [(n - 1) % PAGE + 1 if n else 0 for n in lengths]
        return {
            "kv.indptr": np.concatenate([[0], np.cumsum(used)]).astype(np.uint32),
            "kv.indices": np.concatenate([ids[:n] for ids, n in zip(self.ids, used, strict=True)]),
            "kv.last_page_len": np.array(last, np.uint32),
        }

    def place(self, request: int, token: int) -> tuple[int, int]:
        """The page of a token and its place there."""
        return int(self.ids[request][token // PAGE]), token % PAGE


@dataclass
class Layer:
    """The cache of a layer, and the same keys and values in order, in double precision."""

    k: Array
    v: Array
    plain: list[tuple[list[Array], list[Array]]]

    def append(self, pages: Pages, request: int, rng: np.random.Generator) -> None:
        """A token more of a request."""
        keys, values = self.plain[request]
        page, at = pages.place(request, len(keys))
        self.k[page, at] = rng.standard_normal((KV_HEADS, DIM))
        self.v[page, at] = rng.standard_normal((KV_HEADS, DIM))
        keys.append(reference.f64(self.k[page, at]))
        values.append(reference.f64(self.v[page, at]))

    def expected(self, q: Array) -> Array:
        """The textbook's attention of `q [batch, heads, 1, dim]`."""
        output = np.empty(q.shape)
        for b, (keys, values) in enumerate(self.plain):
            k, v = np.stack(keys, 1)[None], np.stack(values, 1)[None]
            output[b] = reference.grouped_attention(q[b : b + 1], k, v, causal=False)[0]
        return output


def shapes(pages: Pages, batch: int) -> dict[str, f16]:
    """The tensors of a layer, of which there are none yet."""
    cache = (pages.count, PAGE, KV_HEADS, DIM)
    return {
        "q": tensor((batch, QO_HEADS, 1, DIM), f16),
        "kv.k": tensor(cache, f16),
        "kv.v": tensor(cache, f16),
    }


def main(steps: int = 24) -> float:
    """Runs the example, prints one line and returns the largest relative error."""
    rng = np.random.default_rng(0)
    lengths: list[int] = [*LENGTHS]
    longest = [n + steps for n in lengths]
    pages = Pages.reserve(longest, rng)
    program = load(FILE).program(schedule="Fixed")

    # On the host, before there are tensors: room for the last step, and the plan of the first one.
    tensors = shapes(pages, len(lengths))
    need = program.workspace_query(tensors, **pages.table(longest))
    room = Capacity(need.descriptors, need.workspace_bytes)
    plan = program.plan(tensors, **pages.table(lengths), capacity=room)
    address = plan.words.ctypes.data

    cache = (pages.count, PAGE, KV_HEADS, DIM)
    layers: list[Layer] = []
    for _ in range(LAYERS):
        plain: list[tuple[list[Array], list[Array]]] = [([], []) for _ in lengths]
        layers.append(Layer(zeros(cache, f16), zeros(cache, f16), plain))
        for request, tokens in enumerate(lengths):
            for _ in range(tokens):
                layers[-1].append(pages, request, rng)

    worst, patched = 0.0, 0
    for step in range(steps + 1):
        if step > 0:
            patched += not plan.advance().regenerated
            lengths = [n + 1 for n in lengths]
        for layer in layers:
            if step > 0:
                for request in range(len(lengths)):
                    layer.append(pages, request, rng)
            q = rng.standard_normal((len(lengths), QO_HEADS, 1, DIM)).astype(np.float16)
            output = np.zeros(q.shape, np.float32)
            arrays = {"q": q, "kv.k": layer.k, "kv.v": layer.v, "output": output, "lse": None}
            program.execute_plan(plan, arrays, **pages.table(lengths))
            worst = max(worst, reference.relative_error(output, layer.expected(reference.f64(q))))
    assert plan.words.ctypes.data == address
    print(
        f"decode_plan: {LAYERS} layers and {steps} tokens with one plan of {plan.need.descriptors} tasks, "
        f"{patched} times changed in place, relative error {worst:.1e}"
    )
    return worst


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
