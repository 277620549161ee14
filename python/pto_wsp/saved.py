"""The bytes of saved programs: a head, then options and trace, packed."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

from . import errors
from .spans import caller_span

MAGIC = b"PTOWSPPY"
VERSION = 1
HEADER = struct.Struct("<8sHI")
_MOST_BYTES = 256 * 1024 * 1024
"""The largest program that is read, unpacked."""


def pack(about: dict[str, Any], trace: bytes) -> bytes:
    """A program as bytes; `about` are its name and options."""
    head = json.dumps(about, separators=(",", ":"), sort_keys=True).encode()
    return HEADER.pack(MAGIC, VERSION, len(head)) + zlib.compress(head + trace, 9)


def files_of(trace: bytes) -> list[dict[str, Any]]:
    """The files that a trace takes kernels from."""
    try:
        return list(json.loads(trace)["workload"].get("uses") or [])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise no_program("the trace of a program is damaged", str(error)) from None


def unpack(data: bytes) -> tuple[dict[str, Any], bytes]:
    """What `to_bytes` packed."""
    if len(data) < HEADER.size or data[: len(MAGIC)] != MAGIC:
        raise no_program("the bytes do not begin as a program does", f"{len(data)} bytes")
    _, version, length = HEADER.unpack_from(data)
    if version != VERSION:
        raise errors.make(
            errors.FormatError,
            1231,
            f"a program of version {version}",
            span=caller_span(),
            notes=f"this package reads version {VERSION}",
            help="compile the workload again",
        )
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(data[HEADER.size :], _MOST_BYTES)
    except zlib.error as error:
        raise no_program("the bytes of a program are damaged", str(error)) from None
    if not unpacker.eof or unpacker.unused_data or length > len(content):
        raise no_program("the bytes of a program end early, or go on behind its end", f"{len(data)} bytes")
    try:
        about = json.loads(content[:length])
        options = about["options"]
        sound = (
            isinstance(options, dict)
            and isinstance(options.get("target"), str)
            and isinstance(about["name"], str)
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise no_program("the options of a program are damaged", str(error)) from None
    if not sound:
        raise no_program("the options of a program are damaged", "a value is of another type")
    return about, content[length:]


def no_program(message: str, note: str) -> Exception:
    """The error of bytes that are no program."""
    return errors.make(
        errors.FormatError,
        1230,
        message,
        span=caller_span(),
        notes=note,
        help="give what `program.to_bytes()` gave, unchanged",
    )
