"""What programs, plans, graphs and their parts look like: as text, in notebooks, and to other tools."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pto_wsp
import pytest
from pto_wsp import (
    Buffer,
    Channel,
    Deps,
    DispatchPolicy,
    P,
    Pools,
    ReadyPolicy,
    StartPolicy,
    TaskWindow,
    TimingPolicy,
    TracePolicy,
    f16,
    f32,
    kernel,
    load,
    pto,
    ragged,
    sparse,
    table,
    tensor,
    tile,
    workload,
)

ROOT = Path(__file__).resolve().parents[2]
X = tensor(("n", 64), f32)
Y = tensor(("n", 64), f32)
FOUR = Buffer((4, 64), f32)


@kernel
def copy(x: pto_wsp.In, y: pto_wsp.Out):
    pto.store(y, pto.load(x))


@kernel(cost=10)
def halve(y: pto_wsp.InOut):
    pto.store(y, pto.load(y) * 0.5)


@workload
def copies(n):
    for i in P(P.ceildiv(n, 16)):
        copy[i](X[tile(i, 16)], Y[tile(i, 16)])
    for i in P.seq(2):
        for j in P(2):
            halve[j, i * 3](Y[tile(j, 16)])


def graph() -> pto_wsp.Graph:
    return copies.compile().graph(n=40)


def test_tasks_have_the_coordinates_that_calls_give():
    found = graph()
    assert found.coordinates == [(0,), (1,), (2,), (0, 0), (1, 0), (), (0, 3), (1, 3)]
    assert [found.name_of(task) for task in (2, 5, 7)] == ["copy[2]", "@order", "halve[1, 3]"]


def test_a_call_without_coordinates_has_the_indices_of_its_loops():
    @workload
    def w(n):
        for i in P(2):
            for j in P(n):
                halve(FOUR[i * n + j : i * n + j + 1])

    assert w.compile().graph(n=2).coordinates == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_levels_and_the_longest_path_leave_out_what_joins():
    found = graph()
    assert found.levels() == [[0, 1, 2], [3, 4], [6, 7]]
    assert found.critical_path() == [0, 3, 6]
    assert found.critical_path(lambda task: 100 if task == 2 else 1) == [2]


def test_a_graph_without_tasks_has_no_level_and_no_path():
    @workload
    def w(n):
        for i in P(n):
            halve[i](Y[i : i + 1])

    empty = w.compile().graph(n=0)
    assert (empty.levels(), empty.critical_path(), empty.coordinates) == ([], [], [])
    assert "none" in empty._repr_html_()


def test_levels_agree_with_networkx():
    networkx = pytest.importorskip("networkx")
    found = graph()
    made = found.to_networkx()
    assert (len(made), made.size()) == (found.num_tasks, found.num_edges)
    assert made.nodes[7] == {"kernel": "halve", "unit": "any", "coordinates": (1, 3)}
    joins = [task for task, what in made.nodes(data="kernel") if what == "@order"]
    for task in joins:
        made.add_edges_from((a, b) for a in made.predecessors(task) for b in made.successors(task))
    made.remove_nodes_from(joins)
    assert [sorted(level) for level in networkx.topological_generations(made)] == found.levels()
    assert len(networkx.dag_longest_path(made)) == len(found.critical_path())


def test_dot_names_tasks_and_has_every_edge():
    found = graph()
    text = found.to_dot()
    assert text.startswith("digraph tasks {") and '  t7 [label="halve[1, 3]"];' in text
    assert text.count("->") == found.num_edges


def test_the_path_of_a_simulation_is_that_of_its_cycles():
    simulation = copies.compile(num_threads=4).simulate(n=40)
    path = simulation.critical_path()
    assert [simulation.graph.name_of(task) for task in path] == ["copy[0]", "halve[0, 0]", "halve[0, 3]"]
    assert simulation.makespan == 21


def test_a_trace_of_a_simulation_has_coordinates(tmp_path: Path):
    program = copies.compile()
    program.simulate(n=40)
    program.trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    tasks = {event["args"]["task"]: event for event in events if event["ph"] == "X"}
    assert [tasks[at]["args"]["indices"] for at in sorted(tasks)][:5] == [[0], [1], [2], [0, 0], [1, 0]]


def test_a_trace_of_a_run_has_coordinates(tmp_path: Path):
    program = copies.compile(enable_profiling=True)
    program.execute(X=np.ones((40, 64), np.float32), Y=np.ones((40, 64), np.float32))
    program.trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    tasks = {event["args"]["task"]: event for event in events if event["ph"] == "X"}
    found = [(tasks[at]["name"], *tasks[at]["args"]["indices"]) for at in sorted(tasks)]
    assert found[2:5] == [("copy", 2), ("halve", 0, 0), ("halve", 1, 0)]


class Cells(HTMLParser):
    """The text of a page, and whether each element ends."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_notebook_shows_programs_graphs_figures_and_plans():
    program = copies.dispatch(DispatchPolicy.affinity("i")).compile()
    shown = Cells(program._repr_html_()).texts
    assert {"program copies", "f32[n, 64]", "dispatch(affinity(key))", "copy", "compiled"} <= set(shown)
    assert {"graph", "copy[0] → halve[0, 0] → halve[0, 3]"} <= set(Cells(graph()._repr_html_()).texts)
    rows = np.ones((40, 64), np.float32)
    assert {"run 1", "halve", "4"} <= set(Cells(program.execute(X=rows, Y=rows.copy())._repr_html_()).texts)


def test_a_notebook_shows_a_plan():
    decode = load(ROOT / "examples/attention/decode.pto").program(schedule="Fixed")
    pages = tensor((64, 16, 2, 64), f16)
    arrays = {"q": tensor((1, 8, 1, 64), f16), "kv.k": pages, "kv.v": pages}
    lists = {"kv.indptr": [0, 44], "kv.indices": range(44), "kv.last_page_len": [12]}
    shown = Cells(decode.plan(arrays, **lists)._repr_html_()).texts
    assert "tokens of kv" in shown and "700" in shown


def test_what_users_name_is_escaped_in_pages():
    made = Cells(pto_wsp.results.fields("<b>", {"<i>": "a & b"}, ["</p>"]))
    assert made.texts == ["<b>", "<i>", "a & b", "</p>"]


LENS = table([3, 1])
MANY = table(range(100))
DECLARED = table(length="batch")
SMALL = Buffer((4, 8), f16)
RING = Channel((4, 8), f32, depth=2)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (X, "X: f32[n, 64]"),
        (SMALL, "SMALL: f16[4, 8]"),
        (LENS, "LENS: [3, 1]"),
        (MANY, "MANY: [0, 1, 2, 3, 4, 5, 6, 7, …]"),
        (DECLARED, "DECLARED: table of batch integers"),
        (RING, "RING: channel of 2 f32[4, 8]"),
        (ragged("batch", LENS), "ragged('batch', LENS)"),
        (sparse("batch", LENS, MANY), "sparse('batch', LENS, MANY)"),
        (DispatchPolicy.affinity(lambda t: t.b * 2), "DispatchPolicy.affinity(lambda t: t.b * 2)"),
        (DispatchPolicy.round_robin(), "DispatchPolicy.round_robin()"),
        (DispatchPolicy.static_partition([(0, 4)]), "DispatchPolicy.static_partition([(0, 4)])"),
        (ReadyPolicy.fifo(), "ReadyPolicy.fifo()"),
        (Deps.infer_bytes_overlap(), "Deps.infer_bytes_overlap()"),
        (StartPolicy.threshold(3), "StartPolicy.threshold(3)"),
        (TimingPolicy.batched(3), "TimingPolicy.batched(3)"),
        (TracePolicy.measured(), "TracePolicy.measured()"),
        (Pools.by_unit(1, 2), "Pools.by_unit(1, 2)"),
        (TaskWindow(8), "TaskWindow(capacity=8, mode='stall')"),
        (ragged("rows", [1, 2]), "ragged('rows', [1, 2])"),
        (sparse("rows", [0, 1], [0]), "sparse('rows', [0, 1], [0])"),
        ((pto_wsp.Slot(3),)[0], "slot"),
        (pto_wsp.In[f32], "In[f32]"),
        (pto_wsp.Out[pto_wsp.Tensor[f32, 64, None]], "Out[Tensor[f32, 64, None]]"),
        (pto_wsp.Scalar[pto_wsp.u32], "Scalar[u32]"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_representation_shows_what_it_is(made: Any, text: str):
    assert repr(made) == text


def test_a_task_graph_shows_its_graphs():
    unit = pto_wsp.TaskGraph.from_text("TG_BEGIN(DOUBLE)\nTG_END(DOUBLE)\n")
    assert repr(unit) == "<task graph DOUBLE>"


def test_a_view_shows_its_region_and_its_shape():
    shown = []

    @workload
    def w(n):
        shown.append(repr(X[0, 0:16]))
        copy(X[0:1], Y[0:1])

    w.compile()
    assert shown == ["X[0, 0:16]: f32[16]"]


def test_what_a_shell_has_shown_keeps_its_name(tmp_path):
    """IPython's variables of what it has shown, `_` and others, are older than those of the user."""
    text = """
from pto_wsp import *
X = tensor((2, 4), f32); Y = tensor((2, 4), f32)
last = X
BOTH = [tensor((2, 4), f32) for _ in range(1)]

@kernel
def moved(x: In, y: Out) -> None:
    pto.store(y, pto.load(x))

@workload
def w() -> None:
    moved(X, Y)
    moved(X, BOTH[0])
"""
    path = tmp_path / "cell.py"
    path.write_text(text)
    names: dict[str, Any] = dict.fromkeys(("_", "__", "_oh", "last", "_5"))
    exec(compile(text, str(path), "exec"), names)
    names |= {"_": names["X"], "__": names["Y"], "_5": names["X"], "_oh": {5: names["BOTH"][0]}}
    program = names["w"].compile()
    arrays = {name: np.ones((2, 4), np.float32) for name in ("X", "Y", "BOTH_0")}
    assert program.execute(**arrays).num_tasks == 2
