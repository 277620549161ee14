"""What is said of batches in the words of their callers: the programs that run them name other arrays."""

from __future__ import annotations

import re
from typing import Any

from . import errors
from ._raise import argument_error
from .spans import PACKAGE, caller_span

_PARTS = re.compile(r"\b(kv|prefix)\.(k|v|indptr|indices|last_page_len)\b(\[0\])?")
_BATCH = re.compile(r"but there must be `batch_size` = (\d+)")


def _part(found: re.Match[str]) -> str:
    cache, name, first = found.groups()
    if cache == "kv" or name in ("k", "v"):
        return name + (first or "")
    # Of the table of a prefix callers give the one number, and not the row pointers.
    return f"prefix_{name}" + (first or "" if name == "indices" else "")


def _said(text: str, of_prefix: bool) -> str:
    """A text with the names that callers have."""
    text = re.sub(r"\boutput\b", "out", _PARTS.sub(_part, text))
    text = _BATCH.sub(r"and the plan is for \1", text).replace('`{"indptr": [0, …]}`', "`indptr=[0, …]`")
    return text.replace("request 0", "the prefix") if of_prefix else text


class InWordsOf:
    """A `with` block whose errors name what the caller of a batch has given, at the caller's line."""

    __slots__ = ("batch", "page_size")

    def __init__(self, batch: Any, page_size: int) -> None:
        self.batch = batch
        self.page_size = page_size

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, errors.WspError):
            raise told(self.batch, error, self.page_size) from error.__cause__


def told(batch: Any, error: errors.WspError, page_size: int) -> errors.WspError:
    """An error of a batch's program in the words of its caller, at the caller's line."""
    number, cls = int(error.code.removeprefix("WSP")), type(error)
    if isinstance(error, errors.KernelError) and number == 600 and (error.file or "").startswith(PACKAGE):
        return argument_error(
            1262,
            f"the batch is larger than 32 bits count: {error.message}",
            "give fewer heads, or a smaller `head_dim` or `page_size`",
        )
    if not isinstance(error, errors.ArgumentError):
        return error
    name, of_prefix = type(batch).__name__, "prefix." in error.message
    message, notes = _said(error.message, of_prefix), [_said(note, of_prefix) for note in error.notes]
    help = _help_of(number, name)
    if number == 552:
        other = "give `k` and `v` of one shape" if "differ" in message else "call `plan` for other requests"
        help = _said(error.help[0], of_prefix) if error.help else other
    elif number == 556:
        notes = [note for note in notes if "pages taken as" not in note]
        help = f"the last page of each request has 1 to {page_size} tokens, and one without pages 0"
    elif number == 1254:
        found = re.search(r"array `(\w+)`", message)
        array = found[1] if found else "q"
        message = f"`{array}` has gaps between its elements, or another order than that of rows"
        notes = []
        made = f"np.empty({array}.shape, np.float32)" if array in ("out", "lse") else ""
        help = f"give one without: `{array} = {made or f'np.ascontiguousarray({array})'}`"
    elif number == 1268:
        message = f"this `{name}`, or an array that it was given, is in use by a call that has not ended"
        notes = []
    given = [help] if help else [_said(each, of_prefix) for each in error.help]
    return errors.make(cls, number, message, span=caller_span(), notes=notes, help=given)


def _help_of(number: int, name: str) -> str:
    return {
        871: "give each array memory of its own",
        1268: f"make one for each thread, `{name}()`, with results of its own: `out=…`, `lse=…`",
    }.get(number, "")
