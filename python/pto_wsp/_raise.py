"""The errors that the front end itself raises for workloads and schedules: `raise trace_error(1003, "…",
help="…")`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from functools import partial
from typing import Any

from . import errors
from ._seam import Span
from .spans import caller_span

_HERE = object()


def _make(
    cls: type[errors.WspError],
    code: int,
    message: str,
    *,
    span: Span | object | None = _HERE,
    label: str = "",
    labels: Iterable[tuple[Span | None, str]] = (),
    notes: Iterable[str] | str = (),
    help: Iterable[str] | str = (),
) -> errors.WspError:
    """An error of a class at a place, by default that of the caller's line."""
    place = caller_span() if span is _HERE else span
    return errors.make(
        cls,
        code,
        message,
        span=place,  # type: ignore[arg-type]
        label=label,
        labels=[(other, text) for other, text in labels if other is not None],
        notes=notes,
        help=help,
    )


MADE: ContextVar[list[errors.WspError] | None] = ContextVar("pto_wsp_errors_of_a_trace", default=None)
"""The errors of the workload that is traced: one that is caught there is no reason to go on."""


def trace_error(code: int, message: str, **parts: Any) -> errors.WspError:
    """An error of what a workload says, at the caller's line or at `span`."""
    error = _make(errors.TraceError, code, message, **parts)
    made = MADE.get()
    if made is not None:
        made.append(error)
    return error


def argument_error(code: int, message: str, help: Iterable[str] | str) -> errors.WspError:
    """An error of what a call is given, at the caller's line."""
    return _make(errors.ArgumentError, code, message, help=help)


def only_by_name(call: str, unnamed: tuple[Any, ...], names: Iterable[str]) -> None:
    """Refuses what a call is given without a name; `names` are those that it takes."""
    if not unnamed:
        return
    how = ", ".join(f"{name}=…" for name in names) or "X=x"
    if len(unnamed) == 1 and isinstance(unnamed[0], Mapping):
        how = "**arrays"
    raise argument_error(
        1260,
        f"`{call}` takes arrays and sizes by name, and {len(unnamed)} of them come without one",
        f"write `program.{call}({how})`",
    )


def moved(error: errors.WspError, span: Span | None) -> errors.WspError:
    """An error that says the same at another place."""
    number = int((error.code or "").removeprefix("WSP"))
    return errors.make(type(error), number, error.message, span=span, notes=error.notes, help=error.help)


attribute_error = partial(_make, errors.UnknownAttributeError)
schedule_error = partial(_make, errors.ScheduleError)
compile_error = partial(_make, errors.CompileError)


class PlacedAtCaller:
    """A `with` block whose errors without a place have that of the caller's line."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        placed = placed_at_caller(error)
        if placed is not None and placed is not error:
            raise placed


def placed_at_caller(error: BaseException | None) -> BaseException | None:
    """An error; one without a place with that of the caller's line."""
    if not isinstance(error, errors.WspError) or error.file is not None:
        return error
    span = caller_span()
    found = [_placed(each, type(error), span) for each in error.diagnostics]
    placed = type(error)(found, errors.together(found))
    placed.__cause__, placed.__context__ = error.__cause__, error.__context__
    return placed


def _placed(found: errors.Diagnostic, cls: type[errors.WspError], span: Span | None) -> errors.Diagnostic:
    if found.place.file is not None or found.severity != "error":
        return found
    number = int(found.code.removeprefix("WSP"))
    made = errors.make(cls, number, found.message, span=span, notes=found.notes, help=found.help)
    return made.diagnostics[0]
