"""Which refusals of random programs are right: by the tables of `docs/reference/schedules.md`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pto_wsp import errors
from random_programs import SCHEDULES

ASKED: list[set[str]] = [
    {"dispatch", "named"},
    {"dispatch"},
    {"dispatch", "named", "key"},
    {"dispatch", "named", "key"},
    {"dispatch", "named", "partition"},
    {"streams"},
    {"streams", "key"},
    {"exact"},
    {"window"},
    {"ready", "work_steal"},
    {"window", "abort"},
    {"ready"},
    {"pools"},
    {"ready", "measured"},
    {"ready", "key"},
    {"pipeline_depth"},
    {"batch_deps"},
    {"core_groups"},
    {"workers"},
    {"timing"},
    {"timing"},
    {"grid"},
    {"grid", "layout"},
]
"""What each part of `SCHEDULES` asks for; one that is `named` gives each task to a worker."""
assert len(ASKED) == len(SCHEDULES)

Schedule = Sequence[tuple[tuple[str, Any], int]]


def asked(schedule: Schedule) -> list[tuple[set[str], int]]:
    """What the parts of a schedule ask for, each with its number."""
    return [(ASKED[SCHEDULES.index(part)], n) for part, n in schedule]


def certain(schedule: Schedule, chosen: dict[str, Any], tensors: Iterable[str], text: str = "") -> set[str]:
    """Codes of what is refused whatever data there is: one of them is raised. `text` is that of a workload
    with one nest of loops.
    """
    parts = asked(schedule)
    every = set().union(*(facts for facts, _ in parts))
    found = set()
    aicpus = chosen.get("num_aicpus", 0)
    if "key" in every and "S[b + 1] - S[b]" in text:
        # Keys name `i`, whose loop runs over no axis.
        found.add("WSP1205")
    if "key" in every and text and "for i" not in text:
        found.add("WSP1203")
    if "timing" in every:
        found.add("WSP0415")
    if sum("ready" in facts for facts, _ in parts) > 1:
        found.add("WSP1200")
    if "core_groups" in every and ("work_steal" not in every or "named" in every):
        found.add("WSP0786")
    if {"pools", "workers"} <= every:
        found.add("WSP0786")
    if "layout" in every and "X" not in tensors:
        found.add("WSP0793")
    if aicpus and every & {"core_groups", "grid"}:
        found.add("WSP0864")
    if aicpus == 1 and "partition" in every:
        # Its ranges are two.
        found.add("WSP0894")
    return found


def possible(schedule: Schedule, chosen: dict[str, Any], way: str, forms: Iterable[str]) -> set[str]:
    """Codes of what data, an option or what is done with the program decide."""
    parts = asked(schedule)
    every = set().union(*(facts for facts, _ in parts))
    found = set()
    aicpus = chosen.get("num_aicpus", 0)
    if "abort" in every:
        found.add("WSP0859")
    if "partition" in every:
        found.add("WSP0831")
    if "exact" in every:
        found.add("WSP0860")
    if any("window" in facts and n < aicpus for facts, n in parts):
        found.add("WSP0864")
    if any("pools" in facts and chosen.get("num_threads", 0) not in (0, 1 + n) for facts, n in parts):
        found.add("WSP0864")
    # No kernel runs, so that nothing is written that decides on tasks, and nothing to keep an order of.
    slots = any(form.startswith("rounds") for form in forms)
    if slots and (way == "graph" or "replay" in chosen or aicpus):
        found.add("WSP0854")
    if way == "graph" and ("replay" in chosen or chosen.get("enable_debug")):
        found.add("WSP0567")
    return found


def right(
    error: errors.WspError,
    schedule: Schedule,
    chosen: dict[str, Any],
    *,
    way: str = "execute",
    forms: Iterable[str] = (),
    tensors: Iterable[str] = (),
    text: str = "",
) -> bool:
    """Whether a refusal is right."""
    must = certain(schedule, chosen, tensors, text)
    may = possible(schedule, chosen, way, forms)
    told = {each.code for each in error.diagnostics if each.severity == "error"}
    # What is certain is found before anything runs.
    return told <= must if must else told <= may
