"""Compiles a specialisation of a kernel: from its syntax tree to the entry of the trace."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from .._seam import Span, SpanTable
from . import codes, exprs, stmts, views
from .context import Cx, Var
from .emit import resolve
from .reads import Reads
from .source import Source
from .values import ViewParam


def never_stored(kernel: str, name: str, span: Span, how: str) -> Exception:
    """The error of an `Out` that a kernel does not store to."""
    return codes.kernel_error(
        codes.NEVER_STORED,
        f"kernel `{kernel}` never stores to `{name}`",
        span,
        notes=["an `Out` is written in every element by each task; what is there before stays otherwise"],
        help=[
            f"store to it: {how}",
            "declare it `In` if the kernel only reads it, `InOut` if it may keep what is there",
        ],
    )


def _partly(kernel: str, param: ViewParam, left: int, total: int) -> str:
    """What a program notes of an `Out` of which no store reaches a part."""
    file, line = param.span[0], param.span[1]
    of = f"{total}" if None not in param.extents else f"up to {total}"
    return (
        f"kernel `{kernel}` stores to {total - left} of the {of} elements of `{param.name}`, an `Out`: "
        f"the other {left} stay as they are; declare it `InOut` if that is meant ({file}:{line})"
    )


@dataclass(frozen=True, slots=True)
class Compiled:
    """The body of a specialisation. `reads` are the values from around the function that it was compiled
    with.
    """

    entry: dict[str, Any]
    views: tuple[ViewParam, ...]
    scalars: tuple[str, ...]
    reads: Reads
    notes: tuple[str, ...]

    def is_current(self) -> bool:
        """Whether everything that was read around the function is certain to be what it was."""
        return self.reads.hold()

    def body(self, spans: SpanTable) -> dict[str, Any]:
        """`kernels[i]` of a trace."""
        return resolve(self.entry, spans)

    def text(self, name: str) -> str:
        """The function as text."""
        table = _Spans()
        params = [{"name": s, "kind": "scalar"} for s in self.scalars]
        params += [{"name": v.name, "kind": v.kind} for v in self.views]
        body = self.body(table)
        document = {
            "format": "pto-wsp-trace",
            "version": 1,
            "files": [{"name": file, "text": ""} for file in table.files],
            "spans": table.spans,
            "workload": {
                "kernels": [{"name": name, "unit": "any", "params": params}],
                "workloads": [
                    {"name": "main", "params": 0, "vars": [], "labels": [], "channels": [], "body": []}
                ],
            },
            "kernels": [body],
        }
        return _core.kernel_text(json.dumps(document, allow_nan=False).encode(), 0)


@dataclass(slots=True)
class _Spans:
    """The places of a document with one kernel."""

    files: list[str] = field(default_factory=list)
    spans: list[list[int]] = field(default_factory=list)
    _index: dict[tuple[Any, ...], int] = field(default_factory=dict)

    def add(self, filename: str, line: int, col: int, end_line: int, end_col: int) -> int:
        key = (filename, line, col, end_line, end_col)
        if key not in self._index:
            if filename not in self.files:
                self.files.append(filename)
            self._index[key] = len(self.spans)
            self.spans.append([self.files.index(filename), line, col, end_line, end_col])
        return self._index[key]


def compile_kernel(
    source: Source,
    params: tuple[ViewParam, ...],
    keep: tuple[tuple[int, ...], ...],
    scalars: dict[str, int],
    ncoords: int,
    constants: dict[str, Any],
) -> Compiled:
    """The kernel for these views, constants, and scalars of the task by name and number. `KernelError` at
    what is wrong.
    """
    cx = Cx(source, params, ncoords)
    env = cx.frame.env
    for param in params:
        env[param.name] = Var(views.whole(param), None, param.span)
    for name, number in list(scalars.items())[ncoords:]:
        env[name] = Var(cx.task_scalar(number, name, source.span), None, source.span)
    for name, value in constants.items():
        cx.reads.value(value)
        env[name] = Var(exprs.constant(value), None, source.span)
    stmts.block(cx, source.body)
    outs = [param for param in params if param.kind == "out"]
    for param in outs:
        if not cx.stored.stores_to(param):
            raise never_stored(source.name, param.name, param.span, "`pto.store(…)`")
    notes = [_partly(source.name, param, *left) for param in outs if (left := cx.stored.missing(param))]
    entry = {
        "body": "compiled",
        "views": [
            {"name": p.name, "dtype": p.dtype.name, "keep": list(k), "extents": list(p.extents)}
            for p, k in zip(params, keep, strict=False)
        ],
        "fields": cx.fields,
        "function": {
            "name": source.name,
            "s": source.span,
            "locals": cx.builder.locals,
            "body": cx.builder.block,
        },
    }
    return Compiled(entry, params, tuple(scalars), cx.reads, tuple(notes))
