"""Warnings of what was made, has no effect by itself, and goes without having been used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from warnings import warn_explicit

from ._core import WhenGone
from ._seam import Span
from .errors import ThrownAwayWarning


def warn_thrown_away(message: str, span: Span | None) -> None:
    """Warns at a line, unless the interpreter ends, when everything goes."""
    if span is not None and not sys.is_finalizing():
        warn_explicit(f"WSP1212: {message}", ThrownAwayWarning, span[0], span[1])


def warning_when_gone(message: str, span: Span | None, needless: Callable[[], bool] = bool) -> WhenGone:
    """Warns when what holds it goes, unless it was told to `forget`, an exception takes it along, or the
    warning is `needless` by then.
    """

    def warn() -> None:
        if not needless():
            warn_thrown_away(message, span)

    return WhenGone(warn)
