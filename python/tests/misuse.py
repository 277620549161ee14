"""Cases of misuse: how they are registered, what is asserted of each, and a small workload that they share.

A case is a function; the line that its error must name ends in the comment `# here`.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from pto_wsp import In, Out, P, errors, f32, kernel, pto, tensor, tile, workload

Run = Callable[[], object]


@dataclass(frozen=True)
class Misuse:
    """A mistake: what is done, and what must be raised."""

    run: Run
    kind: type[errors.WspError]
    code: str
    help: str

    def __str__(self) -> str:
        return self.run.__name__


@dataclass(frozen=True)
class Cases:
    """The cases of one file."""

    all: list[Misuse]

    def add(self, kind: type[errors.WspError], code: str, help: str) -> Callable[[Run], Run]:
        """Registers a case: the class, the code, and words that the message, the help or the notes have."""

        def register(run: Run) -> Run:
            self.all.append(Misuse(run, kind, code, help))
            return run

        return register


def marked_line(run: Run) -> int:
    """The line of the case that ends in `# here`."""
    lines, first = inspect.getsourcelines(run)
    marked = [first + i for i, line in enumerate(lines) if line.rstrip().endswith("# here")]
    assert len(marked) == 1, f"{run.__name__} marks {len(marked)} lines"
    return marked[0]


_MADE_UP = re.compile(r"\b(?:\w+_axis|__\w+|t_\w+|[A-Za-z]\w*_[0-9]+|u[0-9a-f]{3,})\b")
"""What names look like that the package gives where those of users do not do."""
_KNOWN = re.compile(r"__(array_interface|dlpack|cause)__|ascend_\w+|unnamed_\d+")


def unwritten(error: errors.WspError, source: str) -> list[str]:
    """Names in the texts of an error that look as if no user wrote them, and do not stand in the source."""
    found = []
    for each in error.diagnostics:
        labels = [label.label or "" for label in (each.place, *each.labels)]
        texts = [each.message, *each.notes, *each.help, *labels]
        named = [piece for text in texts for piece in text.split("`")[1::2] if piece[:5] != "name="]
        found += [name for piece in named for name in _MADE_UP.findall(piece)]
    return [name for name in found if name not in source and not _KNOWN.fullmatch(name)]


def check(case: Misuse) -> None:
    """Asserts class, code, place and help."""
    with pytest.raises(errors.WspError) as caught:
        case.run()
    error = caught.value
    told = "\n".join([error.message, *error.help, *error.notes])
    assert (type(error), error.code) == (case.kind, case.code), str(error)
    source = inspect.getsourcefile(case.run)
    assert source is not None and error.file is not None and os.path.samefile(error.file, source), str(error)
    assert error.line == marked_line(case.run), str(error)
    assert case.help in told, str(error)
    assert error.help, str(error)
    assert unwritten(error, Path(source).read_text(encoding="utf-8")) == [], str(error)
    assert str(error) == error.rendered and error.code in error.rendered


X = tensor(("n", 64), f32)
Y = tensor(("n", 64), f32)


@kernel
def copy(x: In, y: Out):
    """Rows as they are."""
    pto.store(y, pto.load(x))


@workload
def copies(n):
    """Copies `X` to `Y`, sixteen rows a task."""
    for i in P(P.ceildiv(n, 16)):
        copy[i](X[tile(i, 16)], Y[tile(i, 16)])


def rows(n: int) -> np.ndarray:
    """Rows of ones for `X` and `Y`."""
    return np.ones((n, 64), np.float32)


def run_rows(k: Callable) -> None:
    """Compiles and runs a kernel on tiles of sixteen rows."""

    @workload
    def w(n):
        for i in P(P.ceildiv(n, 16)):
            k[i](X[tile(i, 16)], Y[tile(i, 16)])

    w.compile().execute(X=rows(20), Y=rows(20))
