"""Plans: what the generators of a `.pto` file's program emitted, kept to be run any number of times."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import errors
from ._arrays import view
from ._pickled import OfThisProcess, not_pickled
from ._raise import PlacedAtCaller
from .expr import describe
from .htmltables import fields
from .results import numbers
from .spans import caller_span
from .tensors import Tensor

if TYPE_CHECKING:
    from .program import Program

__all__ = ["Advance", "Balance", "Capacity", "Plan", "PlanDescriptor", "PlanNeed"]

_AT_CALLER = PlacedAtCaller()


@dataclass(frozen=True, slots=True)
class Capacity:
    """Room of a plan: so many descriptors of all types together, and bytes of workspace.

    A plan of such room never moves its words. One that needs more is a `PlanError`.
    """

    descriptors: int
    workspace_bytes: int


@dataclass(frozen=True, slots=True)
class PlanNeed:
    """What a plan needs, exactly: descriptors, their words of 32 bits, bytes and slots of workspace."""

    descriptors: int
    words: int
    workspace_bytes: int
    workspace_slots: int


@dataclass(frozen=True, slots=True)
class PlanDescriptor:
    """A descriptor: index of the stage, name of its type, its first word in `Plan.words`, and its words."""

    stage: int
    name: str
    first: int
    words: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class Balance:
    """The fullest core over the mean of all, by elements read, where 1 is even.

    `consecutive` deals consecutive descriptors to each core, `longest_first` descriptors by falling cost,
    each to the core that has least.
    """

    consecutive: float
    longest_first: float

    @property
    def best(self) -> float:
        """The more even of the two."""
        return min(self.consecutive, self.longest_first)


@dataclass(frozen=True, slots=True)
class Advance:
    """How a plan was brought up to date: `words` is the number of words that were changed in place, None when
    the generators ran again.
    """

    words: int | None

    @property
    def regenerated(self) -> bool:
        """Whether the generators ran again."""
        return self.words is None


class Plan(OfThisProcess):
    """Descriptors of a launch, ready to run: made by `program.plan(arrays)`, run by `program.execute_plan`.

    Several threads may run it at once; what changes it needs it alone and is a `RuntimeError` else.
    """

    __slots__ = ("_capacity", "_core", "_program")

    def __init__(self) -> None:
        raise _refused("a `Plan` is not made by its name", "write `program.plan(arrays)`")

    @classmethod
    def _made(cls, program: Program, core: Any, capacity: Capacity | None) -> Plan:
        self = object.__new__(cls)
        self._program = program
        self._core = core
        self._capacity = capacity
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        raise not_pickled("a `Plan`", "make it where it runs: `program.plan(arrays)`")

    @property
    def program(self) -> Program:
        """The program that made it."""
        return self._program

    @property
    def capacity(self) -> Capacity | None:
        """Its room, None where it takes what it needs."""
        return self._capacity

    @property
    def need(self) -> PlanNeed:
        """What it needs: exactly what it has."""
        return PlanNeed(*self._core.need())

    @property
    def words(self) -> Any:
        """The fields of all descriptors, one after another without gaps: a read-only array of `uint32`.

        With a `Capacity` it lies where the plan has it, at one address as long as the plan lives, and shows
        what updates change. Without, the words move when the plan comes to need more, and this is a copy.
        """
        return view(self._core.words())

    @property
    def descriptors(self) -> list[PlanDescriptor]:
        """Every descriptor in issue order."""
        words = self.words
        found = self._core.descriptors()
        return [
            PlanDescriptor(stage, name, first, words[first : first + count])
            for stage, name, first, count in found
        ]

    @property
    def lengths(self) -> dict[str, list[int]]:
        """Tokens per request of each paged cache, as planned."""
        return self._core.lengths()

    @property
    def tiles(self) -> dict[str, int]:
        """The tile of each axis that generators set or that was chosen automatically."""
        return self._core.tiles()

    @property
    def generated_ns(self) -> int:
        """Nanoseconds that the generators took when they ran last."""
        return self._core.generated_ns

    @property
    def costs(self) -> Any:
        """Elements of inputs that the kernel of each descriptor reads at most, in issue order."""
        return numbers(self._core.costs(), "Q")

    def balance(self, cores: int) -> Balance:
        """How evenly the descriptors spread over so many cores, by `costs`."""
        return Balance(*self._core.balance(_count(cores, 1, 2**32 - 1, "`cores`")))

    def advance(self, lengths: Any = None) -> Advance:
        """Brings the plan up to date in place: every request has one token more, or these lengths.

        What it holds afterwards is, word for word, the plan that would be made for the new lengths; only a
        plan of balanced pieces whose words were changed in place keeps its cuts, as long as they are even.
        Then results are those of a plan made anew up to rounding.

        Errors: `PlanError` for lengths that cannot be, where the plan stays as it is, and for too little
        room, where it cannot be run until it is advanced to lengths that fit.
        """
        with _AT_CALLER:
            return Advance(self._core.advance(lengths))

    def regenerate(self) -> None:
        """Runs the generators again, for the lengths that the plan has."""
        with _AT_CALLER:
            self._core.regenerate()

    def is_current_for(self, arrays: Mapping[str, Any] | None = None, /, **named: Any) -> bool:
        """Whether its program would run it with these arrays, of which shapes and integers are enough."""
        program = self._program
        with _AT_CALLER:
            given = described(program, arrays, named)
            return self._core.is_current_for(program._core, given, program._run_options)

    def _repr_html_(self) -> str:
        need, balance = self.need, self.balance(self._program.options.get("max_blocks") or 1)
        lengths = {f"tokens of {name}": _listed(found) for name, found in self.lengths.items()}
        tiles = {f"tile of {axis}": size for axis, size in self.tiles.items()}
        return fields(
            f"plan of {self._program.name}",
            {
                "descriptors": f"{need.descriptors} in {need.words} words",
                "workspace": f"{need.workspace_bytes} bytes in {need.workspace_slots} slots",
                "generated in": f"{self.generated_ns / 1e6:.3f} ms",
                "balance": f"{balance.best:.2f}, the fullest core over the mean",
                **lengths,
                **tiles,
            },
        )

    def __repr__(self) -> str:
        need = self.need
        return f"<plan of {self._program.name}: {need.descriptors} descriptors in {need.words} words>"


_MOST_LISTED = 16
"""Lengths that a notebook shows."""


def _listed(values: list[int]) -> str:
    shown = ", ".join(map(str, values[:_MOST_LISTED]))
    return f"{shown}, … {len(values)} requests" if len(values) > _MOST_LISTED else shown


def by_name(program: Program, arrays: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """What is given to a program, by name."""
    if arrays is not None and not isinstance(arrays, Mapping):
        raise _refused(f"`arrays` is {describe(arrays)}", 'give arrays by name: `{"q": q, "kv.k": k}`')
    return {**program._arrays, **(arrays or {}), **named}


def described(program: Program, arrays: Mapping[str, Any] | None, named: Mapping[str, Any]) -> dict[str, Any]:
    """What planning takes: arrays by name, tensors as element type and extents."""
    given = by_name(program, arrays, named)
    return {name: _shape(name, each) if isinstance(each, Tensor) else each for name, each in given.items()}


def make_plan(program: Program, given: dict[str, Any], capacity: Capacity | None) -> Plan:
    """A plan of a program."""
    room = None
    if capacity is not None:
        if not isinstance(capacity, Capacity):
            raise _refused(
                f"`capacity` is {describe(capacity)}", "write `Capacity(descriptors, workspace_bytes)`"
            )
        room = (
            _count(capacity.descriptors, 0, 2**32 - 1, "`descriptors` of a capacity"),
            _count(capacity.workspace_bytes, 0, 2**64 - 1, "`workspace_bytes` of a capacity"),
        )
    with _AT_CALLER:
        core = program._core.make_plan(given, program._run_options, room)
    return Plan._made(program, core, capacity)


def _shape(name: str, tensor: Tensor) -> tuple[str, tuple[int, ...]]:
    """Element type and extents of an array that is not there yet."""
    for extent in tensor.shape:
        if not isinstance(extent, int):
            raise _refused(
                f"an extent of `{name}` is {describe(extent)}",
                f"give the array, or all of its extents as integers: `{name}=tensor((4, 16), f16)`",
            )
    return tensor.dtype.name, tensor.shape


def _count(value: Any, least: int, most: int, what: str) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or not least <= number <= most:
        raise _refused(f"{what} is {describe(value)}", f"give an integer from {least} to {most}")
    return number


def _refused(message: str, help: str) -> errors.WspError:
    return errors.make(errors.ArgumentError, 1262, message, span=caller_span(), help=[help])
