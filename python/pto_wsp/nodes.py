"""What a traced workload consists of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ._seam import KernelLike, Span, Specialisation
from .axes import Ragged, Sparse
from .expr import Expr, Var
from .tensors import Buffer, View


@dataclass(slots=True, eq=False)
class KernelEntry:
    """A kernel of the program: one specialisation of a kernel object, or one of a `.pto` file."""

    kernel: KernelLike | None
    specialisation: Specialisation | None
    library: str | None = None
    unit: str | None = None
    cost: Any = None
    scalars: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Task:
    """The handle of a task statement, for `after=[…]` of a later one: its last task."""

    entry: KernelEntry
    name: str
    coords: tuple[Expr, ...]
    args: list[tuple[str | None, Expr | View]]
    after: tuple[Task, ...]
    span: Span | None
    trace: Any
    labelled: bool = False

    def __repr__(self) -> str:
        return (
            f"task {self.name}[{', '.join(map(repr, self.coords))}]" if self.coords else f"task {self.name}"
        )

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class RangeDomain:
    """`[lo, hi)` in steps, with the name that schedules know it by, if it has one."""

    lo: Expr
    hi: Expr
    step: Expr
    name: str | None


@dataclass(frozen=True, slots=True)
class SizeDomain:
    """`[0, size)` of a launch-time size."""

    name: str


@dataclass(frozen=True, slots=True)
class RaggedDomain:
    """A ragged axis under an index of its outer axis."""

    axis: Ragged
    outer: Expr
    name: str | None


Domain = RangeDomain | SizeDomain | RaggedDomain


@dataclass(slots=True, eq=False)
class Loop:
    """A loop over a domain."""

    var: Var
    domain: Domain
    ordered: bool
    span: Span | None
    body: list[Node] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Select:
    """The columns of a row of a sparse axis."""

    var: Var
    position: Var | None
    axis: Sparse
    row: Expr
    name: str | None
    span: Span | None
    body: list[Node] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Cond:
    """Two branches."""

    condition: Expr
    span: Span | None
    then: list[Node] = field(default_factory=list)
    otherwise: list[Node] = field(default_factory=list)
    has_otherwise: bool = False


@dataclass(slots=True, eq=False)
class While:
    """Rounds while a condition holds."""

    condition: Expr
    most: Expr
    span: Span | None
    body: list[Node] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Blocks:
    """`combine` or `sequential`."""

    kind: str
    span: Span | None
    blocks: list[list[Node]] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Process:
    """A process of a pipeline."""

    name: str
    span: Span | None
    body: list[Node] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Pipeline:
    """Processes that pass tiles through channels."""

    span: Span | None
    processes: list[Process] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Pass:
    """A `send`, or an arm of a `consume`."""

    kind: str
    channel: Any
    var: Var
    span: Span | None
    ring: Buffer | None
    body: list[Node] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Consume:
    """Arms of which the first whose channel has a token runs; with `all`, until every channel is closed."""

    all: bool
    span: Span | None
    arms: list[Pass] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Close:
    """Ends a channel."""

    channel: Any
    span: Span | None


Node = Task | Loop | Select | Cond | While | Blocks | Pipeline | Pass | Consume | Close


def blocks_of(node: Node) -> list[list[Node]]:
    """The blocks inside a node, in order."""
    match node:
        case Task() | Close():
            return []
        case Cond():
            return [node.then, node.otherwise]
        case Blocks():
            return node.blocks
        case Pipeline():
            return [process.body for process in node.processes]
        case Consume():
            return [arm.body for arm in node.arms]
        case _:
            return [node.body]
