"""PyTorch as a peer of `decode`: `scaled_dot_product_attention`, query heads of a group as rows."""

from __future__ import annotations

import sys
from typing import Any

from common import Problem, absent, np, serve

try:
    import torch
except ImportError:
    absent("the Python package torch (0.5 GB)", f"{sys.prefix}/bin/python -m pip install torch")

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


class Folded:
    """A call for each batch of one length."""

    def __init__(self, problem: Problem, kind: str) -> None:
        self.name, self.scale = kind, problem.scale
        dtype = TYPES[kind]
        if kind == "f32":
            keys, values = (self.tensors(problem.heads_first(side, np.float32)) for side in "kv")
        else:
            bits = ([part.view(np.int16) for part in problem.heads_first(side, np.uint16)] for side in "kv")
            keys, values = ([part.view(dtype) for part in self.tensors(side)] for side in bits)
        queries = self.tensors([problem.q[each.start : each.stop] for each in problem.batches()])
        self.parts = list(zip([q.to(dtype) for q in queries], keys, values, strict=True))
        self.results: list[Any] = []

    @staticmethod
    def tensors(arrays: list[np.ndarray]) -> list[Any]:
        """The same memory as tensors."""
        return [torch.from_numpy(array) for array in arrays]

    def run(self) -> None:
        attend = torch.nn.functional.scaled_dot_product_attention
        self.results = [attend(q, k, v, scale=self.scale) for q, k, v in self.parts]

    def output(self) -> np.ndarray:
        return torch.cat(self.results).float().numpy()


def forms(problem: Problem) -> list[Folded]:
    """In the type of the data, and in f32."""
    torch.set_num_threads(problem.threads)
    torch.set_grad_enabled(False)
    return [Folded(problem, problem.dtype), Folded(problem, "f32")]


if __name__ == "__main__":
    serve(torch.__version__, forms)
