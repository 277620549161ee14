"""Documents as deep as the limits allow, on threads with small stacks; layouts are followed through them."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

SCRIPT = """
import sys, threading
from pto_wsp import _core

document, found = sys.stdin.buffer.read(), []

def work():
    program = _core.compile(document)
    found.append((_core.check(document), _core.kernel_text(document, 0)))
    program.graph()
    del program

threading.stack_size(128 * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(len(found[0][1].split("return")), found[0][1].count("add:f32"))
"""


def document(body: str) -> bytes:
    """A document with a kernel of this body, a list of statements."""
    one_task = {"k": "task", "kernel": 0, "args": [{"tensor": 0}]}
    whole = {
        "format": "pto-wsp-trace",
        "version": 1,
        "files": [],
        "spans": [],
        "workload": {
            "tensors": [{"name": "x", "dtype": "f32", "dims": [64], "storage": "argument"}],
            "kernels": [{"name": "touch", "params": [{"name": "x", "kind": "inout"}]}],
            "schedules": [
                {
                    "directives": [
                        {"k": "spatial_map", "grid": [2, 1]},
                        {"k": "layout", "tensor": "x", "dims": ["x"], "pending": []},
                    ]
                }
            ],
            "workloads": [{"name": "main", "params": 0, "body": [one_task]}],
        },
        "kernels": [
            {
                "body": "compiled",
                "views": [{"name": "x", "dtype": "f32", "keep": [0], "extents": [None]}],
                "fields": [],
                "function": {
                    "name": "touch",
                    "locals": [{"name": "task", "ty": "descriptor"}, {"name": "f", "ty": "f32"}],
                    "body": "@",
                },
            }
        ],
    }
    return json.dumps(whole).replace('"@"', body).encode()


def statements(depth: int) -> bytes:
    """`if` in `if`."""
    before = '{"k": "if", "cond": {"k": "bool", "v": true}, "then": ['
    return document("[" + before * depth + '{"k": "return"}' + "]}" * depth + "]")


def sums(depth: int) -> bytes:
    """A sum in a sum."""
    one = '{"k": "float", "v": 1, "ty": "f32"}'
    before = '{"k": "add", "ty": "f32", "b": ' + one + ', "a": '
    return document('[{"k": "assign", "local": 1, "value": ' + before * depth + one + "}" * depth + "}]")


@pytest.mark.parametrize(("source", "wanted"), [(statements(500), "2 0"), (sums(500), "1 500")])
def test_the_deepest_kernels_compile_on_threads_with_small_stacks(source: bytes, wanted: str) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], input=source, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().strip() == wanted
