"""Kernels without a body, for tests of what workloads make of calls."""

from __future__ import annotations

import inspect
import json
import sys
from dataclasses import dataclass, field
from typing import Any

from pto_wsp import _core
from pto_wsp._seam import REQUIRED, ConstexprArg, ParamSpec, record_task
from pto_wsp.schedule import Scheduled
from pto_wsp.spans import span_of_frame


def counted_methods() -> list[str]:
    """The methods of schedules that need a number and nothing else."""

    def needs(method: Any) -> list[Any]:
        own = list(inspect.signature(method).parameters.values())[1:]
        return [one.annotation for one in own if one.default is one.empty]

    methods = {name: method for name, method in vars(Scheduled).items() if inspect.isroutine(method)}
    return [name for name, method in methods.items() if name[0] != "_" and needs(method) == ["int"]]


@dataclass(frozen=True)
class Made:
    """A specialisation that declares its parameters."""

    key: Any
    name: str
    params: list
    unit: str
    cost: Any
    span: Any = None
    callable: Any = None

    def body(self, spans):
        return {"body": "none"}


@dataclass(eq=False)
class Declared:
    """`Declared("k", "in a, out b, n")`: a kernel of these parameters; `const c` and `const c=1` are
    constants.
    """

    name: str
    text: str
    unit: str = "any"
    cost: Any = None
    specs: list = field(default_factory=list)

    @property
    def signature(self):
        found = []
        for entry in (part.strip() for part in self.text.split(",") if part.strip()):
            kind, _, name = entry.rpartition(" ")
            name, _, default = name.partition("=")
            kind = {"": "scalar", "const": "constexpr"}.get(kind, kind)
            found.append(ParamSpec(name, kind, int(default) if default else REQUIRED))
        return found

    def specialise(self, ncoords, args, call):
        self.specs.append(list(args))
        params = [(f"coord{n}", "scalar") for n in range(ncoords)]
        params += [(p.name, p.kind) for p in self.signature if p.kind != "constexpr"]
        consts = tuple(a.value for a in args if isinstance(a, ConstexprArg))
        return Made((ncoords, consts), self.name, params, self.unit, self.cost)

    def __getitem__(self, coords):
        coords = coords if isinstance(coords, tuple) else (coords,)

        def call(*args, after=(), **kwargs):
            return record_task(self, coords, args, kwargs, after, span_of_frame(sys._getframe(1)))

        return call

    def __call__(self, *args, after=(), **kwargs):
        return record_task(self, (), args, kwargs, after, span_of_frame(sys._getframe(1)))


def document(workload):
    """The JSON document of a workload, read back."""
    return json.loads(workload._document().to_json())


def ir(workload) -> str:
    """The `.wsp` text of a workload, checked, without blank lines."""
    text = _core.check(workload._document().to_json())
    return "\n".join(line for line in text.splitlines() if line.strip())
