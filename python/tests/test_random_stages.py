"""Random programs of several stages, run in every way that a program has: the numbers of NumPy, or a refusal
that the tables of schedules have for what was asked.

A fifth of `WSP_CASES` is drawn, as each is run on up to three sizes; each run draws the same.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("hypothesis")

from hypothesis import event, given, settings
from hypothesis import strategies as st
from pto_wsp import Program, errors
from random_programs import options, schedules
from random_refusals import asked, certain, right
from random_stages import Staged, stages
from test_random_programs import CASES, drawn, refusal

# What is refused leaves a schedule that nothing uses.
pytestmark = pytest.mark.filterwarnings("ignore::pto_wsp.errors.ThrownAwayWarning")

Values = dict[str, Any]


def executed(program: Program, given: Values) -> int:
    return program.execute(**given).num_tasks


def awaited(program: Program, given: Values) -> int:
    run = program.execute_async(**given)
    tasks = run.synchronize().num_tasks
    progress = run.progress
    assert run.is_complete() and progress.done == tasks and not progress.running
    return tasks


def bound(program: Program, given: Values) -> int:
    ready = program.bind(**given)
    ready()
    return ready.stats.num_tasks


def rebound(program: Program, given: Values) -> int:
    program.rebind(**given)
    return program.execute().num_tasks


def from_bytes(program: Program, given: Values) -> int:
    return executed(Program.from_bytes(program.to_bytes()), given)


def pickled(program: Program, given: Values) -> int:
    return executed(pickle.loads(pickle.dumps(program)), given)


def looked_at(program: Program, given: Values) -> int:
    """What only looks changes no array, and sees the tasks that run."""
    before = {name: np.array(each) for name, each in given.items()}
    graph = program.graph(**given)
    simulated = program.simulate(**given)
    for name, each in before.items():
        np.testing.assert_array_equal(given[name], each)
    tasks = executed(program, given)
    assert graph.num_tasks == len(graph.tasks) == simulated.graph.num_tasks
    assert sum(map(len, graph.levels())) == graph.num_tasks
    return tasks


WAYS: dict[str, Callable[[Program, Values], int]] = {
    "execute": executed,
    "execute_async": awaited,
    "bind": bound,
    "rebind": rebound,
    "from_bytes": from_bytes,
    "pickle": pickled,
    "graph": looked_at,
}


def runs(case: Staged, program: Program, way: str, random: np.random.Generator, rows: int) -> None:
    """Runs a program on new data and compares what it writes."""
    given, lists = case.data(random, rows)
    given = {name: each for name, each in given.items() if name in program.arguments}
    arrays = {name: given[name] for name in case.arrays if name in given}
    missing = {name: each for name, each in case.data(random, rows)[0].items() if name in case.arrays}
    want = case.compute({**missing, **lists, **arrays}, rows)
    WAYS[way](program, given)
    for name, each in arrays.items():
        np.testing.assert_array_equal(each, want[name], err_msg=name)


@settings(drawn, max_examples=max(CASES // 5, 1))
@given(
    stages(),
    schedules,
    options,
    st.sampled_from(sorted(WAYS)),
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(0, 12), min_size=1, max_size=3),
)
def test_random_stages_compute_what_numpy_computes(
    case: Staged,
    schedule: list[tuple[tuple[str, Any], int]],
    chosen: dict[str, Any],
    way: str,
    seed: int,
    sizes: list[int],
) -> None:
    random = np.random.default_rng(seed)
    if case.in_python and way in ("from_bytes", "pickle"):
        way = "execute"
    work = case.work
    try:
        for (_, say), n in schedule:
            work = say(work, n)
        program = work.compile(**chosen)
        for rows in sizes:
            runs(case, program, way, random, rows)
    except errors.WspError as error:
        refusal(error)
        is_right = right(error, schedule, chosen, way=way, forms=case.forms, tensors=case.arrays)
        assert is_right, f"{error}\n{way} {sizes} {asked(schedule)}"
        return
    # What the tables refuse did not run.
    assert not certain(schedule, chosen, case.arrays), asked(schedule)
    event(f"ran: {way}")
    for form in set(case.forms):
        event(f"form: {form}")
