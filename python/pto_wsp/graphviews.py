"""Graphs of tasks as people look at them: by level, by the longest path, and as other programs read them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ._raise import argument_error
from .expr import describe
from .htmltables import fields, table

if TYPE_CHECKING:
    from .results import Graph

_JOINS = "@order"
"""The kernel of what joins tasks and runs nothing."""


def _edges(graph: Graph) -> Iterator[tuple[int, int]]:
    edges = graph.edges.tolist() if hasattr(graph.edges, "tolist") else graph.edges
    return iter(sorted(edges, key=lambda edge: edge[1]))


def _kernels(graph: Graph) -> list[str]:
    """The name of the kernel of each task."""
    return [graph.kernels[int(kernel)][0] for kernel in graph.tasks]


def _reached(graph: Graph, costs: list[float]) -> tuple[list[float], list[int]]:
    """By task, what the costliest path costs that ends before it, and the task before it on that path or -1.

    Tasks stand in an order in which none waits for a later one.
    """
    reached, before = [0.0] * graph.num_tasks, [-1] * graph.num_tasks
    for earlier, later in _edges(graph):
        if before[later] < 0 or reached[earlier] + costs[earlier] > reached[later]:
            reached[later], before[later] = reached[earlier] + costs[earlier], earlier
    return reached, before


def levels(graph: Graph) -> list[list[int]]:
    """Tasks by the number of tasks on the longest path to them."""
    kernels = _kernels(graph)
    reached, _ = _reached(graph, [float(kernel != _JOINS) for kernel in kernels])
    found: list[list[int]] = []
    for task, kernel in enumerate(kernels):
        if kernel != _JOINS:
            at = int(reached[task])
            found.extend([] for _ in range(at + 1 - len(found)))
            found[at].append(task)
    return found


def checked_task(graph: Graph, task: Any) -> int:
    """The number of a task of the graph."""
    try:
        number = operator.index(task)
    except TypeError:
        number = -1
    if not 0 <= number < graph.num_tasks:
        most = graph.num_tasks - 1
        help = f"give the number of a task, from 0 to {most}" if most >= 0 else "the graph has no task"
        raise argument_error(1262, f"`task` is {describe(task)}", help)
    return number


def _cost(cost: Any, task: int) -> float:
    """What a task costs by a function of the caller."""
    given = cost(task)
    if isinstance(given, (str, bytes)) or not hasattr(given, "__float__") or not math.isfinite(given):
        raise argument_error(
            1262,
            f"`cost` gives {describe(given)} for task {task}",
            "give a function of a task's number that returns a number: `lambda task: 1.0`",
        )
    return float(given)


def critical_path(graph: Graph, cost: Callable[[int], float] | None) -> list[int]:
    """Tasks of a costliest path, first to last."""
    if cost is not None and not callable(cost):
        raise argument_error(
            1262,
            f"`cost` is {describe(cost)}",
            "give a function of a task's number, or None: `lambda task: 1.0`",
        )
    kernels = _kernels(graph)
    costs = [
        0.0 if kernel == _JOINS else 1.0 if cost is None else _cost(cost, task)
        for task, kernel in enumerate(kernels)
    ]
    reached, before = _reached(graph, costs)
    task = max(range(len(costs)), key=lambda at: (reached[at] + costs[at], -at), default=-1)
    path = []
    while task >= 0:
        if kernels[task] != _JOINS:
            path.append(task)
        task = before[task]
    return path[::-1]


def name_of(graph: Graph, task: int, coordinates: tuple[int, ...]) -> str:
    """A task as it is called."""
    kernel = graph.kernels[int(graph.tasks[task])][0]
    return f"{kernel}[{', '.join(map(str, coordinates))}]" if coordinates else kernel


def _names(graph: Graph) -> list[str]:
    return [name_of(graph, task, at) for task, at in enumerate(graph.coordinates)]


def to_dot(graph: Graph) -> str:
    """The graph as Graphviz reads it."""
    quoted = (name.replace("\\", "\\\\").replace('"', '\\"') for name in _names(graph))
    nodes = [f'  t{task} [label="{name}"];' for task, name in enumerate(quoted)]
    edges = [f"  t{earlier} -> t{later};" for earlier, later in _edges(graph)]
    return "\n".join(["digraph tasks {", "  node [shape=box];", *nodes, *edges, "}"]) + "\n"


def to_networkx(graph: Graph) -> Any:
    """The graph as NetworkX has it."""
    import networkx

    made: Any = networkx.DiGraph()
    for task, at in enumerate(graph.coordinates):
        kernel, unit = graph.kernels[int(graph.tasks[task])]
        made.add_node(task, kernel=kernel, unit=unit, coordinates=at)
    made.add_edges_from(_edges(graph))
    return made


_MOST_SHOWN = 12
"""Tasks of a longest path that a notebook shows."""


def as_html(graph: Graph) -> str:
    """What a notebook shows of a graph."""
    found = levels(graph)
    path = critical_path(graph, None)
    names = [name_of(graph, task, at) for task, at in enumerate(graph.coordinates) if task in set(path)]
    shown = " → ".join(names[:_MOST_SHOWN]) + (" → …" if len(names) > _MOST_SHOWN else "")
    figures = {
        "tasks": f"{graph.num_tasks:,}",
        "edges": f"{graph.num_edges:,}",
        "levels": f"{len(found):,}, the longest of {max(map(len, found), default=0):,} tasks",
        "longest path": shown or "none",
    }
    kernels = _kernels(graph)
    rows = [(name, unit, kernels.count(name)) for name, unit in graph.kernels]
    return fields("graph", figures) + table(("kernel", "unit", "tasks"), rows)
