"""What runs, graphs and simulations give."""

from __future__ import annotations

import copy
import html
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from . import graphviews
from ._pickled import OfThisProcess, not_pickled
from ._raise import argument_error
from .htmltables import fields, table

if TYPE_CHECKING:
    from . import _core


# A class makes its objects by a public function, whose errors are told.
_new = object.__new__


class Stats:
    """The figures of a run; times in milliseconds.

    `num_tasks` are the tasks that ran, `num_streams` the in-order streams of the schedule (0 without),
    `num_executors` the threads that ran tasks.
    """

    # Each run makes one: what it has is read when it is looked at.
    __slots__ = ("_figures", "_run_id")

    _figures: _core.Figures | CopiedFigures
    _run_id: int

    def __init__(self) -> None:
        raise argument_error(1262, "`Stats` are not made by their name", "`program.execute(X=x)` gives them")

    @property
    def run_id(self) -> int:
        """The number of the run among those of its program."""
        return self._run_id

    @property
    def num_tasks(self) -> int:
        """The tasks that ran."""
        return self._figures.tasks

    @property
    def num_streams(self) -> int:
        """The in-order streams of the schedule, 0 without."""
        return self._figures.streams

    @property
    def num_executors(self) -> int:
        """The threads that ran tasks."""
        return self._figures.threads or 1

    @property
    def compile_time_ms(self) -> float:
        """What the compilation of the program took."""
        return self._figures.compile_ns / 1e6

    @property
    def execute_time_ms(self) -> float:
        """From the start of the run to the end of its last task."""
        return self._figures.run_ns / 1e6

    def _shown(self) -> dict[str, float]:
        names = ("run_id", "num_tasks", "num_streams", "num_executors", "compile_time_ms", "execute_time_ms")
        return {name: getattr(self, name) for name in names}

    def __eq__(self, other: object) -> bool:
        return self._shown() == other._shown() if isinstance(other, Stats) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self._shown().values()))

    def __repr__(self) -> str:
        return f"Stats({', '.join(f'{name}={value}' for name, value in self._shown().items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        of = self._figures
        copied = CopiedFigures(
            of.tasks, of.streams, of.threads, of.compile_ns, of.run_ns, copy.deepcopy(of.details())
        )
        return (stats_of, (self._run_id, copied))

    @property
    def details(self) -> dict[str, Any]:
        """All figures that the runtime counts, by name."""
        return self._figures.details()

    @property
    def slots(self) -> dict[str, int]:
        """The last values of slots, by name."""
        return dict(self.details.get("slots", {}))

    @property
    def kernels(self) -> dict[str, tuple[int, int]]:
        """Tasks and busy nanoseconds of each kernel."""
        return {name: (tasks, busy) for name, tasks, busy in self.details.get("kernels", [])}

    @property
    def notes(self) -> list[str]:
        """What there is to say of the run and its arrays."""
        return list(self.details.get("notes", []))

    @property
    def tasks_by_worker(self) -> list[int]:
        """How many tasks each thread ran."""
        return list(self.details.get("tasks_by_worker", []))

    def _repr_html_(self) -> str:
        figures = {
            "tasks": self.num_tasks,
            "time": f"{self.execute_time_ms:.3f} ms on {self.num_executors} threads",
            "compiled in": f"{self.compile_time_ms:.1f} ms",
            "tasks by thread": ", ".join(map(str, self.tasks_by_worker)),
            **{f"slot {name}": value for name, value in self.slots.items()},
        }
        kernels = [(name, tasks, f"{busy / 1e6:.3f} ms") for name, (tasks, busy) in self.kernels.items()]
        return fields(f"run {self.run_id}", figures, self.notes) + table(("kernel", "tasks", "busy"), kernels)


def stats_of(run_id: int, figures: _core.Figures | CopiedFigures) -> Stats:
    """The figures of a run, as its caller sees them."""
    made = _new(Stats)
    made._run_id = run_id
    made._figures = figures
    return made


@dataclass(frozen=True, slots=True)
class CopiedFigures:
    """What figures come to, apart from their program."""

    tasks: int
    streams: int
    threads: int
    compile_ns: int
    run_ns: int
    by_name: dict[str, Any]

    def details(self) -> dict[str, Any]:
        """All of them by name."""
        return self.by_name


@dataclass(frozen=True, slots=True)
class Graph:
    """The tasks of a workload and their order: NumPy arrays where NumPy is installed, else lists.

    `kernels` are name and unit of each kernel, `tasks` the kernel of each task in elaboration order, `edges`
    an array of shape `(n, 2)`: the second task of a row waits for the first. A task of the kernel `@order`
    joins the tasks before it and runs nothing.
    """

    kernels: list[tuple[str, str]]
    tasks: Any = field(repr=False)
    edges: Any = field(repr=False)
    details: dict[str, Any] = field(repr=False, hash=False)
    _coordinates: tuple[Any, Any] = field(default=((), ()), repr=False, hash=False, compare=False)

    @property
    def num_tasks(self) -> int:
        """The number of tasks."""
        return len(self.tasks)

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return len(self.edges)

    @property
    def coordinates(self) -> list[tuple[int, ...]]:
        """The coordinates of each task, `(b, h)` of `k[b, h](…)`; of a call without, the indices of the loops
        around it.
        """
        ends, values = ([int(each) for each in part] for part in self._coordinates)
        starts = [0, *ends[:-1]] if ends else []
        found = [tuple(values[start:end]) for start, end in zip(starts, ends, strict=True)]
        return found or [()] * self.num_tasks

    def name_of(self, task: int) -> str:
        """A task as it is called: `merge[0, 3]`."""
        task = graphviews.checked_task(self, task)
        ends, values = self._coordinates
        known = task < len(ends)
        at = values[int(ends[task - 1]) if task else 0 : int(ends[task])] if known else ()
        return graphviews.name_of(self, task, tuple(int(each) for each in at))

    def levels(self) -> list[list[int]]:
        """The tasks by level: those of a level wait for one of the level before, and for none after it.

        The number of levels is that of the tasks on a longest path, the longest level what can run at most
        side by side.
        """
        return graphviews.levels(self)

    def critical_path(self, cost: Callable[[int], float] | None = None) -> list[int]:
        """Tasks that wait for each other, of which no other path has more, first to last.

        `cost` gives the cost of a task by its number; without it each counts as one.
        """
        return graphviews.critical_path(self, cost)

    def to_dot(self) -> str:
        """The graph as Graphviz reads it: `dot -Tsvg`."""
        return graphviews.to_dot(self)

    def to_networkx(self) -> Any:
        """A `networkx.DiGraph`: nodes are numbers of tasks, with `kernel`, `unit` and `coordinates`."""
        return graphviews.to_networkx(self)

    def __repr__(self) -> str:
        return f"Graph({self.num_tasks} tasks, {self.num_edges} edges)"

    def _repr_html_(self) -> str:
        return graphviews.as_html(self)


@dataclass(frozen=True, slots=True)
class Simulation(OfThisProcess):
    """A run in virtual time: a task takes the cycles that its kernel costs. Only kernels of task graphs run.

    `start`, `end` and `worker` have an entry per task, `makespan` is the cycle at which the last one ends.
    The worker of a task of the kernel `@order`, which none runs, is 4294967295.
    """

    graph: Graph
    makespan: int
    workers: int
    start: Any = field(repr=False)
    end: Any = field(repr=False)
    worker: Any = field(repr=False)
    details: dict[str, Any] = field(repr=False, hash=False)
    _recorded: _core.Recorded | None = field(default=None, repr=False, compare=False)
    _name: str = field(default="", repr=False, compare=False)

    def critical_path(self) -> list[int]:
        """Tasks that wait for each other and take, together, as many cycles as any such do."""
        times = self.end - self.start if hasattr(self.end, "dtype") else None
        if times is None:
            times = [end - start for start, end in zip(self.start, self.end, strict=True)]
        return self.graph.critical_path(lambda task: int(times[task]))

    def __reduce__(self) -> tuple[Any, ...]:
        help = "pickle what you need of it, such as `simulation.graph` and `simulation.end`"
        raise not_pickled("a `Simulation`", help)

    def _repr_html_(self) -> str | None:
        return None if self._recorded is None else framed(self._recorded, self._name)


_MOST_SHOWN = 100_000
"""Tasks of a run that a notebook shows: its page is kept in the notebook."""


def framed(recorded: _core.Recorded, name: str) -> str:
    """The report of a run as a part of another page."""
    if recorded.tasks > _MOST_SHOWN:
        return (
            f"<p>{html.escape(name)}: {recorded.tasks:,} tasks, too many for a notebook. "
            '<code>program.report("report.html")</code> writes a page of them.</p>'
        )
    page = html.escape(recorded.page(name).decode())
    style = "width:100%;height:760px;border:0"
    return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{page}"></iframe>'


_OF_GRAPHS = ("kernels", "tasks", "edges", "coordinates", "coordinate_ends")


def graph_of(found: dict[str, Any]) -> Graph:
    """The graph that the compiled core lists."""
    rest = {key: value for key, value in found.items() if key not in _OF_GRAPHS}
    tasks = numbers(found["tasks"], "I")
    most = max(tasks, default=-1) if isinstance(tasks, list) else int(tasks.max(initial=0))
    named = enumerate(found["kernels"])
    kernels = [tuple(kernel) for at, kernel in named if at <= most or not kernel[0].startswith("@")]
    coordinates = (numbers(found["coordinate_ends"], "I"), numbers(found["coordinates"], "q"))
    return Graph(kernels, tasks, pairs(found["edges"]), rest, coordinates)


_DETAILS_OF_SIMULATIONS = (
    *("busy", "max_in_flight", "window_stalls", "channels", "notes"),
    # Where AICPUs issued the tasks.
    *("aicpus", "launch", "transfer", "transfer_bytes"),
)


def simulation_of(
    found: dict[str, Any], recorded: _core.Recorded | None = None, name: str = ""
) -> Simulation:
    """The simulation that the compiled core ran."""
    arrays = {key: numbers(found[key], kind) for key, kind in (("start", "Q"), ("end", "Q"), ("worker", "I"))}
    rest: dict[str, Any] = {key: found[key] for key in _DETAILS_OF_SIMULATIONS if key in found}
    shown: dict[str, Any] = {"_recorded": recorded, "_name": name}
    return Simulation(graph_of(found), found["makespan"], found["workers"], details=rest, **arrays, **shown)


_TYPES = {"I": "uint32", "Q": "uint64", "q": "int64"}


def numbers(data: bytes, kind: Literal["I", "Q", "q"]) -> Any:
    """Words of 32 (`I`) or 64 (`Q`) bits, or integers of 64 (`q`), as an array."""
    try:
        import numpy
    except ImportError:
        view = memoryview(data)
        return view.cast(kind).tolist()
    return numpy.frombuffer(data, dtype=_TYPES[kind])


def pairs(data: bytes) -> Any:
    """Pairs of words of 32 bits as an array of shape `(n, 2)`."""
    flat = numbers(data, "I")
    if isinstance(flat, list):
        return [tuple(flat[at : at + 2]) for at in range(0, len(flat), 2)]
    return flat.reshape(-1, 2)
