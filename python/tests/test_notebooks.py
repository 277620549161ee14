"""Notebooks of the examples: each runs from top to bottom and prints what is stored with it.

Their code runs as a script everywhere, and in Jupyter where that is installed. `UPDATE_EXPECT=1` stores what
Jupyter gives.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import linecache
import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "python"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))

Cell = dict[str, Any]


def code_cells(notebook: Path) -> list[Cell]:
    """The cells with code, in order."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def source_of(cell: Cell) -> str:
    """The code of a cell."""
    return "".join(cell["source"])


def script_of(notebook: Path) -> str:
    """The code of all cells, which prints the values that cells end with."""
    parts = []
    for source in map(source_of, code_cells(notebook)):
        last = ast.parse(source).body[-1]
        if isinstance(last, ast.Expr) and not isinstance(last.value, ast.Call):
            source = "".join(source.splitlines(keepends=True)[: last.lineno - 1])
            source += f"print({ast.unparse(last.value)})"
        parts.append(source)
    return "\n\n".join(parts) + "\n"


def shown(outputs: list[Any]) -> str:
    """What outputs show as text: what is printed, then what a cell ends with."""
    printed = [
        "".join(each["text"])
        for each in outputs
        if each["output_type"] == "stream" and each["name"] == "stdout"
    ]
    results = [
        "".join(each["data"]["text/plain"]) for each in outputs if each["output_type"] == "execute_result"
    ]
    assert len(printed) + len(results) == len(outputs), outputs
    return "".join(printed + results).rstrip("\n")


def run(source: str, name: str, module: types.ModuleType) -> str:
    """Runs a cell as a notebook does, and gives what it shows."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    body = ast.parse(source).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), name, "exec"), module.__dict__)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), name, "eval"), module.__dict__)
            print("" if value is None else repr(value))
    return printed.getvalue().rstrip("\n")


def joined(cell: dict[str, Any]) -> list[dict[str, Any]]:
    """The outputs of a cell, each stream in one piece: into how many it falls depends on when it is sent."""
    outputs: list[dict[str, Any]] = []
    for output in cell.get("outputs", []):
        same = outputs[-1] if outputs and output.get("name") == outputs[-1].get("name") else None
        if output["output_type"] == "stream" and same is not None and same["output_type"] == "stream":
            same["text"] += "".join(output["text"])
        else:
            outputs.append({**output, "text": "".join(output.get("text", []))})
    return outputs


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_run_as_a_script_and_show_what_is_stored(
    notebook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(notebook.parent)
    module = types.ModuleType(notebook.stem)
    for number, cell in enumerate(code_cells(notebook)):
        told = run(source_of(cell), f"<{notebook.stem} {number}>", module)
        assert told == shown(cell["outputs"]), source_of(cell)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_jupyter_shows_what_is_stored(notebook: Path) -> None:
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    import nbformat
    from jupyter_client.kernelspec import KernelSpec

    text = notebook.read_text(encoding="utf-8")
    ran = nbformat.reads(text, as_version=4)
    kernel = f"{sys.executable} -m ipykernel_launcher -f {{connection_file}}".split()
    client = nbclient.NotebookClient(ran, timeout=120, record_timing=False)
    client.create_kernel_manager()
    client.km._kernel_spec = KernelSpec(argv=kernel, language="python", display_name="python")
    client.execute(cwd=str(notebook.parent))
    ran.metadata = nbformat.reads(text, as_version=4).metadata
    if os.environ.get("UPDATE_EXPECT") == "1":
        notebook.write_text(json.dumps(ran, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    stored = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert [cell.get("execution_count") for cell in ran.cells] == [
        cell.get("execution_count") for cell in stored
    ]
    assert [joined(cell) for cell in ran.cells] == [joined(cell) for cell in stored]
