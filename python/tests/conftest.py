"""Shared by all tests of the Python package."""

from __future__ import annotations

import gc
import re
import signal

import pto_wsp
import pytest
from pto_wsp.spans import HAS_COLUMNS

COLUMNS = frozenset(
    f"{test}[{case}]"
    for test, cases in {
        "test_mistake": ("decorated_twice", "wrapped", "a_generator"),
        "test_mistake_is_told_by_class_code_line_and_help": ("range_over_a_symbol",),
        "test_misuse": (
            "1002-and_of_conditions-6",
            "1002-not_of_a_condition-7",
            "1002-chain_of_comparisons-8",
            "1003-range_of_a_size-12",
            "1006-random_number_of_one_of_two_functions_in_a_line-55",
        ),
    }.items()
    for case in cases
)
"""Tests of places and texts for which a frame must know its column, which Python does from 3.11 on."""


def pytest_configure() -> None:
    """Takes Ctrl-C as Python does when it starts in a terminal.

    A job in the background of a script starts with SIGINT ignored. Then Python installs no handler, and a run
    that waits for one goes on for ever.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Leaves what was collected to itself.

    A collection of garbage would look at all of it, a quarter of a second each time.
    """
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out what this Python cannot tell."""
    if not HAS_COLUMNS:
        skip = pytest.mark.skip(reason="frames of this Python know no columns")
        for item in items:
            if item.name in COLUMNS:
                item.add_marker(skip)


_OF_OTHER_LANGUAGES = re.compile(
    r"`--|\bwsp run|=FILE\.npy|schedule \{|\w\(.*\);`|\bProgram::|\bPlan::|`deps = |`start = |`trace = "
    r"|`parallel for|in Rust"
)
"""What to type in `.wsp` files, at the command line and in Rust. Words of `.pto` and `.tg` files, `PTO_…` and
`TG_…`, stand in errors of these."""


@pytest.fixture(autouse=True)
def help_says_what_to_type_in_python(monkeypatch):
    """Every error that a test meets has help for Python."""
    told: list[str] = []
    made = pto_wsp.errors.Diagnostic.of

    def noted(record):
        found = made(record)
        if not (found.place.file or "").endswith((".pto", ".tg", ".wsp")):
            told.extend(f"{found.code}: {help}" for help in found.help)
        return found

    monkeypatch.setattr(pto_wsp.errors.Diagnostic, "of", staticmethod(noted))
    yield
    foreign = [each for each in told if _OF_OTHER_LANGUAGES.search(each) and "PTO_" not in each]
    assert not foreign


@pytest.fixture
def errors():
    """The module of error classes."""
    return pto_wsp.errors
