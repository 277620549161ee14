"""A program of one Python kernel from an array to another, in the form that the compiled core takes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from pto_wsp import _core
from pto_wsp._arrays import to_numpy

SEQUENTIAL = {"sequential": True}
PARALLEL = {"threads": 2}


def trace(dtype: str = "f32", tasks: int | None = None) -> bytes:
    """One Python kernel from ``x`` to ``y``, both ``[n, 4]``: a task per row, or ``tasks`` of row 0."""
    n = {"k": "param", "id": 0}
    row = {"k": "var", "id": 0} if tasks is None else 0
    box = [{"k": "index", "i": row}, {"k": "whole"}]
    tensor = {"dtype": dtype, "dims": [n, 4], "storage": "argument"}
    boxes = [{"tensor": 0, "ranges": box}, {"tensor": 1, "ranges": box}]
    task = {"k": "task", "kernel": 0, "args": [*boxes, {"scalar": {"k": "var", "id": 0}}]}
    over = {"k": "range", "lo": 0, "hi": n if tasks is None else tasks}
    loop = {"k": "parallel_for", "var": 0, "over": over, "body": [task]}
    kinds = [("x", "in"), ("y", "out"), ("i", "scalar")]
    document = {
        "format": "pto-wsp-trace",
        "version": 1,
        "files": [],
        "spans": [],
        "workload": {
            "params": [{"name": "n"}],
            "tensors": [{"name": "x", **tensor}, {"name": "y", **tensor}],
            "kernels": [{"name": "k", "params": [{"name": name, "kind": kind} for name, kind in kinds]}],
            "workloads": [{"name": "main", "params": 0, "vars": [{"name": "i"}], "body": [loop]}],
        },
        "kernels": [{"body": "python", "key": "k"}],
    }
    return json.dumps(document).encode()


def program(kernel: Any, **how: Any) -> _core.Program:
    """The program of a trace with a kernel."""
    return _core.compile(trace(**how), callables={"k": kernel})


def copy(views: tuple[_core.KernelArray, ...], scalars: tuple[int, ...]) -> None:
    """A kernel that copies."""
    x, y = map(to_numpy, views)
    y[...] = x


def pair(dtype: Any = "f4", rows: int = 3) -> tuple[Any, Any]:
    """Rows that count up, and zeros of the same shape."""
    x = np.arange(rows * 4).reshape(rows, 4).astype(dtype)
    return x, np.zeros_like(x)
