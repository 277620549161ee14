"""Workloads as bytecode for AICPUs."""

from __future__ import annotations

from typing import Any

from .errors import ArgumentError, make
from .expr import describe
from .plans import _count
from .program import _AT_CALLER, Program
from .spans import caller_span
from .workload import Workload

_MOST_AICPUS = 1024


class OnDeviceGenerator:
    """A workload with its schedule as what AICPUs generate their tasks from.

    The program is the same for all of them, and has the size of the workload whatever a launch binds; a
    configuration says which tasks are whose. It takes a workload, or the program that `compile` made of it.
    """

    __slots__ = ("_program",)

    _program: Program

    def __init__(self, workload: Workload | Program) -> None:
        if isinstance(workload, Workload):
            workload = workload.compile()
        if not isinstance(workload, Program):
            raise make(
                ArgumentError,
                1262,
                f"an on-device generator takes a workload, not {describe(workload)}",
                span=caller_span(),
                help=["write `OnDeviceGenerator(workload)`"],
            )
        self._program = workload

    def compile(self) -> bytes:
        """The program: a `.ptow` file. Errors: `CompileError`, for what a program has no room for."""
        return self._made(_MOST_AICPUS)[0]

    def compile_dispatch(self, num_aicpus: int) -> list[bytes]:
        """The configuration of each AICPU, 52 bytes. Errors: `CompileError`, for fewer than it has ranges."""
        return self._made(_count(num_aicpus, 1, _MOST_AICPUS, "`num_aicpus`"))[1]

    def _made(self, aicpus: int) -> Any:
        with _AT_CALLER:
            return self._program._core.on_device(aicpus)

    def __repr__(self) -> str:
        return f"<on-device generator of {self._program!r}>"
