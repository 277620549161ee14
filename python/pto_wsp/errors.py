"""What goes wrong, one class per kind.

Every error carries a stable code, the place in the user's source where there is one, numbers as notes and
what to write instead as help. ``str(error)`` is the rendered text with the source line; the parts are
attributes::

    try:
        program.execute(X=x)
    except errors.ArgumentError as error:
        print(error.code, error.line, error.help)
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import _core
from .spans import caller_span, is_ours, line_span, named_file
from .texts import shown_text

__all__ = [
    "ArgumentError",
    "CompileError",
    "DeadlockError",
    "Diagnostic",
    "ExecutionError",
    "FormatError",
    "KernelError",
    "Label",
    "PlanError",
    "ScheduleError",
    "Span",
    "ThrownAwayWarning",
    "TraceError",
    "UnknownAttributeError",
    "WindowOverflow",
    "WspError",
    "class_of",
    "from_diagnostics",
    "make",
]

Span = tuple[str, int, int, int, int]
"""A place: file, first line, first column, last line, end column.

Lines count from 1, columns from 0 in UTF-8 bytes; the end is exclusive.
"""


@dataclass(frozen=True, slots=True)
class Label:
    """A place that explains a finding.

    Lines and columns count from 1, columns in characters; the end is exclusive. Without a place all are
    ``None``.
    """

    file: str | None
    line: int | None
    column: int | None
    end_line: int | None
    end_column: int | None
    label: str | None


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    ``code`` such as ``"WSP1250"``, ``severity`` (``"error"``, ``"warning"``, ``"note"``), ``message``,
    ``place`` with what is said of it, other places, ``notes`` with numbers and facts, ``help`` with what to
    write, and the ``rendered`` text.
    """

    code: str
    severity: str
    message: str
    place: Label
    labels: tuple[Label, ...]
    notes: tuple[str, ...]
    help: tuple[str, ...]
    rendered: str
    figures: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Numbers that the text has, by name."""

    @staticmethod
    def of(record: Mapping[str, Any]) -> Diagnostic:
        """The finding that a record of the compiled core describes."""
        return Diagnostic(
            code=record["code"],
            severity=record["severity"],
            message=record["message"],
            place=_label(record),
            labels=tuple(_label(label) for label in record["labels"]),
            notes=tuple(record["notes"]),
            help=tuple(record["help"]),
            rendered=record["rendered"],
            figures=record.get("figures", {}),
        )


def _label(record: Mapping[str, Any]) -> Label:
    return Label(
        named_file(record["file"]) if record["file"] else None,
        record["line"],
        record["column"],
        record["end_line"],
        record["end_column"],
        record["label"],
    )


class ThrownAwayWarning(UserWarning):
    """Something that has no effect by itself was made and never used: a schedule, or a run that failed."""


class WspError(Exception):
    """The user's program, schedule or data is wrong, or a run failed: the base of all errors of this package.

    Built from one or more findings; the attributes are those of the first error among them.
    """

    def __init__(self, diagnostics: Sequence[Diagnostic], rendered: str) -> None:
        super().__init__(rendered)
        self._diagnostics = tuple(diagnostics)
        errors = (d for d in self._diagnostics if d.severity == "error")
        self._first = next(errors, self._diagnostics[0])

    def __str__(self) -> str:
        return self.rendered

    def _render_traceback_(self, *_: Any) -> list[str]:
        """What IPython and notebooks show: the places of the user's frames, and the error."""
        lines = ["Traceback (most recent call last):"]
        traceback = self.__traceback__
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if not is_ours(traceback.tb_frame) and not _is_shell(traceback.tb_frame.f_globals):
                lines.append(f"  {_shown(code.co_filename)}, line {traceback.tb_lineno}, in {code.co_name}")
            traceback = traceback.tb_next
        return [*lines, *self.rendered.rstrip().split("\n")]

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._diagnostics, self.rendered))

    @property
    def code(self) -> str:
        """The stable code, such as ``"WSP0777"``."""
        return self._first.code

    @property
    def explanation(self) -> str:
        """What the code means and what to do, as ``wsp explain`` prints it."""
        return _core.explain(int(self.code.removeprefix("WSP"))) or ""

    @property
    def message(self) -> str:
        """What is wrong, in one phrase."""
        return self._first.message

    @property
    def file(self) -> str | None:
        """The file of the place, where there is one."""
        return self._first.place.file

    @property
    def line(self) -> int | None:
        """The line of the place, from 1."""
        return self._first.place.line

    @property
    def column(self) -> int | None:
        """The column of the place, in characters from 1."""
        return self._first.place.column

    @property
    def help(self) -> list[str]:
        """What to write instead."""
        return list(self._first.help)

    @property
    def notes(self) -> list[str]:
        """Numbers and facts."""
        return list(self._first.notes)

    @property
    def rendered(self) -> str:
        """The whole text, with source lines; the same as ``str(error)``."""
        return str(self.args[0])

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """All findings, warnings included, by place."""
        return list(self._diagnostics)


def _is_shell(module: Mapping[str, Any]) -> bool:
    """Whether a frame is of what runs the cells of a notebook."""
    return str(module.get("__name__")).partition(".")[0] in ("IPython", "ipykernel")


def _shown(filename: str) -> str:
    """What IPython calls a cell, else the name of the file."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    name = None if shell is None else shell.compile.format_code_name(filename)
    return " ".join(name) if name else filename


class TraceError(WspError):
    """A workload function does what a workload cannot, or its tasks break a rule; found when it is traced."""


class KernelError(WspError):
    """The source of a kernel is wrong, or a task of it failed.

    The exception of a Python kernel is its ``__cause__``; an error of this package, which says the same, its
    ``__context__``.
    """


class ScheduleError(WspError):
    """A schedule says something twice, opaquely, or that its target does not keep."""


class CompileError(WspError):
    """Options, the target, or a library of kernels do not make a program."""


class ArgumentError(WspError, TypeError, ValueError):
    """Arrays, sizes or other values of a call do not fit: missing, surplus, of another type or shape."""


class UnknownAttributeError(WspError, AttributeError):
    """An object has no attribute of a name: what is meant, or what is near."""


class PlanError(WspError):
    """A plan is stale, has too little room, or cannot follow the growth of requests."""


class DeadlockError(WspError):
    """Processes of a pipeline wait for each other and none can go on."""


class ExecutionError(WspError):
    """A run cannot go on: an index or loop is out of bounds, memory is refused, it was cancelled."""


class WindowOverflow(ExecutionError):
    """A task found the window full, and the window's mode is ``"abort"``."""

    @property
    def capacity(self) -> int:
        """Tasks that the window holds."""
        return self._first.figures["capacity"]

    @property
    def active(self) -> int:
        """Tasks in flight."""
        return self._first.figures["active"]

    @property
    def task(self) -> int:
        """The task, by its number in elaboration order."""
        return self._first.figures["task"]


class FormatError(WspError):
    """Bytes are no program, or one of another version."""


_RANGES: tuple[tuple[int, type[WspError]], ...] = (
    (1, CompileError),  # .pto: syntax, names, types
    (300, KernelError),  # rules of functions
    (400, CompileError),  # plans
    (403, ScheduleError),
    (407, CompileError),
    (415, ScheduleError),
    (417, CompileError),
    (430, ScheduleError),  # layouts
    (434, CompileError),
    (500, ArgumentError),  # data
    (515, CompileError),  # a file that is an include
    (516, ArgumentError),
    (567, CompileError),
    (568, ExecutionError),
    (569, ArgumentError),  # what a program requires of its inputs
    (570, ExecutionError),
    (575, CompileError),
    (578, PlanError),
    (600, KernelError),  # faults of kernels that run
    (607, ExecutionError),
    (610, KernelError),
    (639, ExecutionError),
    (700, CompileError),  # .wsp: text
    (760, TraceError),  # rules of workloads
    (782, ScheduleError),
    (787, TraceError),  # and 789, 790
    (800, ArgumentError),  # values of a launch
    (808, ExecutionError),  # generation of tasks
    (820, DeadlockError),
    (821, ExecutionError),
    (830, ScheduleError),
    (850, KernelError),  # runs
    (851, CompileError),
    (854, ExecutionError),
    (856, KernelError),
    (858, ExecutionError),
    (859, WindowOverflow),
    (860, ScheduleError),
    (861, ExecutionError),
    (863, ArgumentError),
    (864, CompileError),
    (866, KernelError),
    (867, CompileError),
    (870, ArgumentError),
    (872, KernelError),
    (874, ExecutionError),
    (880, CompileError),
    (882, ArgumentError),
    (883, CompileError),
    (893, ScheduleError),
    (894, CompileError),
    (1000, TraceError),
    (1100, KernelError),
    (1200, ScheduleError),
    (1250, ArgumentError),
    (1264, CompileError),
    (1265, ArgumentError),
    (1269, ExecutionError),
    (1271, UnknownAttributeError),
    (1272, ExecutionError),
    (1273, ArgumentError),
    (1274, ExecutionError),
    (1300, FormatError),
    (1400, CompileError),  # task graphs: text
    (1430, FormatError),
    (1450, CompileError),
    (1540, CompileError),  # kernels of a run of task graphs
    (1542, KernelError),
    (1544, ExecutionError),
    (1545, ArgumentError),
    (1548, KernelError),
    (1549, ExecutionError),
    (1550, ArgumentError),
    (1551, ExecutionError),
    (1564, ArgumentError),
    (1565, ExecutionError),
    (1600, CompileError),  # backends
    (1604, ArgumentError),
    (1605, ExecutionError),
    (1608, CompileError),
    (1740, CompileError),  # machine models
    (1746, ArgumentError),  # costs on a model
    (1750, FormatError),  # traces
    (1754, ArgumentError),  # reports
    (1760, ArgumentError),  # AICPUs of a model
    (1800, CompileError),  # designs for AIE arrays
    (1860, DeadlockError),
    (1861, ExecutionError),
    (1862, ArgumentError),
    (1863, CompileError),
)
"""First code of each range, with the class of the errors in it."""


def class_of(code: str | int) -> type[WspError]:
    """The class of errors with this code: ``"WSP1250"`` or ``1250``."""
    number = int(code.removeprefix("WSP")) if isinstance(code, str) else code
    found: type[WspError] = WspError
    for first, cls in _RANGES:
        if number < first:
            break
        found = cls
    return found


def from_diagnostics(records: Iterable[Mapping[str, Any]], cause: BaseException | None = None) -> WspError:
    """The error that the compiled core reports: its class follows from the code of the first error.

    Errors without a place, such as those of arguments, get that of the caller's line. The failure of a Python
    kernel gets the line that raised ``cause``, and says what that says where it is an error of this package:
    its code, its message and its place are those of the cause, its class is that of failed kernels. So that
    it is printed once, with the frames of both, the cause is no more than its context then.
    """
    here = caller_span()
    placed = [_placed(record, here) for record in records]
    first = next((record for record in placed if record["severity"] == "error"), placed[0])
    diagnostics = [Diagnostic.of(_raised(record, cause)) for record in placed]
    made = class_of(first["code"])(diagnostics, together(diagnostics))
    if isinstance(cause, WspError):
        made.__traceback__, made.__context__, made.__suppress_context__ = cause.__traceback__, cause, True
    elif cause is not None:
        made.__cause__ = cause
    return made


_MOST_LINES = 12
"""Lines of an error beyond which its further findings are counted."""


def together(found: Sequence[Diagnostic]) -> str:
    """The text of findings: the first one, and others up to about a dozen lines."""
    shown, lines = [found[0].rendered], found[0].rendered.count("\n")
    for each in found[1:]:
        lines += each.rendered.count("\n") + 2
        if lines > _MOST_LINES:
            break
        shown.append(each.rendered)
    more = len(found) - len(shown)
    if more:
        shown.append(f"and {more} more: `error.diagnostics` has all of them")
    return "\n\n".join(shown)


_OF_A_CALL = range(800, 808)
"""Codes of values that a call gives: its line is their place, also where a declaration says what is wrong
with them.
"""


def _placed(record: Mapping[str, Any], here: Span | None) -> Mapping[str, Any]:
    code = int(record["code"].removeprefix("WSP"))
    is_placed = record["line"] is not None and code not in _OF_A_CALL
    if here is None or is_placed or record["severity"] != "error":
        return record
    found = Diagnostic.of(record)
    said = [(_span_of(label), label.label or "") for label in (found.place, *found.labels)]
    labels = [(span, text) for span, text in said if span is not None]
    placed = _core.render(
        code,
        record["message"],
        span=here,
        labels=labels,
        notes=record["notes"],
        help=record["help"],
        sources={file: _text(file) for file in (here[0], *(span[0] for span, _ in labels))},
    )
    return {**placed, "figures": record.get("figures", {})}


def _raised(record: Mapping[str, Any], cause: BaseException | None) -> Mapping[str, Any]:
    """A failed task with the place in the kernel's file that raised."""
    if isinstance(cause, WspError):
        return _said_by(cause, record["notes"])
    traceback = None if cause is None else cause.__traceback__
    line, file = None, os.path.abspath(named_file(record["file"] or ""))
    while traceback is not None:
        if os.path.abspath(traceback.tb_frame.f_code.co_filename) == file:
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    if line is None:
        return record
    return _core.render(
        int(record["code"].removeprefix("WSP")),
        record["message"],
        span=(record["file"], *line_span(file, line)[1:]),
        label="raised here",
        notes=record["notes"],
        help=record["help"] or ["the exception of the kernel is the `__cause__` of this one"],
        sources={record["file"]: _text(file)},
    )


def _said_by(cause: WspError, notes: Sequence[str]) -> Mapping[str, Any]:
    """What an error says, with notes of the task that raised it."""
    said = cause._first
    place = _span_of(said.place)
    labels = [(span, label.label or "") for label in said.labels if (span := _span_of(label)) is not None]
    return _core.render(
        int(said.code.removeprefix("WSP")),
        said.message,
        span=place,
        label=said.place.label or "",
        labels=labels,
        notes=[*said.notes, *notes],
        help=said.help,
        sources={span[0]: _text(span[0]) for span in [*([place] if place else []), *(s for s, _ in labels)]},
    )


def _span_of(label: Label) -> Span | None:
    """A place of a finding, whose columns are characters from 1, as a place in bytes from 0."""
    if label.file is None or label.line is None or label.end_line is None:
        return None
    lines = _text(label.file).split("\n")

    def column(line: int, column: int | None) -> int:
        text = lines[line - 1] if line <= len(lines) else ""
        return len(text[: (column or 1) - 1].encode())

    return (
        label.file,
        label.line,
        column(label.line, label.column),
        label.end_line,
        column(label.end_line, label.end_column),
    )


def make(
    cls: type[WspError],
    code: int,
    message: str,
    *,
    span: Span | None = None,
    label: str = "",
    labels: Iterable[tuple[Span, str]] = (),
    notes: Iterable[str] = (),
    help: Iterable[str] | str = (),
) -> WspError:
    """An error of this package's own: ``raise make(TraceError, 1003, "…", span=…, help=["…"])``.

    ``message`` is one phrase in lower case with names in backticks. ``labels`` are other places with what is
    said of them. The lines of the places are read from their files, or from where the interpreter keeps those
    of notebooks.
    """
    other = [(place, text) for place, text in labels]
    sources = {place[0]: _text(place[0]) for place in [*([span] if span else []), *(s for s, _ in other)]}
    record = _core.render(
        code,
        _printable(message),
        span=span,
        label=_printable(label),
        labels=[(place, _printable(text)) for place, text in other],
        notes=[*map(_printable, [notes] if isinstance(notes, str) else notes)],
        help=[*map(_printable, [help] if isinstance(help, str) else help)],
        sources=sources,
    )
    return cls([Diagnostic.of(record)], record["rendered"])


def _printable(text: str) -> str:
    """A text with escapes for what UTF-8 cannot say: halves of characters, in names that users give."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _text(filename: str) -> str:
    return shown_text(filename)
