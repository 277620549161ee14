"""Cases of misuse: how they are registered, what is asserted of each, and a small workload that they share.

A case is a function; the line that its error must name ends in the comment `# here`.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass

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
