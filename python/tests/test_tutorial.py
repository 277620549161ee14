"""The tutorial and the reference: code runs as printed, prints what they show, and every public name is on
the page.

The blocks of a page run one after another in one module, each checked against the block of `text` that
follows it. Lines keep their numbers, so errors point into the page.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import re
import types
from dataclasses import dataclass
from pathlib import Path

import pto_wsp
import pytest
from pto_wsp import pto

DOCS = Path(__file__).resolve().parents[2] / "docs"
TUTORIAL = DOCS / "tutorial.md"
REFERENCE = DOCS / "reference" / "python.md"
README = DOCS.parent / "README.md"


@dataclass(frozen=True)
class Block:
    """A block of code, the number of its first line, and what it prints."""

    line: int
    code: str
    printed: str


def blocks(page: Path) -> list[Block]:
    """The Python blocks of a page, in order."""
    fences = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    text = page.read_text(encoding="utf-8")
    found = [(text.count("\n", 0, m.start(2)) + 1, m.group(1), m.group(2)) for m in fences.finditer(text)]
    result = []
    for i, (line, language, body) in enumerate(found):
        if language == "python":
            shown = found[i + 1][2] if i + 1 < len(found) and found[i + 1][1] == "text" else ""
            result.append(Block(line, body, shown))
    return result


def module_of(page: Path) -> types.ModuleType:
    """An empty module whose source is the code of the page, each line where the page has it, as notebooks
    have theirs.
    """
    lines = [""] * (page.read_text(encoding="utf-8").count("\n") + 1)
    for block in blocks(page):
        code = block.code.splitlines()
        lines[block.line - 1 : block.line - 1 + len(code)] = code
    source = [line + "\n" for line in lines]
    linecache.cache[str(page)] = (sum(map(len, source)), None, source, str(page))
    module = types.ModuleType(page.stem)
    module.__file__ = str(page)
    return module


def run(page: Path) -> list[tuple[Block, str]]:
    """Runs the blocks of a page, each with what it printed."""
    module = module_of(page)
    ran = []
    for block in blocks(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = compile("\n" * (block.line - 1) + block.code, str(page), "exec")
            exec(code, module.__dict__)
        ran.append((block, printed.getvalue()))
    return ran


@pytest.mark.parametrize("page", [TUTORIAL, REFERENCE, README], ids=lambda page: page.stem)
def test_code_of_a_page_prints_what_the_page_shows(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS.parent)
    ran = run(page)
    assert ran
    for block, printed in ran:
        assert printed.rstrip("\n") == block.printed.rstrip("\n"), f"{page.name}:{block.line}"


def documented(text: str) -> set[str]:
    """Names in the code of a page: in back quotes or in blocks."""
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE))
    names: set[str] = set()
    for span in spans:
        names.update(re.findall(r"[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)*", span))
    return names


def test_every_public_name_is_in_the_reference() -> None:
    pages = [REFERENCE, DOCS / "reference" / "schedules.md"]
    names = set().union(*(documented(page.read_text(encoding="utf-8")) for page in pages))
    parts = {part for name in names for part in name.split(".")}
    assert sorted(name for name in pto_wsp.__all__ if name not in parts) == []


def test_every_operation_of_kernels_is_in_the_reference() -> None:
    pages = (REFERENCE, REFERENCE.with_name("tiles.md"))
    names = set().union(*(documented(page.read_text(encoding="utf-8")) for page in pages))
    assert pto.__all__
    assert sorted(name for name in pto.__all__ if f"pto.{name}" not in names) == []
    named = {name.split(".")[1] for name in names if name.startswith("pto.")}
    assert sorted(named - set(pto.__all__)) == []


def test_every_class_of_errors_is_in_the_reference() -> None:
    names = documented(REFERENCE.read_text(encoding="utf-8"))
    kinds = [
        name
        for name in pto_wsp.errors.__all__
        if isinstance(getattr(pto_wsp.errors, name), type)
        and issubclass(getattr(pto_wsp.errors, name), Exception)
    ]
    assert kinds
    assert sorted(set(kinds) - names) == []


def test_every_public_object_says_what_it_is() -> None:
    silent = [
        name
        for name in pto_wsp.__all__
        if callable(getattr(pto_wsp, name)) and not (getattr(pto_wsp, name).__doc__ or "").strip()
    ]
    assert silent == []
