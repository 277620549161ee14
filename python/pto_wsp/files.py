"""Files that users name: read and written, with errors that say their path."""

from __future__ import annotations

import errno
import os
from typing import Any

from ._raise import argument_error
from .expr import describe

_MISSING, _UNREADABLE, _UNWRITABLE, _KIND = 500, 501, 509, 1262


def path_of(path: Any, example: str) -> str:
    """The path that a string or an object such as `pathlib.Path` says."""
    try:
        found = os.fsdecode(path)
        found.encode("utf-8")
        return found
    except (TypeError, UnicodeError):
        raise argument_error(
            1262, f"the path is {describe(path)}", f"give a string or a `pathlib.Path`: `{example}`"
        ) from None


_KINDS = {
    ".pto": ("kernels", "write `load(path)`"),
    ".tg": ("a task graph", "write `TaskGraph.from_file(path)`"),
    ".ptog": ("a task graph", "write `TaskGraph.from_file(path)`"),
    ".py": ("text of Python", "import it: `import name`"),
    ".wsp": (
        "a workload as text",
        "write the workload in Python, with `@workload`, or run the file with `wsp`",
    ),
}
"""Files by their endings: what they have, and what takes them."""


def refuse_other_kinds(path: str, taken: tuple[str, ...]) -> None:
    """Refuses a file whose ending says that something else takes it."""
    ending = os.path.splitext(path)[1]
    if ending in _KINDS and ending not in taken:
        what, help = _KINDS[ending]
        raise argument_error(_KIND, f"`{path}` has {what}, by its ending", help)


def read(path: str) -> bytes:
    """The bytes of a file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise argument_error(_MISSING, f"there is no file `{path}`", _relative(path)) from None
    except (OSError, ValueError) as fault:
        raise argument_error(
            _UNREADABLE, f"file `{path}` cannot be read: {_why(fault)}", "give the path of a file"
        ) from None


def read_text(path: str) -> str:
    """The text of a file."""
    try:
        return read(path).decode("utf-8")
    except UnicodeDecodeError:
        raise argument_error(
            _UNREADABLE, f"file `{path}` is no UTF-8 text", "save it as UTF-8, or give another file"
        ) from None


def write_bytes(path: str, data: bytes) -> None:
    """Writes a file."""
    try:
        with open(path, "wb") as file:
            file.write(data)
    except (OSError, ValueError) as fault:
        raise argument_error(
            _UNWRITABLE,
            f"file `{path}` cannot be written: {_why(fault)}",
            "make room there, or give a path on another disk"
            if isinstance(fault, OSError) and fault.errno in (errno.ENOSPC, errno.EDQUOT)
            else "give a path in a folder that exists",
        ) from None


def trace_extension(path: str) -> str:
    """The extension of a trace's file, which says its form."""
    extension = os.path.splitext(path)[1].lower().removeprefix(".")
    if extension not in ("json", "pftrace"):
        raise argument_error(
            _UNWRITABLE,
            f"file `{path}` cannot be written: traces end in `.pftrace`, for Perfetto, or `.json`",
            'write `program.trace("trace.pftrace")`',
        )
    return extension


def _relative(path: str) -> str:
    if os.path.isabs(path):
        return "give the path of a file that exists"
    return f"paths are relative to the current folder, `{os.getcwd()}`"


def _why(fault: Exception) -> str:
    return fault.strerror or str(fault) if isinstance(fault, OSError) else str(fault)
