"""Tables of HTML, as notebooks show what a name stands for."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .program import Program

_LEFT = ' style="text-align:left"'


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table; empty without rows."""
    body = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in rows)
    top = "".join(f"<th{_LEFT}>{html.escape(head)}</th>" for head in heads)
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>" if body else ""


def fields(title: str, values: Mapping[str, Any], notes: Iterable[str] = ()) -> str:
    """A title, what has which value, and notes."""
    rows = "".join(
        f"<tr><th{_LEFT}>{html.escape(name)}</th>{_cell(value)}</tr>" for name, value in values.items()
    )
    below = "".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return f"<b>{html.escape(title)}</b><table><tbody>{rows}</tbody></table>{below}"


def _cell(value: Any) -> str:
    return f"<td{_LEFT}>{html.escape(str(value))}</td>"


def of_program(program: Program) -> str:
    """What a notebook shows of a program without a profiled run."""
    about = program._core.explain()
    shown = fields(f"program {program.name}", {"target": program.target, **program.arguments}, program.notes)
    said = [(each["primitive"], each["support"], each["meaning"]) for each in about["schedule"]]
    kernels = [(each["name"], each["unit"], each["body"]) for each in about["kernels"]]
    return shown + table(("schedule", "", ""), said) + table(("kernel", "unit", "body"), kernels)
