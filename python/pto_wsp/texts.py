"""Texts of files as they were when they were imported."""

from __future__ import annotations
import __future__

import ast
import dis
import linecache
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from types import CodeType
from typing import Any, TypeVar

T = TypeVar("T")

_MOST = 8
"""Texts that are kept of one file: those that it had when it was imported again and again."""

_FEATURES = sum({getattr(__future__, name).compiler_flag for name in __future__.all_feature_names})

_kept: dict[str, list[str]] = {}
"""The texts of files, by name; the one of the latest import comes first."""


def keep(filename: str, module: dict[str, Any] | None = None) -> None:
    """Keeps the text that a file has, as something in it is being made; `module` are the file's globals."""
    linecache.checkcache(filename)
    text = "".join(linecache.getlines(filename, module))
    kept = _kept.setdefault(filename, [])
    if text and text not in kept[:1]:
        _kept[filename] = [text, *(other for other in kept if other != text)][:_MOST]


def text_of(filename: str, code: CodeType | None = None) -> str:
    """The text of a file: the one that a code object was compiled from, where it is kept; else the one of the
    latest import. Empty where it is not at hand.
    """
    if filename not in _kept:
        keep(filename)
    if code is not None and not any(holds(text, code) for text in _kept[filename]):
        keep(filename)
    kept = _kept[filename]
    held = (text for text in kept if code is not None and len(kept) > 1 and holds(text, code))
    return next(held, kept[0] if kept else "")


def lines_of(filename: str) -> list[str]:
    """The lines of `shown_text`."""
    return list(_split(shown_text(filename)))


def line_of(filename: str, line: int) -> str:
    """A line of `shown_text`, without its end; empty where there is none."""
    lines = _split(shown_text(filename))
    return lines[line - 1].rstrip("\r\n") if 0 < line <= len(lines) else ""


_unread: dict[str, dict[int, str]] = {}
"""Of files without a text, what is known of lines that errors name."""

_MOST_UNREAD = 1000
"""Lines of them."""


def note_unread(filename: str, line: int, function: str) -> None:
    """Notes in which function a line stands, where its text is not at hand."""
    if text_of(filename):
        return
    lines = _unread.setdefault(filename, {})
    if len(lines) >= _MOST_UNREAD:
        lines.clear()
    where = "at the outermost level" if function == "<module>" else f"in `{function}`"
    lines[line] = f"({where}; the text of {filename} is not at hand)"


def shown_text(filename: str) -> str:
    """The text of a file, for errors: of one that is not at hand, what is known of its lines."""
    known = _unread.get(filename)
    text = text_of(filename)
    if text or not known:
        return text
    return "\n".join(known.get(line, "") for line in range(1, max(known) + 1)) + "\n"


def is_changed(code: CodeType) -> bool:
    """Whether the text of a function is at hand and says something else than what Python runs.

    What runs may have been made of another text by a tool: pytest does so to functions with assertions.
    """
    if any(name.startswith("@py") for name in (*code.co_names, *code.co_varnames)):
        return False
    text = text_of(code.co_filename, code)
    return bool(text) and not holds(text, code)


def why_changed(filename: str, module: dict[str, Any]) -> tuple[str, str]:
    """Why a text is not what Python runs, and what to do; `module` are the globals of the file."""
    loader = type(module.get("__loader__"))
    if loader.__module__.split(".")[0] in _PLAIN_LOADERS:
        return (
            f"{filename} has changed since it was imported",
            "start Python again, or import the module anew",
        )
    hook = f"{loader.__module__}.{loader.__qualname__}"
    return (
        f"the import hook `{hook}` has loaded {filename}, and may have rewritten its functions",
        "leave the module out of the hook, or decorate the function with `typing.no_type_check`",
    )


_PLAIN_LOADERS = ("builtins", "importlib", "_frozen_importlib", "_frozen_importlib_external", "zipimport")
"""Modules of the loaders that run a text as it is."""


@lru_cache(maxsize=512)
def holds(text: str, code: CodeType) -> bool:
    """Whether a text compiles to a file with this code object."""
    candidates = _codes(text, code.co_filename, code.co_flags & _FEATURES).get(code.co_firstlineno, ())
    return code in candidates or any(_shape(code) == _shape(other) for other in candidates)


@lru_cache(maxsize=64)
def _split(text: str) -> tuple[str, ...]:
    return tuple(text.splitlines(keepends=True))


def parsed(text: str) -> ast.Module:
    """The syntax tree of a text."""
    return _anywhere(lambda: ast.parse(text))


def _anywhere(parse: Callable[[], T]) -> T:
    """Parses a text that Python has imported: on a thread of its own where so many functions call each other
    that the same text, with sums of a thousand terms, is too much for Python.
    """
    try:
        return parse()
    except RecursionError:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(parse).result()


@lru_cache(maxsize=32)
def _codes(text: str, filename: str, flags: int) -> dict[int, list[CodeType]]:
    try:
        module = _anywhere(lambda: compile(text, filename, "exec", flags, dont_inherit=True))
    except (SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[int, list[CodeType]] = {}
    for code in _within(module):
        found.setdefault(code.co_firstlineno, []).append(code)
    return found


_SAME = {"LOAD_METHOD": "LOAD_ATTR", "CALL_METHOD": "CALL_FUNCTION"}
"""Instructions that the compiler chooses by what else its text has, such as the imports of a module."""

_NO_MEANING = frozenset(["PUSH_NULL", "PRECALL", "NOP", "CACHE", "EXTENDED_ARG"])


def _shape(code: CodeType) -> tuple[Any, ...]:
    """What a code object does, whatever other text was compiled with it."""
    constants = [
        _shape(each) if isinstance(each, CodeType) else (type(each), repr(each)) for each in code.co_consts
    ]
    does = [
        (_SAME.get(each.opname, each.opname), _operand(each))
        for each in dis.get_instructions(code)
        if each.opname not in _NO_MEANING
    ]
    named = (code.co_name, code.co_varnames, code.co_freevars, code.co_argcount, code.co_kwonlyargcount)
    return (*named, constants, does)


def _operand(instruction: dis.Instruction) -> Any:
    if isinstance(instruction.argval, str):
        return instruction.argval
    # The distance of a jump depends on what is between.
    return None if instruction.opcode in _JUMPS else instruction.arg


_JUMPS = frozenset([*dis.hasjrel, *dis.hasjabs])


def _within(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _within(constant)
