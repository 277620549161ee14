"""Errors: a class for each range of codes, parts as attributes, text as compilers write it."""

from __future__ import annotations

import inspect
import linecache
import pickle

import pytest
from pto_wsp import errors
from pto_wsp.errors import make

CLASSES = [
    errors.TraceError,
    errors.KernelError,
    errors.ScheduleError,
    errors.CompileError,
    errors.ArgumentError,
    errors.DeadlockError,
    errors.ExecutionError,
    errors.FormatError,
]


def made(**parts: object) -> errors.WspError:
    line = inspect.currentframe().f_lineno  # type: ignore[union-attr]
    return make(errors.TraceError, 1001, "no `x` here", span=(__file__, line, 4, line, 8), **parts)


def test_parts_are_attributes_and_the_text_shows_the_line() -> None:
    error = made(label="this", notes=["2 of 3"], help="write `y`")
    assert (error.code, error.message, error.file) == ("WSP1001", "no `x` here", __file__)
    assert (error.column, error.notes, error.help) == (5, ["2 of 3"], ["write `y`"])
    assert "line = inspect.currentframe()" in linecache.getline(__file__, error.line)
    text = str(error)
    assert text.startswith("error[WSP1001]: no `x` here\n")
    assert f"{__file__}:{error.line}:5" in text
    assert "    line = inspect.currentframe()" in text and "^^^^ this" in text
    assert text.endswith("= help: write `y`")
    assert text == error.rendered


def test_the_explanation_is_that_of_the_command_line() -> None:
    text = made().explanation
    assert text.startswith("WSP1001: ") and len(text.splitlines()) > 2
    named = [make(errors.ArgumentError, code, "x").explanation for code in (537, 882, 1250)]
    assert [text[:9] for text in named] == ["WSP0537: ", "WSP0882: ", "WSP1250: "]


def test_columns_are_counted_in_characters() -> None:
    name, text = "<cell 1>", "ä = 'ö'; x\n"

    linecache.cache[name] = (len(text), None, [text], name)
    start = len("ä = 'ö'; ".encode())
    error = make(errors.TraceError, 1001, "here", span=(name, 1, start, 1, start + 1))
    assert error.column == 10
    assert text.strip() in str(error)


def test_a_place_of_an_unknown_file_keeps_its_line() -> None:
    error = make(errors.TraceError, 1001, "here", span=("<nowhere>", 300, 4, 300, 8))
    assert (error.file, error.line) == ("<nowhere>", 300)
    nowhere = make(errors.ArgumentError, 1250, "nothing")
    assert (nowhere.file, nowhere.line, nowhere.column) == (None, None, None)


def test_other_places_are_shown() -> None:
    line = inspect.currentframe().f_lineno  # type: ignore[union-attr]
    error = made(labels=[((__file__, line, 4, line, 8), "and there")])
    assert "and there" in str(error)
    assert [label.label for label in error.diagnostics[0].labels] == ["and there"]


def test_errors_are_pickled() -> None:
    error = made()
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is errors.TraceError
    assert (copied.code, copied.line, str(copied)) == (error.code, error.line, str(error))


def test_every_class_says_what_it_is_for_and_is_caught_as_one() -> None:
    for cls in CLASSES:
        assert issubclass(cls, errors.WspError)
        assert cls.__doc__
    assert issubclass(errors.ArgumentError, TypeError) and issubclass(errors.ArgumentError, ValueError)


@pytest.mark.parametrize(
    ("code", "cls"),
    [
        (1000, errors.TraceError),
        (1099, errors.TraceError),
        (1100, errors.KernelError),
        (1200, errors.ScheduleError),
        (1250, errors.ArgumentError),
        (1264, errors.CompileError),
        (1300, errors.FormatError),
        ("WSP0856", errors.KernelError),
        ("WSP0820", errors.DeadlockError),
        ("WSP0871", errors.ArgumentError),
        (864, errors.CompileError),
        (430, errors.ScheduleError),
        (433, errors.ScheduleError),
        (434, errors.CompileError),
        (760, errors.TraceError),
        (785, errors.ScheduleError),
        (813, errors.ExecutionError),
        (574, errors.ExecutionError),
        (859, errors.WindowOverflow),
        (860, errors.ScheduleError),
        (1740, errors.CompileError),
        (1746, errors.ArgumentError),
    ],
)
def test_codes_have_classes(code: int | str, cls: type[errors.WspError]) -> None:
    assert errors.class_of(code) is cls
