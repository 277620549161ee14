"""What users read passes mypy and pyright in their strict modes, and what they get wrong is found by both.

pyright is run as `basedpyright`, its form as a package, on the Node of the machine.
"""

from __future__ import annotations

import importlib.resources
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pto_wsp
import pytest
from test_notebooks import NOTEBOOKS, script_of
from test_tutorial import README, REFERENCE, TUTORIAL, blocks

ROOT = README.parent
EXAMPLES = ROOT / "examples" / "python"
MISTAKES = Path(__file__).with_name("type_mistakes.py")
PACKAGE = Path(pto_wsp.__file__).resolve().parents[1]

Found = list[tuple[str, int, str]]
"""Findings: the name of the file, the line, and what is said."""


def mypy(files: list[Path], folder: Path) -> Found:
    """What mypy finds in files."""
    paths = [EXAMPLES] if PACKAGE.name == "site-packages" else [EXAMPLES, PACKAGE]
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--no-error-summary"),
            # What is known of NumPy is kept beside it.
            *("--hide-error-context", f"--cache-dir={Path(sys.prefix, 'mypy_cache')}", "--no-pretty"),
            *map(str, files),
        ],
        cwd=folder,
        env={**os.environ, "MYPYPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        text=True,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    found = re.findall(r"^(.+?):(\d+): error: (.+)$", ran.stdout, re.MULTILINE)
    assert bool(found) == bool(ran.returncode), ran.stdout
    return [(Path(name).name, int(line), text) for name, line, text in found]


def pyright(files: list[Path], folder: Path) -> Found:
    """What pyright finds in files."""
    # Of an installed package only names count that it exports; of a folder of sources others do, too.
    paths = [EXAMPLES] if PACKAGE.name == "site-packages" else [EXAMPLES, PACKAGE]
    settings = {
        "typeCheckingMode": "strict",
        "include": [str(file) for file in files],
        "extraPaths": [str(path) for path in paths],
    }
    project = folder / "pyrightconfig.json"
    project.write_text(json.dumps(settings))
    ran = subprocess.run(
        [
            "node",
            str(importlib.resources.files("basedpyright") / "index.js"),
            "--outputjson",
            *("--project", str(project), "--pythonpath", sys.executable),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    found = json.loads(ran.stdout)
    assert found["summary"]["filesAnalyzed"] == len(files), found["summary"]
    return [
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1, each["message"])
        for each in found["generalDiagnostics"]
        if each["severity"] in ("error", "warning")
    ]


Checker = Callable[[list[Path], Path], Found]


@pytest.fixture(params=[("mypy", mypy), ("basedpyright", pyright)], ids=["mypy", "pyright"])
def checker(request: pytest.FixtureRequest) -> Checker:
    module, run = request.param
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    if run is pyright and shutil.which("node") is None:
        pytest.skip("pyright runs on Node, which is not installed")
    return run


def pages(folder: Path) -> list[Path]:
    """The code of the pages, each as a file whose lines have the numbers of the page's, and of notebooks."""
    made = []
    for page in (README, TUTORIAL, REFERENCE):
        lines = [""] * (page.read_text(encoding="utf-8").count("\n") + 1)
        for block in blocks(page):
            code = block.code.splitlines()
            lines[block.line - 1 : block.line - 1 + len(code)] = code
        made.append(folder / f"{page.stem.lower()}_page.py")
        made[-1].write_text("\n".join(lines) + "\n")
    for notebook in NOTEBOOKS:
        made.append(folder / f"{notebook.stem}_notebook.py")
        made[-1].write_text(script_of(notebook))
    return made


def test_what_users_read_has_no_finding(checker: Checker, tmp_path: Path) -> None:
    files = [*pages(tmp_path), *sorted(EXAMPLES.glob("*.py"))]
    assert not [file for file in files if re.search(r"type: *ignore|pyright: *ignore", file.read_text())]
    assert checker(files, tmp_path) == []


def test_every_mistake_is_found_at_its_line(checker: Checker, tmp_path: Path) -> None:
    lines = MISTAKES.read_text().splitlines()
    marked = [number for number, line in enumerate(lines, 1) if "# mistake" in line]
    assert len(marked) >= 30
    found = {line for _, line, _ in checker([MISTAKES], tmp_path)}
    assert [line for line in marked if line not in found] == []
    assert sorted(found - set(marked)) == []
