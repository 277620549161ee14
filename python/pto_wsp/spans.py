"""Places in the user's Python source: the line of the caller, syntax trees, and the files and spans of a
trace.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

from ._seam import Span
from .texts import line_of, lines_of, note_unread, parsed, text_of

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep
"""The folder of this package, whose frames are not the user's."""


_NAME = __name__.partition(".")[0]


def is_ours(frame: FrameType) -> bool:
    """Whether a frame is of this package."""
    module = frame.f_globals.get("__name__")
    return isinstance(module, str) and module.partition(".")[0] == _NAME


def caller_frame() -> FrameType | None:
    """The nearest frame of a file outside this package."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_of_the_package(frame):
        frame = frame.f_back
    return frame


def _is_of_the_package(frame: FrameType) -> bool:
    """Whether a frame is of a file of this package, or of what Python has written for its classes."""
    name = frame.f_code.co_filename
    return name.startswith(PACKAGE) or (name == "<string>" and is_ours(frame))


def caller_span() -> Span | None:
    """The place that the nearest frame outside this package is at."""
    frame = caller_frame()
    return None if frame is None else span_of_frame(frame)


def span_of_frame(frame: FrameType) -> Span:
    """The place that a frame is at: its expression where the interpreter knows columns, else the line."""
    filename = frame.f_code.co_filename
    if not text_of(filename):
        note_unread(filename, frame.f_lineno, frame.f_code.co_name)
        return line_span(filename, frame.f_lineno)
    position = _positions(frame.f_code)[frame.f_lasti // 2] if HAS_COLUMNS else None
    if position is not None and None not in position:
        line, end_line, col, end_col = position
        return (filename, line, col, end_line, end_col)
    return line_span(filename, frame.f_lineno)


def line_span(filename: str, line: int) -> Span:
    """The text of a line, without its indentation."""
    text = line_of(filename, line)
    start = len(text) - len(text.lstrip())
    return (filename, line, len(text[:start].encode()), line, max(len(text.encode()), start + 1))


HAS_COLUMNS = hasattr(CodeType, "co_positions")


@lru_cache(maxsize=512)
def _positions(code: CodeType) -> tuple[tuple[Any, Any, Any, Any], ...]:
    return tuple(code.co_positions())  # type: ignore[attr-defined]


def span_of_function(function: Callable[..., Any]) -> Span | None:
    """Where the name of a function stands in its `def`, or the line it starts at."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    node = node_of_function(function)
    if node is None:
        note_unread(code.co_filename, code.co_firstlineno, code.co_name)
        return line_span(code.co_filename, code.co_firstlineno)
    if isinstance(node, ast.Lambda):
        return span_of_node(code.co_filename, node)
    start = node.col_offset + len("async def " if isinstance(node, ast.AsyncFunctionDef) else "def ")
    return (code.co_filename, node.lineno, start, node.lineno, start + len(code.co_name.encode()))


def node_of_function(function: Callable[..., Any]) -> Function | None:
    """The syntax tree of a function in that of its file, or None where it is not found."""
    code = function.__code__
    tree = tree_of(code.co_filename, code)
    found: list[Function] = []
    for node in () if tree is None else tree.functions:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        if first == code.co_firstlineno and getattr(node, "name", "<lambda>") == code.co_name:
            found.append(node)
    if len(found) > 1 and HAS_COLUMNS:
        # Of functions in a line, that in which the code lies; of those, the innermost is the last.
        found = [node for node in found if _holds(node, code)] or found
        return found[-1]
    return found[0] if found else None


def _holds(node: Function, code: CodeType) -> bool:
    """Whether all places of a function's code lie in a node."""
    _, line, col, end_line, end_col = span_of_node("", node)
    return all(
        (line, col) <= (at[0], at[2]) and (at[1], at[3]) <= (end_line, end_col)
        for at in _positions(code)
        if None not in at and at[0] > 0 and at[2:] != (0, 0)
    )


def span_of_node(filename: str, node: ast.AST) -> Span:
    """The place of a node of a syntax tree."""
    end_line = getattr(node, "end_lineno", None) or node.lineno  # type: ignore[attr-defined]
    end_col = getattr(node, "end_col_offset", None) or node.col_offset + 1  # type: ignore[attr-defined]
    return (filename, node.lineno, node.col_offset, end_line, end_col)  # type: ignore[attr-defined]


@dataclass(slots=True)
class Source:
    """The syntax tree of a file, with what is looked up in it."""

    tree: ast.Module
    functions: list[Function] = field(default_factory=list)
    loops: list[ast.For] = field(default_factory=list)
    withs: list[ast.With] = field(default_factory=list)
    assigned: dict[int, list[ast.Assign | ast.AnnAssign]] = field(default_factory=dict)
    """Assignments, by the first line of their value."""
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)

    def enclosing_function(self, node: ast.AST) -> Function | ast.Module:
        """The innermost function around a node, else the module."""
        at: ast.AST | None = self.parents.get(node)
        while at is not None and not isinstance(at, Function):
            at = self.parents.get(at)
        return self.tree if at is None else at

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, innermost first."""
        at = self.parents.get(node)
        while at is not None:
            yield at
            at = self.parents.get(at)

    def smallest(self, span: Span) -> ast.AST | None:
        """The smallest expression or statement that holds a place."""
        found: ast.AST | None = None
        wanted = (span[1], span[2], span[3], span[4])
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.expr, ast.stmt)):
                _, line, col, end_line, end_col = span_of_node("", node)
                if (line, col) <= wanted[:2] and wanted[2:] <= (end_line, end_col):
                    found = node  # a breadth-first walk meets what is inside later
        return found


def tree_of(filename: str, code: CodeType | None = None) -> Source | None:
    """The syntax tree of a file, as it was when this code was imported; None where its source is not at
    hand.
    """
    text = text_of(filename, code)
    return _parse(text) if text else None


@lru_cache(maxsize=64)
def _parse(text: str) -> Source | None:
    try:
        source = Source(parsed(text))
    except (SyntaxError, RecursionError):
        return None
    for node in ast.walk(source.tree):
        for child in ast.iter_child_nodes(node):
            source.parents[child] = node
        if isinstance(node, Function):
            source.functions.append(node)
        elif isinstance(node, ast.For):
            source.loops.append(node)
        elif isinstance(node, ast.With):
            source.withs.append(node)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            source.assigned.setdefault(node.value.lineno, []).append(node)
    return source


class SpanTable:
    """The files and spans of a trace, numbered in the order in which they are first named."""

    def __init__(self) -> None:
        self._files: dict[str, int] = {}
        self._spans: dict[tuple[int, int, int, int, int], int] = {}

    def add(self, filename: str, line: int, col: int, end_line: int, end_col: int) -> int:
        """The index of a place; equal places have one index."""
        file = self._files.setdefault(filename, len(self._files))
        return self._spans.setdefault((file, line, col, end_line, end_col), len(self._spans))

    def mark(self, node: dict[str, Any], span: Span | None) -> dict[str, Any]:
        """Gives a node of the document its place."""
        if span is not None:
            node["s"] = self.add(*span)
        return node

    def document(self) -> tuple[list[dict[str, str]], list[list[int]]]:
        """`files` and `spans` of the document. Lines that no span names are left empty."""
        wanted: list[set[int]] = [set() for _ in self._files]
        for file, line, _, end_line, _ in self._spans:
            wanted[file].update(range(line, min(end_line, line + 50) + 1))
        files = [
            {"name": _shown(name), "text": _text(name, wanted[index])} for name, index in self._files.items()
        ]
        return files, [list(span) for span in self._spans]


_NAMED: dict[str, str] = {}
"""Files by the name for people that they have in programs."""


def named_file(shown: str) -> str:
    """The file of a name for people, whatever the current directory is by now."""
    return _NAMED.get(shown, shown)


def _shown(filename: str) -> str:
    """A file's name for people: relative to the current directory where it lies below it, unless another file
    has that name.
    """
    if not os.path.isabs(filename):
        return filename
    try:
        relative = os.path.relpath(filename)
    except ValueError:
        return filename
    if relative.startswith("..") or _NAMED.setdefault(relative, filename) != filename:
        return filename
    return relative


def _text(filename: str, wanted: set[int]) -> str:
    lines = lines_of(filename)
    last = max(wanted, default=0)
    kept = [line.rstrip("\r\n") if at in wanted else "" for at, line in enumerate(lines[:last], 1)]
    kept += [""] * (last - len(kept))
    return "".join(line + "\n" for line in kept)


def cause_of(error: BaseException) -> BaseException | None:
    """An exception as the cause of an error of the package; None where no line of the user was reached."""
    traceback = error.__traceback__
    while traceback is not None:
        if not is_ours(traceback.tb_frame):
            return error
        traceback = traceback.tb_next
    return None
