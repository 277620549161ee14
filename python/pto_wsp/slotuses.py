"""Expressions of slots that are older than what they are used for: a workload reads a slot where the
expression is used, Python where it is written.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ._raise import trace_error
from ._seam import Span
from .expr import Expr, SlotRead


@dataclass(slots=True)
class SlotUses:
    """Where a trace uses expressions of slots, writes slots, and has loops; in numbers of statements."""

    uses: list[tuple[SlotRead, Expr, int, Span | None]] = field(default_factory=list)
    writes: list[tuple[Any, int, Span | None]] = field(default_factory=list)
    loops: list[tuple[int, int]] = field(default_factory=list)

    def check(self) -> None:
        """Refuses a use behind a write that is younger than the expression, also in a loop around both."""
        for read, expr, at, span in self.uses:
            around = [end for start, end in self.loops if read.statement < start <= at < end]
            last = max([at, *around])
            for cell, statement, written in self.writes:
                if cell is read.cell and read.statement <= statement < last:
                    raise trace_error(
                        1047,
                        f"`{expr!r}` is older than what `{cell!r}` holds here",
                        span=span,
                        labels=[(written, "this task writes the slot in between")],
                        notes="the slot is read where the expression is used",
                        help="write the expression where it is used; for the value of before, let a task "
                        "copy it to another slot",
                    )
